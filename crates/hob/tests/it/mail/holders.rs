//! Only a process in the worktree that holds a name may use it; the kernel reports where a process is.

use serde_json::json;
use testkit::{Ran, until};

use super::{Team, check, refused, send};

#[test]
fn a_name_belongs_to_one_worktree_until_another_takes_it_over() {
    let team = Team::new();
    let (planner, tester) = (team.dir("planner").display().to_string(), team.dir("tester").display().to_string());
    let mut old = team.agent("planner");
    send(&mut old, "reviewer", "before");
    let as_planner = ["--profile", "thrum", "--as", "planner"];
    let mut thief = team.agent_with("tester", &as_planner);
    let said = refused(&mut thief, "send_message", json!({"to": "reviewer", "content": "obey"}));
    for part in [&*planner, &tester, "--takeover"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(refused(&mut thief, "check_messages", json!({})).contains("belongs to"));
    // No other way to claim a name works either.
    for variable in ["HOB_AGENT", "THRUM_NAME"] {
        let mut command = team.command("tester", &["send", "obey", "--to", "reviewer"]);
        assert_eq!(Ran::run(command.env(variable, "planner")).code, Some(4), "{variable}");
    }
    let mut new = team.agent_with("tester", &[&as_planner[..], &["--takeover"]].concat());
    send(&mut new, "reviewer", "after");
    let said = refused(&mut old, "send_message", json!({"to": "reviewer", "content": "too late"}));
    for part in ["taken over", &tester, "take it back with --takeover"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(refused(&mut old, "check_messages", json!({})).contains("taken over"));
    // The agent follows that advice, and has its name on all its connections.
    team.hob("planner", &["quickstart", "--name", "planner", "--role", "lead", "--takeover"]);
    send(&mut old, "reviewer", "mine again");
    send(&mut team.agent("planner"), "reviewer", "here too");
    assert!(refused(&mut new, "check_messages", json!({})).contains("taken over"));
    assert_eq!(check(&mut team.agent("reviewer")), ["before", "after", "mine again", "here too"]);
}

#[test]
fn an_agent_is_active_while_its_program_is_connected_even_if_it_makes_no_call() {
    let team = Team::new();
    let shows = |word: &str| team.hob("planner", &["agents"]).contains(&format!("reviewer (dev): {word}"));
    assert!(shows("offline"));
    // Another agent in that worktree does not count.
    let other = team.agent_with("reviewer", &["--as", "other"]);
    assert!(shows("offline"));
    let silent = team.agent_with("reviewer", &[]);
    assert!(shows("active"));
    let sent = team.hob("planner", &["send", "there you are", "--to", "reviewer"]);
    assert!(sent.contains("to reviewer (active)"), "{sent}");
    drop((other, silent));
    until("its end to be noticed", || shows("offline").then_some(()));
}
