//! Rules that can be disabled one at a time, so that `cargo xtask score code` can measure each.

use std::sync::OnceLock;

/// The environment variable that names the disabled rule. For measurements only.
const VARIABLE: &str = "HOB_CODE_WITHOUT";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Asks for the definition at each candidate, not only for references.
    Definitions,
    /// Decides a call to overridden methods by the class of its receiver.
    Overriders,
    /// Corrects the class of each site by the kind of its definitions.
    Reclassify,
    /// Follows aliases from imports and re-exports.
    OtherNames,
    /// Asks until two rounds agree if one is not conclusive.
    TwoRounds,
    /// Leaves an answer open if a base class outside of the project may call a member.
    OutsideBases,
}

impl Rule {
    fn word(self) -> &'static str {
        match self {
            Rule::Definitions => "definitions",
            Rule::Overriders => "overriders",
            Rule::Reclassify => "reclassify",
            Rule::OtherNames => "other_names",
            Rule::TwoRounds => "two_rounds",
            Rule::OutsideBases => "outside_bases",
        }
    }

    pub(crate) fn is_on(self) -> bool {
        static OFF: OnceLock<Option<String>> = OnceLock::new();
        OFF.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref() != Some(self.word())
    }
}
