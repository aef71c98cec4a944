//! `repl_restart`: starts a new process under the same name.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::start::{self, Output};
use super::{attach_connection, budget, caller, with_heartbeat};
use crate::error::ReplError;
use crate::not_started::not_started;
use crate::sessions::Repl;
use crate::text;

/// End a session's process and start a new one with the same parameters. With replay "definitions", code that only
/// defined, imported, loaded or set something is evaluated again; code with other effects is not.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// The code to evaluate again (default "none").
    #[serde(default)]
    pub replay: Replay,
    /// How long to wait, in ms (default 30000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The code to evaluate again.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Replay {
    /// No code.
    #[default]
    None,
    /// Code that only defined something.
    Definitions,
}

pub(super) struct Restart(pub(super) Arc<Repl>);

impl Tool for Restart {
    const NAME: &'static str = "repl_restart";
    const TITLE: &'static str = "Restart a session";
    const EFFECT: Effect = Effect::DESTRUCTIVE;
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let wait = budget(&cx, args.wait_ms, Duration::from_secs(30));
        let until = std::time::Instant::now() + wait;
        let caller = caller(&cx)?;
        let restart = async {
            let definitions = args.replay == Replay::Definitions;
            let (handle, replayed) = self.0.restart(caller, args.session.as_deref(), definitions, wait).await?;
            let left = until.saturating_duration_since(std::time::Instant::now());
            Ok::<_, ReplError>((start::ready(&handle, left).await, replayed))
        };
        let (info, replayed) = with_heartbeat(&cx, "restarting", restart).await?;
        if let Ok(handle) = self.0.find(caller, args.session.as_deref()) {
            attach_connection(&cx, &handle);
        }
        if !info.state.is_alive() {
            return Err(not_started(&info));
        }
        let mut notes = Vec::new();
        if args.replay == Replay::Definitions {
            // A piece may be a definition, an import, a load or a setting; code sent together is one piece.
            notes.push(match replayed.done {
                0 if replayed.failed.is_empty() && replayed.left == 0 => {
                    "Nothing was evaluated again: no successful code in that session consisted only of definitions, \
                     imports, loads or settings. Code with other effects is not repeated; evaluate it again."
                        .to_owned()
                }
                1 => "1 piece of earlier code (definitions, imports, loads, settings) was evaluated again.".to_owned(),
                count => {
                    format!(
                        "{count} pieces of earlier code (definitions, imports, loads, settings) were evaluated again."
                    )
                }
            });
        } else {
            notes.push("Earlier definitions are gone.".to_owned());
        }
        for code in replayed.failed.iter().take(10) {
            notes.push(format!("This failed now: `{}`", text::headline(code)));
        }
        if replayed.left > 0 {
            notes.push(format!("There was no time for {} more; give a longer `wait_ms`.", replayed.left));
        }
        notes.extend(info.start_notes.clone());
        Ok(start::output(info, true, notes))
    }

    fn text(output: &Output) -> String {
        start::text(output)
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Restart with the definitions", arguments: json!({"replay": "definitions"}), text: None }]
    }
}
