//! The directory of a project's secrets, and a lock that protects it while it is in use.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::FlockOperation;

use crate::paths::Project;
use crate::root_note::{ROOT, is_at, lock, open, write_root};
use crate::state;

/// The time to wait for another process's check.
const TURN_TIME: Duration = Duration::from_secs(1);

/// The key that seals the tickets of open questions. Unlike a token, which is in a client's configuration, the key is
/// worthless without its project.
pub(crate) const SEAL_KEY: &str = "seal-key";

/// The directory of a project's secrets, in use, which protects it from removal.
#[derive(Debug)]
pub struct SecretsDir {
    path: PathBuf,
    _root: File,
}

impl SecretsDir {
    /// Creates the directory if necessary, and locks it until this is dropped.
    ///
    /// # Errors
    /// If it cannot be created or written to.
    pub fn hold(project: &Project) -> io::Result<SecretsDir> {
        let path = project.create_state_dir().map_err(io::Error::other)?;
        state::remember(path, project.root())?;
        SecretsDir::hold_in(path.to_owned(), project.root())
    }

    pub(crate) fn hold_in(path: PathBuf, root: &Path) -> io::Result<SecretsDir> {
        let end = Instant::now() + TURN_TIME;
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            match open(&path.join(ROOT), true) {
                Ok(file) if !lock(&file, FlockOperation::NonBlockingLockShared) => {}
                // Otherwise it was removed meanwhile.
                Ok(mut file) if is_at(&file, &path.join(ROOT)) => {
                    write_root(&mut file, root)?;
                    // Only the removal of stale state uses the time; if setting it fails, the project's presence still
                    // protects it.
                    let _ = file.set_modified(SystemTime::now());
                    return Ok(SecretsDir { path, _root: file });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            if Instant::now() > end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Returns the file of the key that seals the tickets of open questions.
    pub fn seal_key_path(&self) -> PathBuf {
        self.path.join(SEAL_KEY)
    }
}
