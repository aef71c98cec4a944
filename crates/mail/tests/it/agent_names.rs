//! Names as their agents see them: the first call without one, a second one in a worktree, two processes under one, and
//! the mail of a removed name. Also: which agents are active, and that looking does not make an agent active.

use std::path::Path;
use std::sync::Arc;

use mail::callers::Callers;
use mail::hints::HookEvent;
use mail::store::memory::MemoryStore;
use mail::{Clock, Liveness};
use mcp::tool::Context;
use project::{Caller, Role};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::fixture::limits;
use crate::name_takeover::{Line, call_of, callers};

struct Daemon {
    callers: Arc<Callers>,
    _temp: tempfile::TempDir,
}

/// An agent's process, connected from a worktree.
struct Process {
    cx: Context,
    line: Line,
}

impl Daemon {
    async fn new() -> Daemon {
        let temp = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::new(Clock::system(), limits()));
        Daemon { callers: callers(store, "h", temp.path().to_owned()).await, _temp: temp }
    }

    /// Returns the text of an answer, or of a refusal.
    async fn call(&self, process: &Process, tool: &str, arguments: Value) -> Result<String, String> {
        let tools = mail::tools::tools(&self.callers);
        let tool = tools.into_iter().find(|one| one.declaration().name == tool).unwrap();
        let outcome = tool.call(process.cx.clone(), Some(&to_raw_value(&arguments).unwrap())).await;
        let outcome = outcome.map_err(|error| error.to_string())?;
        let text = outcome.content[0].as_text().unwrap().to_owned();
        if outcome.is_error { Err(text) } else { Ok(text) }
    }

    async fn ok(&self, process: &Process, tool: &str, arguments: Value) -> String {
        self.call(process, tool, arguments).await.unwrap()
    }

    async fn active(&self) -> Vec<String> {
        let agents = self.callers.mail().await.unwrap().agents().await.unwrap();
        let active = agents.into_iter().filter(|agent| agent.standing == Liveness::Active);
        active.map(|agent| agent.name.to_string()).collect()
    }
}

/// Returns a process of an agent that was started without a name.
fn process(worktree: &str, pid: u32) -> Process {
    with(Caller { name: None, ..caller(worktree, pid) })
}

/// Returns one of hob's own commands.
fn command(worktree: &str) -> Process {
    with(Caller { name: None, role: Role::Control, run: None, ..caller(worktree, 9000) })
}

fn with(caller: Caller) -> Process {
    let (cx, line) = call_of(caller);
    Process { cx, line }
}

fn caller(worktree: &str, pid: u32) -> Caller {
    let (connection, run) = (pid.into(), Some(format!("run-{pid}")));
    Caller { connection, pid, run, ..testkit::caller(Path::new(worktree), "") }
}

