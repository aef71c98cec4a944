//! `repl/check`: proves on the real program that a profile works, by the code of its `[check]` table.

use std::sync::Arc;
use std::time::Duration;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use process::output::OutputLog;
use project::Caller;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ReplError;
use crate::profile::{Profile, Samples};
use crate::result::{EvalResult, Status};
use crate::session::{EvalRequest, Handle, InterruptOutcome, SessionSpec, SessionState, start};
use crate::sessions::Repl;
use crate::tools::caller;

/// The time limit of one evaluation.
const LIMIT: Duration = Duration::from_secs(30);
/// The number of interrupts, if the caller names none, and the largest.
const INTERRUPTS: [u64; 2] = [5, 1000];
/// The bytes of output that a report shows.
const SHOWN: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// The profile; without it, the answer lists the profiles.
    profile: Option<String>,
    interrupts: Option<u64>,
}

/// The result of one part of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The behaviour.
    pub what: &'static str,
    /// False if it failed; `None` if the profile has no code for it, and needs none.
    pub held: Option<bool>,
    /// The observed result.
    pub detail: String,
}

/// A profile that can be checked.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    profile: &'a str,
    title: &'a str,
    /// Why it cannot be started here.
    problem: Option<String>,
}

/// Handles `repl/check {profile, interrupts}`. Returns `{profile, version, rows}`, or without a profile `{profiles}`.
pub async fn check(repl: Arc<Repl>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let wrong = |error: &dyn std::fmt::Display| RpcError::new(INVALID_PARAMS, error.to_string());
    // A person needs one way out; the others are for callers of tools.
    let with_hints = |error: &ReplError| match error.hints().first() {
        Some(hint) => wrong(&format!("{error}\n{hint}")),
        None => wrong(error),
    };
    let params = params.as_deref().map_or("{}", RawValue::get);
    let params: Params = serde_json::from_str(params).map_err(|error| wrong(&error))?;
    let caller = caller(&cx).map_err(|error| wrong(&error))?;
    let answer = match params.profile {
        None => json!({ "profiles": list(&repl, caller) }),
        Some(profile) => {
            let interrupts = params.interrupts.unwrap_or(INTERRUPTS[0]).min(INTERRUPTS[1]);
            let (version, rows) = repl.check(caller, &profile, interrupts).await.map_err(|error| with_hints(&error))?;
            json!({ "profile": profile, "version": version, "rows": rows })
        }
    };
    to_raw_value(&answer).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}

fn list<'a>(repl: &'a Repl, caller: &Caller) -> Vec<Listed<'a>> {
    let path = caller.env.iter().find(|(name, _)| *name == "PATH").map_or("", |(_, path)| path.as_str());
    let here = &repl.profiles().detect(&caller.cwd, &caller.worktree, path).profile.name;
    // A profile with components starts only in a package.
    let fits = |profile: &&Profile| profile.component.is_empty() || profile.name == *here;
    let profiles = repl.profiles().iter().filter(|profile| profile.check.is_some()).filter(fits);
    let listed = profiles.map(|profile| Listed {
        profile: &profile.name,
        title: &profile.title,
        problem: profile.check(path, &caller.cwd).err().map(|problem| problem.to_string()),
    });
    listed.collect()
}

impl Repl {
    /// Checks a profile in a separate session, which ends with the check. Returns the program's version.
    pub(crate) async fn check(
        &self,
        caller: &Caller,
        name: &str,
        interrupts: u64,
    ) -> Result<(Option<String>, Vec<Row>), ReplError> {
        let profile = self.profiles().get(name)?;
        let samples = profile.check.clone().unwrap_or_default();
        let spec = self.spec_to_check(caller, &profile.name)?;
        Ok(run(spec, &samples, interrupts).await)
    }
}

/// Starts a session and runs the samples in it.
pub(crate) async fn run(spec: SessionSpec, samples: &Samples, interrupts: u64) -> (Option<String>, Vec<Row>) {
    let log = match OutputLog::create(None, Default::default()) {
        Ok(log) => log,
        Err(error) => return (None, vec![failed("start", error.to_string())]),
    };
    let session = match start(spec, log) {
        Ok(session) => session,
        Err(error) => return (None, vec![failed("start", error.to_string())]),
    };
    let mut rows = Vec::new();
    let (value, error) = (samples.value.as_ref(), samples.error.as_deref());
    rows.push(started(&session).await);
    if rows[0].held == Some(true) {
        rows.push(prints(&session, "value", value, true).await);
        rows.push(prints(&session, "several lines", samples.lines.as_ref(), false).await);
        rows.push(prints(&session, "output without newline", samples.partial.as_ref(), false).await);
        rows.push(complains(&session, samples.stderr.as_ref()).await);
        rows.push(fails(&session, error).await);
        rows.push(reads(&session, samples.input.as_ref()).await);
        rows.push(stops(&session, &samples.endless, value, interrupts).await);
        rows.push(exits(&session, samples.exit.as_deref()).await);
    }
    let version = session.info().version;
    session.stop("the check has ended").await;
    (version, rows)
}

fn failed(what: &'static str, detail: impl Into<String>) -> Row {
    Row { what, held: Some(false), detail: detail.into() }
}

fn report(what: &'static str, is_right: bool, detail: String) -> Row {
    Row { what, held: Some(is_right), detail }
}

fn missing(what: &'static str, is_required: bool, key: &str) -> Row {
    Row { what, held: is_required.then_some(false), detail: format!("the profile has no `check.{key}`") }
}

