//! A node file that is saved, edited, broken and deleted, and its tool; and what outlives a daemon.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, is_alive, kill_hard, until};

use super::{RATE, tool};
use crate::fresh;

const CHANGED: &str = "notifications/tools/list_changed";

fn was_announced(peer: &mut McpPeer) -> bool {
    peer.take_unread().iter().any(|message| message["method"] == CHANGED)
}

/// Returns the version of `rate` that answers a call.
fn hash(peer: &mut McpPeer) -> String {
    let result = peer.result("tools/call", json!({"name": "rate", "arguments": {"text": "a"}}));
    assert_eq!(result["structuredContent"]["state"], "delegate", "{result}");
    result["_meta"]["hob/ledger"]["node_hash"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// Waits until another version answers, and returns it.
fn other_hash(peer: &mut McpPeer, than: &str) -> String {
    until("another version of the node", || Some(hash(peer)).filter(|hash| hash != than))
}

#[test]
fn a_file_is_a_tool_from_its_first_save_to_its_end() {
    let project = fresh();
    let mut peer = project.mcp(&[]);
    assert_eq!(peer.initialize()["capabilities"]["prompts"], json!({"listChanged": true}));
    let ours = ["node_run", "node_submit", "nodes_status"];
    assert!(ours.iter().all(|name| tool(&mut peer, name).is_none()), "nothing without node files");

    project.write("nodes/rate.node.md", RATE);
    peer.notification(CHANGED);
    let listed = tool(&mut peer, "rate").expect("listed");
    assert_eq!(listed["description"], "Rates a text. (nodes/rate.node.md; answered by you: delegate)");
    assert_eq!(listed["inputSchema"]["required"], json!(["text"]));
    let maximum =
        |listed: &Value| listed["outputSchema"]["properties"]["result"]["properties"]["score"]["maximum"].clone();
    assert_eq!(maximum(&listed), 5);
    assert_eq!(listed["annotations"]["readOnlyHint"], true);
    assert!(ours.iter().all(|name| tool(&mut peer, name).is_some()));

    // A changed body: a new version, without a notification.
    let first = hash(&mut peer);
    peer.take_unread();
    project.write("nodes/rate.node.md", &RATE.replace("You rate texts.", "You rate texts with care."));
    let second = other_hash(&mut peer, &first);
    assert!(!was_announced(&mut peer), "the body is nothing that a client is told");

    // A changed schema.
    project.write("nodes/rate.node.md", &RATE.replace("1..5", "1..9"));
    peer.notification(CHANGED);
    assert_eq!(maximum(&tool(&mut peer, "rate").unwrap()), 9);
    let third = other_hash(&mut peer, &second);

    // A broken file: the last valid version answers, and the status names file and line.
    peer.take_unread();
    project.write("nodes/rate.node.md", &RATE.replace("{{ text | data }}", "{{ txt | data }}"));
    let status = until("the status to say so", || {
        let status = peer.call("nodes_status", json!({"node": "rate"}));
        (status.structured["nodes"][0]["state"] == "last_good").then_some(status)
    });
    assert!(status.text.contains("nodes/rate.node.md:8: the template reads `txt`"), "{}", status.text);
    assert_eq!(hash(&mut peer), third);
    assert!(!was_announced(&mut peer), "the list is what it was");

    // A deleted file.
    std::fs::remove_file(project.root().join("nodes/rate.node.md")).unwrap();
    peer.notification(CHANGED);
    assert!(ours.iter().chain(&["rate"]).all(|name| tool(&mut peer, name).is_none()), "nothing without node files");
    let gone = peer.call("node_run", json!({"node": "rate", "input": {"text": "a"}}));
    assert!(gone.is_error && gone.text.contains("it has no node files"), "{gone:?}");
}

#[test]
fn existing_nodes_are_listed_from_the_first_answer_and_in_each_worktree_its_own() {
    let project = fresh();
    let other = project.top().join("other");
    project.write("nodes/rate.node.md", RATE);
    project.write("nodes/silent.node.md", &RATE.replace("attempts: 2", "tool: false"));
    project.write("nodes/send_message.node.md", RATE);
    let worktree = ["worktree", "add", "-q", other.to_str().unwrap()];
    let commit = ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"];
    for args in [&["init", "-q"][..], &["add", "."], &commit, &worktree] {
        assert!(project.command("git").args(args).status().unwrap().success(), "{args:?}");
    }
    let mut peer = project.mcp(&[]);
    let greeting = peer.initialize();
    assert!(greeting["instructions"].as_str().unwrap().contains("nodes_status lists them"), "{greeting}");
    assert!(tool(&mut peer, "silent").is_none());
    // A file never replaces a built-in tool.
    let sends = tool(&mut peer, "send_message").expect("the tool of mail");
    assert!(!sends["description"].as_str().unwrap().contains("Rates"), "{sends}");
    let status = peer.call("nodes_status", json!({})).text;
    assert!(status.contains("send_message is the name of one of hob's own tools"), "{status}");
    // A node that is not a tool can still be called.
    let silent = peer.call("node_run", json!({"node": "silent", "input": {"text": "a"}}));
    assert_eq!(silent.structured["state"], "delegate");
    // Every node is a prompt too.
    let prompts = peer.result("prompts/list", json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "rate", "{prompts}");
    let prompt = peer.result("prompts/get", json!({"name": "rate", "arguments": {"text": "It rained."}}));
    let said = |at: usize| prompt["messages"][at]["content"]["text"].as_str().unwrap();
    assert_eq!(said(0), "You rate texts.");
    assert!(said(1).contains("\nIt rained.\n"), "{prompt}");

    let write = |name: &str, text: &str| std::fs::write(other.join("nodes").join(name), text).unwrap();
    let begin = |project: &TestProject| {
        let mut command = project.hob(["mcp"]);
        command.current_dir(&other);
        let mut peer = McpPeer::spawn(command);
        peer.initialize();
        peer
    };
    write("rate.node.md", &RATE.replace("Rates a text.", "Rates the other's text."));
    let mut second = begin(&project);
    let described = |peer: &mut McpPeer| tool(peer, "rate").unwrap()["description"].as_str().unwrap().to_owned();
    assert!(described(&mut peer).starts_with("Rates a text."));
    assert!(described(&mut second).starts_with("Rates the other's text."));
    assert_ne!(hash(&mut peer), hash(&mut second));
    // The second connection closes, and another one comes.
    second.close();
    write("late.node.md", RATE);
    assert!(tool(&mut begin(&project), "late").is_some() && tool(&mut peer, "late").is_none());
}

#[test]
fn a_ticket_outlives_its_daemon_and_is_its_agents_alone() {
    let [project, elsewhere] = [fresh(), fresh()];
    let agent = |project: &TestProject, name: &str| {
        project.write("nodes/rate.node.md", RATE);
        let mut peer = project.mcp(&["--as", name]);
        peer.initialize();
        peer
    };
    let begin = |peer: &mut McpPeer| {
        let asked = peer.call("rate", json!({"text": "It rained."})).structured;
        asked["delegate"]["ticket"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
    };
    let submit = |peer: &mut McpPeer, ticket: &str, score: u8| {
        let value = json!({"reason": "r", "score": score});
        let said = peer.call("node_submit", json!({"ticket": ticket, "value": value})).structured;
        (said["status"].as_str().unwrap().to_owned(), said["value"]["score"].clone())
    };
    let (mut ada, mut bob) = (agent(&project, "ada"), agent(&project, "bob"));
    let (ticket, answered) = (begin(&mut ada), begin(&mut ada));
    assert_eq!(submit(&mut bob, &ticket, 4), ("unknown".to_owned(), Value::Null));
    let accepted = ("accepted".to_owned(), json!(4));
    assert_eq!(submit(&mut ada, &answered, 4), accepted);
    let daemon = project.daemon_pid().expect("a daemon after a call");
    kill_hard(daemon);
    until("the daemon to end", || (!is_alive(daemon)).then_some(()));
    assert_eq!(submit(&mut ada, &ticket, 4), accepted);
    assert_eq!(submit(&mut ada, &answered, 1), accepted, "answered once, over a restart too");
    assert_eq!(submit(&mut agent(&elsewhere, "ada"), &ticket, 4).0, "unknown", "in another project");
}
