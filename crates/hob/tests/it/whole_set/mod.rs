//! Rules for all tools, as a client sees them.

mod pages;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::scripted_model::{Script, ScriptedModel};
use testkit::{McpPeer, TestProject};

use crate::transcripts::transcript;
use crate::{fresh, json_of};

/// A toolset or profile: the arguments of `hob mcp` that serve it, the instructions for the model, and its tools.
struct Served {
    start: String,
    instructions: String,
    tools: Vec<Value>,
}

impl Served {
    fn new(project: &TestProject, start: String) -> Served {
        let mut peer = project.mcp(&start.split(' ').collect::<Vec<_>>());
        let instructions = text(&peer.initialize(), "instructions").to_owned();
        Served { start, instructions, tools: list(&mut peer) }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| text(tool, "name"))
    }

    /// True if the instructions name a tool.
    fn tells_of(&self, tool: &str) -> bool {
        self.instructions.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == tool)
    }
}

fn connect(project: &TestProject, start: &[&str]) -> McpPeer {
    let mut peer = project.mcp(start);
    peer.initialize();
    peer
}

pub(crate) fn list(peer: &mut McpPeer) -> Vec<Value> {
    let id = peer.request("tools/list", json!({}));
    peer.response(id)["result"]["tools"].as_array().unwrap().clone()
}

pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns every toolset, and every profile that is not also a toolset.
fn all_sets(project: &TestProject) -> Vec<Served> {
    connect(project, &["all"]);
    let status = json_of(project, &["status"]);
    let names = |field: &str| -> Vec<String> {
        let sets = status[field].as_array().unwrap().iter();
        sets.map(|set| text(set, "name").to_owned()).collect()
    };
    let toolsets = names("toolsets");
    let profiles = names("profiles").into_iter().filter(|name| !toolsets.contains(name));
    let profiles: Vec<String> = profiles.map(|name| format!("--profile {name}")).collect();
    toolsets.into_iter().chain(profiles).map(|start| Served::new(project, start)).collect()
}

/// A node file with parts that a listing must not have.
const WIDE: &str = r#"---
description: Take whatever JSON Schema can say.
input:
  schema:
    type: object
    properties:
      anything: true
      mixed: { type: array, items: { anyOf: [{ type: [string, "null"] }, { type: integer }] } }
    required: [mixed]
    additionalProperties: false
output:
  schema: { type: object, properties: { known: { type: [string, "null"] } }, required: [known], additionalProperties: false }
---
{% block user %}{{ mixed | tojson }}{% endblock %}
"#;

#[test]
fn declarations_are_what_clients_and_model_apis_demand() {
    let project = fresh();
    project.write("nodes/wide.node.md", WIDE);
    let sets = all_sets(&project);
    for set in &sets {
        let names: Vec<&str> = set.names().collect();
        assert!(names.is_sorted(), "{names:?}");
        for tool in &set.tools {
            let name = text(tool, "name");
            let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let is_legal = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
            assert!(begins_well && is_legal && name.len() <= 64, "{name}");
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
                let is_described = name == "wide" || !text(schema, "description").is_empty();
                assert!(is_described, "{name}: {argument} is not described");
            }
            let is_shown = set.start.starts_with("--profile") || transcript("tools", name).is_file();
            assert!(is_shown || name == "wide" || name.starts_with("job_"), "{name} has no transcript");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}: what it does to the world is not said");
            for kind in ["inputSchema", "outputSchema"] {
                let mut faults = Vec::new();
                tool.get(kind).into_iter().for_each(|schema| find_faults(schema, kind, false, &mut faults));
                assert!(faults.is_empty(), "{name}: {faults:#?}");
            }
        }
        let shown: Vec<Value> =
            set.tools.iter().map(|tool| json!([tool["name"], tool["description"], tool["inputSchema"]])).collect();
        // A token is about four bytes, and every conversation pays for all of them.
        let tokens = Value::from(shown).to_string().len() / 4;
        assert!(tokens <= 3000, "{}: the listing costs about {tokens} tokens", set.start);
    }
    assert!(sets.iter().any(|set| set.names().any(|name| name == "wide")), "the node is listed");
    // Arguments are validated with the schema in the file.
    let mut peer = connect(&project, &[]);
    let refused = peer.call("wide", json!({"mixed": [true]}));
    assert!(refused.is_error && refused.text.contains("/mixed/0"), "{}", refused.text);
    assert_eq!(peer.call("wide", json!({"mixed": [null, 1]})).structured["state"], "delegate");
}

/// The keywords whose values are schemas, lists of schemas, and schemas by name.
const ONE: [&str; 7] = ["items", "contains", "propertyNames", "not", "if", "then", "else"];
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Finds the parts of a schema that an API refuses. With one of them, Gemini's refuses every turn with HTTP 400.
fn find_faults(schema: &Value, path: &str, is_in_items: bool, faults: &mut Vec<String>) {
    let is_combined = LISTS[..3].iter().any(|name| schema.get(name).is_some());
    let is_whole = schema["type"] != "array" || schema.get("items").is_some();
    if !schema.is_object() || schema["type"].is_array() || !is_whole || is_combined && is_in_items {
        faults.push(format!("{path}: {schema}"));
    }
    for (name, value) in schema.as_object().into_iter().flatten() {
        let name = name.as_str();
        let is_in_items = is_in_items || ["items", "contains", "prefixItems", "$defs", "definitions"].contains(&name);
        let mut find = |part: &Value, name: &str| find_faults(part, &format!("{path}/{name}"), is_in_items, faults);
        match value {
            Value::Object(named) if NAMED.contains(&name) => named.iter().for_each(|(name, part)| find(part, name)),
            Value::Array(forms) if LISTS.contains(&name) => forms.iter().for_each(|form| find(form, name)),
            value if ONE.contains(&name) => find(value, name),
            Value::Object(_) if name == "additionalProperties" => find(value, name),
            _ => {}
        }
    }
}

