//! The Cure language server (`hob cure lsp`) as an editor starts it: the protocol by hand, and a real headless editor
//! configured as in docs/guide/cure.md.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// Opens a text in an editor with this root, until the server reports a problem with this code. Then sends the last messages
/// and closes the pipe. Returns the exit code.
fn edit(project: &TestProject, args: &[&str], root: &Path, text: &str, code: &str, last: &[Value]) -> Option<i32> {
    let mut command = project.hob(["cure", "lsp"].iter().chain(args));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("hob starts");
    let (mut to, mut from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut send = |message: &Value| {
        let mut message = message.clone();
        message["jsonrpc"] = "2.0".into();
        let text = message.to_string();
        write!(to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
    };
    let uri = format!("file://{}", root.display());
    let document = json!({"uri": format!("{uri}/user.cure"), "languageId": "cure", "version": 1, "text": text});
    send(&json!({"id": 1, "method": "initialize", "params": {"rootUri": uri, "capabilities": {}}}));
    send(&json!({"method": "initialized", "params": {}}));
    send(&json!({"method": "textDocument/didOpen", "params": {"textDocument": document}}));
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&said).contains(code) {
        from.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said)));
        said.extend(byte);
    }
    assert!(String::from_utf8_lossy(&said).contains("hob cure lsp"));
    last.iter().for_each(send);
    drop(to);
    child.wait().expect("it ends").code()
}

#[test]
fn an_editor_is_served_without_a_daemon() {
    let project = fresh();
    project.write("hob.toml", "[cure]\nroots = [\"src\"]\n");
    project.write("src/base.cure", "module Base do\n  def one(): Int = 1\nend\n");
    let text = "module User do\n  import Base\n  def f(): String = one()\nend\n";
    let last = [json!({"id": 2, "method": "shutdown"}), json!({"method": "exit"})];
    // The editor works in a directory below the root.
    let ended = edit(&project, &["--stdio"], &project.root().join("src"), text, "\"C0301\"", &last);
    assert_eq!((ended, project.daemon_pid()), (Some(0), None));
    // An editor that exits without `shutdown`, and works in a home, which is not a project.
    assert_eq!(edit(&project, &[], &project.home(), "mod A\n", "\"C0106\"", &[]), Some(1));
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
