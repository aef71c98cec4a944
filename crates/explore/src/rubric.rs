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
    /// All changes, in the order of the columns of [`ROWS`].
    pub(crate) const ALL: [Change; 5] =
        [Change::AddVariant, Change::Remove, Change::Rename, Change::ChangeType, Change::ChangeSignature];

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

/// The kind of a use, by what a change does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UseKind {
    /// A match that another constructor breaks.
    BreakingMatch,
    /// A match that another constructor passes without an error.
    OpenMatch,
    /// A match with a catch-all branch.
    CoveredMatch,
    /// A match whose effect is unknown.
    UnclearMatch,
    Pattern,
    Construct,
    Call,
    Value,
    FieldRead,
    FieldWrite,
    Import,
    ReExport,
    Signature,
    Type,
    Implementation,
    TypeFamily,
    /// A place that reaches the change through another definition.
    Indirect,
}

impl UseKind {
    /// Returns the name in the documentation.
    pub(crate) fn name(self) -> &'static str {
        row_of(self).name
    }

    /// Returns the kind of this name; [`UseKind::Indirect`] for an unknown one.
    pub(crate) fn by_name(name: &str) -> UseKind {
        ROWS.iter().find(|row| row.name == name).map_or(UseKind::Indirect, |row| row.kind)
    }
}

/// A row of the table.
pub(crate) struct Row {
    pub kind: UseKind,
    /// The name in the documentation.
    pub name: &'static str,
    /// The risk from 1 to 5 for each change of [`Change::ALL`]. 1 means that the place compiles and behaves as before; 0
    /// that the change has no such uses.
    pub risks: [u8; 5],
    pub tags: &'static [Tag],
    /// The action for a risk of at least 3.
    pub action: &'static str,
}

const fn row(kind: UseKind, name: &'static str, risks: [u8; 5], tags: &'static [Tag], action: &'static str) -> Row {
    Row { kind, name, risks, tags, action }
}

/// The table. Columns: add_variant, remove, rename, change_type, change_signature.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row(UseKind::BreakingMatch, "match that breaks", [5, 0, 0, 0, 0],
        &[Tag::Exhaustive, Tag::PatternMatch, Tag::BreaksOnAdd], "add or change a branch"),
    row(UseKind::OpenMatch, "match that falls through", [4, 0, 0, 0, 0],
        &[Tag::PatternMatch], "decide what happens to the new case, which no branch takes"),
    row(UseKind::CoveredMatch, "match with a catch-all branch", [3, 0, 0, 0, 0],
        &[Tag::PatternMatch], "check that the catch-all branch is right for the change"),
    row(UseKind::UnclearMatch, "match with an unknown effect", [3, 0, 0, 0, 0],
        &[Tag::PatternMatch], "check the branches"),
    row(UseKind::Pattern, "pattern", [2, 5, 5, 4, 4], &[Tag::PatternMatch], "change the pattern"),
    row(UseKind::Construct, "construction", [1, 5, 5, 4, 5], &[Tag::Constructor], "change the construction"),
    row(UseKind::Call, "call", [1, 5, 5, 3, 5], &[], "change the call"),
    row(UseKind::Value, "use as a value", [1, 5, 5, 3, 4], &[], "change the use"),
    row(UseKind::FieldRead, "read of a field", [1, 5, 5, 4, 4], &[], "change the read"),
    row(UseKind::FieldWrite, "write of a field", [1, 5, 5, 4, 4], &[], "change the write"),
    row(UseKind::Import, "import", [1, 5, 5, 1, 1], &[Tag::Import], "change the import"),
    row(UseKind::ReExport, "re-export", [2, 5, 5, 2, 2], &[Tag::ReExport], "change the re-export; other projects may use it"),
    row(UseKind::Signature, "signature", [1, 5, 5, 3, 4], &[Tag::Signature], "change the signature"),
    row(UseKind::Type, "type", [1, 5, 5, 3, 3], &[Tag::Signature], "change the type"),
    row(UseKind::Implementation, "implementation", [3, 5, 5, 4, 5],
        &[Tag::Implementation], "check that the implementation covers the change"),
    row(UseKind::TypeFamily, "type family instance", [4, 5, 5, 4, 4],
        &[Tag::TypeFamily, Tag::BreaksOnAdd], "add an instance"),
    row(UseKind::Indirect, "use through another definition", [1, 2, 1, 2, 2], &[], ""),
];

/// The judgement of a use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rating {
    /// The name of the kind.
    pub name: &'static str,
    pub risk: u8,
    /// The relevance from 1 to 5; it falls with the distance.
    pub relevance: u8,
    pub tags: &'static [Tag],
    pub action: Option<&'static str>,
}

/// The least risk that needs an action.
const ACTS: u8 = 3;

fn row_of(kind: UseKind) -> &'static Row {
    ROWS.iter().find(|row| row.kind == kind).unwrap_or(&ROWS[ROWS.len() - 1])
}

/// Rates a use at a distance from the change.
pub(crate) fn rate(change: Change, kind: UseKind, depth: usize) -> Rating {
    let column = Change::ALL.iter().position(|one| *one == change).unwrap_or_default();
    let row = row_of(kind);
    let risk = row.risks[column];
    let near = 5_usize.saturating_sub(depth * 2 + usize::from(risk < ACTS));
    Rating {
        name: row.name,
        risk,
        relevance: u8::try_from(near.max(1)).unwrap_or(1),
        tags: row.tags,
        action: (risk >= ACTS && !row.action.is_empty()).then_some(row.action),
    }
}

/// Returns the table as the documentation shows it.
#[cfg(test)]
fn page() -> String {
    let mut lines = vec![
        "| use | add_variant | remove | rename | change_type | change_signature | tags | action |".to_owned(),
        "|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for row in ROWS {
        let risk = |risk: &u8| if *risk == 0 { "–".to_owned() } else { risk.to_string() };
        let risks: Vec<String> = row.risks.iter().map(risk).collect();
        let tags: Vec<String> = row.tags.iter().map(|tag| format!("{tag:?}")).collect();
        lines.push(format!("| {} | {} | {} | {} |", row.name, risks.join(" | "), tags.join(", "), row.action));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_shows_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/explore.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&page()), "docs/reference/explore.md does not have this table:\n{}", page());
    }

    #[test]
    fn risk_and_distance_decide_relevance_and_action() {
        let direct = rate(Change::AddVariant, UseKind::BreakingMatch, 0);
        assert_eq!((direct.risk, direct.relevance, direct.action), (5, 5, Some("add or change a branch")));
        let far = rate(Change::Remove, UseKind::Indirect, 2);
        assert_eq!((far.risk, far.relevance, far.action), (2, 1, None));
    }
}
