//! What a client must have seen, and what it did see.

use serde_json::{Value, json};

/// What a client may do with a server, as the columns of the table.
pub(super) const CAPABILITIES: [&str; 6] = ["tools", "progress", "cancel", "ask", "resources", "prompts"];

/// What came of one capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    /// All as it must be.
    Good,
    /// As far as the client goes; what it has no way to do.
    Part(String),
    /// The client has no way to do it.
    Cannot(String),
    Wrong(String),
}

/// The cells of a client's report, after the revision it settled on.
pub(super) fn cells(report: &Value, version: &str) -> Vec<Cell> {
    if report["version"] != version {
        return vec![Cell::Wrong(format!("settled on {} instead of {version}", report["version"]))];
    }
    CAPABILITIES.iter().map(|name| cell(name, &report[*name])).collect()
}

fn cell(name: &str, seen: &Value) -> Cell {
    let Some(seen) = seen.as_object() else { return Cell::Wrong("not told".to_owned()) };
    let mut seen = seen.clone();
    let reason = seen.remove("cannot").and_then(|reason| reason.as_str().map(str::to_owned));
    if let Some(reason) = reason.clone().filter(|_| seen.is_empty()) {
        return Cell::Cannot(reason);
    }
    // A client may give the error a code of its own revision.
    if let Some(code) = seen.remove("missing")
        && ![json!(-32002), json!(-32602)].contains(&code)
    {
        return Cell::Wrong(format!("reading what is not there gave {code}"));
    }
    let mut expected = expected(name);
    if reason.is_some() {
        expected.retain(|name, _| seen.contains_key(name));
    }
    let seen = plain(Value::Object(seen));
    let expected = Value::Object(expected);
    match (seen == expected, reason) {
        (true, None) => Cell::Good,
        (true, Some(reason)) => Cell::Part(reason),
        (false, _) => Cell::Wrong(format!("saw {seen} instead of {expected}")),
    }
}

fn expected(name: &str) -> serde_json::Map<String, Value> {
    let all = match name {
        "tools" => json!({
            "names": ["echo", "hold", "inquire", "report"],
            "echo": "hi",
            "structured": {"said": "hi"},
            "refused": true,
        }),
        "progress" => json!({"last": [3, 3, "step 3"], "grows": true, "text": "reported"}),
        "cancel" => json!({"let_go": 1}),
        "ask" => json!({"asked": ["Which color?"], "text": "red"}),
        "resources" => json!({
            "hello": "hello",
            "template": "the mass of Mars in \"kg\"",
            "updated": "note://hello",
        }),
        _ => json!({"greet": "Say hello hello to Ada.", "completed": ["Ada", "Alan"]}),
    };
    all.as_object().cloned().unwrap_or_default()
}

/// Whole numbers as such: some languages have no others than floating ones.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => json!(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_judged() {
        let good = json!({"last": [3.0, 3.0, "step 3"], "grows": true, "text": "reported"});
        assert_eq!(cell("progress", &good), Cell::Good);
        assert_eq!(cell("progress", &json!({"cannot": "no"})), Cell::Cannot("no".to_owned()));
        assert!(matches!(cell("progress", &json!({"last": null, "grows": true, "text": "reported"})), Cell::Wrong(_)));
        assert!(matches!(cell("progress", &Value::Null), Cell::Wrong(_)));
        assert_eq!(cell("resources", &json!({"hello": "hello", "cannot": "watch"})), Cell::Part("watch".to_owned()));
        assert!(matches!(cell("resources", &json!({"hello": "hi", "cannot": "watch"})), Cell::Wrong(_)));
        assert!(matches!(cell("resources", &json!({"missing": 1})), Cell::Wrong(_)));
        assert_eq!(cells(&json!({"version": "x"}), "y").len(), 1);
    }
}
