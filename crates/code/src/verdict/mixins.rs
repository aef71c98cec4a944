//! Classes of Python that others derive from beside ours: by the order in which a class looks its methods up (the MRO), a call that
//! means the method of one of these may run ours, also `super().go()`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use super::implicit_callers::other_names::{HEAD, search_words};
use super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::search::Scope;
use crate::syntax::{Kind, Language, is_word, last_word, occurrences_at};

/// A class as its head shows it: its name, and the last names of its bases.
struct Head {
    name: String,
    bases: Vec<String>,
}

/// The classes of a project.
#[derive(Default)]
pub(super) struct Classes {
    heads: Vec<Head>,
    /// The names of those beside ours, and of those that they derive from.
    pub beside: BTreeSet<String>,
}

impl Classes {
    /// Whether a class derives from both of these, by their names.
    pub(super) fn have_heir(&self, one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|name| heirs(&self.heads, BTreeSet::from([name.to_owned()])));
        one.intersection(&other).next().is_some()
    }
}

/// The names of classes, and of all that derive from them.
fn heirs(heads: &[Head], mut names: BTreeSet<String>) -> BTreeSet<String> {
    loop {
        let more = heads.iter().filter(|head| head.bases.iter().any(|base| names.contains(base)));
        let all: BTreeSet<String> = names.iter().cloned().chain(more.map(|head| head.name.clone())).collect();
        if all.len() == names.len() {
            return names;
        }
        names = all;
    }
}

/// The classes of the project, where members of one are asked about; `None` where not all are known.
pub(super) async fn classes(scope: &Scope, found: &Found, until: Instant) -> Option<Classes> {
    let is_member = |kind: Kind| matches!(kind, Kind::Method | Kind::Field);
    let ours = found.definitions.iter().filter(|one| one.language == Language::Python && is_member(one.kind));
    let ours: BTreeSet<String> = ours.filter_map(|one| one.inside.last()?.first().cloned()).collect();
    if ours.is_empty() {
        return Some(Classes::default());
    }
    let begins_line = |text: &[u8], at: Range<usize>| {
        let line = text[..at.start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.trim_ascii().is_empty()
    };
    let all = search_words(scope, Language::Python, "class".to_owned(), until, begins_line).await?;
    let heads: Vec<Head> = all.iter().map(|(_, text, at)| head(text, at.end)).collect();
    // What is below ours is looked up as ours is.
    let below = heirs(&heads, ours);
    let derived = heads.iter().filter(|head| head.bases.iter().any(|base| below.contains(base)));
    let bases = derived.flat_map(|head| &head.bases);
    let mut open: Vec<String> = bases.filter(|base| !below.contains(*base)).cloned().collect();
    let mut beside = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !beside.contains(&name) {
            let of = heads.iter().filter(|head| head.name == name);
            open.extend(of.flat_map(|head| head.bases.iter().cloned()));
            beside.insert(name);
        }
    }
    Some(Classes { heads, beside })
}

/// The class whose name comes next.
fn head(text: &[u8], after: usize) -> Head {
    let rest = text[after..].trim_ascii_start();
    let length = rest.iter().take_while(|byte| is_word(**byte)).count();
    let name = String::from_utf8_lossy(&rest[..length]).into_owned();
    let named = bases(&rest[length..rest.len().min(length + HEAD)]);
    let bases = named.into_iter().map(|base| imported(text, &base).unwrap_or(base)).collect();
    Head { name, bases }
}

/// What a name is called where an import takes it from: `from mixins import Named as NamedMixin`.
fn imported(text: &[u8], name: &str) -> Option<String> {
    let given = format!(" as {name}");
    let is_whole = |at: &usize| text.get(at + given.len()).is_none_or(|byte| !is_word(*byte));
    let at = memchr::memmem::find_iter(text, given.as_bytes()).find(is_whole)?;
    Some(String::from_utf8_lossy(last_word(text[..at].trim_ascii_end())).into_owned())
}

/// The last names of the bases of a class, after whose name this comes.
fn bases(head: &[u8]) -> Vec<String> {
    // `class A[T: int](B)`.
    let parameters = head.starts_with(b"[").then(|| head.iter().position(|byte| *byte == b'(')).flatten();
    let head = &head[parameters.unwrap_or(0)..];
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
            assert_eq!(bases(text.as_bytes()), wanted, "{text}");
        };
        check("(Mixin, geo.Base[int, str], made(B, C), metaclass=M): pass", &["Mixin", "Base"]);
        check("[T: int](Mixin[T]): pass", &["Mixin"]);
        check(": x = f(B)", &[]);
        check("(\n    A,\n    C,\n): pass", &["A", "C"]);
        let check = |text: &str, wanted: &str| {
            let class = head(text.as_bytes(), text.find("class").unwrap() + 5);
            assert_eq!((class.name.as_str(), &class.bases[..]), ("A", &[wanted.to_owned()][..]), "{text}");
        };
        check("from m import Named as N\nclass A(N): pass", "Named");
        check("from m import (\n    Named as NB,\n    B)\nclass A(B): pass", "B");
    }
}
