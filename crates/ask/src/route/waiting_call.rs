//! A call that waits for its question, and shows it in the dialog of its client if possible. Waiting occupies no slot, thread
//! or lock.
//!
//! Only the dialog of the asking connection counts. Scripts and hooks have no dialog.
//!
//! The MCP library shows the dialog. In protocol 2026-07-28, clients return answers with another request. If such an answer
//! arrives after the wait or after a restart, it calls the tool again and is in `cx.resumed()`.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{AskError, AskResponse, Context};
use project::journal;
use tokio::time::{Instant, sleep_until};

use crate::board::{Board, BoardError};
use crate::form::FormView;
use crate::question::{Event, Question, Response, Via};
use crate::settings::Dialogs;

use super::dialog::{from_dialog, to_dialog};

/// The maximum time of an automatic answer. A person cannot read and answer faster.
const NOBODY: Duration = Duration::from_millis(300);
/// The delay of the dialog while faces are connected.
const DIALOG_AFTER: Duration = Duration::from_secs(20);
/// The maximum number of dialogs after invalid answers.
const TRIES: u32 = 3;
/// The number of dialogs accepted without a value after which the program counts as unable to draw the fields.
const EMPTY_MAX: u32 = 2;

/// The outcome of a wait.
pub(crate) enum Waited {
    /// The question is closed.
    Closed(Question),
    /// It is open, and the wait timed out.
    TimedOut(Question),
    /// It is open, and no person can see it.
    Nobody(Question),
    /// Like `Nobody`: the asking program accepts its dialog without an answer.
    Undrawn(Question),
}

/// An open dialog: its start time and its answer.
struct OpenDialog<'a> {
    at: Instant,
    /// True if its answer arrived with the call.
    is_resumed: bool,
    answer: Pin<Box<dyn Future<Output = Result<AskResponse, AskError>> + Send + 'a>>,
}

/// The outcome of a dialog.
enum DialogOutcome {
    /// It is finished or answered.
    Over,
    /// It is shown again, with the error of the last answer.
    Again(String),
    /// It is shown again, because it was accepted without a value.
    Empty(String),
}

