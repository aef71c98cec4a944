//! 2026-07-28: no handshake and no session. Every request carries its version and the client's capabilities in `_meta`;
//! results carry `resultType` and the server's description. New: `server/discover` and `subscriptions/listen`; removed:
//! `ping` and `logging/setLevel`.

use super::{Revision, v2025_11_25};

pub(super) const REVISION: Revision = Revision { name: "2026-07-28", modern: true, ..v2025_11_25::REVISION };
