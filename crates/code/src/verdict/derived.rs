//! Classes below others, by the bases that they name: of what overrides class variables, static members and the methods of
//! templates no server tells.

use std::time::{Duration, Instant};

use super::classes::{declared_at, is_static, spot as place};
use super::heads::Heads;
use super::requests::{answered, asked_at, hovered};
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::server::Session;
use crate::syntax::{C_AND_CPP, Kind, Language, SCRIPTS, family, last_word, occurrences_at};

/// How many classes are looked into.
const MOST_CLASSES: usize = 50;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// What overrides a member.
pub(super) enum Overrider {
    /// This one of our definitions.
    Is(usize),
    None,
    /// The server does not answer.
    Unknown,
}

/// Which of our definitions overrides the member at a spot, as its class has that one's among its bases.
pub(super) async fn overrider(
    found: &Found,
    spot: &Spot,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Overrider {
    let Some(above) = blocking(|| class_around(spot, sheets)) else { return Overrider::None };
    let are_static = blocking(|| is_static_at(spot, sheets));
    let is_cpp = Language::by_name(&above.path).is_some_and(|language| family(language) == C_AND_CPP);
    // Of other classes of C++ clangd tells.
    if is_cpp && !blocking(|| is_virtual_of_template(spot, &above, sheets)) {
        return Overrider::None;
    }
    for (number, one) in found.definitions.iter().enumerate() {
        let is_field = one.kind == Kind::Field && !is_cpp;
        let is_member = (one.kind == Kind::Method || is_field) && !one.is_outside();
        let Some(own) = is_member.then(|| own_spot(one, found, sheets)).flatten() else { continue };
        // Of methods TypeScript tells, but not of static ones.
        let is_told = family(one.language) == SCRIPTS && !(are_static && blocking(|| is_static_at(&own, sheets)));
        if is_told {
            continue;
        }
        let class = match blocking(|| class_around(&own, sheets)) {
            Some(class) => Some(class),
            None => class_of_prototype(&own, session, sheets, until).await,
        };
        let Some(class) = class.filter(|class| *class != above) else { continue };
        match has_base(class, &above, session, sheets, until).await {
            Some(true) => return Overrider::Is(number),
            Some(false) => {}
            None => return Overrider::Unknown,
        }
    }
    Overrider::None
}

/// Whether the object that a site reaches its name through is of a class that has nothing to do with the one of our definition: one
/// beside it, which inherits what both have from a third.
pub(super) async fn is_of_another(
    found: &Found,
    site: &Site,
    number: usize,
    heads: &Heads,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let has_heirs = site.language == Language::Python;
    let is_cpp = site.language == Language::Cpp;
    if !has_heirs && !is_cpp && family(site.language) != SCRIPTS {
        return false;
    }
    let receiver = if is_cpp { receiver_in_cpp(found, site) } else { found.receiver(site) };
    let name = last_word(receiver);
    if name.is_empty() {
        return false;
    }
    let path = sheets.path(&site.path);
    let at = (path.as_path(), receiver.len() - name.len());
    let answer = asked_at(session, sheets, "textDocument/typeDefinition", at, until).await;
    let places = answer.unwrap_or_default();
    let of: Option<Vec<Spot>> = blocking(|| places.iter().map(|place| sheets.spot(place)).collect());
    let mut of = of.unwrap_or_default();
    if is_cpp {
        // What points to an object is asked for beside its class.
        of.retain(|class| sheets.below(&class.path).is_some());
        let before = found.texts.get(&site.path).and_then(|text| text.get(..site.at)).unwrap_or_default();
        let is_arrow = before.trim_ascii_end().ends_with(b"->");
        if !is_an_object(&hovered(&path, at.1, session, sheets, until).await, is_arrow) {
            return false;
        }
    }
    if matches!(name, b"self" | b"this") {
        let here = Spot { path: path.clone(), start: site.at, end: site.at };
        of = blocking(|| class_around(&here, sheets)).into_iter().collect();
    }
    let one = &found.definitions[number];
    let own = own_spot(one, found, sheets).and_then(|own| blocking(|| class_around(&own, sheets)));
    let own = match own {
        None if is_cpp => match own_spot(one, found, sheets) {
            Some(own) => class_of_prototype(&own, session, sheets, until).await,
            None => None,
        },
        own => own,
    };
    let Some(own) = own.filter(|_| !of.is_empty()) else { return false };
    // A class below both may have one object of their base.
    if is_cpp && blocking(|| has_virtual_bases(&own, sheets)) {
        return false;
    }
    for class in of {
        let is_class = blocking(|| declared_at(sheets, &class))
            .is_some_and(|(declares, _)| declares.kind == Kind::Class || is_cpp && declares.kind == Kind::Struct);
        let is_it = (&class.path, class.start) == (&own.path, own.start);
        let may_be = has_heirs && heads.have_heir(sheets.word(&class), sheets.word(&own));
        if !is_class
            || is_it
            || may_be
            || has_base(own.clone(), &class, session, sheets, until).await != Some(false)
            || is_cpp && blocking(|| has_virtual_bases(&class, sheets) || has_template_base(&own, sheets))
        {
            return false;
        }
    }
    true
}

/// What a site of C++ reaches its name through, by a point or an arrow.
fn receiver_in_cpp<'a>(found: &'a Found, site: &Site) -> &'a [u8] {
    let before = found.texts.get(&site.path).and_then(|text| text.get(..site.at)).unwrap_or_default().trim_ascii_end();
    before.strip_suffix(b"->").or(before.strip_suffix(b".")).map(<[u8]>::trim_ascii_end).unwrap_or_default()
}

