//! 2025-03-26 brought tool annotations, a message in progress, audio, the capability `completions`, and JSON-RPC
//! batches, which the next revision removed.

use super::{Revision, v2024_11_05};

pub(super) const REVISION: Revision = Revision {
    name: "2025-03-26",
    batches: true,
    annotations: true,
    audio: true,
    completions: true,
    ..v2024_11_05::REVISION
};
