//! Whom a file belongs to, asked without following links.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The user this process acts as.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether there is something at `path` (a link counts as itself) that belongs to this user.
pub(crate) fn is_mine(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == me())
}

/// Whether this is a real directory of this user that nobody else can write to or look into.
pub(crate) fn is_private_directory(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == me() && metadata.mode() & 0o077 == 0
}
