//! The limit on open files: raised for this process, restored for its children.
//!
//! Programs that use `select` break on descriptors above 1,024, so a child must see the limit that its user set.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit on open files to the hard limit, and remembers the old one for children. Call once at start.
///
/// Returns the number of files that may now be open; on failure the limit is unchanged.
pub fn raise_open_files() -> Option<u64> {
    let now = getrlimit(Resource::Nofile);
    let original = ORIGINAL.get_or_init(|| now);
    let raised = Rlimit { current: original.maximum, maximum: original.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => original.maximum,
        Err(_) => now.current,
    }
}

/// Returns the limit that a child gets back, if [`raise_open_files`] changed ours.
pub(crate) fn original_open_files() -> Option<Rlimit> {
    ORIGINAL.get().cloned()
}
