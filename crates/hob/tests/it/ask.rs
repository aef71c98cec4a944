//! Questions to a person, between the real programs: late answers over lost daemons, faces, and who may answer.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{McpPeer, Ran, TestProject, has_program, kill_hard, until};

use crate::fresh;

/// Answers prompts at a terminal: what to wait for, and what to type then, in turn.
const TYPED: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
turns = [turn.split("|") for turn in sys.argv[1].split(";")]
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen = unread = b""
try:
    while part := os.read(tty, 4096):
        seen += part
        unread += part
        while turns and turns[0][0].encode() in unread:
            unread = unread.split(turns[0][0].encode(), 1)[1]
            os.write(tty, turns.pop(0)[1].encode() + b"\n")
except OSError:
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn a_person_answers_by_prompts() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    project.write(
        "form.json",
        &json!({"title": "The release", "fields": [
            {"id": "ship", "kind": "boolean", "label": "Ship it?", "required": true},
            {"id": "when", "kind": "date", "required": true, "show_if": {"field": "ship", "equals": true}},
            {"id": "copies", "kind": "integer", "min": 1, "default": 2},
        ]})
        .to_string(),
    );
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let turns = "Ship it? [yes/no]: |yes;when [YYYY-MM-DD]: |soon;copies: |;when [YYYY-MM-DD]: |2026-12-01";
    let said = Ran::of(project.command("python3").args(["-c", TYPED, turns, "hob", "answer"])).ok();
    assert!(said.contains("a date is needed") && said.contains("answered by tester (terminal)"), "{said}");
    let result = project.run(["ask", "form", "form.json", "--json"]).ok();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["values"], json!({"ship": true, "when": "2026-12-01", "copies": 2}));
}

/// An agent whose program is not this test's process: a script that starts its front-end.
fn agent(project: &TestProject) -> McpPeer {
    let script = project.top().join("agent");
    std::fs::write(&script, "hob mcp ask; exit $?").unwrap();
    let mut peer = McpPeer::spawn({
        let mut command = project.command("sh");
        command.arg(script);
        command
    });
    peer.initialize();
    peer
}

fn watching(project: &TestProject) -> u64 {
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    status["ask"]["watching"].as_u64().unwrap()
}

#[test]
fn a_late_answer_outlives_the_daemon_and_comes_once() {
    let project = fresh();
    let mut peer = agent(&project);
    let asked = peer.call("confirm_action", json!({"action": "Delete the branch?"}));
    assert_eq!((&asked.structured["status"], &asked.structured["confirmed"]), (&json!("unavailable"), &json!(false)));
    kill_hard(project.daemon_pid().unwrap());
    let said = project.run(["answer", "--yes", "--note", "but keep the tag"]).ok();
    assert!(said.contains("answered by tester (command)"), "{said}");
    kill_hard(project.daemon_pid().unwrap());
    let next = peer.call("ask_list", json!({}));
    let count = |text: &str| text.matches("confirmed: true").count();
    assert_eq!(count(&next.text), 1, "{}", next.text);
    assert!(
        next.text.contains("Late answer: tester answered") && next.text.contains("but keep the tag"),
        "{}",
        next.text
    );
    assert_eq!(next.structured, json!({"questions": []}), "what other tools say is untouched");
    assert_eq!(count(&peer.call("ask_list", json!({})).text), 0);
}

#[test]
fn an_agent_waits_while_somebody_watches() {
    let project = fresh();
    let mut peer = agent(&project);
    let mut watch = project.hob(["questions", "--watch"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until("the face is known", || (watching(&project) == 1).then_some(()));
    let call = peer.start_call("select_option", json!({"prompt": "Which?", "options": [["a", "A"]], "wait_s": 60}));
    until("it is asked", || project.run(["questions"]).stdout.contains("Which?").then_some(()));
    project.run(["answer", "--choose", "a"]).ok();
    let answered = peer.answer(call);
    assert_eq!((&answered.structured["status"], &answered.structured["selected"]), (&json!("answered"), &json!("a")));
    watch.kill().unwrap();
    let shown = watch.wait_with_output().unwrap().stdout;
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("Which?") && shown.contains("answered by tester (command)"), "{shown}");
    // Nobody watches any more: known after the moment in which a face may come back.
    let left = peer.call("confirm_action", json!({"action": "Push?"}));
    assert_eq!(left.structured["status"], "unavailable");
}

/// What this test's process starts descends from the agent when that is this process itself.
#[test]
fn an_agent_does_not_answer_for_its_person() {
    let project = fresh();
    project.write("hob.toml", "[mail]\nspace = \"ours\"\n");
    let mut peer = project.mcp(&["ask,repl"]);
    peer.initialize();
    peer.call("confirm_action", json!({"action": "Delete the branch?"}));
    let refused = |ran: Ran, why: &str| {
        assert!(ran.code != Some(0) && ran.stderr.contains("an agent must not answer for its person"), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    };
    refused(project.run(["answer", "--yes"]), "an agent that hob serves here");
    refused(Ran::of(project.command("sh").args(["-c", "hob answer --yes; exit $?"])), "an agent that hob serves here");
    refused(project.run(["trust", "--yes"]), "an agent that hob serves here");
    // An orphan descends from nobody, but what its agent gave it says who it is.
    let orphan = |mark: &str| {
        let script = format!("{mark} setsid --fork sh -c 'hob answer --yes > said 2>&1; mv said ended'");
        Ran::of(project.command("sh").args(["-c", &script])).ok();
        let said =
            until("the orphan has ended", || project.root().join("ended").exists().then(|| project.read("ended")));
        std::fs::remove_file(project.root().join("ended")).unwrap();
        said
    };
    assert!(orphan("GEMINI_CLI=1").contains("started by Gemini CLI"));
    if has_program("python3") {
        let code = "import subprocess; print(subprocess.run(['hob', 'answer', '--yes'], capture_output=True, text=True).stderr)";
        let said = peer.call("repl_eval", json!({"profile": "python", "code": code, "wait_ms": 50_000})).text;
        assert!(said.contains("this runs in a REPL session of hob"), "{said}");
    }
    // Another terminal is nobody's child here.
    assert!(orphan("").contains("answered by tester"));
}
