//! Classes as the texts declare them, and those outside of the project of which nothing has to be known.

use std::path::Path;
use std::time::{Duration, Instant};

use super::texts::{Sheets, Spot};
use crate::syntax::{Declares, Kind, Language, Marks, occurrences_at};

/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// What stands around the class that is declared at a spot, and how many bytes of the file come before its text.
pub(super) fn class_at(sheets: &Sheets, class: &Spot) -> Option<(Marks, usize)> {
    declared_at(sheets, class).map(|(declares, skip)| (declares.marks, skip))
}

/// The class that is declared at a spot, and how many bytes of the file come before its text.
pub(super) fn declared_at(sheets: &Sheets, class: &Spot) -> Option<(Declares, usize)> {
    let is_class = |kind| matches!(kind, Kind::Class | Kind::Struct | Kind::Interface | Kind::Union);
    any_at(sheets, class).filter(|(declares, _)| is_class(declares.kind))
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
    let sheet = sheets.get(&spot.path)?;
    let start = spot.start.checked_sub(sheet.skip)?;
    let place = start..start + sheets.word(spot).len();
    let language = Language::of(&spot.path, sheet.text.as_bytes())?;
    let all = occurrences_at(language, sheet.text.as_bytes(), &[place], Instant::now() + WITHIN)?;
    Some((all.into_iter().next()?.declares?, sheet.skip))
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

/// Whether a file is of the library that comes with TypeScript.
pub(super) fn is_of_the_library(path: &Path) -> bool {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.starts_with("lib.") && file.ends_with(".d.ts")
}

/// Whether an interface of TypeScript outside of the project, or a type of its library that only changes others (`Omit`), has no such
/// member: who has an object by it reaches nothing of the name.
pub(super) fn lacks(sheets: &Sheets, spot: &Spot, name: &str) -> bool {
    if !is_ambient(&spot.path) || spot.path.extension().is_some_and(|extension| extension == "pyi") {
        return false;
    }
    let Some((declares, _)) = any_at(sheets, spot) else { return false };
    let text = sheets.get(&spot.path).and_then(|sheet| sheet.text.get(declares.bytes)).unwrap_or_default();
    let mut words = text.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c));
    // `[name: string]: Handler` has any name.
    let begins = |part: &str| part.trim_start().trim_start_matches("readonly ").starts_with('[');
    let has_any = text.split(['{', ';', '\n']).any(|part| begins(part) && !part.contains("[Symbol."));
    match declares.kind {
        Kind::Interface => !has_any && !words.any(|word| word == "extends" || word == name),
        // The class itself, as `declare var Map`.
        Kind::Variable => is_of_the_library(&spot.path),
        Kind::Type => is_of_the_library(&spot.path) && sheets.word(spot) != "Record" && !words.any(|word| word == name),
        _ => false,
    }
}

/// Whether a class outside of the project uses nothing of this name but what the language itself calls.
pub(super) fn is_inert(path: &Path, class: &str, name: &str) -> bool {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let module = file.split('.').next().unwrap_or_default();
    let is_of_python = matches!(module, "_py_abc" | "abc" | "builtins" | "enum" | "typing" | "typing_extensions")
        && (folder == "stdlib" || folder.starts_with("python3"));
    // Those call methods that a class may have of its own.
    let calls = class.starts_with("Mutable")
        || class.ends_with("IO")
        || class == "type" && name == "mro"
        || matches!(class, "AbstractSet" | "Mapping")
        || class.ends_with("Generator")
        || class.ends_with("Coroutine")
        || class.ends_with("ExceptionGroup");
    // Whoever shows an error reads those.
    let is_shown = matches!(name, "name" | "message" | "stack" | "cause");
    let is_of_script = is_of_the_library(path) && (class.ends_with("Error") && !is_shown || class == "Object");
    // What only marks a class, or holds what shows an error.
    let is_of_cpp = matches!(class, "enable_shared_from_this" | "noncopyable" | "nested_exception")
        || class != "exception" && (class.ends_with("_error") || class == "bad_alloc") && name != "what";
    is_of_python && !calls || is_of_script || is_of_cpp
}
