//! Requests to a language server: their content, their time limits, and when the answers are reliable.
//!
//! - `ghc`: asks the index of GHC.
//! - `meaning`: resolves individual names, for questions that start from places.
//! - `requests`: requests about places.
//! - `server_state`: describes the state of a server for an answer.
//! - `texts`: maps positions of the protocol to the texts that were read.
//! - `reliability`: waits until a server is reliable.

pub(crate) mod ghc;
mod meaning;
mod reliability;
mod requests;
mod server_state;
mod texts;

use std::time::Instant;

use mcp::tool::Context;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::pool::Pool;
use crate::search::Scope;

pub(crate) use ghc::index;
pub(crate) use meaning::{FILES, Meaning, Meanings, Name, meanings, target_at};
pub(crate) use reliability::{Asking, Round, RoundStatus, rounds};
pub(crate) use requests::{Inquiry, definitions, request_locations, request_time_limit, with_deadline};
pub(crate) use server_state::explain;
pub(crate) use texts::{Sheets, Spot, document};

/// A call that waits for language servers.
pub(crate) struct Call<'a> {
    pub pool: &'a Pool,
    pub cx: &'a Context,
    pub scope: &'a Scope,
    /// When the answer is due.
    pub until: Instant,
}

/// Runs the work on this thread while another worker takes over the other tasks.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::CurrentThread => work(),
        _ => block_in_place(work),
    }
}
