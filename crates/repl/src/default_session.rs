//! The default session, and the arguments that name another.

/// The session of callers that name none.
pub const DEFAULT_SESSION: &str = "main";

/// Returns the arguments of a call that names the session, if it must be named.
pub(crate) fn arguments(session: &str) -> String {
    if session == DEFAULT_SESSION { String::new() } else { format!(" {{\"session\": {session:?}}}") }
}
