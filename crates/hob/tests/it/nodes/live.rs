//! A node file that is saved, edited, broken and deleted, and its tool.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, tokens, until};

use super::{RATE, engine, hash, names, names_model, other_hash, tool};
use crate::fresh;

const CHANGED: &str = "notifications/tools/list_changed";

fn was_announced(peer: &mut McpPeer) -> bool {
    peer.take_unread().iter().any(|message| message["method"] == CHANGED)
}

#[test]
fn a_file_is_a_tool_from_its_first_save_to_its_end() {
    let project = fresh();
    goes_from_its_first_save_to_its_end(&project, "answered by you: delegate", |answer| {
        assert_eq!(answer["state"], "delegate", "{answer}");
    });
}

#[test]
fn a_file_is_a_tool_that_its_model_answers() {
    let Some(engine) = engine() else { return };
    let project = fresh();
    project.write("hob.toml", &names_model(engine.url()));
    goes_from_its_first_save_to_its_end(&project, "model engine, on this machine", |answer| {
        assert_eq!(*answer, json!({"state": "done", "result": {"reason": "", "score": 1}}));
    });
    // A script gets the cost of a call next to its value.
    project.write("nodes/rate.node.md", RATE);
    let ran = project.run(["node", "run", "rate", r#"{"text": "a"}"#, "--json"]).ok();
    let ran: Value = serde_json::from_str(&ran).unwrap();
    assert_eq!((&ran["state"], &ran["result"]["score"]), (&json!("done"), &json!(1)));
    let (attempt, total) = (&ran["ledger"]["attempts"][0], &ran["ledger"]["total"]["tokens"]);
    assert_eq!((&attempt["model"], &attempt["via"]), (&json!("engine"), &json!("direct")), "{ran}");
    assert!(total.as_u64().is_some_and(|tokens| tokens > 0), "{ran}");
    // Each call is in the usage report, and none left the machine.
    let usage = project.run(["node", "usage"]).ok();
    assert!(usage.contains("rate") && usage.contains("0 of 200000 tokens were sent off"), "{usage}");
}

/// From a project without node files and back. `answers` checks the structured content of each call of the node.
fn goes_from_its_first_save_to_its_end(project: &TestProject, origin: &str, answers: fn(&Value)) {
    let answered = |peer: &mut McpPeer| {
        let result = peer.result("tools/call", json!({"name": "rate", "arguments": {"text": "a"}}));
        answers(&result["structuredContent"]);
        let ledger = &result["_meta"]["hob/ledger"];
        assert!(ledger["attempts"].is_array() && ledger["total"]["tokens"].is_u64(), "{result}");
        ledger["node_hash"].as_str().expect("a version").to_owned()
    };
    let mut peer = project.mcp(&[]);
    let declared = peer.initialize();
    assert_eq!(declared["capabilities"]["prompts"], json!({"listChanged": true}));
    let ours = ["node_run", "node_submit", "nodes_status"];
    assert!(!names(&mut peer).iter().any(|name| ours.contains(&name.as_str())), "nothing without node files");

    project.write("nodes/rate.node.md", RATE);
    peer.notification(CHANGED);
    let listed = tool(&mut peer, "rate").expect("listed");
    assert_eq!(listed["description"], format!("Rates a text. (nodes/rate.node.md; {origin})"));
    assert_eq!(listed["inputSchema"]["required"], json!(["text"]));
    assert_eq!(listed["outputSchema"]["properties"]["result"]["properties"]["score"]["maximum"], 5);
    assert_eq!(listed["annotations"]["readOnlyHint"], true);
    let all = names(&mut peer);
    assert!(ours.iter().all(|name| all.iter().any(|one| one == name)), "{all:?}");

    // A changed body: a new version, without a notification.
    let first = answered(&mut peer);
    peer.take_unread();
    project.write("nodes/rate.node.md", &RATE.replace("You rate texts.", "You rate texts with care."));
    let second = other_hash(&mut peer, "rate", &first);
    assert!(!was_announced(&mut peer), "the body is nothing that a client is told");

    // A changed schema.
    project.write("nodes/rate.node.md", &RATE.replace("1..5", "1..9"));
    peer.notification(CHANGED);
    assert_eq!(
        tool(&mut peer, "rate").unwrap()["outputSchema"]["properties"]["result"]["properties"]["score"]["maximum"],
        9
    );
    let third = other_hash(&mut peer, "rate", &second);
    assert_eq!(answered(&mut peer), third);

    // A broken file: the last valid version answers, and the status names file and line.
    peer.take_unread();
    project.write("nodes/rate.node.md", &RATE.replace("{{ text | data }}", "{{ txt | data }}"));
    let status = until("the status to say so", || {
        let status = peer.call("nodes_status", json!({"node": "rate"}));
        (status.structured["nodes"][0]["state"] == "last_good").then_some(status)
    });
    assert!(status.text.contains("nodes/rate.node.md:8: the template reads `txt`"), "{}", status.text);
    assert_eq!(answered(&mut peer), third);
    assert!(!was_announced(&mut peer), "the list is what it was");

    // A deleted file.
    std::fs::remove_file(project.root().join("nodes/rate.node.md")).unwrap();
    peer.notification(CHANGED);
    assert_eq!(tool(&mut peer, "rate"), None);
    assert!(!names(&mut peer).iter().any(|name| ours.contains(&name.as_str())), "nothing without node files");
    let gone = peer.call("node_run", json!({"node": "rate", "input": {"text": "a"}}));
    assert!(gone.is_error && gone.text.contains("it has no node files"), "{gone:?}");
}

#[test]
fn what_is_there_is_listed_from_the_first_answer() {
    let project = fresh();
    project.write("nodes/rate.node.md", RATE);
    project.write("nodes/silent.node.md", &RATE.replace("attempts: 2", "tool: false"));
    project.write("nodes/send_message.node.md", RATE);
    project.write("nodes/not a name.node.md", RATE);
    let mut peer = project.mcp(&[]);
    let greeting = peer.initialize();
    assert!(greeting["instructions"].as_str().unwrap().contains("nodes_status lists them"), "{greeting}");
    let all = names(&mut peer);
    assert!(all.contains(&"rate".to_owned()) && !all.contains(&"silent".to_owned()), "{all:?}");
    // A file never replaces a built-in tool.
    let sends = tool(&mut peer, "send_message").expect("the tool of mail");
    assert!(!sends["description"].as_str().unwrap().contains("Rates"), "{sends}");
    let status = peer.call("nodes_status", json!({})).text;
    assert!(status.contains("send_message is the name of one of hob's own tools"), "{status}");
    assert!(status.contains("nodes/not a name.node.md: invalid node name; use 1 to 64 letters"), "{status}");
    // A node that is not a tool can still be called.
    let silent = peer.call("node_run", json!({"node": "silent", "input": {"text": "a"}}));
    assert_eq!(silent.structured["state"], "delegate");
    // Every node is a prompt too.
    let prompts = peer.result("prompts/list", json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "rate", "{prompts}");
    let prompt = peer.result("prompts/get", json!({"name": "rate", "arguments": {"text": "It rained."}}));
    let said: Vec<&Value> =
        prompt["messages"].as_array().unwrap().iter().map(|message| &message["content"]["text"]).collect();
    assert_eq!(said[0], "You rate texts.");
    assert!(said[1].as_str().unwrap().contains("\nIt rained.\n"), "{prompt}");
}

/// The descriptions of the part's own tools, including the tools for jobs.
#[test]
fn the_part_s_own_tools_cost_at_most_their_budget() {
    let project = fresh();
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    let listed = peer.result("tools/list", json!({}));
    let cost = |tool: &Value| {
        let text = |field: &str| tool[field].as_str().unwrap().to_owned();
        tokens::count(&format!("{}\n{}\n{}", text("name"), text("description"), tool["inputSchema"]))
    };
    let costs: Vec<(&str, usize)> =
        listed["tools"].as_array().unwrap().iter().map(|tool| (tool["name"].as_str().unwrap(), cost(tool))).collect();
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    println!("{total} tokens: {costs:?}");
    assert!(total <= 850, "{total} tokens: {costs:?}");
}

#[test]
fn each_worktree_has_its_own_version() {
    let project = fresh();
    let other = project.top().join("other");
    project.write("nodes/rate.node.md", RATE);
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "."]);
    git(&project, &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "one"]);
    git(&project, &["worktree", "add", "-q", other.to_str().unwrap()]);
    std::fs::write(other.join("nodes/rate.node.md"), RATE.replace("Rates a text.", "Rates the other's text.")).unwrap();
    std::fs::write(other.join("nodes/more.node.md"), RATE).unwrap();
    let mut first = project.mcp(&[]);
    let mut command = project.hob(["mcp"]);
    command.current_dir(&other);
    let mut second = McpPeer::spawn(command);
    first.initialize();
    second.initialize();
    let described = |peer: &mut McpPeer| tool(peer, "rate").unwrap()["description"].as_str().unwrap().to_owned();
    assert!(described(&mut first).starts_with("Rates a text."));
    assert!(described(&mut second).starts_with("Rates the other's text."));
    assert_ne!(hash(&mut first, "rate"), hash(&mut second, "rate"));
    assert!(tool(&mut first, "more").is_none() && tool(&mut second, "more").is_some());
    // The second connection closes and reconnects.
    second.close();
    std::fs::write(other.join("nodes/late.node.md"), RATE).unwrap();
    let mut command = project.hob(["mcp"]);
    command.current_dir(&other);
    let mut third = McpPeer::spawn(command);
    third.initialize();
    assert!(tool(&mut third, "late").is_some());
    assert!(tool(&mut first, "late").is_none());
}

fn git(project: &TestProject, args: &[&str]) {
    let status = project.command("git").args(args).status();
    assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
}
