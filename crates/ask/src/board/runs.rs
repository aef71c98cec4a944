//! The owner of a question. An answer belongs to the run that asked. Another run gets a separate question, and sees the earlier
//! answer as history.

use mcp::tool::Context;
use project::{Caller, Identification, Role, journal};

use super::{Board, BoardEntry, BoardError, Draft, QUESTIONS_MAX, State};
use crate::question::{Asker, Event, Question, QuestionState};

/// The maximum age of an earlier run's answer that is shown.
const HISTORY_MS: u64 = 24 * 60 * 60 * 1000;

impl Board {
    /// Returns the question of an equal earlier call of the same run, if it is open or its answer is undelivered.
    pub(super) fn equal_question(&self, draft: &Draft, asker: &Asker) -> Option<Question> {
        let state = self.state.lock();
        let mut questions = state.questions.values().map(|held| &held.question);
        let is_same = |question: &&Question| {
            // An answer expires together with its question.
            let is_current = question.is_open() || question.expires_ms > journal::now();
            question.asker.is_same_run(asker)
                && is_equal(question, draft)
                && is_current
                && (question.is_open() || question.waits_for_hand_out())
        };
        questions.find(is_same).cloned()
    }

    /// Withdraws equal open questions whose agents are gone, so that the person sees only the new one.
    pub(super) fn withdraw_former(&self, draft: &Draft, asker: &Asker) -> Result<(), BoardError> {
        let state = self.state.lock();
        let questions = state.questions.values().map(|held| &held.question);
        let is_former = |question: &&Question| {
            let former = &question.asker;
            question.is_open() && is_equal(question, draft) && former.worktree == asker.worktree && !former.calls_back
        };
        let former: Vec<Question> = questions.filter(is_former).cloned().collect();
        drop(state);
        for question in former.into_iter().filter(|question| !(self.options.is_alive)(&question.asker)) {
            let reason = "its agent has ended, and another run asks the same question".to_owned();
            match self.change(&question.id, Event::Withdraw { reason, at_ms: journal::now() }) {
                Ok(_) | Err(BoardError::Closed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the latest equal question that a person answered for another run. Blocks.
    pub(crate) fn earlier(&self, question: &Question) -> Result<Option<Question>, BoardError> {
        let Some(store) = self.store.get() else { return Ok(None) };
        let since = journal::now().saturating_sub(HISTORY_MS);
        let is_earlier = |former: &Question| {
            matches!(former.standing, QuestionState::Answered { .. })
                && former.response().is_some_and(|said| said.at_ms >= since)
                && !former.asker.is_same_run(&question.asker)
                && question.asker.may_read(&former.asker)
                && (&former.title, &former.message, &former.form)
                    == (&question.title, &question.message, &question.form)
        };
        Ok(store.of_digest(&question.digest)?.into_iter().find(is_earlier))
    }

    /// Returns the number of open questions, and of answers that their askers can still receive.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        let open = state.questions.values().filter(|held| held.question.is_open()).count();
        let waiting = state.questions.values().map(|held| &held.question);
        let waiting: Vec<Asker> =
            waiting.filter(|question| question.waits_for_hand_out()).map(|question| question.asker.clone()).collect();
        drop(state);
        (open, waiting.iter().filter(|asker| !self.is_gone(asker)).count())
    }

    /// Returns true if this asker can no longer receive an answer.
    pub(super) fn is_gone(&self, asker: &Asker) -> bool {
        asker.is_hook || (!asker.calls_back && !(self.options.is_alive)(asker))
    }

    /// Drops answers that cannot be delivered. Returns true if there is still no room for another question.
    pub(super) fn is_full(&self) -> bool {
        let mut state = self.state.lock();
        if state.questions.len() >= QUESTIONS_MAX {
            let is_over = |held: &BoardEntry| !held.question.is_open() && self.is_gone(&held.question.asker);
            state.questions.retain(|_, held| !is_over(held));
            let State { questions, closed, .. } = &mut *state;
            closed.retain(|seq| questions.contains_key(seq));
        }
        state.questions.len() >= QUESTIONS_MAX
    }

    /// Returns the caller of a tool as an asker; `None` outside of a call.
    pub(crate) fn asker(&self, cx: &Context) -> Option<Asker> {
        let caller = cx.caller::<Caller>()?;
        let is_shared = caller.known == Identification::BySharedToken;
        // Callers who share a token, and connections of an earlier daemon, can only be told apart by this.
        let of_connection = || format!("connection {} of {}", caller.connection, self.life);
        let is_script = caller.role == Role::Control;
        Some(Asker {
            client: cx.client().map(|client| client.name.clone()).filter(|_| !is_script),
            agent: caller.name.as_ref().map(|name| name.trim_start_matches('@').to_owned()),
            run: caller.run.clone().filter(|_| !is_shared).unwrap_or_else(of_connection),
            pid: caller.pid,
            worktree: caller.worktree.clone(),
            calls_back: is_script || is_shared,
            shares_token: is_shared,
            is_hook: false,
        })
    }
}

/// Returns true if an equal call asked the question.
fn is_equal(question: &Question, draft: &Draft) -> bool {
    (question.kind, &question.digest) == (draft.kind, &draft.digest)
}

#[cfg(test)]
mod tests {
    use crate::question::tests::question;

    use super::*;

    #[test]
    fn a_run_is_known_by_its_process_and_not_by_its_names() {
        let asker = question("q_1", 1).asker;
        let named = Asker { agent: Some("alice".into()), client: Some("c".into()), ..asker.clone() };
        assert!(asker.is_same_run(&named));
        let others = [
            Asker { run: "other".into(), ..asker.clone() },
            Asker { pid: 2, ..asker.clone() },
            Asker { calls_back: true, ..asker.clone() },
            Asker { is_hook: true, ..asker.clone() },
        ];
        assert!(others.iter().all(|other| !asker.is_same_run(other)));
        let [_, _, script, hook] = others;
        assert!(script.may_continue(&script) && !asker.may_continue(&script) && !script.may_continue(&asker));
        assert!(!script.may_read(&hook) && script.may_read(&asker));
        let shared = Asker { shares_token: true, ..script.clone() };
        assert!(shared.may_continue(&shared) && !shared.may_continue(&script) && !script.may_continue(&shared));
    }
}
