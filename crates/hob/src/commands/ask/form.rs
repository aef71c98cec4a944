//! Shows a question as a form on the terminal. Unsent input is kept in a private file until the question closes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::control::ControlError;
use project::visible;
use serde_json::{Value, json};
use ui::form::{Answer, Draft, Outcome, Question, Questioner, Refusal};

use super::answerer::{Answerer, Trouble};
use super::ending;
use crate::exit::Failure;

/// The interval at which others are told that the person is still answering.
const CLAIM: Duration = Duration::from_secs(30);
/// The timeout of each poll for news about the question.
const LISTEN: Duration = Duration::from_millis(2);

/// The size limit of a draft, in bytes.
const DRAFT_MAX: usize = 1024 * 1024;

/// The result of the form.
pub(super) enum Filled {
    /// The question was answered; its new state.
    Answered(Value),
    /// The person left.
    Left { has_draft: bool },
    /// The question was closed elsewhere. Contains the input so far, by field.
    Closed { why: String, typed: Vec<(String, String)> },
}

/// Shows a question as a form. Returns `None` if the terminal cannot show one.
pub(super) fn fill(answerer: &mut Answerer<'_>, question: &Value, note: &str) -> Result<Option<Filled>, Failure> {
    let shown: Question = serde_json::from_value(question.clone()).map_err(Failure::new)?;
    let id = shown.question.clone();
    let drafts = Drafts::open(answerer);
    let draft = drafts.read(&id);
    let mut given = FormSession { answerer, id: id.clone(), claimed: None, closed: None, answered: None };
    match ui::form::fill(shown, note, &draft, &mut given) {
        Ok(Outcome::Given) => Ok(given.answered.map(Filled::Answered)),
        Ok(Outcome::Left { draft }) => Ok(Some(Filled::Left { has_draft: drafts.keep(&id, draft.as_ref()) })),
        Ok(Outcome::Closed { why, typed }) => {
            drafts.remove(&id);
            Ok(Some(Filled::Closed { why, typed }))
        }
        Err(_) => Ok(None),
    }
}

/// Removes the draft of an answered question.
pub(super) fn remove_draft(answerer: &Answerer<'_>, id: &str) {
    Drafts::open(answerer).remove(id);
}

/// Removes the drafts of all questions that are not open.
pub(super) fn remove_old_drafts(answerer: &Answerer<'_>, open: &[Value]) {
    let drafts = Drafts::open(answerer);
    let is_open = |id: &str| open.iter().any(|question| question["question"] == id);
    for file in std::fs::read_dir(&drafts.directory).into_iter().flatten().flatten() {
        let name = file.file_name();
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json"))
            && !is_open(id)
        {
            drafts.remove(id);
        }
    }
}

/// The directory of drafts: one private file per question.
struct Drafts {
    directory: PathBuf,
}

impl Drafts {
    fn open(answerer: &Answerer<'_>) -> Drafts {
        Drafts { directory: answerer.project().state_dir().join("drafts") }
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let is_name = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| self.directory.join(format!("{id}.json")))
    }

    /// Reads the draft of a question; empty if it is missing or unreadable.
    fn read(&self, id: &str) -> Draft {
        let bytes = self.path(id).and_then(|path| project::private::read(&path, DRAFT_MAX as u64).ok().flatten());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Replaces the draft of a question. Returns true if a draft exists now.
    fn keep(&self, id: &str, draft: Option<&Draft>) -> bool {
        let bytes = draft.and_then(|draft| serde_json::to_vec(draft).ok()).filter(|bytes| bytes.len() <= DRAFT_MAX);
        let (Some(bytes), Some(path)) = (bytes, self.path(id)) else {
            self.remove(id);
            return false;
        };
        project::private::replace(&path, &bytes).is_ok()
    }

    fn remove(&self, id: &str) {
        // A draft that cannot be removed now is removed with the next question.
        let _ = self.path(id).map(std::fs::remove_file);
    }
}

struct FormSession<'a, 'p> {
    answerer: &'a mut Answerer<'p>,
    id: String,
    claimed: Option<Instant>,
    /// The daemon's message if the question was already closed.
    closed: Option<String>,
    answered: Option<Value>,
}

impl Questioner for FormSession<'_, '_> {
    fn give(&mut self, answer: &Answer) -> Result<(), Refusal> {
        let params = match answer {
            Answer::Values { values, note } => {
                json!({"question": self.id, "values": values, "note": note, "via": "terminal"})
            }
            Answer::Decline { note } => json!({"question": self.id, "decline": true, "note": note, "via": "terminal"}),
        };
        match self.answerer.answer(&self.id, params) {
            Ok(question) => {
                self.answered = Some(question);
                Ok(())
            }
            Err(Trouble::Refused(ControlError::Refused { message, data, .. })) => {
                let data = data.unwrap_or_default();
                let why = visible(&message);
                match data["reason"].as_str() {
                    Some("closed" | "unknown" | "refused") => Err(Refusal::Closed { why }),
                    // The field's name is already shown above.
                    Some("misfit") => {
                        let field = data["field"].as_str().map(str::to_owned);
                        let why = data["why"].as_str().map_or(why, visible);
                        Err(Refusal::Again { field, why })
                    }
                    _ => Err(Refusal::Again { field: None, why: format!("not accepted: {why}") }),
                }
            }
            Err(trouble) => {
                let failure = trouble.failure();
                let why = format!("not accepted: {}. Enter on Send tries again.", visible(&failure.message));
                Err(Refusal::Again { field: None, why })
            }
        }
    }

    fn typed(&mut self) {
        if self.claimed.is_none_or(|at| at.elapsed() > CLAIM) {
            self.claimed = Some(Instant::now());
            let claimed = self.answerer.request("ask/claim", json!({"question": self.id, "via": "terminal"}));
            // A claim does not block others, so other failures do not matter.
            if let Err(Trouble::Refused(ControlError::Refused { message, data: Some(data), .. })) = claimed
                && data["reason"] == "closed"
            {
                self.closed = Some(visible(&message));
            }
        }
    }

    fn closed(&mut self) -> Option<String> {
        if let Some(why) = self.closed.take() {
            return Some(why);
        }
        let is_closed = |question: &Value| question["question"] == self.id && question["open"] != true;
        // The question may have been closed by a notification that arrived during the claim.
        if let Some(question) = self.answerer.heard.drain(..).find(&is_closed) {
            return Some(ending(&question));
        }
        self.answerer.look_for_daemon(&self.id);
        let control = self.answerer.control.as_mut()?;
        match control.notification(&["ask/changed"], Some(Instant::now() + LISTEN)) {
            Ok(Some((_, question))) if is_closed(&question) => Some(ending(&question)),
            Ok(_) => None,
            // The next request reconnects.
            Err(_) => {
                self.answerer.control = None;
                None
            }
        }
    }
}
