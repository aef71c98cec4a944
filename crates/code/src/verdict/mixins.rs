//! Classes of Python that others derive from beside ours: by the order in which a class looks its methods up (the MRO), a call that
//! means the method of one of these may run ours, also `super().go()`.

use std::collections::BTreeSet;
use std::time::Instant;

use super::implicit_callers::other_names::{HEAD, is_in_head, search_words};
use super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::search::Scope;
use crate::syntax::{Kind, Language, last_word, occurrences_at};

/// How many classes are looked for.
const MOST_CLASSES: usize = 20;

/// The names of the classes beside ours, and of those that they derive from.
pub(super) async fn beside(scope: &Scope, found: &Found, until: Instant) -> BTreeSet<String> {
    let is_member = |kind: Kind| matches!(kind, Kind::Method | Kind::Field);
    let ours = found.definitions.iter().filter(|one| one.language == Language::Python && is_member(one.kind));
    let ours: BTreeSet<String> = ours.filter_map(|one| one.inside.last()?.first().cloned()).collect();
    let mut open: Vec<String> = Vec::new();
    for name in &ours {
        for bases in heads(scope, name, until, is_in_head).await {
            open.extend(bases.into_iter().filter(|base| base != name));
        }
    }
    let mut all = BTreeSet::new();
    while let Some(name) = open.pop().filter(|_| all.len() < MOST_CLASSES) {
        if all.insert(name.clone()) {
            open.extend(heads(scope, &name, until, is_declared).await.into_iter().flatten());
        }
    }
    all
}

/// The names of the bases of each class at whose head the name stands as wanted.
async fn heads(scope: &Scope, name: &str, until: Instant, is_wanted: fn(&[u8], usize) -> bool) -> Vec<Vec<String>> {
    let is_it = move |text: &[u8], at: std::ops::Range<usize>| is_wanted(text, at.start);
    let found = search_words(scope, Language::Python, name.to_owned(), until, is_it).await.unwrap_or_default();
    found.iter().map(|(_, text, at)| bases(text, at.start)).collect()
}

fn is_declared(text: &[u8], at: usize) -> bool {
    text[..at].trim_ascii_end().ends_with(b"class")
}

/// The last names of the bases of the class in whose head a place stands.
fn bases(text: &[u8], at: usize) -> Vec<String> {
    let from = memchr::memmem::rfind(&text[..at], b"class").unwrap_or(at);
    let head = &text[from..text.len().min(at + HEAD)];
    let Some(opened) = head.iter().position(|byte| b"(:".contains(byte)).filter(|at| head[*at] == b'(') else {
        return Vec::new();
    };
    let mut depth = 0usize;
    let closed = head[opened..].iter().position(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let list = &head[opened + 1..closed.map_or(head.len(), |end| opened + end)];
    let mut depth = 0usize;
    let parts = list.split(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *byte == b','
    });
    let name = |part: &[u8]| {
        let part = part.split(|byte| *byte == b'[').next().unwrap_or_default().trim_ascii();
        let name = last_word(part);
        (!name.is_empty() && !part.contains(&b'=')).then(|| String::from_utf8_lossy(name).into_owned())
    };
    parts.filter_map(name).collect()
}

/// Whether what stands at a spot is a member of one of these classes.
pub(super) fn is_of(classes: &BTreeSet<String>, spot: &Spot, sheets: &Sheets) -> bool {
    let Some(sheet) = sheets.get(&spot.path) else { return false };
    let Some(start) = spot.start.checked_sub(sheet.skip) else { return false };
    let place = start..start + sheets.word(spot).len();
    let until = Instant::now() + std::time::Duration::from_secs(1);
    let all = occurrences_at(Language::Python, sheet.text.as_bytes(), &[place], until);
    let class = all.and_then(|all| all.into_iter().next()?.declares?.marks.class);
    class.and_then(|class| sheet.text.get(class)).is_some_and(|class| classes.contains(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_of_a_class() {
        let check = |text: &str, wanted: &[&str]| {
            assert_eq!(bases(text.as_bytes(), text.find('A').unwrap()), wanted, "{text}");
        };
        check("class A(Mixin, geo.Base[int, str], made(B, C), metaclass=M): pass", &["Mixin", "Base"]);
        check("class A: x = f(B)", &[]);
        check("class B(\n    A,\n    C,\n): pass", &["A", "C"]);
    }
}
