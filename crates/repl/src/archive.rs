//! The output of sessions on disk, readable after they have ended and after a restart of the daemon. There is one
//! directory per name and worktree, which a later session of that name continues. The least recently used ones are
//! removed if there are too many or they take too much space.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use process::output::{Limits, OutputLog};
use serde::{Deserialize, Serialize};

use crate::sandboxed::SandboxMode;
use crate::session::StartError;

/// The number of names whose output is kept.
const KEPT: usize = 24;
/// The limit of all logs together when a session starts, as a multiple of the limit of one log.
const SHARES: u64 = 4;

/// The file next to a log that records how its session was started.
const CHOSEN: &str = "chosen.json";
/// The size limit of that file.
const CHOSEN_MAX: u64 = 16 * 1024;

/// A caller's explicit choices for a session. The next daemon starts the session of that name with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Chosen {
    pub(crate) profile: Option<String>,
    pub(crate) component: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) sandbox: Option<SandboxMode>,
    /// True if the session ran a caller's own command, which is not stored.
    pub(crate) has_command: bool,
}

/// The directory of all logs.
#[derive(Debug)]
pub(crate) struct Archive {
    directory: Option<PathBuf>,
    limits: Limits,
}

impl Archive {
    pub(crate) fn new(directory: Option<PathBuf>, limits: Limits) -> Archive {
        Archive { directory, limits }
    }

