//! What a call of a node may cost, and what is accepted of a model.

use std::time::Duration;

use super::reader::Reader;
use super::yaml::{Kind, Tree};

/// The limits of a call, and how strict it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How many times a model is asked at most, over all of them.
    pub attempts: u32,
    /// Whether a model may be asked whose server cannot take the schema.
    pub enforce: Enforce,
    /// True if an answer that is nearly JSON is mended. What is mended is marked, and validated like any other.
    pub repair: bool,
    /// For the whole call.
    pub timeout: Duration,
    /// The most tokens of the whole call, asked and answered.
    pub tokens: u64,
    /// For how long a value is given again for the same input.
    pub cache: Option<Duration>,
    /// True if the node is a tool of its own; else it is called through `node_run`.
    pub tool: bool,
}

/// Whether a model may be asked whose server cannot hold it to the schema. The value is validated here in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforce {
    /// Such a model is passed over, and the call fails where there is no other.
    Strict,
    /// The server's decoder is given the schema where it takes it.
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
            _ => reader.say(tree.line, "`enforce` is strict or prefer"),
        }
    }
    for (name, place) in [("repair", &mut policy.repair), ("tool", &mut policy.tool)] {
        match keys.get(name).map(|tree| (&tree.kind, tree.line)) {
            Some((Kind::Bool(said), _)) => *place = *said,
            Some((_, line)) => reader.say(line, format!("`{name}` is true or false")),
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
            reader.say(tree.line, format!("`{name}` is a time such as {form}"));
        }
        time.map(Duration::from_secs)
    };
    policy.cache = time("cache", 30 * 86_400);
    policy.timeout = time("timeout", 3_600).unwrap_or(policy.timeout);
    policy
}

/// `30s`, `5m`.
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
