//! Parallel parsing of the files that mention a name.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use syntax::without_cache;

use crate::search::Hit;

const MOST_THREADS: usize = 4;
/// Up to this many files, the parse trees are cached for the next step.
const FEW: usize = 8;

/// Parses each file on several threads, and returns the results in the order of the files.
pub(crate) fn in_turns<T: Send>(hits: &[Hit], parse: impl Fn(&Hit) -> T + Sync) -> impl Iterator<Item = (&Hit, T)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut parsed = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(hit) = hits.get(at) else { return parsed };
            parsed.push((at, if hits.len() <= FEW { parse(hit) } else { without_cache(|| parse(hit)) }));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, MOST_THREADS));
    let mut parsed: Vec<(usize, T)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(hits.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        // A panic of a thread is propagated.
        let others = others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(others).collect()
    });
    parsed.sort_by_key(|(at, _)| *at);
    hits.iter().zip(parsed).map(|(hit, (_, one))| (hit, one))
}
