//! Rules for all tools, as a client sees them.

mod pages;

use serde_json::{Value, json};
use testkit::scripted_model::{Script, ScriptedModel};
use testkit::{McpPeer, TestProject, has_program};

use crate::fresh;

fn list(peer: &mut McpPeer) -> Vec<Value> {
    let id = peer.request("tools/list", json!({}));
    peer.response(id)["result"]["tools"].as_array().unwrap().clone()
}

pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns every toolset and profile: its name, the command that serves it, and its tools.
pub(crate) fn all_sets(project: &TestProject) -> Vec<(String, String, Vec<Value>)> {
    project.mcp(&["all"]).initialize();
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    let names = |field: &str| -> Vec<String> {
        let sets = status[field].as_array().unwrap().iter();
        sets.map(|set| text(set, "name").to_owned()).collect()
    };
    let toolsets = names("toolsets");
    let is_new = |name: &String| !toolsets.contains(name);
    let profiles = names("profiles").into_iter().filter(is_new).map(|name| (format!("--profile {name}"), name));
    let all = toolsets.iter().map(|name| (name.clone(), name.clone())).chain(profiles);
    all.map(|(start, name)| {
        let mut peer = project.mcp(&start.split(' ').collect::<Vec<_>>());
        peer.initialize();
        (name, format!("hob mcp {start}"), list(&mut peer))
    })
    .collect()
}

#[test]
fn declarations_are_what_clients_demand() {
    let project = fresh();
    for (set, _, tools) in all_sets(&project) {
        let names: Vec<&str> = tools.iter().map(|tool| text(tool, "name")).collect();
        assert!(names.is_sorted(), "{names:?}");
        for tool in &tools {
            let name = text(tool, "name");
            let legal = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            assert!((1..=128).contains(&name.len()) && name.chars().all(legal), "{name}");
            // Claude Code truncates descriptions at this length.
            let description = text(tool, "description");
            assert!((20..=2048).contains(&description.len()), "{name}: {} characters", description.len());
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object", "{name}");
            assert_eq!(schema["additionalProperties"], false, "{name}: unknown arguments are refused");
            for combinator in ["anyOf", "oneOf", "allOf", "$ref"] {
                assert!(schema.get(combinator).is_none(), "{name}: {combinator} at the root");
            }
            for (argument, schema) in schema["properties"].as_object().into_iter().flatten() {
                assert!(!text(schema, "description").is_empty(), "{name}: {argument} is not described");
            }
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}: what it does to the world is not said");
        }
        let shown: Vec<Value> =
            tools.iter().map(|tool| json!([tool["name"], tool["description"], tool["inputSchema"]])).collect();
        // A token is about four bytes, and every conversation pays for all of them.
        let tokens = Value::from(shown).to_string().len() / 4;
        assert!(tokens <= 3000, "{set}: the listing costs about {tokens} tokens");
    }
}

/// The instructions name tools of each served toolset, and of no other.
#[test]
fn instructions_tell_of_the_tools_that_are_served() {
    let project = fresh();
    // This starts the daemon, which lists its toolsets.
    project.mcp(&[]).initialize();
    let status = project.hob(["status", "--json"]).output().expect("it runs");
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    let names = |of: &str| -> Vec<String> {
        status[of].as_array().expect("a list").iter().map(|set| text(set, "name").to_owned()).collect()
    };
    let toolsets = names("toolsets");
    let served = |args: &[&str]| {
        let mut peer = project.mcp(args);
        let instructions = text(&peer.initialize(), "instructions").to_owned();
        let tools: Vec<String> = list(&mut peer).iter().map(|tool| text(tool, "name").to_owned()).collect();
        (instructions, tools)
    };
    let of_each: Vec<(&str, Vec<String>)> = toolsets.iter().map(|name| (&**name, served(&[name]).1)).collect();
    let says = |instructions: &str, tool: &str| {
        instructions.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == tool)
    };
    // One, two, all but one, and all: the instructions treat each toolset alike.
    let count = toolsets.len() as u32;
    let few_or_most = |chosen: &u32| chosen.count_ones() <= 2 || chosen.count_ones() + 1 >= count;
    for chosen in (1..1_u32 << count).filter(few_or_most) {
        let is_chosen = |number: usize| chosen & (1 << number) != 0;
        let wanted: Vec<&str> =
            (0..of_each.len()).filter(|number| is_chosen(*number)).map(|number| of_each[number].0).collect();
        let (instructions, _) = served(&[&wanted.join(",")]);
        assert!(instructions.len() <= 2000, "{wanted:?}: {} characters", instructions.len());
        for (number, (name, tools)) in of_each.iter().enumerate() {
            let told: Vec<&String> = tools.iter().filter(|tool| says(&instructions, tool)).collect();
            assert_eq!(told.is_empty(), !is_chosen(number), "{wanted:?} of {name}: {told:?} in {instructions:?}");
        }
    }
    for profile in names("profiles") {
        let (instructions, tools) = served(&["--profile", &profile]);
        assert!(instructions.len() <= 2000, "{profile}: {} characters", instructions.len());
        assert!(tools.iter().any(|tool| says(&instructions, tool)), "{profile}: {instructions}");
        let others = of_each.iter().flat_map(|(_, tools)| tools).filter(|tool| !tools.contains(tool));
        let strange: Vec<&String> = others.filter(|tool| says(&instructions, tool)).collect();
        assert!(strange.is_empty(), "{profile}: {strange:?} in {instructions}");
    }
}

