//! Overridden methods and their overriders: a call that names one may run the other, but servers name only one of them. In
//! Rust their traits relate them. Elsewhere the server is asked for overriders. The bases in class heads relate members that
//! no server does: class variables, static members, and methods of templates.

use std::collections::BTreeMap;

use lsp::server::profile::rules;
use syntax::{C_AND_CPP, Kind, Language, SCRIPTS, family};

use super::classes::{any_at, declared_at, is_ambient, is_of_the_project, spot as place};
use crate::answer::{Candidates, Site};
use crate::definition::{Definition, OfTrait, of_trait};
use crate::inquiry::{Inquiry, Sheets, Spot, target_at};

const IMPLEMENTATION: &str = "textDocument/implementation";

/// Possible targets of a call that resolves to another method of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dispatch {
    To(usize),
    /// One of the definitions, if the server says so.
    Unasked,
    /// One of the definitions, if its class is passed as an interface that it does not name.
    Structural,
    Unknown,
}

/// Returns the possible targets of another Rust method of the name; `None` if it is unrelated.
fn of_traits(found: &Candidates, spot: &Spot, sheets: &Sheets) -> Option<Dispatch> {
    let ours = found.definitions.iter().enumerate().filter_map(|(at, one)| Some((at, one, one.of_trait.as_ref()?)));
    ours.clone().next()?;
    let other = trait_at(spot, sheets)?;
    let is_other_side = |(_, _, our): &(usize, &Definition, &OfTrait)| our.is_impl != other.is_impl;
    let is_same = |(_, _, our): &(usize, &Definition, &OfTrait)| our.name == other.name;
    if let Some((at, ..)) = ours.clone().filter(is_other_side).find(is_same) {
        // Syntax cannot distinguish two traits of the same name, nor one of the project from one of another crate.
        let own = found.traits.iter().filter(|name| **name == other.name).count();
        let is_one = own == 0 || own == 1 && sheets.relative_path(&spot.path).is_some();
        return Some(if is_one { Dispatch::To(at) } else { Dispatch::Unasked });
    }
    // `use geo::Shape as Form; impl Form for Circle`.
    let is_renamed = |one: &OfTrait, text: &[u8]| {
        let given = format!(" as {}", one.name);
        // `<Self as Shape>::area` does not rename the trait.
        let is_given = |at: usize| !matches!(text.get(at + given.len()), Some(b'>' | b'<'));
        one.is_impl && memchr::memmem::find_iter(text, given.as_bytes()).any(is_given)
    };
    let there = sheets.get(&spot.path).is_some_and(|text| is_renamed(&other, text.as_bytes()));
    let may_be = |(_, one, our): &(usize, &Definition, &OfTrait)| {
        there || found.texts.get(&*one.path).is_some_and(|text| is_renamed(our, text))
    };
    ours.filter(is_other_side).any(|one| may_be(&one)).then_some(Dispatch::Unknown)
}

fn trait_at(spot: &Spot, sheets: &Sheets) -> Option<OfTrait> {
    let one = sheets.occurrence(spot)?;
    one.declares.as_ref()?;
    of_trait(Language::Rust, &one)
}

/// True if one of the definitions may override the member at a spot: [`Inquiry::override_of`] decides.
fn may_be_overridden(found: &Candidates, spot: &Spot, sheets: &Sheets) -> bool {
    let name = &found.question.name;
    let is_member = |kind: Kind| matches!(kind, Kind::Method | Kind::Field);
    let has_bases = |language| rules(family(language)).overrides && language != Language::C;
    let mut ours = found.definitions.iter().filter(|one| has_bases(one.language) && is_member(one.kind));
    let Some(language) = ours.next().map(|one| one.language) else { return false };
    // Python mangles private names, so that no subclass overrides them.
    if language == Language::Python && name.starts_with("__") && !name.ends_with("__") {
        return false;
    }
    // In Go only an interface dispatches. Its implementations lead back to it, and thus to the others.
    any_at(sheets, spot)
        .is_some_and(|declares| is_member(declares.kind) && (language != Language::Go || declares.is_signature))
}

/// The maximum number of methods to disambiguate by trait, or to ask for overriders.
const MOST_METHODS: usize = 100;
/// The maximum number of overriders to ask for their own. Some servers name only the nearest ones.
const MOST_OVERRIDERS: usize = 50;
/// The maximum number of classes to look into.
const MOST_CLASSES: usize = 50;

/// The targets of methods that were decided, and how.
#[derive(Default)]
pub(super) struct Dispatches {
    known: BTreeMap<Spot, Option<Dispatch>>,
    /// True if the server may be asked.
    pub may_ask: bool,
    /// The number of methods about which it was asked.
    asked: usize,
}

