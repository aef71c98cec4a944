//! The server as an editor meets it, over pipes in memory. `crates/hob/tests/it` starts the program itself, and a real
//! editor.

mod features;
mod protocol;

use std::io::{BufReader, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::documents::uri_of;
use super::wire::{self, Frame};
use super::{Folder, serve};

/// An editor's end of a conversation.
struct Editor {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    server: Option<JoinHandle<bool>>,
    ids: i64,
    /// Notifications and requests of the server that have not been awaited yet.
    kept: Vec<Value>,
}

impl Editor {
    /// A server, to which nothing was said yet.
    fn silent() -> Editor {
        let (input, to) = std::io::pipe().unwrap();
        let (from, mut output) = std::io::pipe().unwrap();
        let find = |folder: &Path| {
            let folder = folder.canonicalize().unwrap();
            Folder { worktree: folder.clone(), roots: vec![folder] }
        };
        let server = std::thread::spawn(move || serve(input, &mut output, &find).unwrap());
        Editor { to: Some(to), from: BufReader::new(from), server: Some(server), ids: 0, kept: Vec::new() }
    }

    /// An editor that works in a directory and has these capabilities.
    fn in_directory(root: &Path, capabilities: Value) -> (Editor, Value) {
        let mut editor = Editor::silent();
        let folders = json!([{ "uri": uri_of(root), "name": "test" }]);
        let params = json!({ "processId": null, "capabilities": capabilities, "workspaceFolders": folders });
        let answer = editor.request("initialize", params);
        editor.notify("initialized", json!({}));
        (editor, answer["result"].clone())
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        wire::write(self.to.as_mut().unwrap(), message.to_string().as_bytes()).unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and gives its id.
    fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and gives its answer.
    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message like this.
    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        loop {
            let Frame::Message(bytes) = wire::read(&mut self.from).unwrap() else { panic!("the server is gone") };
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if wanted(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    fn open(&mut self, path: &Path, text: &str) {
        let document = json!({ "uri": uri_of(path), "languageId": "cure", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces a part of a line.
    fn edit(&mut self, path: &Path, version: i64, line: u32, from: u32, to: u32, text: &str) {
        let range = json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
        let document = json!({ "uri": uri_of(path), "version": version });
        let changes = json!([{ "range": range, "text": text }]);
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Replaces all of a text.
    fn replace(&mut self, path: &Path, version: i64, text: &str) {
        let document = json!({ "uri": uri_of(path), "version": version });
        let changes = json!([{ "text": text }]);
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The next diagnostics of a file, one a line.
    fn diagnostics(&mut self, path: &Path) -> String {
        let uri = uri_of(path);
        let is_meant = |message: &Value| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == *uri
        };
        let said = self.wait(is_meant);
        let one = |one: &Value| {
            let (start, end) = (&one["range"]["start"], &one["range"]["end"]);
            format!(
                "{}:{}-{}:{} {} {}: {}\n",
                start["line"],
                start["character"],
                end["line"],
                end["character"],
                one["severity"],
                one["code"].as_str().unwrap(),
                one["message"].as_str().unwrap().replace('\n', "; ")
            )
        };
        let all = said["params"]["diagnostics"].as_array().unwrap().iter().map(one);
        format!("version {}\n{}", said["params"]["version"], all.collect::<String>())
    }

    /// The answer to a request about the place of `‸` in a text, which is opened without it.
    fn at(&mut self, method: &str, path: &Path, text: &str) -> Value {
        let at = text.find('‸').unwrap();
        let line = text[..at].matches('\n').count();
        let column = text[..at].rsplit('\n').next().unwrap().encode_utf16().count();
        self.open(path, &text.replacen('‸', "", 1));
        let position = json!({ "line": line, "character": column });
        self.request(method, json!({ "textDocument": { "uri": uri_of(path) }, "position": position }))["result"].clone()
    }

    /// Ends the conversation as editors do; gives whether the server thinks so, too.
    fn end(mut self) -> bool {
        assert_eq!(self.request("shutdown", Value::Null)["result"], Value::Null);
        self.notify("exit", Value::Null);
        self.server.take().unwrap().join().unwrap()
    }
}

/// A directory with these files, its path without links.
fn directory(files: &[(&str, &str)]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (name, text) in files {
        std::fs::write(root.join(name), text).unwrap();
    }
    (dir, root)
}
