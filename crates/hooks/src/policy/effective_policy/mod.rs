//! The rules in force after a file has changed. An agent can edit the file of its project. An edit takes effect at once only
//! if it tightens: rules that deny or ask before a tool are added to the previous rules. Everything else waits until the
//! user grants the text with `hob trust`: an `allow`, a `person`, a `context`, a rule about another event, and the removal
//! of a previous rule. A file that does not parse changes nothing.

use std::collections::HashMap;

use project::trust::FileGrant;
use serde::{Deserialize, Serialize};

use super::rule::{Opaque, Policy, Rule, RuleTable, Words};
use crate::agents::Verdict;

/// The maximum number of stored rules, and the maximum size of their record in bytes.
const RULES_MAX: usize = 4000;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// The record of the rules that were last in force. It survives a restart of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    pub rules: Vec<RuleTable>,
    #[serde(default)]
    pub opaque: Opaque,
    /// The grant that took effect last. A grant removes previous rules once: a later return to its text does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
}

/// The policy of a file.
#[derive(Debug, Clone, Default)]
pub struct InForce {
    pub policy: Policy,
    /// The record to keep.
    pub held: RuleRecord,
    /// The changes that wait for `hob trust`, one line each.
    pub pending: Vec<String>,
    /// The reason why the file is ignored, if it is.
    pub broken: Option<String>,
    /// True if granting the text, or withdrawing the grant, would change the policy.
    pub depends_on_grant: bool,
}

/// The origin of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The user wrote it.
    User,
    /// The text belongs to a project, with this state of the user's grant.
    Project(FileGrant),
}

/// Returns the rules in force for a text and the previous rules.
pub fn in_force(text: &str, before: &RuleRecord, source: &Source) -> InForce {
    let now = match Policy::parse(text) {
        Ok(now) => now,
        Err(error) => return InForce::broken(before, error.to_string()),
    };
    let fresh = match source {
        Source::User => Some(None),
        Source::Project(FileGrant::Text { id }) if before.granted.as_ref() != Some(id) => Some(Some(id.clone())),
        Source::Project(_) => None,
    };
    if let Some(granted) = fresh {
        let rules = now.rules.iter().map(|rule| rule.table.clone()).collect();
        let depends_on_grant = *source != Source::User && needs_grant(&now);
        let held = RuleRecord { rules, opaque: now.opaque, granted };
        return InForce { policy: now, held, depends_on_grant, ..InForce::default() };
    }
    merged(&now, before, source)
}

/// Merges the text's rules that are granted or tighten with the previous rules that they do not replace.
fn merged(now: &Policy, before: &RuleRecord, source: &Source) -> InForce {
    let is_granted = matches!(source, Source::Project(FileGrant::Text { .. }));
    let keeps_former = *source != Source::Project(FileGrant::Nothing);
    let mut pending = Vec::new();
    let mut rules: Vec<RuleTable> = Vec::new();
    for rule in &now.rules {
        let was_granted = keeps_former && rule.table.decide != Verdict::Allow && before.rules.contains(&rule.table);
        if is_granted || was_granted {
            rules.push(rule.table.clone());
        } else {
            let (table, waits) = restricted(rule);
            rules.extend(table);
            pending.extend(waits.map(|waits| format!("rule {} {waits}", rule.table.id)));
        }
    }
    let mut strictest: HashMap<String, Verdict> = HashMap::new();
    for table in &rules {
        let decides = strictest.entry(table.effect()).or_insert(table.decide);
        *decides = table.decide.max(*decides);
    }
    let former = if keeps_former {
        before.rules.clone()
    } else {
        let rules = Policy::from_tables(before.rules.clone(), before.opaque).rules;
        rules.iter().filter_map(|rule| restricted(rule).0).collect()
    };
    for kept in former.into_iter().filter(|former| former.decide >= Verdict::Ask) {
        if strictest.get(&kept.effect()).is_none_or(|decides| *decides < kept.decide) {
            strictest.insert(kept.effect(), kept.decide);
            pending.push(format!("rule {} ({}) was removed or changed", kept.id, kept.decide.as_str()));
            rules.push(kept);
        }
    }
    // Without a file there were no previous rules.
    let former = if before.rules.is_empty() { Opaque::default() } else { before.opaque };
    let opaque = now.opaque.max(former);
    if now.opaque < former {
        pending.push("`opaque` is looser".to_owned());
    }
    let held = RuleRecord { rules: rules.clone(), opaque, granted: before.granted.clone() };
    let bytes = serde_json::to_vec(&held).map_or(usize::MAX, |text| text.len());
    if rules.len() > RULES_MAX || bytes > BYTES_MAX {
        let why = format!(
            "together with the previous rules it exceeds {RULES_MAX} rules or {} MiB, so it is not in force; read it \
             and grant it with `hob trust`, which drops the previous rules",
            BYTES_MAX >> 20
        );
        let pending = vec!["the text replaces too many previous rules".to_owned()];
        return InForce { pending, depends_on_grant: true, ..InForce::broken(before, why) };
    }
    let policy = Policy::from_tables(rules, opaque);
    let depends_on_grant = !pending.is_empty() || needs_grant(&policy);
    InForce { policy, held, pending, broken: None, depends_on_grant }
}

/// Returns the part of a rule that holds without a grant, and a description of the part that waits for one.
fn restricted(rule: &Rule) -> (Option<RuleTable>, Option<String>) {
    let mut table = rule.table.clone();
    if table.decide == Verdict::Allow {
        let waits = format!("allows {}", about(&table));
        return (None, Some(waits));
    }
    let mut waits = Vec::new();
    let (holds, other): (Vec<_>, Vec<_>) = rule.events().partition(|(_, waits_for_permission)| *waits_for_permission);
    if !other.is_empty() {
        let names: Vec<&str> = other.iter().map(|(name, _)| *name).collect();
        waits.push(format!("decides on {}", names.join(", ")));
        table.on = Words::Several(holds.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
    if table.decide == Verdict::Person {
        waits.push("asks a person".to_owned());
        if table.on.is_empty() {
            // The default of `ask` covers more events.
            table.on = Words::One("permission_request".to_owned());
        }
        table.decide = Verdict::Ask;
    }
    if table.context.take().is_some() {
        waits.push("adds to the agent's context".to_owned());
    }
    let waits = (!waits.is_empty()).then(|| waits.join(", "));
    if holds.is_empty() && !other.is_empty() { (None, waits) } else { (Some(table), waits) }
}

/// Returns true if any rule has an effect that requires a grant.
fn needs_grant(policy: &Policy) -> bool {
    policy.rules.iter().any(|rule| restricted(rule).0.as_ref() != Some(&rule.table))
}

/// Describes the subject of a rule with the rule's own terms.
fn about(table: &RuleTable) -> String {
    let words: Vec<String> = table.command.iter().chain(table.tool.iter()).map(|word| format!("`{word}`")).collect();
    if words.is_empty() { "all events that it is about".to_owned() } else { words.join(", ") }
}

impl InForce {
    /// Returns the previous policy, with the reason why the file is ignored.
    pub fn broken(before: &RuleRecord, why: String) -> InForce {
        InForce {
            policy: Policy::from_tables(before.rules.clone(), before.opaque),
            held: before.clone(),
            broken: Some(why),
            depends_on_grant: true,
            ..InForce::default()
        }
    }
}

#[cfg(test)]
mod tests;
