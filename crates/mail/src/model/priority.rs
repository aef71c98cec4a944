//! How urgent a message is, and the floor below which a waiter is not woken.

use serde::{Deserialize, Serialize};

/// How urgent a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// When convenient.
    Low,
    /// When the sub-task ends.
    #[default]
    Normal,
    /// At the next breakpoint.
    High,
    /// Stop current work.
    Critical,
}

impl Priority {
    /// All, from least to most urgent.
    pub const ALL: [Priority; 4] = [Priority::Low, Priority::Normal, Priority::High, Priority::Critical];

    /// 0 (low) to 3 (critical), as stores keep it.
    pub fn level(self) -> u8 {
        self as u8
    }

    /// Returns the priority of a level; too high a level is the highest.
    pub fn from_level(level: u8) -> Priority {
        Priority::ALL[usize::from(level.min(3))]
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
            Priority::Critical => "critical",
        }
    }

    /// Returns the priority of that name.
    pub fn parse(name: &str) -> Option<Priority> {
        Priority::ALL.into_iter().find(|priority| priority.as_str() == name)
    }
}

/// Returns the priority that a word for another one most likely means: of other systems, or mistyped.
pub fn nearest_priority(word: &str) -> Option<Priority> {
    let word = word.to_lowercase();
    match &*word {
        "urgent" | "asap" | "blocker" | "emergency" | "immediate" | "p0" => return Some(Priority::Critical),
        "important" | "major" | "p1" => return Some(Priority::High),
        "medium" | "default" | "regular" | "p2" => return Some(Priority::Normal),
        "minor" | "trivial" | "info" | "p3" => return Some(Priority::Low),
        _ => {}
    }
    let near = Priority::ALL.into_iter().map(|priority| (strsim::levenshtein(&word, priority.as_str()), priority));
    near.filter(|(far, _)| *far <= 2).min_by_key(|(far, _)| *far).map(|(_, priority)| priority)
}

/// The least priority that ends a wait. It is compared with the priority the sender gave: waiting long moves a message
/// forward in its mailbox, but does not make it wake a waiter that asked for urgent mail only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Floor {
    #[default]
    All,
    /// Normal, high and critical.
    NormalAndAbove,
    /// High and critical.
    HighAndAbove,
    /// Critical only.
    Critical,
}

impl Floor {
    /// Returns the least priority that passes.
    pub fn least(self) -> Priority {
        match self {
            Floor::All => Priority::Low,
            Floor::NormalAndAbove => Priority::Normal,
            Floor::HighAndAbove => Priority::High,
            Floor::Critical => Priority::Critical,
        }
    }

    /// Returns true if it lets the priority pass.
    pub fn passes(self, priority: Priority) -> bool {
        priority >= self.least()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_probably_meant() {
        for (word, meant) in [("urgent", "critical"), ("Hihg", "high"), ("important", "high"), ("noraml", "normal")] {
            assert_eq!(nearest_priority(word).map(Priority::as_str), Some(meant), "{word}");
        }
        assert_eq!(nearest_priority("whenever"), None);
    }
}
