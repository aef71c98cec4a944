//! Late answers: without a waiting call, the next result of the asking run carries the answer as text.
//!
//! The text has a frame that mail or program output cannot imitate: an unpredictable mark, and a bar before
//! each line.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use mcp::tool::Context;
use project::{Caller, Role, journal};
use tokio::sync::watch;

use crate::answer::result_lines;
use crate::board::{ARRIVED, Board, BoardError, Handout};
use crate::fixed_texts;
use crate::question::{Asker, Question};

/// The maximum number of answers in one result. The next constant limits their total length in characters.
const AT_ONCE: usize = 3;
const CHARACTERS: usize = 8000;

/// Returns the undelivered answers for the run of this call, as texts for its result. Each is delivered once.
pub fn take_late_answers(board: &Arc<Board>, cx: &Context) -> Vec<String> {
    let Some(caller) = cx.caller::<Caller>().filter(|_| board.is_open()) else { return Vec::new() };
    // The output of an emulated system stays unchanged.
    let is_fixed = caller.profile.as_deref().is_some_and(|profile| profile != "tidepool");
    if caller.role != Role::Mcp || is_fixed {
        return Vec::new();
    }
    let Some(asker) = board.asker(cx).filter(|asker| !asker.calls_back) else { return Vec::new() };
    if let Some(began) = cx.started_at() {
        board.acknowledge(&asker.run, began);
    }
    handed(board, &asker, |question| board.hand_out(question, &asker.run, cx))
}

/// Acknowledges answers that were sent some time before a hook event of the caller's agent.
pub fn acknowledge_at_hook(board: &Board, cx: &Context) {
    if board.is_open()
        && let Some(asker) = board.asker(cx)
        && let Some(since) = Instant::now().checked_sub(ARRIVED)
    {
        board.acknowledge(&asker.run, since);
    }
}

/// Returns the undelivered answers for the context of an agent at a hook event. Each is delivered once. They become undelivered
/// again if the returned callback is called, or if `gone` reports that the agent ended before its next sign of life.
pub fn late_at_hook(
    board: &Arc<Board>,
    cx: &Context,
    gone: impl Fn() -> AgentEnd,
) -> Option<(String, Box<dyn FnOnce() + Send>)> {
    let asker = board.asker(cx).filter(|asker| board.is_open() && !asker.calls_back)?;
    let (tell, told) = watch::channel(false);
    let texts = handed(board, &asker, |question| {
        let (mut told, gone) = (told.clone(), gone());
        board.hand_out_until(question, &asker.run, async move {
            let lost = async {
                // The callback was dropped, so a loss can no longer be reported.
                if told.wait_for(|lost| *lost).await.is_err() {
                    pending::<()>().await;
                }
            };
            tokio::select! { () = lost => {} () = gone => {} }
        })
    });
    let lost: Box<dyn FnOnce() + Send> = Box::new(move || _ = tell.send_replace(true));
    (!texts.is_empty()).then(|| (texts.join("\n\n"), lost))
}

/// A future that completes when an agent is gone.
pub type AgentEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Hands out the undelivered answers of an asker.
fn handed(
    board: &Arc<Board>,
    asker: &Asker,
    hand_out: impl Fn(&Question) -> Result<Handout, BoardError>,
) -> Vec<String> {
    let is_mine = |question: &Question| question.asker.is_same_run(asker);
    let mine: Vec<Question> = board.undelivered().into_iter().filter(is_mine).collect();
    let mut texts = Vec::new();
    let mut left = CHARACTERS;
    for question in mine.iter().take(AT_ONCE) {
        let text = framed(question);
        let length = text.chars().count();
        // A long answer is delivered alone and is never truncated.
        if length > left && !texts.is_empty() {
            break;
        }
        match hand_out(question) {
            // Another result of this run took it at the same moment.
            Ok(Handout { is_taken: false, .. }) => {}
            Ok(_) => {
                left = left.saturating_sub(length);
                texts.push(text);
            }
            Err(error) => {
                tracing::error!(%error, question = question.id, "an answer could not be handed out");
                break;
            }
        }
    }
    let more = mine.len() - texts.len();
    if more > 0 && !texts.is_empty() {
        texts.push(fixed_texts::more_answers(more));
    }
    texts
}

fn framed(question: &Question) -> String {
    let mut bytes = [0; 8];
    // Without the system's randomness no frame would be safe. A running system always provides it.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    let mark = format!("{:016x}", u64::from_ne_bytes(bytes));
    let age = project::span(journal::now().saturating_sub(question.asked_ms) / 1000);
    let title = project::visible::visible(&question.title);
    let mut text = format!(
        "<<{mark} {}\n| question: {title}\n",
        fixed_texts::late_head(question, &age, question.is_redelivered())
    );
    for line in result_lines(question) {
        text.push_str(&format!("| {}\n", project::visible::escaped(&line)));
    }
    text.push_str(&format!("{mark}>>"));
    text
}
