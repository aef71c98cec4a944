//! The reaction of an agent to the result of a hook before a tool. It was measured with real agents where a package exists, else
//! taken from their documentation (Cursor). `cargo xtask clients agents` verifies it.

use serde::Serialize;
use serde_json::Value;

use super::Agent;

/// The result of a hook that ran before a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// Exit status 0 and no output.
    Nothing,
    Denied,
    Asked,
    Allowed,
    /// Exit status 0, with a text that is not an answer.
    Text,
    /// Another exit status, or a signal.
    Failed,
    /// The hook could not be started.
    Missing,
    /// The hook exceeded the timeout of its entry.
    TooLate,
}

/// The effect on the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Runs,
    /// The agent asks its user; without one the tool does not run.
    Asks,
    Blocked,
    /// The agent waits for an absent user.
    Hangs,
}

/// The effects of results other than a plain answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaction {
    pub asked: Effect,
    pub text: Effect,
    pub failed: Effect,
    pub missing: Effect,
    pub too_late: Effect,
}

/// The three numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u64; 3]);

/// The first version whose Claude Code entries support `onFailure`; earlier versions silently ignore it.
pub const CLAUDE_ON_FAILURE: Version = Version([2, 1, 295]);

use Effect::{Asks, Blocked, Hangs, Runs};

const OPEN: Reaction = Reaction { asked: Asks, text: Runs, failed: Runs, missing: Runs, too_late: Runs };
const CLOSED: Reaction = Reaction { failed: Blocked, missing: Blocked, too_late: Blocked, ..OPEN };

impl Version {
    /// Parses the version in a program's output: `2.1.331 (Claude Code)`, `codex-cli 0.169.0`.
    pub fn parse(text: &str) -> Option<Version> {
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
    /// Returns the description for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Came::Nothing => "said nothing",
            Came::Denied => "denied",
            Came::Asked => "asked",
            Came::Allowed => "allowed",
            Came::Text => "printed something other than an answer",
            Came::Failed => "failed",
            Came::Missing => "was not started",
            Came::TooLate => "took too long",
        }
    }

    /// Classifies the output and the exit status of a hook; the status is `None` after a signal.
    pub fn from_output(stdout: &[u8], exit: Option<i32>) -> Came {
        let said = String::from_utf8_lossy(stdout);
        let is_json = said.trim_start().starts_with('{');
        match exit {
            Some(2) => return Came::Denied,
            Some(0) if said.trim().is_empty() => return Came::Nothing,
            Some(0) if !is_json => return Came::Text,
            // The shell did not find the program.
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
    /// Returns the description for people.
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
    /// Returns the reactions of a version (`None` if unknown). `has_switch` is true if the entry uses the agent's own option for
    /// failing hooks.
    pub fn reaction(self, version: Option<Version>, has_switch: bool) -> Reaction {
        match self {
            Agent::Claude if has_switch && version.is_some_and(|version| version >= CLAUDE_ON_FAILURE) => CLOSED,
            Agent::Claude => OPEN,
            Agent::Codex => Reaction { asked: Runs, ..OPEN },
            Agent::Gemini => Reaction { asked: Hangs, missing: Blocked, ..OPEN },
            Agent::Cursor if has_switch => CLOSED,
            Agent::Cursor => OPEN,
            Agent::Copilot => Reaction { failed: Blocked, missing: Blocked, ..OPEN },
            // Its only hook is hob's plugin, which implements the option.
            Agent::Opencode if has_switch => Reaction { asked: Blocked, text: Blocked, ..CLOSED },
            Agent::Opencode => Reaction { asked: Blocked, ..OPEN },
        }
    }

    /// Returns the effect on a tool.
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
        assert_eq!(Version::parse("2.1.331 (Claude Code)"), Some(Version([2, 1, 331])));
        assert_eq!(Version::parse("codex-cli 0.169.0-alpha.3"), Some(Version([0, 169, 0])));
        assert_eq!(Version::parse("GitHub Copilot CLI 1.0.102."), Some(Version([1, 0, 102])));
        assert_eq!(Version::parse("unknown"), None);
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
                let rendered = agent.render(row, &Answer::new(verdict, "no".to_owned()));
                assert_eq!(
                    Came::from_output(rendered.stdout.as_bytes(), Some(rendered.exit.into())),
                    came,
                    "{agent:?}"
                );
            }
        }
        assert_eq!(Came::from_output(b"hello", Some(0)), Came::Text);
        assert_eq!(Came::from_output(b"{", Some(0)), Came::Text);
        assert_eq!(Came::from_output(b"", Some(127)), Came::Missing);
        assert_eq!(Came::from_output(b"", Some(1)), Came::Failed);
        assert_eq!(Came::from_output(b"", None), Came::Failed);
    }
}
