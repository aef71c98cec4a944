//! Class declarations in the source texts, and files outside of the project that do not matter.

use std::path::Path;

use syntax::{Declares, Kind};

use crate::inquiry::{Sheets, Spot};

/// Returns the class declared at a spot.
pub(super) fn declared_at(sheets: &Sheets, class: &Spot) -> Option<Declares> {
    any_at(sheets, class).filter(|declares| is_class_like(declares.kind))
}

/// True if a declaration of this kind has members.
pub(super) fn is_class_like(kind: Kind) -> bool {
    matches!(kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Union)
}

/// Returns the declaration at a spot.
pub(super) fn any_at(sheets: &Sheets, spot: &Spot) -> Option<Declares> {
    sheets.occurrence(spot)?.declares
}

/// Returns the spot of a name.
pub(super) fn spot(path: &Path, name: &std::ops::Range<usize>) -> Spot {
    Spot { path: path.to_owned(), start: name.start, end: name.end }
}

/// True if the folders of a file suggest that it is hand-written project code.
pub(super) fn is_of_the_project(below: &Path) -> bool {
    !below.iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || matches!(&*part, "node_modules" | "site-packages" | "vendor")
    })
}

/// True if a file contains only declarations of code elsewhere.
pub(super) fn is_ambient(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".d.ts", ".d.mts", ".d.cts", ".pyi"].iter().any(|end| name.ends_with(end))
}
