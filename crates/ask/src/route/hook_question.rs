//! A question of an agent's hook: a person decides instead of the agent's own prompt. It waits while a person can see it. If it
//! times out or its agent is gone, it is withdrawn and the agent shows its own prompt.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use crate::board::{Board, BoardError, Draft};
use crate::form::Form;
use crate::question::{Asker, Danger, Event, Kind, Question, QuestionState};

/// The question of a hook.
#[derive(Debug)]
pub struct HookQuestion {
    pub title: String,
    pub message: String,
    /// The fields, in the format of `ask_form`.
    pub fields: Value,
    /// The hash that identifies repetitions of the question.
    pub digest: String,
    /// The asker: the agent's name and program, its session, its worktree.
    pub agent: Option<String>,
    pub client: String,
    pub run: String,
    pub worktree: PathBuf,
}

/// The outcome of a hook's question.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// A person answered.
    Answered { values: Map<String, Value>, note: Option<String>, by: String },
    /// A person declined.
    Declined,
    /// No person could see it.
    Nobody,
    /// No person answered in time.
    Late,
}

/// Asks, and waits until the deadline, or until `gone`.
///
/// # Errors
/// The reason why it cannot be asked.
pub async fn ask_at_hook(
    board: &Arc<Board>,
    question: HookQuestion,
    deadline: Instant,
    gone: impl Future<Output = ()>,
) -> Result<HookAnswer, String> {
    if !board.is_watched() && board.options.notify.is_none() {
        return Ok(HookAnswer::Nobody);
    }
    let HookQuestion { title, message, fields, digest, agent, client, run, worktree } = question;
    let form: Form = serde_json::from_value(fields).map_err(|error| error.to_string())?;
    form.validate()?;
    // Only this hook gets the answer.
    let asker = Asker {
        agent,
        client: Some(client),
        run,
        pid: 0,
        worktree,
        calls_back: true,
        shares_token: false,
        is_hook: true,
    };
    let draft = Draft {
        kind: Kind::Form,
        title,
        message,
        form,
        attachments: Vec::new(),
        danger: Danger::Normal,
        // The agent is blocked meanwhile.
        urgent: true,
        digest: format!("hook {digest}"),
        lives: deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1)),
    };
    let asked = board.blocking(move |board| board.ask(draft, asker)).await.map_err(|error| error.to_string())?;
    let waited = waited(board, &asked, deadline, gone).await;
    let answer = waited.map_err(|error| error.to_string())?;
    if matches!(answer, HookAnswer::Nobody | HookAnswer::Late) {
        let reason = "the agent shows its own prompt".to_owned();
        let event = Event::Withdraw { reason, at_ms: project::journal::now() };
        match board.change_soon(&asked.id, event).await {
            // It was answered or expired at the same moment.
            Err(BoardError::Closed(question)) => return Ok(answer_of(&question).unwrap_or(answer)),
            Err(error) => return Err(error.to_string()),
            Ok(_) => {}
        }
    }
    Ok(answer)
}

async fn waited(
    board: &Arc<Board>,
    asked: &Question,
    deadline: Instant,
    gone: impl Future<Output = ()>,
) -> Result<HookAnswer, BoardError> {
    let mut gone = std::pin::pin!(gone);
    let mut faces = board.faces();
    loop {
        let changed = board.follow(&asked.id);
        let question = board.find(&asked.id)?.ok_or_else(|| BoardError::Unknown(asked.id.clone()))?;
        if let Some(answer) = answer_of(&question) {
            if question.waits_for_hand_out() {
                let run = question.asker.run.clone();
                board.blocking(move |board| board.hand_out_until(&question, &run, pending())).await?;
            }
            return Ok(answer);
        }
        faces.borrow_and_update();
        if !board.is_watched() && !board.is_told(&asked.id) {
            return Ok(HookAnswer::Nobody);
        }
        let changed = async {
            match changed {
                Some(mut changed) => _ = changed.changed().await,
                None => pending().await,
            }
        };
        let returns = async {
            match board.face_returns_until() {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = changed => {}
            _ = faces.changed() => {}
            () = returns => {}
            () = &mut gone => return Ok(HookAnswer::Late),
            () = sleep_until(deadline) => return Ok(HookAnswer::Late),
        }
    }
}

/// Returns the answer of a closed question.
fn answer_of(question: &Question) -> Option<HookAnswer> {
    match &question.standing {
        QuestionState::Open => None,
        QuestionState::Answered { values, said } => {
            Some(HookAnswer::Answered { values: values.clone(), note: said.note.clone(), by: said.by.clone() })
        }
        QuestionState::Declined { .. } | QuestionState::Dismissed { .. } => Some(HookAnswer::Declined),
        QuestionState::Withdrawn { .. } | QuestionState::Expired { .. } => Some(HookAnswer::Late),
    }
}
