//! What an event is about, as rules look at it: the commands in a shell's text, and paths as the file system leads them.
//!
//! This reads links; deciding does not.

use std::path::{Path, PathBuf};

use project::normal;

use super::code;
use super::shell::{self, Script};
use crate::event::{Command, Event, ToolKind};

/// What an event is about.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// Of a shell.
    pub script: Option<Script>,
    /// The files that the tool names.
    pub(super) paths: Vec<Place>,
    /// The files that a shell's redirections write.
    pub(super) writes: Vec<Place>,
    /// Whether a redirection writes a file that only running could tell.
    pub(super) writes_unknown: bool,
    /// The commands of code that may be for a shell.
    pub(super) code_script: Option<Script>,
    /// The paths in quotes in code of another language; `None` if there are more than are looked at.
    pub(super) code_paths: Option<Vec<Place>>,
}

/// A file, as it was named and where that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Below the root without it, else whole.
    pub(super) named: PathBuf,
    pub(super) leads_to: PathBuf,
}

/// The most links that are followed.
const LINKS_MAX: usize = 40;

impl Subject {
    /// Looks at an event of an agent in this worktree. `cwd` is where it stands, if the event does not say so.
    pub fn of(event: &Event, worktree: &Path, cwd: &Path) -> Subject {
        let Some(tool) = &event.tool else { return Subject::default() };
        let cwd = event.cwd.as_deref().unwrap_or(cwd);
        let place = |path: &str| Place::of(path, worktree, cwd);
        let script = tool.command.as_ref().map(|command| match command {
            Command::Text(text) => shell::script(text),
            Command::Words(words) => shell::program(words),
        });
        let code = tool.code.as_ref();
        let mut subject = Subject { paths: tool.paths.iter().map(|path| place(path)).collect(), ..Subject::default() };
        if let Some(script) = &script {
            for word in script.commands.iter().flat_map(|simple| &simple.writes) {
                match word.text() {
                    Some("/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") => {}
                    Some(path) if !path.is_empty() => subject.writes.push(place(path)),
                    _ => subject.writes_unknown = true,
                }
            }
        }
        if tool.kind == ToolKind::Shell {
            // A shell has no files of its own, whatever fields its input has.
            subject.paths.clear();
        }
        subject.code_script = code.and_then(code::commands_if_shell);
        subject.code_paths = code.map_or_else(|| Some(Vec::new()), |code| code::quoted_paths(code, place));
        subject.script = script;
        subject
    }
}

impl Place {
    fn of(path: &str, worktree: &Path, cwd: &Path) -> Place {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let whole = match path.strip_prefix("~/") {
            Some(rest) => home().map_or_else(|| cwd.join(path), |home| home.join(rest)),
            None => cwd.join(path),
        };
        let worktree = worktree.canonicalize().unwrap_or_else(|_| worktree.to_owned());
        let below = |path: PathBuf| match path.strip_prefix(&worktree) {
            Ok(below) => below.to_owned(),
            Err(_) => path,
        };
        Place { named: below(normal(&whole)), leads_to: below(followed(&whole)) }
    }
}

/// Where a path leads through links, also one whose end does not exist.
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
            let place = Place::of(path, &root, &root);
            assert_eq!((place.named.to_str(), place.leads_to.to_str()), (Some(named), Some(leads_to)), "{path}");
        }
        let outside = Place::of("/etc/hosts", &root, &root);
        assert_eq!(outside.named, Path::new("/etc/hosts"));
        assert_eq!(Place::of("a", &root, &root.join("src/deep")).named, Path::new("src/deep/a"));
    }
}
