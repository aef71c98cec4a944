//! The default listing and its cost, `more_tools`, and text-only results.

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, kill_hard, tokens};

use crate::fresh;

/// The token budget of the default listing, in total and per part.
const BUDGET: usize = 3400;
const BUDGETS: [(&str, usize); 6] =
    [("repl", 1200), ("mail", 750), ("ask", 420), ("code", 690), ("work", 350), ("more_tools", 155)];

fn listed(peer: &mut McpPeer) -> Vec<Value> {
    peer.result("tools/list", json!({}))["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Returns the token costs of tools for a model, with their names.
fn costs(tools: &[Value]) -> Vec<(&str, usize)> {
    let text = |tool: &Value, field: &str| tool[field].as_str().unwrap().to_owned();
    let shown =
        |tool: &Value| format!("{}\n{}\n{}", text(tool, "name"), text(tool, "description"), tool["inputSchema"]);
    names(tools).into_iter().zip(tools.iter().map(|tool| tokens::count(&shown(tool)))).collect()
}

/// Connects an agent with this client name.
fn agent(project: &TestProject, args: &[&str], client: &str) -> McpPeer {
    let mut peer = project.mcp(args);
    let info = json!({"name": client, "version": "1"});
    peer.result("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}));
    peer.notify("notifications/initialized", json!({}));
    peer
}

#[test]
fn listings_cost_at_most_their_budgets() {
    let project = fresh();
    let tools = listed(&mut agent(&project, &[], "claude-code"));
    let part = |name: &str| match name {
        "more_tools" => "more_tools",
        name if name.starts_with("repl_") => "repl",
        "confirm_action" | "select_option" | "request_guidance" => "ask",
        "outline" => "code",
        name if name.starts_with("work_") => "work",
        name if name.starts_with("find_") || name.starts_with("show_") => "code",
        _ => "mail",
    };
    let costs = costs(&tools);
    let of = |wanted: &str| costs.iter().filter(|(name, _)| part(name) == wanted).map(|(_, cost)| cost).sum::<usize>();
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    println!("{total} tokens: {:?}", BUDGETS.map(|(part, _)| (part, of(part))));
    assert!(total <= BUDGET, "{total} tokens: {costs:?}");
    for (part, budget) in BUDGETS {
        assert!(of(part) <= budget, "{part}: {} tokens, more than {budget}: {costs:?}", of(part));
    }
    // Whole toolsets. The tools of nodes are listed if there is a node; this one is only a prompt.
    let project = fresh();
    let node = "---\noutput: { schema: string }\npolicy: { tool: false }\n---\nSay a word.\n";
    project.write("nodes/silent.node.md", node);
    for (toolset, budget) in [("ask", 1700), ("code", 1800), ("nodes", 850)] {
        let tools = listed(&mut agent(&project, &[toolset], "claude-code"));
        let costs = self::costs(&tools);
        let total: usize = costs.iter().map(|(_, cost)| cost).sum();
        assert!(total > 0 && total <= budget, "{toolset}: {total} tokens: {costs:?}");
    }
}

/// The command line has a separate list, so that it starts without loading the tools.
#[test]
fn the_command_line_knows_every_class_of_a_use() {
    let project = fresh();
    let tools = listed(&mut agent(&project, &["code"], "claude-code"));
    let uses = tools.iter().find(|tool| tool["name"] == "find_uses").unwrap();
    let classes = uses["inputSchema"]["properties"]["classes"]["items"]["enum"].as_array().unwrap();
    let words: Vec<&str> = classes.iter().map(|word| word.as_str().unwrap()).collect();
    let help = project.run(["uses", "--help"]).ok();
    assert!(help.contains(&words.join(", ")), "{help}\n{words:?}");
    let refused = project.run(["uses", "a", "--class", "foo"]).stderr;
    assert!(refused.contains(&words.join(", ")), "{refused}");
}

#[test]
fn more_tools_adds_the_rest_and_says_what_it_is() {
    let project = fresh();
    let mut peer = agent(&project, &[], "claude-code");
    let cores = listed(&mut peer);
    assert!(names(&cores).contains(&"more_tools"), "{:?}", names(&cores));
    for on_request in ["repl_list", "work_sync", "parse_cure"] {
        assert!(!names(&cores).contains(&on_request), "{:?}", names(&cores));
    }
    let said = peer.call("more_tools", json!({"toolset": "repl"}));
    assert!(said.text.contains("\nrepl_list: "), "{}", said.text);
    peer.notification("notifications/tools/list_changed");
    let all = listed(&mut peer);
    let whole = listed(&mut agent(&project, &["repl"], "claude-code"));
    assert!(names(&whole).iter().all(|name| names(&all).contains(name)), "{:?}", names(&all));
    assert!(!names(&whole).contains(&"more_tools"), "a named toolset is listed whole");
    // Tools of another toolset can be called too, whether or not they are listed.
    assert!(!names(&all).contains(&"validate_syntax"));
    assert!(!peer.call("get_syntax_help", json!({"topic": "functions"})).is_error);
    assert_eq!(
        peer.call("more_tools", json!({"toolset": "rpl"})).text,
        "Unknown toolset \"rpl\"; available: \"repl\", \"mail\", \"ask\", \"code\", \"explore\", \"cure\", \"work\", \"nodes\"."
    );
    // The added tools stay over a lost daemon.
    peer.call("more_tools", json!({"toolset": "cure"}));
    let before = listed(&mut peer);
    assert!(names(&before).contains(&"parse_cure"));
    kill_hard(project.daemon_pid().expect("a daemon"));
    assert_eq!(names(&listed(&mut peer)), names(&before));
    // The configuration names toolsets too.
    project.run(["stop"]).ok();
    project.write("hob.toml", "toolsets = [\"repl\"]\n");
    assert_eq!(names(&listed(&mut agent(&project, &[], "claude-code"))), names(&whole));
}

#[test]
fn an_agent_gets_text_alone_and_a_program_both() {
    let project = fresh();
    let check = |args: &[&str], client: &str, has_both: bool| {
        let mut peer = agent(&project, args, client);
        let has_schemas = listed(&mut peer).iter().any(|tool| tool.get("outputSchema").is_some());
        let result = peer.result("tools/call", json!({"name": "list_agents", "arguments": {}}));
        assert_eq!((has_schemas, result.get("structuredContent").is_some()), (has_both, has_both), "{args:?} {client}");
    };
    check(&[], "claude-code", false);
    check(&[], "mcp", true);
    check(&["--results", "text"], "mcp", false);
    check(&["--results", "both"], "claude-code", true);
    project.run(["stop"]).ok();
    project.write("hob.toml", "[mcp]\nresults = \"both\"\n");
    check(&[], "claude-code", true);
}
