//! The reference client for times. It knows the truth, tells its server immediately which files changed, opens the
//! definition's file, and repeats the request for references until the result is right.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::model::{Rendered, Tongue};

/// Delay between two questions.
const PAUSE: Duration = Duration::from_millis(20);
/// A server that is not right for this long is restarted, as a person would do; the limit is then doubled.
const LONG: Duration = Duration::from_secs(30);

pub(super) struct Naive {
    tongue: Tongue,
    root: PathBuf,
    /// Directory for the server's own files.
    own: tempfile::TempDir,
    server: Option<Server>,
    /// The files as last reported to the server.
    told: BTreeMap<String, String>,
    /// Number of restarts because the server was never right.
    pub restarts: usize,
}

/// A question: the position of the name, and its calls.
pub(super) struct ExpectedAnswer<'a> {
    pub name: String,
    pub home: String,
    pub shown: &'a Rendered,
    pub truth: &'a BTreeSet<String>,
}

impl Naive {
    pub(super) fn new(tongue: Tongue, root: PathBuf) -> Naive {
        Naive { tongue, root, own: tempfile::tempdir().unwrap(), server: None, told: BTreeMap::new(), restarts: 0 }
    }

    /// Returns the time after the pause until the references are right. If `anew` is true, the server is restarted before the pause.
    pub(super) fn until_right(&mut self, wanted: &ExpectedAnswer<'_>, anew: bool, pause: Duration) -> Duration {
        let start = Instant::now();
        if anew || self.server.is_none() {
            self.restart(wanted.shown);
        }
        std::thread::sleep(pause.saturating_sub(start.elapsed())); // sleeps: the server loads for as long as the other one's
        self.compare_answer(wanted);
        let (mut since, mut long) = (Instant::now(), LONG);
        while !self.is_right(wanted) {
            if since.elapsed() > long {
                long *= 2;
                self.restart(wanted.shown);
                self.compare_answer(wanted);
                self.restarts += 1;
                since = Instant::now();
            }
            std::thread::sleep(PAUSE); // polls: that is what it is
        }
        let took = start.elapsed().saturating_sub(pause);
        let home = json!({"uri": self.uri(&wanted.home)});
        self.server().notify("textDocument/didClose", json!({"textDocument": home}));
        took
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}", self.root.join(path).display())
    }

    fn copy_manifest(&self) {
        if self.tongue == Tongue::Clangd {
            let name = "compile_commands.json";
            std::fs::copy(self.root.join(name), self.own.path().join(name)).unwrap();
        }
    }

    /// Starts the server as hob's profile does, up to `initialize`.
    fn restart(&mut self, shown: &Rendered) {
        self.server = None;
        self.copy_manifest();
        let own = self.own.path().display();
        let (program, args) = match self.tongue {
            Tongue::RustAnalyzer => ("rust-analyzer", vec![]),
            Tongue::Ty => ("ty", vec!["server".to_owned()]),
            Tongue::Tsc => ("tsc", ["--lsp", "--stdio"].map(str::to_owned).to_vec()),
            Tongue::Gopls => ("gopls", vec![]),
            Tongue::Clangd => {
                let index = ["--background-index", "--background-index-priority=normal", "--enable-config=false"];
                let mut args = index.map(str::to_owned).to_vec();
                args.push(format!("--compile-commands-dir={own}"));
                ("clangd", args)
            }
        };
        let options = match self.tongue {
            Tongue::RustAnalyzer => json!({
                "checkOnSave": false, "files": {"watcher": "client"}, "cachePriming": {"enable": true},
                "cargo": {"targetDir": format!("{own}/target")}, "procMacro": {"enable": true},
                "diagnostics": {"enable": false},
            }),
            _ => Value::Null,
        };
        let mut server = Server::start(program, &args, &self.root, options.clone());
        let uri = format!("file://{}", self.root.display());
        server.request(
            "initialize",
            json!({
                "processId": std::process::id(), "rootUri": uri, "initializationOptions": options,
                "workspaceFolders": [{"uri": uri, "name": "root"}],
                "capabilities": {
                    "workspace": {"configuration": true, "didChangeWatchedFiles": {"dynamicRegistration": true}},
                    "window": {"workDoneProgress": true},
                },
            }),
            LONG,
        );
        server.notify("initialized", json!({}));
        self.server = Some(server);
        self.told = shown.files.clone();
    }

    /// Reports the changes, and opens the definition's file.
    fn compare_answer(&mut self, wanted: &ExpectedAnswer<'_>) {
        let files = &wanted.shown.files;
        let mut changes = Vec::new();
        let paths: BTreeSet<&String> = files.keys().chain(self.told.keys()).collect();
        for path in paths {
            let kind = match (self.told.get(path), files.get(path)) {
                (None, Some(_)) => 1,
                (Some(before), Some(now)) if before != now => 2,
                (Some(_), None) => 3,
                _ => continue,
            };
            changes.push(json!({"uri": self.uri(path), "type": kind}));
        }
        self.copy_manifest();
        if !changes.is_empty() {
            self.server().notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
        }
        let item = json!({
            "uri": self.uri(&wanted.home), "languageId": self.tongue.language(), "version": 1, "text": files[&wanted.home],
        });
        self.server().notify("textDocument/didOpen", json!({"textDocument": item}));
        self.told = files.clone();
    }

    fn is_right(&mut self, wanted: &ExpectedAnswer<'_>) -> bool {
        let text = &wanted.shown.files[&wanted.home];
        let at = text.find(&wanted.name).unwrap();
        let line = text[..at].matches('\n').count();
        let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1);
        let params = json!({
            "textDocument": {"uri": self.uri(&wanted.home)},
            "position": {"line": line, "character": column},
            "context": {"includeDeclaration": false},
        });
        let answer = self.server.as_mut().unwrap().request("textDocument/references", params, LONG);
        let places = answer.as_array().into_iter().flatten().filter_map(|place| {
            let path = place["uri"].as_str()?.strip_prefix("file://")?;
            let path = Path::new(path).strip_prefix(&self.root).ok()?.to_str()?.to_owned();
            let line = place["range"]["start"]["line"].as_u64()? as usize;
            // Imports, prototypes and overrides are not calls; deleted files are ignored.
            let text = wanted.shown.files.get(&path)?.lines().nth(line).unwrap_or_default();
            let is_declared = path == "geo.h" || path == wanted.home;
            let is_call = !is_declared && !["use ", "import ", "from "].iter().any(|word| text.starts_with(word));
            is_call.then(|| format!("{path}:{}", line + 1))
        });
        places.collect::<BTreeSet<String>>() == *wanted.truth
    }
}