impl Inquiry<'_> {
    /// Decides which definition is run by a call that resolves to another method of this name; `None` if no definition is.
    pub(super) async fn dispatch(&mut self, site: &Site, spot: &Spot, all: &mut Dispatches) -> Option<Dispatch> {
        let is_rust = site.language == Language::Rust;
        let by_syntax = || match is_rust {
            true => of_traits(self.found, spot, self.sheets),
            false => may_be_overridden(self.found, spot, self.sheets).then_some(Dispatch::Unasked),
        };
        let mut dispatch = all.known.get(spot).copied().unwrap_or_else(by_syntax);
        if dispatch == Some(Dispatch::Unasked) && all.may_ask && all.asked < MOST_METHODS {
            all.asked += 1;
            let from = Spot::at(self.sheets.path(&site.path), site.at);
            dispatch = if is_rust { self.resolve_dispatch(spot).await } else { self.override_of(spot, from).await };
        }
        all.known.insert(spot.clone(), dispatch);
        dispatch
    }

    /// Decides which definition the method at a spot runs if several traits have the same name.
    async fn resolve_dispatch(&mut self, spot: &Spot) -> Option<Dispatch> {
        let other = trait_at(spot, self.sheets)?;
        for (at, one) in self.found.definitions.iter().enumerate() {
            let Some(our) = one.of_trait.as_ref().filter(|our| our.name == other.name && our.is_impl != other.is_impl)
            else {
                continue;
            };
            let own = Spot::at(self.sheets.path(&one.path), one.at);
            let (declared, implemented) = if our.is_impl { (spot, &own) } else { (&own, spot) };
            let Ok(all) = self.ask(IMPLEMENTATION, declared).await else { return Some(Dispatch::Unknown) };
            if self.sheets.spots(&all).iter().any(|spot| spot.begins_at(implemented)) {
                return Some(Dispatch::To(at));
            }
        }
        None
    }

    /// Decides which definition overrides the method at a spot, also indirectly. `from` is another place that names it: some
    /// servers answer only for an open file.
    async fn override_of(&mut self, spot: &Spot, from: Spot) -> Option<Dispatch> {
        let mut from = Some(from);
        let mut known = vec![spot.clone()];
        let mut at = 0;
        while let Some(method) = known.get(at).cloned() {
            if at == MOST_OVERRIDERS {
                return Some(Dispatch::Unknown);
            }
            at += 1;
            if self.sheets.get(&method.path).is_none() {
                continue;
            }
            let mut answer = self.ask(IMPLEMENTATION, &method).await;
            if let Some(from) = from.take().filter(|_| answer.is_err()) {
                answer = self.ask(IMPLEMENTATION, &from).await;
            }
            let Ok(all) = answer else { return Some(Dispatch::Unknown) };
            for spot in self.sheets.spots(&all) {
                let there = target_at(self.sheets, &spot, &self.found.question.name, self.sheets.until());
                let there = there.and_then(|target| target.declares);
                let is_it = |one: &Definition| {
                    let is_there = self.sheets.path(&one.path) == spot.path && one.at == spot.start;
                    // The prototype in the class and the method outside of it are one.
                    is_there || there.as_ref().is_some_and(|there| !one.inside.is_empty() && one.inside == there.inside)
                };
                if let Some(number) = self.found.definitions.iter().position(is_it) {
                    return Some(Dispatch::To(number));
                }
                // In Go the implementations lead back to all their interfaces.
                let leads_back = Language::by_name(&spot.path) == Some(Language::Go);
                if !leads_back && !known.iter().any(|known| known.begins_at(&spot)) {
                    known.push(spot);
                }
            }
        }
        if is_generic(spot, self.sheets) {
            return Some(Dispatch::Unknown);
        }
        match self.overrider(spot).await {
            Ok(Some(number)) => Some(Dispatch::To(number)),
            Err(()) => Some(Dispatch::Unknown),
            Ok(None) => is_structural(self.found, spot, self.sheets).then_some(Dispatch::Structural),
        }
    }

    /// Decides which definition overrides the member at a spot, by the bases of its class; `Err` if the server does not
    /// answer.
    async fn overrider(&mut self, spot: &Spot) -> Result<Option<usize>, ()> {
        // clangd answers itself.
        let is_cpp = Language::by_name(&spot.path).is_some_and(|language| family(language) == C_AND_CPP);
        let Some(above) = class_around(spot, self.sheets).filter(|_| !is_cpp) else { return Ok(None) };
        let are_static = is_static(spot, self.sheets);
        for (number, one) in self.found.definitions.iter().enumerate() {
            let is_member = matches!(one.kind, Kind::Method | Kind::Field) && !one.is_outside();
            let Some(own) = is_member.then(|| self.spot_of(one)).flatten() else { continue };
            // TypeScript answers for methods itself, but not for static ones.
            if family(one.language) == SCRIPTS && !(are_static && is_static(&own, self.sheets)) {
                continue;
            }
            let Some(class) = self.class_of(&own).await.filter(|class| *class != above) else { continue };
            if self.has_base(class, &above).await? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Returns the spot of a definition whose file was read.
    pub(super) fn spot_of(&self, one: &Definition) -> Option<Spot> {
        let path = self.sheets.path(&one.path);
        self.sheets.get(&path)?;
        Some(Spot { path, start: one.at, end: one.at + self.found.question.name.len() })
    }

    /// Returns the class of a member, also for a C++ method defined outside of its class.
    pub(super) async fn class_of(&mut self, own: &Spot) -> Option<Spot> {
        if let Some(class) = class_around(own, self.sheets) {
            return Some(class);
        }
        let places = self.ask("textDocument/declaration", own).await.ok()?;
        self.sheets.spots(&places).iter().find_map(|spot| class_around(spot, self.sheets))
    }

    /// True if a class has another one among its direct or indirect bases; `Err` if the server does not answer.
    pub(super) async fn has_base(&mut self, class: Spot, wanted: &Spot) -> Result<bool, ()> {
        let mut classes = vec![class];
        let mut at = 0;
        while let Some(class) = classes.get(at).cloned().filter(|_| at < MOST_CLASSES) {
            at += 1;
            let Some(declares) = declared_at(self.sheets, &class) else {
                // An alias, or a template parameter.
                if Language::by_name(&class.path).is_some_and(|language| family(language) == C_AND_CPP) {
                    return Err(());
                }
                continue;
            };
            for base in &declares.marks.bases {
                let targets = self.defined(&place(&class.path, base)).await.ok_or(())?;
                if targets.iter().any(|target| target.begins_at(wanted)) {
                    return Ok(true);
                }
                classes.extend(targets.into_iter().filter(|target| !classes.contains(target)).collect::<Vec<_>>());
            }
        }
        Ok(false)
    }
}

/// Returns the spot of the class whose member is declared at a spot.
pub(super) fn class_around(spot: &Spot, sheets: &Sheets) -> Option<Spot> {
    let one = sheets.occurrence(spot)?;
    // A field assigned in a method belongs to the class around the method.
    let is_class = |kind| matches!(kind, Kind::Class | Kind::Struct);
    let around = || one.enclosing.iter().rev().find(|place| is_class(place.kind)).map(|place| place.at);
    let declared = one.declares.as_ref().and_then(|declares| declares.marks.class.as_ref());
    let class = Spot::at(spot.path.clone(), declared.map(|class| class.start).or_else(around)?);
    Some(Spot { end: class.start + sheets.word(&class).len(), ..class })
}

/// True if a spot declares a method in a TypeScript interface or object type, or in a Python `Protocol`, and one of the
/// definitions has a body. Its class may then implement the interface without naming it.
fn is_structural(found: &Candidates, spot: &Spot, sheets: &Sheets) -> bool {
    let has_body = |one: &Definition| one.kind == Kind::Method && !one.is_signature;
    let is_ours = sheets.relative_path(&spot.path).is_some_and(is_of_the_project) && !is_ambient(&spot.path);
    if !is_ours || !found.definitions.iter().any(has_body) {
        return false;
    }
    let Some(declares) = any_at(sheets, spot) else { return false };
    match Language::by_name(&spot.path) {
        Some(Language::Python) => {
            declares.marks.bases.iter().any(|base| sheets.text(&place(&spot.path, base)) == "Protocol")
        }
        Some(Language::TypeScript | Language::Tsx) => {
            let class = declares.marks.class.as_ref().map(|class| place(&spot.path, class));
            let is_interface = |class| declared_at(sheets, &class).is_some_and(|one| one.kind == Kind::Interface);
            declares.is_signature && class.is_none_or(is_interface)
        }
        _ => false,
    }
}

/// True if a method is declared in a generic interface of Go, or is virtual in a template of C++: servers do not find the
/// methods that implement or override it.
fn is_generic(spot: &Spot, sheets: &Sheets) -> bool {
    let before = sheets.text_before(&spot.path, spot.start);
    match Language::by_name(&spot.path) {
        Some(Language::Go) => before.rfind("interface").is_some_and(|at| before[..at].trim_end().ends_with(']')),
        Some(Language::Cpp | Language::C) => {
            let head = before.rsplit([';', '{', '}', ':']).next().unwrap_or_default();
            let end = sheets.text_from(&spot.path, spot.start).split([';', '{']).next().unwrap_or_default();
            let is_virtual = head.contains("virtual") || end.contains("override") || end.contains("final");
            let class = class_around(spot, sheets).filter(|_| is_virtual).map(|class| class.start).unwrap_or_default();
            let before = sheets.text_before(&spot.path, class).rsplit([';', '{', '}']).next();
            before.is_some_and(|before| before.contains("template"))
        }
        _ => false,
    }
}

/// True if a member in TypeScript or JavaScript is static, by its modifiers: `public static level`.
fn is_static(spot: &Spot, sheets: &Sheets) -> bool {
    let before = sheets.text_before(&spot.path, spot.start);
    let modifiers = before.rsplit(['\n', ';', '{', '}']).next().unwrap_or_default();
    modifiers.split_ascii_whitespace().any(|word| word == "static")
}
