//! References of a definition that are not uses, or that have another name.

use crate::answer::Candidates;
use crate::inquiry::{Sheets, Spot};
use crate::syntax::{C_AND_CPP, Kind, Language, SCRIPTS, family};

/// True if a C++ spot is only a qualifier: `app` in `app::Item(7)`.
pub(super) fn is_qualifier(sheets: &Sheets, spot: &Spot, name: &str) -> bool {
    let rest = sheets.get(&spot.path).and_then(|sheet| sheet.text.get(spot.end.saturating_sub(sheet.skip)..));
    let path = rest.unwrap_or_default().split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).next();
    path.is_some_and(|path| path.starts_with("::") && path.rsplit("::").next() == Some(name))
}

/// True if a text is a single name.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    text.chars().all(is_part) && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

/// True if a C++ spot is a function that the compiler generates: `= default`.
pub(super) fn is_defaulted(sheets: &Sheets, spot: &Spot) -> bool {
    let text = sheets.get(&spot.path).and_then(|sheet| sheet.text.get(spot.start.saturating_sub(sheet.skip)..));
    let statement = text.and_then(|text| text.split([';', '{', '}']).next()).unwrap_or_default();
    Language::by_name(&spot.path).is_some_and(|language| family(language) == C_AND_CPP)
        && statement.trim_end().strip_suffix("default").is_some_and(|before| before.trim_end().ends_with('='))
}

/// True if a TypeScript or JavaScript file imports the name as a default export, which may wrap one of the definitions
/// (`export default memo(Button)`).
pub(super) fn imports_default(sheets: &Sheets, spot: &Spot, name: &str) -> bool {
    let is_script = Language::by_name(&spot.path).is_some_and(|language| family(language) == SCRIPTS);
    let Some(sheet) = sheets.get(&spot.path).filter(|_| is_script && !name.is_empty()) else { return false };
    let import = format!("import {name}");
    let mut all = sheet.text.match_indices(&import).map(|(at, _)| sheet.text[at + import.len()..].trim_start());
    all.any(|rest| rest.starts_with("from ") || rest.starts_with(','))
}

/// True if a keyword means a definition without naming it.
pub(super) fn stands_for(found: &Candidates, number: usize, word: &str) -> bool {
    let definition = &found.definitions[number];
    let is_type = definition.kind.is_type() || definition.kind == Kind::Constructor;
    if definition.is_constructor(&found.question.name)
        && definition.inside.last().is_some_and(|names| names.iter().any(|one| one == word))
    {
        return true;
    }
    match definition.language {
        Language::Rust => is_type && word == "Self" || matches!(word, "self" | "super" | "crate"),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            is_type && matches!(word, "super" | "this") || word == "default"
        }
        Language::Python => is_type && matches!(word, "cls" | "super" | "self"),
        _ => false,
    }
}
