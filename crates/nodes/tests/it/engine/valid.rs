//! No invalid value is returned. Generated schemas run on the engine, unchanged and in the strict subset. Python's `jsonschema`
//! validates every returned value against the schemas of the node and its tool. Every other call is an error whose class
//! matches the server's answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::schema::Dialect;
use nodes::{ModelSettings, Models, Node, NodesSettings, RunContext};
use serde_json::{Map, Value, json};

use super::{engine, node, venv};

/// The number of schemas; `HOB_NODE_SCHEMAS` sets another one.
const SCHEMAS: usize = 100;

const CHECK: &str = r#"
import json, sys
from jsonschema import Draft202012Validator as V
counts = {"valid": 0, "invalid": 0}
def errors(schema, value):
    V.check_schema(schema)
    return list(V(schema, format_checker=V.FORMAT_CHECKER).iter_errors(value))
for number, line in enumerate(sys.stdin):
    wanted, *pairs = json.loads(line)
    for schema, value in pairs:
        found = errors(schema, value)
        if bool(found) == (wanted == "valid"):
            print(number, "is not", wanted, found[:1], json.dumps(schema), json.dumps(value))
    counts[wanted] += 1
print(json.dumps(counts))
"#;

/// The results for the schemas of one form.
#[derive(Default)]
struct Counts {
    returned: usize,
    classes: BTreeMap<String, usize>,
}

#[tokio::test]
async fn nothing_invalid_gets_out() {
    let (Some(engine), Some(venv)) = (engine().await, venv()) else { return };
    let count = std::env::var("HOB_NODE_SCHEMAS").ok().and_then(|count| count.parse().ok()).unwrap_or(SCHEMAS);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut lines = String::new();
    let forms = [("as it is", Dialect::Full), ("strict subset", Dialect::Strict)];
    let models = forms.map(|(_, dialect)| {
        let model = ModelSettings { schema: Some(dialect), ..ModelSettings::at(engine.url(), "fixed") };
        Models::new(&NodesSettings { models: [("fixed".to_owned(), model)].into(), ..NodesSettings::default() })
    });
    let mut counts = [Counts::default(), Counts::default()];
    let (mut refuted, place) = (0, tempfile::tempdir().unwrap());
    for number in 0..count {
        let schema = schema(&mut random);
        let front = "policy: { attempts: 1, timeout: 30s }\nconfig: { maxOutputTokens: 400 }";
        let node = node("generated", front, &schema).unwrap_or_else(|why| panic!("{number}: {schema}: {why}"));
        for (form, (models, counts)) in models.iter().zip(&mut counts).enumerate() {
            // Short runs test the projection less often.
            if form > 0 && count <= SCHEMAS && number % 3 > 0 {
                continue;
            }
            let directory = place.path().join(format!("{number}-{form}"));
            let (said, raw) = recorded(&node, models, &directory).await;
            match said {
                Ok(value) => {
                    counts.returned += 1;
                    let tool = nodes::tools::declaration(&node).output_schema;
                    let content = json!({"state": "done", "result": value});
                    writeln!(lines, "{}", json!(["valid", [schema, value], [tool, content]])).unwrap();
                }
                Err(why) => {
                    let (class, text) = class(&raw);
                    assert!(why.starts_with(&format!("Model({class})")), "{schema}: {why}: {raw}");
                    *counts.classes.entry(class.to_owned()).or_default() += 1;
                    if let (Some(value), Dialect::Full) = (text, forms[form].1) {
                        refuted += 1;
                        writeln!(lines, "{}", json!(["invalid", [schema, value]])).unwrap();
                    }
                }
            }
        }
    }
    let mut python = Command::new(venv.join("bin/python"));
    let mut child = python.args(["-c", CHECK]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let said = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(said.status.success());
    let returned: usize = counts.iter().map(|counts| counts.returned).sum();
    let wanted = json!({"valid": returned, "invalid": refuted}).to_string().replace(':', ": ").replace(',', ", ");
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), wanted);
    // For people, and for `cargo xtask score nodes`.
    println!("schemas\t{count}");
    for ((name, _), counts) in forms.iter().zip(&counts) {
        println!("{name}: returned\t{}", counts.returned);
        counts.classes.iter().for_each(|(class, count)| println!("{name}: {class}\t{count}"));
        assert!(counts.classes.get("Invalid").is_some_and(|count| *count > 0));
    }
    println!("refuted\t{refuted}");
    assert!(counts[0].returned > count / 3);
}

