//! Questions to a person, with the real programs: late answers across daemon restarts, several ways to answer, and permissions.
//! The tests of `crates/ask` cover each way to an answer and each race, those of `crates/ui` the keys of the form.

mod by_keys;
mod disk;
mod kills;
mod other_runs;

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::{McpPeer, Ran, Screen, TestProject, has_program, is_alive, kill_hard, until};

use self::other_runs::Impostor;
use crate::fresh;

/// Starts an agent whose program is not this test's process: a script that starts its front-end.
pub(crate) fn agent(project: &TestProject) -> McpPeer {
    agent_as(project, &["ask"])
}

/// Starts an [`agent`] with these arguments of `hob mcp`.
pub(crate) fn agent_as(project: &TestProject, args: &[&str]) -> McpPeer {
    let script = project.top().join("agent");
    // Written atomically, since several may start at once.
    let new = script.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&new, "hob mcp \"$@\"; exit $?").unwrap();
    std::fs::rename(&new, &script).unwrap();
    let mut command = project.command("sh");
    command.arg(script).args(args);
    let mut peer = McpPeer::spawn(command);
    peer.initialize();
    peer
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

/// A person who watches for questions.
struct Watcher(Child);

impl Watcher {
    fn start(project: &TestProject, output: impl Into<Stdio>) -> Watcher {
        let mut command = project.hob(["questions", "--watch"]);
        let watcher = Watcher(command.stdout(output).stderr(Stdio::null()).spawn().unwrap());
        until("the watcher is known", || (watching(project) == 1).then_some(()));
        watcher
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the questions, the newest first.
fn all_questions(project: &TestProject) -> Value {
    serde_json::from_str(&project.run(["questions", "--all", "--json"]).ok()).unwrap()
}

/// Waits until the newest question has this title, and returns its id.
fn await_question(project: &TestProject, title: &str) -> String {
    until("the question is asked", || {
        let newest = &all_questions(project)[0];
        (newest["title"] == title).then(|| newest["question"].as_str().unwrap().to_owned())
    })
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
    for part in ["Late answer: tester answered", "but keep the tag", "confirmed: true"] {
        assert_eq!(next.text.matches(part).count(), 1, "{part}: {}", next.text);
    }
    assert_eq!(next.structured, json!({"questions": []}), "what other tools say is untouched");
    assert!(!peer.call("ask_list", json!({})).text.contains("confirmed: true"));
}

#[test]
fn an_agent_and_the_successor_of_a_killed_one_wait_while_somebody_watches() {
    let project = fresh();
    let (mut killed, mut next) = (agent(&project), agent(&project));
    let shown = project.root().join("shown");
    let watcher = Watcher::start(&project, std::fs::File::create(&shown).unwrap());
    // A new daemon knows that a person was watching the previous one.
    kill_hard(project.daemon_pid().unwrap());
    let call = killed.start_call("select_option", json!({"prompt": "Which?", "options": [["a", "A"]], "wait_s": 60}));
    await_question(&project, "Which?");
    until("the watcher is back", || (watching(&project) == 1).then_some(()));
    let said = project.run(["answer", "--choose", "a"]).ok();
    assert!(said.ends_with(": answered by tester (command): Which?\n  selected: \"a\"\n"), "{said}");
    let answered = killed.answer(call).structured;
    assert_eq!((&answered["status"], &answered["selected"]), (&json!("answered"), &json!("a")));
    let shown = || std::fs::read_to_string(&shown).unwrap();
    until("the answer is shown", || shown().contains("answered by tester (command)").then_some(()));
    assert_eq!(shown().matches("  Which?").count(), 1, "the whole question is shown once: {}", shown());

    // The successor connects while the other connection still drains, and asks instead of it.
    let arguments = json!({"action": "Push?", "wait_s": 60});
    killed.start_call("confirm_action", arguments.clone());
    let former = await_question(&project, "Push?");
    let front_end = front_end_of(&killed);
    kill_hard(front_end);
    until("it is gone", || (!is_alive(front_end)).then_some(()));
    let call = next.start_call("confirm_action", arguments);
    until("it is asked anew", || (await_question(&project, "Push?") != former).then_some(()));
    project.run(["answer", "--yes"]).ok();
    assert_eq!(next.answer(call).structured["confirmed"], true);

    drop(watcher);
    // No person is watching any more, which the daemon notices after a grace period.
    assert_eq!(next.call("confirm_action", json!({"action": "Merge?"})).structured["status"], "unavailable");
}

#[test]
fn an_answer_by_flags_keeps_defaults_and_drops_nothing() {
    let project = fresh();
    let stores = json!([{"id": "sqlite"}, {"id": "pg", "label": "PostgreSQL"}]);
    let form = json!({"title": "The release", "fields": [
        {"id": "ship", "kind": "boolean", "required": true},
        {"id": "when", "kind": "date", "show_if": {"field": "ship", "equals": true}},
        {"id": "copies", "kind": "integer", "min": 1, "max": 9, "default": 2},
        {"id": "store", "kind": "choice", "options": stores, "other": true},
        {"id": "name", "pattern": "v[0-9]+"},
    ]});
    project.write("form.json", &form.to_string());
    assert_eq!(project.run(["ask", "form", "form.json", "--wait", "0"]).code, Some(6));
    let shown = project.run(["questions"]).ok();
    for bound in ["1 to 9, else 2", "matches v[0-9]+", "if ship is true", "24 h left"] {
        assert!(shown.contains(bound), "{bound}: {shown}");
    }
    for (args, why) in [
        (&["--set", "ship=no", "--set", "when=2026-12-01"][..], "`when`: it is asked only if `ship` is true"),
        (&["--choose", "sqlit"], "unknown option \"sqlit\"; available: sqlite, pg; another text is given with --text"),
    ] {
        let refused = project.run([&["answer"], args].concat());
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{refused:?}");
    }
    let said = project.run(["answer", "--set", "ship=no", "--set", "name=v2", "--set", "store=postgresql"]).ok();
    let (_, values) = said.split_once('\n').unwrap();
    assert_eq!(values, "  ship: false\n  copies: 2\n  store: \"pg\"\n  name: \"v2\"\n");
}

/// Children of this test's process descend from the agent if that is this process itself.
#[test]
fn an_agent_does_not_answer_for_its_person() {
    let project = fresh();
    project.write("hob.toml", "[mail]\nspace = \"ours\"\n");
    let mut peer = project.mcp(&["ask,repl"]);
    peer.initialize();
    peer.call("confirm_action", json!({"action": "Delete the branch?"}));
    let refused = |ran: Ran| {
        assert!(ran.code != Some(0) && ran.stderr.contains("an agent must not answer for its user"), "{ran:?}");
        assert!(ran.stderr.contains("an agent that hob serves here"), "{ran:?}");
    };
    refused(project.run(["answer", "--yes"]));
    refused(project.run(["trust", "--yes"]));
    // Neither a renamed hob nor another program at the socket counts as another caller.
    let renamed = r#"cp "$(command -v hob)" ./friend && ./friend answer --yes"#;
    refused(Ran::run(project.command("sh").args(["-c", renamed])));
    let spoken = Impostor::connect(&project, "control").request("ask/answer", json!({"yes": true}));
    assert!(spoken.to_string().contains("an agent must not answer for its user"), "{spoken}");
    // The same holds if no daemon knows the agent: it was stopped, died, or belongs to another project.
    project.run(["stop"]).ok();
    refused(project.run(["trust", "--yes"]));
    refused(project.run(["answer", "--yes"]));
    kill_hard(project.daemon_pid().unwrap());
    refused(project.run(["answer", "--yes"]));
    if has_program("python3") {
        let code = "import subprocess; print(subprocess.run(['hob', 'answer', '--yes'], capture_output=True, text=True).stderr)";
        let said = peer.call("repl_eval", json!({"profile": "python", "code": code, "wait_ms": 50_000})).text;
        assert!(said.contains("this runs in a REPL session of hob"), "{said}");
    }
    // An orphan has no ancestors left. A watcher is told why hob may have taken it for an agent.
    for command in ["answer --yes", "questions --watch"] {
        let script = format!("setsid --fork sh -c 'hob {command} > said 2>&1; mv said ended'");
        Ran::run(project.command("sh").args(["-c", &script])).ok();
        let ended = project.root().join("ended");
        let said = until("the orphan has ended", || std::fs::read_to_string(&ended).ok());
        std::fs::remove_file(&ended).unwrap();
        assert!(said.contains("the parent process has ended") && said.contains("a background subshell"), "{said}");
    }
    if has_program("tmux") {
        let screen = Screen::run(&project, "hob trust --yes && hob answer --yes");
        screen.until("answered by tester (command)");
    }
}

#[test]
fn a_program_of_the_person_is_told_of_questions() {
    let project = fresh();
    let (told, program) = (project.top().join("told"), project.top().join("tell"));
    let script = format!("#!/bin/sh\necho \"$HOB_QUESTION|$*\" > {0}.new; mv {0}.new {0}\n", told.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let config = project.home().join(".config/hob/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[ask]\nnotify = [\"{}\", \"--\"]\n", program.display())).unwrap();
    let mut peer = agent(&project);
    let call = peer.start_call("confirm_action", json!({"action": "Delete the branch?", "wait_s": 60}));
    let said = until("the program ran", || std::fs::read_to_string(&told).ok());
    let id = await_question(&project, "Delete the branch?");
    assert_eq!(said, format!("{id}|-- {id} Delete the branch?\n"));
    project.run(["answer", &id, "--yes"]).ok();
    assert_eq!(peer.answer(call).structured["confirmed"], true);
}
