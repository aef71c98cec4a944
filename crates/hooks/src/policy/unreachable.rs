//! Rules that no event can match: `hob policy check` reports them as mistakes. They stay in force, so that one such rule does
//! not invalidate the rest of a file.

use super::glob::glob;
use super::rule::Condition;
use super::rule::{On, Rule, ToolPattern};
use crate::agents::Agent;
use crate::event::{Kind, ToolKind, kind_of_tool};

/// Returns why no event can match a rule, with what to write instead.
pub(super) fn why_unreachable(rule: &Rule) -> Option<String> {
    let table = &rule.table;
    let is_about_tool = !rule.tools.is_empty() || !rule.commands.is_empty() || rule.paths.is_some();
    if is_about_tool && rule.on.iter().all(|on| !kinds(on).iter().any(|kind| has_tool(*kind))) {
        let names: Vec<&str> = table.on.iter().collect();
        return Some(format!(
            "no event of {} is about a tool, so `tool`, `command` and `path` never match: write on = \"tool_before\", \
             or leave `on` out",
            names.join(", ")
        ));
    }
    let agents = Agent::ALL
        .into_iter()
        .filter(|agent| table.agent.is_empty() || table.agent.iter().any(|name| glob(name, agent.name())));
    if !agents.clone().flat_map(|agent| agent.rows()).any(|row| rule.is_on(row)) {
        let names: Vec<&str> = agents.map(Agent::name).collect();
        return Some(format!("{} has no such event; write another event in `on`", names.join(", ")));
    }
    if !rule.tools.is_empty()
        && !rule.commands.is_empty()
        && rule
            .tools
            .iter()
            .all(|tool| never(tool, &[ToolKind::Read, ToolKind::Search, ToolKind::Fetch, ToolKind::Agent]))
    {
        return Some(
            "`command` never matches this `tool`, which runs no commands: write tool = \"shell\", or leave one of \
             them out"
                .to_owned(),
        );
    }
    if !rule.tools.is_empty()
        && rule.paths.is_some()
        && rule.tools.iter().all(|tool| never(tool, &[ToolKind::Fetch, ToolKind::Agent]))
    {
        return Some(
            "the condition `path` never matches this `tool`, which names no files: write tool = [\"read\", \"write\", \
             \"edit\"], or leave one of them out"
                .to_owned(),
        );
    }
    if let Some((name, kind)) = table.tool.iter().find_map(|name| Some((name, misspelled_kind(name)?))) {
        return Some(format!("unknown tool {name:?}: write tool = {:?}", kind.as_str()));
    }
    let command = table.command.iter().find_map(|pattern| {
        let word = pattern.split_whitespace().find(|word| word.contains(['|', ';', '"', '\'']) || word.ends_with('&'))?;
        Some(format!("the command {pattern:?} never matches, because no word of a command is {word:?}: write one program with its words, without quotes"))
    });
    command.or_else(|| path(table.when.get("path")?))
}

/// Returns the kind of tools that a name misspells: one letter is missing, added or changed.
fn misspelled_kind(name: &str) -> Option<ToolKind> {
    let is_known = kind_of_tool(name).is_some() || ToolKind::ALL.iter().any(|kind| kind.as_str() == name);
    let is_near = |kind: &str| {
        let start = kind.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let (kind, name) = (&kind.as_bytes()[start..], &name.as_bytes()[start..]);
        let (less_kind, less_name) = (kind.get(1..).unwrap_or_default(), name.get(1..).unwrap_or_default());
        less_kind == name || kind == less_name || less_kind == less_name
    };
    ToolKind::ALL.into_iter().find(|kind| !is_known && is_near(kind.as_str()))
}

/// Returns why a path pattern matches nothing.
fn path(condition: &Condition) -> Option<String> {
    let Condition::Words(words) = condition else { return None };
    words.iter().find_map(|pattern| {
        let path = pattern.strip_prefix('!').unwrap_or(pattern);
        let path = path.strip_prefix("./").unwrap_or(path);
        let instead = match path {
            _ if path.starts_with("~/") => "write the whole path of your home directory".to_owned(),
            _ if path.ends_with('/') => format!("write \"{path}**\""),
            _ if path.split('/').any(|part| part == "." || part == "..") || path.contains("//") => {
                "write it without `.`, `..` and empty parts".to_owned()
            }
            _ => return None,
        };
        Some(format!("the path {pattern:?} never matches: {instead}"))
    })
}

/// Returns the kinds of the events that a rule names.
fn kinds(on: &On) -> Vec<Kind> {
    match on {
        On::Kind(kind) => vec![*kind],
        On::Name(name) => Agent::ALL.iter().filter_map(|agent| agent.row(name)).map(|row| row.kind).collect(),
    }
}

fn has_tool(kind: Kind) -> bool {
    matches!(kind, Kind::ToolBefore | Kind::ToolAfter | Kind::ToolFailed | Kind::PermissionRequest)
}

/// Returns true if every tool of a pattern is of one of these kinds.
fn never(pattern: &ToolPattern, kinds: &[ToolKind]) -> bool {
    match pattern {
        ToolPattern::Kind(kind) => kinds.contains(kind),
        ToolPattern::Mcp(..) => false,
        ToolPattern::Native(name) => kind_of_tool(name).is_some_and(|kind| kinds.contains(&kind)),
    }
}
