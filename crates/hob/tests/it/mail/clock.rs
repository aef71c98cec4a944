//! The clock of the machine is set back an hour under a running daemon: nothing is lost, duplicated or reordered.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{McpPeer, has_program, kill_hard, until};

use super::{Team, check, ok, send, send_after_a_death, start_waiting};

/// A preloaded library: the wall clock is an hour behind as long as a file exists.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, id, at);
    if (!failed && id == CLOCK_REALTIME && access(FILE_OF_THE_HOUR, F_OK) == 0) at->tv_sec -= 3600;
    return failed;
}
"#;

/// A daemon that is killed at the end of the test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A clock that can be set back for all programs started with it.
struct Turned {
    library: PathBuf,
    file: PathBuf,
}

impl Turned {
    fn new(dir: &Path) -> Turned {
        let turned = Turned { library: dir.join("clock.so"), file: dir.join("an-hour-back") };
        let source = dir.join("clock.c");
        std::fs::write(&source, SHIM).unwrap();
        let define = format!("-DFILE_OF_THE_HOUR=\"{}\"", turned.file.display());
        let built =
            Command::new("cc").args(["-shared", "-fPIC", &define, "-o"]).arg(&turned.library).arg(&source).status();
        assert!(built.unwrap().success());
        turned
    }

    fn back(&self) {
        std::fs::write(&self.file, "").unwrap();
    }

    fn right(&self) {
        std::fs::remove_file(&self.file).unwrap();
    }

    /// Starts a daemon with this clock. It replaces the one that a front-end starts, which inherits no environment.
    fn serve(&self, team: &Team) -> Daemon {
        loop {
            let mut command = team.command("planner", &["serve"]);
            // As after the daemon's restart in a clean environment.
            command.env("LD_PRELOAD", &self.library).env("HOB_HANDED_OVER", "1").stderr(Stdio::null());
            let mut daemon = Daemon(command.spawn().unwrap());
            let own = until("a daemon", || match daemon.0.try_wait().unwrap() {
                Some(_) => Some(false),
                None => team.hob("planner", &["status"]).contains(&format!("pid {},", daemon.0.id())).then_some(true),
            });
            if own {
                return daemon;
            }
            team.project.daemon_pid().into_iter().for_each(kill_hard);
        }
    }

    /// Starts an agent whose front-end uses this clock.
    fn agent(&self, team: &Team, name: &str) -> McpPeer {
        let mut command = team.command(name, &["mcp", "mail", "--as", name]);
        command.env("LD_PRELOAD", &self.library);
        let mut peer = McpPeer::spawn(command);
        peer.initialize();
        peer
    }
}

/// Returns the recipient's record of a message.
fn record(peer: &mut McpPeer, id: &str) -> Value {
    ok(peer, "delivery_status", json!({"id": id}))["recipients"][0].clone()
}

#[test]
fn an_hour_back_and_forth_loses_nothing_and_orders_nothing() {
    if !has_program("cc") {
        return;
    }
    let team = Team::new();
    team.hob("planner", &["stop"]);
    let clock = Turned::new(team.project.top());
    let daemon = clock.serve(&team);
    let (mut planner, mut reviewer) = (clock.agent(&team, "planner"), clock.agent(&team, "reviewer"));
    let mut other = clock.agent(&team, "reviewer");
    let keyed = json!({"to": "tester", "content": "once", "idempotency_key": "k"});
    let first = ok(&mut planner, "send_message", keyed.clone())["message_id"].clone();
    let held = send(&mut planner, "reviewer", "in hand");
    assert_eq!(check(&mut reviewer), ["in hand"]);
    let before = send(&mut planner, "reviewer", "before");
    let waiting = start_waiting(&mut other, "critical");

    clock.back();
    let after = send(&mut planner, "reviewer", "after");
    let (early, late) = (record(&mut planner, &after), record(&mut planner, &before));
    assert!(early["stored_at"].as_str() < late["stored_at"].as_str(), "the clock is not back: {early} {late}");
    // Waiters wake up; leased messages stay leased and can be confirmed; the order is that of sending.
    let urgent = json!({"to": "reviewer", "content": "urgent", "priority": "critical"});
    ok(&mut planner, "send_message", urgent);
    assert_eq!(other.answer(waiting).structured["message"]["content"], "urgent");
    assert_eq!(record(&mut planner, &held)["state"], "fetched");
    assert_eq!(check(&mut reviewer), ["before", "after"]);
    assert!(check(&mut reviewer).is_empty());
    assert_eq!(record(&mut planner, &held)["state"], "read");
    let thread = ok(&mut reviewer, "search_messages", json!({"query": "after"}));
    assert_eq!(thread["hits"][0]["message_id"], json!(after));
    assert_eq!(ok(&mut planner, "send_message", keyed.clone())["message_id"], first, "the same key");
    let none = ok(&mut other, "wait_for_message", json!({"timeout": 1}));
    assert_eq!((&none["status"], none["waited_seconds"].as_f64().unwrap() < 30.0), (&json!("timeout"), true), "{none}");
    // A daemon that starts in that hour loses nothing either, and does not release messages leased to live agents.
    drop(daemon);
    let _next = clock.serve(&team);
    let last = send_after_a_death(&mut planner, "reviewer", "the next daemon's");
    assert_eq!(check(&mut other), ["the next daemon's"]);
    assert!(check(&mut reviewer).is_empty());

    clock.right();
    assert_eq!(ok(&mut planner, "send_message", keyed)["message_id"], first, "the same key");
    assert_eq!(record(&mut planner, &last)["state"], "fetched");
    assert!(check(&mut other).is_empty() && check(&mut reviewer).is_empty());
    assert_eq!(check(&mut clock.agent(&team, "tester")), ["once"]);
}