    /// Opens a log for a session that is starting: the one left by the last session of its name, or a new one. Without
    /// a directory, the log is in memory.
    pub(crate) fn open(&self, worktree: &Path, name: &str) -> Result<OutputLog, StartError> {
        if let Some(log) = self.last(worktree, name).and_then(|last| self.reopened(&last)) {
            return Ok(log);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let place = self.directory.as_ref().map(|all| all.join(format!("{}{now:013}", prefix(worktree, name))));
        OutputLog::create(place.as_deref(), self.limits.clone())
            .map_err(|source| StartError::Output { path: place.unwrap_or_default(), source })
    }

    fn reopened(&self, place: &Path) -> Option<OutputLog> {
        OutputLog::reopen(place, self.limits.clone())
            .inspect_err(
                |error| tracing::warn!(path = %place.display(), %error, "cannot continue the output of a session"),
            )
            .ok()
    }

    /// Records the choices for a session next to its log, or removes the record.
    pub(crate) fn note(place: &Path, chosen: &Chosen) {
        let file = place.join(CHOSEN);
        let noted = match serde_json::to_vec(chosen) {
            Ok(text) if *chosen != Chosen::default() => std::fs::write(&file, text),
            _ => match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        if let Err(error) = noted {
            tracing::warn!(path = %file.display(), %error, "note how a session was to be started");
        }
    }

    /// Returns the choices for the last session of that name.
    pub(crate) fn chosen(&self, worktree: &Path, name: &str) -> Option<Chosen> {
        let file = self.last(worktree, name)?.join(CHOSEN);
        serde_json::from_str(&project::regular::read(&file, CHOSEN_MAX).ok()?).ok()
    }

    /// Returns the output of the last session of that name, read-only.
    pub(crate) fn find(&self, worktree: &Path, name: &str) -> Option<OutputLog> {
        read(&self.last(worktree, name)?)
    }

    /// Returns the session of a worktree that has output of an evaluation, with its log.
    pub(crate) fn find_eval(&self, worktree: &Path, eval: u64) -> Option<(String, OutputLog)> {
        let places = self.log_directories();
        let of_worktree = places.iter().rev().filter_map(|place| Some((name_in(place, worktree)?, place)));
        of_worktree.filter_map(|(name, place)| Some((name, read(place)?))).find(|(_, log)| log.printed(eval).is_some())
    }

    /// Returns the sessions of a worktree whose output is kept and the time of their last use, most recent first.
    pub(crate) fn names(&self, worktree: &Path) -> Vec<(String, SystemTime)> {
        let mut names: Vec<(String, SystemTime)> = Vec::new();
        for place in self.log_directories().into_iter().rev() {
            if let Some(name) = name_in(&place, worktree).filter(|name| names.iter().all(|(known, _)| known != name)) {
                names.push((name, last_use(&place)));
            }
        }
        names
    }

    /// Returns the newest evaluation that any log has output of.
    pub(crate) fn last_eval(&self) -> Option<u64> {
        self.log_directories().iter().filter_map(|place| read(place)?.last_eval()).max()
    }

    fn last(&self, worktree: &Path, name: &str) -> Option<PathBuf> {
        self.log_directories().into_iter().rfind(|place| name_in(place, worktree).as_deref() == Some(name))
    }

    /// Makes room for one more log: removes the least recently used ones that are unused, or used only by sessions that
    /// have `ended`. Returns the removed directories.
    pub(crate) fn make_room(&self, ended: &[PathBuf]) -> Vec<PathBuf> {
        let places = self.log_directories();
        let mut count = places.len() + 1;
        let sizes: Vec<u64> = places.iter().map(|place| size(place)).collect();
        let mut size: u64 = sizes.iter().sum();
        let most = self.limits.disk.saturating_mul(SHARES);
        let mut removed = Vec::new();
        for (old, its_size) in places.into_iter().zip(sizes) {
            if count <= KEPT && size <= most {
                break;
            }
            if !ended.contains(&old) && OutputLog::is_in_use(&old) {
                continue;
            }
            match std::fs::remove_dir_all(&old) {
                Ok(()) => {
                    (count, size) = (count - 1, size - its_size);
                    removed.push(old);
                }
                Err(error) => tracing::warn!(path = %old.display(), %error, "remove the output of an old session"),
            }
        }
        removed
    }

    /// Returns all log directories, by the time of their last use.
    fn log_directories(&self) -> Vec<PathBuf> {
        let Some(entries) = self.directory.as_ref().and_then(|directory| std::fs::read_dir(directory).ok()) else {
            return Vec::new();
        };
        let mut places: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        places.retain(|path| parts(path).is_some());
        places.sort_by_cached_key(|path| {
            let made = parts(path).and_then(|(_, _, made)| made.parse().ok()).unwrap_or_default();
            (last_use(path).max(UNIX_EPOCH + Duration::from_millis(made)), made)
        });
        places
    }
}

fn read(place: &Path) -> Option<OutputLog> {
    OutputLog::open(place)
        .inspect_err(|error| tracing::warn!(path = %place.display(), %error, "open the output of a former session"))
        .ok()
}

fn files(place: &Path) -> impl Iterator<Item = std::fs::Metadata> {
    std::fs::read_dir(place).into_iter().flatten().flatten().filter_map(|entry| entry.metadata().ok())
}

fn size(place: &Path) -> u64 {
    files(place).map(|file| file.len()).sum()
}

fn last_use(place: &Path) -> SystemTime {
    files(place).filter_map(|file| file.modified().ok()).max().unwrap_or(UNIX_EPOCH)
}

/// Returns `NAME-WORKTREEHASH-`, so that two worktrees never share a directory.
fn prefix(worktree: &Path, name: &str) -> String {
    format!("{name}-{}-", hash(worktree))
}

fn hash(worktree: &Path) -> String {
    // FNV-1a: stable between versions, and a collision of a user's own worktrees is harmless.
    let bytes = worktree.as_os_str().as_encoded_bytes();
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// Returns the session's name, if the log directory belongs to that worktree.
fn name_in(place: &Path, worktree: &Path) -> Option<String> {
    let (name, of, _) = parts(place)?;
    (of == hash(worktree)).then(|| name.to_owned())
}

/// Name, worktree hash and time of a log directory.
fn parts(path: &Path) -> Option<(&str, &str, &str)> {
    let (rest, time) = path.file_name()?.to_str()?.rsplit_once('-')?;
    let (name, hash) = rest.rsplit_once('-')?;
    (time.len() == 13 && time.bytes().all(|byte| byte.is_ascii_digit())).then_some((name, hash, time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::output::{Query, Stream};

    fn text(log: &OutputLog) -> String {
        String::from_utf8_lossy(&log.read_blocking(&Query::default()).bytes()).into_owned()
    }

    fn append_output(archive: &Archive, name: &str, eval: u64, bytes: &[u8]) {
        let log = archive.open(Path::new("/w"), name).expect("opened");
        log.append(Stream::Stdout, Some(eval), bytes);
        assert!(log.flush(Duration::from_secs(10)));
        let place = archive.last(Path::new("/w"), name).expect("it is there");
        drop(log);
        while OutputLog::is_in_use(&place) {
            std::thread::yield_now(); // Its thread ends.
        }
    }

    #[test]
    fn a_name_goes_on_where_it_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let archive = Archive::new(Some(directory.path().to_owned()), Limits::default());
        append_output(&archive, "main", 1, b"one ");
        append_output(&archive, "main-2", 2, b"other");
        append_output(&archive, "main", 3, b"two");
        assert_eq!(archive.log_directories().len(), 2);
        assert_eq!(text(&archive.find(Path::new("/w"), "main").expect("found")), "one two");
        assert!(archive.find(Path::new("/other"), "main").is_none());
        assert!(archive.find(Path::new("/w"), "mai").is_none());
        let (name, log) = archive.find_eval(Path::new("/w"), 2).expect("found");
        assert_eq!((name.as_str(), text(&log).as_str()), ("main-2", "other"));
        assert!(archive.find_eval(Path::new("/other"), 2).is_none());
        assert_eq!(archive.last_eval(), Some(3));
        let mut names: Vec<String> = archive.names(Path::new("/w")).into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert_eq!(names, ["main", "main-2"]);
        // Another holder of the log is not disturbed.
        let held = archive.open(Path::new("/w"), "main").expect("opened");
        let second = archive.open(Path::new("/w"), "main").expect("opened");
        assert_eq!((text(&held).as_str(), text(&second).as_str()), ("one two", ""));
    }

    #[test]
    fn the_oldest_go_when_there_are_many_or_they_are_large() {
        let directory = tempfile::tempdir().expect("a directory");
        let limits = Limits { disk: 100_000, ..Limits::default() };
        let archive = Archive::new(Some(directory.path().to_owned()), limits);
        for run in 0..KEPT + 5 {
            let name = format!("s{run}");
            archive.make_room(&[]);
            append_output(&archive, &name, 1, b"small");
        }
        assert_eq!(archive.log_directories().len(), KEPT);
        assert!(archive.find(Path::new("/w"), "s4").is_none() && archive.find(Path::new("/w"), "s5").is_some());
        for run in 0..5 {
            append_output(&archive, &format!("large{run}"), 1, &[b'x'; 90_000]);
        }
        let held = archive.last(Path::new("/w"), "large0").expect("it is there");
        let log = archive.open(Path::new("/w"), "large0").expect("opened");
        archive.make_room(&[]);
        let left: Vec<_> =
            archive.log_directories().iter().filter_map(|place| name_in(place, Path::new("/w"))).collect();
        assert_eq!(left, ["large0", "large2", "large3", "large4"], "what is in use stays");
        assert!(left.len() as u64 * 90_000 <= 100_000 * SHARES);
        let small = Archive::new(archive.directory.clone(), Limits { disk: 80_000, ..archive.limits.clone() });
        assert!(small.make_room(std::slice::from_ref(&held)).contains(&held), "what ended may go");
        drop(log);
    }
}
