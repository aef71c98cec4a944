//! The findings of `hob doctor` about a part.

use project::Project;
use serde_json::{Map, Value};

/// The findings of `hob doctor` for one part.
#[derive(Debug)]
pub struct Health {
    pub title: &'static str,
    /// The results of the checks.
    pub findings: Vec<Finding>,
    /// Returns the calls that `hob doctor --try` makes to the daemon. Blocks, changes nothing.
    pub trials: fn(&Project) -> Vec<Trial>,
}

impl Health {
    /// Creates the findings of a part without trials.
    pub(crate) fn new(title: &'static str, findings: Vec<Finding>) -> Health {
        Health { title, findings, trials: |_| Vec::new() }
    }
}

/// A tool call that checks if the tool works here.
pub struct Trial {
    /// The subject of the check.
    pub subject: String,
    /// The call, in words for a person.
    pub asks: String,
    pub toolset: &'static str,
    pub tool: &'static str,
    pub arguments: Map<String, Value>,
    /// Returns true if the structured result is complete.
    pub is_whole: fn(&Value) -> bool,
    /// True if further setup can make it complete.
    pub can_be_whole: bool,
}

/// The result of one check.
#[derive(Debug)]
pub struct Finding {
    /// The severity of the finding.
    pub verdict: Verdict,
    /// The subject of the check.
    pub subject: String,
    /// The result, with the fix.
    pub detail: String,
}

impl Finding {
    /// Creates a finding without a problem.
    pub fn good(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Good, subject: subject.into(), detail: detail.into() }
    }

    /// Creates a finding with a possible improvement.
    pub fn note(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Note, ..Finding::good(subject, detail) }
    }

    /// Creates a finding about a feature that hob does not support yet.
    pub fn remark(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Remark, ..Finding::good(subject, detail) }
    }

    /// Creates a finding with a problem.
    pub fn problem(subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Problem, ..Finding::good(subject, detail) }
    }
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// It works, and could be improved.
    Note,
    /// It works, and no setup can improve it.
    Remark,
    Problem,
}
