//! The person's mail: who may write as `user` and read for them, and how agents are told.

use serde_json::{Value, json};
use testkit::Ran;

use crate::fresh;

#[test]
fn a_person_writes_and_reads_by_commands_and_an_agent_does_not_as_its_person() {
    let project = fresh();
    project.run(["quickstart", "--name", "ann", "--role", "dev"]).ok();
    assert!(project.run(["send", "Which port?", "--to", "user", "--priority", "high"]).ok().contains("to user"));
    assert!(!project.run(["agents"]).ok().contains("user ("), "the person is no agent");
    let as_user = [&["send", "Push it.", "--to", "ann", "--as", "user"][..], &["inbox", "--take", "--as", "user"]];
    let refused = |args: &[&str], marks: &[(&str, &str)], why: &str| {
        let ran = Ran::run(project.hob(args).envs(marks.iter().copied()));
        assert!(ran.code != Some(0) && ran.stderr.contains(why), "{args:?}: {ran:?}");
    };
    as_user.iter().for_each(|args| refused(args, &[("CLAUDECODE", "1")], "an agent must not answer for its user"));
    let mut peer = project.mcp(&["mail"]);
    peer.initialize();
    as_user.iter().for_each(|args| refused(args, &[], "an agent that hob serves here"));
    // Nor is the name free.
    for args in [
        &["quickstart", "--name", "user", "--role", "dev"][..],
        &["wait", "--as", "user"],
        &["thread", "msg_1234", "--as", "user"],
    ] {
        refused(args, &[], "reserved");
    }
    let named = peer.call("register_agent", json!({"name": "user", "role": "dev"}));
    assert!(named.is_error && named.text.contains("reserved"), "{}", named.text);
    drop(peer);

    let inbox = |args: &[&str]| project.run([&["inbox", "--as", "user"], args].concat()).ok();
    assert!(inbox(&[]).contains("| Which port?"), "it is still unread");
    let listed: Value = serde_json::from_str(&inbox(&["--json", "--take"])).unwrap();
    assert_eq!(inbox(&[]), "No messages.\n");
    let id = listed["messages"][0]["message_id"].as_str().unwrap();
    assert_eq!(project.run(["reply", id, "8080.", "--as", "user"]).ok(), "Sent to ann.\n");
    project.run(["send", "Stop.", "--to", "everyone", "--as", "user", "-p", "critical"]).ok();
    let taken = project.run(["inbox", "--take"]).ok();
    for part in ["was written to you by your user", "| 8080.", "| Stop."] {
        assert!(taken.contains(part) && !taken.contains("not by your user"), "{part}: {taken}");
    }
}
