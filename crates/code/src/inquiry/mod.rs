//! Questions to a language server: what is asked, how long it may take, and when the answers can be believed.
//!
//! - `ghc`: what GHC compiled of a worktree.
//! - `meaning`: what names mean, one by one, for questions that begin with places.
//! - `requests`: what is asked about places.
//! - `server_state`: the state of a server as answers tell it.
//! - `texts`: places of the protocol in the texts that were read.
//! - `waiting`: waits for a judge that can be believed, and asks until two rounds agree where one proves nothing.

mod ghc;
mod meaning;
mod requests;
mod server_state;
mod texts;
mod waiting;

use std::time::Instant;

use mcp::tool::Context;

use crate::pool::Pool;
use crate::search::Scope;

pub(crate) use ghc::index;
pub(crate) use meaning::{FILES, Meaning, Meanings, Name, Target, meanings, target_at};
pub(crate) use requests::{Inquiry, defined, left, places, within};
pub(crate) use texts::{Sheet, Sheets, Spot};
pub(crate) use waiting::{Asking, Round, RoundStatus, Settling, judge_for, rounds};

/// A call that waits for judges.
pub(crate) struct Call<'a> {
    pub pool: &'a Pool,
    pub cx: &'a Context,
    pub scope: &'a Scope,
    /// When the answer is due.
    pub until: Instant,
}
