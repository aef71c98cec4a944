//! A method and those that implement or override it: a call that means the one may run the other. Servers name one of them
//! only. In Rust it is looked at which trait each belongs to; in C++, Python, TypeScript and JavaScript a call of a base class's
//! method is a call of its overriders, which the server is asked for.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::classes::{any_at, declared_at, is_ambient, is_of_the_project, spot as place};
use super::derived::{Overrider, overrider};
use super::meaning::target_at;
use super::requests::{asked_at, hovered, spots_of};
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::blocking::blocking;
use crate::definition::{Definition, OfTrait, of_trait};
use crate::judgement::Code;
use crate::lsp::Location;
use crate::server::Session;
use crate::syntax::{Kind, Language, SCRIPTS, family, is_word, last_word, occurrences_at, unclosed};

const IMPLEMENTATION: &str = "textDocument/implementation";

/// What a call that means another method of the name may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dispatched {
    /// To this one of our definitions.
    To(usize),
    /// To one of ours, or to that of another trait of the same name: [`between`] asks.
    Either,
    /// To one of ours, if that overrides it: [`overrides`] asks.
    Overriders,
    /// To one of ours, if its class is given for an interface that it does not name.
    Structural,
    /// Not known.
    Undecided(Code),
}

/// What a method that is none of ours, at a spot, may come to; `None` for what has nothing to do with ours.
pub(super) fn dispatched(found: &Found, spot: &Spot, sheets: &Sheets) -> Option<Dispatched> {
    let mut ours = found.definitions.iter().enumerate().filter_map(|(at, one)| Some((at, one, one.of_trait.as_ref()?)));
    ours.clone().next()?;
    let other = trait_at(spot, sheets)?;
    let is_other_side = |(_, _, our): &(usize, &Definition, &OfTrait)| our.is_impl != other.is_impl;
    let is_same = |(_, _, our): &(usize, &Definition, &OfTrait)| our.name == other.name;
    if let Some((at, ..)) = ours.clone().filter(is_other_side).find(is_same) {
        // Two traits of one name are told apart by no syntax; nor is one of ours from one of another crate.
        let own = found.traits.iter().filter(|name| **name == other.name).count();
        let is_one = own == 0 || own == 1 && sheets.below(&spot.path).is_some();
        return Some(if is_one { Dispatched::To(at) } else { Dispatched::Either });
    }
    // `use geo::Shape as Form; impl Form for Circle`.
    let is_renamed = |one: &OfTrait, text: &[u8]| {
        let given = format!(" as {}", one.name);
        // `<Self as Shape>::area` gives no name.
        let is_given = |at: usize| !matches!(text.get(at + given.len()), Some(b'>' | b'<'));
        one.is_impl && memchr::memmem::find_iter(text, given.as_bytes()).any(is_given)
    };
    let there = sheets.get(&spot.path).is_some_and(|sheet| is_renamed(&other, sheet.text.as_bytes()));
    let may_be = |(_, one, our): (usize, &Definition, &OfTrait)| {
        there || found.texts.get(&*one.path).is_some_and(|text| is_renamed(our, text))
    };
    ours.find(is_other_side).filter(|one| may_be(*one)).map(|_| Dispatched::Undecided(Code::Dynamic))
}

