//! How a call may be repeated whose answer was lost, for example with a server that was restarted.

/// The handling of a call that was sent and never answered, for a client or a proxy before the server. A call that only
/// reads ([`Effect::read_only`](super::Effect::read_only)) may always be repeated, whatever this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Running it twice may do harm.
    Unsafe {
        /// The advice if the server was restarted; empty for none.
        restarted: &'static str,
        /// The advice if only the connection broke; empty for none.
        reconnected: &'static str,
    },
    /// Running it twice may do harm, and its effect is visible.
    Visible {
        /// How to see whether it ran.
        advice: &'static str,
    },
    /// With a key in one of its arguments it may be repeated, and runs once.
    Keyed {
        /// The argument with the key.
        argument: &'static str,
        /// The advice for a call without a key.
        advice: &'static str,
        /// The advice for a call with a key that cannot be repeated now.
        keyed_advice: &'static str,
    },
    /// It hands something out, and does so again if it is repeated and the server knows that the answer was lost.
    HandsOut {
        /// The field of the answer that identifies the messages handed out.
        receipt: &'static str,
    },
    /// The call changes the tools of its connection ([`Context::list_more`](super::Context::list_more)), and has no
    /// other effect. It is repeated on the next connection, answered or not.
    Lasting,
}

impl Repeat {
    /// Repeating the call may do harm, and no advice is given.
    pub const UNKNOWN: Repeat = Repeat::Unsafe { restarted: "", reconnected: "" };

    /// Returns true if it hands something out, so that the delivery of its answer must be confirmed.
    pub const fn hands_out(self) -> bool {
        matches!(self, Repeat::HandsOut { .. })
    }
}
