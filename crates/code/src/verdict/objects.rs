//! What is said of sites, as the objects make it through which they reach their names: a call that may run several methods runs that of
//! the object's class, as far as that is told.

use std::time::Instant;

use super::decide::Said;
use super::derived::is_of_another;
use super::dispatch::is_direct;
use super::guessed::is_guessed;
use super::mixins::{self, Classes};
use super::texts::Sheets;
use crate::answer::Found;
use crate::judgement::Code;
use crate::lsp::Location;
use crate::server::Session;
use crate::syntax::{Class, Kind, Language, SCRIPTS, family};

/// How many objects are looked at whose class a judge may guess.
const MOST_GUESSED: usize = 300;

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
    let to_ask: Vec<usize> = sites.iter().filter(may_be).take(MOST_GUESSED).copied().collect();
    for at in to_ask {
        if is_guessed(found, &found.sites[at], session, sheets, until).await {
            said[at] = Said::Failed(Code::Dynamic);
        }
    }
}
