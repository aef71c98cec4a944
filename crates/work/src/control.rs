//! hob's own method on control connections: `work/note {text}`.

use std::sync::Arc;

use mcp::tool::{Context, ToolError};
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use project::{Caller, journal};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::brief::quoted;
use crate::notes::NOTE_MAX;
use crate::rendering::counted;
use crate::state::Work;
use crate::tools::{NoteView, keep, render_target};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NoteParams {
    /// The note to keep. Without it, the request lists the notes.
    text: Option<String>,
}

/// Handles `work/note {text}`: keeps a note for the caller's branch, or lists the existing notes. The answer has the form
/// of a tool result.
pub async fn note(work: Arc<Work>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let params = params.map_or_else(|| Ok(NoteParams::default()), |params| serde_json::from_str(params.get()));
    let NoteParams { text } = params.map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let caller = cx.caller::<Caller>().ok_or_else(|| RpcError::new(INTERNAL, "a call without a caller"))?;
    let (text, structured) = match text {
        Some(text) => {
            let (place, count) = keep(&work, caller, &text).await.map_err(refused)?;
            let place = render_target(&place);
            (format!("Kept for {place}."), json!({"place": place, "count": count}))
        }
        None => {
            let unread = |error| refused(ToolError::user(format!("The notes cannot be read: {error}.")));
            let (place, notes) = work.notes_of(caller).await.map_err(unread)?;
            let (place, now_ms) = (render_target(&place), journal::now());
            let mut lines = vec![match notes.len() {
                0 => format!("No notes for {place}; `hob note TEXT` leaves one."),
                count => format!("{} for {place}, the latest first:", counted(count as u64, "note")),
            }];
            for note in notes.iter().rev().map(|note| NoteView::from_note(note, now_ms)) {
                lines.push(match note.read_by {
                    0 => "not read by an agent yet:".to_owned(),
                    count => format!("read by {}:", counted(count as u64, "agent")),
                });
                lines.extend(quoted(&note.author, note.age_ms, &note.text, 2 * NOTE_MAX));
            }
            let notes: Vec<NoteView> = notes.iter().rev().map(|note| NoteView::from_note(note, now_ms)).collect();
            (lines.join("\n"), json!({"place": place, "notes": notes}))
        }
    };
    let result = json!({"content": [{"type": "text", "text": text}], "structuredContent": structured});
    to_raw_value(&result).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}

fn refused(error: ToolError) -> RpcError {
    RpcError::new(INVALID_PARAMS, error.to_string())
}
