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

/// Returns the token cost of a tool for a model.
fn cost(tool: &Value) -> usize {
    let text = |field: &str| tool[field].as_str().unwrap().to_owned();
    tokens::count(&format!("{}\n{}\n{}", text("name"), text("description"), tool["inputSchema"]))
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
fn the_default_listing_costs_at_most_its_budget() {
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
    let costs: Vec<(&str, usize)> = names(&tools).into_iter().zip(tools.iter().map(cost)).collect();
    let of = |wanted: &str| costs.iter().filter(|(name, _)| part(name) == wanted).map(|(_, cost)| cost).sum::<usize>();
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    println!("{total} tokens: {:?}", BUDGETS.map(|(part, _)| (part, of(part))));
    assert!(total <= BUDGET, "{total} tokens: {costs:?}");
    for (part, budget) in BUDGETS {
        assert!(of(part) <= budget, "{part}: {} tokens, more than {budget}: {costs:?}", of(part));
    }
}

#[test]
fn a_toolset_that_is_on_request_is_not_in_the_default_listing() {
    let project = fresh();
    let mut peer = agent(&project, &[], "claude-code");
    let before = names(&listed(&mut peer)).iter().any(|name| ["work_sync", "parse_cure"].contains(name));
    assert!(!before, "{:?}", names(&listed(&mut peer)));
    peer.call("more_tools", json!({"toolset": "cure"}));
    assert!(names(&listed(&mut peer)).contains(&"parse_cure"));
}

/// Fails if the whole listing of a toolset costs more tokens.
fn costs_at_most(project: &TestProject, toolset: &str, budget: usize) {
    let tools = listed(&mut agent(project, &[toolset], "claude-code"));
    let costs: Vec<(&str, usize)> = names(&tools).into_iter().zip(tools.iter().map(cost)).collect();
    let total: usize = costs.iter().map(|(_, cost)| cost).sum();
    assert!(total > 0 && total <= budget, "{total} tokens: {costs:?}");
}

#[test]
fn the_whole_toolset_of_questions_costs_at_most_its_budget() {
    costs_at_most(&fresh(), "ask", 1700);
}

#[test]
fn the_whole_toolset_of_code_costs_at_most_its_budget() {
    costs_at_most(&fresh(), "code", 1800);
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
fn the_tools_of_nodes_cost_at_most_their_budget() {
    let project = fresh();
    // Its tools are listed if there is a node; this one is only a prompt.
    project
        .write("nodes/silent.node.md", "---\noutput: { schema: string }\npolicy: { tool: false }\n---\nSay a word.\n");
    costs_at_most(&project, "nodes", 850);
}

#[test]
fn more_tools_adds_the_rest_and_says_what_it_is() {
    let project = fresh();
    let mut peer = agent(&project, &[], "claude-code");
    let cores = listed(&mut peer);
    assert!(names(&cores).contains(&"more_tools") && !names(&cores).contains(&"repl_list"), "{:?}", names(&cores));
    let said = peer.call("more_tools", json!({"toolset": "repl"}));
    assert!(said.text.contains("\nrepl_list: "), "{}", said.text);
    peer.notification("notifications/tools/list_changed");
    let all = listed(&mut peer);
    let whole = listed(&mut agent(&project, &["repl"], "claude-code"));
    assert!(names(&whole).iter().all(|name| names(&all).contains(name)), "{:?}", names(&all));
    // Tools of another toolset can be called too, whether or not they are listed.
    assert!(!names(&all).contains(&"validate_syntax"));
    assert!(!peer.call("get_syntax_help", json!({"topic": "functions"})).is_error);
    assert_eq!(
        peer.call("more_tools", json!({"toolset": "rpl"})).text,
        "Unknown toolset \"rpl\"; available: \"repl\", \"mail\", \"ask\", \"code\", \"explore\", \"cure\", \"work\", \"nodes\"."
    );
}

#[test]
fn tools_that_were_added_stay_over_a_lost_daemon() {
    let project = fresh();
    let mut peer = agent(&project, &[], "codex-mcp-client");
    peer.call("more_tools", json!({"toolset": "repl"}));
    peer.call("more_tools", json!({"toolset": "mail"}));
    let before = listed(&mut peer);
    kill_hard(project.daemon_pid().expect("a daemon"));
    assert_eq!(names(&listed(&mut peer)), names(&before));
}

#[test]
fn named_toolsets_are_listed_whole() {
    let project = fresh();
    let whole = listed(&mut agent(&project, &["repl,mail"], "claude-code"));
    assert!(names(&whole).contains(&"repl_list") && !names(&whole).contains(&"more_tools"));
    project.run(["stop"]).ok();
    project.write("hob.toml", "toolsets = [\"repl\", \"mail\"]\n");
    assert_eq!(names(&listed(&mut agent(&project, &[], "claude-code"))), names(&whole));
}

/// Returns whether the listing has output schemas, and whether results have structured content.
fn structure(peer: &mut McpPeer) -> (bool, bool) {
    let schemas = listed(peer).iter().any(|tool| tool.get("outputSchema").is_some());
    let result = peer.result("tools/call", json!({"name": "list_agents", "arguments": {}}));
    (schemas, result.get("structuredContent").is_some())
}

#[test]
fn an_agent_gets_text_alone_and_a_program_both() {
    let project = fresh();
    for client in ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "copilot-cli", "opencode"] {
        assert_eq!(structure(&mut agent(&project, &[], client)), (false, false), "{client}");
    }
    assert_eq!(structure(&mut agent(&project, &[], "mcp")), (true, true));
    assert_eq!(structure(&mut agent(&project, &["--results", "text"], "mcp")), (false, false));
    assert_eq!(structure(&mut agent(&project, &["--results", "both"], "claude-code")), (true, true));
    assert!(structure(&mut agent(&project, &["--profile", "thrum"], "claude-code")).1);
    project.run(["stop"]).ok();
    project.write("hob.toml", "[mcp]\nresults = \"both\"\n");
    assert_eq!(structure(&mut agent(&project, &[], "claude-code")), (true, true));
}
