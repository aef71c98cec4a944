//! Notes about the modules that GHCi has loaded: none, not all, or from a text that has changed since. An answer from
//! old code looks like one from the new code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::task::JoinHandle;

use super::{DEFAULT_SESSION, Repl, load_hint};
use crate::default_session::arguments;
use crate::load::LoadRecord;
use crate::profile::{components, descriptions};
use crate::result::{EvalResult, Status};
use crate::session::Handle;

/// The maximum number of files checked for each evaluation.
const MAX_LOOKED_AT: usize = 200;
/// The number of changed files that are named.
const NAMED: usize = 3;
/// GHCi's messages about a name or a module that is not loaded.
const MISSES: [&str; 4] = ["ot in scope", "which is not loaded", "Could not find module", "Could not load module"];

/// A check of the loaded sources, concurrent with the evaluation since a file system may block it.
pub(crate) struct Look {
    load: Arc<LoadRecord>,
    changed: JoinHandle<Changed>,
}

/// The files written after they were read.
#[derive(Debug, Default)]
struct Changed {
    /// Sources written since the last load.
    sources: Vec<String>,
    /// Descriptions of the package written since the session started.
    descriptions: Vec<String>,
    /// The time of the newest write, in nanoseconds.
    newest: u64,
}

impl Repl {
    /// Starts to check which loaded files have changed; `None` without loaded files.
    pub(crate) fn look_at_sources(&self, handle: &Handle) -> Option<Look> {
        let load = handle.loads().borrow().clone();
        if load.generation == 0 {
            return None;
        }
        let (info, of) = (handle.info(), load.clone());
        let profile = self.options.profiles.get(&info.profile);
        // A program with components read their description when it started.
        let is_described = profile.is_ok_and(|profile| !profile.component.is_empty());
        let changed = move || {
            let described = if is_described { descriptions(&info.cwd, &info.worktree) } else { Vec::new() };
            changed(&of, &info.cwd, described)
        };
        Some(Look { load, changed: tokio::task::spawn_blocking(changed) })
    }

    /// Returns notes for callers of GHCi about the modules that their code uses.
    pub(crate) async fn loaded_notes(&self, handle: &Handle, result: &EvalResult, look: Option<Look>) -> Vec<String> {
        let mut notes = Vec::new();
        if !result.status.is_final() || !self.is_ghci(handle) {
            return notes;
        }
        let (load, name) = (handle.loads().borrow().clone(), handle.info().name);
        let misses = result.status == Status::Error && MISSES.iter().any(|words| result.stderr.contains(words));
        if misses && load.is_empty() {
            return load_hint(&handle.info()).into_iter().collect();
        }
        // The first user of a new session may need a module that did not compile.
        let is_news = load.generation == 1 && !load.ok && !load.failure_told.swap(true, Ordering::Relaxed);
        notes.extend(load.failure(&name).filter(|_| misses || is_news));
        if let Some(missed) = missed(&result.stderr).filter(|_| misses && load.ok) {
            let (info, sources) = (handle.info(), load.sources.clone());
            let look = move || in_other_component(&missed, &info.cwd, &info.worktree, &sources);
            notes.extend(tokio::task::spawn_blocking(look).await.ok().flatten());
        }
        // Code that loaded something itself has the new text.
        let Some(look) = look.filter(|look| look.load.generation == load.generation) else { return notes };
        let Ok(changed) = look.changed.await else { return notes };
        let is_told = load.told.fetch_max(changed.newest, Ordering::Relaxed) >= changed.newest;
        if misses || !is_told {
            notes.extend(changed.notes(&name));
        }
        notes
    }

    /// Returns notes on changes since the load, even if they were reported before.
    pub(crate) async fn stale_notes(&self, handle: &Handle) -> Vec<String> {
        let Some(look) = self.look_at_sources(handle) else { return Vec::new() };
        let changed = look.changed.await.unwrap_or_default();
        look.load.told.fetch_max(changed.newest, Ordering::Relaxed);
        changed.notes(&handle.info().name)
    }
}

