//! `repl_reload`: compiles changed modules and reports the difference in diagnostics; in Python, reloads them in order.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, Effect, Example, Repeat, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attach_connection, budget, caller, ghci_only, with_heartbeat};
use crate::load::LoadRecord;
use crate::profile::DriverKind;
use crate::query;
use crate::result::Status;
use crate::session::{EvalRequest, Handle, SessionState};
use crate::sessions::{Repl, load_hint};
use crate::text;
use diagnostics::Delta;
use diagnostics::Diagnostic;

/// Load edited Haskell or Python modules. GHCi lists new compiler messages in full, a line for each unchanged or gone one, and
/// loses definitions made at the prompt. Python reloads changed modules, then those that import them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Session name (default "main").
    #[serde(alias = "name")]
    pub session: Option<String>,
    /// Modules or files to load instead of the current (GHCi) or changed ones.
    #[serde(default)]
    pub targets: Vec<String>,
    /// How long to wait, in ms (default 20000).
    #[serde(alias = "timeout_ms", alias = "timeout")]
    pub wait_ms: Option<u64>,
}

/// The result of the load.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The session.
    pub session: String,
    /// Its status. With done and error the messages are complete; with running, collect them by repl_wait or repl_diagnostics.
    pub status: Status,
    /// The evaluation that loads; absent when the start of the session was the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval: Option<u64>,
    /// True if everything compiled.
    pub ok: bool,
    /// The compiler's summary; in Python the reloaded modules in order, or the error.
    pub summary: String,
    /// The number of loads so far; pass it to repl_diagnostics as `since`.
    pub generation: u64,
    /// The changes in diagnostics.
    #[serde(flatten)]
    pub delta: Delta,
    /// Further notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

pub(super) struct Reload(pub(super) Arc<Repl>);

impl Tool for Reload {
    const NAME: &'static str = "repl_reload";
    const TITLE: &'static str = "Reload and diagnose";
    const EFFECT: Effect = Effect::WRITE.idempotent().open_world();
    const REPEAT: Repeat = super::REPEAT;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let wait = budget(&cx, args.wait_ms, Duration::from_secs(20));
        let until = tokio::time::Instant::now() + wait;
        let code = command(&args.targets)?;
        let started = self.0.ensure(caller(&cx)?, args.session.as_deref()).await?;
        let handle = started.handle;
        let is_python = self.0.driver(&handle.info()) == Some(DriverKind::Python);
        if !is_python {
            ghci_only(&self.0, &handle)?;
        }
        attach_connection(&cx, &handle);
        let mut notes = started.notes;
        let info = super::start::wait_for_start(&cx, &handle, wait).await?;
        if is_python {
            return reload_python(&cx, &handle, &args.targets, notes, until).await;
        }
        if started.fresh && args.targets.is_empty() {
            // A new session has just loaded everything: that load is the answer.
            notes.push("The session was started just now; its start was the load.".to_owned());
            let status = if info.state == SessionState::Starting { Status::Starting } else { Status::Done };
            return Ok(output(&handle, status, None, 0, notes, until).await);
        }
        let before = handle.loads().borrow().generation;
        let wait = until.saturating_duration_since(tokio::time::Instant::now());
        let request = EvalRequest { wait, ..EvalRequest::new(code) };
        let result = with_heartbeat(&cx, "loading", handle.eval(request)).await?;
        notes.extend(result.notes);
        if result.status.is_final() && handle.loads().borrow().generation == before {
            // Nothing was loaded: GHCi's own message is the reason.
            let said = [result.stdout.trim(), result.stderr.trim()];
            notes.extend(said.into_iter().filter(|said| !said.is_empty()).map(str::to_owned));
        }
        let mut output = output(&handle, result.status, Some(result.eval), before, notes, until).await;
        if output.status.is_final() {
            output.notes.extend(self.0.stale_notes(&handle).await);
        }
        Ok(output)
    }

    fn text(output: &Output) -> String {
        let mut text = String::new();
        section(&mut text, "Added", &output.delta.added, true);
        section(&mut text, "Unchanged", &output.delta.unchanged, false);
        section(&mut text, "Gone", &output.delta.removed, false);
        if !output.summary.is_empty() {
            let _ = writeln!(text, "{}", output.summary);
        }
        let Output { session, generation, .. } = output;
        let number = output.eval.map(|eval| format!(" #{eval}")).unwrap_or_default();
        let _ = write!(text, "[{session}{number}: {}", output.status.name());
        if *generation > 0 {
            let mut current = output.delta.added.clone();
            current.extend(output.delta.unchanged.iter().cloned());
            let _ = write!(text, "; {}; load {generation}", text::counts(&current));
        }
        match (output.status.is_final(), output.eval) {
            (true, _) if *generation == 0 && output.summary.is_empty() => {
                text.push_str("; nothing has been loaded: name modules or files in `targets`");
            }
            (true, _) => {}
            (false, Some(eval)) => {
                let _ = write!(
                    text,
                    "; it is still running: repl_wait {{\"eval\": {eval}}} waits for it, repl_interrupt {{\"eval\": {eval}}} ends it"
                );
            }
            (false, None) => {
                let _ = write!(
                    text,
                    "; repl_diagnostics {{\"session\": {session:?}, \"since\": {generation}}} waits for the load, repl_stop {{\"session\": {session:?}}} ends the session"
                );
            }
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
            Example { title: "After editing files", arguments: json!({}), text: None },
            Example { title: "Load one file", arguments: json!({"targets": ["src/Area.hs"]}), text: None },
        ]
    }
}

