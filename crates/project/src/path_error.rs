//! Errors about the directories of a project's state, with fixes.

use std::io;
use std::path::PathBuf;

use crate::owner;
use crate::visible::path as shown;

/// The longest path a Unix socket can have: `sun_path` is 108 bytes, the last one a NUL.
pub(crate) const SOCKET_PATH_MAX: usize = 107;

/// A path that does not exist, or is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("create {}: {source}; check that the directory above it is writable and the disk not full", shown(path))]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "{} is not a private directory of this user (a link, another owner, or open to others); move it away, or set XDG_RUNTIME_DIR and XDG_STATE_HOME to directories of your own",
        shown(path)
    )]
    NotPrivate { path: PathBuf },
    #[error(
        "{foreign}, and the state of projects lies there: refused, because whoever owns it could put other files in their \
         place; set {variable} to a directory of your own"
    )]
    Foreign { foreign: owner::Foreign, variable: &'static str },
    #[error(
        "the state of this project (mail, logs) is in {}, and that is not there; the link {} leads to it. Bring the disk \
         back that it is on; or, if it is gone for good, delete the link, and the project begins anew",
        shown(target),
        shown(link)
    )]
    Gone { link: PathBuf, target: PathBuf },
    #[error(
        "{} is still in use by the daemon that served this project, or this path, before a directory was moved; it stops once any `hob` command starts a daemon here; or run `kill` with the process id in its file `lock`",
        shown(path)
    )]
    InUse { path: PathBuf },
    #[error("the socket path {} has {} bytes and at most {SOCKET_PATH_MAX} fit; set XDG_RUNTIME_DIR (or TMPDIR) to a shorter directory of your own", shown(path), path.as_os_str().len())]
    TooLong { path: PathBuf },
}
