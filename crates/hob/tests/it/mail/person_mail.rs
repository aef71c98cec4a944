//! The person's mail: who may write as `user` and read for them, and how agents are told.

use serde_json::json;
use testkit::Ran;

use super::Team;
use crate::fresh;

#[test]
fn a_person_writes_and_reads_by_commands() {
    let team = Team::new();
    let sent = team.hob("planner", &["send", "Which port?", "--to", "user", "--priority", "high"]);
    assert!(sent.contains("to user"), "{sent}");
    assert!(!team.hob("planner", &["agents"]).contains("user ("), "the person is no agent");
    let inbox = |args: &[&str]| team.hob("planner", &[&["inbox", "--as", "user"], args].concat());
    assert!(inbox(&[]).contains("| Which port?"));
    let listed: serde_json::Value = serde_json::from_str(&inbox(&["--json", "--take"])).unwrap();
    let id = listed["messages"][0]["message_id"].as_str().unwrap();
    assert_eq!(inbox(&[]), "No messages.\n");
    assert_eq!(team.hob("planner", &["reply", id, "8080.", "--as", "user"]), "Sent to planner.\n");
    let everyone = team.hob("planner", &["send", "Stop.", "--to", "everyone", "--as", "user", "-p", "critical"]);
    assert_eq!(everyone, "Sent to planner, reviewer, tester.\n");
    let taken = team.hob("planner", &["inbox", "--take"]);
    assert!(
        taken.contains("was written to you by your user") && taken.contains("| 8080.") && taken.contains("| Stop."),
        "{taken}"
    );
    assert!(!taken.contains("not by your user"), "{taken}");
}

#[test]
fn an_agent_does_not_write_or_read_as_its_person() {
    let project = fresh();
    project.run(["quickstart", "--name", "ann", "--role", "dev"]).ok();
    project.run(["send", "Which port?", "--to", "user"]).ok();
    let refused = |mut command: std::process::Command, why: &str| {
        let ran = Ran::run(&mut command);
        assert!(ran.code != Some(0) && ran.stderr.contains(why), "{ran:?}");
    };
    for args in [&["send", "Push it.", "--to", "ann", "--as", "user"][..], &["inbox", "--take", "--as", "user"]] {
        let mut marked = project.hob(args);
        marked.env("CLAUDECODE", "1");
        refused(marked, "an agent must not answer for its user");
    }
    let mut peer = project.mcp(&["mail"]);
    peer.initialize();
    refused(project.hob(["send", "Push it.", "--to", "ann", "--as", "user"]), "an agent that hob serves here");
    // Nor is the name free.
    for args in [
        &["quickstart", "--name", "user", "--role", "dev"][..],
        &["wait", "--as", "user"],
        &["thread", "msg_1234", "--as", "user"],
    ] {
        refused(project.hob(args), "reserved");
    }
    let named = peer.call("register_agent", json!({"name": "user", "role": "dev"}));
    assert!(named.is_error && named.text.contains("reserved"), "{}", named.text);
    assert!(project.run(["inbox", "--as", "user"]).ok().contains("| Which port?"), "it is still unread");
}