/// Returns the unknown name in GHCi's message, without its module.
fn missed(stderr: &str) -> Option<String> {
    let (at, words) = MISSES.iter().filter_map(|words| Some((stderr.find(*words)?, words))).min()?;
    // `not in scope: main`, `Not in scope: type constructor or class ‘Foo’`, `Could not find module ‘Foo’`.
    let rest = stderr[at + words.len()..].lines().next()?.trim_start_matches(':');
    let quoted = rest.split_once('‘').and_then(|(_, rest)| rest.split_once('’'));
    let name = quoted.map(|(name, _)| name).or_else(|| rest.split_whitespace().next())?;
    let name = if words.ends_with("module") {
        name
    } else {
        name.rsplit('.').next().filter(|name| !name.is_empty()).unwrap_or(name)
    };
    Some(name.to_owned()).filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Returns the note on a name in a component of the package that is not loaded.
fn in_other_component(name: &str, cwd: &Path, root: &Path, sources: &BTreeSet<String>) -> Option<String> {
    let mut others = components(cwd, root);
    // Files that a session of GHCi itself loaded belong to no component.
    if !others.iter().any(|component| component.is_among(sources, cwd)) {
        return None;
    }
    others.retain(|component| !component.is_among(sources, cwd) && component.declares(name));
    // Tests have a `main`, too.
    others.sort_by_key(|component| !component.name.starts_with("exe:"));
    let first = others.first()?;
    let names: Vec<&str> = others.iter().take(NAMED).map(|component| &*component.name).collect();
    let are = if names.len() == 1 { "which is" } else { "which are" };
    Some(format!("{} is in {}, {are} not loaded: {}.", project::visible(name), names.join(", "), first.start()))
}

/// Returns the files that were written after they were read.
fn changed(load: &LoadRecord, cwd: &Path, descriptions: Vec<PathBuf>) -> Changed {
    let mut newest = None;
    let mut is_after = |file: &Path, read: Option<SystemTime>| {
        let written = std::fs::metadata(cwd.join(file)).and_then(|data| data.modified()).ok();
        let written = written.filter(|written| read.is_some_and(|read| *written > read));
        newest = newest.max(written);
        written.is_some()
    };
    // A file that failed to compile may never have been compiled.
    let failed = load.diagnostics.iter().filter_map(|diagnostic| diagnostic.file.as_ref());
    let sources: BTreeSet<&String> = load.sources.iter().chain(failed).collect();
    let sources = sources.into_iter().take(MAX_LOOKED_AT).filter(|file| is_after(Path::new(file), load.at));
    let sources = sources.cloned().collect();
    let descriptions = descriptions.iter().take(MAX_LOOKED_AT).filter(|file| is_after(file, load.first_at));
    let descriptions = descriptions.map(|file| file.strip_prefix(cwd).unwrap_or(file).display().to_string()).collect();
    let newest = newest.and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok());
    let newest = newest.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    Changed { sources, descriptions, newest }
}

impl Changed {
    fn notes(&self, session: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.sources.is_empty() {
            let them = if self.sources.len() == 1 { ("it was", "it") } else { ("they were", "them") };
            notes.push(format!(
                "{} since {} loaded: repl_reload{} loads {}.",
                have_changed(&self.sources),
                them.0,
                arguments(session),
                them.1
            ));
        }
        if !self.descriptions.is_empty() {
            let restart = match session {
                DEFAULT_SESSION => json!({"replay": "definitions"}),
                _ => json!({"session": session, "replay": "definitions"}),
            };
            notes.push(format!(
                "{} since the session started, and a reload does not apply it: call repl_restart {restart}.",
                have_changed(&self.descriptions)
            ));
        }
        notes
    }
}

/// Formats `A.hs, B.hs, C.hs and 1 more have changed`.
fn have_changed(files: &[String]) -> String {
    let named = files.iter().take(NAMED).map(|file| project::visible(file)).collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{named}{more} {} changed", if files.len() == 1 { "has" } else { "have" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_is_a_name() {
        for (said, name) in [
            ("<interactive>:1:1: error: [GHC-88464]\n    Variable not in scope: main\n", Some("main")),
            ("error: Variable not in scope: foo :: Integer -> t", Some("foo")),
            ("error: Not in scope: type constructor or class ‘Shape’\n", Some("Shape")),
            ("error: Not in scope: ‘Data.Area.area’\n", Some("area")),
            ("    Could not find module ‘Data.Area’\n    It is not a module", Some("Data.Area")),
            ("error: Variable not in scope: (<+>) :: t", None),
            ("done", None),
        ] {
            assert_eq!(missed(said).as_deref(), name, "{said}");
        }
    }

    #[test]
    fn files_are_named_up_to_three() {
        let files = |count: usize| ["A.hs", "B.hs", "C.hs", "D.hs"].map(str::to_owned)[..count].to_vec();
        let notes = |sources, descriptions, session| {
            Changed { sources: files(sources), descriptions: files(descriptions), newest: 0 }.notes(session).join("\n")
        };
        assert_eq!(notes(1, 0, "main"), "A.hs has changed since it was loaded: repl_reload loads it.");
        assert_eq!(
            notes(4, 0, "b"),
            "A.hs, B.hs, C.hs and 1 more have changed since they were loaded: repl_reload {\"session\": \"b\"} loads them."
        );
        assert_eq!(
            notes(0, 1, "main"),
            "A.hs has changed since the session started, and a reload does not apply it: call repl_restart {\"replay\":\"definitions\"}."
        );
    }
}
