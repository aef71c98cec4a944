//! 2025-11-25, the last revision with a handshake, brought descriptions of implementations, icons, and the rule that
//! wrong arguments are tool errors.

use super::{Revision, v2025_06_18};

pub(super) const REVISION: Revision = Revision { name: "2025-11-25", described: true, ..v2025_06_18::REVISION };
