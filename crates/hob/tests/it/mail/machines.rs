//! Agents on two machines: two clones of a repository with a daemon each, and one PostgreSQL database.

use serde_json::json;
use testkit::{McpPeer, Postgres, TestProject, until};

use super::kills::under_load;
use super::{check, git, kill_daemon, ok, refused, send, send_after_a_death, start_waiting, woken};
use crate::fresh;

/// Creates a clone of the repository, with a separate daemon.
fn machine(database: &Postgres) -> TestProject {
    let project = fresh();
    git(&project, &["init", "-q", "."]);
    git(&project, &["remote", "add", "origin", "git@example.org:team/both.git"]);
    project.write_state("mail-database", &database.url());
    project
}

fn agent(machine: &TestProject, name: &str) -> McpPeer {
    machine.run(["quickstart", "--name", name, "--role", "dev"]).ok();
    let mut peer = machine.mcp(&["--profile", "thrum", "--as", name]);
    peer.initialize();
    peer
}

#[test]
fn agents_on_two_machines_talk_over_deaths_and_while_the_database_is_away() {
    let Some(mut database) = Postgres::start() else { return };
    let (here, there) = (machine(&database), machine(&database));
    here.write("hob.toml", "[mail]\nspool = 10\n");
    let (mut ann, mut bob) = (agent(&here, "ann"), agent(&there, "bob"));
    let waiting = start_waiting(&mut bob, "all");
    let id = send(&mut ann, "bob", "in hand");
    let message = woken(&mut bob, waiting);
    assert_eq!((&message["message_id"], &message["from"]), (&json!(id), &json!("ann")));
    let ran = here.run(["send", "x", "--to", "ann", "--as", "bob"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("The name bob belongs to"), "{ran:?}");

    // Messages leased to bob stay his, whatever happens on the other machine.
    kill_daemon(&here);
    send_after_a_death(&mut ann, "bob", "after");
    assert_eq!(check(&mut bob), ["after"]);
    // A waiter whose own daemon dies still learns of messages sent on the other machine.
    let waiting = start_waiting(&mut bob, "all");
    kill_daemon(&there);
    send_after_a_death(&mut ann, "bob", "over a death");
    assert_eq!(woken(&mut bob, waiting)["content"], "over a death");

    database.stop();
    for content in ["1", "2"] {
        let call = json!({"to": "bob", "content": content, "idempotency_key": content});
        let queued = ok(&mut ann, "send_message", call.clone());
        assert_eq!((&queued["status"], &queued["recipients"]), (&json!("queued"), &json!([])), "{queued}");
        assert_eq!(ok(&mut ann, "send_message", call)["message_id"], queued["message_id"], "the same key");
    }
    // A daemon without a spool refuses the message. So does one that cannot verify the sender, and keeps what is queued.
    assert!(refused(&mut bob, "send_message", json!({"to": "ann", "content": "x"})).contains("Nothing was stored"));
    kill_daemon(&here);
    let call = json!({"to": "bob", "content": "3", "idempotency_key": "3"});
    assert!(refused(&mut ann, "send_message", call).contains("Nothing was stored"));
    database.resume();
    let mut got = Vec::new();
    until("the queued messages", || {
        got.extend(check(&mut bob));
        (got.len() >= 2).then_some(())
    });
    assert_eq!(got, ["1", "2"]);
}

#[test]
fn deaths_and_cut_connections_lose_and_double_nothing_long_run() {
    let Some(database) = Postgres::start() else { return };
    let machines = [machine(&database), machine(&database)];
    let start = |number: u64, name: &str| agent(&machines[number as usize % 2], name);
    let disturb = |round: u64| match round % 3 {
        1 => database.cut_connections(),
        machine => kill_daemon(&machines[machine as usize / 2]),
    };
    under_load(start, 15, disturb);
}
