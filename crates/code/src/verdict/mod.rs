//! Candidates and a judge make verdicts. Every candidate is looked at from both sides: whether the judge's references of the
//! definition have it, and what the judge says is defined there. What the judge says without the text to show for it is asked
//! again and never believed.
//!
//! - `decide`: what two answers mean for a site; pure.
//! - `texts`: places of the protocol in the texts that were read.
//! - `pass`: all questions to one server, once.
//!
//! [`judge`] waits for a judge that can be believed, and asks until two passes agree where one proves nothing.

mod decide;
mod pass;
mod texts;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcp::tool::{Context, Progress};
use project::Caller;

use crate::answer::{Found, Shown, Site, family};
use crate::judgement::{Code, Judge, Judged, Reason, Verdict};
use crate::pool::{Found as Sought, Pool};
use crate::search::Scope;
use crate::server::{Canary, Order, Seen, Server, State};
use crate::syntax::Class;

use pass::Pass;

/// A question to judge.
pub(crate) struct Asked<'a> {
    pub pool: &'a Pool,
    pub cx: &'a Context,
    pub scope: &'a Scope,
    pub wanted: &'a [Class],
    pub shown: Shown,
    /// When the answer is due.
    pub until: Instant,
}

/// How many passes there are at most, the first included.
const PASSES: usize = 4;

/// Judges what was found. The sites get their verdicts; those that only the judge knows are added.
pub(crate) async fn judge(asked: &Asked<'_>, found: &mut Found) -> Judged {
    for site in &mut found.sites {
        site.verdict = match site.class {
            Class::Mention => Verdict::NotJudged,
            _ => Verdict::Undecided(Code::Absent),
        };
    }
    let mut judged = Judged { is_certain: true, ..Judged::default() };
    let of_definitions: BTreeSet<&'static str> = found.definitions.iter().map(|one| family(one.language)).collect();
    if of_definitions.is_empty() {
        let families: BTreeSet<&'static str> = found.sites.iter().map(|site| family(site.language)).collect();
        for family in families {
            undecided(found, family, Code::OutsideTheRoot);
            judged.judges.push(Judge::without(family, State::Absent.word()));
        }
        judged.is_certain = false;
        let text = "what is defined outside of this project is not judged yet".to_owned();
        judged.reasons.push(Reason { code: Code::OutsideTheRoot, text, sites: found.sites.len() });
    }
    for family in of_definitions {
        judge_family(asked, found, family, &mut judged).await;
    }
    found.sites.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    // What is surely no local comes first; a judge makes that sure.
    found.sites.sort_by_key(|site| site.may_be_local && site.verdict != Verdict::Confirmed);
    judged
}

