//! The daemon is killed fifty times under load from real front-ends: every acknowledged message is delivered exactly
//! once, and waiters still wake.

use testkit::kill_hard;

use super::Team;
use super::load::{Count, Load, Sleepers};

const DEATHS: u64 = 50;

#[test]
fn fifty_deaths_of_the_daemon_lose_and_double_nothing_long_run() {
    let team = Team::new();
    let names = ["planner", "reviewer", "tester"];
    let senders = (0..6).map(|n| team.agent(names[n % 3])).collect();
    let more = |name: &str| {
        team.hob("planner", &["quickstart", "--name", name, "--role", "box"]);
        (name.to_owned(), team.agent_with("planner", &["--profile", "thrum", "--as", name]))
    };
    let load = Load::start(senders, vec![more("reader-0"), more("reader-1")]);
    let mut sleepers = Sleepers::new(vec![more("sleeper-0"), more("sleeper-1")]);
    let mut ringer = team.agent("planner");
    for death in 0..DEATHS {
        // Kill at a different point each time: right after an answer, or while many calls are in flight.
        load.wait_for_more(1 + death * 7 % 23);
        if let Some(pid) = team.project.daemon_pid() {
            kill_hard(pid);
        }
        if death % 10 == 9 {
            sleepers.ring(&mut ringer, &format!("after {death}"));
        }
    }
    load.wait_for_more(1);
    let count = load.end();
    sleepers.ring(&mut ringer, "at the end");
    eprintln!("{DEATHS} deaths: {count:?}");
    assert_eq!(count, Count { lost: 0, doubled: 0, handed_out_twice: 0, ..count });
    assert!(count.acknowledged as u64 > 5 * DEATHS, "hardly a load: {count:?}");
}
