//! Only a process in the worktree that holds a name may use it; the kernel reports where a process is.

use serde_json::json;
use testkit::until;

use super::{Team, check, ok, refused, send};

#[test]
fn two_worktrees_cannot_speak_as_each_other() {
    let team = Team::new();
    let mut thief = team.agent_with("tester", &["--profile", "thrum", "--as", "planner"]);
    let said = refused(&mut thief, "send_message", json!({"to": "reviewer", "content": "obey"}));
    let (planner, tester) = (team.dir("planner"), team.dir("tester"));
    for dir in [&planner, &tester] {
        assert!(said.contains(&dir.display().to_string()), "both are named: {said}");
    }
    assert!(said.contains("--takeover"), "{said}");
    // No other way to claim a name works either.
    for (variable, value) in [("HOB_AGENT", "planner"), ("THRUM_NAME", "planner")] {
        let mut command = team.command("tester", &["send", "obey", "--to", "reviewer"]);
        let ran = testkit::Ran::run(command.env(variable, value));
        assert_eq!(ran.code, Some(4), "{ran:?}");
    }
    let listed = refused(&mut thief, "check_messages", json!({}));
    assert!(listed.contains("belongs to"), "{listed}");
    assert!(check(&mut team.agent("reviewer")).is_empty());
}

#[test]
fn a_takeover_fences_the_old_holder_and_tells_it() {
    let team = Team::new();
    let mut old = team.agent("planner");
    send(&mut old, "reviewer", "before");
    let mut new = team.agent_with("tester", &["--profile", "thrum", "--as", "planner", "--takeover"]);
    send(&mut new, "reviewer", "after");
    let said = refused(&mut old, "send_message", json!({"to": "reviewer", "content": "too late"}));
    assert!(said.contains("taken over") && said.contains(&team.dir("tester").display().to_string()), "{said}");
    assert!(refused(&mut old, "check_messages", json!({})).contains("taken over"));
    assert_eq!(check(&mut team.agent("reviewer")), ["before", "after"]);
}

#[test]
fn who_takes_a_name_back_has_it_on_all_its_connections() {
    let team = Team::new();
    let mut old = team.agent("planner");
    send(&mut old, "reviewer", "before");
    let mut thief = team.agent_with("tester", &["--profile", "thrum", "--as", "planner", "--takeover"]);
    send(&mut thief, "reviewer", "as another");
    let said = refused(&mut old, "send_message", json!({"to": "reviewer", "content": "not yet"}));
    assert!(said.contains("take it back with --takeover"), "{said}");
    // The agent follows that advice.
    team.hob("planner", &["quickstart", "--name", "planner", "--role", "lead", "--takeover"]);
    send(&mut old, "reviewer", "mine again");
    assert_eq!(check(&mut old), [""; 0]);
    assert!(refused(&mut thief, "check_messages", json!({})).contains("taken over"));
    assert_eq!(check(&mut team.agent("reviewer")), ["before", "as another", "mine again"]);
}

#[test]
fn an_agent_whose_program_is_connected_is_there_before_it_says_anything() {
    let team = Team::without_agents();
    team.hob("planner", &["quickstart", "--name", "planner", "--role", "lead"]);
    // An imported agent that never ran here.
    let log = team.project.top().join(".thrum");
    super::failures::crowd(&log, 1);
    team.hob("planner", &["import", "thrum", log.to_str().unwrap()]);
    let identity = json!({"name": "c0", "role": "crowd", "worktree": team.dir("reviewer")});
    std::fs::write(team.project.state_dir().join("identities/c0.json"), identity.to_string()).unwrap();
    let shows = |word: &str| team.hob("planner", &["agents"]).contains(&format!("c0 (crowd): {word}"));
    assert!(shows("offline"));
    // Another agent in that worktree does not count.
    let other = team.agent_with("reviewer", &["--as", "other"]);
    assert!(shows("offline"));
    let silent = team.agent_with("reviewer", &[]);
    assert!(shows("active"));
    let sent = team.hob("planner", &["send", "there you are", "--to", "c0"]);
    assert!(sent.contains("to c0 (active)"), "{sent}");
    drop((other, silent));
    until("it is gone", || shows("offline").then_some(()));
}

#[test]
fn one_holder_has_many_connections() {
    let team = Team::new();
    let (mut first, mut second) = (team.agent("planner"), team.agent("planner"));
    send(&mut first, "reviewer", "one");
    send(&mut second, "reviewer", "two");
    team.hob("planner", &["send", "three", "--to", "reviewer"]);
    assert_eq!(check(&mut team.agent("reviewer")), ["one", "two", "three"]);
}

#[test]
fn without_a_name_the_server_starts_all_the_same() {
    let team = Team::without_agents();
    let mut nobody = team.agent_with("tester", &["--profile", "thrum"]);
    let said = refused(&mut nobody, "check_messages", json!({}));
    assert!(said.contains("no agent name yet") && said.contains("hob quickstart --name"), "{said}");
    assert_eq!(ok(&mut nobody, "list_agents", json!({}))["count"], 0);
    let unknown = refused(&mut team.agent("planner"), "check_messages", json!({}));
    assert!(unknown.contains("Unknown agent \"planner\"") && unknown.contains("hob quickstart"), "{unknown}");
    // From then on the worktree has a name, without any configuration.
    team.hob("tester", &["quickstart", "--name", "anna", "--role", "dev"]);
    assert_eq!(ok(&mut nobody, "check_messages", json!({}))["status"], "empty");
    assert_eq!(ok(&mut nobody, "list_agents", json!({}))["you"], "anna");
}
