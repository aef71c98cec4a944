//! Language servers behind the daemon: permissions, visibility, and cleanup. The server is the lying one from the tests of
//! `crates/code`; here it is honest.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{TestProject, has_program, is_alive, kill_hard, until};

use crate::{fresh, json_of, says};

const LIAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../code/tests/it/liar.py");

/// Creates a Python project whose server is a command in the user's own configuration, or in `hob.toml`.
fn project(of_user: bool) -> Option<TestProject> {
    if !has_program("python3") {
        return None;
    }
    let project = fresh();
    project.write("geo.py", "def area(side):\n    return side\n\ndef surface(side):\n    return side\n");
    project.write("uses.py", "from geo import area, surface\n\ndef run():\n    return area(surface(2))\n");
    let table = format!("[code.servers.ty]\ncommand = [\"python3\", \"{LIAR}\", \"honest\", \"0\"]\n");
    if of_user {
        let config = project.home().join(".config/hob");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.toml"), table).unwrap();
    } else {
        project.write("hob.toml", &table);
    }
    Some(project)
}

/// Returns the servers in `hob status`.
fn servers(project: &TestProject) -> Vec<Value> {
    json_of(project, &["status"])["language_servers"].as_array().cloned().unwrap_or_default()
}

fn pid(server: &Value) -> i32 {
    server["pid"].as_i64().unwrap().try_into().unwrap()
}

#[test]
fn two_agents_a_subagent_and_a_command_share_one_server() {
    let Some(project) = project(true) else { return };
    // A subagent has a separate front-end, or a shell.
    let mut agents = [project.mcp(&["code"]), project.mcp(&["code"]), project.mcp(&["code"])];
    for peer in &mut agents {
        peer.initialize();
        let answer = peer.call("find_callers", json!({"name": "area", "wait_ms": 30_000}));
        assert_eq!(answer.structured["head"]["complete"], true, "{}", answer.text);
    }
    let said = project.run(["callers", "area"]).ok();
    assert!(said.starts_with("1 caller, complete · checked by ty"), "{said}");
    let servers = servers(&project);
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert_eq!(running(&project, "liar.py"), [pid(&servers[0])], "one process, as the kernel sees it");
    let lines = project.run(["status"]).ok();
    assert!(lines.contains("language server: ty 0.1 in "), "{lines}");
    let journal = project.read_state("log/journal.jsonl");
    says(&journal, &["code_server_started", "code_server_state"]);
}

/// Returns the server processes of a project, by their command and the home in their environment.
fn running(project: &TestProject, command: &str) -> Vec<i32> {
    let of_it = |process: &testkit::Process| process.command.contains(command) && !process.command.contains(" guard");
    project.processes().into_iter().filter(of_it).map(|process| process.pid).collect()
}

/// Starts and ends daemons, most of them hard. Each has one server, which ends with it; returns the longest time of that.
fn end_daemons(project: &TestProject, command: &str, lives: usize) -> Duration {
    let mut longest = Duration::ZERO;
    for life in 0..lives {
        let answer = project.run(["callers", "area"]).ok();
        assert!(answer.starts_with("1 caller, complete · checked by ty"), "life {life}: {answer}");
        let all = running(project, command);
        let [server] = all[..] else { panic!("life {life}: {all:?}") };
        assert_eq!(servers(project).iter().map(pid).collect::<Vec<_>>(), [server], "life {life}");
        // The temporary files of the killed one are gone.
        let scratch = project.state_dir().join("code/servers/tmp");
        assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 1, "life {life}");
        if life % 3 == 1 {
            drop(project.run(["stop"]));
        } else {
            kill_hard(project.daemon_pid().unwrap());
        }
        let since = Instant::now();
        until("the server ends", || (!is_alive(server)).then_some(()));
        longest = longest.max(since.elapsed());
    }
    // The guardian terminates it, and kills it after 0.4 s. Allow two seconds, or more on slow machines.
    assert!(longest < testkit::patience() / 30, "{longest:?}");
    longest
}

#[test]
fn no_server_outlives_its_daemon() {
    let Some(project) = project(true) else { return };
    end_daemons(&project, "liar.py", 3);
}

#[test]
fn twenty_ended_daemons_leave_no_server_of_ty_long_run() {
    let Some(project) = project(true).filter(|_| has_program("ty")) else { return };
    std::fs::remove_file(project.home().join(".config/hob/config.toml")).unwrap();
    println!("the longest time until a server had ended: {:?}", end_daemons(&project, "ty server", 20));
}

#[test]
fn doctor_tries_a_question_of_each_language() {
    let Some(project) = project(true) else { return };
    project.write("Area.hs", "module Area where\n\narea :: Int -> Int\narea x = x\n");
    let quick = project.run(["doctor", "--quick"]).stdout;
    assert!(!quick.contains("find_callers"), "{quick}");
    assert!(project.daemon_pid().is_none(), "without --try it starts nothing");
    let ran = project.run(["doctor", "--quick", "--try"]);
    let waits = "Python: waiting for find_callers geo.py:surface, which may take 50 s";
    assert!(ran.stderr.contains(waits), "{}", ran.stderr);
    let tried = ran.stdout;
    let line = |start: &str| tried.lines().find(|line| line.contains(start)).unwrap_or_default().to_owned();
    let python = line("Python: find_callers geo.py:surface after ");
    assert!(
        python.trim_start().starts_with("ok ") && python.contains(" s: 1 caller, complete · checked by ty"),
        "{tried}"
    );
    let haskell = line("Haskell: find_callers Area.hs:area after ");
    // GHC would run code of the project, which is not trusted here.
    let why = if has_program("ghc") { "before you trust this project" } else { "ghc is not installed" };
    assert!(haskell.trim_start().starts_with("-- ") && haskell.contains(why), "{tried}");
    let json = json_of(&project, &["doctor", "--quick", "--try"]);
    let findings = json["findings"].as_array().unwrap().iter().filter(|one| one["section"] == "Tried");
    assert_eq!(findings.map(|one| one["verdict"].as_str().unwrap()).collect::<Vec<_>>(), ["note", "ok"]);
}

#[test]
fn a_command_of_a_checkout_waits_for_a_grant() {
    let Some(project) = project(false) else { return };
    let said = project.run(["callers", "area"]).ok();
    assert!(said.contains("[code.servers.ty] command waits for `hob trust`"), "{said}");
    assert!(servers(&project).is_empty());
    let asked = project.run(["trust", "--yes"]).stdout;
    assert!(asked.contains("as a language server"), "{asked}");
    project.run(["stop"]);
    let said = project.run(["callers", "area"]).ok();
    assert!(said.starts_with("1 caller, complete · checked by ty"), "{said}");
    // Any edit revokes the grant.
    project.write("hob.toml", &project.read("hob.toml").replace("honest", "wrong"));
    project.run(["stop"]);
    let said = project.run(["callers", "area"]).ok();
    assert!(said.contains("waits for `hob trust`"), "{said}");
    assert!(servers(&project).is_empty());
}
