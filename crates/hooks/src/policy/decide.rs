//! The decision on an event, a pure function. The strictest of all matching rules decides: deny, person, ask, allow, pass.
//! The first rule of that strength gives the reason, so the order of rules changes only reasons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::access::{self, Mode};
use super::cause::Cause;
use super::code;
use super::glob::glob;
use super::pattern::Match;
use super::rule::{Condition, On, Opaque, Policy, Rule, ToolPattern, is_among};
use super::shell::Simple;
use super::subject::{NamedPath, Opened, Subject};
use crate::agents::Verdict;
use crate::event::{Event, ToolKind, plain};

/// The facts from other parts, by the name of the condition (`work.branch`).
pub type Facts = BTreeMap<String, String>;

/// The decision on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The deciding rule, if any.
    pub rule: Option<String>,
    /// The reason for the model and its user. Empty for a pass.
    pub reason: String,
    /// The rules that match or may match, in order.
    pub matched: Vec<Matched>,
    /// The context that rules add for the model.
    pub context: Vec<String>,
}

/// A rule that matches an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    pub rule: String,
    pub decides: Verdict,
    /// True if the match is known only at run time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maybe: bool,
    /// The matched command or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Decides on an event by the rules of all policies.
pub fn decide(policies: &[Policy], event: &Event, subject: &Subject, facts: &Facts) -> Decision {
    let mut decision = Decision {
        verdict: Verdict::Pass,
        rule: None,
        reason: String::new(),
        matched: Vec::new(),
        context: Vec::new(),
    };
    for policy in policies {
        for rule in &policy.rules {
            if !is_applicable(rule, event, facts) {
                continue;
            }
            let (mut found, mut by) = rule_matches(rule, event, subject);
            if let Some(tool) = &event.tool {
                let of_code = code::matches(rule, tool, subject);
                if of_code.0 > found {
                    (found, by) = of_code;
                }
            }
            let table = &rule.table;
            let decides = match (found, table.decide) {
                (Match::No, _) => continue,
                (Match::Yes, decides) => decides,
                // An uncertain match never allows.
                (Match::Maybe, Verdict::Pass | Verdict::Allow) => continue,
                (Match::Maybe, decides) => match policy.opaque {
                    Opaque::Pass => Verdict::Pass,
                    Opaque::Ask => Verdict::Ask,
                    // An uncertain match is never stricter than the rule itself.
                    Opaque::Deny => decides,
                },
            };
            let is_maybe = found == Match::Maybe;
            if decides > decision.verdict {
                decision.verdict = decides;
                decision.rule = Some(table.id.clone());
                decision.reason = reason(rule, is_maybe, by.as_ref());
            }
            let by = by.map(|by| by.to_string());
            decision.matched.push(Matched { rule: table.id.clone(), decides, maybe: is_maybe, by });
            if !is_maybe {
                decision.context.extend(table.context.clone());
            }
        }
    }
    decision
}

fn reason(rule: &Rule, is_maybe: bool, by: Option<&Cause>) -> String {
    let id = &rule.table.id;
    let told = rule.table.reason.as_deref();
    match by {
        Some(by) if is_maybe => {
            let told = told.map(|told| format!(" ({told})")).unwrap_or_default();
            format!("{}{told}", by.explain(id))
        }
        _ => format!("{} (rule {id} of the project's policy)", told.unwrap_or("the policy of this project")),
    }
}

/// Returns true if a rule applies to an event of this agent under these facts.
fn is_applicable(rule: &Rule, event: &Event, facts: &Facts) -> bool {
    let is_on = rule.on.iter().any(|on| match on {
        On::Kind(kind) => *kind == event.kind,
        On::Name(name) => *name == plain(&event.name),
    });
    let agents = &rule.table.agent;
    if !is_on || !agents.is_empty() && !agents.iter().any(|agent| glob(agent, event.agent)) {
        return false;
    }
    rule.table.when.iter().all(|(name, condition)| match (name.as_str(), condition) {
        ("path", _) => true,
        ("subagent", Condition::Is(is)) => event.subagent.is_some() == *is,
        ("mode", Condition::Words(words)) => {
            event.mode.as_ref().is_some_and(|mode| words.iter().any(|word| glob(word, mode)))
        }
        (fact, Condition::Words(words)) => {
            facts.get(fact).is_some_and(|known| words.iter().any(|word| glob(word, known)))
        }
        _ => false,
    })
}

/// Matches a rule against an event, and returns the cause of the match.
fn rule_matches(rule: &Rule, event: &Event, subject: &Subject) -> (Match, Option<Cause>) {
    const NO: (Match, Option<Cause>) = (Match::No, None);
    // Definitions persist in a session: a command there is never allowed by its name.
    let is_session = event.tool.as_ref().is_some_and(|tool| tool.kind != ToolKind::Shell);
    if is_session && rule.table.decide == Verdict::Allow && !rule.commands.is_empty() {
        return NO;
    }
    let of_tool = tool_matches(rule, event, subject);
    let allows = rule.table.decide == Verdict::Allow;
    // A rule about another tool never allows a shell's effects on files.
    if of_tool == OfTool::No || of_tool == OfTool::ByEffect && allows {
        return NO;
    }
    let by_path = path_matches(rule, subject, &of_tool, allows);
    if by_path.0 == Match::No {
        return NO;
    }
    if rule.commands.is_empty() {
        return by_path;
    }
    let Some(script) = &subject.script else { return NO };
    let best = |simple| rule.commands.iter().map(|pattern| pattern.matches(simple)).max().unwrap_or(Match::No);
    // An `allow` must cover the whole event.
    if allows {
        let is_all = script.opaque.is_none()
            && !script.commands.is_empty()
            && !script.has_assignments
            && !script.has_functions
            && script.commands.iter().all(|simple| rule.commands.iter().any(|pattern| pattern.covers(simple)))
            && !subject.writes;
        return if is_all { by_path } else { NO };
    }
    let mut found = (Match::No, None);
    for simple in &script.commands {
        let is_it = best(simple);
        if is_it > found.0 {
            found = (is_it, Some(Cause::Text(simple.render())));
        }
    }
    if found.0 == Match::No && script.opaque.is_some() {
        found = (Match::Maybe, script.opaque.map(|why| Cause::Unclear(why.to_owned())));
    }
    match (found, by_path) {
        ((Match::Yes, by), (Match::Yes, _)) => (Match::Yes, by),
        ((Match::No, _), _) => NO,
        ((_, by), _) => (Match::Maybe, by),
    }
}

