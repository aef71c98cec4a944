//! 2024-11-05, the first revision: handshake, tools with text, image and resource content, resources and prompts,
//! logging, progress, cancellation.

use super::Revision;

pub(super) const REVISION: Revision = Revision {
    name: "2024-11-05",
    modern: false,
    batches: false,
    annotations: false,
    audio: false,
    completions: false,
    structured: false,
    described: false,
};
