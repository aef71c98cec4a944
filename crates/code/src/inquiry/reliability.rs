//! Waits until a server is reliable. Where nothing shows that it is, repeats rounds until two agree.

use std::path::Path;
use std::time::{Duration, Instant};

use lsp::server::{Certainty, Document, Order, Server, ServerSnapshot, Session, State};
use mcp::tool::Progress;
use project::Caller;

use super::Call;
use super::requests::with_deadline;
use super::server_state::{describe, explain, judge_of};
use crate::judgement::{Code, Judge, Judgement, Reason};
use crate::pool::Unavailable;

/// One round of all requests that an answer needs from a server.
pub(crate) trait Round: Sized {
    fn status(&self) -> &RoundStatus;
    /// True if another round gave the same result and neither is doubtful.
    fn says_the_same(&self, other: &Self) -> bool;
}

/// A repeatable round of requests.
pub(crate) trait Asking {
    type Round: Round;
    fn ask(&self, server: &Server) -> impl Future<Output = Self::Round> + Send;
}

/// How reliable a round is, by its answers and the sessions of its requests.
#[derive(Default)]
pub(crate) struct RoundStatus {
    /// True if the server stopped answering, which invalidates the round.
    pub is_lost: bool,
    /// True if every site is decided without contradiction.
    pub is_sure: bool,
    /// True if it confirmed a use in another file than the definition, which a server can find only after it has read the project.
    pub proves: bool,
    /// True if the server is known to have missed a use.
    pub is_doubted: bool,
    /// The certainty at the start of the first session.
    first: Option<Certainty>,
    /// True if one of the sessions was not certain, so that one round is not enough.
    is_open: bool,
    /// True if files changed between two sessions.
    has_changed: bool,
    /// The pause between two rounds.
    pause: Duration,
}

impl RoundStatus {
    /// Begins a session of the round with these documents; `None` if the server does not answer in time.
    pub(crate) async fn open(&mut self, until: Instant, server: &Server, documents: Vec<Document>) -> Option<Session> {
        let session = with_deadline(until, server.open(documents)).await.flatten();
        self.is_lost |= session.is_none();
        let session = session?;
        self.is_open |= !session.settled.is_enough();
        self.pause = session.timing.settling;
        self.has_changed |= !self.first.get_or_insert_with(|| session.settled.clone()).is_same(&session.settled);
        Some(session)
    }

    /// Records that another round gave the same result, which proves that the server has read the project.
    fn confirm(&self, other: &RoundStatus) {
        if let (Some(first), Some(second)) = (&self.first, &other.first)
            && first.is_same(second)
            && !self.has_changed
            && !other.has_changed
        {
            first.confirm();
        }
    }
}

/// The maximum number of rounds.
const ROUNDS: usize = 4;

/// Returns the server for a family's files. Without one, adds the reason to the judgement.
async fn judge_for(call: &Call<'_>, family: &'static str, file: &Path, judged: &mut Judgement) -> Result<Server, Code> {
    let sought = match call.cx.caller::<Caller>() {
        Some(caller) => call.pool.seek(caller, &call.scope.root, family, file).await,
        None => Err(Unavailable::new(State::Absent, Code::Absent, "a call without a caller".to_owned())),
    };
    sought.map_err(|Unavailable { state, code, text, .. }| {
        judged.judges.push(Judge::without(family, state.word()));
        judged.doubt(code, text, 0);
        code
    })
}

