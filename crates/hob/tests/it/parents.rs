//! Unusual parents of `hob mcp`: one that passes socket pairs, and one that dies. Files and pipes are in `transcripts/`.

use testkit::{Ran, has_program, until};

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
    project.write("conversation", CONVERSATION);
    let ran = Ran::run(project.command("node").args(["-e", script, env!("CARGO_BIN_EXE_hob")]));
    let answers: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let ids: Vec<i64> = answers.iter().filter_map(|answer| answer["id"].as_i64()).collect();
    assert_eq!((ran.code, &*ids), (Some(0), &[1, 2][..]), "{answers:#?}");
    assert!(answers[1]["result"]["content"].is_array(), "{answers:#?}");
}

/// A parent that exits without closing anything, while a call is held.
#[test]
fn a_parent_that_dies() {
    let project = fresh();
    project.run(["call", "repl_start", "--profile", "bash"]).ok();
    project.write("conversation", CONVERSATION);
    let script = "({ cat conversation; sleep 0.1; } | hob mcp | head -1) > out; cat out";
    let ran = Ran::run(project.command("sh").args(["-c", script]));
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:#?}");
    until("the front-end to end", || {
        let fronts = project.processes().into_iter().filter(|process| process.command.ends_with(" mcp")).count();
        (fronts == 0).then_some(())
    });
}
