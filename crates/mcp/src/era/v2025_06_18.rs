//! 2025-06-18 brought structured tool output, titles, `_meta` on tools and elicitation, and removed batches.

use super::{Revision, v2025_03_26};

pub(super) const REVISION: Revision =
    Revision { name: "2025-06-18", batches: false, structured: true, ..v2025_03_26::REVISION };
