//! The limit on open files: raised for ourselves, given back to children as it was.
//!
//! Programs that use `select` break with descriptors above 1,024, so a child must see the limit its user set.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit on open files to the hard limit, and remembers the old one for children. Call once at start.
///
/// Returns the number of files that may be open now; a failure leaves things as they are.
pub fn raise_open_files() -> Option<u64> {
    let now = getrlimit(Resource::Nofile);
    let original = ORIGINAL.get_or_init(|| now);
    let raised = Rlimit { current: original.maximum, maximum: original.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => original.maximum,
        Err(_) => now.current,
    }
}

/// What a child gets back, if [`raise_open_files`] changed ours.
pub(crate) fn original_open_files() -> Option<Rlimit> {
    ORIGINAL.get().cloned()
}
