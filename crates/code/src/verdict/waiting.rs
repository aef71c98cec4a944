//! Waiting for a judge that can be believed, and asking it until two rounds agree where one proves nothing.

use std::time::{Duration, Instant};

use mcp::tool::Progress;
use project::Caller;

use super::Call;
use crate::judgement::{Code, Judge, Judged, Reason};
use crate::pool::Found as Sought;
use crate::rule::Rule;
use crate::server::{Canary, Order, Seen, Server, Session, Settled, State};
use crate::syntax::Language;

/// All questions of one answer to one server, asked once.
pub(super) trait Round: Sized {
    /// How it stands.
    fn standing(&self) -> Standing;
    /// Whether it is enough.
    fn settling(&self) -> &Settling;
    /// Whether another round came to the same, and nothing in it is doubted.
    fn says_the_same(&self, other: &Self) -> bool;
}

/// What asks them.
pub(super) trait Asking {
    type Round: Round;
    fn ask(&self, server: &Server) -> impl Future<Output = Self::Round> + Send;
}

/// How a round stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Whether the server fell silent, so that nothing of this counts.
    pub is_lost: bool,
    /// Whether everything is decided, and nothing speaks against it.
    pub is_sure: bool,
    /// Whether it confirmed what a server that has not read the project cannot know: a use in another file than its definition.
    pub proves: bool,
    /// Whether the server was seen not to name a use.
    pub is_doubted: bool,
}

/// Whether one round is enough, by the sessions in which it was asked.
#[derive(Default)]
pub(super) struct Settling {
    /// When the first session was there, and what was known then.
    first: Option<(Instant, Settled)>,
    /// In one of them it was not enough.
    is_open: bool,
    /// Files changed between two of them.
    has_changed: bool,
    /// Between two rounds.
    pause: Duration,
}

impl Settling {
    pub(super) fn asks(&mut self, session: &Session) {
        self.is_open |= !session.settled.is_it();
        self.pause = session.timing.settling;
        let (_, first) = self.first.get_or_insert_with(|| (Instant::now(), session.settled.clone()));
        self.has_changed |= !first.is_same(&session.settled);
    }

    /// Whether it is enough, of a round that is sure.
    fn is_enough(&self, standing: &Standing) -> bool {
        let confirms = |(began, settled): &(Instant, Settled)| {
            standing.proves && settled.confirm(*began, self.pause) && !self.has_changed
        };
        !self.is_open || self.first.as_ref().is_some_and(confirms)
    }
}

/// How many rounds there are at most, the first included.
const ROUNDS: usize = 4;

/// The judge of a family's files; without one, why, in what is said of the answer.
pub(super) async fn judge_for(
    call: &Call<'_>,
    family: &'static str,
    file: &std::path::Path,
    judged: &mut Judged,
) -> Result<Server, Code> {
    let sought = match call.cx.caller::<Caller>() {
        Some(caller) => call.pool.seek(caller, &call.scope.root, family, file).await,
        None => Sought::None { state: State::Absent, code: Code::Absent, text: "a call without a caller".to_owned() },
    };
    match sought {
        Sought::Server(server) => Ok(server),
        Sought::None { state, code, text } => {
            judged.is_certain = false;
            judged.judges.push(Judge::without(family, state.word()));
            judged.reasons.push(Reason { code, text, sites: 0 });
            Err(code)
        }
    }
}

