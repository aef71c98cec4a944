//! Classes as the texts declare them, and those outside of the project of which nothing has to be known.

use std::path::Path;

use crate::inquiry::{Sheets, Spot};
use crate::syntax::{Declares, Kind};

/// The class that is declared at a spot, and how many bytes of the file come before its text.
pub(super) fn declared_at(sheets: &Sheets, class: &Spot) -> Option<(Declares, usize)> {
    any_at(sheets, class).filter(|(declares, _)| is_class_like(declares.kind))
}

/// Whether a declaration of a kind has members.
pub(super) fn is_class_like(kind: Kind) -> bool {
    matches!(kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Union)
}

/// Whether a spot declares a type of TypeScript that has these members and no others: `type Shown = { show(): void }`.
pub(super) fn is_object_type(sheets: &Sheets, spot: &Spot) -> bool {
    let declares = any_at(sheets, spot).filter(|(declares, _)| declares.kind == Kind::Type);
    let text = declares.and_then(|(declares, _)| sheets.get(&spot.path)?.text.get(declares.bytes));
    let value = text.and_then(|text| text.split_once('=')).map(|(_, value)| value.trim().trim_end_matches(';'));
    value.is_some_and(|value| value.starts_with('{') && value.ends_with('}') && !value.contains('&'))
}

/// What is declared at a spot, and how many bytes of the file come before its text.
pub(super) fn any_at(sheets: &Sheets, spot: &Spot) -> Option<(Declares, usize)> {
    let (one, skip) = sheets.occurrence(spot)?;
    Some((one.declares?, skip))
}

/// Whether a member of TypeScript or JavaScript belongs to its class itself, by the modifiers before its name: `public static level`.
pub(super) fn is_static(text: &[u8], name: usize) -> bool {
    let modifiers = text[..name].rsplit(|byte| b"\n;{}".contains(byte)).next().unwrap_or_default();
    modifiers.split(u8::is_ascii_whitespace).any(|word| word == b"static")
}

/// Where a name stands, `skip` bytes after what its text counts.
pub(super) fn spot(path: &Path, name: &std::ops::Range<usize>, skip: usize) -> Spot {
    Spot { path: path.to_owned(), start: name.start + skip, end: name.end + skip }
}

/// Whether people of the project write a file, by its folders.
pub(super) fn is_of_the_project(below: &Path) -> bool {
    !below.iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || matches!(&*part, "node_modules" | "site-packages" | "vendor")
    })
}

/// Whether a file only tells what others define.
pub(super) fn is_ambient(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".d.ts", ".d.mts", ".d.cts", ".pyi"].iter().any(|end| name.ends_with(end))
}
