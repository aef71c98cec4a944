//! What is said of sites, as the objects make it through which they reach their names: a call that may run several methods runs that of
//! the object's class, as far as that is told.

use std::time::Instant;

use super::decide::Said;
use super::derived::is_of_another;
use super::dispatch::is_direct;
use super::heads::Heads;
use super::texts::Sheets;
use crate::answer::Found;
use crate::judgement::Code;
use crate::server::Session;
use crate::syntax::{Class, Kind, Language, SCRIPTS, family};

/// What is said of a site that may come to one of ours, by the class of its object.
pub(super) async fn by_object(
    found: &Found,
    at: usize,
    said: Said,
    heads: &Heads,
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
        Said::Dispatched(number) if is_of_another(found, site, number, heads, session, sheets, until).await => other,
        said => said,
    }
}
