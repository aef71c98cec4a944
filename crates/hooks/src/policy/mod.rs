//! What is allowed: a file of checked rules, and the decision on an event by the rules of all files.
//!
//! [`Policy::parse`] reads a file, [`Subject::of`] looks at what an event is about (the commands in a shell's text, paths
//! behind links), and [`decide`] is pure. [`in_force`] says which rules hold when a file has changed.

mod access;
mod cause;
mod code;
mod decide;
pub mod in_force;
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

/// The facts that conditions can name, which other parts know.
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

/// The file at a project's root.
pub const FILE: &str = "hob-policy.toml";
/// The user's file, beside their `config.toml`.
pub const USER_FILE: &str = "policy.toml";

#[cfg(test)]
mod tests;
