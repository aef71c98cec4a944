//! The tools of the toolset `repl`, one file each. This file has the list of tools and their shared code.

mod diagnostics;
mod eval;
mod input;
mod interrupt;
mod list;
mod query;
mod read;
mod reload;
mod restart;
mod start;
mod stop;
mod wait;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp::tool::{AnyTool, Context, Progress, Repeat, ToolError, tool};
use project::{Caller, Role};

use crate::profile::DriverKind;
use crate::session::{Handle, View};
use crate::sessions::Repl;

/// The default limit of a call's wait: several clients give up after a minute.
const MAX_WAIT: Duration = Duration::from_secs(50);
/// The margin before the timeout of a client with a longer one.
const MARGIN: Duration = Duration::from_secs(5);
/// The interval at which a waiting call reports progress.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// The output limit of one answer.
const MAX_BYTES: usize = 200_000;

/// The repeat rule for calls that change a session.
const REPEAT: Repeat = Repeat::Unsafe {
    restarted: "its output can still be read with repl_read, repl_list lists the sessions, and repl_start or the next repl_eval \
                starts a new session.",
    reconnected: "repl_list shows it, repl_wait waits for running code, repl_read returns its output.",
};

pub(crate) use start::wait_for_start;

/// Returns all tools of the toolset.
pub fn tools(repl: Arc<Repl>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(diagnostics::Diagnostics(repl.clone())),
        tool(eval::Eval(repl.clone())),
        tool(input::Input(repl.clone())),
        tool(interrupt::Interrupt(repl.clone())),
        tool(list::List(repl.clone())),
        tool(query::Query(repl.clone())),
        tool(read::ReadTool(repl.clone())),
        tool(reload::Reload(repl.clone())),
        tool(restart::Restart(repl.clone())),
        tool(start::Start(repl.clone())),
        tool(stop::Stop(repl.clone())),
        tool(wait::Wait(repl)),
    ]
}

/// Returns the caller. A connection without one cannot own a session.
pub(crate) fn caller(cx: &Context) -> Result<&Caller, ToolError> {
    cx.caller::<Caller>().ok_or_else(|| ToolError::internal("the connection has no caller"))
}

/// Records that the connection uses the session from now on, until it closes.
pub(crate) fn attach_connection(cx: &Context, handle: &Handle) {
    if let Some(caller) = cx.caller::<Caller>() {
        let context = cx.clone();
        handle.used_by(caller.connection, async move { context.disconnected().await });
    }
}

/// Refuses sessions of other languages than Haskell.
pub(crate) fn ghci_only(repl: &Repl, handle: &Handle) -> Result<(), ToolError> {
    let info = handle.info();
    match repl.driver(&info) {
        None | Some(DriverKind::Ghci) => Ok(()),
        Some(_) => {
            let error = ToolError::user(format!("Session {:?} is {}, not GHCi.", info.name, info.profile));
            Err(error.hint("This tool works only in Haskell sessions; use repl_eval, or name another `session`."))
        }
    }
}

/// Returns how long this call waits: as requested, within the client's limit.
pub(crate) fn budget(cx: &Context, wait_ms: Option<u64>, default: Duration) -> Duration {
    let most = cx.budget().map_or(MAX_WAIT, |budget| budget.saturating_sub(MARGIN).max(Duration::from_secs(1)));
    wait_ms.map_or(default, Duration::from_millis).min(most)
}

/// Returns the output limit of an answer, in bytes.
pub(crate) fn output_limit(max_bytes: Option<usize>) -> usize {
    max_bytes.unwrap_or(12_000).min(MAX_BYTES)
}

/// Returns the reader of a connection's answers: an agent, which has earlier answers in its context. Shell commands are
/// independent of each other and show all output.
pub(crate) fn reader(caller: &Caller) -> Option<u64> {
    (caller.role == Role::Mcp && !caller.by_requests).then_some(caller.connection)
}

/// Returns the view of an answer for this caller.
pub(crate) fn view(caller: &Caller, max_bytes: Option<usize>) -> View {
    View { max_bytes: output_limit(max_bytes), reader: reader(caller) }
}

/// Waits for an answer, reporting progress at intervals. Meanwhile the call occupies no slot of its connection, since
/// the REPL does the work. If the client cancels, the answer's future is dropped, which withdraws an evaluation that is
/// still queued and does not touch a running one.
pub(crate) async fn with_heartbeat<T, E: Into<ToolError>>(
    cx: &Context,
    what: &str,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, ToolError> {
    let begun = Instant::now();
    let mut answer = std::pin::pin!(answer);
    let answered = async {
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(Into::into),
                () = cx.cancelled() => {
                    return Err(ToolError::user("The call was cancelled; the evaluation continues, see repl_list."));
                }
                () = tokio::time::sleep(HEARTBEAT) => {
                    let seconds = begun.elapsed().as_secs();
                    let message = Some(format!("{what}, {seconds} s"));
                    cx.progress(Progress { progress: begun.elapsed().as_secs_f64(), total: None, message });
                }
            }
        }
    };
    cx.waits(answered).await
}