/// Ends a process, and waits until that is noticed.
async fn end(daemon: &Daemon, process: Process, name: &str) {
    process.line.hang_up.send_replace(true);
    while daemon.active().await.iter().any(|active| active == name) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_first_call_without_a_name_says_how_to_get_one() {
    let daemon = Daemon::new().await;
    let nobody = process("/w/Parser 2", 1);
    for (tool, arguments) in [
        ("check_messages", json!({})),
        ("check_messages", json!({"limit": 0})),
        ("wait_for_message", json!({})),
        ("send_message", json!({"to": "x", "content": "x"})),
        ("broadcast_message", json!({"content": "x"})),
        ("ack_message", json!({"ids": ["msg_1"]})),
        ("search_messages", json!({"query": "x"})),
        ("get_thread", json!({"id": "msg_1"})),
        ("delivery_status", json!({"id": "msg_1"})),
        ("groups", json!({"action": "create", "group": "g"})),
    ] {
        let said = daemon.call(&nobody, tool, arguments).await.unwrap_err();
        assert!(said.contains(r#"Call register_agent with {"name": "parser-2"} first"#), "{tool}: {said}");
    }
    let said = daemon.ok(&nobody, "register_agent", json!({"name": "parser-2"})).await;
    assert_eq!(said, "registered: parser-2 (agent), in \"/w/Parser 2\".");
    assert_eq!(daemon.ok(&nobody, "check_messages", json!({})).await, "No messages.");
    // A process that was started under an unregistered name.
    let named = with(Caller { name: Some("planner".into()), ..caller("/w/other", 2) });
    let said = daemon.call(&named, "check_messages", json!({})).await.unwrap_err();
    assert_eq!(
        said,
        "Unknown agent \"planner\".\nCall register_agent with {\"name\": \"planner\"} first, if this new name is right."
    );
    // A similar name exists.
    let misspelt = with(Caller { name: Some("parser2".into()), ..caller("/w/other", 3) });
    let said = daemon.call(&misspelt, "check_messages", json!({})).await.unwrap_err();
    let hints = ["Nearest: parser-2. list_agents and", "Call register_agent with {\"name\": \"parser2\"} first"];
    assert!(hints.iter().all(|hint| said.contains(hint)), "{said}");
}

#[tokio::test]
async fn a_mistyped_name_is_taken_back_by_another_registration() {
    let daemon = Daemon::new().await;
    let (agent, other) = (process("/w/a", 1), process("/w/b", 2));
    daemon.ok(&agent, "register_agent", json!({"name": "plnner", "role": "lead", "module": "all"})).await;
    daemon.ok(&other, "register_agent", json!({"name": "other"})).await;
    daemon.ok(&other, "send_message", json!({"to": "plnner", "content": "for the wrong name"})).await;
    let said = daemon.ok(&agent, "register_agent", json!({"name": "planner"})).await;
    assert_eq!(
        said,
        "renamed: planner (lead, module \"all\"), in \"/w/a\". The name plnner is free now; its mail and its groups \
         are yours. 1 message waits for you: check_messages."
    );
    assert!(daemon.ok(&agent, "check_messages", json!({})).await.contains("| for the wrong name"));
    let said = daemon.call(&other, "send_message", json!({"to": "plnner", "content": "x"})).await.unwrap_err();
    assert!(said.ends_with("It was renamed: write to planner."), "{said}");
    let listed = daemon.ok(&other, "list_agents", json!({})).await;
    assert!(listed.starts_with("2 agents.") && listed.contains("planner (lead): active"), "{listed}");
    // A later run of the worktree has the name, even if it was started under the wrong one.
    let later = with(Caller { name: Some("plnner".into()), ..caller("/w/a", 3) });
    assert!(daemon.ok(&later, "list_agents", json!({})).await.contains("planner (lead, you)"));
}

#[tokio::test]
async fn a_mistyped_name_goes_where_the_right_one_was_there_already_and_after_a_restart() {
    let daemon = Daemon::new().await;
    let other = process("/w/b", 2);
    daemon.ok(&other, "register_agent", json!({"name": "other"})).await;
    daemon.ok(&command("/w/a"), "register_agent", json!({"name": "planner", "role": "lead"})).await;
    let agent = process("/w/a", 1);
    daemon.ok(&agent, "register_agent", json!({"name": "plnner"})).await;
    let said = daemon.ok(&agent, "register_agent", json!({"name": "planner"})).await;
    assert_eq!(said, "updated: planner (lead), in \"/w/a\". The name plnner is free now; it had no mail.");
    let listed = daemon.ok(&other, "list_agents", json!({})).await;
    assert!(listed.starts_with("2 agents.") && !listed.contains("plnner"), "{listed}");
    // One that was written to stays, with its mail.
    daemon.ok(&agent, "send_message", json!({"to": "other", "content": "x"})).await;
    daemon.ok(&command("/w/a"), "register_agent", json!({"name": "third"})).await;
    let said = daemon.ok(&agent, "register_agent", json!({"name": "third"})).await;
    assert!(!said.contains("The name planner is free"), "{said}");
    // A run whose daemon was restarted has not called yet.
    let late = process("/w/c", 5);
    daemon.ok(&late, "register_agent", json!({"name": "cooordinator"})).await;
    late.line.hang_up.send_replace(true);
    let again = with(Caller { connection: 55, ..caller("/w/c", 5) });
    let said = daemon.ok(&again, "register_agent", json!({"name": "coordinator"})).await;
    assert!(said.starts_with("renamed: coordinator"), "{said}");
}

#[tokio::test]
async fn a_worktree_keeps_the_name_that_was_to_stay_so() {
    let daemon = Daemon::new().await;
    let (first, second, third) = (process("/w/a", 11), process("/w/a", 22), process("/w/a", 33));
    daemon.ok(&first, "register_agent", json!({"name": "ann"})).await;
    let said = daemon.ok(&second, "register_agent", json!({"name": "bob"})).await;
    assert!(said.ends_with("ann remains the name of process 11 in this worktree."), "{said}");
    daemon.ok(&third, "register_agent", json!({"name": "eve"})).await;
    end(&daemon, first, "ann").await;
    // A repeated registration changes only the given fields.
    daemon.ok(&second, "register_agent", json!({"name": "bob", "intent": "reads"})).await;
    end(&daemon, third, "eve").await;
    end(&daemon, second, "bob").await;
    assert!(daemon.ok(&process("/w/a", 44), "list_agents", json!({})).await.contains("ann (agent, you)"));
}

#[tokio::test]
async fn a_second_name_replaces_the_first_where_its_process_is_gone() {
    let daemon = Daemon::new().await;
    let first = process("/w/a", 1);
    daemon.ok(&first, "register_agent", json!({"name": "old", "role": "dev"})).await;
    daemon.ok(&first, "send_message", json!({"to": "old", "content": "to myself"})).await;
    end(&daemon, first, "old").await;
    let second = process("/w/a", 2);
    let said = daemon.ok(&second, "register_agent", json!({"name": "new", "role": "dev"})).await;
    assert_eq!(
        said,
        "registered: new (dev), in \"/w/a\".\nThis worktree's name was old, which no process uses now; 1 message \
         waits for it. `hob inbox --as old` shows them; `hob agents forget old` removes it and informs the senders."
    );
    end(&daemon, second, "new").await;
    let third = process("/w/a", 3);
    assert!(daemon.ok(&third, "list_agents", json!({})).await.contains("new (dev, you)"));
}

#[tokio::test]
async fn two_processes_of_one_worktree_are_told_of_each_other() {
    let daemon = Daemon::new().await;
    let (first, second) = (process("/w/a", 11), process("/w/a", 22));
    daemon.ok(&first, "register_agent", json!({"name": "ann"})).await;
    let said = daemon.ok(&second, "register_agent", json!({"name": "ann"})).await;
    assert_eq!(
        said,
        "updated: ann (agent), in \"/w/a\".\nAnother process, 11, uses ann here too: each message reaches only one of \
         you. Register another name to receive your own."
    );
    let said = daemon.ok(&first, "check_messages", json!({})).await;
    assert_eq!(
        said,
        "No messages.\nAnother process, 22, uses your name: each message reaches only one of you. Call register_agent with another name."
    );
    // Both have it: neither takes it from the other.
    let said = daemon.ok(&second, "register_agent", json!({"name": "bob"})).await;
    assert_eq!(said, "registered: bob (agent), in \"/w/a\".\nann remains the name of process 11 in this worktree.");
    assert!(daemon.ok(&first, "list_agents", json!({})).await.contains("ann (agent, you)"));
    assert!(daemon.ok(&second, "list_agents", json!({})).await.contains("bob (agent, you)"));
    // After a restart of the daemon each run is known again; any other caller has to give its name.
    let again = process("/w/a", 11);
    assert!(daemon.ok(&again, "list_agents", json!({})).await.contains("ann (agent, you)"));
    let said = daemon.call(&process("/w/a", 33), "check_messages", json!({})).await.unwrap_err();
    assert!(said.contains("Possible names: ann (\"agent\"), bob (\"agent\").\nCall register_agent with"), "{said}");
}

#[tokio::test]
async fn an_agent_is_active_while_its_process_lives_and_nobody_is_for_being_looked_at() {
    let daemon = Daemon::new().await;
    let agent = process("/w/a", 1);
    daemon.ok(&command("/w/a"), "register_agent", json!({"name": "ann"})).await;
    assert!(daemon.active().await.is_empty(), "a command is no agent");
    daemon.ok(&command("/w/a"), "send_message", json!({"to": "ann", "content": "x"})).await;
    let before = daemon.callers.mail().await.unwrap().agents().await.unwrap();
    let looking = command("/w/a");
    daemon.ok(&looking, "list_agents", json!({})).await;
    daemon.ok(&looking, "groups", json!({"action": "list"})).await;
    let (mail, name) = daemon.callers.mail_and_name(&looking.cx).await.unwrap();
    assert_eq!(mail.pending(&name, mail::Floor::All, 10).await.unwrap().messages.len(), 1);
    assert_eq!(daemon.callers.mail().await.unwrap().agents().await.unwrap(), before, "looking changes nothing");
    assert_eq!(daemon.ok(&agent, "check_messages", json!({"limit": 0})).await, "1 message waits; none was taken.");
    assert!(daemon.active().await.is_empty(), "counting is looking");
    daemon.ok(&agent, "check_messages", json!({})).await;
    assert_eq!(daemon.active().await, ["ann"]);
    let unread = async || mail.pending(&name, mail::Floor::All, 10).await.unwrap().messages.len();
    assert_eq!(unread().await, 1, "taken, and not confirmed");
    let listed = daemon.ok(&agent, "check_messages", json!({"limit": 0})).await;
    assert!(listed.starts_with("You received 1 message before") && listed.ends_with("No new messages."), "{listed}");
    assert_eq!(daemon.ok(&agent, "check_messages", json!({"limit": 0})).await, "No messages.");
    assert_eq!(unread().await, 0, "counting lists what was taken, as every check does; then it is read");
    end(&daemon, agent, "ann").await;
    assert!(daemon.active().await.is_empty(), "it ended");
}

#[tokio::test]
async fn names_are_changed_and_removed_by_their_holder() {
    let daemon = Daemon::new().await;
    let (ann, bob) = (process("/w/a", 1), process("/w/b", 2));
    daemon.ok(&ann, "register_agent", json!({"name": "ann"})).await;
    daemon.ok(&bob, "register_agent", json!({"name": "bob"})).await;
    daemon.ok(&ann, "send_message", json!({"to": "bob", "content": "first"})).await;
    let refused = async |at: &str, from: &str, to: &str| {
        daemon.callers.rename(&command(at).cx, from, to).await.unwrap_err().to_string()
    };
    assert!(refused("/w/a", "bob", "eve").await.contains("The name bob belongs to /w/b"));
    assert!(refused("/w/b", "bob", "ann").await.starts_with("The agent ann already exists."));
    assert!(refused("/w/b", "bobb", "eve").await.contains("Nearest: bob"));
    let done = daemon.callers.rename(&command("/w/b").cx, "bob", "eve").await.unwrap();
    assert_eq!(
        done.text,
        "bob is now called eve. 1 message waits for it; eve keeps its messages and groups. The name bob is free."
    );
    // Its process goes on under the new name.
    assert!(daemon.ok(&bob, "check_messages", json!({})).await.contains("| first"));
    assert_eq!(daemon.active().await, ["ann", "eve"]);
    daemon.ok(&ann, "send_message", json!({"to": "eve", "content": "second"})).await;
    let forget = async |name: &str| daemon.callers.forget(&command("/w/b").cx, name).await.map(|done| done.text);
    let active = forget("eve").await.unwrap_err().to_string();
    assert!(active.starts_with("eve is active") && active.contains("hob agents rename eve NEW"), "{active}");
    end(&daemon, bob, "eve").await;
    // Its messages in hand wait too: it never confirmed them.
    assert_eq!(
        forget("eve").await.unwrap(),
        "The name eve is free now. Unread: 2 messages; each sender gets a report."
    );
    let report = daemon.ok(&ann, "check_messages", json!({})).await;
    assert_eq!(report.matches("the agent eve was removed").count(), 2, "{report}");
    let said = daemon.call(&process("/w/b", 3), "check_messages", json!({})).await.unwrap_err();
    assert!(said.contains("no agent name yet"), "{said}");
    // The name is free, with a separate mailbox.
    let next = process("/w/c", 4);
    assert!(daemon.ok(&next, "register_agent", json!({"name": "eve"})).await.starts_with("registered: eve"));
    assert_eq!(daemon.ok(&next, "check_messages", json!({})).await, "No messages.");
}

#[tokio::test]
async fn an_event_of_a_hook_makes_nobody_active() {
    let daemon = Daemon::new().await;
    daemon.ok(&command("/w/dev"), "register_agent", json!({"name": "dev", "role": "dev"})).await;
    let hooked = with(Caller { name: None, connection: 0, ..caller("/w/dev", 20) });
    let told = daemon.callers.hook_context(&hooked.cx, HookEvent::ToolBefore).await;
    assert_eq!((told, daemon.active().await), (None, Vec::new()));
    let other = process("/w/other", 30);
    daemon.ok(&other, "register_agent", json!({"name": "other", "role": "dev"})).await;
    daemon.ok(&other, "send_message", json!({"to": "dev", "content": "hurry", "priority": "high"})).await;
    let told = daemon.callers.hook_context(&hooked.cx, HookEvent::ToolBefore).await.unwrap();
    assert!(told.text.contains("hurry"), "{told:?}");
    assert_eq!(daemon.active().await, ["other"]);
}

/// Waits for the hint beside the result of another tool. A task counts the messages meanwhile.
async fn hint(daemon: &Daemon, process: &Process) -> String {
    loop {
        if let Some(hint) = daemon.callers.hint(&process.cx, false) {
            return hint;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn waiting_mail_is_told_beside_other_results_once_for_each_arrival() {
    let daemon = Daemon::new().await;
    let (ann, bob, eve) = (process("/w/a", 1), process("/w/b", 2), process("/w/c", 3));
    for (process, name) in [(&ann, "ann"), (&bob, "bob"), (&eve, "eve")] {
        daemon.ok(process, "register_agent", json!({"name": name})).await;
    }
    let send = async |from: &Process, to: &str, priority: &str| {
        daemon.ok(from, "send_message", json!({"to": to, "content": "x", "priority": priority})).await;
    };
    send(&ann, "bob", "normal").await;
    send(&ann, "bob", "critical").await;
    let takes = ": check_messages takes them.";
    assert_eq!(hint(&daemon, &bob).await, format!("2 messages wait for bob, 1 critical, from ann{takes}"));
    assert_eq!(daemon.callers.hint(&bob.cx, false), None);
    send(&ann, "bob", "normal").await;
    assert_eq!(hint(&daemon, &bob).await, format!("3 messages wait for bob, 1 critical, from ann{takes}"));
    // Read messages are not announced, those in hand do not count, and the mail tools need no hint.
    daemon.ok(&bob, "check_messages", json!({})).await;
    assert_eq!([true, false].map(|is_mail| daemon.callers.hint(&bob.cx, is_mail)), [None, None]);
    send(&ann, "bob", "normal").await;
    assert_eq!(hint(&daemon, &bob).await, format!("1 message waits for bob, from ann{takes}"));
    send(&eve, "bob", "normal").await;
    assert_eq!(hint(&daemon, &bob).await, format!("2 messages wait for bob, from ann, eve{takes}"));
    // An agent that gets a name later is told from then on, even if a command gave it the name.
    for (at, pid, is_command) in [("/w/d", 4, false), ("/w/e", 5, true)] {
        let late = process(at, pid);
        assert_eq!(daemon.callers.hint(&late.cx, false), None);
        let command = command(at);
        let by = if is_command { &command } else { &late };
        let name = format!("late-{pid}");
        daemon.ok(by, "register_agent", json!({"name": name})).await;
        send(&ann, &name, "normal").await;
        assert_eq!(hint(&daemon, &late).await, format!("1 message waits for {name}, from ann{takes}"));
    }
}
