//! Reads the resources of a session.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use mcp::prompt::Completing;
use mcp::resource::{Contents, Matched, ReadError, ReadResult};
use mcp::tool::{Context, ToolError};
use process::output::text::Shape;
use process::output::{OutputLog, Query};
use project::Caller;
use serde_json::json;

use super::transcript::{Transcript, TranscriptEntry};
use super::{Part, lock};
use crate::error::ReplError;
use crate::load::LoadRecord;
use crate::sessions::{Repl, SessionKey, SessionOutput};
use crate::tools::{caller, ghci_only};

/// The maximum output that one read returns, in bytes.
const OUTPUT_MAX: usize = 64 * 1024;
/// The maximum output that a transcript shows of one evaluation, and of all together, in bytes.
const EACH_MAX: usize = 4 * 1024;
const TRANSCRIPT_MAX: usize = 96 * 1024;

/// Returns the template variables of a listed address.
pub(super) fn matched(uri: &str, session: &str, worktree: Option<&Path>) -> Matched {
    let mut variables = BTreeMap::from([("session".to_owned(), session.to_owned())]);
    variables.extend(worktree.map(|worktree| ("worktree".to_owned(), worktree.to_string_lossy().into_owned())));
    Matched { uri: uri.to_owned(), variables }
}

/// Reads the part of the session that the variables name.
pub(super) async fn read(repl: Weak<Repl>, cx: Context, part: Part, matched: Matched) -> ReadResult {
    let Some(repl) = repl.upgrade() else { return Err(ReadError::NotFound) };
    let mut reader = caller(&cx)?.clone();
    if !matched.get("worktree").is_empty() {
        reader.worktree = PathBuf::from(matched.get("worktree"));
    }
    let session = matched.get("session");
    let text = match part {
        Part::Output => output(&repl, &reader, session, matched.get("cursor")).await?,
        Part::Diagnostics => diagnostics(&repl, &reader, session)?,
        Part::Transcript => transcript(&repl, &reader, session).await?,
    };
    Ok(vec![Contents::text(matched.uri, part.mime_type(), text)])
}

/// Completes the names of sessions, or worktrees.
pub(super) fn complete(repl: &Repl, cx: &Context, asked: &Completing) -> Vec<String> {
    let Ok(reader) = caller(cx) else { return Vec::new() };
    let sessions = repl.status().into_iter();
    let mut values: Vec<String> = match asked.argument.as_str() {
        "session" => {
            let worktree = asked.others.get("worktree").map_or(reader.worktree.clone(), PathBuf::from);
            sessions.filter(|info| info.worktree == worktree).map(|info| info.name).collect()
        }
        "worktree" => sessions.map(|info| info.worktree.to_string_lossy().into_owned()).collect(),
        _ => Vec::new(),
    };
    values.retain(|value| value.starts_with(&asked.value));
    values.dedup();
    values
}

async fn output(repl: &Repl, reader: &Caller, session: &str, cursor: &str) -> Result<String, ReadError> {
    let SessionOutput { session: name, log, .. } = repl.output(reader, Some(session)).map_err(refused)?;
    let query = match cursor {
        "" => Query::since(0).at_most(OUTPUT_MAX).from_the_end(),
        cursor => {
            let cursor = cursor
                .parse()
                .map_err(|_| ToolError::user(format!("invalid `cursor` {cursor:?}: it must be a number")))?;
            Query::since(cursor).at_most(OUTPUT_MAX)
        }
    };
    let from_the_end = cursor.is_empty();
    in_blocking(move || {
        let slice = log.read_blocking(&query.with_notes());
        let end = log.status().end;
        let mut text = text_of(&slice.bytes(), usize::MAX / 8);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = write!(text, "[{name}: up to {} of {end}", slice.next);
        if slice.missing > 0 {
            let _ = write!(text, "; {} bytes are no longer kept", slice.missing);
        }
        if from_the_end && slice.cut {
            let _ = write!(text, "; repl://{name}/output?cursor=0 starts at the beginning");
        } else if slice.cut {
            let _ = write!(text, "; repl://{name}/output?cursor={} continues", slice.next);
        }
        text.push(']');
        text
    })
    .await
}

fn diagnostics(repl: &Repl, reader: &Caller, session: &str) -> Result<String, ReadError> {
    let handle = repl.find(reader, Some(session)).map_err(refused)?;
    ghci_only(repl, &handle)?;
    let load = LoadRecord::clone(&handle.loads().borrow());
    let LoadRecord { generation, ok, summary, diagnostics, .. } = load;
    let name = handle.info().name;
    let all = json!({
        "session": name, "generation": generation, "ok": ok, "summary": summary, "diagnostics": diagnostics,
    });
    Ok(serde_json::to_string_pretty(&all).map_err(ToolError::internal)?)
}

async fn transcript(repl: &Repl, reader: &Caller, session: &str) -> Result<String, ReadError> {
    let handle = repl.find(reader, Some(session)).map_err(refused)?;
    let info = handle.info();
    let key = SessionKey { worktree: info.worktree.clone(), name: info.name.clone() };
    let transcript = lock(&repl.published.transcripts).get(&key).cloned().unwrap_or_default();
    let log = handle.output().clone();
    let head = format!("[{}: {}, {}]\n", info.name, info.profile, info.state.name());
    in_blocking(move || head + &render_transcript(&transcript, &log)).await
}

/// Renders the newest evaluations that fit, in their order.
fn render_transcript(transcript: &Transcript, log: &OutputLog) -> String {
    let mut shown = Vec::new();
    let mut room = TRANSCRIPT_MAX;
    for eval in transcript.evals.iter().rev() {
        let text = render_entry(eval, log);
        let Some(left) = room.checked_sub(text.len()) else { break };
        room = left;
        shown.push(text);
    }
    let left_out = transcript.forgotten + (transcript.evals.len() - shown.len()) as u64;
    let mut text = match left_out {
        0 => String::new(),
        count => format!("[{count} earlier evaluations are left out; repl_read has their output]\n"),
    };
    text.extend(shown.iter().rev().map(String::as_str));
    text
}

/// Renders the code with prompt marks, its output and its outcome.
fn render_entry(eval: &TranscriptEntry, log: &OutputLog) -> String {
    let mut text = String::new();
    for (number, line) in eval.code.lines().enumerate() {
        let mark = if number == 0 { '>' } else { '|' };
        let _ = writeln!(text, "{mark} {line}");
    }
    let query = Query { eval: Some(Some(eval.number)), ..Query::since(0).at_most(EACH_MAX).from_the_end() };
    let slice = log.read_blocking(&query);
    if slice.cut {
        text.push_str("[…]\n");
    }
    text.push_str(&text_of(&slice.bytes(), EACH_MAX));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = match &eval.ended {
        Some((status, time)) => writeln!(text, "[{}: {}, {} ms]", eval.number, status.name(), time.as_millis()),
        None => writeln!(text, "[{}: running]", eval.number),
    };
    text
}

fn text_of(bytes: &[u8], max_bytes: usize) -> String {
    process::output::text::excerpt(bytes, &Shape { max_bytes, max_line: usize::MAX, strip: true, fold: 0 }).text
}

/// Converts an error; an invalid name counts as an unknown address.
fn refused(error: ReplError) -> ReadError {
    match error {
        ReplError::Unknown { .. } | ReplError::Name { .. } => ReadError::NotFound,
        other => ReadError::Failed(other.into()),
    }
}

/// Runs a read that may block: output that is no longer in memory is read from files.
async fn in_blocking(read: impl FnOnce() -> String + Send + 'static) -> Result<String, ReadError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| ReadError::Failed(ToolError::internal(error)))
}
