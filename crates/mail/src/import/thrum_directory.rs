//! Finds the log of a `.thrum` directory and the files of it that may be read. A checkout can contain links and a
//! `redirect` to any path, so they are followed only within the repository. A log outside it is read only if the user
//! names it.

use std::io;
use std::path::{Path, PathBuf};

use project::{main_worktree, normal, regular};

use super::ImportError;

/// The longest path in a `redirect`, in bytes.
const PATH_MAX: u64 = 4096;

/// A log, and the repository that must contain all of it.
pub(super) struct Log {
    /// The directory that holds `events.jsonl`.
    pub(super) dir: PathBuf,
    home: PathBuf,
}

impl Log {
    /// Finds the log of `named` for the project at `root`.
    pub(super) fn find(named: &Path, root: &Path) -> Result<Log, ImportError> {
        let none = || ImportError::NoLog { path: named.to_owned() };
        let dir = named.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ImportError::Missing { path: named.to_owned() },
            _ => none(),
        })?;
        let mut log = Log { home: home(named, &dir, root), dir };
        log.check(named)?;
        if let Some(to) = log.redirect()? {
            log.check(&to)?;
            log.dir = to;
        }
        let dir = &log.dir;
        let above = dir.parent().map(|above| above.join(".git/thrum-sync/a-sync"));
        let places = [Some(dir.clone()), Some(dir.join("sync")), Some(dir.join(".git/thrum-sync/a-sync")), above];
        let mut places = places.into_iter().flatten();
        let found = places.find(|place| place.join("events.jsonl").is_file()).ok_or_else(none)?;
        Ok(Log { dir: found, ..log })
    }

    /// Returns the directory that this one's `redirect` names.
    fn redirect(&self) -> Result<Option<PathBuf>, ImportError> {
        let path = self.dir.join("redirect");
        self.check(&path)?;
        let text = match regular::read(&path, PATH_MAX) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Err(ImportError::NoLog { path }),
            // An unreadable `redirect` redirects nowhere.
            text => text.unwrap_or_default(),
        };
        match text.trim() {
            "" => Ok(None),
            to => {
                let to = self.dir.join(to);
                to.canonicalize().map(Some).map_err(|_| ImportError::NoLog { path: to })
            }
        }
    }

    /// Checks that a path is inside the repository or does not exist.
    pub(super) fn check(&self, path: &Path) -> Result<(), ImportError> {
        let Ok(to) = path.canonicalize() else { return Ok(()) };
        if holds(&self.home, &to) {
            Ok(())
        } else {
            Err(ImportError::LeadsOut { path: path.to_owned(), to, home: self.home.clone() })
        }
    }
}

/// Returns the repository that a log of this name belongs to. If the user names a path outside the project, it belongs
/// there. A path inside the project belongs to the project, even if it is a link.
fn home(named: &Path, dir: &Path, root: &Path) -> PathBuf {
    let beside = || named.parent().and_then(|above| above.canonicalize().ok());
    if normal(named).starts_with(root) || beside().is_some_and(|above| holds(root, &above)) {
        return root.to_owned();
    }
    let around = dir.parent().filter(|_| dir.ends_with(".thrum")).unwrap_or(dir);
    main_worktree(around).unwrap_or_else(|| around.to_owned())
}

/// Returns true if a path (without links) is in the repository of this main worktree: in the worktree itself or in a
/// linked one.
fn holds(main: &Path, path: &Path) -> bool {
    path.starts_with(main) || main_worktree(path).as_deref() == Some(main)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const LINE: &str = r#"{"type":"agent.register","event_id":"1","agent_id":"anna","name":"anna"}"#;

    fn repository(at: &Path) {
        for directory in [".git/objects", ".thrum"] {
            fs::create_dir_all(at.join(directory)).unwrap();
        }
        fs::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn only_who_names_it_reads_what_is_elsewhere() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (root, theirs) = (top.join("root"), top.join("theirs"));
        repository(&root);
        repository(&theirs);
        fs::write(theirs.join(".thrum/events.jsonl"), LINE).unwrap();
        let thrum = root.join(".thrum");
        let refused = |what: &str| {
            for named in [thrum.clone(), top.join("theirs/../root/.thrum")] {
                let error = read(&named, &root).unwrap_err();
                let ImportError::LeadsOut { to, .. } = &error else { panic!("{what}: {error}") };
                assert!(to.starts_with(&theirs) && error.to_string().contains("hob import thrum"), "{what}: {error}");
            }
        };
        fs::write(thrum.join("redirect"), format!("{}\n", theirs.join(".thrum").display())).unwrap();
        refused("a redirect");
        fs::write(thrum.join("redirect"), "../../theirs/.thrum").unwrap();
        refused("a relative one");
        fs::remove_file(thrum.join("redirect")).unwrap();
        symlink(theirs.join(".thrum/events.jsonl"), thrum.join("redirect")).unwrap();
        refused("a redirect whose text is not to be shown");
        fs::remove_file(thrum.join("redirect")).unwrap();
        symlink(theirs.join(".thrum/events.jsonl"), thrum.join("events.jsonl")).unwrap();
        refused("a file");
        fs::remove_file(thrum.join("events.jsonl")).unwrap();
        fs::write(thrum.join("events.jsonl"), LINE).unwrap();
        symlink(theirs.join(".thrum"), thrum.join("messages")).unwrap();
        refused("a directory of messages");
        fs::remove_dir_all(&thrum).unwrap();
        symlink(theirs.join(".thrum"), &thrum).unwrap();
        refused("a link to the whole");
        for named in [theirs.join(".thrum"), root.join("../theirs/.thrum")] {
            assert_eq!(read(&named, &root).unwrap().agents.len(), 1, "{}", named.display());
        }
    }

    #[test]
    fn worktrees_of_the_repository_share_a_log() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (root, linked) = (top.join("root"), top.join("linked"));
        repository(&root);
        let git_dir = root.join(".git/worktrees/linked");
        for directory in [&git_dir, &linked.join(".thrum")] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        fs::write(git_dir.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        for (from, to) in [(&linked, &root), (&root, &linked)] {
            fs::write(from.join(".thrum/redirect"), to.join(".thrum").display().to_string()).unwrap();
            fs::write(to.join(".thrum/events.jsonl"), LINE).unwrap();
            assert_eq!(read(&from.join(".thrum"), &root).unwrap().agents.len(), 1);
            fs::remove_file(from.join(".thrum/redirect")).unwrap();
            fs::remove_file(to.join(".thrum/events.jsonl")).unwrap();
        }
    }
}
