//! Where the output of sessions is kept, so that it can be read after they have ended and after a restart of the daemon.
//! One directory per started session; the oldest go when there are many.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use process::output::OutputLog;

/// How many sessions' output is kept.
const KEPT: usize = 24;

/// The directory of all of them.
#[derive(Debug)]
pub(crate) struct Archive(Option<PathBuf>);

impl Archive {
    pub(crate) fn new(directory: Option<PathBuf>) -> Archive {
        Archive(directory)
    }

    /// A place for the output of a session that starts now; none where nothing is kept.
    pub(crate) fn place(&self, worktree: &Path, name: &str) -> Option<PathBuf> {
        let directory = self.0.as_ref()?;
        self.forget_old();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(directory.join(format!("{}{:013}", prefix(worktree, name), now.as_millis())))
    }

    /// The output of the last session of that name.
    pub(crate) fn find(&self, worktree: &Path, name: &str) -> Option<OutputLog> {
        let prefix = prefix(worktree, name);
        let mut places = self.places();
        places.retain(|path| is_of(path, &prefix));
        let last = places.pop()?;
        OutputLog::open(&last)
            .inspect_err(|error| tracing::warn!(path = %last.display(), %error, "open the output of a former session"))
            .ok()
    }

    /// All places, by time.
    fn places(&self) -> Vec<PathBuf> {
        let Some(entries) = self.0.as_ref().and_then(|directory| std::fs::read_dir(directory).ok()) else {
            return Vec::new();
        };
        let mut places: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        places.retain(|path| time(path).is_some());
        places.sort_by_key(|path| time(path).map(str::to_owned));
        places
    }

    fn forget_old(&self) {
        let places = self.places();
        // An old session that still lives, or is still remembered, keeps its output.
        let spare = |path: &&PathBuf| !OutputLog::is_in_use(path);
        for old in places.iter().take((places.len() + 1).saturating_sub(KEPT)).filter(spare) {
            if let Err(error) = std::fs::remove_dir_all(old) {
                tracing::warn!(path = %old.display(), %error, "remove the output of an old session");
            }
        }
    }
}

/// `NAME-WORKTREEHASH-`, so that two worktrees never share.
fn prefix(worktree: &Path, name: &str) -> String {
    // FNV-1a: stable between versions, and nobody gains from a collision of his own worktrees.
    let bytes = worktree.as_os_str().as_encoded_bytes();
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{name}-{hash:016x}-")
}

fn is_of(path: &Path, prefix: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(prefix).is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit()))
}

fn time(path: &Path) -> Option<&str> {
    let (_, time) = path.file_name()?.to_str()?.rsplit_once('-')?;
    (time.len() == 13 && time.bytes().all(|byte| byte.is_ascii_digit())).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::output::{Limits, Query, Stream};
    use std::time::Duration;

    #[test]
    fn the_last_of_a_name_is_found_and_old_ones_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let archive = Archive::new(Some(directory.path().to_owned()));
        for run in 0..KEPT + 5 {
            let place = archive.place(Path::new("/w"), "main").expect("it is kept");
            let place = place.with_file_name(format!("{}{run:013}", prefix(Path::new("/w"), "main")));
            let log = OutputLog::create(Some(&place), Limits::default()).expect("made");
            log.append(Stream::Stdout, Some(1), format!("run {run}").as_bytes());
            assert!(log.flush(Duration::from_secs(10)));
        }
        let log = archive.find(Path::new("/w"), "main").expect("found");
        let text = log.read_blocking(&Query::default()).bytes();
        assert_eq!(String::from_utf8_lossy(&text), format!("run {}", KEPT + 4));
        assert!(archive.find(Path::new("/other"), "main").is_none());
        assert!(archive.find(Path::new("/w"), "mai").is_none());
        assert_eq!(archive.places().len(), KEPT);
    }
}
