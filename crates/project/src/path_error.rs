//! Errors about the directories of a project's state, with fixes.

use std::io;
use std::path::PathBuf;

use crate::owner;
use crate::visible::{cause, path as shown};

/// The longest path a Unix socket can have: `sun_path` is 108 bytes, the last one a NUL.
pub(crate) const SOCKET_PATH_MAX: usize = 107;

/// A path that does not exist, or is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error(
        "cannot create {}: {}; check that the directory above it is writable and the disk not full",
        shown(path),
        cause(source)
    )]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a private directory of this user (it is a link, has another owner, or is accessible to others); \
         move it away, or set XDG_RUNTIME_DIR and XDG_STATE_HOME to your own directories",
        shown(path)
    )]
    NotPrivate { path: PathBuf },
    #[error("{foreign}, who could replace the state of your projects there; set {variable} to your own directory")]
    Foreign { foreign: owner::Foreign, variable: &'static str },
    #[error(
        "the state directory {} of this project (mail, logs) is missing; the link {} points to it. Mount its disk \
         again. If the state is lost, delete the link to start with an empty state",
        shown(target),
        shown(link)
    )]
    Gone { link: PathBuf, target: PathBuf },
    #[error(
        "{} is still in use by a daemon that was started before a directory was moved. It stops when a `hob` command \
         starts a daemon here; or run `kill` with the process id in its file `lock`",
        shown(path)
    )]
    InUse { path: PathBuf },
    #[error("the socket path {} has {} bytes, more than the limit of {SOCKET_PATH_MAX}; set XDG_RUNTIME_DIR (or \
             TMPDIR) to a shorter path", shown(path), path.as_os_str().len())]
    TooLong { path: PathBuf },
}
