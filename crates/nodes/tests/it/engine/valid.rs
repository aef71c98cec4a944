//! Nothing invalid gets out: generated schemas run on the engine, and every value that is returned passes an independent
//! validator, Python's `jsonschema`, against the node's schema and its tool's.

use std::fmt::Write as _;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{engine, node, run, venv};

/// How many schemas; more by `HOB_NODE_SCHEMAS`.
const SCHEMAS: usize = 300;

const CHECK: &str = r#"
import json, sys
from jsonschema import Draft202012Validator as V
for number, line in enumerate(sys.stdin):
    schema, value, tool, content = json.loads(line)
    for what, (s, v) in {"the value": (schema, value), "the content": (tool, content)}.items():
        V.check_schema(s)
        for error in V(s, format_checker=V.FORMAT_CHECKER).iter_errors(v):
            print(number, what, error.message, json.dumps(s), json.dumps(v))
print("checked", number + 1)
"#;

#[tokio::test]
async fn nothing_invalid_gets_out() {
    let (Some(engine), Some(venv)) = (engine().await, venv()) else { return };
    let models = engine.models("fixed");
    let count = std::env::var("HOB_NODE_SCHEMAS").ok().and_then(|count| count.parse().ok()).unwrap_or(SCHEMAS);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut lines, mut returned) = (String::new(), 0);
    let mut others = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..count {
        let schema = schema(&mut random);
        let front = "policy: { attempts: 1, timeout: 30s }\nconfig: { maxOutputTokens: 400 }";
        let node = match node("generated", front, &schema) {
            Ok(node) => node,
            Err(why) => panic!("{number}: {schema}: {why}"),
        };
        match run(&models, &node).await {
            (Ok(value), _) => {
                returned += 1;
                let tool = nodes::tools::declaration(&node).output_schema;
                let content = json!({"state": "done", "result": value});
                writeln!(lines, "{}", json!([schema, value, tool, content])).unwrap();
            }
            (Err(why), classes) => {
                assert_eq!(classes.len(), 1, "{schema}: {why}");
                let class = classes[0].clone();
                assert!(
                    ["Invalid", "Truncated", "Rejected", "Empty", "Busy", "Unparseable"].contains(&class.as_str()),
                    "{schema}: {why}"
                );
                assert!(why.starts_with(&format!("Model({class})")), "{why}");
                *others.entry(class).or_default() += 1;
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
    let let_through = others.get("Invalid").copied().unwrap_or_default();
    println!(
        "{count} schemas: {returned} values returned, {let_through} let through by the decoder and refused here; {others:?}"
    );
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), format!("checked {returned}"));
    assert!(let_through > 0 && returned > count / 3);
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

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A whole schema, with definitions that it may refer to.
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
            json!({"type": "string", "pattern": random.one(&["^[a-f]{2,4}$", "[a-f]{2}", "^\\d+$", "^(ab|cd)+$"])})
        }
        12 => {
            json!({"type": "string", "format": random.one(&["date", "email", "uuid", "ipv4", "date-time"])})
        }
        13 => json!({"$ref": random.one(&["#/$defs/small", "#/$defs/tree", "#/$defs/tagged"])}),
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
