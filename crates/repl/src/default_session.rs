//! The session of callers that name none, and how a call names another.

/// The session of callers that name none.
pub const DEFAULT_SESSION: &str = "main";

/// The arguments of a call that names the session, if it must be named.
pub(crate) fn arguments(session: &str) -> String {
    if session == DEFAULT_SESSION { String::new() } else { format!(" {{\"session\": {session:?}}}") }
}
