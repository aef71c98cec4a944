//! The socket of a fake daemon.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Listens on a daemon's socket. Like a daemon, it creates the private directory of the sockets.
pub(crate) fn listen(path: &Path) -> UnixListener {
    let directory = path.parent().expect("a socket lies in a directory");
    DirBuilder::new().recursive(true).mode(0o700).create(directory).expect("a directory");
    UnixListener::bind(path).expect("a free path")
}
