//! Different parents of `hob mcp`: each passes another kind of standard input and output.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use testkit::{Ran, TestProject, has_program};

use crate::fresh;

const CONVERSATION: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"t","version":"0"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"repl_list","arguments":{}}}"#,
    "\n",
);

/// Checks both answers, in order, and nothing else.
#[track_caller]
fn assert_answered(ran: &Ran) {
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert_eq!(lines.len(), 2, "{ran:#?}");
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&1.into(), &2.into()));
    assert_eq!(lines[0]["result"]["protocolVersion"], "2025-06-18");
    assert!(lines[1]["result"]["content"].is_array(), "{}", lines[1]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

/// Runs a program that starts `hob mcp`, sends the conversation, reads both answers, closes, and prints them.
fn spoken_by(project: &TestProject, program: &str, args: &[&str]) -> Ran {
    project.write("conversation", CONVERSATION);
    Ran::run(project.command(program).args(args).arg(env!("CARGO_BIN_EXE_hob")))
}

#[test]
fn a_file() {
    let project = fresh();
    project.write("conversation", CONVERSATION);
    let mut command = project.hob(["mcp"]);
    command.stdin(File::open(project.root().join("conversation")).unwrap());
    assert_answered(&Ran::run(&mut command));
}

#[test]
fn a_pipe_with_a_cold_daemon_and_no_farewell() {
    let project = fresh();
    let mut child = project.hob(["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(CONVERSATION.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let ran =
        Ran { code: output.status.code(), stdout: String::from_utf8(output.stdout).unwrap(), stderr: String::new() };
    assert_answered(&ran);
}

/// Node gives its children socket pairs.
#[test]
fn node() {
    if !has_program("node") {
        return;
    }
    let script = r#"
        const hob = require('child_process').spawn(process.argv[1], ['mcp'], {stdio: ['pipe', 'pipe', 'inherit']});
        let text = '';
        hob.stdout.on('data', (chunk) => {
            text += chunk;
            if (text.split('\n').length > 2) hob.stdin.end();
        });
        hob.on('close', (code) => { process.stdout.write(text); process.exitCode = code; });
        hob.stdin.write(require('fs').readFileSync('conversation'));
    "#;
    let project = fresh();
    assert_answered(&spoken_by(&project, "node", &["-e", script]));
}

#[test]
fn python() {
    if !has_program("python3") {
        return;
    }
    let script = r#"if 1:
        import subprocess, sys
        hob = subprocess.Popen([sys.argv[1], 'mcp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        hob.stdin.write(open('conversation', 'rb').read())
        hob.stdin.flush()
        text = hob.stdout.readline() + hob.stdout.readline()
        hob.stdin.close()
        sys.stdout.buffer.write(text + hob.stdout.read())
        sys.exit(hob.wait())
    "#;
    let project = fresh();
    assert_answered(&spoken_by(&project, "python3", &["-c", script]));
}

/// A parent that exits without closing anything, while a call is held.
#[test]
fn a_parent_that_dies() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    project.write("conversation", CONVERSATION);
    let script = format!(
        "({{ cat conversation; sleep 0.1; }} | {hob} mcp | head -1) > out; cat out",
        hob = env!("CARGO_BIN_EXE_hob")
    );
    let ran = Ran::run(project.command("sh").args(["-c", &script]));
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:#?}");
    testkit::until("the front-end to end", || {
        let fronts = project.processes().into_iter().filter(|process| process.command.ends_with(" mcp")).count();
        (fronts == 0).then_some(())
    });
}