/// Lets hob's driver in Python reload the modules.
async fn reload_python(
    cx: &Context,
    handle: &Handle,
    targets: &[String],
    mut notes: Vec<String>,
    until: tokio::time::Instant,
) -> Result<Output, ToolError> {
    if let Some(target) = targets.iter().find(|target| target.contains(char::is_whitespace)) {
        return Err(ToolError::user(format!("{target:?} in `targets` contains a blank."))
            .hint("Give modules or files, such as shop.cart or src/shop/cart.py."));
    }
    let code = [":reload"].into_iter().chain(targets.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let wait = until.saturating_duration_since(tokio::time::Instant::now());
    let request = EvalRequest { wait, ..EvalRequest::new(code) };
    let result = with_heartbeat(cx, "reloading", handle.eval(request)).await?;
    notes.extend(result.notes);
    let printed = [result.stdout.trim_end(), result.stderr.trim_end()].into_iter().filter(|text| !text.is_empty());
    Ok(Output {
        session: handle.info().name,
        status: result.status,
        eval: Some(result.eval),
        ok: result.status == Status::Done,
        summary: printed.collect::<Vec<_>>().join("\n"),
        generation: 0,
        delta: Delta::default(),
        notes,
    })
}

async fn output(
    handle: &Handle,
    status: Status,
    eval: Option<u64>,
    before: u64,
    mut notes: Vec<String>,
    until: tokio::time::Instant,
) -> Output {
    let load = LoadRecord::clone(&handle.loads().borrow());
    let ended = load.generation > before;
    let load = if ended && status.is_final() { without_gone_files(handle, load, until).await } else { load };
    let is_empty = load.is_empty();
    // Without a finished load there is nothing to compare: the earlier list still holds.
    let delta = if ended { load.delta } else { Delta { unchanged: load.diagnostics, ..Delta::default() } };
    if ended && is_empty {
        let hint = load_hint(&handle.info());
        notes.push(hint.unwrap_or_else(|| "Nothing is loaded: name modules or files in `targets`.".to_owned()));
    }
    let status = if ended && !load.ok && status == Status::Done { Status::Error } else { status };
    Output {
        session: handle.info().name,
        status,
        eval,
        ok: ended && load.ok,
        summary: if ended { load.summary } else { String::new() },
        generation: load.generation,
        delta,
        notes,
    }
}

/// Drops warnings about modules that the program no longer has.
pub(super) async fn without_gone_files(handle: &Handle, load: LoadRecord, until: tokio::time::Instant) -> LoadRecord {
    // With errors the compiler has unloaded modules that are still part of the program.
    if !load.ok || load.diagnostics.is_empty() {
        return load;
    }
    let left = until.saturating_duration_since(tokio::time::Instant::now());
    match handle.command(":show modules", left).await {
        Ok(raw) => {
            let shown = String::from_utf8_lossy(&raw.stdout).into_owned();
            let files: Vec<String> = query::loaded(&shown).into_iter().map(|module| module.file).collect();
            load.without_files_other_than(&files)
        }
        Err(_) => load,
    }
}

/// Returns the line for GHCi.
fn command(targets: &[String]) -> Result<String, ToolError> {
    if targets.is_empty() {
        return Ok(":reload".to_owned());
    }
    let mut line = ":load".to_owned();
    for target in targets {
        if target.trim().is_empty() || target.contains(['\n', '\r', '"', '\\']) {
            let message = format!("{target:?} in `targets` is not a module or file name.");
            return Err(ToolError::user(message).hint("Give names such as Data.Shape or src/Data/Shape.hs."));
        }
        // GHCi reads a quoted word as one name.
        let quote = if target.contains(' ') { "\"" } else { "" };
        let _ = write!(line, " {quote}{target}{quote}");
    }
    Ok(line)
}

fn section(text: &mut String, title: &str, list: &[Diagnostic], full: bool) {
    if list.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    if full {
        let _ = writeln!(text, "{}", text::diagnostics(list));
    } else {
        for diagnostic in list {
            let _ = writeln!(text, "{}", diagnostic.summary());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_for_ghci() {
        let line = |targets: &[&str]| command(&targets.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(line(&[]).expect("fine"), ":reload");
        assert_eq!(line(&["A", "my dir/B.hs"]).expect("fine"), ":load A \"my dir/B.hs\"");
        assert!(line(&["A\n:! rm x"]).is_err() && line(&["\"; x"]).is_err() && line(&[" "]).is_err());
    }
}
