//! A call that asks: validates, stores, waits, and delivers the answer.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::{Context, ToolError};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::result::{Reply, Status, Withheld};
use crate::attachment::GivenAttachment;
use crate::board::{Board, BoardError, Draft, Handout};
use crate::fixed_texts;
use crate::form::{Form, TEXT_MAX};
use crate::question::{Asker, Danger, Kind, Question};
use crate::route::waiting_call::{self, Waited};

/// The default lifetime of a question in seconds.
const LIVES: u64 = 24 * 60 * 60;
const LIVES_AT_LEAST: u64 = 60;
const LIVES_AT_MOST: u64 = 30 * 24 * 60 * 60;
/// The maximum wait of a call in seconds.
const WAIT_MAX: u64 = 3600;
/// The margin before its client's timeout at which a call returns.
const MARGIN: Duration = Duration::from_secs(2);
/// The maximum lengths of a title and a key in characters.
const TITLE_MAX: usize = 300;
const KEY_MAX: usize = 200;
/// The maximum length of an earlier run's answer in a result, in characters.
const HISTORY_MAX: usize = 500;

/// The arguments of all asking tools.
pub(crate) struct Common {
    pub wait_s: Option<u64>,
    pub expires: Option<String>,
    pub urgent: bool,
    pub key: Option<String>,
}

/// The content of a question.
pub(crate) struct QuestionContent {
    pub kind: Kind,
    pub title: String,
    pub message: String,
    pub form: Form,
    pub attachments: Vec<GivenAttachment>,
    pub danger: Danger,
}

/// Asks a question, or finds that of an equal earlier call of this run, and waits for the answer.
pub(crate) async fn ask(
    board: &Arc<Board>,
    cx: &Context,
    asked: QuestionContent,
    common: Common,
) -> Result<Reply, ToolError> {
    let begun = Instant::now();
    let wait = wait(cx, common.wait_s);
    let asker = asker(board, cx)?;
    acknowledge(board, cx, &asker);
    if let Some(question) = resumed(board, cx, &asker)? {
        return wait_for(board, cx, question, begun, wait).await;
    }
    let draft = draft(asked, &common)?;
    board.open_if_there();
    let agent = (board.options.agent_of)(cx).or_else(|| asker.agent.clone());
    let asker = Asker { agent, ..asker };
    let asking = board.blocking(move |board| {
        let question = board.ask(draft, asker)?;
        let earlier = board.earlier(&question)?;
        Ok((question, earlier))
    });
    let (question, earlier) = asking.await.map_err(failed)?;
    let reply = wait_for(board, cx, question, begun, wait).await?;
    // With its own answer, the call needs no history.
    let earlier = earlier.filter(|_| reply.question.is_open());
    let earlier =
        earlier.map(|earlier| fixed_texts::earlier(&earlier, "an earlier run").chars().take(HISTORY_MAX).collect());
    Ok(Reply { earlier, ..reply })
}

/// Acknowledges the answers that were sent to this run before this call.
pub(crate) fn acknowledge(board: &Board, cx: &Context, asker: &Asker) {
    if let Some(began) = cx.started_at() {
        board.acknowledge(&asker.run, began);
    }
}

/// Waits for a question and takes its answer.
pub(crate) async fn wait_for(
    board: &Arc<Board>,
    cx: &Context,
    question: Question,
    begun: Instant,
    wait: Duration,
) -> Result<Reply, ToolError> {
    let asker = asker(board, cx)?;
    let is_own = question.asker.is_same_run(&asker);
    // While this call waits, only calls of its run get the answer, and no other result carries it.
    let _waiting = is_own.then(|| board.waits(&question));
    let question_id = question.id.clone();
    let resumed = cx.resumed().is_some_and(|resumed| resumed.name() == question.id);
    let waited = if wait.is_zero() && !resumed && question.is_open() {
        Ok(None)
    } else {
        waiting_call::wait(board, cx, &question.id, begun + wait).await.map(Some)
    };
    let waited_s = begun.elapsed().as_secs();
    let is_seen = board.watching() > 0 || board.is_told(&question_id);
    let reply = |question, open_as| Reply {
        question,
        open_as,
        waited_s,
        redelivered: false,
        is_seen,
        is_undrawn: false,
        withheld: None,
        earlier: None,
    };
    match waited.map_err(failed)? {
        None => Ok(reply(question, Status::Asked)),
        Some(Waited::TimedOut(question)) => Ok(reply(question, Status::TimedOut)),
        Some(Waited::Nobody(question)) => Ok(reply(question, Status::Unavailable)),
        Some(Waited::Undrawn(question)) => Ok(Reply { is_undrawn: true, ..reply(question, Status::Unavailable) }),
        Some(Waited::Closed(question)) => {
            // A caller takes over another one's question only if that one is not waiting.
            if !is_own && (!asker.may_continue(&question.asker) || board.is_awaited(&question)) {
                return Ok(Reply { withheld: Some(Withheld::AnotherRun), ..reply(question, Status::TimedOut) });
            }
            let Handout { question, is_taken } = board.hand_out(&question, &asker.run, cx).map_err(failed)?;
            if question.response().is_some() && !is_taken {
                let by = if is_own { Withheld::AnotherCall } else { Withheld::AnotherRun };
                return Ok(Reply { withheld: Some(by), ..reply(question, Status::TimedOut) });
            }
            Ok(Reply { redelivered: question.is_redelivered(), ..reply(question, Status::TimedOut) })
        }
    }
}

