//! Sorts definitions by dependency.

use std::collections::{BTreeSet, HashMap};

use crate::syntax::ast::Name;

/// Returns the indices of definitions, each after those that it needs and as early as possible; and separately the
/// indices of definitions that are in a cycle or need one that is. `needs` calls back with the names that a definition
/// needs.
pub(super) fn ordered<'a, T>(
    all: &'a [T],
    name: impl Fn(&'a T) -> &'a Name,
    needs: impl Fn(&'a T, &mut dyn FnMut(&'a Name)),
) -> (Vec<usize>, Vec<usize>) {
    let places: HashMap<&Name, usize> = all.iter().enumerate().map(|(at, one)| (name(one), at)).collect();
    let mut waits = vec![0_usize; all.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
    for (at, one) in all.iter().enumerate() {
        needs(one, &mut |needed| {
            if let Some(place) = places.get(needed) {
                waits[at] += 1;
                waiting[*place].push(at);
            }
        });
    }
    let mut ready: BTreeSet<usize> = (0..all.len()).filter(|at| waits[*at] == 0).collect();
    let mut order = Vec::with_capacity(all.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for other in &waiting[at] {
            waits[*other] -= 1;
            if waits[*other] == 0 {
                ready.insert(*other);
            }
        }
    }
    let rest = (0..all.len()).filter(|at| waits[*at] > 0).collect();
    (order, rest)
}
