//! `repl_diagnostics`: the current list of compiler messages, at least as new as requested.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attach_connection, budget, caller, ghci_only, with_heartbeat};
use crate::lenient::number;
use crate::load::LoadRecord;
use crate::not_started::not_started;
use crate::session::{SessionError, SessionState};
use crate::sessions::Repl;
use crate::text;
use diagnostics::Diagnostic;

/// List the compiler's current messages about a Haskell session's modules, in full, without loading anything. With
/// `since`, wait until a newer load has ended. Use repl_reload after editing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// The number of an earlier load: wait for a newer one.
    #[serde(default, deserialize_with = "number")]
    #[schemars(with = "Option<u64>")]
    pub since: Option<u64>,
    /// How long to wait, in ms (default 20000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// The number of loads that have ended; pass it back as `since`.
    pub generation: u64,
    /// True if a load has ended since the given one; true without `since`.
    pub fresh: bool,
    /// True if everything compiled in the last load.
    pub ok: bool,
    /// The compiler's summary of the last load.
    pub summary: String,
    /// The compiler's messages about the program now.
    pub diagnostics: Vec<Diagnostic>,
    /// Notes on files that have changed on disk since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

pub(super) struct Diagnostics(pub(super) Arc<Repl>);

impl Tool for Diagnostics {
    const NAME: &'static str = "repl_diagnostics";
    const TITLE: &'static str = "Compiler messages";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let handle = self.0.find(caller(&cx)?, args.session.as_deref())?;
        ghci_only(&self.0, &handle)?;
        attach_connection(&cx, &handle);
        let wait = budget(&cx, args.wait_ms, Duration::from_secs(20));
        // The first load ends with the start of the session.
        let since = args.since.unwrap_or(0);
        let mut loads = handle.loads();
        if args.since.is_some() || handle.info().state == SessionState::Starting {
            let mut seen = handle.watch();
            let newer = async {
                tokio::select! {
                    // An error means that the session has ended, and no newer load will come.
                    _ = loads.wait_for(|load| load.generation > since) => {}
                    _ = seen.wait_for(|info| !info.state.is_alive()) => {}
                    () = tokio::time::sleep(wait) => {}
                }
                Ok::<_, SessionError>(())
            };
            with_heartbeat(&cx, "waiting for a load", newer).await?;
        }
        let load = LoadRecord::clone(&loads.borrow());
        let info = handle.info();
        if load.generation == 0 && !info.state.is_alive() && !info.prompted {
            return Err(not_started(&info));
        }
        Ok(Output {
            session: handle.info().name,
            generation: load.generation,
            fresh: args.since.is_none_or(|since| load.generation > since),
            ok: load.ok,
            summary: load.summary,
            diagnostics: load.diagnostics,
            notes: self.0.stale_notes(&handle).await,
        })
    }

    fn text(output: &Output) -> String {
        let mut text = text::diagnostics(&output.diagnostics);
        if !text.is_empty() {
            text.push('\n');
        }
        if output.generation == 0 {
            let _ = write!(text, "[{}: nothing has been loaded yet; repl_reload loads]", output.session);
            return text;
        }
        let _ = write!(
            text,
            "{}\n[{}: {}; load {}",
            output.summary,
            output.session,
            text::counts(&output.diagnostics),
            output.generation
        );
        if !output.fresh {
            text.push_str("; no load has ended since, repl_reload loads now");
        }
        text.push(']');
        for note in &output.notes {
            text.push('\n');
            text.push_str(note);
        }
        text
    }

    fn examples() -> Vec<Example> {
        vec![
            Example { title: "Current messages", arguments: json!({}), text: None },
            Example { title: "Messages of the next load", arguments: json!({"since": 3}), text: None },
        ]
    }
}
