//! Parallel parsing of the files that mention a name.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::search::Hit;
use crate::syntax::unkept;

/// The number of parser threads.
const THREADS: usize = 2;
/// Up to this many files, the parse trees are cached for the next step.
const FEW: usize = 8;

/// Parses each file on several threads, and returns the results in the order of the files.
pub(crate) fn in_turns<T: Send>(hits: &[Hit], parse: impl Fn(&Hit) -> T + Sync) -> impl Iterator<Item = (&Hit, T)> {
    first(hits, |_| true, parse)
}

/// Like [`in_turns`], but parses files that match the predicate before the others.
pub(super) fn first<T: Send>(
    hits: &[Hit],
    is_first: impl Fn(&Hit) -> bool,
    parse: impl Fn(&Hit) -> T + Sync,
) -> impl Iterator<Item = (&Hit, T)> {
    let (mut order, others): (Vec<usize>, Vec<usize>) = (0..hits.len()).partition(|at| is_first(&hits[*at]));
    order.extend(others);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut parsed = Vec::new();
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let hit = &hits[at];
            parsed.push((at, if hits.len() <= FEW { parse(hit) } else { unkept(|| parse(hit)) }));
        }
        parsed
    };
    let mut parsed: Vec<(usize, T)> = std::thread::scope(|threads| {
        let others: Vec<_> = (1..THREADS.min(hits.len())).map(|_| threads.spawn(work)).collect();
        let own = work();
        // A panic of a thread is propagated.
        let others = others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(others).collect()
    });
    parsed.sort_by_key(|(at, _)| *at);
    hits.iter().zip(parsed).map(|(hit, (_, one))| (hit, one))
}
