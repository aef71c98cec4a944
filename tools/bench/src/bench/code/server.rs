//! A minimal client of a language server, as the floor: it opens documents, asks, and trusts the answers.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::workspace::KillOnDrop;

pub(super) struct Server {
    /// Killed when this is dropped.
    _child: KillOnDrop,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
    open: BTreeSet<PathBuf>,
    is_quiescent: bool,
}

impl Server {
    /// Starts the server with hob's settings.
    pub(super) fn rust_analyzer(root: &Path, path: &OsStr) -> Result<Server> {
        let mut command = Command::new("rust-analyzer");
        let (child, stdin, stdout) =
            KillOnDrop::piped(command.current_dir(root).env("PATH", path).stderr(Stdio::null()))?;
        let stdout = BufReader::new(stdout);
        let mut server =
            Server { _child: child, stdin, stdout, last_id: 0, open: BTreeSet::new(), is_quiescent: false };
        let uri = uri(root);
        let hello = json!({
            "processId": std::process::id(), "rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "root"}],
            "initializationOptions": {
                "checkOnSave": false, "cachePriming": {"enable": true}, "diagnostics": {"enable": false},
            },
            "capabilities": {"experimental": {"serverStatusNotification": true}},
        });
        server.request("initialize", hello)?;
        server.notify("initialized", json!({}))?;
        Ok(server)
    }

    /// Reads until the server reports that it has loaded.
    pub(super) fn until_quiescent(&mut self, patience: Duration) -> Result<()> {
        let until = Instant::now() + patience;
        while !self.is_quiescent {
            if Instant::now() >= until {
                bail!("rust-analyzer still loads after {patience:?}");
            }
            self.read()?;
        }
        Ok(())
    }

    /// Measures a request for references in an open document.
    pub(super) fn references(&mut self, file: &Path, line: usize, column: usize) -> Result<Duration> {
        if self.open.insert(file.to_owned()) {
            let text = std::fs::read_to_string(file).with_context(|| format!("could not read {file:?}"))?;
            let item = json!({"uri": uri(file), "languageId": "rust", "version": 1, "text": text});
            self.notify("textDocument/didOpen", json!({"textDocument": item}))?;
        }
        let params = json!({
            "textDocument": {"uri": uri(file)}, "position": {"line": line, "character": column},
            "context": {"includeDeclaration": false},
        });
        let begun = Instant::now();
        self.request("textDocument/references", params)?;
        Ok(begun.elapsed())
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut message = self.read()?;
            if message["method"].is_null() && message["id"] == id {
                if !message["error"].is_null() {
                    bail!("{method} was refused: {}", message["error"]);
                }
                return Ok(message["result"].take());
            }
        }
    }

    fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.stdin.write_all(framed.as_bytes()).and_then(|()| self.stdin.flush()).context("the server reads no more")
    }

    /// Returns the next message. Requests of the server get empty answers.
    fn read(&mut self) -> Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).context("the server's output broke")? == 0 {
                bail!("the server closed its output");
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stdout.read_exact(&mut body).context("the server's output broke")?;
        let message: Value =
            serde_json::from_slice(&body).context("the server printed something that is no message")?;
        if message["method"] == "experimental/serverStatus" {
            self.is_quiescent = message["params"]["quiescent"] == true;
        }
        if !message["method"].is_null() && !message["id"].is_null() {
            self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}))?;
        }
        Ok(message)
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
