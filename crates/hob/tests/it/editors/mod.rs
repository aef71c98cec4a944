//! The Cure language server (`hob cure lsp`) as an editor starts it: the protocol by hand, and a real headless editor
//! configured as in docs/guide/cure.md.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// The server, and an editor's end of its pipes.
struct Server {
    child: Child,
    from: BufReader<ChildStdout>,
}

impl Server {
    fn start(project: &TestProject, args: &[&str]) -> Server {
        let mut command = project.hob(["cure", "lsp"].iter().chain(args));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("hob starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Server { child, from }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let pipe = self.child.stdin.as_mut().expect("a pipe");
        write!(pipe, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        pipe.flush().expect("the server reads");
    }

    fn next(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("the server writes");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(bytes) => length = bytes.parse().expect("a number"),
                None if line.trim().is_empty() => break,
                None => panic!("{line:?} is no header"),
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).expect("the server writes");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Closes the input and returns the exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().expect("it ends").code()
    }
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[test]
fn an_editor_is_served_without_a_daemon() {
    let project = fresh();
    project.write("hob.toml", "[cure]\nroots = [\"src\"]\n");
    project.write("src/base.cure", "module Base do\n  def one(): Int = 1\nend\n");
    let mut server = Server::start(&project, &["--stdio"]);
    let uri = format!("file://{}", project.root().join("src/user.cure").display());
    // The editor works in a directory below the root.
    let root = format!("file://{}", project.root().join("src").display());
    server.send(&request(1, "initialize", &json!({ "rootUri": root, "capabilities": {} })));
    assert_eq!(server.next()["result"]["serverInfo"]["name"], "hob cure lsp");
    server.send(&notification("initialized", &json!({})));
    let text = "module User do\n  import Base\n  def f(): String = one()\nend\n";
    let document = json!({ "uri": uri, "languageId": "cure", "version": 1, "text": text });
    server.send(&notification("textDocument/didOpen", &json!({ "textDocument": document })));
    let said = server.next();
    assert_eq!(said["params"]["diagnostics"][0]["code"], "C0301", "{said}");
    let range = json!({ "start": { "line": 2, "character": 11 }, "end": { "line": 2, "character": 17 } });
    let document = json!({ "uri": uri, "version": 2 });
    let changes = json!([{ "range": range, "text": "Int" }]);
    let params = json!({ "textDocument": document, "contentChanges": changes });
    server.send(&notification("textDocument/didChange", &params));
    assert_eq!(server.next()["params"]["diagnostics"], json!([]));
    server.send(&request(2, "shutdown", &Value::Null));
    assert_eq!(server.next()["result"], Value::Null);
    server.send(&notification("exit", &Value::Null));
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
    assert_eq!(project.daemon_pid(), None);

    // An editor that exits without `shutdown`, and one that works in a home, which is not a project.
    let mut server = Server::start(&project, &[]);
    let home = format!("file://{}", project.home().display());
    server.send(&request(1, "initialize", &json!({ "rootUri": home, "capabilities": {} })));
    assert!(server.next()["result"].is_object());
    let document = json!({ "uri": format!("{home}/a.cure"), "languageId": "cure", "version": 1, "text": "mod A\n" });
    server.send(&notification("textDocument/didOpen", &json!({ "textDocument": document })));
    assert_eq!(server.next()["params"]["diagnostics"][0]["code"], "C0106");
    assert_eq!(server.end(), Some(1));
}

/// The editor opens a file with an error, shows the error, fixes it, and shows that it is gone.
#[test]
fn a_real_editor_shows_an_error_until_it_is_fixed() {
    if !has_program("nvim") {
        return;
    }
    let project = fresh();
    project.write("base.cure", "module Base do\n  # Just one.\n  def one(): Int = 1\nend\n");
    project
        .write("shapes.cure", "module Shapes do\n  import Base\n\n  def area(n: Int): String = n * n + one()\nend\n");
    project.write("config.lua", &configuration(&project));
    project.write("session.lua", include_str!("session.lua"));
    let args = ["--headless", "-u", "config.lua", "-i", "NONE", "-n", "-c", "luafile session.lua"];
    let ran = Ran::run(project.command("nvim").args(args));
    let said = ran.stdout.replace(&project.root().display().to_string(), "[root]");
    expect![[r##"
        line 4: expected String, found Int
        put it into a string: "#{…}"
        mended:   def area(n: Int): Int = n * n + one()
        hover: ```cure
        def one(): Int
        ```

        Just one.
        definition: [root]/base.cure line 3
        formatted:   def area(n: Int): Int = n * n + one()
        completion: area
    "##]]
    .assert_eq(&said);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{said}");
}

/// Returns the configuration from docs/guide/cure.md for the installed editor.
fn configuration(project: &TestProject) -> String {
    let page = include_str!("../../../../../docs/guide/cure.md");
    let version = Ran::run(project.command("nvim").arg("--version")).ok();
    let minor: u32 = version.split('.').nth(1).and_then(|part| part.parse().ok()).expect("NVIM v0.MINOR");
    let mark = if minor >= 11 { "vim.lsp.config" } else { "start_client" };
    let blocks = page.split("```lua\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|block| block.contains(mark)).expect("the page has it").to_owned()
}
