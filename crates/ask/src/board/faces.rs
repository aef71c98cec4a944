//! Faces: programs that show questions to a person, such as `hob questions --watch`. Each lives as long as its connection.

use std::collections::HashMap;
use std::time::Duration;

use mcp::tool::Context;
use parking_lot::Mutex;
use project::journal;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Board;
use crate::attachment::{Attachment, copy_of};
use crate::question::{Question, rfc3339};

/// How long a face that left may take to come back.
pub(crate) const RECONNECTS: Duration = Duration::from_secs(3);

/// The faces that are connected.
pub(super) struct Faces {
    by_number: Mutex<Table>,
    /// How many watch.
    watching: watch::Sender<usize>,
}

#[derive(Default)]
struct Table {
    faces: HashMap<u64, Context>,
    last: u64,
    left: Option<Instant>,
}

impl Default for Faces {
    fn default() -> Faces {
        Faces { by_number: Mutex::default(), watching: watch::channel(0).0 }
    }
}

impl Faces {
    pub(super) fn watching(&self) -> usize {
        *self.watching.borrow()
    }
}

impl Board {
    /// Shows questions to this connection from now on, until it ends.
    pub(crate) fn add_face(&self, cx: &Context) {
        let mut table = self.faces.by_number.lock();
        table.last += 1;
        let number = table.last;
        table.faces.insert(number, cx.clone());
        self.faces.watching.send_replace(table.faces.len());
        drop(table);
        let (board, cx) = (self.me.clone(), cx.clone());
        tokio::spawn(async move {
            cx.disconnected().await;
            if let Some(board) = board.upgrade() {
                let mut table = board.faces.by_number.lock();
                table.faces.remove(&number);
                table.left = Some(Instant::now());
                board.faces.watching.send_replace(table.faces.len());
            }
        });
    }

    /// How many faces watch, as that changes.
    pub(crate) fn faces(&self) -> watch::Receiver<usize> {
        self.faces.watching.subscribe()
    }

    /// Until when a face that left may come back.
    pub(crate) fn face_returns_until(&self) -> Option<Instant> {
        let until = self.faces.by_number.lock().left? + RECONNECTS;
        (until > Instant::now()).then_some(until)
    }

    /// Shows a question that changed to every face.
    pub(super) fn show(&self, question: &Question) {
        let faces: Vec<Context> = self.faces.by_number.lock().faces.values().cloned().collect();
        if faces.is_empty() {
            return;
        }
        let view = self.view(question);
        for face in faces {
            // One that is gone is told nothing, and one that reads too slowly asks for the list.
            let _ = face.notify("ask/changed", &view);
        }
    }
}

impl Board {
    /// A question as faces see it; of attached texts, how many lines they have.
    pub(crate) fn view(&self, question: &Question) -> Value {
        let now = journal::now();
        let said = question.said();
        let attachments: Vec<Value> = question.attachments.iter().map(|attachment| self.shown(attachment)).collect();
        json!({
            "question": question.id,
            "tool": question.kind.tool(),
            "agent": question.asker.agent,
            "worktree": question.asker.worktree,
            "title": question.title,
            "message": question.message,
            "fields": question.form,
            "attachments": attachments,
            "danger": question.danger,
            "urgent": question.urgent,
            "status": question.status(),
            "open": question.is_open(),
            "asked": rfc3339(question.asked_ms),
            "age_s": now.saturating_sub(question.asked_ms) / 1000,
            "left_s": question.expires_ms.saturating_sub(now) / 1000,
            "answered": said.map(|said| json!({"by": said.by, "via": said.via, "at": rfc3339(said.at_ms)})),
            "values": question.values(),
            "note": said.and_then(|said| said.note.as_deref()),
        })
    }

    /// A question as a form shows it: with the texts that are attached.
    pub(crate) fn whole_view(&self, question: &Question) -> Value {
        let mut view = self.view(question);
        for (shown, attachment) in view["attachments"].as_array_mut().into_iter().flatten().zip(&question.attachments) {
            shown["text"] = attachment.text.as_str().into();
        }
        view
    }

    fn shown(&self, attachment: &Attachment) -> Value {
        let copy = attachment.file.as_deref().map(|file| copy_of(&self.options.path, file));
        let lines = attachment.text.lines().count();
        json!({"kind": attachment.kind, "label": attachment.label, "lines": lines, "file": copy})
    }
}
