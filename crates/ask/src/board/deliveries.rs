//! The delivery of answers: the call that carries an answer, its confirmation, and failed deliveries.

use std::time::{Duration, Instant};

use mcp::tool::Context;
use tokio::sync::oneshot;

use super::{Board, BoardError, State};
use crate::question::{Event, Question};

/// The minimum age of a sent result before a hook event of the agent confirms its arrival.
pub(crate) const ARRIVED: Duration = Duration::from_secs(1);

/// An answer that was sent with a call.
pub(super) struct Hand {
    number: u64,
    run: String,
    at: Instant,
    /// Dropping it ends the task that watches the call.
    _watched: oneshot::Sender<()>,
}

/// The result of requesting an answer for a call.
pub(crate) struct Handout {
    pub question: Question,
    /// True if this call got the answer. Else another call has it, or the question was closed without one.
    pub is_taken: bool,
}

/// A waiting call of the run that asked. While it exists, only such calls get the answer.
pub(crate) struct Waiting<'a> {
    board: &'a Board,
    seq: u64,
}

impl Board {
    /// Registers a waiting call of the run that asked.
    pub(crate) fn waits(&self, question: &Question) -> Waiting<'_> {
        if let Some(held) = self.state.lock().questions.get_mut(&question.seq) {
            held.waiting += 1;
        }
        Waiting { board: self, seq: question.seq }
    }

    /// Returns true if a call of the run that asked is waiting for the question.
    pub(crate) fn is_awaited(&self, question: &Question) -> bool {
        self.state.lock().questions.get(&question.seq).is_some_and(|held| held.waiting > 0)
    }

    /// Hands the answer to a call that is about to return. If the call is cancelled, or its connection ends before the run calls
    /// again, the answer becomes available again. Returns the question with its hand-out.
    pub(crate) fn hand_out(&self, question: &Question, run: &str, cx: &Context) -> Result<Handout, BoardError> {
        let cx = cx.clone();
        self.hand_out_until(question, run, async move {
            tokio::select! {
                () = cx.cancelled() => {}
                () = cx.disconnected() => {}
            }
        })
    }

    /// Works like [`Board::hand_out`] with another signal for a lost answer.
    pub(crate) fn hand_out_until(
        &self,
        question: &Question,
        run: &str,
        lost: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Handout, BoardError> {
        let (handed, is_taken) = self.apply(&question.id, Event::HandOut)?;
        let handout = Handout { question: handed, is_taken };
        if !is_taken {
            return Ok(handout);
        }
        if question.asker.calls_back {
            // No later call of its run can acknowledge it.
            return self.change(&question.id, Event::Confirm).map(|_| handout);
        }
        let (watched, mut confirmed) = oneshot::channel();
        let mut state = self.state.lock();
        state.last_hand += 1;
        let number = state.last_hand;
        if let Some(held) = state.questions.get_mut(&question.seq) {
            held.hand = Some(Hand { number, run: run.to_owned(), at: Instant::now(), _watched: watched });
        }
        drop(state);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (board, seq) = (self.me.clone(), question.seq);
            runtime.spawn(async move {
                tokio::select! {
                    _ = &mut confirmed => return,
                    () = lost => {}
                }
                if let Some(board) = board.upgrade() {
                    board.give_up(seq, number);
                }
            });
        }
        Ok(handout)
    }

    fn give_up(&self, seq: u64, number: u64) {
        let mut state = self.state.lock();
        let Some(held) = state.questions.get_mut(&seq) else { return };
        if held.hand.take_if(|hand| hand.number == number).is_none() {
            return;
        }
        let id = held.question.id.clone();
        drop(state);
        if let Err(error) = self.change(&id, Event::GiveUp) {
            tracing::error!(%error, question = id, "an answer that was lost is not handed out again");
        }
    }

    /// Acknowledges the answers that were sent to a run before `since`, because it called again.
    pub(crate) fn acknowledge(&self, run: &str, since: Instant) {
        let mut state = self.state.lock();
        let State { questions, closed, .. } = &mut *state;
        let mut arrived = Vec::new();
        for seq in &*closed {
            let Some(held) = questions.get_mut(seq) else { continue };
            let has_arrived = |hand: &mut Hand| hand.run == run && hand.at < since;
            if held.hand.take_if(has_arrived).is_some() {
                arrived.push(held.question.id.clone());
            }
        }
        drop(state);
        for id in arrived {
            if let Err(error) = self.change(&id, Event::Confirm) {
                tracing::error!(%error, question = id, "an answer that arrived may be handed out again");
            }
        }
    }

    /// Returns the questions with an undelivered answer and without a waiting call, in order.
    pub(crate) fn undelivered(&self) -> Vec<Question> {
        let state = self.state.lock();
        let closed = state.closed.iter().filter_map(|seq| state.questions.get(seq));
        let waiting = closed.filter(|held| held.waiting == 0 && held.question.waits_for_hand_out());
        waiting.map(|held| held.question.clone()).collect()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.board.state.lock().questions.get_mut(&self.seq) {
            held.waiting = held.waiting.saturating_sub(1);
        }
    }
}
