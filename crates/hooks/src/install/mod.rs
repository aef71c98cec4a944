//! What stands in an agent's files so that it runs `hob hook`: which events, how each fails, and in which form. Reading such
//! an entry back is [`installed`]. No file is touched here.
//!
//! A form that goes through a shell has the fail mode twice: `|| exit 2` and `|| exit 0` hold where hob is not there or was
//! killed, which most agents would take otherwise.

mod written;

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use self::written::{Form, Installed, installed, is_named_hob, is_ours, plugin_of};
use crate::agents::{Agent, CLAUDE_ON_FAILURE, Fail, Row, Verdict, Version};
use crate::event::{Kind, plain};
use crate::policy::Policy;

/// How long an agent may wait for a hook, in seconds: twice as long as `hob hook` takes at most by itself.
pub const WITHIN_S: u64 = 10;
/// The same in seconds, where a rule asks a person. Who stays away keeps no agent that long: where nobody is there to be asked,
/// the agent asks by itself at once.
pub const PERSON_S: u64 = 300;
/// By how many seconds `hob hook` answers before the agent's patience ends.
const BEFORE_S: u64 = 10;

/// The kinds that something besides rules uses: mail, late answers and where the work stands come with them.
const CONTEXT: &[Kind] = &[Kind::SessionStart, Kind::Prompt, Kind::ToolBefore, Kind::ToolAfter, Kind::TurnEnd];

/// Cursor's events of one tool, which come beside those of every tool and can say no more than they.
const BESIDE: &[&str] = &[
    "beforeReadFile",
    "beforeTabFileRead",
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "afterTabFileEdit",
];

/// Claude Code's events that versions before `onFailure` do not know, as 2.1.197 does not.
const NEW: &[&str] = &["DirectoryAdded", "PreModelSwitch", "PostModelSwitch"];

/// How the lists of an agent's file are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `hooks.EVENT` lists groups, and `hooks` of a group lists what is run.
    Groups,
    /// `hooks.EVENT` lists what is run, and the file has the version 1.
    Handlers,
    /// A program of its own in the agent's language.
    Plugin,
}

/// What is to be installed with an agent.
#[derive(Debug, Clone)]
pub struct Plan {
    pub agent: Agent,
    /// The program, as agents start it.
    pub program: String,
    /// The agent's version, if it is known.
    pub version: Option<Version>,
    pub fail: Fail,
    /// The events, and how each fails.
    pub events: Vec<(&'static Row, Fail)>,
    /// The events of these at which a rule asks a person.
    asks: Vec<&'static str>,
}

impl Agent {
    /// How its file is built.
    pub fn layout(self) -> Layout {
        match self {
            Agent::Claude | Agent::Codex | Agent::Gemini => Layout::Groups,
            Agent::Cursor | Agent::Copilot => Layout::Handlers,
            Agent::Opencode => Layout::Plugin,
        }
    }

    /// Returns true if an entry of this version has the agent's own switch against hooks that fail.
    pub fn has_switch(self, version: Option<Version>) -> bool {
        match self {
            Agent::Claude => version.is_some_and(|version| version >= CLAUDE_ON_FAILURE),
            Agent::Cursor | Agent::Opencode => true,
            Agent::Codex | Agent::Gemini | Agent::Copilot => false,
        }
    }
}

impl Plan {
    /// The plan for an agent under these policies. `all`: every event that it has.
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
            // At a terminal, Claude Code begins with a warning about events that it does not know.
            let is_known = agent != Agent::Claude || agent.has_switch(version) || !NEW.contains(&row.name);
            is_known && !is_twice && (all || is_used && !BESIDE.contains(&row.name) || is_named(policies, row))
        });
        let events: Vec<_> = rows.map(|row| (row, fail_of(row, fail, policies))).collect();
        let asks = events.iter().map(|(row, _)| *row);
        let asks = asks.filter(|row| is_in_rules(policies, row, |verdict| verdict == Verdict::Person));
        let asks = asks.map(|row| row.name).collect();
        Plan { agent, program, version, fail, events, asks }
    }

    /// The entries by event. None of an agent that takes a plugin.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        let events = if self.agent.layout() == Layout::Plugin { &[][..] } else { &self.events };
        events.iter().map(|(row, fail)| (row.name, self.entry(row, *fail))).collect()
    }

    /// The plugin's text, of an agent that takes one.
    pub fn plugin(&self) -> Option<String> {
        (self.agent.layout() == Layout::Plugin).then(|| {
            let names: Vec<&str> = self.events.iter().map(|(row, _)| row.name).collect();
            written::plugin(&self.program, self.fail, &names)
        })
    }

    fn entry(&self, row: &Row, fail: Fail) -> Value {
        let asks_person = self.asks.contains(&row.name);
        let args = written::args(self.agent, row.name, fail, asks_person);
        let within = if asks_person { PERSON_S } else { WITHIN_S };
        let closes = fail != Fail::Open && row.is_gate();
        let has_switch = self.agent.has_switch(self.version);
        let line = || written::line(&self.program, &args, closes);
        match self.agent {
            Agent::Claude => {
                let mut handler = match has_switch {
                    true => json!({"type": "command", "command": self.program, "args": args, "timeout": within}),
                    false => json!({"type": "command", "command": line(), "timeout": within}),
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

/// Names what is known of all agents: their events, what they make of hooks, and what is installed. What was measured with
/// real agents was measured with this.
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

/// What Codex (0.169) must have noted so that it runs hob's entries in a file of hooks: each one's key, and the hash of what a
/// person has reviewed.
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

/// Two spellings of an agent for what happens once.
fn is_same(one: &Row, other: &Row) -> bool {
    one.kind == other.kind && matches!(other.kind, Kind::Prompt | Kind::TurnEnd)
}

/// What fails closed keeps things from happening when hob is not there, so it is only what a rule forbids or asks about, and
/// tools.
fn fail_of(row: &Row, fail: Fail, policies: &[Policy]) -> Fail {
    let is_about_tools = matches!(row.kind, Kind::ToolBefore | Kind::PermissionRequest);
    let stops = |verdict| verdict >= Verdict::Ask;
    match row.is_gate() && (is_about_tools || is_in_rules(policies, row, stops)) {
        true => fail,
        false => Fail::Open,
    }
}

/// Returns true if a rule has its own name.
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
