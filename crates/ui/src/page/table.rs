//! Tables. Their roles are written out, because the style shows them as cards on narrow screens.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::html::{Html, el};

/// A cell of a row.
pub(super) struct Cell {
    pub(super) kind: Kind,
    pub(super) content: Html,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It names its row.
    Head,
    /// A few words that stay on one line.
    Short,
    Plain,
}

/// Draws a table.
pub(super) fn table(caption: &str, heads: &[&str], rows: impl Iterator<Item = Vec<Cell>>) -> Html {
    let head = |head: &&str| el("th").attr("role", "columnheader").attr("scope", "col").line(head);
    let row = |cells: Vec<Cell>| {
        let cell = |(cell, head): (Cell, &&str)| {
            let element = match cell.kind {
                Kind::Head => el("th").attr("role", "rowheader").attr("scope", "row"),
                Kind::Short => el("td").attr("role", "cell").class("short"),
                Kind::Plain => el("td").attr("role", "cell"),
            };
            element.attr("data-head", head).with([cell.content])
        };
        el("tr").attr("role", "row").all(cells.into_iter().zip(heads).map(cell))
    };
    el("table").attr("role", "table").with([
        el("caption").line(caption),
        el("thead").attr("role", "rowgroup").with([el("tr").attr("role", "row").all(heads.iter().map(head))]),
        el("tbody").attr("role", "rowgroup").all(rows.map(row)),
    ])
}

/// Returns an id for an element of a row, which stays the same as long as the row has its id.
pub(super) fn key(prefix: &str, id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{prefix}-{:x}", hasher.finish())
}
