//! Interfaces that a class meets without naming them, as `Protocol` in Python, and interfaces and classes in TypeScript are: a call
//! through one may run the class's method, and no server says so.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use super::classes::{
    declared_at, is_ambient, is_inert, is_of_the_library, is_of_the_project, is_static, spot as place,
};
use super::requests::asked_at;
use super::texts::{Sheet, Sheets, Spot};
use crate::answer::Found;
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::server::Session;
use crate::syntax::{Kind, Language, occurrences_at, occurrences_within, unclosed};

/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// How many classes are looked into.
const MOST_CLASSES: usize = 20;

/// Whether what is declared at a spot may mean one of ours: it stands in an interface, and the class of ours has a member for
/// each of the interface's, or bases that may have them.
pub(super) async fn may_meet(
    found: &Found,
    spot: &Spot,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let Some(required) = blocking(|| required(spot, sheets)) else { return false };
    let is_data = blocking(|| is_data(spot, sheets));
    let is_member = |one: &&Definition| matches!(one.kind, Kind::Method | Kind::Field) && !one.is_outside();
    for one in found.definitions.iter().filter(is_member) {
        let path = sheets.path(&one.path);
        // No interface has what is private, and no data is a function.
        let modifiers = modifiers(found, one);
        let is_accessor = modifiers.iter().any(|word| matches!(*word, b"get" | b"set"));
        let is_private = modifiers.iter().any(|word| matches!(*word, b"private" | b"protected"))
            || found.question.name.starts_with('#');
        let is_called = one.kind == Kind::Method && !is_accessor;
        if one.language != Language::Python && (is_private || is_data && is_called) {
            continue;
        }
        let Some(class) = one.marks.class.as_ref().map(|class| place(&path, class, 0)) else {
            let text = found.texts.get(&one.path).map(|text| &text[..]).unwrap_or_default();
            if literal_has_all(text, one.at, &required) {
                return true;
            }
            continue;
        };
        if has_all(class, required.clone(), session, sheets, until).await {
            return true;
        }
    }
    false
}

/// The words before the name of a member of TypeScript: `private readonly log`, `get area`.
fn modifiers<'a>(found: &'a Found, one: &Definition) -> Vec<&'a [u8]> {
    let before = found.texts.get(&one.path).and_then(|text| text.get(..one.at)).unwrap_or_default();
    let words = before.rsplit(|byte| b"\n,(;{}".contains(byte)).next().unwrap_or_default();
    words.split(u8::is_ascii_whitespace).collect()
}

/// Whether a member of an object type of TypeScript is no function: `table: string`.
fn is_data(spot: &Spot, sheets: &Sheets) -> bool {
    let rest = sheets.get(&spot.path).and_then(|sheet| sheet.text.get(spot.end.checked_sub(sheet.skip)?..));
    let of = rest.unwrap_or_default().trim_start_matches('?').trim_start().strip_prefix(':').map(str::trim_start);
    let of = of.and_then(|of| of.split([';', ',', '}', '\n', ')']).next()).unwrap_or_default().trim_end();
    matches!(of, "string" | "number" | "boolean" | "bigint" | "symbol")
}

/// The members that the interface around a spot asks for; `None` where it is no such interface.
fn required(spot: &Spot, sheets: &Sheets) -> Option<BTreeSet<String>> {
    let sheet = sheets.get(&spot.path)?;
    let text = sheet.text.as_bytes();
    let language = Language::of(&spot.path, text)?;
    let start = spot.start.checked_sub(sheet.skip)?;
    // Its interfaces are declared in pieces: what a class is for them is not told by the members of one.
    if is_of_the_library(&spot.path) {
        return None;
    }
    let place = start..start + sheets.word(spot).len();
    let one = occurrences_at(language, text, &[place], Instant::now() + WITHIN)?.into_iter().next()?;
    let declares = one.declares.as_ref()?;
    let around = one.enclosing.last();
    let is_in_class = one.enclosing.iter().any(|place| place.kind == Kind::Class);
    let bases = || declares.marks.bases.iter().filter_map(|base| text.get(base.clone()));
    let is_one = match language {
        Language::Python => is_in_class && bases().any(|base| base == b"Protocol"),
        // A class is an interface too, unless it has members that only it can have.
        Language::TypeScript | Language::Tsx | Language::JavaScript if is_in_class => declares.marks.bases.is_empty(),
        Language::TypeScript | Language::Tsx => declares.is_signature || declares.kind == Kind::Field,
        _ => false,
    };
    if !is_one {
        return None;
    }
    // `type Shown = { id: string }`.
    let Some(name) = declares.marks.class.clone() else { return Some(members_of_literal(text, start)) };
    around?;
    members_of(sheet, language, name)
}