/// Returns the wait of a call: the given one, or one within the client's known timeout.
pub(crate) fn wait(cx: &Context, said: Option<u64>) -> Duration {
    let name = cx.client().map(|client| client.name.to_lowercase()).unwrap_or_default();
    // Claude Code moves a call to the background after 120 s; other clients time out after 60 s.
    let default = if name.contains("claude-code") { 110 } else { 50 };
    let wait = Duration::from_secs(said.unwrap_or(default).min(WAIT_MAX));
    cx.budget().map_or(wait, |budget| wait.min(budget.saturating_sub(MARGIN)))
}

/// Returns the question of a call that carries the answer of its dialog.
fn resumed(board: &Board, cx: &Context, asker: &Asker) -> Result<Option<Question>, ToolError> {
    let Some(resumed) = cx.resumed() else { return Ok(None) };
    board.open_if_there();
    let found = board.find(resumed.name()).map_err(failed)?;
    // The ticket is sealed for one call of the asker, so it identifies callers that are otherwise indistinguishable.
    Ok(found.filter(|question| question.asker.is_same_run(asker) || asker.may_continue(&question.asker)))
}

fn draft(asked: QuestionContent, common: &Common) -> Result<Draft, ToolError> {
    let QuestionContent { kind, title, message, form, attachments, danger } = asked;
    let title = title.trim().to_owned();
    if title.is_empty() {
        let argument = match kind {
            Kind::Confirm => "action",
            Kind::Select => "prompt",
            Kind::Guide => "context",
            Kind::Form => "title",
        };
        return Err(ToolError::user(format!("`{argument}` is empty; write the question there")));
    }
    let length = title.chars().count();
    let (title, message) = if length > TITLE_MAX {
        // The message keeps the whole title.
        let head: String = title.chars().take(TITLE_MAX - 1).collect();
        (format!("{head}…"), [title, message].join("\n\n"))
    } else {
        (title, message)
    };
    if message.len() > TEXT_MAX {
        return Err(ToolError::user(format!("the text is too long: {} bytes; the limit is {TEXT_MAX}", message.len()))
            .hint("Put the details into a file and name it."));
    }
    form.validate().map_err(|why| ToolError::user(format!("invalid question: {why}")))?;
    if common.key.as_deref().is_some_and(|key| key.chars().count() > KEY_MAX) {
        return Err(ToolError::user(format!("`key` is too long; the limit is {KEY_MAX} characters")));
    }
    let lives = common.expires.as_deref().map_or(Ok(LIVES), parse_lifetime)?;
    let digest = match &common.key {
        Some(key) => digest(&[kind.tool(), "key", key]),
        None => {
            let form = serde_json::to_string(&form).map_err(ToolError::internal)?;
            let more = serde_json::json!([danger, attachments]).to_string();
            digest(&[kind.tool(), &title, &message, &form, &more])
        }
    };
    let (urgent, lives) = (common.urgent, Duration::from_secs(lives));
    Ok(Draft { kind, title, message, form, attachments, danger, urgent, digest, lives })
}

/// Parses the lifetime of a question, such as `2h`, to seconds.
fn parse_lifetime(words: &str) -> Result<u64, ToolError> {
    let words = words.trim();
    let (number, unit) = words.split_at(words.find(|c: char| !c.is_ascii_digit()).unwrap_or(words.len()));
    let unit = match unit.trim() {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => 0,
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(seconds) if (LIVES_AT_LEAST..=LIVES_AT_MOST).contains(&seconds) => Ok(seconds),
        Some(seconds) if seconds > 0 => {
            Err(ToolError::user(format!("`expires`: {words} is out of range; use 1m to 30d")))
        }
        _ => Err(ToolError::user(format!("`expires`: {} is not a valid duration", Value::from(words)))
            .hint("Write a number with s, m, h or d, such as 2h: from 1m to 30d.")),
    }
}

fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex::encode(&digest.finalize()[..16])
}

pub(crate) fn asker(board: &Board, cx: &Context) -> Result<Asker, ToolError> {
    board.asker(cx).ok_or_else(|| ToolError::internal("a call without a caller"))
}

pub(crate) fn failed(error: BoardError) -> ToolError {
    match error {
        BoardError::Unknown(_) => ToolError::user(error.to_string()).hint("ask_list shows yours."),
        BoardError::Full | BoardError::Closed(_) | BoardError::Store(_) | BoardError::Unshown(_) => {
            ToolError::user(error.to_string())
        }
        BoardError::Lost(_) => ToolError::internal(error),
    }
}
