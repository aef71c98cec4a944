//! Descriptions of a server's state for answers.

use lsp::server::{Server, ServerSnapshot, State};

use crate::judgement::{Code, Judge};

/// Describes the state of a server in a few words: `rust-analyzer loading 40 %`.
pub(super) fn describe(name: &str, seen: &ServerSnapshot) -> String {
    let percent = seen.state.percent().map(|percent| format!(" {percent} %")).unwrap_or_default();
    format!("{name} {}{percent}", seen.state.word().replace('_', " "))
}

/// Explains why a server is unavailable or unreliable, and how to fix it.
pub(crate) fn explain(server: &Server, seen: &ServerSnapshot) -> (Code, String) {
    let state = describe(&server.profile.name, seen);
    match &seen.state {
        State::CannotStart { exit, stderr } => {
            let exit = exit.as_ref().map(|exit| format!(" ({exit})")).unwrap_or_default();
            // The first line names the problem, except in a Python traceback.
            let is_traceback = stderr.first().is_some_and(|line| line.starts_with("Traceback"));
            let line = if is_traceback { stderr.last() } else { stderr.first() };
            let line = line.map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
            (Code::Absent, format!("{state}{exit}{line}: run `{}`", server.profile.install))
        }
        State::Crashed { exit, stderr, retry_in } => {
            let last = stderr.iter().rev().take(3).rev().cloned().collect::<Vec<_>>().join(" / ");
            let last = if last.is_empty() { String::new() } else { format!(": {last}") };
            let next = match retry_in {
                Some(pause) => format!("; hob restarts it within {} s", pause.as_secs()),
                None => "; fix the cause, then start it with `hob code restart` or code_status with restart".to_owned(),
            };
            (Code::Crashed, format!("{state} ({exit}){last}{next}"))
        }
        State::Hung { retry_in } => {
            let next = if retry_in.is_some() { "restarted" } else { "not restarted" };
            (Code::Hung, format!("{state}: it neither answered nor used the processor, so hob killed it; it is {next}"))
        }
        State::Doubtful => {
            let lacks = seen.canary.as_ref().map(|canary| format!(", which {}", canary.describe())).unwrap_or_default();
            (Code::Loading, format!("{state}{lacks}"))
        }
        State::OverBudget => {
            (Code::OverALimit, format!("{state}: it alone exceeds `memory` of [code]; raise that setting"))
        }
        State::Starting | State::Loading { .. } => {
            let passed = seen.started.map(|started| started.elapsed().as_secs()).unwrap_or_default();
            let percent = seen.state.percent().map(|percent| format!(", {percent} %")).unwrap_or_default();
            let first = server.profile.first_load.as_ref().map(|first| format!(" ({first})")).unwrap_or_default();
            (Code::Loading, format!("{} has been loading for {passed} s{percent}{first}", server.profile.name))
        }
        State::Parked => {
            (Code::Loading, format!("{} was stopped to save memory and starts again", server.profile.name))
        }
        _ => (Code::Loading, state),
    }
}

pub(super) fn judge_of(language: &'static str, name: &str, seen: &ServerSnapshot) -> Judge {
    Judge { language, name: Some(name.to_owned()), state: seen.state.word(), progress: seen.state.percent() }
}
