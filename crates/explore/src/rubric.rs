//! The rubric of `scout`: the risk, the tags and the action for each change and each kind of use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A planned change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(clippy::enum_variant_names, reason = "these are the values of the tool's argument")]
pub(crate) enum Change {
    AddVariant,
    Remove,
    Rename,
    ChangeType,
    ChangeSignature,
}

impl Change {
    /// Returns the name used in arguments and results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Change::AddVariant => "add_variant",
            Change::Remove => "remove",
            Change::Rename => "rename",
            Change::ChangeType => "change_type",
            Change::ChangeSignature => "change_signature",
        }
    }
}

/// A tag of a pointer. The ten names are those of the predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum Tag {
    Exhaustive,
    PatternMatch,
    TypeFamily,
    BreaksOnAdd,
    Import,
    ReExport,
    Signature,
    Implementation,
    Constructor,
    Recursive,
}

/// A kind of uses: a row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UseKind {
    /// The name in the documentation.
    pub name: &'static str,
    /// The risk from 1 to 5 for each change, in the order of [`Change`]. 1 means that the place compiles and behaves as
    /// before; 0 that the change has no such uses.
    risks: [u8; 5],
    pub tags: &'static [Tag],
    /// The action for a risk of at least 3.
    action: &'static str,
}

const fn row(name: &'static str, risks: [u8; 5], tags: &'static [Tag], action: &'static str) -> UseKind {
    UseKind { name, risks, tags, action }
}

/// A match that another constructor breaks.
pub(crate) const BREAKING_MATCH: &UseKind = &row(
    "match that breaks",
    [5, 0, 0, 0, 0],
    &[Tag::Exhaustive, Tag::PatternMatch, Tag::BreaksOnAdd],
    "add or change a branch",
);
/// A match that another constructor passes without an error.
pub(crate) const OPEN_MATCH: &UseKind = &row(
    "match that falls through",
    [4, 0, 0, 0, 0],
    &[Tag::PatternMatch],
    "decide what happens to the new case, which no branch takes",
);
pub(crate) const COVERED_MATCH: &UseKind = &row(
    "match with a catch-all branch",
    [3, 0, 0, 0, 0],
    &[Tag::PatternMatch],
    "check that the catch-all branch is right for the change",
);
pub(crate) const UNCLEAR_MATCH: &UseKind =
    &row("match with an unknown effect", [3, 0, 0, 0, 0], &[Tag::PatternMatch], "check the branches");
pub(crate) const PATTERN: &UseKind = &row("pattern", [2, 5, 5, 4, 4], &[Tag::PatternMatch], "change the pattern");
pub(crate) const CONSTRUCT: &UseKind =
    &row("construction", [1, 5, 5, 4, 5], &[Tag::Constructor], "change the construction");
pub(crate) const CALL: &UseKind = &row("call", [1, 5, 5, 3, 5], &[], "change the call");
pub(crate) const VALUE: &UseKind = &row("use as a value", [1, 5, 5, 3, 4], &[], "change the use");
pub(crate) const FIELD_READ: &UseKind = &row("read of a field", [1, 5, 5, 4, 4], &[], "change the read");
pub(crate) const FIELD_WRITE: &UseKind = &row("write of a field", [1, 5, 5, 4, 4], &[], "change the write");
pub(crate) const IMPORT: &UseKind = &row("import", [1, 5, 5, 1, 1], &[Tag::Import], "change the import");
pub(crate) const RE_EXPORT: &UseKind =
    &row("re-export", [2, 5, 5, 2, 2], &[Tag::ReExport], "change the re-export; other projects may use it");
pub(crate) const SIGNATURE: &UseKind = &row("signature", [1, 5, 5, 3, 4], &[Tag::Signature], "change the signature");
pub(crate) const TYPE: &UseKind = &row("type", [1, 5, 5, 3, 3], &[Tag::Signature], "change the type");
pub(crate) const IMPLEMENTATION: &UseKind =
    &row("implementation", [3, 5, 5, 4, 5], &[Tag::Implementation], "check that the implementation covers the change");
pub(crate) const TYPE_FAMILY: &UseKind =
    &row("type family instance", [4, 5, 5, 4, 4], &[Tag::TypeFamily, Tag::BreaksOnAdd], "add an instance");
/// A place that reaches the change through another definition.
pub(crate) const INDIRECT: &UseKind = &row("use through another definition", [1, 2, 1, 2, 2], &[], "");

#[rustfmt::skip]
const ALL: [&UseKind; 17] = [
    BREAKING_MATCH, OPEN_MATCH, COVERED_MATCH, UNCLEAR_MATCH, PATTERN, CONSTRUCT, CALL, VALUE, FIELD_READ, FIELD_WRITE,
    IMPORT, RE_EXPORT, SIGNATURE, TYPE, IMPLEMENTATION, TYPE_FAMILY, INDIRECT,
];

/// The least risk that needs an action.
const ACTS: u8 = 3;

impl UseKind {
    /// Returns the kind of this name; [`INDIRECT`] for an unknown one.
    pub(crate) fn by_name(name: &str) -> &'static UseKind {
        ALL.into_iter().find(|kind| kind.name == name).unwrap_or(INDIRECT)
    }

    pub(crate) fn risk(&self, change: Change) -> u8 {
        self.risks[change as usize]
    }

    /// Returns the relevance from 1 to 5 at a distance from the change.
    pub(crate) fn relevance(&self, change: Change, depth: usize) -> u8 {
        let near = 5_usize.saturating_sub(depth * 2 + usize::from(self.risk(change) < ACTS));
        u8::try_from(near.max(1)).unwrap_or(1)
    }

    pub(crate) fn action(&self, change: Change) -> Option<&'static str> {
        (self.risk(change) >= ACTS).then_some(self.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_and_distance_decide_the_relevance() {
        assert_eq!(BREAKING_MATCH.relevance(Change::AddVariant, 0), 5);
        assert_eq!([0, 1, 2].map(|depth| INDIRECT.relevance(Change::Remove, depth)), [4, 2, 1]);
    }
}