/// Returns the result of a call, and the server's raw answer.
async fn recorded(node: &Node, models: &Models, directory: &Path) -> (Result<Value, String>, Value) {
    let cassettes = Cassettes::new(Mode::Record);
    let folder = Folder::new(directory, "nodes");
    std::fs::create_dir_all(directory.join("nodes")).expect("a directory");
    let means = RunContext { cassettes: Some((&cassettes, &folder)), ..RunContext::new(models) };
    let said = match nodes::run_with(node, Map::new(), means).await {
        Ok(done) => Ok(done.value),
        Err(failure) => Err(format!("{:?}: {}", failure.kind, failure.why)),
    };
    let entry = std::fs::read_to_string(directory.join("nodes/cassettes/generated.jsonl")).expect("a recording");
    (said, serde_json::from_str(&entry).expect("one entry"))
}

/// Determines the class of the server's answer independently, and the value in it.
fn class(entry: &Value) -> (&'static str, Option<Value>) {
    let status = entry["status"].as_u64().unwrap();
    if status != 200 {
        return (if status < 500 { "Rejected" } else { "Busy" }, None);
    }
    let body: Value = serde_json::from_str(entry["body"].as_str().unwrap()).unwrap();
    let choice = &body["choices"][0];
    let text = choice["message"]["content"].as_str().unwrap_or_default();
    match (choice["finish_reason"].as_str(), text, serde_json::from_str(text)) {
        (Some("length"), ..) => ("Truncated", None),
        (_, "", _) => ("Empty", None),
        (.., Err(_)) => ("Unparseable", None),
        (.., Ok(value)) => ("Invalid", Some(value)),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        // Xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Generates a whole schema, with definitions that it may refer to.
fn schema(random: &mut Random) -> Value {
    let mut schema = match random.below(4) {
        0 => json!({"type": "array", "items": part(random, 2), "minItems": random.below(3)}),
        _ => object(random, 3),
    };
    schema["$defs"] = json!({
        "small": {"type": "integer", "minimum": 1, "maximum": 9},
        "tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "required": ["name", "below"],
        },
        "tagged": {"anyOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "s": {"type": "string"}}, "required": ["kind", "s"]},
        ]},
    });
    schema
}

fn object(random: &mut Random, depth: u64) -> Value {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for name in ["a", "b", "c", "d"].into_iter().take(1 + random.below(4) as usize) {
        properties.insert(name.to_owned(), part(random, depth - 1));
        if random.below(4) > 0 {
            required.push(name);
        }
    }
    let mut object = json!({"type": "object", "properties": properties, "required": required});
    if random.below(2) == 0 {
        object["additionalProperties"] = false.into();
    }
    if random.below(8) == 0 {
        object["if"] = json!({"required": ["a"]});
        object["then"] = json!({"required": ["a", "z"], "properties": {"z": true}});
        object["additionalProperties"] = true.into();
    }
    object
}

fn part(random: &mut Random, depth: u64) -> Value {
    match random.below(60) {
        // Keywords that the server refuses, and answers that exceed the token limit.
        0 => return json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}),
        1 => return json!({"type": "string", "minLength": 500}),
        _ => {}
    }
    let low = random.below(150) as i64 - 20;
    match random.below(if depth == 0 { 17 } else { 22 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "string", "minLength": random.below(6)}),
        2 => json!({"type": "string", "maxLength": random.below(6)}),
        3 => json!({"type": "integer"}),
        4 => json!({"type": "integer", "minimum": low}),
        5 => json!({"type": "integer", "minimum": low, "maximum": low + 7}),
        6 => json!({"type": "number", "maximum": low}),
        7 => json!({"type": "boolean"}),
        8 => json!({"type": ["string", "null"]}),
        9 => json!({"enum": ["red", "green", 7, null]}),
        10 => json!({"const": ["x", 1]}),
        11 => {
            json!({"type": "string", "pattern": random.pick(&["^[a-f]{2,4}$", "[a-f]{2}", "^\\d+$", "^(ab|cd)+$"])})
        }
        12 => {
            json!({"type": "string", "format": random.pick(&["date", "email", "uuid", "ipv4", "date-time"])})
        }
        13 => json!({"$ref": random.pick(&["#/$defs/small", "#/$defs/tree", "#/$defs/tagged"])}),
        14 => json!({"type": "string", "not": {"const": ""}}),
        15 => json!({"type": "integer", "multipleOf": 1 + random.below(5), "minimum": 1}),
        16 => json!({"type": "integer", "not": {"enum": [0, 1]}}),
        17 => object(random, depth),
        18 => json!({"type": "array", "items": part(random, depth - 1), "minItems": random.below(3), "maxItems": 4}),
        19 => json!({"type": "array", "items": {"type": "integer"}, "minItems": random.below(4), "uniqueItems": true}),
        20 => json!({"anyOf": [part(random, depth - 1), part(random, depth - 1)]}),
        _ => json!({"oneOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]}),
    }
}
