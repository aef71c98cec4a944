//! macOS: the system does not report what a thread waits for. The processor time between two observations tells a
//! computation; everything else is unknown. Type-checked only: it has never run.

use super::Doing;
use crate::procfs::Member;

/// Returns false: a single observation does not tell.
pub(super) fn is_running(_: &Member) -> bool {
    false
}

/// Returns [`Doing::Unknown`].
pub(super) fn verdict(_: &[Member], _: &str, _: Option<i32>) -> Doing {
    Doing::Unknown
}
