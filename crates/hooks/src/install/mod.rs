//! The entries in agents' files that run `hob hook`: their events, fail modes and formats. [`installed`] reads them back. This
//! module touches no files.
//!
//! An entry that runs in a shell states the fail mode twice. `|| exit 2` or `|| exit 0` takes effect if hob is missing or was
//! killed, because most agents would treat that differently.

mod entries;

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use self::entries::{Form, Installed, installed, is_named_hob, is_ours, plugin_of};
use crate::agents::{Agent, CLAUDE_ON_FAILURE, Fail, Row, Verdict, Version};
use crate::event::{Kind, plain};
use crate::policy::Policy;

/// The timeout of a hook in seconds: twice the maximum duration of `hob hook` without questions.
pub const WITHIN_S: u64 = 10;
/// The timeout in seconds if a rule asks a person. An agent rarely waits that long: if no person is available, it shows its own
/// prompt at once.
pub const PERSON_S: u64 = 300;
/// The number of seconds before the agent's timeout at which `hob hook` answers.
const BEFORE_S: u64 = 10;

/// The kinds that are used without rules: they deliver mail, late answers and the state of the work.
const CONTEXT: &[Kind] = &[Kind::SessionStart, Kind::Prompt, Kind::ToolBefore, Kind::ToolAfter, Kind::TurnEnd];

/// Cursor's events for single tools. They duplicate the event for all tools and support no other answers.
const BESIDE: &[&str] = &[
    "beforeReadFile",
    "beforeTabFileRead",
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "afterTabFileEdit",
];

/// Claude Code's events that are unknown to versions before `onFailure`, such as 2.1.197.
const NEW: &[&str] = &["DirectoryAdded", "PreModelSwitch", "PostModelSwitch"];

/// The format of an agent's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `hooks.EVENT` is a list of groups, and `hooks` of a group is a list of handlers.
    Groups,
    /// `hooks.EVENT` is a list of handlers, and the file has version 1.
    Handlers,
    /// A separate program in the agent's language.
    Plugin,
}

/// The entries to install for an agent.
#[derive(Debug, Clone)]
pub struct Plan {
    pub agent: Agent,
    /// The program in the form in which agents start it.
    pub program: String,
    /// The agent's version, if known.
    pub version: Option<Version>,
    pub fail: Fail,
    /// The events with their fail modes.
    pub events: Vec<(&'static Row, Fail)>,
    /// The events at which a rule asks a person.
    asks: Vec<&'static str>,
}

impl Agent {
    /// Returns the format of the agent's file.
    pub fn layout(self) -> Layout {
        match self {
            Agent::Claude | Agent::Codex | Agent::Gemini => Layout::Groups,
            Agent::Cursor | Agent::Copilot => Layout::Handlers,
            Agent::Opencode => Layout::Plugin,
        }
    }

    /// Returns true if entries for this version can use the agent's own option for failing hooks.
    pub fn has_switch(self, version: Option<Version>) -> bool {
        match self {
            Agent::Claude => version.is_some_and(|version| version >= CLAUDE_ON_FAILURE),
            Agent::Cursor | Agent::Opencode => true,
            Agent::Codex | Agent::Gemini | Agent::Copilot => false,
        }
    }
}

impl Plan {
    /// Creates the plan for an agent under these policies. With `all`, it includes every event.
    pub fn new(
        agent: Agent,
        program: String,
        version: Option<Version>,
        fail: Fail,
        policies: &[Policy],
        all: bool,
    ) -> Plan {
        let rows = agent.rows().iter().filter(|row| {
            let mut before = agent.rows().iter().take_while(|other| other.name != row.name);
            let is_twice = before.any(|other| is_same(other, row));
            let is_used = CONTEXT.contains(&row.kind) || is_in_rules(policies, row, |_| true);
            // In a terminal, Claude Code shows a warning at startup about unknown events.
            let is_known = agent != Agent::Claude || agent.has_switch(version) || !NEW.contains(&row.name);
            is_known && !is_twice && (all || is_used && !BESIDE.contains(&row.name) || is_named(policies, row))
        });
        let events: Vec<_> = rows.map(|row| (row, fail_of(row, fail, policies))).collect();
        let asks = events.iter().map(|(row, _)| *row);
        let asks = asks.filter(|row| is_in_rules(policies, row, |verdict| verdict == Verdict::Person));
        let asks = asks.map(|row| row.name).collect();
        Plan { agent, program, version, fail, events, asks }
    }

    /// Returns the entries by event; empty for an agent that takes a plugin.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        let events = if self.agent.layout() == Layout::Plugin { &[][..] } else { &self.events };
        events.iter().map(|(row, fail)| (row.name, self.entry(row, *fail))).collect()
    }

    /// Returns the plugin's text, if the agent takes one.
    pub fn plugin(&self) -> Option<String> {
        (self.agent.layout() == Layout::Plugin).then(|| {
            let names: Vec<&str> = self.events.iter().map(|(row, _)| row.name).collect();
            entries::plugin(&self.program, self.fail, &names)
        })
    }

