//! The subject of an event for rules: the commands in a shell's text, and paths with their links resolved.
//!
//! This module reads links from the disk; the decision does not.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use project::normal;

use super::access::{self, Access};
use super::code;
use super::shell::{self, Script, Simple};
use crate::event::{Command, Event, ToolKind};

/// The subject of an event.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The commands of a shell tool.
    pub script: Option<Script>,
    /// The files named by the tool.
    pub(super) paths: Vec<NamedPath>,
    /// The files opened by the commands of a shell's text.
    pub(super) opened: Vec<Opened>,
    /// True if a redirection writes a file.
    pub(super) writes: bool,
    /// The commands of code that may be shell code.
    pub(super) code_script: Option<Script>,
    /// The quoted paths in code of another language; `None` if there are more than the limit.
    pub(super) code_paths: Option<Vec<NamedPath>>,
}

/// A file: its path as named, and the path after links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// Relative to the root if below it, else absolute.
    pub(super) named: PathBuf,
    pub(super) leads_to: PathBuf,
}

/// A file that a command may open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) access: Access,
    pub(super) place: NamedPath,
}

/// Tool arguments that name the working directory.
const WORKDIR_FIELDS: &[&str] = &["workdir", "cwd", "directory", "dir_path", "working_directory"];
/// The maximum number of links that are followed.
const LINKS_MAX: usize = 40;

impl Subject {
    /// Determines the subject of an event in this worktree. `cwd` is the working directory if the event does not name one.
    pub fn from_event(event: &Event, worktree: &Path, cwd: &Path) -> Subject {
        let Some(tool) = &event.tool else { return Subject::default() };
        let cwd = event.cwd.as_deref().unwrap_or(cwd);
        // A tool may run in another directory.
        let own = WORKDIR_FIELDS.iter().find_map(|name| tool.input.get(name)?.as_str());
        let cwd = own.map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
        let worktree = LazyCell::new(|| worktree.canonicalize().unwrap_or_else(|_| worktree.to_owned()));
        let place = |path: &str| NamedPath::resolve(path, &worktree, &cwd);
        let script = tool.command.as_ref().map(|command| match command {
            Command::Text(text) => shell::script(text),
            Command::Words(words) => shell::program(words),
        });
        let code = tool.code.as_ref();
        // Path arguments of a shell do not count, whatever fields its input has.
        let paths = if tool.kind == ToolKind::Shell { &[][..] } else { tool.paths.as_slice() };
        let opened = script.iter().flat_map(|script| access::accesses(script, &cwd)).map(|access| Opened {
            place: if access.path.starts_with('\u{2}') {
                NamedPath { named: PathBuf::from(&access.path), leads_to: PathBuf::from(&access.path) }
            } else {
                place(&access.path)
            },
            access,
        });
        Subject {
            paths: paths.iter().map(|path| place(path)).collect(),
            writes: script.iter().flat_map(|script| &script.commands).any(Simple::writes_file),
            opened: opened.collect(),
            code_script: code.and_then(code::commands_if_shell),
            code_paths: code.map_or_else(|| Some(Vec::new()), |code| code::quoted_paths(code, place)),
            script,
        }
    }
}

impl NamedPath {
    /// Resolves a path, as seen from `cwd`. `worktree` is a canonical path.
    fn resolve(path: &str, worktree: &Path, cwd: &Path) -> NamedPath {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let whole = match path.strip_prefix("~/") {
            Some(rest) => home().map_or_else(|| cwd.join(path), |home| home.join(rest)),
            None => cwd.join(path),
        };
        let below = |path: PathBuf| match path.strip_prefix(worktree) {
            Ok(below) => below.to_owned(),
            Err(_) => path,
        };
        NamedPath { named: below(normal(&whole)), leads_to: below(followed(&whole)) }
    }
}

/// Resolves the links of a path. Its end need not exist.
fn followed(path: &Path) -> PathBuf {
    let mut left: Vec<PathBuf> = path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut at = PathBuf::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.as_os_str().to_str() {
            Some(".") => continue,
            Some("..") => {
                at.pop();
                continue;
            }
            _ => {}
        }
        let next = at.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) if links < LINKS_MAX => {
                links += 1;
                left.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                if target.is_absolute() {
                    at = PathBuf::new();
                }
            }
            _ => at = next,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_where_it_leads() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir(root.join("secret")).unwrap();
        symlink("../secret", root.join("src/link")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, named, leads_to) in [
            ("src/a", "src/a", "src/a"),
            ("./src/../src//deep/./a", "src/deep/a", "src/deep/a"),
            ("src/link/new/file", "src/link/new/file", "secret/new/file"),
            ("src/link/../a", "src/a", "a"),
            ("loop/x", "loop/x", "loop/x"),
        ] {
            let place = NamedPath::resolve(path, &root, &root);
            assert_eq!((place.named.to_str(), place.leads_to.to_str()), (Some(named), Some(leads_to)), "{path}");
        }
        let outside = NamedPath::resolve("/etc/hosts", &root, &root);
        assert_eq!(outside.named, Path::new("/etc/hosts"));
        assert_eq!(NamedPath::resolve("a", &root, &root.join("src/deep")).named, Path::new("src/deep/a"));
    }
}
