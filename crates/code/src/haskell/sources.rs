//! The files of a worktree that GHC may read, and what their text says about their modules.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use syntax::Language;

use crate::walk::{Entry, Files, walk};

/// The version of a file: inode, length, and the change times of the file and its directory entry.
pub(super) type Stamp = (u64, u64, i128, i128);

/// Returns the stamp of a file; `None` if it does not exist.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(path).ok()?;
    let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    Some((data.ino(), data.len(), time(data.mtime(), data.mtime_nsec()), time(data.ctime(), data.ctime_nsec())))
}

/// All files that may affect the output of GHC, by absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sources(BTreeMap<PathBuf, Stamp>);

/// Extensions of files that no compiler reads.
const PROSE: &[&str] = &["adoc", "log", "md", "rst"];

impl Sources {
    /// Scans the hand-written files of a worktree.
    pub(super) async fn scan(root: &Path) -> Result<Sources, String> {
        let root = root.to_owned();
        let scan = move || {
            let all = Mutex::new(BTreeMap::new());
            let add = |path: PathBuf| all.lock().extend(stamp(&path).map(|stamp| (path, stamp)));
            let visit = |met: Entry| match met {
                Entry::File(path) if may_be_read(&path) => add(path),
                _ => {}
            };
            walk(&root, &root, Files::Written, || false, visit);
            add(root.join(PLAN));
            Sources(all.into_inner())
        };
        tokio::task::spawn_blocking(scan).await.map_err(|error| error.to_string())
    }

    pub(super) fn with_extension<'a>(&'a self, of: &'a [&str]) -> impl Iterator<Item = &'a Path> {
        self.0.keys().filter(|path| extension(path).is_some_and(|one| of.contains(&one))).map(PathBuf::as_path)
    }
}

/// The plan of cabal for packages, relative to the root of a project.
pub(super) const PLAN: &str = "dist-newstyle/cache/plan.json";

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn may_be_read(path: &Path) -> bool {
    let is_prose = extension(path).is_some_and(|extension| PROSE.contains(&extension));
    !is_prose && Language::by_name(path).is_none_or(|language| matches!(language, Language::Haskell | Language::C))
}

/// Returns the lines of code: in literate Haskell those after `>`.
fn lines<'a>(path: &Path, text: &'a str) -> impl Iterator<Item = &'a str> {
    let is_literate = extension(path) == Some("lhs");
    let code = |line: &'a str| line.strip_prefix("> ").or(line.strip_prefix('>'));
    text.lines().map(move |line| code(line).filter(|_| is_literate).unwrap_or(line))
}

/// Returns the name at the start of a text: `Data.Map` in `Data.Map (…)`.
fn name(rest: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '\'');
    rest.trim_start().split(|c| !is_part(c)).next().unwrap_or_default()
}

/// Returns the module name of a file; `Main` by default.
pub(super) fn module(path: &Path, text: &str) -> String {
    let header =
        lines(path, text).find_map(|line| line.strip_prefix("module").filter(|rest| rest.starts_with([' ', '\t'])));
    // The name may be on the next line.
    let after = || {
        let mut all = lines(path, text).skip_while(|line| line.trim_end() != "module");
        all.next().and_then(|_| all.find(|line| !line.trim().is_empty()))
    };
    header.or_else(after).map(name).filter(|name| !name.is_empty()).unwrap_or("Main").to_owned()
}

/// Returns the modules that the lines of a file import. Ignores preprocessor conditions.
pub(super) fn imports(path: &Path, text: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut rest = line.trim_start().strip_prefix("import")?.trim_start();
        while let Some(word) = rest.split_whitespace().next() {
            if word.starts_with(char::is_uppercase) {
                return Some(name(rest).to_owned());
            }
            let after = if rest.starts_with("{-#") { rest.split_once("#-}")?.1 } else { &rest[word.len()..] };
            rest = after.trim_start();
        }
        None
    };
    lines(path, text).filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_module_they_are_and_what_they_import() {
        let text = "{-# LANGUAGE CPP #-}\n-- | A module\nmodule Data.Geo\n  ( area ) where\nimport qualified Data.Map as M\n\
                    import {-# SOURCE #-} Loop\nimport safe \"base\" Data.List (sort)\nimportant = 1\n";
        let file = Path::new("Geo.hs");
        assert_eq!(module(file, text), "Data.Geo");
        assert_eq!(imports(file, text), ["Data.Map", "Loop", "Data.List"]);
        assert_eq!(module(file, "main = print 1\n"), "Main");
        assert_eq!(module(file, "module\n  Far.Away where\n"), "Far.Away");
        let literate = "Text.\n\n> module Lit where\n> import Geo\n";
        assert_eq!(module(Path::new("Lit.lhs"), literate), "Lit");
        assert_eq!(imports(Path::new("Lit.lhs"), literate), ["Geo"]);
    }
}