    fn entry(&self, row: &Row, fail: Fail) -> Value {
        let asks_person = self.asks.contains(&row.name);
        let args = entries::args(self.agent, row.name, fail, asks_person);
        let within = if asks_person { PERSON_S } else { WITHIN_S };
        let closes = fail != Fail::Open && row.is_gate();
        let has_switch = self.agent.has_switch(self.version);
        let line = || entries::line(&self.program, &args, closes);
        match self.agent {
            Agent::Claude => {
                let mut handler = if has_switch {
                    json!({"type": "command", "command": self.program, "args": args, "timeout": within})
                } else {
                    json!({"type": "command", "command": line(), "timeout": within})
                };
                if has_switch && closes {
                    handler["onFailure"] = json!("block");
                }
                json!({"hooks": [handler]})
            }
            Agent::Codex => json!({"hooks": [{"type": "command", "command": line(), "timeout": within}]}),
            Agent::Gemini => {
                let timeout_ms = within * 1000;
                json!({"hooks": [{"type": "command", "name": "hob", "command": line(), "timeout": timeout_ms}]})
            }
            Agent::Cursor => {
                let mut handler = json!({"command": line(), "timeout": within});
                if closes {
                    handler["failClosed"] = json!(true);
                }
                handler
            }
            Agent::Copilot => json!({"type": "command", "bash": line(), "timeoutSec": within}),
            Agent::Opencode => Value::Null,
        }
    }
}

/// Returns a hash of the tables of all agents: their events, their reactions to hooks, and the installed entries. It identifies
/// the tables of a measurement with real agents.
pub fn tables() -> String {
    let mut all = String::new();
    for agent in Agent::ALL {
        let _ = writeln!(all, "{agent:?} {:?}", agent.rows());
        for version in [None, Some(CLAUDE_ON_FAILURE)] {
            for fail in [Fail::Open, Fail::Ask, Fail::Closed] {
                let plan = Plan::new(agent, "hob".to_owned(), version, fail, &[], true);
                let reaction = agent.reaction(version, plan.agent.has_switch(version) && fail != Fail::Open);
                let _ = writeln!(all, "{reaction:?} {:?} {:?}", plan.entries(), plan.plugin());
            }
        }
    }
    hex::encode(&Sha256::digest(all)[..8])
}

/// Returns the reviews that Codex (0.169) must have recorded to run hob's entries in a file of hooks: the key of each entry, and
/// the hash of the reviewed text.
pub fn codex_reviews(path: &str, file: &Value) -> Vec<(String, String)> {
    let mut reviews = Vec::new();
    for (event, groups) in file["hooks"].as_object().into_iter().flatten() {
        let mut name = String::new();
        for c in event.chars() {
            if c.is_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.extend(c.to_lowercase());
        }
        for (at, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (nth, handler) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                if !is_ours(Agent::Codex, handler) {
                    continue;
                }
                let matcher = group.get("matcher").filter(|matcher| matcher.is_string());
                let matcher = matcher.map(|matcher| format!(",\"matcher\":{matcher}")).unwrap_or_default();
                let timeout = handler.get("timeout").map(|time| format!("\"timeout\":{time},")).unwrap_or_default();
                let reviewed = format!(
                    r#"{{"event_name":"{name}","hooks":[{{"async":false,"command":{},{timeout}"type":"command"}}]{matcher}}}"#,
                    handler["command"]
                );
                let hash = hex::encode(Sha256::digest(reviewed));
                reviews.push((format!("{path}:{name}:{at}:{nth}"), format!("sha256:{hash}")));
            }
        }
    }
    reviews
}

/// Returns true if two names of an agent denote the same event.
fn is_same(one: &Row, other: &Row) -> bool {
    one.kind == other.kind && matches!(other.kind, Kind::Prompt | Kind::TurnEnd)
}

/// Returns the fail mode of an event. Failing closed blocks actions while hob is unavailable, so it is limited to tools and to
/// events at which a rule denies or asks.
fn fail_of(row: &Row, fail: Fail, policies: &[Policy]) -> Fail {
    let is_about_tools = matches!(row.kind, Kind::ToolBefore | Kind::PermissionRequest);
    let stops = |verdict| verdict >= Verdict::Ask;
    if row.is_gate() && (is_about_tools || is_in_rules(policies, row, stops)) { fail } else { Fail::Open }
}

/// Returns true if a rule names the event directly.
fn is_named(policies: &[Policy], row: &Row) -> bool {
    let mut names = policies.iter().flat_map(|policy| &policy.rules).flat_map(|rule| rule.table.on.iter());
    names.any(|name| plain(name) == plain(row.name))
}

fn is_in_rules(policies: &[Policy], row: &Row, decides: impl Fn(Verdict) -> bool) -> bool {
    let rules = policies.iter().flat_map(|policy| &policy.rules);
    rules.into_iter().any(|rule| decides(rule.table.decide) && rule.is_on(row))
}

#[cfg(test)]
mod tests;
