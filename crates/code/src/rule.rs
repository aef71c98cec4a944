//! Rules that can be switched off one at a time, so that `cargo xtask score code` shows what each is worth.

use std::sync::OnceLock;

/// Names the rule that is off. For measurements only; no setting.
const VARIABLE: &str = "HOB_CODE_WITHOUT";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Asks what is defined at each candidate, and not for references alone.
    Definitions,
    /// Decides a call that several methods may answer by the class of its object.
    Overriders,
    /// Corrects the classes of sites by what their definitions are.
    Reclassify,
    /// Follows the other names that imports and re-exports give.
    OtherNames,
    /// Asks until two rounds agree where one proves nothing.
    TwoRounds,
    /// Leaves an answer open where a base outside of the project may call a member.
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
