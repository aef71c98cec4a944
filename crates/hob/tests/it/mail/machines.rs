//! Agents on two machines: two clones of a repository with a daemon each, and one PostgreSQL database. Real front-ends, real
//! daemons.

use std::time::Instant;

use serde_json::json;
use testkit::{McpPeer, Postgres, Ran, TestProject, kill_hard};

use super::load::{Count, Load, Sleepers};
use super::{check, ok, refused, send, send_after_a_death, start_waiting};
use crate::fresh;

/// A clone of the repository with a separate daemon.
struct Machine(TestProject);

impl Machine {
    fn new(database: &Postgres) -> Machine {
        let project = fresh();
        for args in [&["init", "-q", "."][..], &["remote", "add", "origin", "git@example.org:team/both.git"]] {
            assert!(project.command("git").args(args).status().unwrap().success());
        }
        project.write_state("mail-database", &database.url());
        Machine(project)
    }

    fn agent(&self, name: &str) -> McpPeer {
        Ran::run(&mut self.0.hob(["quickstart", "--name", name, "--role", "dev"])).ok();
        let mut peer = self.0.mcp(&["--profile", "thrum", "--as", name]);
        peer.initialize();
        peer
    }

    fn named(&self, name: &str) -> (String, McpPeer) {
        (name.to_owned(), self.agent(name))
    }

    fn kill_daemon(&self) {
        if let Some(pid) = self.0.daemon_pid() {
            kill_hard(pid);
        }
    }
}

#[test]
fn a_send_on_one_machine_wakes_a_waiter_on_the_other() {
    let Some(database) = Postgres::start() else { return };
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    let (mut ann, mut bob) = (here.agent("ann"), there.agent("bob"));
    let mut took = Vec::new();
    for round in 0..20 {
        let waiting = start_waiting(&mut bob, "all");
        let begin = Instant::now();
        let id = send(&mut ann, "bob", &round.to_string());
        let woken = bob.answer(waiting).structured;
        took.push(begin.elapsed());
        assert_eq!((&woken["message"]["message_id"], &woken["message"]["from"]), (&json!(id), &json!("ann")));
    }
    took.sort();
    eprintln!("send to wake over two daemons: p50 {:?}, worst {:?}", took[10], took[19]);
    // Each agent sees the other, and a name held on one machine is refused on the other.
    let agents = ok(&mut ann, "list_agents", json!({}));
    let names: Vec<&str> =
        agents["agents"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ann", "bob"]);
    let ran = Ran::run(&mut here.0.hob(["send", "x", "--to", "ann", "--as", "bob"]));
    assert!(ran.code != Some(0) && ran.stderr.contains("The name bob belongs to"), "{ran:?}");
}

#[test]
fn one_daemon_s_death_concerns_its_own_agents_only() {
    let Some(database) = Postgres::start() else { return };
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    let (mut ann, mut bob) = (here.agent("ann"), there.agent("bob"));
    send(&mut ann, "bob", "in hand");
    assert_eq!(check(&mut bob), ["in hand"]);
    here.kill_daemon();
    // Messages leased to bob stay his, whatever happens on the other machine.
    send_after_a_death(&mut ann, "bob", "after");
    assert_eq!(check(&mut bob), ["after"]);
    // A waiter whose own daemon dies still learns of messages sent on the other machine.
    let waiting = start_waiting(&mut bob, "all");
    there.kill_daemon();
    send_after_a_death(&mut ann, "bob", "over a death");
    assert_eq!(bob.answer(waiting).structured["message"]["content"], "over a death");
}

#[test]
fn deaths_and_cut_connections_lose_and_double_nothing_long_run() {
    let Some(database) = Postgres::start() else { return };
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    let senders = vec![here.agent("s0"), there.agent("s1"), here.agent("s2"), there.agent("s3")];
    let load = Load::start(senders, vec![here.named("reader-0"), there.named("reader-1")]);
    let mut sleepers = Sleepers::new(vec![here.named("sleeper-0"), there.named("sleeper-1")]);
    let mut ringer = here.agent("ringer");
    for blow in 0..15_u64 {
        load.wait_for_more(1 + blow * 7 % 23);
        match blow % 3 {
            0 => here.kill_daemon(),
            1 => database.cut_connections(),
            _ => there.kill_daemon(),
        }
        if blow % 5 == 4 {
            sleepers.ring(&mut ringer, &format!("after {blow}"));
        }
    }
    load.wait_for_more(1);
    let count = load.end();
    sleepers.ring(&mut ringer, "at the end");
    eprintln!("15 blows: {count:?}");
    assert_eq!(count, Count { lost: 0, doubled: 0, handed_out_twice: 0, ..count });
}

#[test]
fn what_is_sent_while_the_database_is_away_waits_on_disk_over_a_kill() {
    let Some(mut database) = Postgres::start() else { return };
    let (here, there) = (Machine::new(&database), Machine::new(&database));
    here.0.write("hob.toml", "[mail]\nspool = 10\n");
    let (mut ann, mut bob) = (here.agent("ann"), there.agent("bob"));
    send(&mut ann, "bob", "0");
    assert_eq!(check(&mut bob), ["0"]);
    database.stop();
    for content in ["1", "2"] {
        let call = json!({"to": "bob", "content": content, "idempotency_key": content});
        let queued = ok(&mut ann, "send_message", call.clone());
        assert_eq!((&queued["status"], &queued["recipients"]), (&json!("queued"), &json!([])), "{queued}");
        assert_eq!(ok(&mut ann, "send_message", call)["message_id"], queued["message_id"], "the same key");
    }
    // A daemon without a spool refuses the message, and does not report it as sent.
    let said = refused(&mut bob, "send_message", json!({"to": "ann", "content": "x"}));
    assert!(said.contains("Nothing was stored"), "{said}");
    here.kill_daemon();
    // The next daemon cannot verify who may speak as ann while the database is unavailable; queued messages are kept.
    let call = json!({"to": "bob", "content": "3", "idempotency_key": "3"});
    let said = refused(&mut ann, "send_message", call);
    assert!(said.contains("Nothing was stored"), "{said}");
    database.resume();
    let mut got = Vec::new();
    testkit::until("what was queued", || {
        got.extend(check(&mut bob));
        (got.len() >= 2).then_some(())
    });
    assert_eq!(got, ["1", "2"]);
    send(&mut ann, "bob", "4");
    assert_eq!(check(&mut bob), ["4"]);
}