/// The instructions name tools of each served toolset, and of no other. Those of several toolsets are joined.
#[test]
fn instructions_tell_of_the_tools_that_are_served() {
    let project = fresh();
    let sets = all_sets(&project);
    let toolsets = || sets.iter().filter(|set| !set.start.starts_with("--profile"));
    for set in &sets {
        let own: Vec<&str> = set.names().collect();
        assert!(set.instructions.len() <= 2000, "{}: {} characters", set.start, set.instructions.len());
        assert!(own.iter().any(|tool| set.tells_of(tool)), "{}: {}", set.start, set.instructions);
        let others = toolsets().flat_map(Served::names).filter(|tool| !own.contains(tool));
        let strange: Vec<&str> = others.filter(|tool| set.tells_of(tool)).collect();
        assert!(strange.is_empty(), "{}: {strange:?} in {}", set.start, set.instructions);
    }
    let all = Served::new(&project, "all".to_owned());
    assert!(all.instructions.len() <= 2000, "{} characters", all.instructions.len());
    toolsets().for_each(|set| assert!(all.instructions.contains(&set.instructions), "{}", set.start));
}

/// Strict clients validate structured results with the declared schema. The transcripts call the tools of toolsets.
#[test]
fn results_of_profiles_conform_to_their_schemas() {
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "dev"]).ok();
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
    conform(&mut connect(&project, &["--profile", "thrum", "--as", "planner"]), &calls);
    project.write("src/geo.rs", "pub enum Shape { Round { radius: f64 }, Empty }\nfn area() {}\nfn b() { area() }\n");
    let calls = [
        ("confirm_action", json!({"action": "Delete it?", "details": "all of it", "danger": "high"})),
        ("select_option", json!({"prompt": "Which?", "options": [["a", "A"], ["b"]], "wait_s": 0})),
        ("request_guidance", json!({"context": "How?", "suggestions": ["so"], "wait_s": 0})),
        ("find_callers", json!({"name": "area", "context_lines": 1, "max_results": 1})),
        ("show_fields", json!({"type_name": "Shape"})),
        ("show_constructors", json!({"type_name": "Shape"})),
        ("teach-graph", json!({"topic": "areas", "seeds": ["Shape", "Nothing"], "budget": 1})),
        ("scout", json!({"query": "add a variant", "symbols": "Shape, area", "depth": "low"})),
        ("exo_status", json!({"bead_id": "web-a1"})),
        ("exo_reconstitute", json!({"bead_id": "web-a1"})),
    ];
    conform(&mut connect(&project, &["--profile", "tidepool"]), &calls);
}

#[test]
fn results_of_the_nodes_tools_conform() {
    let model = ScriptedModel::start(Script::new(Vec::new())).unwrap();
    let project = fresh();
    let table = format!("[nodes]\nmodels.local = {{ url = \"{}/v1\", model = \"scripted\" }}\n", model.url());
    project.write("hob.toml", &table);
    assert!(project.run(["node", "new", "summarize"]).ok().contains("Created nodes/summarize.node.md"));
    let mut peer = connect(&project, &["nodes"]);
    let input = json!({"text": "It rained."});
    let calls = [
        ("node_submit", json!({"ticket": "none", "value": {"answer": "Rain."}})),
        ("node_check", json!({"path": "nodes/summarize.node.md"})),
        ("node_run", json!({"node": "summarize", "input": input})),
        ("nodes_status", json!({})),
        ("nodes_status", json!({"node": "summarize"})),
    ];
    conform(&mut peer, &calls);
    let asked = &model.exchanges()[0].body;
    assert_eq!(asked["response_format"]["json_schema"]["name"], "summarize");
    let id = peer.start_call("node_run", json!({"node": "summarize", "input": input}));
    let ledger = &peer.response(id)["result"]["_meta"]["hob/ledger"];
    assert_eq!((&ledger["attempts"][0]["class"], &ledger["total"]["tokens"]), (&json!("done"), &json!(2)));
}

/// Calls every tool of a connection, and validates arguments and results with their declared schemas.
fn conform(peer: &mut McpPeer, calls: &[(&str, Value)]) {
    let mut tools = list(peer);
    // The tools for jobs belong to the library, and a node's tool does not belong to the part.
    tools.retain(|tool| !text(tool, "name").starts_with("job_") && text(tool, "name") != "summarize");
    for (name, arguments) in calls {
        let tool = tools.iter().find(|tool| text(tool, "name") == *name).unwrap();
        let accepted = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        assert!(accepted.is_valid(arguments), "{name} {arguments}");
        let answer = peer.call(name, arguments.clone());
        assert!(!answer.structured.is_null(), "{name} {arguments}: {}", answer.text);
        check_result(tool, &answer.structured);
    }
    let called: BTreeSet<&str> = calls.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        called,
        tools.iter().map(|tool| text(tool, "name")).collect(),
        "a new tool belongs into the list of calls"
    );
}

/// Validates a result with the schema that its tool declares.
pub(crate) fn check_result(tool: &Value, result: &Value) {
    let promised = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
    let errors = promised.iter_errors(result);
    let broken: Vec<String> = errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(broken.is_empty(), "{}: {broken:#?}\n{result:#}", tool["name"]);
}