/// The members that the class or interface whose name stands there asks for, where others may stand for it: TypeScript lets none that
/// has private members.
fn members_of(sheet: &Sheet, language: Language, name: Range<usize>) -> Option<BTreeSet<String>> {
    let (text, at) = (sheet.text.as_bytes(), name.start);
    let one = occurrences_at(language, text, &[name], Instant::now() + WITHIN)?.into_iter().next()?;
    let declares = one.declares?;
    let is_closed = language != Language::Python && declares.kind == Kind::Class;
    if is_closed && has_private_members(sheet.text.get(declares.bytes.clone())?) {
        return None;
    }
    let all = occurrences_within(language, text, declares.bytes, Instant::now() + WITHIN)?.all;
    let is_required = |name: &Range<usize>| {
        text.get(name.end) != Some(&b'?') && !is_static(text, name.start) && &text[name.clone()] != b"constructor"
    };
    let members = all.into_iter().filter(|one| {
        // A parameter of the constructor may be one: `constructor(public radius: number)`.
        let is_parameter = one.declares.as_ref().is_some_and(|declares| declares.kind == Kind::Field);
        let mut around = one.enclosing.iter().rev().take(if is_parameter { 2 } else { 1 });
        one.declares.is_some() && around.any(|place| place.at == at) && is_required(&one.bytes)
    });
    let members: Vec<(Range<usize>, Range<usize>)> =
        members.filter_map(|one| Some((one.bytes.clone(), one.declares?.bytes))).collect();
    // What the type of a member has is no member: `db: { host: string }`.
    let is_own = |name: &Range<usize>| {
        !members.iter().any(|(other, whole)| other != name && whole.start <= name.start && name.end <= whole.end)
    };
    let own = members.iter().map(|(name, _)| name).filter(|name| is_own(name));
    Some(own.filter_map(|name| Some(sheet.text.get(name.clone())?.to_owned())).collect())
}

/// The members of the object type that is written around one of them, without those that may be left out.
fn members_of_literal(text: &[u8], member: usize) -> BTreeSet<String> {
    let Some(opened) = unclosed(&text[..member], b'{') else { return BTreeSet::new() };
    let mut members = BTreeSet::new();
    let (mut depth, mut start) = (0usize, opened + 1);
    for (at, byte) in text.iter().enumerate().skip(opened + 1) {
        let ends = depth == 0 && b";,\n}".contains(byte);
        if ends {
            let part = String::from_utf8_lossy(&text[start..at]).into_owned();
            let part = part.trim().trim_start_matches("readonly ").to_owned();
            let end = part.find(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).unwrap_or(part.len());
            let is_required = end > 0 && (part[end..].starts_with(':') || part[end..].starts_with('('));
            members.extend(is_required.then(|| part[..end].to_owned()));
            start = at + 1;
        }
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b'}' if depth == 0 => break,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    members
}

/// Whether an object of a class may be given where one of another class is asked for, by its members.
pub(super) async fn stands_for(
    class: &Spot,
    other: &Spot,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let members = blocking(|| {
        let sheet = sheets.get(&other.path)?;
        let language = Language::of(&other.path, sheet.text.as_bytes())?;
        let start = other.start.checked_sub(sheet.skip)?;
        members_of(sheet, language, start..start + sheets.word(other).len())
    });
    match members {
        Some(members) => has_all(class.clone(), members, session, sheets, until).await,
        None => false,
    }
}

/// Whether the object that is written around a member has all of these, or may have them from another one.
fn literal_has_all(text: &[u8], member: usize, required: &BTreeSet<String>) -> bool {
    let Some(opened) = unclosed(&text[..member], b'{') else { return true };
    let mut depth = 0usize;
    let closed = text[opened..].iter().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let literal = String::from_utf8_lossy(&text[opened..closed.map_or(text.len(), |end| opened + end)]).into_owned();
    let words: BTreeSet<&str> = literal.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).collect();
    literal.contains("...") || required.iter().all(|name| words.contains(name.as_str()))
}

/// Whether a class of TypeScript has members that no other class can have.
fn has_private_members(class: &str) -> bool {
    let begins = |line: &str| ["private ", "protected ", "#"].iter().any(|word| line.trim_start().starts_with(word));
    let in_constructor = class.split_once("constructor").and_then(|(_, rest)| rest.split_once(')')).map(|(of, _)| of);
    class.lines().any(begins)
        || class.split(['{', ';']).any(begins)
        || in_constructor.is_some_and(|of| of.contains("private ") || of.contains("protected "))
}

