//! Faces: programs that show questions to a person, such as `hob questions --watch`. A face exists as long as its connection.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use mcp::tool::Context;
use parking_lot::Mutex;
use project::dashboard::QuestionRow;
use project::journal;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Board, Failed, Notified};
use crate::answer;
use crate::attachment::{Attachment, copy_of};
use crate::journal::Record;
use crate::question::{CLAIM_MS, Question, Via, rfc3339};

/// The grace period for a disconnected face to reconnect.
pub(crate) const RECONNECTS: Duration = Duration::from_secs(3);

/// The name of the file that exists while a face is connected, next to that of the questions.
const WATCHED: &str = "ask-watched";

/// The connected faces.
pub(super) struct Faces {
    by_number: Mutex<Table>,
    /// The number of connected faces.
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
    /// Describes the open questions from a worktree in a sentence.
    pub fn waiting(&self, worktree: &Path) -> Option<String> {
        let state = self.state.lock();
        let open = state.questions.values().map(|held| &held.question);
        let open = open.filter(|question| question.is_open() && question.asker.worktree == worktree);
        let named = |question: &Question| {
            let title: String = project::visible(&question.title).chars().take(60).collect();
            format!("{} \"{title}\"", question.id)
        };
        let named: Vec<String> = open.map(named).collect();
        (!named.is_empty()).then(|| format!("no answer from your user yet: {}; ask_list shows more", named.join(", ")))
    }

    /// Returns the open questions as rows, oldest first.
    pub fn rows(&self) -> Vec<QuestionRow> {
        let state = self.state.lock();
        let open = state.questions.values().map(|held| &held.question).filter(|question| question.is_open());
        let row = |question: &Question| QuestionRow {
            id: question.id.clone(),
            worktree: question.asker.worktree.to_string_lossy().into_owned(),
            agent: question.asker.agent.clone().or_else(|| question.asker.client.clone()).unwrap_or_default(),
            pid: question.asker.pid,
            title: question.title.clone(),
            danger: question.danger.as_str().to_owned(),
            urgent: question.urgent,
            asked_at: question.asked_ms,
            expires_at: question.expires_ms,
            state: "open".to_owned(),
        };
        open.map(row).collect()
    }

    /// Registers this connection as a face until it ends.
    pub(crate) fn add_face(&self, cx: &Context) {
        let mut table = self.faces.by_number.lock();
        table.last += 1;
        let number = table.last;
        table.faces.insert(number, cx.clone());
        self.faces.watching.send_replace(table.faces.len());
        if table.faces.len() == 1 {
            self.note_watched(true);
        }
        drop(table);
        let (board, cx) = (self.me.clone(), cx.clone());
        tokio::spawn(async move {
            cx.disconnected().await;
            if let Some(board) = board.upgrade() {
                let mut table = board.faces.by_number.lock();
                table.faces.remove(&number);
                table.left = Some(Instant::now());
                board.faces.watching.send_replace(table.faces.len());
                if table.faces.is_empty() {
                    board.note_watched(false);
                    (board.options.record)(Record::FacesClosed);
                }
            }
        });
    }

    /// Returns a receiver of the number of faces.
    pub(crate) fn faces(&self) -> watch::Receiver<usize> {
        self.faces.watching.subscribe()
    }

    /// Returns true if a face is connected, or may reconnect within the grace period.
    pub(crate) fn is_watched(&self) -> bool {
        self.watching() > 0 || self.face_returns_until().is_some()
    }

    /// Returns the end of the grace period for a disconnected face, or for a face of a crashed daemon.
    pub(crate) fn face_returns_until(&self) -> Option<Instant> {
        let left = self.faces.by_number.lock().left;
        let until = left.or_else(|| self.was_watched.then_some(self.born))? + RECONNECTS;
        (until > Instant::now()).then_some(until)
    }

    /// Returns true if a face was connected when an earlier daemon crashed, which leaves this file.
    pub(super) fn was_watched(path: &Path) -> bool {
        path.with_file_name(WATCHED).symlink_metadata().is_ok()
    }

    fn note_watched(&self, is_watched: bool) {
        let file = self.options.path.with_file_name(WATCHED);
        let noted = if is_watched {
            (self.options.prepare)()
                .and_then(|()| OpenOptions::new().append(true).create(true).mode(0o600).open(file).map(drop))
        } else {
            std::fs::remove_file(file)
        };
        // Without the file, the next daemon only skips the grace period.
        if let Err(error) = noted {
            tracing::debug!(%error, "who watches cannot be noted");
        }
    }

    /// Notifies the person of a question outside of hob, if configured.
    pub(super) fn notify_person(&self, question: &Question) {
        let Some(notify) = &self.options.notify else { return };
        // The notification may fail at once and must then reset this flag.
        self.set_told(question.seq, true);
        let (board, seq) = (self.me.clone(), question.seq);
        let failed: Failed = Box::new(move || {
            if let Some(board) = board.upgrade() {
                board.set_told(seq, false);
            }
        });
        if !notify(&Notified { id: &question.id, title: &question.title }, failed) {
            self.set_told(question.seq, false);
        }
    }

    /// Records whether the person was notified outside of hob. Waiting calls check it again.
    fn set_told(&self, seq: u64, is_told: bool) {
        if let Some(held) = self.state.lock().questions.get_mut(&seq) {
            held.is_told = is_told;
            held.changed.send_replace(());
        }
    }

    /// Returns true if the person was notified of a question outside of hob.
    pub(crate) fn is_told(&self, id: &str) -> bool {
        self.state.lock().questions.values().any(|held| held.is_told && held.question.id == id)
    }

    /// Sends a changed question to every face.
    pub(super) fn show(&self, question: &Question) {
        let faces: Vec<Context> = self.faces.by_number.lock().faces.values().cloned().collect();
        if faces.is_empty() {
            return;
        }
        let view = self.view(question);
        for face in faces {
            // A disconnected face gets nothing, and a slow one requests the list.
            let _ = face.notify("ask/changed", &view);
        }
    }
}

impl Board {
    /// Returns a question for faces. Attached texts are replaced with their line counts.
    pub(crate) fn view(&self, question: &Question) -> Value {
        let now = journal::now();
        let said = question.response();
        let claimed = self.claimed(question).filter(|(_, at_ms)| question.is_open() && now < at_ms + CLAIM_MS);
        let attachments: Vec<Value> =
            question.attachments.iter().map(|attachment| self.view_attachment(attachment)).collect();
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
            "being_answered": claimed.map(|(via, _)| via),
            "answered": said.map(|said| json!({"by": said.by, "via": said.via, "at": rfc3339(said.at_ms)})),
            "values": question.values(),
            "answer": answer::result_lines(question),
            "note": said.and_then(|said| said.note.as_deref()),
        })
    }

    /// Returns a question for a form, with the attached texts.
    pub(crate) fn whole_view(&self, question: &Question) -> Value {
        let mut view = self.view(question);
        for (shown, attachment) in view["attachments"].as_array_mut().into_iter().flatten().zip(&question.attachments) {
            shown["text"] = attachment.text.as_str().into();
        }
        view
    }

    /// Returns where and when a person last began to answer it.
    fn claimed(&self, question: &Question) -> Option<(Via, u64)> {
        self.state.lock().questions.get(&question.seq)?.claimed
    }

    fn view_attachment(&self, attachment: &Attachment) -> Value {
        let copy = attachment.file.as_deref().map(|file| copy_of(&self.options.path, file));
        let lines = attachment.text.lines().count();
        json!({"kind": attachment.kind, "label": attachment.label, "lines": lines, "file": copy})
    }
}