/// Waits for a question until `deadline`.
pub(crate) async fn wait(board: &Arc<Board>, cx: &Context, id: &str, deadline: Instant) -> Result<Waited, BoardError> {
    let unknown = || BoardError::Unknown(id.to_owned());
    let mut faces = board.faces();
    let resumed = cx.resumed().is_some_and(|resumed| resumed.name() == id);
    let asker = board.asker(cx);
    let dialogs = board.options.settings.dialog;
    let client = cx.client().map(|client| client.name.to_lowercase()).unwrap_or_default();
    let mut tries = if dialogs == Dialogs::Never && !resumed { 0 } else { TRIES };
    let begun = Instant::now();
    let (mut shown, mut problem): (Option<OpenDialog<'_>>, Option<String>) = (None, None);
    let mut empty = 0;
    loop {
        let changed = board.follow(id);
        let question = board.find(id)?.ok_or_else(unknown)?;
        let Some(mut changed) = changed.filter(|_| question.is_open()) else { return Ok(Waited::Closed(question)) };
        let watched = *faces.borrow_and_update() > 0;
        let ask = to_dialog(&question, problem.as_deref(), &client);
        let is_own = asker.as_ref().is_some_and(|asker| question.asker.is_same_run(asker));
        let has_dialog = tries > 0 && (resumed || (is_own && cx.can_ask(&ask)));
        let dialog_at = match (watched && dialogs == Dialogs::Auto && !resumed, has_dialog && shown.is_none()) {
            (true, true) => Some(begun + DIALOG_AFTER),
            (false, true) => Some(begun),
            _ => None,
        };
        if dialog_at.is_some_and(|at| at <= Instant::now()) {
            let patience = deadline.saturating_duration_since(Instant::now());
            let (cx, name) = (cx.clone(), id.to_owned());
            let answer = Box::pin(async move { cx.ask_as(&name, patience, ask).await });
            let is_resumed = resumed && tries == TRIES;
            shown = Some(OpenDialog { at: Instant::now(), is_resumed, answer });
            tries -= 1;
        } else {
            // Waiting calls without a dialog must stay small.
            drop(ask);
        }
        let returns_until = board.face_returns_until();
        if shown.is_none() && !has_dialog && !watched && returns_until.is_none() && !board.is_told(id) {
            let is_undrawn = empty >= EMPTY_MAX;
            return Ok(if is_undrawn { Waited::Undrawn(question) } else { Waited::Nobody(question) });
        }
        let answered = async {
            match &mut shown {
                Some(shown) => shown.answer.as_mut().await,
                None => pending().await,
            }
        };
        let until = |at: Option<Instant>| async move {
            match at {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        let what = cx
            .waits(async {
                tokio::select! {
                    biased;
                    // The question was closed elsewhere; the dialog is withdrawn if possible.
                    _ = changed.changed() => None,
                    answer = answered => Some(answer),
                    _ = faces.changed() => None,
                    () = until(dialog_at.filter(|_| shown_at_later(dialog_at))) => None,
                    () = until(returns_until) => None,
                    () = sleep_until(deadline) => Some(Err(AskError::Unanswered)),
                }
            })
            .await;
        let Some(answer) = what else { continue };
        let by_nobody = shown.as_ref().is_some_and(|shown| !shown.is_resumed && shown.at.elapsed() < NOBODY);
        shown = None;
        if Instant::now() >= deadline && answer == Err(AskError::Unanswered) {
            return match board.find(id)?.ok_or_else(unknown)? {
                question if question.is_open() => Ok(Waited::TimedOut(question)),
                question => Ok(Waited::Closed(question)),
            };
        }
        match take(board, cx, &question, answer, by_nobody).await? {
            DialogOutcome::Again(why) => problem = Some(why),
            DialogOutcome::Empty(why) => {
                empty += 1;
                problem = Some(why);
                if empty >= EMPTY_MAX {
                    tries = 0;
                }
            }
            DialogOutcome::Over => tries = 0,
        }
    }
}

fn shown_at_later(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at > Instant::now())
}

/// Handles the answer of a dialog.
async fn take(
    board: &Arc<Board>,
    cx: &Context,
    question: &Question,
    answer: Result<AskResponse, AskError>,
    by_nobody: bool,
) -> Result<DialogOutcome, BoardError> {
    let said = |note| Response { by: board.options.person.clone(), via: Via::Dialog, at_ms: journal::now(), note };
    let event = match answer {
        Ok(AskResponse::Accepted(content)) => {
            let (values, note) = from_dialog(question, content);
            let is_empty = values.is_empty() && note.is_none();
            match question.form.check(values, FormView::Flat) {
                // The program answered without asking a person.
                Ok(_) if is_empty && by_nobody => return Ok(DialogOutcome::Empty("nothing was filled in".to_owned())),
                Ok(values) => Event::Answer { values, said: said(note) },
                Err(misfit) if is_empty => return Ok(DialogOutcome::Empty(misfit.to_string())),
                Err(misfit) => return Ok(DialogOutcome::Again(misfit.to_string())),
            }
        }
        // The program answered without asking a person.
        Ok(AskResponse::Declined | AskResponse::Dismissed) if by_nobody => return Ok(DialogOutcome::Over),
        Ok(AskResponse::Declined) => Event::Decline(said(None)),
        Ok(AskResponse::Dismissed) => Event::Dismiss(said(None)),
        Err(AskError::Refused(why)) => {
            tracing::info!(why, question = question.id, client = ?cx.client(), "a dialog's answer cannot be used");
            return Ok(DialogOutcome::Again(why));
        }
        Err(_) => return Ok(DialogOutcome::Over),
    };
    match board.change_soon(&question.id, event).await {
        // Another answer was first and wins.
        Ok(_) | Err(BoardError::Closed(_)) => Ok(DialogOutcome::Over),
        Err(error) => Err(error),
    }
}
