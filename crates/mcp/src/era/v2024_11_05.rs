//! 2024-11-05, the first revision: handshake, tools with text, image and resource content, logging, progress,
//! cancellation.

use super::Revision;

pub(super) const REVISION: Revision = Revision {
    name: "2024-11-05",
    modern: false,
    batches: false,
    annotations: false,
    structured: false,
    described: false,
};
