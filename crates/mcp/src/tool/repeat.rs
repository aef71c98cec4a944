//! How a call may be made again whose answer was lost with the server that had it.

/// What a caller, or whoever stands between it and the server, may do about a call that was sent and never answered. A call
/// that only reads ([`Effect::read_only`](super::Effect::read_only)) may always be made again, whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Running it twice may do harm.
    Unsafe {
        /// What there is to tell of where things stand when the server was started anew; empty for nothing.
        restarted: &'static str,
        /// The same when only the connection broke.
        reconnected: &'static str,
    },
    /// Running it twice may do harm, and one can look whether it ran.
    Visible {
        /// How.
        advice: &'static str,
    },
    /// With a text in one of its arguments it may be made again: it then runs once.
    Keyed {
        /// That argument.
        argument: &'static str,
        /// What to do about a call without it.
        advice: &'static str,
        /// What to do about a call with it that cannot be made again now.
        keyed_advice: &'static str,
    },
    /// It hands something out, and hands it out again when it is made again and the server knows that the answer was lost.
    HandsOut {
        /// The field of the answer that names what was handed out.
        receipt: &'static str,
    },
}

impl Repeat {
    /// Running it twice may do harm, and there is nothing to tell.
    pub const UNKNOWN: Repeat = Repeat::Unsafe { restarted: "", reconnected: "" };

    /// Whether it hands something out, so that its caller has to be known to have got the answer.
    pub const fn hands_out(self) -> bool {
        matches!(self, Repeat::HandsOut { .. })
    }
}