/// Which of our definitions the method at a spot comes to, where several traits have the name: the implementations of the
/// trait's method are asked for.
pub(super) async fn between(
    found: &Found,
    spot: &Spot,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<Dispatched> {
    let other = trait_at(spot, sheets)?;
    for (at, one) in found.definitions.iter().enumerate() {
        let Some(our) = one.of_trait.as_ref().filter(|our| our.name == other.name && our.is_impl != other.is_impl)
        else {
            continue;
        };
        let ours = (sheets.path(&one.path), one.at);
        let there = (spot.path.clone(), spot.start);
        let (declared, implemented) = if our.is_impl { (there, ours) } else { (ours, there) };
        let answer = asked_at(session, sheets, IMPLEMENTATION, (&declared.0, declared.1), until).await;
        let Ok(all) = answer else { return Some(Dispatched::Undecided(Code::Dynamic)) };
        let is_it = |place: &Location| {
            sheets.spot(place).is_some_and(|spot| spot.path == implemented.0 && spot.start == implemented.1)
        };
        if all.iter().any(is_it) {
            return Some(Dispatched::To(at));
        }
    }
    None
}

/// Whether what stands at a spot is a member that one of ours may override: [`overrides`] asks.
pub(super) fn may_be_overridden(found: &Found, spot: &Spot, sheets: &Sheets) -> bool {
    let name = &found.question.name;
    let is_member = |kind: Kind| matches!(kind, Kind::Method | Kind::Field);
    let has_bases =
        |language| matches!(language, Language::Cpp | Language::Python | Language::Go) || family(language) == SCRIPTS;
    let mut ours = found.definitions.iter().filter(|one| has_bases(one.language) && is_member(one.kind));
    let Some(language) = ours.next().map(|one| one.language) else { return false };
    // Python gives what only the class itself may name a name of its own.
    if language == Language::Python && name.starts_with("__") && !name.ends_with("__") {
        return false;
    }
    let Some(sheet) = sheets.get(&spot.path) else { return false };
    let Some(start) = spot.start.checked_sub(sheet.skip) else { return false };
    let place = start..start + sheets.word(spot).len();
    let language = Language::of(&spot.path, sheet.text.as_bytes()).unwrap_or(language);
    let until = Instant::now() + Duration::from_secs(1);
    let all = occurrences_at(language, sheet.text.as_bytes(), std::slice::from_ref(&place), until);
    let declares = all.and_then(|all| all.into_iter().next()?.declares);
    // In Go only an interface dispatches; what implements a method leads back to it, and to its other implementations.
    declares.is_some_and(|declares| is_member(declares.kind) && (language != Language::Go || declares.is_signature))
}

/// How many methods are asked for their overriders, one after the other: some servers name only the nearest.
const MOST_OVERRIDERS: usize = 50;

/// Which of our definitions overrides the method at a spot, in a class below the next one too. `from` names it as well.
pub(super) async fn overrides(
    found: &Found,
    spot: &Spot,
    mut from: Option<(PathBuf, usize)>,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<Dispatched> {
    let mut known = vec![(spot.path.clone(), spot.start)];
    let mut at = 0;
    while let Some((path, start)) = known.get(at).cloned() {
        if at == MOST_OVERRIDERS {
            return Some(Dispatched::Undecided(Code::OverALimit));
        }
        at += 1;
        if sheets.get(&path).is_none() {
            continue;
        }
        let mut answer = asked_at(session, sheets, IMPLEMENTATION, (&path, start), until).await;
        if let Some((path, at)) = from.take().filter(|_| answer.is_err()) {
            answer = asked_at(session, sheets, IMPLEMENTATION, (&path, at), until).await;
        }
        let Ok(all) = answer else { return Some(Dispatched::Undecided(Code::Dynamic)) };
        for place in all {
            let Some(spot) = sheets.spot(&place) else { continue };
            let soon = Instant::now() + Duration::from_secs(1);
            let there = target_at(sheets, &spot, &found.question.name, soon).and_then(|target| target.declares);
            let is_it = |one: &Definition| {
                let is_there = sheets.path(&one.path) == spot.path && one.at == spot.start;
                // The prototype in the class, and the method outside of it.
                is_there || there.as_ref().is_some_and(|there| !one.inside.is_empty() && one.inside == there.inside)
            };
            if let Some(number) = found.definitions.iter().position(is_it) {
                return Some(Dispatched::To(number));
            }
            let next = (spot.path, spot.start);
            // What implements a method leads back in Go, to all that it implements.
            if !known.contains(&next) && Language::by_name(&path) != Some(Language::Go) {
                known.push(next);
            }
        }
    }
    if Language::by_name(&spot.path) == Some(Language::Go) && blocking(|| is_of_generic_interface(spot, sheets)) {
        // gopls names nothing that implements one with type parameters.
        return Some(Dispatched::Undecided(Code::Dynamic));
    }
    match overrider(found, spot, session, sheets, until).await {
        // Which arguments a template has is not compared.
        Overrider::Is(number) if found.definitions[number].language != Language::Cpp => {
            return Some(Dispatched::To(number));
        }
        Overrider::Is(_) | Overrider::Unknown => return Some(Dispatched::Undecided(Code::Dynamic)),
        Overrider::None => {}
    }
    blocking(|| is_structural(found, spot, sheets)).then_some(Dispatched::Structural)
}

/// Whether a spot declares a method in an interface or an object type of TypeScript, or in a `Protocol` of Python, and one of ours
/// has a body: the class of ours may be given for it without naming it.
fn is_structural(found: &Found, spot: &Spot, sheets: &Sheets) -> bool {
    let has_body = |one: &Definition| one.kind == Kind::Method && !one.is_signature;
    let is_ours = sheets.below(&spot.path).is_some_and(is_of_the_project) && !is_ambient(&spot.path);
    let Some(sheet) = sheets.get(&spot.path).filter(|_| is_ours && found.definitions.iter().any(has_body)) else {
        return false;
    };
    let text = sheet.text.as_bytes();
    let language = Language::of(&spot.path, text);
    let Some(declares) = any_at(sheets, spot).map(|(declares, _)| declares) else { return false };
    match language {
        Some(Language::Python) => declares.marks.bases.iter().any(|base| text.get(base.clone()) == Some(b"Protocol")),
        Some(Language::TypeScript | Language::Tsx) => {
            let of_class = declares
                .marks
                .class
                .as_ref()
                .and_then(|class| declared_at(sheets, &place(&spot.path, class, sheet.skip)));
            let is_interface = of_class.is_none_or(|(class, _)| class.kind == Kind::Interface);
            declares.is_signature && is_interface
        }
        _ => false,
    }
}

/// Whether a call runs the method that it names and no override of it, as what is before the point shows: a value of C++ (`Base b;
/// b.go()`), a class itself (`Base.go(self)`, `Base.prototype.go`), an object made there (`new Base().go()`).
pub(super) async fn is_direct(
    found: &Found,
    site: &Site,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let receiver = found.receiver(site);
    let is_made = site.language == Language::Python && receiver.ends_with(b")");
    let receiver = match family(site.language) == SCRIPTS {
        true => receiver.strip_suffix(b".prototype").or_else(|| made_there(receiver)).unwrap_or(receiver),
        // What a class makes is of no class below it, but where it says itself what it makes.
        false if site.language == Language::Python => called(receiver).unwrap_or(receiver),
        false => receiver,
    };
    let name = last_word(receiver);
    if name.is_empty() {
        return false;
    }
    // It may be an object of any class below, or such a class.
    if matches!(name, b"this" | b"self" | b"cls") {
        return false;
    }
    let start = receiver.len() - name.len();
    let path = sheets.path(&site.path);
    if site.language == Language::Cpp {
        return is_a_value(&path, start, session, sheets, until).await;
    }
    // A variable may hold a class below it.
    let mut spots = spots_of(&path, start, session, sheets, until).await.unwrap_or_default();
    let is_python = site.language == Language::Python;
    let made = |variable: &Spot| if is_python { made_in_python(variable, sheets) } else { made_as(variable, sheets) };
    let mut is_made = is_made;
    if let [variable] = &spots[..]
        && let Some(class) = blocking(|| made(variable))
    {
        let text = sheets.get(&class.path).map(|sheet| sheet.text.as_bytes()).unwrap_or_default();
        if !is_python && is_assigned_again(text, sheets.word(&class).as_bytes()) {
            return false;
        }
        is_made = is_python;
        spots = spots_of(&class.path, class.start, session, sheets, until).await.unwrap_or_default();
    }
    if family(site.language) == SCRIPTS {
        let text = found.texts.get(&site.path).map(|text| &text[..]).unwrap_or_default();
        if is_assigned_again(text, name) {
            return false;
        }
        spots = classes_of(spots, session, sheets, until).await;
    }
    let is_it = |one: &Spot| is_class(one, sheets) && !(is_made && makes_others(one, sheets));
    !spots.is_empty() && blocking(|| spots.iter().all(is_it))
}

/// How many patterns and exports are followed one after the other.
const MOST_EXPORTS: usize = 3;

/// The classes that TypeScript leads to by their constructors, and by what modules of CommonJS export.
async fn classes_of(mut spots: Vec<Spot>, session: &Session, sheets: &mut Sheets, until: Instant) -> Vec<Spot> {
    for spot in &mut spots {
        for _ in 0..MOST_EXPORTS {
            if blocking(|| is_class(spot, sheets)) {
                break;
            }
            if let Some(class) = blocking(|| class_of_constructor(spot, sheets)) {
                *spot = class;
                break;
            }
            let Some(at) = blocking(|| leads_on(spot, sheets)) else { break };
            let next = spots_of(&spot.path, at, session, sheets, until).await.unwrap_or_default();
            match <[Spot; 1]>::try_from(next) {
                Ok([next]) if (&next.path, next.start) != (&spot.path, spot.start) => *spot = next,
                _ => break,
            }
        }
    }
    spots
}

/// Where the name stands that a pattern, a variable or an export gives on as it is: `{ Shape }`, `exports.Shape = Shape`,
/// `module.exports = Shape`. What a condition chooses, or is assigned again, may be another class.
fn leads_on(spot: &Spot, sheets: &Sheets) -> Option<usize> {
    let sheet = sheets.get(&spot.path)?;
    let start = spot.start.checked_sub(sheet.skip)?;
    let text = sheet.text.get(start..)?;
    let word = sheets.word(spot);
    let is_module = text.starts_with("module.exports");
    let rest = &text[if is_module { "module.exports".len() } else { word.len() }..];
    let value = rest.trim_start().strip_prefix(['=', ':']).map(str::trim_start);
    let Some(value) = value else {
        return (!is_assigned_again(sheet.text.as_bytes(), word.as_bytes())).then_some(spot.start);
    };
    let value = value.split([';', ',', '\n', '}']).next().unwrap_or_default().trim_end();
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
    let at = value.as_ptr().addr() - sheet.text.as_ptr().addr() + value.len() - last_word(value.as_bytes()).len();
    match is_module {
        true => is_name.then_some(at + sheet.skip),
        false if is_assigned_again(sheet.text.as_bytes(), word.as_bytes()) => None,
        false => (is_name || value.starts_with("require(")).then_some(spot.start),
    }
}

/// Whether a file assigns a name more than once.
fn is_assigned_again(text: &[u8], name: &[u8]) -> bool {
    let is_assigned = |at: &usize| {
        let is_whole = !text[..*at].last().is_some_and(|byte| is_word(*byte) || b".$".contains(byte));
        let after = text[at + name.len()..].trim_ascii_start();
        is_whole && after.starts_with(b"=") && !after.starts_with(b"==") && !after.starts_with(b"=>")
    };
    memchr::memmem::find_iter(text, name).filter(is_assigned).nth(1).is_some()
}

/// The class around a constructor of TypeScript.
fn class_of_constructor(spot: &Spot, sheets: &Sheets) -> Option<Spot> {
    let (declares, skip) = any_at(sheets, spot).filter(|_| sheets.word(spot) == "constructor")?;
    Some(place(&spot.path, declares.marks.class.as_ref()?, skip))
}

/// The class of what a local of Python is made as, and nothing else is: `shape = geo.Circle(1)`.
fn made_in_python(variable: &Spot, sheets: &Sheets) -> Option<Spot> {
    let sheet = sheets.get(&variable.path)?;
    let start = variable.start.checked_sub(sheet.skip)?;
    let name = sheets.word(variable);
    let line = sheet.text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let is_local = start > line && sheet.text[line..start].trim().is_empty();
    let value = sheet.text[start + name.len()..].lines().next()?.trim();
    let class = called(value.strip_prefix('=')?.trim().as_bytes())?;
    let is_path = class.iter().all(|byte| is_word(*byte) || *byte == b'.');
    // Bound anywhere else in its function, it may be another one there.
    let function = function_around(&sheet.text, start)?;
    let binds = |at: usize| {
        let (before, after) = (sheet.text[..at].trim_end(), sheet.text[at + name.len()..].trim_start());
        let is_whole = !sheet.text[..at].ends_with(|c: char| c.is_alphanumeric() || "_.".contains(c))
            && !sheet.text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_assigned =
            after.starts_with('=') && !after.starts_with("==") || after.starts_with(':') || after.starts_with(',');
        is_whole
            && (is_assigned
                || ["for", "as", "global", "nonlocal"]
                    .contains(&std::str::from_utf8(last_word(before.as_bytes())).unwrap_or_default()))
    };
    let places = sheet.text.match_indices(name).filter(|(at, _)| function.contains(at));
    let times = places.filter(|(at, _)| binds(*at)).count();
    let word = last_word(class).len();
    let end = class.as_ptr().addr() - sheet.text.as_ptr().addr() + class.len() + sheet.skip;
    (is_local && is_path && times == 1 && word > 0).then(|| Spot {
        path: variable.path.clone(),
        start: end - word,
        end,
    })
}

/// The function of Python around a place, by the indentation of lines.
fn function_around(text: &str, at: usize) -> Option<Range<usize>> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut begin = text[..at].rfind('\n')? + 1;
    let mut most = at - begin;
    let head = loop {
        let line = text[begin..].lines().next()?;
        let is_less = !line.trim().is_empty() && indent(line) < most;
        if is_less {
            most = indent(line);
            if line.trim_start().starts_with("def ") || line.trim_start().starts_with("async def ") {
                break begin;
            }
        }
        begin = text[..begin.checked_sub(1)?].rfind('\n').map_or(0, |at| at + 1);
    };
    let mut end = at;
    for line in text[at..].split_inclusive('\n') {
        if end > at && !line.trim().is_empty() && indent(line) <= most {
            break;
        }
        end += line.len();
    }
    Some(head..end)
}

/// What is called at the end of a text: `geo.Circle(1)`.
fn called(text: &[u8]) -> Option<&[u8]> {
    Some(text[..text.strip_suffix(b")").and_then(|text| unclosed(text, b'('))?].trim_ascii_end())
}

/// Whether a class of Python says itself what it makes.
fn makes_others(class: &Spot, sheets: &Sheets) -> bool {
    let declared =
        declared_at(sheets, class).and_then(|(declares, _)| sheets.get(&class.path)?.text.get(declares.bytes));
    declared.is_none_or(|text| text.contains("__new__") || text.contains("metaclass"))
}

/// The class of what a constant of TypeScript is made as: `const shape = new geo.Circle(1)`.
fn made_as(variable: &Spot, sheets: &Sheets) -> Option<Spot> {
    let sheet = sheets.get(&variable.path)?;
    let text = sheet.text.as_bytes();
    let start = variable.start.checked_sub(sheet.skip)?;
    let end = start + sheets.word(variable).len();
    let is_constant = last_word(text.get(..start)?.trim_ascii_end()) == b"const";
    let class = text.get(end..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start().strip_prefix(b"new ")?;
    let length = class.iter().take_while(|byte| is_word(**byte) || b".$".contains(byte)).count();
    let name = last_word(&class[..length]).len();
    let at = text.len() - class.len() + length - name + sheet.skip;
    // `new Builder().build()` is what the builder makes, `new Circle() as Shape` is known as another.
    let statement = class.split(|byte| b";\n".contains(byte)).next().unwrap_or_default().trim_ascii_end();
    let opened = statement.strip_suffix(b")").and_then(|text| unclosed(text, b'(')).unwrap_or_default();
    let is_made = opened == length || opened > length && class[length] == b'<' && class[opened - 1] == b'>';
    (is_constant && is_made && name > 0).then(|| Spot { path: variable.path.clone(), start: at, end: at + name })
}

/// Whether a variable of C++ holds an object, and is no reference or pointer to one: its type may have a name of its own.
async fn is_a_value(path: &Path, at: usize, session: &Session, sheets: &Sheets, until: Instant) -> bool {
    // `Type: Ref (aka Base &)`.
    let shown = hovered(path, at, session, sheets, until).await;
    let of = shown.lines().find_map(|line| line.strip_prefix("Type: "));
    of.is_some_and(|of| !of.contains(['&', '*']))
}

/// The class of `new Base(…)` at the end of a text.
fn made_there(text: &[u8]) -> Option<&[u8]> {
    let class = called(text)?;
    let start = class.iter().rposition(|byte| !is_word(*byte) && !b".$".contains(byte)).map_or(0, |at| at + 1);
    (start < class.len() && class[..start].trim_ascii_end().ends_with(b"new")).then_some(class)
}

fn is_class(spot: &Spot, sheets: &Sheets) -> bool {
    declared_at(sheets, spot).is_some_and(|(declares, _)| matches!(declares.kind, Kind::Class | Kind::Struct))
}

/// Whether a method of Go is declared in an interface with type parameters.
fn is_of_generic_interface(spot: &Spot, sheets: &Sheets) -> bool {
    let Some(sheet) = sheets.get(&spot.path) else { return false };
    let before = sheet.text.get(..spot.start.saturating_sub(sheet.skip)).unwrap_or_default();
    before.rfind("interface").is_some_and(|at| before[..at].trim_end().ends_with(']'))
}

/// The trait that the method at a spot belongs to.
fn trait_at(spot: &Spot, sheets: &Sheets) -> Option<OfTrait> {
    let sheet = sheets.get(&spot.path)?;
    let (text, start) = (sheet.text.as_bytes(), spot.start.checked_sub(sheet.skip)?);
    let word = sheets.word(spot).len();
    let start = if text.get(start..)?.starts_with(b"r#") { start + 2 } else { start };
    let until = Instant::now() + Duration::from_secs(1);
    let all = occurrences_at(Language::Rust, text, std::slice::from_ref(&(start..start + word)), until)?;
    let one = all.into_iter().next()?;
    one.declares.as_ref()?;
    of_trait(Language::Rust, &one)
}
