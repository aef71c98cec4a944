//! Questions to a person, with the real programs: late answers across daemon restarts, several ways to answer, and permissions.

mod by_keys;
mod disk;
mod kills;
mod other_runs;
mod races;

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{McpPeer, Ran, Screen, TestProject, has_program, is_alive, kill_hard, until};

use self::other_runs::latest;
use crate::fresh;

/// The last line of a form once it accepts keys.
const TAKES_KEYS: &str = "Ctrl-S to Send";
const SENDS: &str = "Enter sends";

/// Answers prompts at a terminal: pairs of a text to wait for and the keys to type.
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

/// Answers the one open question by hob's own protocol, without the hob command, and prints the daemon's response.
const SPOKEN: &str = r#"
import glob, json, os, socket, sys
(path,) = glob.glob(sys.argv[1] + "/**/*.sock", recursive=True)
with socket.socket(socket.AF_UNIX) as to:
    to.connect(path)
    lines = to.makefile("rw")
    for message in [
        {"hob": 1, "role": "control", "cwd": os.getcwd()},
        {"jsonrpc": "2.0", "id": 1, "method": "ask/answer", "params": {"yes": True}},
    ]:
        print(json.dumps(message), file=lines, flush=True)
        print(lines.readline(), end="")
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
            {"id": "with", "kind": "multichoice", "options": [{"id": "a"}, {"id": "b"}], "default": ["a", "b"]},
        ]})
        .to_string(),
    );
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let turns = "Ship it? [yes/no]: |yes;when [YYYY-MM-DD]: |soon;copies (2): |;with [ids, with commas] (a, b): |;send to send it: |send;when [YYYY-MM-DD]: |2026-12-01;send to send it: |send";
    let said = Ran::run(project.command("python3").args(["-c", TYPED, turns, "hob", "answer", "--plain"])).ok();
    assert!(said.contains("a date is needed") && said.contains("answered by tester (terminal)"), "{said}");
    let result = project.run(["ask", "wait", &latest(&project), "--json"]).ok();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["values"], json!({"ship": true, "when": "2026-12-01", "copies": 2, "with": ["a", "b"]}));
}

/// Starts an agent whose program is not this test's process: a script that starts its front-end.
pub(crate) fn agent(project: &TestProject) -> McpPeer {
    agent_as(project, &["ask"])
}

/// Starts an [`agent`] with these arguments of `hob mcp`.
pub(crate) fn agent_as(project: &TestProject, args: &[&str]) -> McpPeer {
    let mut peer = started(project, args);
    peer.initialize();
    peer
}

/// Starts an [`agent`] whose client supports dialogs.
fn agent_with_dialogs(project: &TestProject) -> McpPeer {
    let mut peer = started(project, &["ask"]);
    let info = json!({"name": "testkit", "version": "0"});
    let can = json!({"elicitation": {}});
    peer.result("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": info}));
    peer.notify("notifications/initialized", json!({}));
    peer
}

fn started(project: &TestProject, args: &[&str]) -> McpPeer {
    let script = project.top().join("agent");
    // Written atomically, since several may start at once.
    let new = script.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&new, "hob mcp \"$@\"; exit $?").unwrap();
    std::fs::rename(&new, &script).unwrap();
    let mut command = project.command("sh");
    command.arg(script).args(args);
    McpPeer::spawn(command)
}

/// Returns the process of an agent's front-end.
fn front_end_of(agent: &McpPeer) -> i32 {
    let pid = agent.pid();
    until("the front-end runs", || {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    })
}

