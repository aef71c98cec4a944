//! Rules that can be disabled one at a time, so that `cargo xtask score code` can measure each.

use std::sync::OnceLock;

use syntax::text_enum::named;

/// The environment variable that names the disabled rule. For measurements only.
const VARIABLE: &str = "HOB_CODE_WITHOUT";

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Rule by word {
        /// Asks for the definition at each candidate, not only for references.
        Definitions = "definitions",
        /// Decides a call to overridden methods by the class of its receiver.
        Overriders = "overriders",
        /// Corrects the class of each site by the kind of its definitions.
        Reclassify = "reclassify",
        /// Follows aliases from imports and re-exports.
        OtherNames = "other_names",
        /// Leaves an answer open if a base class outside of the project may call a member.
        OutsideBases = "outside_bases",
    }
}

impl Rule {
    pub(crate) fn is_on(self) -> bool {
        static OFF: OnceLock<Option<String>> = OnceLock::new();
        OFF.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref() != Some(self.word())
    }
}
