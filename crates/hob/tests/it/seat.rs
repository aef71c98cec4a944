//! A person's seat: what a shell sees of hob's streams, exit codes and signals.

use serde_json::Value;
use testkit::{Ran, has_program};

use crate::fresh;
use crate::terminal::at_a_terminal;

#[test]
fn a_person_who_types_a_wrong_toolset_is_not_left_waiting() {
    if !has_program("python3") {
        return;
    }
    let project = fresh();
    let shown = at_a_terminal(&project, &["mcp", "repls"]);
    assert!(
        shown.contains("there is no toolset 'repls'") && shown.contains("Did you mean `hob mcp repl`?"),
        "{shown:?}"
    );
    let shown = at_a_terminal(&project, &["mcp", "status"]);
    assert!(shown.contains("`hob status` is a command of its own."), "{shown:?}");
    assert_eq!(project.daemon_pid(), None);
}

#[test]
fn a_call_speaks_under_the_name_it_is_given() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    let agents = project.run(["call", "list_agents", "--as", "planner", "--json"]).ok();
    let agents: Value = serde_json::from_str(&agents).expect("JSON");
    assert_eq!(agents["you"], "planner");
    let refused = project.run(["call", "check_messages", "--as", "nobody"]);
    assert!(refused.code == Some(4) && refused.stderr.contains("nobody"), "{refused:#?}");
}

#[test]
fn a_list_may_be_json() {
    let project = fresh();
    let refused = project.run(["call", "repl_start", "--profile", "bash", "--command", r#"["no-such-shell", "-i"]"#]);
    assert!(refused.code == Some(4) && refused.stderr.contains("needs the program \"no-such-shell\""), "{refused:#?}");
}

#[test]
fn a_look_at_the_status_makes_no_agent_active() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["quickstart", "--name", "reviewer", "--role", "dev"]).ok();
    project.run(["send", "look at it", "--to", "planner", "--as", "reviewer"]).ok();
    let shown = project.run(["status"]).ok();
    assert!(shown.contains("agents:\n  planner (lead): ") && shown.contains("1 message waits"), "{shown}");
    let before = project.run(["agents", "--json", "--as", "reviewer"]).ok();
    project.run(["status"]).ok();
    let seen = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let agents = value["agents"].as_array().expect("a list").clone();
        agents.into_iter().find(|agent| agent["name"] == "planner").expect("it is there")["last_seen_at"].clone()
    };
    assert_eq!(seen(&before), seen(&project.run(["agents", "--json", "--as", "reviewer"]).ok()));
}

#[test]
fn a_server_without_a_daemon_writes_sentences_and_no_log() {
    let project = fresh();
    let ran = project.run(["mcp", "--standalone"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""));
    // Nothing can be kept below a home that has a file there.
    let project = fresh();
    project.write("odd", "no JSON\n");
    std::fs::write(project.home().join(".local"), "").expect("a file");
    let mut command = project.hob(["mcp", "--standalone"]);
    command.stdin(std::fs::File::open(project.root().join("odd")).expect("it was written"));
    let said = Ran::of(&mut command).stderr;
    assert!(said.contains("hob mcp: a line of input was ignored (reason \"not JSON\", line no JSON"), "{said}");
    assert!(!said.contains("open questions"), "{said}");
    assert!(said.lines().all(|line| line.starts_with("hob mcp: ")), "{said}");
}