#[derive(PartialEq, Eq)]
enum OfTool {
    No,
    Yes,
    /// A shell opens files, as the rule's tool does.
    ByEffect,
}

fn tool_matches(rule: &Rule, event: &Event, subject: &Subject) -> OfTool {
    let is_about_tool = !rule.tools.is_empty() || !rule.commands.is_empty() || rule.paths.is_some();
    let Some(tool) = &event.tool else { return if is_about_tool { OfTool::No } else { OfTool::Yes } };
    if rule.tools.is_empty() {
        return OfTool::Yes;
    }
    let is_it = rule.tools.iter().any(|pattern| match pattern {
        ToolPattern::Kind(ToolKind::Shell) if rule.table.decide >= Verdict::Ask => tool.is_shell(),
        ToolPattern::Kind(kind) => *kind == tool.kind,
        ToolPattern::Mcp(server, name) => {
            tool.mcp.as_ref().is_some_and(|(of, called)| glob(server, of) && glob(name, called))
        }
        ToolPattern::Native(name) => glob(name, &tool.native),
    });
    let opens = |kind: &ToolKind| *kind == ToolKind::Read && rule.paths.is_some() || kind.changes_files();
    let is_about_files = rule.tools.iter().any(|pattern| matches!(pattern, ToolPattern::Kind(kind) if opens(kind)));
    let has_effect = tool.is_shell() && (subject.writes || rule.paths.is_some());
    match (is_it, is_about_files && has_effect) {
        (true, _) => OfTool::Yes,
        (false, true) => OfTool::ByEffect,
        (false, false) => OfTool::No,
    }
}

/// Matches the files of an event against a rule, and returns the matching file.
fn path_matches(rule: &Rule, subject: &Subject, of_tool: &OfTool, allows: bool) -> (Match, Option<Cause>) {
    let Some(globs) = &rule.paths else { return (Match::Yes, None) };
    let is_among = |place: &NamedPath| is_among(globs, &place.named) || is_among(globs, &place.leads_to);
    let mut named = subject.paths.iter();
    // A rule must allow all files of a tool.
    let found = if allows {
        named.next().filter(|_| subject.paths.iter().all(is_among))
    } else {
        named.find(|place| is_among(place))
    };
    if let Some(place) = found {
        return (Match::Yes, Some(Cause::Text(place.named.display().to_string())));
    }
    let Some(script) = &subject.script else { return (Match::No, None) };
    let has_kind = |kinds: &[ToolKind]| {
        rule.tools.iter().any(|pattern| matches!(pattern, ToolPattern::Kind(kind) if kinds.contains(kind)))
    };
    let is_any = *of_tool == OfTool::Yes;
    let (reads, writes) =
        (is_any || has_kind(&[ToolKind::Read]), is_any || has_kind(&[ToolKind::Write, ToolKind::Edit]));
    let patterns: Vec<&str> = match rule.table.when.get("path") {
        Some(Condition::Words(words)) => words.iter().filter(|word| !word.starts_with('!')).collect(),
        _ => Vec::new(),
    };
    let level = |opened: &Opened| {
        let certain = match opened.access.mode {
            Mode::Read if !reads => Match::No,
            Mode::Write if !writes => Match::No,
            // An argument of an unknown program hardly names a file outside the given directories.
            Mode::Unknown if patterns.is_empty() => Match::No,
            Mode::Unknown if !reads => Match::Maybe,
            _ if opened.access.is_certain => Match::Yes,
            _ => Match::Maybe,
        };
        let is_it = if access::is_open(&opened.access.path) {
            let names = [&opened.place.named, &opened.place.leads_to];
            let may_be = |pattern: &&str| names.iter().any(|path| access::may_be(pattern, &path.to_string_lossy()));
            if patterns.is_empty() || patterns.iter().any(may_be) { Match::Maybe } else { Match::No }
        } else if is_among(&opened.place) {
            Match::Yes
        } else {
            Match::No
        };
        certain.min(is_it)
    };
    let levels = || subject.opened.iter().map(|opened| (level(opened), opened));
    if allows {
        let is_all =
            script.opaque.is_none() && !subject.opened.is_empty() && levels().all(|(level, _)| level == Match::Yes);
        return (if is_all { Match::Yes } else { Match::No }, None);
    }
    let mut best = (Match::No, None);
    for (level, opened) in levels() {
        if level > best.0 {
            let path =
                || opened.place.named.display().to_string().replace(access::GLOB, "*").replace(access::HOLE, "…");
            let command = opened.access.command.and_then(|index| script.commands.get(index));
            best = (level, Some(Cause::Text(command.map_or_else(path, Simple::render))));
        }
    }
    if best.0 == Match::No && script.opaque.is_some() {
        best = (Match::Maybe, script.opaque.map(|why| Cause::Unclear(why.to_owned())));
    }
    best
}
