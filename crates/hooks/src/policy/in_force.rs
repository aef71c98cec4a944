//! Which rules hold when a file has changed. An agent can edit the file of its project, so only what tightens holds at
//! once: rules that deny or ask, in addition to those that held before. What loosens (an `allow`, a former rule that is
//! gone or changed) waits until the user grants the text with `hob trust`. A file that does not parse changes nothing.

use serde::{Deserialize, Serialize};

use super::rule::{Opaque, Policy, PolicyError, RuleTable};
use crate::agents::Verdict;

/// What held before, as it is kept between two lives of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub rules: Vec<RuleTable>,
    #[serde(default)]
    pub opaque: Opaque,
}

/// What holds of a file.
#[derive(Debug, Clone, Default)]
pub struct InForce {
    pub policy: Policy,
    /// To be kept.
    pub held: Held,
    /// What waits for `hob trust`, one line each.
    pub pending: Vec<String>,
    /// Why the file counts for nothing, if so.
    pub broken: Option<String>,
}

/// What holds of a text after what held before. `is_granted`: the user granted exactly this text, or it is their own.
pub fn in_force(text: &str, before: &Held, is_granted: bool) -> InForce {
    let now = match Policy::parse(text) {
        Ok(now) => now,
        Err(error) => return broken(before, &error),
    };
    let tables = || now.rules.iter().map(|rule| rule.table.clone());
    if is_granted {
        let held = Held { rules: tables().collect(), opaque: now.opaque };
        return InForce { policy: now, held, pending: Vec::new(), broken: None };
    }
    let mut pending = Vec::new();
    let mut rules: Vec<RuleTable> = Vec::new();
    for table in tables() {
        match table.decide == Verdict::Allow {
            true => pending.push(format!("rule {} allows {}", table.id, about(&table))),
            false => rules.push(table),
        }
    }
    for former in &before.rules {
        let tightens = matches!(former.decide, Verdict::Deny | Verdict::Person | Verdict::Ask);
        if tightens && !rules.contains(former) {
            pending.push(format!("rule {} ({}) is gone or changed", former.id, former.decide.as_str()));
            rules.push(former.clone());
        }
    }
    // Nothing was held before where there was no file.
    let former = if before.rules.is_empty() { Opaque::default() } else { before.opaque };
    let opaque = now.opaque.max(former);
    if now.opaque < former {
        pending.push("`opaque` is looser".to_owned());
    }
    let held = Held { rules: rules.clone(), opaque };
    InForce { policy: Policy::of(rules, opaque), held, pending, broken: None }
}

/// What a rule is about, in its own words.
fn about(table: &RuleTable) -> String {
    let words: Vec<String> = table.command.iter().chain(table.tool.iter()).map(|word| format!("`{word}`")).collect();
    match words.is_empty() {
        true => "everything that it is about".to_owned(),
        false => words.join(", "),
    }
}

fn broken(before: &Held, error: &PolicyError) -> InForce {
    InForce {
        policy: Policy::of(before.rules.clone(), before.opaque),
        held: before.clone(),
        pending: Vec::new(),
        broken: Some(error.to_string()),
    }
}
