//! The checked rules of a file. A meaningless rule is an error with its line. A file takes effect as a whole or not at all.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::FACTS;
use super::pattern::Pattern;
use super::unreachable::why_unreachable;
use crate::agents::{Agent, Row, Verdict};
use crate::event::{Kind, ToolKind, plain};

/// A checked policy file.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub rules: Vec<Rule>,
    /// The verdict for shell text that a rule may forbid, if that is known only at run time.
    pub opaque: Opaque,
    /// The rules that no event can match, with the reason.
    pub unreachable: Vec<PolicyError>,
}

/// A checked rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The rule as it is written in the file.
    pub table: RuleTable,
    pub(super) on: Vec<On>,
    pub(super) tools: Vec<ToolPattern>,
    pub(super) commands: Vec<Pattern>,
    /// The globs that a path must match, and those that it must not match.
    pub(super) paths: Option<(Vec<GlobMatcher>, Vec<GlobMatcher>)>,
}

/// The events that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum On {
    Kind(Kind),
    /// The agent's own name of an event, normalized.
    Name(String),
}

impl On {
    /// Returns true if the agent waits for a permission at an event of that name or kind.
    fn waits_for_permission(&self) -> bool {
        let is_one = |kind: Kind| matches!(kind, Kind::ToolBefore | Kind::PermissionRequest);
        match self {
            On::Kind(kind) => is_one(*kind),
            On::Name(name) => Agent::ALL.iter().filter_map(|agent| agent.row(name)).all(|row| is_one(row.kind)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolPattern {
    Kind(ToolKind),
    /// `server/tool` of MCP.
    Mcp(String, String),
    Native(String),
}

/// A rule as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    pub id: String,
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub on: Words,
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub agent: Words,
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub tool: Words,
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub command: Words,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Condition>,
    pub decide: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// One word or a list of words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
pub enum Words {
    One(String),
    Several(Vec<String>),
    #[default]
    #[serde(skip)]
    None,
}

/// The value of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false, a string or a list of strings")]
pub enum Condition {
    Is(bool),
    Words(Words),
}

/// The verdict for an undecidable match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opaque {
    Pass,
    #[default]
    Ask,
    Deny,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    opaque: Opaque,
    #[serde(default)]
    rule: Vec<toml::Spanned<RuleTable>>,
}

/// A mistake in a policy file: its line, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The kinds of events at which an agent waits for the permission to use a tool.
const PERMISSION_EVENTS: [&str; 2] = ["tool_before", "permission_request"];
/// The maximum number of rules in a file.
const RULES_MAX: usize = 2000;

impl Words {
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let words = match self {
            Words::One(word) => std::slice::from_ref(word),
            Words::Several(words) => words.as_slice(),
            Words::None => &[],
        };
        words.iter().map(String::as_str)
    }
}

impl Policy {
    /// Parses and checks a file's text.
    ///
    /// # Errors
    /// The first mistake with its line and the fix.
    pub fn parse(text: &str) -> Result<Policy, PolicyError> {
        let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let document: Document = toml::from_str(text).map_err(|error| PolicyError {
            line: line_of(error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        let mut ids = HashSet::new();
        let (mut rules, mut unreachable) = (Vec::new(), Vec::new());
        for spanned in document.rule {
            let line = line_of(spanned.span().start);
            let table = spanned.into_inner();
            let wrong = |message: String| PolicyError { line, message };
            if !ids.insert(table.id.clone()) {
                return Err(wrong(format!("duplicate id {:?}: choose another one", table.id)));
            }
            let rule = Rule::check(table).map_err(wrong)?;
            let why = why_unreachable(&rule).map(|why| format!("rule {}: {why}", rule.table.id));
            unreachable.extend(why.map(|message| PolicyError { line, message }));
            rules.push(rule);
            if rules.len() > RULES_MAX {
                return Err(wrong(format!("there are more than {RULES_MAX} rules, the maximum")));
            }
        }
        Ok(Policy { rules, opaque: document.opaque, unreachable })
    }

    /// Builds a policy from rules that were checked before.
    pub(crate) fn from_tables(tables: Vec<RuleTable>, opaque: Opaque) -> Policy {
        Policy {
            rules: tables.into_iter().filter_map(|table| Rule::check(table).ok()).collect(),
            opaque,
            ..Policy::default()
        }
    }

    /// Returns true if any rule prevents something.
    pub fn denies(&self) -> bool {
        self.rules.iter().any(|rule| rule.table.decide == Verdict::Deny)
    }

    /// Returns the verdict on an event that cannot be decided in time. It is the verdict for undecidable matches if a rule denies
    /// or asks at this event.
    pub(crate) fn undecided(&self, row: Option<&Row>) -> Verdict {
        let decides =
            self.rules.iter().filter(|rule| row.is_none_or(|row| rule.is_on(row))).map(|rule| rule.table.decide);
        match (decides.max().unwrap_or(Verdict::Pass), self.opaque) {
            (Verdict::Pass | Verdict::Allow, _) | (_, Opaque::Pass) => Verdict::Pass,
            (_, Opaque::Ask) => Verdict::Ask,
            (decides, Opaque::Deny) => decides,
        }
    }

    /// Adds a rule that decides on every use of a tool.
    pub(crate) fn decide_on_all_tools(&mut self, id: &str, decide: Verdict, reason: String) {
        let on = Words::Several(PERMISSION_EVENTS.iter().map(|name| (*name).to_owned()).collect());
        let table = RuleTable { id: id.to_owned(), on, decide, reason: Some(reason), ..RuleTable::default() };
        self.rules.extend(Rule::check(table));
    }
}

impl RuleTable {
    /// Returns the rule's effect as a text. Rules that differ only in their ids and reasons have the same effect.
    pub(super) fn effect(&self) -> String {
        let mut on: Vec<&str> = self.on.iter().collect();
        if on.is_empty() {
            on = PERMISSION_EVENTS.to_vec();
            if self.decide == Verdict::Person {
                on = vec![Kind::PermissionRequest.as_str()];
            }
        }
        format!("{on:?} {:?} {:?} {:?} {:?}", list(&self.agent), list(&self.tool), list(&self.command), self.when)
    }
}

fn list(words: &Words) -> Vec<&str> {
    words.iter().collect()
}

impl Rule {
    /// Returns true if the rule is about an agent's event.
    pub fn is_on(&self, row: &Row) -> bool {
        self.on.iter().any(|on| match on {
            On::Kind(kind) => *kind == row.kind,
            On::Name(name) => *name == plain(row.name),
        })
    }

    /// Returns the names of its events, each with whether an agent waits there for a permission.
    pub(super) fn events(&self) -> impl Iterator<Item = (&str, bool)> {
        self.table.on.iter().zip(&self.on).map(|(name, on)| (name, on.waits_for_permission()))
    }

    fn check(table: RuleTable) -> Result<Rule, String> {
        let id = &table.id;
        if id.is_empty() || id.len() > 80 || !id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            return Err(format!("invalid id {id:?}: use 1 to 80 letters, digits, `-`, `_` and `.`"));
        }
        let in_rule = |what: String| format!("rule {id}: {what}");
        let is_about_tool = !table.tool.is_empty() || !table.command.is_empty() || table.when.contains_key("path");
        let mut on: Vec<On> = Vec::new();
        for name in table.on.iter() {
            on.push(match Kind::named(name) {
                Some(kind) => On::Kind(kind),
                None if Agent::ALL.iter().any(|agent| agent.row(name).is_some()) => On::Name(plain(name)),
                None => {
                    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
                    return Err(in_rule(format!(
                        "unknown event {name:?}; write one of {}, or an agent's own name such as PreToolUse",
                        kinds.join(", ")
                    )));
                }
            });
        }
        if on.is_empty() {
            if !is_about_tool {
                return Err(in_rule("`on` is missing: name the events".to_owned()));
            }
            on = vec![On::Kind(Kind::ToolBefore), On::Kind(Kind::PermissionRequest)];
            if table.decide == Verdict::Person {
                // `ask` holds where the agent itself would ask. Before the tool, the agent does not know yet whether it would.
                on = vec![On::Kind(Kind::PermissionRequest)];
            }
        }
        if table.decide == Verdict::Person
            && let Some(on) = on.iter().find(|on| !on.waits_for_permission())
        {
            let name = match on {
                On::Kind(kind) => kind.as_str(),
                On::Name(name) => name,
            };
            return Err(in_rule(format!(
                "a person can decide only on permission_request and tool_before, not on {name}: write `deny`, or \
                 another `on`"
            )));
        }
        if let Some(name) = table.agent.iter().find(|name| !name.contains('*') && Agent::named(name).is_none()) {
            let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
            return Err(in_rule(format!("unknown agent {name:?}; available: {}", names.join(", "))));
        }
        let tools = table.tool.iter().map(|name| match ToolKind::ALL.iter().find(|kind| kind.as_str() == name) {
            Some(kind) => ToolPattern::Kind(*kind),
            None => match name.split_once('/') {
                Some((server, tool)) => ToolPattern::Mcp(server.to_owned(), tool.to_owned()),
                None => ToolPattern::Native(name.to_owned()),
            },
        });
        let tools = tools.collect();
        let patterns = table.command.iter().map(|pattern| {
            Pattern::parse(pattern)
                .map_err(|why| in_rule(format!("the command {pattern:?} is not a valid pattern: {why}")))
        });
        let commands = patterns.collect::<Result<Vec<_>, _>>()?;
        let paths = paths(&table).map_err(in_rule)?;
        for (name, condition) in &table.when {
            let is_right = match (name.as_str(), condition) {
                ("path" | "mode", Condition::Words(words)) => !words.is_empty(),
                ("subagent", Condition::Is(_)) => true,
                (fact, Condition::Words(words)) if FACTS.contains(&fact) => !words.is_empty(),
                ("path" | "mode" | "subagent", _) => false,
                (fact, _) if FACTS.contains(&fact) => false,
                _ => {
                    return Err(in_rule(format!(
                        "unknown condition {name:?}; available: path, mode, subagent, {}",
                        quoted(FACTS)
                    )));
                }
            };
            if !is_right {
                return Err(in_rule(format!("the condition {name:?} has a value of the wrong type")));
            }
        }
        Ok(Rule { on, tools, commands, paths, table })
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

type Globs = (Vec<GlobMatcher>, Vec<GlobMatcher>);

fn paths(table: &RuleTable) -> Result<Option<Globs>, String> {
    let Some(Condition::Words(words)) = table.when.get("path") else { return Ok(None) };
    let (mut must, mut must_not) = (Vec::new(), Vec::new());
    for pattern in words.iter() {
        let (text, list) = match pattern.strip_prefix('!') {
            Some(text) => (text, &mut must_not),
            None => (pattern, &mut must),
        };
        let glob = GlobBuilder::new(text.strip_prefix("./").unwrap_or(text)).literal_separator(true).build();
        list.push(
            glob.map_err(|error| format!("the path {pattern:?} is not a valid pattern: {error}"))?.compile_matcher(),
        );
    }
    Ok(Some((must, must_not)))
}

/// Returns true if a path matches.
pub(super) fn is_among((must, must_not): &Globs, path: &Path) -> bool {
    let any = |globs: &[GlobMatcher]| globs.iter().any(|glob| glob.is_match(path));
    (must.is_empty() || any(must)) && !any(must_not)
}