/// Describes a result in one line.
fn describe(result: &EvalResult) -> String {
    let value = result.value.as_deref().map(|value| format!(", value {value:?}")).unwrap_or_default();
    let text = format!("{}, printed {:?}{value}", result.status.name(), result.stdout);
    let stderr = if result.stderr.is_empty() { String::new() } else { format!(", on stderr {:?}", result.stderr) };
    let text = text + &stderr;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}

async fn eval(session: &Handle, code: &str) -> Result<EvalResult, String> {
    let request = EvalRequest { wait: LIMIT, ..EvalRequest::new(code) };
    session.eval(request).await.map_err(|error| error.to_string())
}

/// Returns what code printed on standard output or has as its value.
fn read_result(result: &EvalResult) -> &str {
    match result.value.as_deref() {
        Some(value) if result.stdout.is_empty() => value.trim(),
        _ => result.stdout.trim(),
    }
}

fn is_as_given(result: &EvalResult, expected: &str) -> bool {
    result.status == Status::Done && read_result(result) == expected.trim()
}

async fn started(session: &Handle) -> Row {
    let mut seen = session.watch();
    let waited = tokio::time::timeout(LIMIT * 2, seen.wait_for(|info| info.state != SessionState::Starting)).await;
    drop(waited);
    let info = session.info();
    match info.state {
        SessionState::Idle => {
            let version = info.version.unwrap_or_else(|| "of an unknown version".to_owned());
            report("start", true, format!("{} {version}", info.called))
        }
        _ => failed("start", info.reason.unwrap_or_else(|| "no prompt before the timeout".to_owned())),
    }
}

async fn prints(session: &Handle, what: &'static str, sample: Option<&[String; 2]>, is_required: bool) -> Row {
    let Some([code, expected]) = sample else {
        let key = match what {
            "value" => "value",
            "several lines" => "lines",
            _ => "partial",
        };
        return missing(what, is_required, key);
    };
    match eval(session, code).await {
        Ok(result) => report(what, is_as_given(&result, expected), describe(&result)),
        Err(error) => failed(what, error),
    }
}

async fn complains(session: &Handle, sample: Option<&[String; 2]>) -> Row {
    let what = "standard error";
    let Some([code, expected]) = sample else { return missing(what, false, "stderr") };
    match eval(session, code).await {
        Ok(result) => report(what, result.stderr.trim() == expected.trim(), describe(&result)),
        Err(error) => failed(what, error),
    }
}

async fn fails(session: &Handle, code: Option<&str>) -> Row {
    let Some(code) = code else { return missing("error", true, "error") };
    match eval(session, code).await {
        Ok(result) => {
            let has_message = !result.stdout.is_empty() || !result.stderr.is_empty() || !result.diagnostics.is_empty();
            report("error", result.status == Status::Error && has_message, describe(&result))
        }
        Err(error) => failed("error", error),
    }
}

async fn reads(session: &Handle, sample: Option<&[String; 2]>) -> Row {
    let what = "standard input";
    let Some([code, expected]) = sample else { return missing(what, false, "input") };
    let answered = async {
        let result = eval(session, code).await?;
        if result.status != Status::WaitingForInput {
            return Ok(result);
        }
        session.input("hob\n".to_owned(), false).await.map_err(|error| error.to_string())?;
        session.wait(Some(result.eval), LIMIT, 1000).await.map_err(|error| error.to_string())
    };
    match answered.await {
        Ok(result) => report(what, is_as_given(&result, expected), describe(&result)),
        Err(error) => failed(what, error),
    }
}

/// Interrupts code at various moments. The value after each interrupt must be right.
async fn stops(session: &Handle, endless: &[String], value: Option<&[String; 2]>, interrupts: u64) -> Row {
    let what = "interrupt";
    let (false, Some([code, expected])) = (endless.is_empty(), value) else { return missing(what, true, "endless") };
    let mut longest = Duration::ZERO;
    let codes = endless.iter().cycle();
    for (n, endless) in (0..interrupts).zip(codes) {
        // From a moment at which the program has not read the code, to one at which it has run for a while.
        let wait = Duration::from_millis(n * 37 % 211);
        let request = EvalRequest { wait, ..EvalRequest::new(endless.as_str()) };
        let begun = match session.eval(request).await {
            Ok(begun) => begun,
            Err(error) => return failed(what, error.to_string()),
        };
        if begun.status.is_final() {
            return failed(what, format!("{endless:?} ended without an interrupt: {}", describe(&begun)));
        }
        let report = match session.interrupt(1000).await {
            Ok(report) => report,
            Err(error) => return failed(what, error.to_string()),
        };
        longest = longest.max(report.took);
        if report.outcome != InterruptOutcome::Interrupted {
            return failed(what, format!("interrupt {} of {endless:?}: {:?}", n + 1, report.outcome));
        }
        match eval(session, code).await {
            Ok(result) if is_as_given(&result, expected) => {}
            Ok(result) => return failed(what, format!("after interrupt {}: {}", n + 1, describe(&result))),
            Err(error) => return failed(what, format!("after interrupt {}: {error}", n + 1)),
        }
    }
    report(
        what,
        true,
        format!("{interrupts} of {interrupts}, each next value right, at most {} ms", longest.as_millis()),
    )
}

async fn exits(session: &Handle, code: Option<&str>) -> Row {
    let Some(code) = code else { return missing("exit", false, "exit") };
    match eval(session, code).await {
        Ok(result) if result.status == Status::Exited => {
            let mut seen = session.watch();
            let ended = tokio::time::timeout(LIMIT, seen.wait_for(|info| !info.state.is_alive())).await;
            drop(ended);
            let reason = session.info().reason.unwrap_or_default();
            report("exit", reason == "it exited with status 3", reason)
        }
        Ok(result) => failed("exit", describe(&result)),
        Err(error) => failed("exit", error),
    }
}