/// Whether a class has all of these, or may have them by its bases. Where it cannot be told, it may.
async fn has_all(
    class: Spot,
    mut missing: BTreeSet<String>,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let mut classes = vec![class];
    let mut at = 0;
    while let Some(class) = classes.get(at).cloned() {
        at += 1;
        let Some((declares, skip)) = blocking(|| declared_at(sheets, &class)) else { return true };
        let text = sheets.get(&class.path).and_then(|sheet| sheet.text.get(declares.bytes)).unwrap_or_default();
        if declares.kind == Kind::Class && is_merged(&class, sheets) {
            return true;
        }
        let own = own_text(&class.path, text);
        let words: BTreeSet<&str> = own.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).collect();
        missing.retain(|name| !words.contains(name.as_str()));
        if missing.is_empty() || declares.marks.has_nameless_base || at == MOST_CLASSES {
            return true;
        }
        for base in &declares.marks.bases {
            let base = place(&class.path, base, skip);
            // An interface gives a class no members.
            if is_implemented(&class, &base, sheets) {
                continue;
            }
            let answer = asked_at(session, sheets, "textDocument/definition", (&base.path, base.start), until).await;
            let places = answer.unwrap_or_default();
            let targets: Vec<Spot> = blocking(|| places.iter().filter_map(|place| sheets.spot(place)).collect());
            if targets.is_empty() {
                return true;
            }
            for target in targets {
                let is_ours = sheets.below(&target.path).is_some_and(is_of_the_project) && !is_ambient(&target.path);
                match is_ours {
                    true if classes.contains(&target) => {}
                    true => classes.push(target),
                    false if is_inert(&target.path, sheets.word(&target), "") => {}
                    false => return true,
                }
            }
        }
    }
    false
}

/// The text of a class or an interface, of TypeScript without the object types of its members: what they have are other members.
fn own_text(path: &Path, text: &str) -> String {
    let mut own = text.to_owned();
    if !matches!(Language::by_name(path), Some(Language::TypeScript | Language::Tsx)) {
        return own;
    }
    for (at, _) in text.match_indices('{') {
        let before = &text[..at];
        let line = before.rsplit('\n').next().unwrap_or_default();
        let is_in_text =
            ['\'', '"', '`'].iter().any(|quote| line.matches(*quote).count() % 2 == 1) || line.contains("//");
        let mut depth = 0usize;
        let closed = text[at..].find(|c| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        if let Some(length) = closed.filter(|_| before.trim_end().ends_with(':') && !is_in_text) {
            let of_type = &text[at..at + length];
            own.replace_range(at..at + length, &" ".repeat(of_type.len()));
        }
    }
    own
}

/// Whether an interface of TypeScript gives a class more members: `class Sprite {} interface Sprite extends Jumps {}`.
fn is_merged(class: &Spot, sheets: &Sheets) -> bool {
    let interface = format!("interface {} ", sheets.word(class));
    sheets.get(&class.path).is_some_and(|sheet| sheet.text.contains(&interface))
}

/// Whether a base stands in the list of a class's interfaces.
fn is_implemented(class: &Spot, base: &Spot, sheets: &Sheets) -> bool {
    let text = sheets.get(&class.path).and_then(|sheet| sheet.text.get(class.start.saturating_sub(sheet.skip)..));
    let head = text.and_then(|text| text.get(..base.start.saturating_sub(class.start)));
    head.is_some_and(|head| head.split_whitespace().any(|word| word == "implements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_within_the_types_of_members() {
        let check = |text: &str, wanted: &str| {
            let own = own_text(Path::new("a.ts"), text);
            assert_eq!(own.split_whitespace().collect::<Vec<_>>().join(" "), wanted, "{text}");
        };
        check(
            "class A { of: { host: string }; go(): { size: number } { return 1; } }",
            "class A { of: }; go(): } { return 1; } }",
        );
        check(
            "class A { go() { if (c === '{') {} } label = ': {'; }",
            "class A { go() { if (c === '{') {} } label = ': {'; }",
        );
    }

    #[test]
    fn members_of_an_object_type() {
        let text = "type A = { readonly id: string; of: { host: string }, go(x: { a: 1 }): void\n  more?: number }";
        let members = members_of_literal(text.as_bytes(), text.find("of").unwrap());
        assert_eq!(members.into_iter().collect::<Vec<_>>(), ["go", "id", "of"]);
    }
}
