//! What is said of sites, as the objects make it through which they reach their names: a call that may run several methods runs that of
//! the object's class, as far as that is told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::classes::any_at;
use super::decide::Said;
use super::derived::is_of_another;
use super::dispatch::{Dispatched, is_direct, may_be_overridden, overrides};
use super::guessed::is_guessed;
use super::mixins::{self, Classes};
use super::requests::{answered, asked_at};
use super::said::exported;
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::blocking::blocking;
use crate::definition::Definition;
use crate::judgement::Code;
use crate::lsp::Location;
use crate::server::Session;
use crate::syntax::{Class, Kind, Language, SCRIPTS, family, is_word, last_word, names_module};

/// How many objects are looked at whose class a judge may guess, or names in part.
const MOST_GUESSED: usize = 500;

/// What is said of a site that may come to one of ours, by the class of its object.
pub(super) async fn by_object(
    found: &Found,
    at: usize,
    said: Said,
    classes: &Classes,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Said {
    let site = &found.sites[at];
    let other = Said::Other { is_interface: false };
    // What an object has itself is no use of what a class has.
    let are_fields = found.definitions.iter().all(|one| one.kind == Kind::Field);
    let is_held = family(site.language) == SCRIPTS || are_fields;
    if is_held && site.class == Class::Binding && matches!(said, Said::Dispatched(_)) {
        return other;
    }
    let may_dispatch = match site.language {
        Language::Cpp => matches!(said, Said::Dispatched(_)),
        Language::Rust | Language::Go => false,
        _ => matches!(said, Said::Dispatched(_) | Said::Failed(Code::Dynamic)),
    };
    if may_dispatch && is_direct(found, site, session, sheets, until).await {
        return other;
    }
    match said {
        Said::Dispatched(number) if is_of_another(found, site, number, classes, session, sheets, until).await => other,
        said => said,
    }
}

/// Says of what is required under a name what is said of that name.
pub(super) fn by_name(found: &Found, sites: &[usize], said: &mut [Said]) {
    for &at in sites {
        let site = &found.sites[at];
        let is_silent = said[at] == Said::Nothing && site.class == Class::Import && site.alias.is_some();
        let is_of_the_name = |one: &&usize| {
            let other = &found.sites[**one];
            other.path == site.path && other.alias == site.alias && matches!(said[**one], Said::Ours(_))
        };
        if let Some(&other) = sites.iter().filter(|_| is_silent).find(is_of_the_name) {
            said[at] = said[other].clone();
        }
    }
    // Of `module.exports.area = area` beside `module.exports = Shape` TypeScript knows nothing.
    for &at in sites {
        let site = &found.sites[at];
        if said[at] != Said::Nothing || family(site.language) != SCRIPTS {
            continue;
        }
        if site.class == Class::FieldWrite
            && let Some(next) = exported(found, site)
        {
            said[at] = next;
        } else if let Some(source) = required_from(found, site) {
            let is_ours = |export: &&usize| {
                let export = &found.sites[**export];
                export.class == Class::Export && names_module(&site.path, &source, &export.path)
            };
            if let Some(ours @ Said::Ours(_)) = sites.iter().find(is_ours).map(|export| said[*export].clone()) {
                said[at] = ours;
            }
        }
    }
}

/// What a file requires the name from that stands at a site: `const { area } = require("./geo")`, `geo.area` of such a `geo`.
fn required_from(found: &Found, site: &Site) -> Option<String> {
    let text = found.texts.get(&site.path)?;
    let after = match site.class {
        Class::Import => site.at,
        Class::FieldRead | Class::Call | Class::Construct | Class::Value if site.is_member => {
            let name = last_word(found.receiver(site));
            let given = [name, b" = require("].concat();
            let mut all = memchr::memmem::find_iter(text, &given).filter(|_| !name.is_empty());
            all.find(|at| *at == 0 || !is_word(text[at - 1]))?
        }
        _ => return None,
    };
    let statement = text.get(after..)?.split(|byte| *byte == b';').next()?;
    let source = &statement[memchr::memmem::find(statement, b"require(")?..];
    let source = source.split(|byte| b"'\"`".contains(byte)).nth(1)?;
    Some(String::from_utf8_lossy(source).into_owned())
}

/// Leaves open what means the method of a class beside ours: which one runs only the class of the object tells.
pub(super) fn by_order(
    found: &Found,
    beside: Vec<(usize, Vec<Location>)>,
    classes: &Classes,
    sheets: &mut Sheets,
    said: &mut [Said],
) {
    for (at, places) in beside {
        let is_other = matches!(said[at], Said::Other { .. }) && found.sites[at].is_member;
        let mut spots = places.iter().filter(|_| is_other);
        if spots.any(|place| sheets.spot(place).is_some_and(|spot| mixins::is_of(&classes.beside, &spot, sheets))) {
            said[at] = Said::Failed(Code::Dynamic);
        }
    }
}

/// Says ours of what is called on an object of one of several classes, of which TypeScript names the first alone: `s.area()` of
/// `s: Square | Circle`.
pub(super) async fn by_union(
    found: &Found,
    sites: &[usize],
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
    said: &mut [Said],
) {
    let are_methods = found.definitions.iter().any(|one| one.kind == Kind::Method);
    let may_be = |at: &&usize| {
        let site = &found.sites[**at];
        let is_call = site.class == Class::Call && site.is_member;
        family(site.language) == SCRIPTS && is_call && are_methods && matches!(said[**at], Said::Other { .. })
    };
    let to_ask: Vec<usize> = sites.iter().filter(may_be).copied().collect();
    let mut known: BTreeMap<Spot, Option<Dispatched>> = BTreeMap::new();
    for (number, at) in to_ask.into_iter().enumerate() {
        if number >= MOST_GUESSED {
            said[at] = Said::Failed(Code::OverALimit);
            continue;
        }
        let (path, start) = (sheets.path(&found.sites[at].path), found.sites[at].at);
        let answer = asked_at(session, sheets, "textDocument/typeDefinition", (&path, start), until).await;
        let Some(places) = answered(answer) else {
            said[at] = Said::Failed(Code::OutOfTime);
            continue;
        };
        let spots: Vec<Spot> = blocking(|| places.iter().filter_map(|place| sheets.spot(place)).collect());
        let ours = blocking(|| {
            // Of one that is called on an object of one class the definition tells as much.
            let is_it = |one: &Definition| {
                let path = sheets.path(&one.path);
                spots.len() > 1 && spots.iter().any(|spot| spot.path == path && spot.start == one.at)
            };
            found.definitions.iter().position(is_it)
        });
        if let Some(number) = ours {
            said[at] = Said::Ours(number);
            continue;
        }
        // The signatures of one method are of one class.
        let classes: BTreeSet<Option<usize>> = blocking(|| {
            let class =
                |spot| any_at(sheets, spot).and_then(|(declares, _)| declares.marks.class).map(|class| class.start);
            spots.iter().map(class).collect()
        });
        for spot in spots.iter().filter(|_| classes.len() > 1) {
            if !known.contains_key(spot) {
                let come_to = match blocking(|| may_be_overridden(found, spot, sheets)) {
                    true => overrides(found, spot, None, session, sheets, until).await,
                    false => None,
                };
                known.insert(spot.clone(), come_to);
            }
            match known[spot] {
                Some(Dispatched::To(number)) => said[at] = Said::Dispatched(number),
                Some(_) if matches!(said[at], Said::Other { .. }) => said[at] = Said::Failed(Code::Dynamic),
                _ => {}
            }
        }
    }
}

/// Leaves open what is reached through an object whose class is guessed.
pub(super) async fn by_guess(
    found: &Found,
    sites: &[usize],
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
    said: &mut [Said],
) {
    let may_be = |at: &&usize| {
        let site = &found.sites[**at];
        let is_duck_typed = matches!(site.language, Language::Python | Language::JavaScript);
        is_duck_typed && site.is_member && matches!(said[**at], Said::Other { .. })
    };
    let to_ask: Vec<usize> = sites.iter().filter(may_be).copied().collect();
    for (number, at) in to_ask.into_iter().enumerate() {
        if number >= MOST_GUESSED {
            said[at] = Said::Failed(Code::OverALimit);
            continue;
        }
        if is_guessed(found, &found.sites[at], session, sheets, until).await {
            said[at] = Said::Failed(Code::Dynamic);
        }
    }
}