/// Whether what clangd shows of a variable is an object, or behind an arrow what points to one: `Type: const Shape &`, `Type:
/// std::unique_ptr<Shape>`. Templates may be anything, and so may what an arrow of a class leads to.
fn is_an_object(shown: &str, is_arrow: bool) -> bool {
    let of = shown.lines().find_map(|line| line.strip_prefix("Type: ")).unwrap_or_default();
    let of = of.split(" (aka ").next().unwrap_or_default().trim_matches('`').trim_start_matches("const ");
    let inner = ["std::unique_ptr<", "std::shared_ptr<"].iter().find_map(|pointer| of.strip_prefix(pointer));
    let points = inner.is_some() || of.trim_end_matches(['&', ' ']).trim_end_matches("const").trim_end().ends_with('*');
    let name = inner.unwrap_or(of).trim_end_matches(|c: char| " &*>".contains(c));
    points == is_arrow && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || " _:".contains(c))
}

/// The head of the class whose name stands at a spot, from there to its body.
fn head_of<'a>(class: &Spot, sheets: &'a Sheets) -> &'a str {
    let sheet = sheets.get(&class.path);
    let rest = sheet.and_then(|sheet| sheet.text.get(class.start.saturating_sub(sheet.skip)..)).unwrap_or_default();
    rest.split(['{', ';']).next().unwrap_or_default()
}

/// Whether a class in the file of one has a virtual base: `struct Reader : virtual Stream {`.
fn has_virtual_bases(class: &Spot, sheets: &Sheets) -> bool {
    let text = sheets.get(&class.path).map(|sheet| &sheet.text[..]).unwrap_or_default();
    let is_base = |rest: &str| rest.find(['{', '(', ';']).is_some_and(|at| rest[at..].starts_with('{'));
    text.split("virtual ").skip(1).any(is_base)
}

/// Whether a base of a class of C++ is a template, whose own bases may be anything.
fn has_template_base(class: &Spot, sheets: &Sheets) -> bool {
    head_of(class, sheets).contains('<')
}

fn own_spot(one: &Definition, found: &Found, sheets: &Sheets) -> Option<Spot> {
    let path = sheets.path(&one.path);
    sheets.get(&path)?;
    Some(Spot { path, start: one.at, end: one.at + found.question.name.len() })
}

