//! The state of a server as answers tell it, and when to ask again.

use std::time::Duration;

use crate::judgement::{Code, Judge};
use crate::server::{Canary, Seen, Server, State};

/// Describes the state of a server in a few words: `rust-analyzer loading 40 %`.
pub(super) fn describe(name: &str, seen: &Seen) -> String {
    let percent = seen.state.percent().map(|percent| format!(" {percent} %")).unwrap_or_default();
    format!("{name} {}{percent}", seen.state.word().replace('_', " "))
}

/// Says why a server cannot be believed, and what to do.
pub(super) fn explain(server: &Server, seen: &Seen) -> (Code, String) {
    let state = describe(&server.profile.name, seen);
    match &seen.state {
        State::CannotStart { exit, stderr } => {
            let exit = exit.as_ref().map(|exit| format!(" ({exit})")).unwrap_or_default();
            // What went wrong comes first, but in a traceback of Python.
            let is_traceback = stderr.first().is_some_and(|line| line.starts_with("Traceback"));
            let line = if is_traceback { stderr.last() } else { stderr.first() };
            let line = line.map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
            (Code::Absent, format!("{state}{exit}{line}: run `{}`", server.profile.install))
        }
        State::Crashed { exit, stderr, retry_in } => {
            let last = stderr.iter().rev().take(3).rev().cloned().collect::<Vec<_>>().join(" / ");
            let last = if last.is_empty() { String::new() } else { format!(": {last}") };
            let next = match retry_in {
                Some(pause) => format!("; it is started again within {} s", pause.as_secs()),
                None => "; once the cause is gone, `hob code restart` or code_status with restart starts it".to_owned(),
            };
            (Code::Crashed, format!("{state} ({exit}){last}{next}"))
        }
        State::Hung { retry_in } => {
            let next = if retry_in.is_some() { "started again" } else { "not started again" };
            (Code::Hung, format!("{state}: it neither answered nor computed and was killed; it is {next}"))
        }
        State::Doubtful => {
            let lacks = seen.canary.as_ref().map(|canary| format!(", which {}", canary.words())).unwrap_or_default();
            (Code::Loading, format!("{state}{lacks}"))
        }
        State::OverBudget => {
            (Code::OverALimit, format!("{state}: it alone needs more than [code] memory allows; raise that setting"))
        }
        _ => match retry_after(seen) {
            Some(pause) => (Code::Loading, format!("{state}, ask again in about {} s", pause.as_secs().max(1))),
            None => (Code::Loading, state),
        },
    }
}

/// The longest pause that is asked for where a server does not say how far it is.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Returns when to ask again.
pub(super) fn retry_after(seen: &Seen) -> Option<Duration> {
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

/// Returns the judge of an answer.
pub(super) fn judge_of(language: &'static str, name: &str, seen: &Seen) -> Judge {
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