/// Repeats rounds with the server for a family's files until the answers are reliable; `Err` with the reason if they are not.
/// `open` is the number of waiting sites.
pub(crate) async fn rounds<A: Asking>(
    call: &Call<'_>,
    family: &'static str,
    file: &Path,
    open: usize,
    asking: &A,
    judged: &mut Judgement,
) -> Result<A::Round, Code> {
    let server = judge_for(call, family, file, judged).await?;
    let _asking = server.asking();
    let answer = until_believed(call, &server, open, asking).await;
    let (answer, seen) = match answer {
        Ok((round, is_certain)) => {
            if !is_certain {
                let name = &server.profile.name;
                let text = format!("{name} has not given the same answer twice yet, so some may be missing");
                judged.doubt(Code::OutOfTime, text, 0);
                judged.may_pass = true;
            }
            let lacks = server.missing_features().filter(|_| !round.status().is_sure).map(str::to_owned);
            judged.reasons.extend(lacks.map(|text| Reason { code: Code::Inactive, text, sites: 0 }));
            if round.status().is_doubted {
                server.order(Order::Doubt).await;
            }
            (Ok(round), server.snapshot())
        }
        Err(seen) => {
            let (code, text) = match seen.state {
                State::Ready => (Code::OutOfTime, format!("{} did not answer in time", server.profile.name)),
                _ => explain(&server, &seen),
            };
            let text = server.missing_features().map_or_else(|| text.clone(), |lacks| format!("{text}; {lacks}"));
            judged.doubt(code, text, 0);
            judged.may_pass |= seen.state.may_pass();
            (Err(code), seen)
        }
    };
    if let Some(trouble) = &seen.trouble {
        judged.doubt(Code::Loading, format!("{} says: {trouble}", server.profile.name), 0);
    }
    judged.is_certain &= answer.is_ok() && seen.state == State::Ready;
    judged.judges.push(judge_of(family, &server.profile.name, &seen));
    answer
}

async fn until_believed<A: Asking>(
    call: &Call<'_>,
    server: &Server,
    open: usize,
    asking: &A,
) -> Result<(A::Round, bool), ServerSnapshot> {
    let mut last: Option<A::Round> = None;
    let mut count = 0;
    loop {
        let seen = ready(call, server, open).await?;
        let round = asking.ask(server).await;
        let status = round.status();
        let now = server.snapshot();
        if (now.life, now.state.word()) != (seen.life, State::Ready.word()) || status.is_lost {
            // Answers given during a crash are unreliable. The round is repeated if there is time.
            if Instant::now() >= call.until {
                // The deadline has passed: the result of the round before remains.
                return last.map(|last| (last, false)).ok_or(now);
            }
            last = None;
            // The state changes a moment after a process ends.
            let mut watch = server.watch();
            let changed = watch.changed();
            let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            continue;
        }
        count += 1;
        let agreeing = last.as_ref().filter(|last| last.says_the_same(&round));
        if let Some(last) = agreeing.filter(|_| status.proves) {
            status.confirm(last.status());
        }
        let (agree, pause) = (agreeing.is_some(), status.pause);
        // A round that passed the deadline may lack answers.
        let is_over = Instant::now() >= call.until;
        if (!status.is_open || agree) && !is_over {
            return Ok((round, true));
        }
        if count == ROUNDS || Instant::now() + pause >= call.until {
            return Ok((last.filter(|_| is_over).unwrap_or(round), false));
        }
        tokio::time::sleep(pause).await;
        last = Some(round);
    }
}

/// Waits until the server is ready; `Err` with its state if it is not ready in time or cannot be.
async fn ready(call: &Call<'_>, server: &Server, open: usize) -> Result<ServerSnapshot, ServerSnapshot> {
    let mut watch = server.watch();
    let mut reported = 0.0;
    loop {
        let seen = watch.borrow_and_update().clone();
        match &seen.state {
            State::Ready => return Ok(seen),
            // A request wakes a parked server.
            State::Parked => _ = server.open(Vec::new()).await,
            state if !state.may_pass() => return Err(seen),
            _ => {}
        }
        reported += 1.0;
        let message = format!("{open} places by name, not checked yet: {}", describe(&server.profile.name, &seen));
        call.cx.progress(Progress { progress: reported, total: None, message: Some(message) });
        let until = tokio::time::Instant::from_std(call.until);
        match tokio::time::timeout_at(until, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(watch.borrow().clone()),
        }
    }
}