/// Asks until the answers can be believed, and says how the judge is; `Err` with why they cannot. `open` sites wait.
pub(super) async fn rounds<A: Asking>(
    call: &Call<'_>,
    server: &Server,
    family: &'static str,
    open: usize,
    asking: &A,
    judged: &mut Judged,
) -> Result<A::Round, Code> {
    let _asking = server.asking();
    let answer = until_believed(call, server, open, asking).await;
    let (answer, seen) = match answer {
        Ok((round, is_certain)) => {
            judged.is_certain &= is_certain;
            if !is_certain {
                let name = &server.profile.name;
                let text =
                    format!("{name} was not asked until two of its answers agree, so this may lack some: ask again");
                judged.reasons.push(Reason { code: Code::OutOfTime, text, sites: 0 });
                judged.retry_after = Some(Duration::from_secs(1));
            }
            judged.reasons.extend(server.lacks().filter(|_| !round.standing().is_sure).map(|text| Reason {
                code: Code::Inactive,
                text: text.to_owned(),
                sites: 0,
            }));
            if round.standing().is_doubted {
                server.order(Order::Doubt).await;
            }
            (Ok(round), server.seen())
        }
        Err(seen) => {
            let (code, text) = match seen.state {
                State::Ready => (Code::OutOfTime, format!("{} did not answer in time", server.profile.name)),
                _ => why(server, &seen),
            };
            let text = server.lacks().map_or_else(|| text.clone(), |lacks| format!("{text}; {lacks}"));
            judged.reasons.push(Reason { code, text, sites: 0 });
            judged.retry_after = retry_after(&seen);
            (Err(code), seen)
        }
    };
    if let Some(trouble) = &seen.trouble {
        judged.is_certain = false;
        let text = format!("{} says: {trouble}", server.profile.name);
        judged.reasons.push(Reason { code: Code::Loading, text, sites: 0 });
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
) -> Result<(A::Round, bool), Seen> {
    let mut last: Option<A::Round> = None;
    let mut count = 0;
    loop {
        let seen = ready(call, server, open).await?;
        let beyond = call.scope.beyond();
        if server.profile.family == Language::Rust.word() && !beyond.is_empty() {
            server.order(Order::LookBeyond(beyond)).await;
        }
        let round = asking.ask(server).await;
        let standing = round.standing();
        let now = server.seen();
        if (now.life, now.state.word()) != (seen.life, State::Ready.word()) || standing.is_lost {
            // What it said while it fell cannot be told from what it meant. It is asked again while there is time.
            if Instant::now() >= call.until {
                // It was asked for longer than the caller waits: what it said before that stands.
                return last.map(|last| (last, false)).ok_or(now);
            }
            last = None;
            // The state follows: a process that ended is known to have ended a moment later.
            let mut watch = server.watch();
            let changed = watch.changed();
            let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            continue;
        }
        count += 1;
        let agree = last.as_ref().is_some_and(|last| last.says_the_same(&round));
        let pause = round.settling().pause;
        if let Some((_, settled)) = round.settling().first.as_ref().filter(|_| last.is_some() && !agree) {
            settled.doubt();
        }
        let is_sure = standing.is_sure && round.settling().is_enough(&standing) || !Rule::TwoRounds.is_on();
        // One round more where nothing else is open: who does not wait would never have an answer that needs two.
        let is_late = Instant::now() + pause >= call.until && (count > 1 || !standing.is_sure);
        if is_sure || agree || count == ROUNDS || is_late {
            // Past its time a round may lack answers that the one before had.
            let before = last.filter(|last| is_late && !standing.is_sure && last.standing().is_sure);
            return Ok(before.map_or((round, agree || is_sure), |before| (before, false)));
        }
        tokio::time::sleep(pause).await;
        last = Some(round);
    }
}

/// Waits until the server is ready; `Err` with how it is if that takes too long, or cannot be.
async fn ready(call: &Call<'_>, server: &Server, open: usize) -> Result<Seen, Seen> {
    let mut watch = server.watch();
    let mut reported = 0.0;
    loop {
        let seen = watch.borrow_and_update().clone();
        match &seen.state {
            State::Ready => return Ok(seen),
            // The question wakes it.
            State::Parked => _ = server.open(Vec::new()).await,
            state if !state.may_pass() => return Err(seen),
            _ => {}
        }
        reported += 1.0;
        let message = format!("none confirmed yet, {open} undecided: {}", said(&server.profile.name, &seen));
        call.cx.progress(Progress { progress: reported, total: None, message: Some(message) });
        let until = tokio::time::Instant::from_std(call.until);
        match tokio::time::timeout_at(until, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(watch.borrow().clone()),
        }
    }
}

/// How a server is, in a few words: `rust-analyzer loading 40 %`.
fn said(name: &str, seen: &Seen) -> String {
    let percent = seen.state.percent().map(|percent| format!(" {percent} %")).unwrap_or_default();
    format!("{name} {}{percent}", seen.state.word().replace('_', " "))
}

/// Why it cannot be believed, and what to do.
fn why(server: &Server, seen: &Seen) -> (Code, String) {
    let said = said(&server.profile.name, seen);
    match &seen.state {
        State::CannotStart { exit, stderr } => {
            let exit = exit.as_ref().map(|exit| format!(" ({exit})")).unwrap_or_default();
            // What went wrong comes first, but in a traceback of Python.
            let is_traceback = stderr.first().is_some_and(|line| line.starts_with("Traceback"));
            let line = if is_traceback { stderr.last() } else { stderr.first() };
            let line = line.map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
            (Code::Absent, format!("{said}{exit}{line}: run `{}`", server.profile.install))
        }
        State::Crashed { exit, stderr, retry_in } => {
            let last = stderr.iter().rev().take(3).rev().cloned().collect::<Vec<_>>().join(" / ");
            let last = if last.is_empty() { String::new() } else { format!(": {last}") };
            let next = match retry_in {
                Some(pause) => format!("; it is started again within {} s", pause.as_secs()),
                None => "; once the cause is gone, `hob code restart` or code_status with restart starts it".to_owned(),
            };
            (Code::Crashed, format!("{said} ({exit}){last}{next}"))
        }
        State::Hung { retry_in } => {
            let next = if retry_in.is_some() { "started again" } else { "not started again" };
            (Code::Hung, format!("{said}: it neither answered nor computed and was killed; it is {next}"))
        }
        State::Doubtful => {
            let lacks = seen.canary.as_ref().map(|canary| format!(", which {}", canary.words())).unwrap_or_default();
            (Code::Loading, format!("{said}{lacks}"))
        }
        State::OverBudget => {
            (Code::OverALimit, format!("{said}: it alone needs more than [code] memory allows; raise that setting"))
        }
        _ => match retry_after(seen) {
            Some(pause) => (Code::Loading, format!("{said}, ask again in about {} s", pause.as_secs().max(1))),
            None => (Code::Loading, said),
        },
    }
}

/// The longest pause that is asked for where a server does not say how far it is.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// When to ask again.
fn retry_after(seen: &Seen) -> Option<Duration> {
    let passed = seen.started.map(|started| started.elapsed()).unwrap_or_default();
    match &seen.state {
        State::Loading { percent: Some(percent @ 1..) } => {
            let left = passed * u32::from(100 - (*percent).min(99)) / u32::from(*percent);
            Some(left.clamp(Duration::from_secs(1), Duration::from_secs(120)))
        }
        // Nobody knows how long it takes: what has taken long takes longer.
        State::Starting | State::Loading { .. } => Some((passed / 2).clamp(Duration::from_secs(5), LONGEST_PAUSE)),
        State::Parked => Some(Duration::from_secs(5)),
        State::Ready => Some(Duration::from_secs(2)),
        State::Doubtful => Some((seen.since.elapsed() / 2).clamp(Duration::from_secs(2), LONGEST_PAUSE)),
        State::Crashed { retry_in, .. } | State::Hung { retry_in } => {
            retry_in.map(|pause| pause + Duration::from_secs(2))
        }
        State::Absent | State::Disabled | State::NotTrusted | State::OverBudget | State::CannotStart { .. } => None,
    }
}

/// How a server is.
fn judge_of(language: &'static str, name: &str, seen: &Seen) -> Judge {
    Judge {
        language,
        name: Some(name.to_owned()),
        version: seen.version.clone(),
        state: seen.state.word(),
        progress: seen.state.percent(),
        canary: seen.canary.as_ref().map(Canary::words),
        since_ms: Some(seen.since.elapsed().as_millis().try_into().unwrap_or(u64::MAX)),
    }
}
