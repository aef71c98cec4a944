//! The cause of a rule's match.

use std::fmt;

/// The command, file or uncertainty that makes a rule match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// A command or a file. `…` stands for text that is known only at run time.
    Text(String),
    /// The reason why hob cannot determine the effect of the event.
    Unclear(String),
}

impl Cause {
    /// Explains that a rule may forbid the event.
    pub(super) fn explain(&self, rule: &str) -> String {
        match self {
            Cause::Text(text) => {
                format!(
                    "rule {rule} of the project's policy may forbid `{text}`: the value of `…` is known only at run time"
                )
            }
            Cause::Unclear(why) => format!("rule {rule} of the project's policy may forbid this: {why}"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Text(text) | Cause::Unclear(text) => f.write_str(text),
        }
    }
}
