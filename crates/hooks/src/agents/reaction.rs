//! What an agent makes of what a hook before a tool did: measured with real agents where there is a package of them, and by
//! their documentation for the rest (Cursor). `cargo xtask clients agents` compares it with what they do.

use serde::Serialize;
use serde_json::Value;

use super::Agent;

/// What came of a hook that was run before a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// Exit status 0, and nothing was said.
    Nothing,
    Denied,
    Asked,
    Allowed,
    /// Exit status 0, and a text that is no answer.
    Text,
    /// Another exit status, or a signal.
    Failed,
    /// It could not be started.
    Missing,
    /// It did not end in the time of its entry.
    TooLate,
}

/// What becomes of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Runs,
    /// The agent asks its user; without one the tool does not run.
    Asks,
    Blocked,
    /// The agent waits for a user who is not there.
    Hangs,
}

/// How an agent takes what is no plain answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaction {
    pub asked: Effect,
    pub text: Effect,
    pub failed: Effect,
    pub missing: Effect,
    pub too_late: Effect,
}

/// Three numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u64; 3]);

/// From this version on, Claude Code's entries take `onFailure`; earlier ones ignore it without a word.
pub const CLAUDE_ON_FAILURE: Version = Version([2, 1, 295]);

use Effect::{Asks, Blocked, Hangs, Runs};

const OPEN: Reaction = Reaction { asked: Asks, text: Runs, failed: Runs, missing: Runs, too_late: Runs };
const CLOSED: Reaction = Reaction { failed: Blocked, missing: Blocked, too_late: Blocked, ..OPEN };

impl Version {
    /// The version in what a program says of itself: `2.1.331 (Claude Code)`, `codex-cli 0.169.0`.
    pub fn of(text: &str) -> Option<Version> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.trim_start_matches('v').splitn(3, '.');
            let mut next = || {
                let part = numbers.next()?;
                let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
                digits.parse().ok()
            };
            Some(Version([next()?, next()?, next()?]))
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Came {
    /// In words, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Came::Nothing => "said nothing",
            Came::Denied => "denied",
            Came::Asked => "asked",
            Came::Allowed => "allowed",
            Came::Text => "printed what is no answer",
            Came::Failed => "failed",
            Came::Missing => "was not started",
            Came::TooLate => "took too long",
        }
    }

    /// What an agent reads in the output and the exit status of a hook; `None` for one that was ended by a signal.
    pub fn of(stdout: &[u8], exit: Option<i32>) -> Came {
        let said = String::from_utf8_lossy(stdout);
        let is_json = said.trim_start().starts_with('{');
        match exit {
            Some(2) => return Came::Denied,
            Some(0) if said.trim().is_empty() => return Came::Nothing,
            Some(0) if !is_json => return Came::Text,
            // A shell that found no program.
            Some(126 | 127) => return Came::Missing,
            Some(0) => {}
            _ => return Came::Failed,
        }
        let Ok(said) = serde_json::from_str::<Value>(&said) else { return Came::Text };
        let own = &said["hookSpecificOutput"];
        let words = [
            &own["permissionDecision"],
            &own["decision"]["behavior"],
            &said["permissionDecision"],
            &said["permission"],
            &said["behavior"],
            &said["decision"],
        ];
        match words.into_iter().find_map(Value::as_str) {
            Some("deny" | "block") => Came::Denied,
            Some("ask") => Came::Asked,
            Some("allow") => Came::Allowed,
            _ => Came::Nothing,
        }
    }
}

impl Effect {
    /// In words, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Runs => "runs",
            Effect::Asks => "asks",
            Effect::Blocked => "blocked",
            Effect::Hangs => "hangs",
        }
    }
}

impl Agent {
    /// How it reacts, in a version (`None` if it is not known), where its entry has the agent's own switch against hooks
    /// that fail.
    pub fn reaction(self, version: Option<Version>, has_switch: bool) -> Reaction {
        match self {
            Agent::Claude if has_switch && version.is_some_and(|version| version >= CLAUDE_ON_FAILURE) => CLOSED,
            Agent::Claude => OPEN,
            Agent::Codex => Reaction { asked: Runs, ..OPEN },
            Agent::Gemini => Reaction { asked: Hangs, missing: Blocked, ..OPEN },
            Agent::Cursor if has_switch => CLOSED,
            Agent::Cursor => OPEN,
            Agent::Copilot => Reaction { failed: Blocked, missing: Blocked, ..OPEN },
            // It has no hooks but hob's plugin, where the switch is.
            Agent::Opencode if has_switch => Reaction { asked: Blocked, text: Blocked, ..CLOSED },
            Agent::Opencode => Reaction { asked: Blocked, ..OPEN },
        }
    }

    /// What becomes of a tool.
    pub fn effect(self, version: Option<Version>, has_switch: bool, came: Came) -> Effect {
        let reaction = self.reaction(version, has_switch);
        match came {
            Came::Nothing | Came::Allowed => Effect::Runs,
            Came::Denied => Effect::Blocked,
            Came::Asked => reaction.asked,
            Came::Text => reaction.text,
            Came::Failed => reaction.failed,
            Came::Missing => reaction.missing,
            Came::TooLate => reaction.too_late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        assert_eq!(Version::of("2.1.331 (Claude Code)"), Some(Version([2, 1, 331])));
        assert_eq!(Version::of("codex-cli 0.169.0-alpha.3"), Some(Version([0, 169, 0])));
        assert_eq!(Version::of("GitHub Copilot CLI 1.0.102."), Some(Version([1, 0, 102])));
        assert_eq!(Version::of("unknown"), None);
        assert!(Version([2, 1, 295]) >= CLAUDE_ON_FAILURE && Version([2, 1, 294]) < CLAUDE_ON_FAILURE);
        assert!(Version([2, 2, 0]) > CLAUDE_ON_FAILURE && Version([1, 9, 999]) < CLAUDE_ON_FAILURE);
    }

    #[test]
    fn every_agents_own_answer_is_read() {
        use crate::agents::{Answer, Verdict};
        for agent in Agent::ALL {
            let row = agent
                .rows()
                .iter()
                .find(|row| row.kind == crate::Kind::ToolBefore && row.deny == super::super::Deny::Tool);
            for (verdict, came) in [(Verdict::Pass, Came::Nothing), (Verdict::Deny, Came::Denied)] {
                let rendered = agent.render(row, &Answer::of(verdict, "no".to_owned()));
                assert_eq!(Came::of(rendered.stdout.as_bytes(), Some(rendered.exit.into())), came, "{agent:?}");
            }
        }
        assert_eq!(Came::of(b"hello", Some(0)), Came::Text);
        assert_eq!(Came::of(b"{", Some(0)), Came::Text);
        assert_eq!(Came::of(b"", Some(127)), Came::Missing);
        assert_eq!(Came::of(b"", Some(1)), Came::Failed);
        assert_eq!(Came::of(b"", None), Came::Failed);
    }
}
