//! The tools of the toolset `repl`, one file each. This file has the list of tools and what they share.

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

/// The longest a call waits by default: several clients give up after a minute.
const MAX_WAIT: Duration = Duration::from_secs(50);
/// What a client with a longer timeout needs for itself.
const MARGIN: Duration = Duration::from_secs(5);
/// How often a waiting call reports progress.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// The most output one answer shows.
const MAX_BYTES: usize = 200_000;

/// For calls that do something to a session.
const REPEAT: Repeat = Repeat::Unsafe {
    restarted: "what was printed can still be read with repl_read, repl_list shows what there is, and repl_start or the next \
                repl_eval starts a session anew.",
    reconnected: "repl_list shows it, repl_wait waits for what still runs, repl_read gives what it printed.",
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
        tool(read::Read(repl.clone())),
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

/// The connection uses the session from now on, until it ends.
pub(crate) fn stay(cx: &Context, handle: &Handle) {
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
            Err(error.hint("Ask it in its own language with repl_eval, or name another `session`."))
        }
    }
}

/// How long this call waits: as asked, within what the client allows.
pub(crate) fn budget(cx: &Context, wait_ms: Option<u64>, default: Duration) -> Duration {
    let most = cx.budget().map_or(MAX_WAIT, |budget| budget.saturating_sub(MARGIN).max(Duration::from_secs(1)));
    wait_ms.map_or(default, Duration::from_millis).min(most)
}

/// How many bytes of output an answer shows.
pub(crate) fn output_limit(max_bytes: Option<usize>) -> usize {
    max_bytes.unwrap_or(12_000).min(MAX_BYTES)
}

/// Who reads the answers of a connection: an agent, which has what it was given in its context. Commands of a shell come
/// and go, and show all there is.
pub(crate) fn reader(caller: &Caller) -> Option<u64> {
    (caller.role == Role::Mcp && !caller.by_requests).then_some(caller.connection)
}

/// What an answer shows this caller.
pub(crate) fn view(caller: &Caller, max_bytes: Option<usize>) -> View {
    View { max_bytes: output_limit(max_bytes), reader: reader(caller) }
}

/// Waits for an answer, reporting progress now and then; meanwhile the call takes no slot of its connection, since the
/// work is the REPL's. A client's cancel ends the waiting: the answer's future is
/// dropped, which withdraws an evaluation that is still queued and does not touch a running one.
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
                    return Err(ToolError::user("The call was cancelled; what runs goes on: repl_list shows it."));
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
