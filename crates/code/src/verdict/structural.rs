//! Interfaces that a class meets without naming them, as `Protocol` in Python and interfaces in TypeScript are: a call through
//! one may run the class's method, and no server says so.

use std::time::{Duration, Instant};

use super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::definition::Definition;
use crate::syntax::{Kind, Language, is_word, occurrences_at, occurrences_within};

/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// Whether what is declared at a spot may mean one of ours: it stands in an interface, and the class of ours has a member for
/// each of the interface's, or bases that may have them.
pub(super) fn may_meet(found: &Found, spot: &Spot, sheets: &Sheets) -> bool {
    let Some(required) = required(spot, sheets) else { return false };
    found.definitions.iter().any(|one| {
        let is_member = matches!(one.kind, Kind::Method | Kind::Field) && !one.is_outside();
        is_member && has_all(found, one, &required)
    })
}

/// The members that the interface around a spot asks for; `None` where it is no such interface.
fn required(spot: &Spot, sheets: &Sheets) -> Option<Vec<String>> {
    let sheet = sheets.get(&spot.path)?;
    let text = sheet.text.as_bytes();
    let language = Language::of(&spot.path, text)?;
    let start = spot.start.checked_sub(sheet.skip)?;
    let place = start..start + sheets.word(spot).len();
    let one = occurrences_at(language, text, &[place], Instant::now() + WITHIN)?.into_iter().next()?;
    let declares = one.declares.as_ref()?;
    let around = one.enclosing.last();
    let is_in_class = one.enclosing.iter().any(|place| place.kind == Kind::Class);
    let bases = || declares.marks.bases.iter().filter_map(|base| text.get(base.clone()));
    let is_one = match language {
        Language::Python => is_in_class && bases().any(|base| base == b"Protocol"),
        Language::TypeScript | Language::Tsx => !is_in_class && (declares.is_signature || declares.kind == Kind::Field),
        _ => false,
    };
    if !is_one {
        return None;
    }
    // An object type without a name asks for what nobody looks at here.
    let Some(name) = declares.marks.class.clone() else { return Some(Vec::new()) };
    let at = around?.at;
    let interface = occurrences_at(language, text, &[name], Instant::now() + WITHIN)?.into_iter().next()?;
    let all = occurrences_within(language, text, interface.declares?.bytes, Instant::now() + WITHIN)?.all;
    let is_required = |end: usize| text.get(end) != Some(&b'?');
    let members = all.into_iter().filter(|one| {
        one.declares.is_some() && one.enclosing.last().is_some_and(|place| place.at == at) && is_required(one.bytes.end)
    });
    Some(members.filter_map(|one| Some(sheet.text.get(one.bytes)?.to_owned())).collect())
}

/// Whether the class around a definition has all of these, or may have them by its bases. Where it cannot be told, it may.
fn has_all(found: &Found, one: &Definition, required: &[String]) -> bool {
    if !one.marks.bases.is_empty() || one.marks.has_nameless_base {
        return true;
    }
    let (Some(text), Some(name)) = (found.texts.get(&one.path), one.marks.class.clone()) else { return true };
    let class = occurrences_at(one.language, text, &[name], Instant::now() + WITHIN);
    let class = class.and_then(|all| all.into_iter().next()?.declares).and_then(|declares| text.get(declares.bytes));
    class.is_none_or(|class| {
        let has = |name: &String| {
            memchr::memmem::find_iter(class, name.as_bytes()).any(|at| {
                let (before, after) = (&class[..at], &class[at + name.len()..]);
                !before.last().is_some_and(|byte| is_word(*byte)) && !after.first().is_some_and(|byte| is_word(*byte))
            })
        };
        required.iter().all(has)
    })
}
