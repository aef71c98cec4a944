//! The policy of a node: limits of a call, and the accepted answers.

use std::time::Duration;

use super::reader::Reader;
use super::yaml::{Kind, Tree};

/// The limits and strictness of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The maximum number of requests, to all models together.
    pub attempts: u32,
    /// The rule for models whose server cannot take the schema.
    pub enforce: Enforce,
    /// True if hob repairs an answer that is nearly JSON. A repaired value is marked, and validated like any other.
    pub repair: bool,
    /// The timeout of the whole call.
    pub timeout: Duration,
    /// The maximum number of tokens of the whole call, prompt and answer.
    pub tokens: u64,
    /// The lifetime of a cached value for the same input.
    pub cache: Option<Duration>,
    /// True if the node is a separate tool; else it is called through `node_run`.
    pub tool: bool,
}

/// The rule for models whose server cannot enforce the schema. The value is validated here in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforce {
    /// Such a model is skipped. The call fails if no other model is available.
    Strict,
    /// The schema is sent to the server if the server accepts it.
    Prefer,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            attempts: 3,
            enforce: Enforce::Prefer,
            repair: false,
            timeout: Duration::from_secs(60),
            tokens: 50_000,
            cache: None,
            tool: true,
        }
    }
}

const KEYS: &[&str] = &["attempts", "enforce", "repair", "timeout", "tokens", "cache", "tool"];

/// Reads the key `policy`.
pub(super) fn policy(reader: &mut Reader, tree: &Tree) -> Policy {
    let keys = reader.map(tree, "`policy`", KEYS, false);
    let mut policy = Policy::default();
    let mut whole = |name: &str, most: u64| {
        let read = |number: &serde_json::Number| number.as_u64().filter(|value| (1..=most).contains(value));
        keys.get(name).and_then(|tree| reader.number(tree, name, &format!("a whole number from 1 to {most}"), read))
    };
    if let Some(attempts) = whole("attempts", 10) {
        policy.attempts = u32::try_from(attempts).unwrap_or(policy.attempts);
    }
    if let Some(tokens) = whole("tokens", 10_000_000) {
        policy.tokens = tokens;
    }
    if let Some(tree) = keys.get("enforce") {
        match tree.to_json().as_str() {
            Some("strict") => policy.enforce = Enforce::Strict,
            Some("prefer") => policy.enforce = Enforce::Prefer,
            _ => reader.add_problem(tree.line, "`enforce` is strict or prefer"),
        }
    }
    for (name, place) in [("repair", &mut policy.repair), ("tool", &mut policy.tool)] {
        match keys.get(name).map(|tree| (&tree.kind, tree.line)) {
            Some((Kind::Bool(said), _)) => *place = *said,
            Some((_, line)) => reader.add_problem(line, format!("`{name}` is true or false")),
            None => {}
        }
    }
    let mut time = |name: &str, most: u64| {
        let tree = keys.get(name)?;
        let time = match &tree.kind {
            Kind::Text(text) => seconds(text).filter(|time| (1..=most).contains(time)),
            _ => None,
        };
        if time.is_none() {
            let form = if name == "cache" { "10m, 6h or 1d, at most 30d" } else { "30s or 5m, at most 60m" };
            reader.add_problem(tree.line, format!("`{name}` is a time such as {form}"));
        }
        time.map(Duration::from_secs)
    };
    policy.cache = time("cache", 30 * 86_400);
    policy.timeout = time("timeout", 3_600).unwrap_or(policy.timeout);
    policy
}

/// Parses a duration such as `30s` or `5m`.
fn seconds(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..at].parse().ok()?;
    match &text[at..] {
        "s" => Some(number),
        "m" => number.checked_mul(60),
        "h" => number.checked_mul(3_600),
        "d" => number.checked_mul(86_400),
        _ => None,
    }
}
