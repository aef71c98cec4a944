//! Class declarations in the source texts, and files outside of the project that do not matter.

use std::path::Path;

use crate::inquiry::{Sheets, Spot};
use crate::syntax::{Declares, Kind};

/// Returns the class declared at a spot, and the number of bytes before the file's text.
pub(super) fn declared_at(sheets: &Sheets, class: &Spot) -> Option<(Declares, usize)> {
    any_at(sheets, class).filter(|(declares, _)| is_class_like(declares.kind))
}

/// True if a declaration of this kind has members.
pub(super) fn is_class_like(kind: Kind) -> bool {
    matches!(kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Union)
}

/// True if a spot declares a TypeScript object type: `type Drawable = { show(): void }`.
pub(super) fn is_object_type(sheets: &Sheets, spot: &Spot) -> bool {
    let declares = any_at(sheets, spot).filter(|(declares, _)| declares.kind == Kind::Type);
    let text = declares.and_then(|(declares, _)| sheets.get(&spot.path)?.text.get(declares.bytes));
    let value = text.and_then(|text| text.split_once('=')).map(|(_, value)| value.trim().trim_end_matches(';'));
    value.is_some_and(|value| value.starts_with('{') && value.ends_with('}') && !value.contains('&'))
}

/// Returns the declaration at a spot, and the number of bytes before the file's text.
pub(super) fn any_at(sheets: &Sheets, spot: &Spot) -> Option<(Declares, usize)> {
    let (one, skip) = sheets.occurrence(spot)?;
    Some((one.declares?, skip))
}

/// True if a member in TypeScript or JavaScript is static, by its modifiers: `public static level`.
pub(super) fn is_static(text: &[u8], name: usize) -> bool {
    let modifiers = text[..name].rsplit(|byte| b"\n;{}".contains(byte)).next().unwrap_or_default();
    modifiers.split(u8::is_ascii_whitespace).any(|word| word == b"static")
}

/// Returns the spot of a name, shifted by the `skip` bytes before the text.
pub(super) fn spot(path: &Path, name: &std::ops::Range<usize>, skip: usize) -> Spot {
    Spot { path: path.to_owned(), start: name.start + skip, end: name.end + skip }
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
