//! Policies: a file of checked rules, and the decision on an event by the rules of all files.
//!
//! [`Policy::parse`] reads a file. [`Subject::from_event`] determines the commands and paths of an event, and follows links.
//! [`decide`] is pure. [`effective_policy`] determines the rules that hold after a file has changed.

mod access;
mod cause;
mod code;
mod decide;
pub mod effective_policy;
mod glob;
mod options;
mod pattern;
mod rule;
mod shell;
mod subject;
mod unreachable;

pub use self::decide::{Decision, Facts, Matched, decide};
pub use self::rule::{Opaque, Policy, PolicyError, RuleTable};
pub use self::shell::{Script, program, script};
pub use self::subject::Subject;

/// The facts from other parts that conditions can name.
pub const FACTS: &[&str] = &[
    "work.branch",
    "work.base",
    "work.upstream",
    "work.detached",
    "work.dirty",
    "work.unpushed",
    "work.operation",
    "work.pull.checks",
    "work.issue",
    "work.issue.status",
];

/// The name of the policy file in a project's root.
pub const FILE: &str = "hob-policy.toml";
/// The name of the user's policy file, in the directory of their `config.toml`.
pub const USER_FILE: &str = "policy.toml";

#[cfg(test)]
mod tests;