/// The class around a spot, whose member is declared or named there: where its name stands.
fn class_around(spot: &Spot, sheets: &Sheets) -> Option<Spot> {
    let sheet = sheets.get(&spot.path)?;
    let text = sheet.text.as_bytes();
    let start = spot.start.checked_sub(sheet.skip)?;
    let language = Language::of(&spot.path, text)?;
    let at = start..start + sheets.word(spot).len();
    let one = occurrences_at(language, text, &[at], Instant::now() + WITHIN)?.into_iter().next()?;
    // A field that a method assigns belongs to the class around that.
    let is_class = |kind| matches!(kind, Kind::Class | Kind::Struct);
    let around = || one.enclosing.iter().rev().find(|place| is_class(place.kind)).map(|place| place.at);
    let declared = one.declares.as_ref().and_then(|declares| declares.marks.class.as_ref());
    let name = declared.map(|class| class.start).or_else(around)?;
    let class = Spot { path: spot.path.clone(), start: name + sheet.skip, end: name + sheet.skip };
    Some(Spot { end: class.start + sheets.word(&class).len(), ..class })
}

/// The same for a method of C++ that is defined outside of its class.
async fn class_of_prototype(own: &Spot, session: &Session, sheets: &mut Sheets, until: Instant) -> Option<Spot> {
    let answer = asked_at(session, sheets, "textDocument/declaration", (&own.path, own.start), until).await;
    let places = answer.ok()?;
    blocking(|| places.iter().find_map(|place| class_around(&sheets.spot(place)?, sheets)))
}

/// Whether a class has another one among its bases, at any depth; `None` where the server does not answer.
async fn has_base(class: Spot, wanted: &Spot, session: &Session, sheets: &mut Sheets, until: Instant) -> Option<bool> {
    let mut classes = vec![class];
    let mut at = 0;
    while let Some(class) = classes.get(at).cloned().filter(|_| at < MOST_CLASSES) {
        at += 1;
        let Some((declares, skip)) = blocking(|| declared_at(sheets, &class)) else {
            // An alias, a parameter of a template.
            if Language::by_name(&class.path).is_some_and(|language| family(language) == C_AND_CPP) {
                return None;
            }
            continue;
        };
        for base in &declares.marks.bases {
            let base = place(&class.path, base, skip);
            let answer = asked_at(session, sheets, "textDocument/definition", (&base.path, base.start), until).await;
            let places = answered(answer)?;
            let targets: Vec<Spot> = blocking(|| places.iter().filter_map(|place| sheets.spot(place)).collect());
            if targets.iter().any(|target| (&target.path, target.start) == (&wanted.path, wanted.start)) {
                return Some(true);
            }
            classes.extend(targets.into_iter().filter(|target| !classes.contains(target)).collect::<Vec<_>>());
        }
    }
    Some(false)
}

/// Whether what stands at a spot is a virtual method of a class template.
fn is_virtual_of_template(spot: &Spot, class: &Spot, sheets: &Sheets) -> bool {
    let Some(sheet) = sheets.get(&spot.path) else { return false };
    let (before, rest) = sheet.text.split_at(spot.start.saturating_sub(sheet.skip));
    let head = before.rsplit([';', '{', '}', ':']).next().unwrap_or_default();
    let end = rest.split([';', '{']).next().unwrap_or_default();
    let is_virtual = head.contains("virtual") || end.contains("override") || end.contains("final");
    let class = sheets.get(&class.path).and_then(|sheet| sheet.text.get(..class.start.saturating_sub(sheet.skip)));
    let of = class.and_then(|before| before.rsplit([';', '{', '}']).next()).unwrap_or_default();
    is_virtual && of.contains("template")
}

fn is_static_at(spot: &Spot, sheets: &Sheets) -> bool {
    let sheet = sheets.get(&spot.path);
    sheet.is_some_and(|sheet| is_static(sheet.text.as_bytes(), spot.start.saturating_sub(sheet.skip)))
}