async fn judge_family(asked: &Asked<'_>, found: &mut Found, family: &'static str, judged: &mut Judged) {
    let Some(caller) = asked.cx.caller::<Caller>() else { return };
    let Some(file) = found.definitions.iter().find(|one| crate::answer::family(one.language) == family) else { return };
    let sought = asked.pool.seek(caller, &asked.scope.root, family, &file.path).await;
    let server = match sought {
        Sought::Server(server) => server,
        Sought::None { state, code, text } => {
            let sites = undecided(found, family, code);
            judged.is_certain = false;
            judged.judges.push(Judge::without(family, state.word()));
            judged.reasons.push(Reason { code, text, sites });
            return;
        }
    };
    let _asking = server.asking();
    let mut last: Option<Pass> = None;
    let mut passes = 0;
    let problem = loop {
        let seen = match ready(asked, &server, found, family).await {
            Ok(seen) => seen,
            Err(seen) => break Some(seen),
        };
        let pass = Pass::run(asked, found, family, &server).await;
        let now = server.seen();
        if (now.life, now.state.word()) != (seen.life, State::Ready.word()) || pass.is_lost {
            // What it said while it fell cannot be told from what it meant. It is asked again while there is time.
            if Instant::now() >= asked.until {
                break Some(now);
            }
            last = None;
            // The state follows: a process that ended is known to have ended a moment later.
            let mut watch = server.watch();
            let changed = watch.changed();
            let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            continue;
        }
        passes += 1;
        let agree = last.as_ref().is_some_and(|last| last.says_the_same(&pass));
        let is_enough = (pass.is_sure() && !pass.is_settling) || agree || passes == PASSES;
        let is_late = Instant::now() + server_settling(&pass) >= asked.until;
        if is_enough || is_late {
            judged.is_certain &= agree || pass.is_sure() && !pass.is_settling;
            if pass.missed > 0 {
                server.order(Order::Doubt).await;
            }
            pass.apply(found, family, judged);
            break None;
        }
        tokio::time::sleep(server_settling(&pass)).await;
        last = Some(pass);
    };
    let is_judged = problem.is_none();
    let seen = problem.unwrap_or_else(|| server.seen());
    judged.is_certain &= is_judged && seen.state == State::Ready;
    if !is_judged {
        let (code, text) = match seen.state {
            State::Ready => (Code::OutOfTime, format!("{} did not answer in time", server.profile.name)),
            _ => why(&server, &seen),
        };
        let sites = undecided(found, family, code);
        judged.reasons.push(Reason { code, text, sites });
        judged.retry_after = retry_after(&seen);
    }
    judged.judges.push(judge_of(family, &server.profile.name, &seen));
}

fn server_settling(pass: &Pass) -> Duration {
    pass.settling
}

fn is_of(site: &Site, wanted: &str) -> bool {
    family(site.language) == wanted && site.class != Class::Mention
}

/// Leaves all sites of a family undecided; how many.
fn undecided(found: &mut Found, family: &str, code: Code) -> usize {
    let sites = found.sites.iter_mut().filter(|site| is_of(site, family));
    sites.map(|site| site.verdict = Verdict::Undecided(code)).count()
}

/// Waits until the server is ready; `Err` with how it is if that takes too long, or cannot be.
async fn ready(asked: &Asked<'_>, server: &Server, found: &Found, family: &str) -> Result<Seen, Seen> {
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
        let count = found.sites.iter().filter(|site| is_of(site, family)).count();
        let message = format!("none confirmed yet, {count} undecided: {}", said(&server.profile.name, &seen));
        asked.cx.progress(Progress { progress: reported, total: None, message: Some(message) });
        let until = tokio::time::Instant::from_std(asked.until);
        match tokio::time::timeout_at(until, watch.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(watch.borrow().clone()),
        }
    }
}

/// How a server is, in a few words: `rust-analyzer loading 40 %`.
pub(crate) fn said(name: &str, seen: &Seen) -> String {
    let percent = seen.state.percent().map(|percent| format!(" {percent} %")).unwrap_or_default();
    format!("{name} {}{percent}", seen.state.word().replace('_', " "))
}

/// Why it cannot be believed, and what to do.
fn why(server: &Server, seen: &Seen) -> (Code, String) {
    let said = said(&server.profile.name, seen);
    match &seen.state {
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

/// When to ask again.
fn retry_after(seen: &Seen) -> Option<Duration> {
    let passed = seen.started.map(|started| started.elapsed()).unwrap_or_default();
    match &seen.state {
        State::Loading { percent: Some(percent @ 1..) } => {
            let left = passed * u32::from(100 - (*percent).min(99)) / u32::from(*percent);
            Some(left.clamp(Duration::from_secs(1), Duration::from_secs(120)))
        }
        State::Starting | State::Loading { .. } | State::Parked => Some(Duration::from_secs(5)),
        State::Ready | State::Doubtful => Some(Duration::from_secs(2)),
        State::Crashed { retry_in, .. } | State::Hung { retry_in } => {
            retry_in.map(|pause| pause + Duration::from_secs(2))
        }
        State::Absent | State::Disabled | State::OverBudget => None,
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