pub(crate) fn watching(project: &TestProject) -> u64 {
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
fn a_mistyped_option_is_no_answer() {
    let project = fresh();
    project.run(["ask", "select", "Store?", "sqlite=SQLite", "pg=PostgreSQL", "--wait", "0"]);
    let refused = project.run(["answer", "--choose", "sqlit"]);
    assert!(refused.code != Some(0), "{refused:?}");
    assert!(
        refused.stderr.contains("unknown option \"sqlit\"; available: sqlite, pg; another text is given with --text"),
        "{refused:?}"
    );
    project.run(["answer", "--choose", "postgresql"]).ok();
}

#[test]
fn an_agent_waits_while_somebody_watches() {
    let project = fresh();
    let mut peer = agent(&project);
    let shown = project.root().join("shown");
    let to = std::fs::File::create(&shown).unwrap();
    let mut watch = project.hob(["questions", "--watch"]).stdout(to).stderr(Stdio::null()).spawn().unwrap();
    let shows = |what: &str| std::fs::read_to_string(&shown).unwrap().contains(what).then_some(());
    until("the face is known", || (watching(&project) == 1).then_some(()));
    // A new daemon knows that a person was watching the previous one.
    kill_hard(project.daemon_pid().unwrap());
    let call = peer.start_call("select_option", json!({"prompt": "Which?", "options": [["a", "A"]], "wait_s": 60}));
    until("it is asked", || project.run(["questions"]).stdout.contains("Which?").then_some(()));
    until("the face is back", || (watching(&project) == 1).then_some(()));
    let mut person = races::Person::connect(&project).unwrap();
    let list = person.request("ask/list", json!({})).unwrap();
    for _ in 0..2 {
        let claim = json!({"question": list["result"]["questions"][0]["question"], "via": "terminal"});
        assert!(person.request("ask/claim", claim).unwrap()["error"].is_null());
    }
    until("the claim is shown", || shows(": being answered (terminal)"));
    let said = project.run(["answer", "--choose", "a"]).ok();
    assert!(said.ends_with(": answered by tester (command): Which?\n  selected: \"a\"\n"), "{said}");
    let answered = peer.answer(call);
    assert_eq!((&answered.structured["status"], &answered.structured["selected"]), (&json!("answered"), &json!("a")));
    until("the answer is shown", || shows("answered by tester (command)"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let shown = std::fs::read_to_string(&shown).unwrap();
    // Once for the whole question, and once for the claim.
    for once in ["  Which?", ": being answered (terminal)"] {
        assert_eq!(shown.matches(once).count(), 1, "{once}: {shown}");
    }
    // No person is watching any more, which the daemon notices after a grace period.
    let left = peer.call("confirm_action", json!({"action": "Push?"}));
    assert_eq!(left.structured["status"], "unavailable");
}

#[test]
fn while_somebody_watches_an_answer_comes_before_any_dialog() {
    let project = fresh();
    let mut peer = agent_with_dialogs(&project);
    let mut watch = project.hob(["questions", "--watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the face is known", || (watching(&project) == 1).then_some(()));
    let call = peer.start_call("confirm_action", json!({"action": "Push?", "wait_s": 60}));
    until("it is asked", || project.run(["questions"]).stdout.contains("Push?").then_some(()));
    project.run(["answer", "--yes"]).ok();
    assert_eq!(peer.answer(call).structured["answered"]["via"], "command");
    let dialogs = peer.take_unread().into_iter().filter(|message| message["method"] == "elicitation/create");
    assert_eq!(dialogs.count(), 0);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn who_comes_after_an_agent_that_was_killed_asks_instead_of_it() {
    let project = fresh();
    let mut killed = agent(&project);
    // Started before, so that it connects while the other connection still drains.
    let mut next = agent(&project);
    let mut watch = project.hob(["questions", "--watch"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the face is known", || (watching(&project) == 1).then_some(()));
    let arguments = json!({"action": "Push?", "wait_s": 60});
    killed.start_call("confirm_action", arguments.clone());
    until("it is asked", || project.run(["questions"]).stdout.contains("Push?").then_some(()));
    let former = latest(&project);
    let front_end = front_end_of(&killed);
    kill_hard(front_end);
    until("it is gone", || (!is_alive(front_end)).then_some(()));
    let call = next.start_call("confirm_action", arguments);
    until("it is asked anew", || (latest(&project) != former).then_some(()));
    project.run(["answer", "--yes"]).ok();
    assert_eq!(next.answer(call).structured["confirmed"], true);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn an_answer_by_flags_keeps_defaults_and_drops_nothing() {
    let project = fresh();
    project.write(
        "form.json",
        &json!({"title": "The release", "fields": [
            {"id": "ship", "kind": "boolean", "required": true},
            {"id": "when", "kind": "date", "show_if": {"field": "ship", "equals": true}},
            {"id": "copies", "kind": "integer", "min": 1, "max": 9, "default": 2},
            {"id": "name", "pattern": "v[0-9]+"},
        ]})
        .to_string(),
    );
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let shown = project.run(["questions"]).ok();
    for bound in ["1 to 9, else 2", "matches v[0-9]+", "if ship is true", "24 h left"] {
        assert!(shown.contains(bound), "{bound}: {shown}");
    }
    let refused = project.run(["answer", "--set", "ship=no", "--set", "when=2026-12-01"]);
    assert!(refused.stderr.contains("`when`: it is asked only if `ship` is true"), "{refused:?}");
    let said = project.run(["answer", "--set", "ship=no", "--set", "name=v2"]).ok();
    let (_, values) = said.split_once('\n').unwrap();
    assert_eq!(values, "  ship: false\n  copies: 2\n  name: \"v2\"\n");
}

/// Children of this test's process descend from the agent if that is this process itself.
#[test]
fn an_agent_does_not_answer_for_its_person() {
    let project = fresh();
    project.write("hob.toml", "[mail]\nspace = \"ours\"\n");
    let mut peer = project.mcp(&["ask,repl"]);
    peer.initialize();
    peer.call("confirm_action", json!({"action": "Delete the branch?"}));
    let refused = |ran: Ran, why: &str| {
        assert!(ran.code != Some(0) && ran.stderr.contains("an agent must not answer for its user"), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    };
    refused(project.run(["answer", "--yes"]), "an agent that hob serves here");
    refused(Ran::run(project.command("sh").args(["-c", "hob answer --yes; exit $?"])), "an agent that hob serves here");
    refused(project.run(["trust", "--yes"]), "an agent that hob serves here");
    // Neither a renamed hob nor another program at the socket counts as another caller.
    let renamed = r#"cp "$(command -v hob)" ./friend && ./friend answer --yes"#;
    refused(Ran::run(project.command("sh").args(["-c", renamed])), "an agent that hob serves here");
    if has_program("python3") {
        let runtime_dir = project.runtime_dir();
        let spoken = Ran::run(project.command("python3").args(["-c", SPOKEN]).arg(runtime_dir)).ok();
        assert!(spoken.contains("an agent must not answer for its user"), "{spoken}");
        assert!(spoken.contains(r#""ok":true"#), "the hello was refused: {spoken}");
    }
    // The same holds if no daemon knows the agent: it was stopped, died, or belongs to another project.
    project.run(["stop"]).ok();
    refused(project.run(["trust", "--yes"]), "an agent that hob serves here");
    refused(project.run(["answer", "--yes"]), "an agent that hob serves here");
    kill_hard(project.daemon_pid().unwrap());
    refused(project.run(["answer", "--yes"]), "an agent that hob serves here");
    // An orphan has no ancestors left, but its environment identifies its agent.
    let orphan_of = |mark: &str, command: &str| {
        let script = format!("{mark} setsid --fork sh -c 'hob {command} > said 2>&1; mv said ended'");
        Ran::run(project.command("sh").args(["-c", &script])).ok();
        let said =
            until("the orphan has ended", || project.root().join("ended").exists().then(|| project.read("ended")));
        std::fs::remove_file(project.root().join("ended")).unwrap();
        said
    };
    let orphan = |mark: &str| orphan_of(mark, "answer --yes");
    assert!(orphan("GEMINI_CLI=1").contains("started by Gemini CLI"));
    if has_program("python3") {
        let code = "import subprocess; print(subprocess.run(['hob', 'answer', '--yes'], capture_output=True, text=True).stderr)";
        let said = peer.call("repl_eval", json!({"profile": "python", "code": code, "wait_ms": 50_000})).text;
        assert!(said.contains("this runs in a REPL session of hob"), "{said}");
    }
    assert!(orphan("").contains("the parent process has ended"));
    // A watcher is told why hob may have taken it for an agent.
    let said = orphan_of("", "questions --watch");
    assert!(said.contains("the parent process has ended") && said.contains("not from a background subshell"), "{said}");
    if has_program("tmux") {
        let screen = Screen::run(&project, "hob trust --yes && hob answer --yes");
        screen.until("answered by tester (command)");
    }
}

/// Asks with a form that has every type of field, from a script.
fn ask_by_form(project: &TestProject) {
    project.write("shot.png", "\u{89}PNG");
    std::fs::write(project.root().join("shot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    project.write(
        "form.json",
        &json!({
            "title": "The release",
            "message": "Two things are open.",
            "attachments": [
                {"kind": "diff", "label": "the change", "text": "-old\n+new"},
                {"kind": "picture", "label": "the page", "path": "shot.png"}
            ],
            "fields": [
                {"id": "about", "kind": "note", "label": "Take your time."},
                {"id": "version", "label": "Version", "required": true, "pattern": "v[0-9]+"},
                {"id": "why", "kind": "multiline"},
                {"id": "copies", "kind": "integer", "min": 1, "default": 2},
                {"id": "share", "kind": "number"},
                {"id": "ship", "kind": "boolean", "label": "Ship it?", "required": true},
                {"id": "where", "kind": "choice", "options": [{"id": "eu", "label": "Europe"}, {"id": "us"}]},
                {"id": "with", "kind": "multichoice", "options": [{"id": "docs"}, {"id": "source"}]},
                {"id": "when", "kind": "date", "show_if": {"field": "ship", "equals": true}}
            ]
        })
        .to_string(),
    );
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
}

#[test]
fn a_person_fills_in_a_form_on_a_terminal() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    ask_by_form(&project);
    let screen = Screen::run(&project, "hob answer");
    screen.until(TAKES_KEYS);
    let seen = screen.until("Version *");
    for shown in ["Two things are open.", "+new", "the page: /", "pictures/4c4b6a3b"] {
        assert!(seen.contains(shown), "{shown}: {seen}");
    }
    screen.type_text("2");
    screen.press(&["Enter"]);
    screen.type_text("because");
    screen.press(&["Enter"]);
    screen.type_text("of it");
    screen.press(&["Tab", "Enter", "0", ".", "5", "Enter", "Left", "Enter"]);
    screen.press(&["Down", "Enter", "Space", "Enter"]);
    screen.until("when (YYYY-MM-DD)");
    screen.press(&["2026-12-01", "Enter"]);
    screen.until(SENDS);
    screen.press(&["Enter"]);
    // The value is invalid: the form stays open, at that field.
    screen.until("it does not match v[0-9]+");
    screen.press(&["C-u"]);
    screen.type_text("v2");
    // A pasted newline sends nothing. The daemon exits meanwhile, without any effect on the form.
    kill_hard(project.daemon_pid().unwrap());
    screen.press(&["C-s"]);
    screen.until(SENDS);
    screen.press(&["Enter"]);
    let ended = screen.until("ended with 0");
    assert!(ended.contains("answered by tester (terminal)"), "{ended}");
    let all: Value = serde_json::from_str(&project.run(["questions", "--all", "--json"]).ok()).unwrap();
    assert_eq!(
        all[0]["values"],
        json!({
            "version": "v2", "why": "because\nof it", "copies": 2, "share": 0.5, "ship": true, "where": "us", "with": ["docs"],
            "when": "2026-12-01"
        })
    );
}

#[test]
fn a_form_ends_when_the_question_is_answered_elsewhere() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    let mut peer = agent(&project);
    peer.call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 0}));
    let screen = Screen::run(&project, "hob answer");
    screen.until("Delete the branch?");
    screen.until(TAKES_KEYS);
    screen.press(&["n"]);
    project.run(["answer", "--yes"]).ok();
    screen.until("by tester (command)");
    // The same if a key is pressed before the form learns of it.
    peer.call("confirm_action", json!({"action": "Merge?", "wait_s": 0}));
    let screen = Screen::run(&project, "sh -c 'echo $$ > form; exec hob answer'");
    screen.until("Merge?");
    screen.until(TAKES_KEYS);
    let form = std::fs::read_to_string(project.root().join("form")).unwrap();
    let signal = |name: &str| {
        assert!(project.command("kill").args([name, form.trim()]).status().unwrap().success(), "kill {name} {form}");
    };
    signal("-STOP");
    project.run(["answer", "--yes"]).ok();
    screen.press(&["n"]);
    signal("-CONT");
    screen.until("by tester (command)");
    // The same if the daemon died before; the input is returned.
    peer.call("confirm_action", json!({"action": "Tag?", "wait_s": 0}));
    let screen = Screen::run(&project, "sh -c 'echo $$ > form; exec hob answer'");
    screen.until("Tag?");
    screen.until(TAKES_KEYS);
    screen.press(&["Tab"]);
    screen.type_text("not this one");
    screen.until("not this one");
    let form = std::fs::read_to_string(project.root().join("form")).unwrap();
    let signal = |name: &str| {
        assert!(project.command("kill").args([name, form.trim()]).status().unwrap().success(), "kill {name} {form}");
    };
    signal("-STOP");
    kill_hard(project.daemon_pid().unwrap());
    project.run(["answer", "--yes"]).ok();
    signal("-CONT");
    let left = screen.until("by tester (command)");
    assert!(left.contains("What you had typed:") && left.contains("Note: not this one"), "{left}");
    // Leaving the form sends no answer.
    peer.call("confirm_action", json!({"action": "Push?", "wait_s": 0}));
    let screen = Screen::run(&project, "hob answer");
    screen.until("Push?");
    screen.until(TAKES_KEYS);
    screen.press(&["Escape"]);
    screen.until("stays open");
}

#[test]
fn a_form_ends_with_its_terminal() {
    if !has_program("tmux") {
        return;
    }
    let project = fresh();
    assert_eq!(project.run(["ask", "confirm", "Push?", "--wait", "0"]).code, Some(6));
    let screen = Screen::run(&project, "sh -c 'echo $$ > form; exec hob answer'");
    screen.until("Push?");
    screen.until(TAKES_KEYS);
    let form = project.read("form");
    // The signal of a closed terminal does not reach every process.
    drop(screen);
    let ends = || (!std::path::Path::new("/proc").join(form.trim()).exists()).then_some(());
    until("the form to end", ends);
    assert!(project.run(["questions"]).stdout.contains("Push?"), "nothing was answered");
}

#[test]
fn a_program_of_the_person_is_told_of_questions() {
    let project = fresh();
    let told = project.top().join("told");
    let program = project.top().join("tell");
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho \"$HOB_QUESTION|$1|$2|$3\" > {0}.new; mv {0}.new {0}\n", told.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let config = project.home().join(".config/hob/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[ask]\nnotify = [\"{}\", \"--\"]\n", program.display())).unwrap();
    let mut peer = agent(&project);
    let call = peer.start_call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 60}));
    let said = until("the program ran", || std::fs::read_to_string(&told).ok());
    let id = said.split('|').next().unwrap();
    assert_eq!(said, format!("{id}|--|{id}|Delete the branch?\n"));
    project.run(["answer", id, "--yes"]).ok();
    assert_eq!(peer.answer(call).structured["confirmed"], true);
    // A checkout cannot set a notification command.
    project.write("hob.toml", "[ask]\nnotify = [\"true\"]\n");
    project.run(["stop"]).ok();
    let refused = project.run(["questions"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("your own config.toml"), "{refused:?}");
}
