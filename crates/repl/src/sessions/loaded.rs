//! What GHCi has loaded, beside what an evaluation came to: nothing, not all of it, or text that has changed since. An
//! answer of old code looks like one of the new.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::task::JoinHandle;

use super::{Repl, load_hint};
use crate::load::LoadRecord;
use crate::result::{EvalResult, Status};
use crate::session::Handle;

/// At most so many files are looked at for each evaluation.
const MAX_LOOKED_AT: usize = 200;
/// How many changed files are named.
const NAMED: usize = 3;

/// A look at the sources of what is loaded, which goes on beside the evaluation: a file system may keep it waiting.
pub(crate) struct Look {
    load: Arc<LoadRecord>,
    changed: JoinHandle<(Vec<String>, u64)>,
}

impl Repl {
    /// Begins to look which sources have changed since they were loaded; nothing where none are.
    pub(crate) fn look_at_sources(&self, handle: &Handle) -> Option<Look> {
        let load = handle.loads().borrow().clone();
        if load.sources.is_empty() {
            return None;
        }
        let (cwd, of) = (handle.info().cwd, load.clone());
        Some(Look { load, changed: tokio::task::spawn_blocking(move || changed(&of, &cwd)) })
    }

    /// What callers of GHCi should know of the modules that their code was to use.
    pub(crate) async fn loaded_note(&self, handle: &Handle, result: &EvalResult, look: Option<Look>) -> Option<String> {
        if !result.status.is_final() || !self.is_ghci(handle) {
            return None;
        }
        let load = handle.loads().borrow().clone();
        let misses_a_name = result.status == Status::Error && result.stderr.contains("ot in scope");
        if misses_a_name && load.is_empty() {
            return load_hint(&handle.info());
        }
        if misses_a_name && !load.ok && load.generation > 1 {
            let summary = load.summary.trim_end_matches('.');
            return Some(format!("The last load failed ({summary}); repl_diagnostics says why."));
        }
        // Code that loaded something itself has the new text.
        let look = look.filter(|look| look.load.generation == load.generation)?;
        let (changed, newest) = look.changed.await.ok()?;
        let is_told = load.told.fetch_max(newest, Ordering::Relaxed) >= newest;
        (!changed.is_empty() && (misses_a_name || !is_told)).then(|| stale_note(&changed, &handle.info().name))
    }
}

/// The sources that were written after they were loaded, and when the last of them was, in nanoseconds.
fn changed(load: &LoadRecord, cwd: &Path) -> (Vec<String>, u64) {
    let Some(at) = load.at else { return (Vec::new(), 0) };
    let written = |file: &String| std::fs::metadata(cwd.join(file)).and_then(|data| data.modified()).ok();
    let since = load.sources.iter().take(MAX_LOOKED_AT);
    let since = since.filter_map(|file| Some((file.clone(), written(file).filter(|written| *written > at)?)));
    let (files, times): (Vec<String>, Vec<SystemTime>) = since.unzip();
    let newest = times.into_iter().max().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    (files, newest.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
}

fn stale_note(changed: &[String], session: &str) -> String {
    let arguments =
        if session == super::DEFAULT_SESSION { String::new() } else { format!(" {{\"session\": {session:?}}}") };
    let named = changed.iter().take(NAMED).map(|file| project::visible(file)).collect::<Vec<_>>().join(", ");
    let more = changed.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let have = if changed.len() == 1 { "has changed since it was" } else { "have changed since they were" };
    let them = if changed.len() == 1 { "it" } else { "them" };
    format!("{named}{more} {have} loaded: repl_reload{arguments} loads {them}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_up_to_three() {
        let files = ["A.hs", "B.hs", "C.hs", "D.hs"].map(str::to_owned);
        assert_eq!(stale_note(&files[..1], "main"), "A.hs has changed since it was loaded: repl_reload loads it.");
        assert_eq!(
            stale_note(&files, "b"),
            "A.hs, B.hs, C.hs and 1 more have changed since they were loaded: repl_reload {\"session\": \"b\"} loads them."
        );
    }
}
