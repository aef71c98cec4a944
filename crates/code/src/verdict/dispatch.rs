//! A trait's method and those of its implementations in Rust: a call that means the one may run the other. Servers name one of
//! them only, so it is looked at which trait each belongs to.

use super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::definition::{Definition, OfTrait, of_trait};
use crate::judgement::Code;
use crate::syntax::{Language, occurrences_at};
use std::time::{Duration, Instant};

/// What a call that means another method of the name may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dispatched {
    /// To this one of our definitions.
    To(usize),
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
        // Two traits of one name are told apart by no syntax.
        let is_one = found.traits.iter().filter(|name| **name == other.name).count() <= 1;
        return Some(if is_one { Dispatched::To(at) } else { Dispatched::Undecided(Code::Dynamic) });
    }
    // `use geo::Shape as Form; impl Form for Circle`.
    let is_renamed = |one: &OfTrait, text: &[u8]| {
        one.is_impl && memchr::memmem::find(text, format!(" as {}", one.name).as_bytes()).is_some()
    };
    let there = sheets.get(&spot.path).is_some_and(|sheet| is_renamed(&other, sheet.text.as_bytes()));
    let may_be = |(_, one, our): (usize, &Definition, &OfTrait)| {
        there || found.texts.get(&*one.path).is_some_and(|text| is_renamed(our, text))
    };
    ours.find(is_other_side).filter(|one| may_be(*one)).map(|_| Dispatched::Undecided(Code::Dynamic))
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
