//! The server that would check a language, for `code_status` and `hob doctor`. Starts no server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use lsp::server::{State, profile};
use syntax::{Language, family};

use super::{Options, Pool, Trusts, has_mark, root_of};
use crate::search::{Scope, list};
use crate::settings::CodeSettings;

/// The program that would be started or that the settings name, its state, and the reason why it would not be started.
pub(crate) type Would = (Option<String>, &'static str, Option<String>);

impl Pool {
    pub(crate) fn server_for(&self, env: &BTreeMap<String, String>, root: &Path, family: &'static str) -> Would {
        let Some(options) = self.options() else {
            let why = "no language server is asked here: uses stay unverified".to_owned();
            return (None, State::Absent.word(), Some(why));
        };
        let marks = profile::all().iter().find(|profile| profile.family == family);
        let at = marks.map_or_else(|| root.to_owned(), |profile| root_of(root, Path::new(""), profile));
        match self.program(options, env, root, &at, family) {
            Ok((_, command)) if crate::haskell::is_judged_by_ghc(family) => {
                (command.into_iter().next(), self.haskell().state(root), None)
            }
            Ok((_, command)) => (command.into_iter().next(), "not_started", None),
            Err(none) => (none.named, none.state.word(), Some(none.text)),
        }
    }
}

/// The result of `hob doctor` for a language of the project.
#[derive(Debug, PartialEq, Eq)]
pub struct Checked {
    pub language: &'static str,
    pub has_server: bool,
    /// True if the settings name a program that cannot run.
    pub is_misnamed: bool,
    /// True if its server runs code of the project.
    pub runs_code: bool,
    /// The program and its root, or the missing program and how to install it.
    pub detail: String,
}

/// Returns the server that would run project code in a directory, judged by its marker files.
pub fn runner_of_code(root: &Path) -> Option<&'static str> {
    let is_marked = |profile: &&profile::Profile| profile.roots.iter().any(|mark| has_mark(root, mark));
    let runners = profile::all().iter().filter(|profile| profile.runs_code.is_some());
    runners.into_iter().find(is_marked).map(|profile| profile.name.as_str())
}

/// Time limit for looking through the files.
const BUDGET: Duration = Duration::from_secs(2);

/// Returns the server of each language of a worktree in this environment.
pub fn checked(
    root: &Path,
    settings: &CodeSettings,
    withheld: Vec<String>,
    trusts: Trusts,
    env: &BTreeMap<String, String>,
) -> Vec<Checked> {
    let scope = Scope::for_root(root, BUDGET);
    let (files, _, _) = list(&scope, usize::MAX);
    // A language without a known server lacks nothing.
    let has_one = |family: &&str| profile::all().iter().any(|profile| profile.family == *family);
    let families: BTreeSet<&'static str> =
        files.iter().filter_map(|file| Language::by_name(file)).map(family).filter(has_one).collect();
    let pool = Pool::new(Some(Options::unstarted(settings.clone(), withheld, trusts)));
    let one = |family| {
        let (program, _, why) = pool.server_for(env, root, family);
        let (has_server, is_misnamed) = (why.is_none(), program.is_some() && why.is_some());
        let runs_code = profile::all().iter().any(|profile| profile.family == family && profile.runs_code.is_some());
        let judges = || format!("{}{}", project::visible(&program.unwrap_or_default()), without_root(root, family));
        Checked { language: family, has_server, is_misnamed, runs_code, detail: why.unwrap_or_else(judges) }
    };
    families.into_iter().map(one).collect()
}

/// Describes what its server would lack without a marker at the root.
fn without_root(root: &Path, family: &str) -> String {
    let marks = profile::all().iter().filter(|profile| profile.family == family).flat_map(|profile| &profile.roots);
    let marks: Vec<&str> = marks.map(String::as_str).collect();
    if marks.iter().any(|mark| has_mark(root, mark)) || crate::haskell::is_judged_by_ghc(family) {
        return String::new();
    }
    format!("; the root has none of {}, so it reads from the first folder that has one", marks.join(", "))
}
