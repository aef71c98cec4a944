//! Whose a question is: the run that asked it, and whoever follows a run that is gone.

use std::time::Duration;

use mcp::tool::Context;
use project::{Caller, Known, Role, journal};
use tokio::time::Instant;

use super::{Board, Draft, Held, State};
use crate::question::{Asker, Handed, Question};

/// How long after its start a daemon waits for runs that it has not seen, before it takes them for gone.
const RETURN_TIME: Duration = Duration::from_secs(10);

impl Board {
    /// The question that an equal call of this asker, or of one that it follows, asked before. A run that may come back to
    /// a new daemon shares an open question until then: the person is not asked twice.
    pub(super) fn same(&self, draft: &Draft, asker: &Asker) -> Option<Question> {
        let state = self.state.lock();
        let is_same = |held: &&Held| {
            let question = &held.question;
            let is_own = question.asker == *asker;
            is_equal(question, draft)
                && match question.handed {
                    _ if question.is_open() => is_own || self.may_succeed(asker, &question.asker),
                    // What its own run was given has arrived, since it calls again; and what one that is gone was given is
                    // about to be given up.
                    Handed::Out { .. } => !is_own && self.succeeds(&state, asker, &question.asker),
                    _ => is_own || self.succeeds(&state, asker, &question.asker),
                }
        };
        state.questions.values().find(is_same).map(|held| held.question.clone())
    }

    /// Until when an equal call has to wait: its question is answered, and whoever asked it may come back for the answer.
    pub(crate) fn settles_at(&self, draft: &Draft, asker: &Asker) -> Option<Instant> {
        let state = self.state.lock();
        let waits = |held: &Held| {
            let (question, former) = (&held.question, &held.question.asker);
            let is_answered = is_equal(question, draft) && !question.is_open() && *former != *asker;
            is_answered && self.may_succeed(asker, former) && !self.succeeds(&state, asker, former)
        };
        state.questions.values().any(waits).then(|| self.born + RETURN_TIME)
    }

    /// Notes that a run lives.
    pub(crate) fn note_run(&self, run: &str) {
        let mut state = self.state.lock();
        if !state.seen.contains(run) {
            state.seen.insert(run.to_owned());
        }
    }

    /// Whether the question is this caller's: asked by its run, or by a run of the same agent that is gone.
    pub(crate) fn is_of(&self, question: &Question, asker: &Asker) -> bool {
        question.asker == *asker || self.succeeds(&self.state.lock(), asker, &question.asker)
    }

    /// Whether a caller takes over what the former one asked: that one is gone, and does not come back.
    fn succeeds(&self, state: &State, asker: &Asker, former: &Asker) -> bool {
        let may_return = || !state.seen.contains(&former.run) && self.born.elapsed() < RETURN_TIME;
        self.may_succeed(asker, former) && !may_return()
    }

    /// Whether a caller is the same agent as a former one, which is not here.
    fn may_succeed(&self, asker: &Asker, former: &Asker) -> bool {
        // Those without a name are told apart by their programs, as far as these go.
        let is_same_agent = asker.agent == former.agent
            && (asker.agent.is_some() || asker.client == former.client)
            && asker.worktree == former.worktree
            && asker.calls_back == former.calls_back;
        is_same_agent && !(self.options.run_is_here)(&former.run)
    }
}

/// Whether a call like this asked the question, and its answer is still to be had.
fn is_equal(question: &Question, draft: &Draft) -> bool {
    // An answer is as old as its question may become.
    (question.is_open() || !question.is_settled() && question.expires_ms > journal::now())
        && (question.kind, &question.digest) == (draft.kind, &draft.digest)
}

/// Who asks, as the daemon knows the caller of a tool; `None` outside of one.
pub(crate) fn asker(cx: &Context) -> Option<Asker> {
    let caller = cx.caller::<Caller>()?;
    let run = caller.run.clone().unwrap_or_else(|| format!("connection {}", caller.connection));
    let is_script = caller.role == Role::Control;
    let client = cx.client().map(|client| client.name.clone());
    Some(Asker {
        client: client.filter(|_| caller.role != Role::Control),
        agent: caller.name.as_ref().map(|name| name.trim_start_matches('@').to_owned()),
        // Each run of a script is a run of its own, and the next one may take over.
        run,
        worktree: caller.worktree.clone(),
        calls_back: is_script || caller.known == Known::BySharedToken,
    })
}
