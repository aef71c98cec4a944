//! The expected observations of each client, and the comparison with its report.

use serde_json::{Value, json};

/// Capabilities of a client: the columns of the table.
pub(super) const CAPABILITIES: [&str; 6] = ["tools", "progress", "cancel", "ask", "resources", "prompts"];

/// The outcome of one capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Passed,
    /// Passed in part; the text names the part that the client does not support.
    Partial(String),
    Unsupported(String),
    Failed(String),
}

/// Judges a client's report; one of another revision than `version` fails as a whole.
pub(super) fn judge(report: &Value, version: &str) -> Vec<Cell> {
    if report["version"] != version {
        return vec![Cell::Failed(format!("settled on {} instead of {version}", report["version"]))];
    }
    CAPABILITIES.iter().map(|name| judge_one(name, &report[*name])).collect()
}

fn judge_one(name: &str, seen: &Value) -> Cell {
    let Some(seen) = seen.as_object() else { return Cell::Failed("not told".to_owned()) };
    let mut seen = seen.clone();
    let reason = seen.remove("cannot").and_then(|reason| reason.as_str().map(str::to_owned));
    if let Some(reason) = reason.clone().filter(|_| seen.is_empty()) {
        return Cell::Unsupported(reason);
    }
    // The error's code depends on the revision.
    if let Some(code) = seen.remove("missing")
        && ![json!(-32002), json!(-32602)].contains(&code)
    {
        return Cell::Failed(format!("reading what is not there gave {code}"));
    }
    let mut expected = expected(name);
    if reason.is_some() {
        expected.retain(|name, _| seen.contains_key(name));
    }
    let seen = normalize_numbers(Value::Object(seen));
    let expected = Value::Object(expected);
    match (seen == expected, reason) {
        (true, None) => Cell::Passed,
        (true, Some(reason)) => Cell::Partial(reason),
        (false, _) => Cell::Failed(format!("saw {seen} instead of {expected}")),
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

/// Turns floating-point numbers without a fraction into integers: some languages have no others.
fn normalize_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => json!(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(normalize_numbers).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, normalize_numbers(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_compared_with_the_expectations() {
        let good = json!({"last": [3.0, 3.0, "step 3"], "grows": true, "text": "reported"});
        assert_eq!(judge_one("progress", &good), Cell::Passed);
        assert_eq!(judge_one("progress", &json!({"cannot": "no"})), Cell::Unsupported("no".to_owned()));
        assert!(matches!(
            judge_one("progress", &json!({"last": null, "grows": true, "text": "reported"})),
            Cell::Failed(_)
        ));
        assert!(matches!(judge_one("progress", &Value::Null), Cell::Failed(_)));
        assert_eq!(
            judge_one("resources", &json!({"hello": "hello", "cannot": "watch"})),
            Cell::Partial("watch".to_owned())
        );
        assert!(matches!(judge_one("resources", &json!({"hello": "hi", "cannot": "watch"})), Cell::Failed(_)));
        assert!(matches!(judge_one("resources", &json!({"missing": 1})), Cell::Failed(_)));
        assert_eq!(judge(&json!({"version": "x"}), "y").len(), 1);
    }
}
