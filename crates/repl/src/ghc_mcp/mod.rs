//! The profile `ghc-mcp`: the tools, texts and notifications of the server of that name, on hob's sessions. Its users
//! change one line of configuration. Two tools are new: `send_sync` and `read`, which return text.
//!
//! Results are plain text, word for word. This file has the list of tools and their shared code.

mod listen;
mod read;
mod send;
mod send_sync;
mod start;
mod status;
mod stop;

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{AnyTool, Context, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use crate::adapter::Refusal;
use crate::profile::DriverKind;
use crate::result::EvalResult;
use crate::session::{EvalRequest, Handle, SessionError, SessionState};
use crate::sessions::Repl;
use crate::tools::{attach_connection, caller};

/// Returns all tools of the profile.
pub fn ghc_mcp_tools(repl: Arc<Repl>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(listen::Listen::new(repl.clone())),
        tool(read::ReadTool(repl.clone())),
        tool(send::Send(repl.clone())),
        tool(send_sync::SendSync(repl.clone())),
        tool(start::Start(repl.clone())),
        tool(status::Status(repl.clone())),
        tool(stop::Stop(repl)),
    ]
}

/// A result that consists of its text only.
#[derive(Debug, Serialize, JsonSchema)]
struct Reply {
    text: String,
}

impl Reply {
    fn new(text: impl Into<String>) -> Reply {
        Reply { text: text.into() }
    }
}

const NOT_RUNNING: &str = "GHCi is not running";

/// The reason when `stop` ends a session, which tells it from a session that exited.
const STOPPED: &str = "it was stopped";

/// Returns the running GHCi of that name.
fn running(repl: &Repl, cx: &Context, session: Option<&str>) -> Result<Handle, ToolError> {
    match repl.find(caller(cx)?, session) {
        Ok(handle) if handle.info().state.is_alive() => {
            ghci(repl, &handle)?;
            attach_connection(cx, &handle);
            Ok(handle)
        }
        _ => Err(ToolError::user(NOT_RUNNING).hint("Call start first.")),
    }
}

/// Sends a line and waits. It goes to the program if that waits for input, else to GHCi.
async fn submit_line(handle: &Handle, line: &str, wait: Duration) -> Result<EvalResult, SessionError> {
    let request = EvalRequest { wait, ..EvalRequest::new(line) };
    if handle.info().state != SessionState::WaitingForInput {
        return handle.eval(request).await;
    }
    let given = handle.input(format!("{line}\n"), false).await?;
    handle.wait(Some(given.eval), wait, request.max_bytes).await
}

/// Errors in terms of this profile's tools and arguments.
fn profile_error(error: SessionError) -> ToolError {
    match error {
        SessionError::Refused(Refusal { message, hint }) => {
            SessionError::Refused(Refusal { message, hint: hint.replace("`code`", "`command`") }).into()
        }
        SessionError::QueueFull { .. } => {
            ToolError::user(format!("{error}.")).hint("Wait until some have ended, or stop and start GHCi.")
        }
        SessionError::Ended { .. } => ToolError::user(NOT_RUNNING).hint("Call start first."),
        other => other.into(),
    }
}

/// Refuses sessions of other languages.
fn ghci(repl: &Repl, handle: &Handle) -> Result<(), ToolError> {
    let info = handle.info();
    match repl.driver(&info) {
        None | Some(DriverKind::Ghci) => Ok(()),
        Some(_) => {
            let error = ToolError::user(format!("Session {:?} is {}, not GHCi", info.name, info.profile));
            Err(error.hint("Name another one in `session`."))
        }
    }
}