/// The process of a server.
struct Server {
    child: Child,
    input: Arc<Mutex<ChildStdin>>,
    answers: Receiver<Value>,
    last: i64,
}

impl Server {
    fn start(program: &str, args: &[String], root: &Path, options: Value) -> Server {
        let mut command = Command::new(program);
        command.args(args).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        let input = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let output = BufReader::new(child.stdout.take().unwrap());
        let (answered, answers) = channel();
        let answering = input.clone();
        std::thread::spawn(move || {
            let mut output = output;
            while let Some(message) = read(&mut output) {
                if message["method"].is_null() {
                    let _ = answered.send(message);
                } else if !message["id"].is_null() {
                    let items = message["params"]["items"].as_array().into_iter().flatten();
                    let of =
                        |item: &Value| if item["section"] == "rust-analyzer" { options.clone() } else { Value::Null };
                    let result = if message["method"] == "workspace/configuration" {
                        items.map(of).collect()
                    } else {
                        Value::Null
                    };
                    write(&answering, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                }
            }
        });
        Server { child, input, answers, last: 0 }
    }

    fn notify(&self, method: &str, params: Value) {
        write(&self.input, &json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Returns the result; null for an error or a timeout.
    fn request(&mut self, method: &str, params: Value, within: Duration) -> Value {
        self.last += 1;
        write(&self.input, &json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let until = Instant::now() + within;
        loop {
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(mut answer) if answer["id"] == self.last => return answer["result"].take(),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Value::Null,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

/// A server that has ended reads nothing; the caller of the next answer notices.
fn write(input: &Mutex<ChildStdin>, message: &Value) {
    let body = message.to_string();
    let _ = input.lock().unwrap().write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn read(output: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