/// Strict clients validate structured results with the declared schema.
#[test]
fn results_conform_to_their_schemas() {
    if !has_program("ghci") {
        return;
    }
    let project = fresh();
    project.write(
        "Main.hs",
        "module Main where\nmain :: IO ()\nmain = putStrLn twice\n\ntwice :: String\ntwice = \"2\"\n",
    );
    let mut peer = project.mcp(&["repl"]);
    peer.initialize();
    let tools = list(&mut peer);
    let long = json!({"code": "mapM_ print [1 .. 9000 :: Int]"});
    let calls = [
        ("repl_start", json!({"profile": "ghci", "wait_ms": 50_000})),
        ("repl_eval", json!({"code": "1 + 1"})),
        ("repl_eval", json!({"code": "undefinedName"})),
        ("repl_eval", json!({"code": "error \"x\" :: Int"})),
        ("repl_eval", long),
        ("repl_eval", json!({"code": "getLine", "stdin": "x\n"})),
        ("repl_eval", json!({"code": "length [1 ..]", "wait_ms": 50})),
        ("repl_wait", json!({"wait_ms": 50})),
        ("repl_list", json!({})),
        ("repl_interrupt", json!({})),
        ("repl_eval", json!({"code": "getLine", "wait_ms": 1500})),
        ("repl_input", json!({"text": "line\n"})),
        ("repl_wait", json!({})),
        ("repl_read", json!({"tail": true, "max_bytes": 100})),
        ("repl_read", json!({"grep": "undefinedName"})),
        ("repl_diagnostics", json!({})),
        ("repl_reload", json!({"targets": ["Main.hs"]})),
        ("repl_diagnostics", json!({})),
        ("repl_query", json!({"kind": "type", "target": "twice"})),
        ("repl_query", json!({"kind": "kind", "target": "Maybe"})),
        ("repl_query", json!({"kind": "info", "target": "Maybe"})),
        ("repl_query", json!({"kind": "doc", "target": "map"})),
        ("repl_query", json!({"kind": "browse", "target": "Main"})),
        ("repl_query", json!({"kind": "instances", "target": "Bool"})),
        ("repl_query", json!({"kind": "complete", "target": "twi"})),
        ("repl_query", json!({"kind": "holes", "target": "_x ++ twice"})),
        ("repl_query", json!({"kind": "type_at", "position": {"file": "Main.hs", "line": 3, "column": 17}})),
        ("repl_query", json!({"kind": "loc_at", "position": {"file": "Main.hs", "line": 3, "column": 17}})),
        ("repl_query", json!({"kind": "uses", "position": {"file": "Main.hs", "line": 3, "column": 17}})),
        ("repl_restart", json!({"replay": "definitions"})),
        ("repl_eval", json!({"code": ":quit"})),
        ("repl_list", json!({})),
        ("repl_stop", json!({})),
    ];
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_the_mail_conform_too() {
    let project = fresh();
    project.run(["quickstart", "--name", "other", "--role", "dev", "--module", "m"]).ok();
    let id = || json!("msg_imported");
    project.write(
        ".thrum/events.jsonl",
        "{\"type\":\"agent.register\",\"agent_id\":\"old\",\"name\":\"old\",\"role\":\"dev\"}\n\
         {\"type\":\"message.create\",\"timestamp\":\"2026-02-13T10:02:00Z\",\"message_id\":\"msg_imported\",\"agent_id\":\"old\",\
          \"body\":{\"content\":\"words\"},\"refs\":[{\"type\":\"mention\",\"value\":\"planner\"}]}\n\
         {\"type\":\"agent.register\",\"agent_id\":\"planner\",\"name\":\"planner\",\"role\":\"lead\"}\n",
    );
    project.run(["import", "thrum"]).ok();
    let mut peer = project.mcp(&["mail", "--as", "planner"]);
    peer.initialize();
    let tools = list(&mut peer);
    let calls = [
        ("register_agent", json!({"name": "planner", "role": "lead", "module": "all", "intent": "i"})),
        ("send_message", json!({"to": "other", "content": "x", "metadata": {"a": [1]}, "priority": "critical"})),
        ("send_message", json!({"to": "planner", "content": "to myself", "reply_to": "msg_imported"})),
        ("check_messages", json!({})),
        ("check_messages", json!({"limit": 1})),
        ("wait_for_message", json!({"timeout": 0})),
        ("wait_for_message", json!({"timeout": 0, "after": 0, "max": 10, "priority_filter": "critical"})),
        ("list_agents", json!({"include_offline": false})),
        ("broadcast_message", json!({"content": "x"})),
        ("broadcast_message", json!({"content": "x", "filter": {"status": "active", "exclude": ["old", "other"]}})),
        ("groups", json!({"action": "create", "group": "g", "description": "d"})),
        ("groups", json!({"action": "add", "group": "g", "member": "role:dev"})),
        ("groups", json!({"action": "list"})),
        ("groups", json!({"action": "show", "group": "g"})),
        ("groups", json!({"action": "remove", "group": "g", "member": "role:dev"})),
        ("groups", json!({"action": "delete", "group": "g"})),
        ("ack_message", json!({"ids": [id(), "msg_x"], "outcome": "rejected", "note": "n"})),
        ("get_thread", json!({"id": id()})),
        ("get_thread", json!({"id": id(), "offset": 1})),
        ("search_messages", json!({"query": "words", "since": "2026-01-01"})),
        ("delivery_status", json!({"id": id()})),
    ];
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_questions_conform_too() {
    let project = fresh();
    project.write("src/geo.rs", GEOMETRY);
    project.write("hob.toml", "[code.servers.rust-analyzer]\nenabled = false\n");
    for (start, more) in [(&["ask"][..], true), (&["--profile", "tidepool"], false)] {
        let mut peer = project.mcp(start);
        peer.initialize();
        let tools = list(&mut peer);
        let asked = peer.call("confirm_action", json!({"action": "Push it?", "wait_s": 0}));
        let fields = json!([{"id": "a", "required": true}, {"id": "b", "kind": "choice", "options": [{"id": "x"}]}]);
        let mut calls = vec![
            ("confirm_action", json!({"action": "Delete it?", "details": "all of it", "danger": "high"})),
            ("confirm_action", json!({"action": "Delete it?", "details": "all of it", "wait_s": 0})),
            ("select_option", json!({"prompt": "Which?", "options": [["a", "A"], ["b"]], "wait_s": 0})),
            ("request_guidance", json!({"context": "How?", "suggestions": ["so"], "wait_s": 0})),
        ];
        if more {
            calls.extend([
                (
                    "ask_form",
                    json!({"title": "T", "fields": fields, "key": "k", "expires": "2h", "urgent": true, "wait_s": 0}),
                ),
                ("ask_wait", json!({"wait_s": 0})),
                ("ask_list", json!({"state": "all"})),
                ("ask_cancel", json!({"question": asked.structured["question"], "reason": "r"})),
            ]);
        } else {
            calls.extend([
                ("find_callers", json!({"name": "area", "context_lines": 1, "max_results": 1})),
                ("show_fields", json!({"type_name": "Shape"})),
                ("show_constructors", json!({"type_name": "Shape"})),
                ("teach-graph", json!({"topic": "areas", "seeds": ["Shape", "Nothing"], "budget": 1})),
                ("scout", json!({"query": "add a variant", "symbols": "Shape, area", "depth": "low"})),
                ("exo_status", json!({"bead_id": "web-a1"})),
                ("exo_reconstitute", json!({"bead_id": "web-a1"})),
            ]);
        }
        conform(&mut peer, &tools, &calls);
    }
}

const GEOMETRY: &str = "/// One.\npub enum Shape { Round { radius: f64 }, Empty }\nfn area(s: &Shape) { if let Shape::Empty = s {} }\nfn b() { area(&c); d(area) }\n";

#[test]
fn results_about_code_conform_too() {
    let project = fresh();
    project.write("src/geo.rs", GEOMETRY);
    // The state of a server would differ at each call.
    project.write("hob.toml", "[code.servers.rust-analyzer]\nenabled = false\n");
    project.write("src/Geo.hs", "data Shape a where\n  Round :: Ord a => { radius :: !a } -> Shape a\n");
    let mut peer = project.mcp(&["code"]);
    peer.initialize();
    let tools = list(&mut peer);
    let calls = [
        ("find_callers", json!({"name": "area", "uses": ["call", "value"], "path": "src", "context_lines": 2})),
        ("find_callers", json!({"name": "f64", "max_results": 1, "wait_ms": 0})),
        ("find_uses", json!({"name": "Shape", "classes": ["type", "binding"]})),
        ("find_uses", json!({"name": "area", "max_results": 1, "refuted": true, "wait_ms": 0})),
        ("show_definition", json!({"name": "Shape", "max_bytes": 10})),
        ("show_fields", json!({"type_name": "Shape"})),
        ("show_constructors", json!({"type_name": "Shape"})),
        ("outline", json!({"path": "src", "match": "area"})),
        ("find_callees", json!({"name": "b", "external": true})),
        ("find_matches", json!({"type_name": "src/geo.rs:Shape"})),
        ("code_status", json!({})),
    ];
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_walks_over_code_conform() {
    let project = fresh();
    project.write("src/geo.rs", GEOMETRY);
    project.write("hob.toml", "[code.servers.rust-analyzer]\nenabled = false\n");
    let mut peer = project.mcp(&["explore"]);
    peer.initialize();
    let tools = list(&mut peer);
    let calls = [
        ("teach-graph", json!({"topic": "areas", "seeds": ["area", "Nothing"], "follow": ["types"], "max_depth": 1})),
        ("teach-graph", json!({"topic": "areas", "seeds": ["b"], "budget": 1, "path": "src", "wait_ms": 0})),
        ("scout", json!({"query": "What breaks if I add a variant to Shape?"})),
        ("scout", json!({"query": "", "symbols": ["area"], "depth": "low", "change": "rename", "path": "src"})),
    ];
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_the_work_tools_conform() {
    let project = fresh();
    let mut peer = project.mcp(&["work"]);
    peer.initialize();
    let tools = list(&mut peer);
    let calls = [
        ("work_brief", json!({"at": "end", "note": "The parser is next."})),
        ("work_brief", json!({})),
        (
            "work_status",
            json!({"sections": ["git", "worktrees", "notes", "issue", "pull"], "issue": "web-a1", "refresh": true}),
        ),
        ("work_sync", json!({"sections": ["git"], "issue": "web-a1"})),
    ];
    conform(&mut peer, &tools, &calls);
    if !has_program("git") {
        return;
    }
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "First"]] {
        let mut git = project.command("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(args);
        assert!(git.status().unwrap().success());
    }
    project.write(".beads/issues.jsonl", "{\"id\":\"web-a1\",\"title\":\"Parse lists\"}\n");
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_the_nodes_tools_conform() {
    let model = ScriptedModel::start(Script::new(Vec::new())).unwrap();
    let project = fresh();
    let table = format!("[nodes]\nmodels.local = {{ url = \"{}/v1\", model = \"scripted\" }}\n", model.url());
    project.write("hob.toml", &table);
    assert!(project.run(["node", "new", "summarize"]).ok().contains("Created nodes/summarize.node.md"));
    let mut peer = project.mcp(&["nodes"]);
    peer.initialize();
    let mut tools = list(&mut peer);
    // The tools for jobs belong to the library, and a node's tool does not belong to the part.
    tools.retain(|tool| !text(tool, "name").starts_with("job_") && text(tool, "name") != "summarize");
    let input = json!({"text": "It rained."});
    let calls = [
        ("node_submit", json!({"ticket": "none", "value": {"answer": "Rain."}})),
        ("node_check", json!({"path": "nodes/summarize.node.md"})),
        ("node_run", json!({"node": "summarize", "input": input})),
        ("nodes_status", json!({})),
        ("nodes_status", json!({"node": "summarize"})),
    ];
    conform(&mut peer, &tools, &calls);
    let asked = &model.exchanges()[0].body;
    assert_eq!(asked["response_format"]["json_schema"]["name"], "summarize");
    let id =
        peer.request("tools/call", json!({"name": "node_run", "arguments": {"node": "summarize", "input": input}}));
    let ledger = &peer.response(id)["result"]["_meta"]["hob/ledger"];
    assert_eq!((&ledger["attempts"][0]["class"], &ledger["total"]["tokens"]), (&json!("done"), &json!(2)));
}

#[test]
fn results_of_the_eleven_tools_conform_too() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "dev"]).ok();
    let mut peer = project.mcp(&["--profile", "thrum", "--as", "planner"]);
    peer.initialize();
    let tools = list(&mut peer);
    let calls = [
        ("send_message", json!({"to": "planner", "content": "to myself"})),
        ("check_messages", json!({})),
        ("wait_for_message", json!({"timeout": 0})),
        ("list_agents", json!({})),
        ("broadcast_message", json!({"content": "x"})),
        ("create_group", json!({"name": "g", "description": "d"})),
        ("add_group_member", json!({"group": "g", "member_type": "role", "member_id": "dev"})),
        ("list_groups", json!({})),
        ("get_group", json!({"name": "g", "expand": true})),
        ("get_group", json!({"name": "everyone"})),
        ("remove_group_member", json!({"group": "g", "member_type": "role", "member_id": "dev"})),
        ("delete_group", json!({"name": "g"})),
    ];
    conform(&mut peer, &tools, &calls);
}

#[test]
fn results_of_the_compiler_conform_too() {
    let project = fresh();
    project.write("hob.toml", "[cure]\nrun = true\n");
    project.write("base.cure", "module Base do\n  def one(): Int = 1\nend\n");
    project.write("wrong.cure", "module Wrong do\n  import Base\n  def two(): String = one()\nend\n");
    let mut peer = project.mcp(&["--profile", "cure"]);
    peer.initialize();
    let tools = list(&mut peer);
    let fine = "module T do\n  record P do\n    n: Int\n  end\n  fsm P{n: 0} do\n    A --> |go| B when n > 0\n  end\n  def main(): Int = 1\nend\n";
    let wrong = "module T do\n  def f(): Int = \"x\"\n  def g(x :Int): Int = x\nend\n";
    let mut calls = vec![
        ("check_project", json!({})),
        ("check_project", json!({"path": "base.cure"})),
        ("format_cure", json!({"file_path": "base.cure", "check": true})),
        ("run_cure", json!({"code": fine, "trace": true, "profile": true})),
        ("run_cure", json!({"file_path": "wrong.cure"})),
        ("generate_tests", json!({"code": fine, "function": "main"})),
        ("generate_tests", json!({"code": wrong, "function": "f"})),
        ("get_syntax_help", json!({"topic": "all"})),
        ("compile_cure", json!({"file_path": "base.cure"})),
        ("compile_cure", json!({"file_path": "wrong.cure"})),
        ("get_examples", json!({"category": "all"})),
        ("get_stdlib_docs", json!({"module": "all"})),
        ("get_stdlib_docs", json!({"module": "Std.String"})),
    ];
    for tool in
        ["validate_syntax", "parse_cure", "get_ast", "type_check_cure", "analyze_fsm", "format_cure", "run_cure"]
    {
        calls.extend([(tool, json!({"code": fine})), (tool, json!({"code": wrong}))]);
    }
    conform(&mut peer, &tools, &calls);
}

/// Calls every tool, and validates arguments and results with their declared schemas.
fn conform(peer: &mut McpPeer, tools: &[Value], calls: &[(&str, Value)]) {
    for (name, arguments) in calls {
        let (name, arguments) = (*name, arguments.clone());
        let tool = tools.iter().find(|tool| text(tool, "name") == name).unwrap();
        let accepted = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        assert!(accepted.is_valid(&arguments), "{name} {arguments}");
        let answer = peer.call(name, arguments.clone());
        if answer.structured.is_null() {
            panic!("{name} {arguments}: {}", answer.text);
        }
        let promised = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        let broken: Vec<String> = promised
            .iter_errors(&answer.structured)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(broken.is_empty(), "{name} {arguments}: {broken:#?}\n{:#}", answer.structured);
    }
    let called: std::collections::BTreeSet<&str> = calls.iter().map(|(name, _)| *name).collect();
    let there = tools.iter().map(|tool| text(tool, "name")).collect();
    assert_eq!(called, there, "a new tool belongs into the list of calls");
}
