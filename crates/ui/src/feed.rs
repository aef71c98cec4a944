//! The requests of all faces to the daemon: following the rooms, also when it is replaced, and calls. They start no daemon, so
//! that a stopped one stays stopped.

use std::path::Path;
use std::time::Duration;

use client::Control;
use client::control::ControlError;
use project::dashboard::{NEXT, STOP_CALL, Snapshot};
use project::{Hello, Project};
use serde::Deserialize;
use serde_json::{Value, json};

/// The interval between attempts to connect.
pub(crate) const AGAIN: Duration = Duration::from_millis(300);
/// The time after which the daemon repeats an unchanged state.
const WAIT: Duration = Duration::from_secs(10);

/// The bytes of output that are read at once.
const OUTPUT_MAX: u64 = 60_000;

const NONE_RUNS: &str = "No daemon is running. The next call of an agent or of hob starts one.";

/// Follows the rooms until `tell` returns false. It gets each state, or the reason why the last one may be old. `greet` runs
/// on each new connection. Blocks.
pub(crate) fn follow(
    project: &Project,
    hello: &Hello,
    greet: impl Fn(&mut Control) -> Result<(), ControlError>,
    mut tell: impl FnMut(Result<Snapshot, String>) -> bool,
) {
    loop {
        let why = match Control::connect(project, hello) {
            Ok(Some(mut control)) => match greet(&mut control).map(|()| follow_connection(control, &mut tell)) {
                Ok(Some(why)) => why,
                Ok(None) => return,
                Err(error) => reason(error),
            },
            Ok(None) => NONE_RUNS.to_owned(),
            Err(error) => error.to_string(),
        };
        if !tell(Err(why)) {
            return;
        }
        std::thread::sleep(AGAIN);
    }
}

/// Follows the rooms until the connection ends, and returns the reason; `None` if `tell` returned false.
fn follow_connection(mut control: Control, tell: &mut impl FnMut(Result<Snapshot, String>) -> bool) -> Option<String> {
    let mut params = json!({});
    loop {
        let snapshot = match control.request(NEXT, params, |_, _| {}).map(Snapshot::deserialize) {
            Ok(Ok(snapshot)) => snapshot,
            Ok(Err(error)) => return Some(format!("the daemon has another version ({error}): run `hob stop`")),
            Err(error) => return Some(reason(error)),
        };
        params = json!({"life": snapshot.life, "number": snapshot.number, "wait_ms": WAIT.as_millis() as u64});
        if !tell(Ok(snapshot)) {
            return None;
        }
    }
}

fn reason(error: ControlError) -> String {
    match error {
        ControlError::Lost { .. } => NONE_RUNS.to_owned(),
        error => format!("{error}: if the daemon has another version, run `hob stop`"),
    }
}

/// Calls a tool as from a worktree, to which the names of sessions belong. Blocks.
///
/// # Errors
/// The text of the result if the tool failed, or a sentence about the failure.
pub(crate) fn call(project: &Project, worktree: &Path, tool: &str, mut arguments: Value) -> Result<Value, String> {
    let mut arguments = arguments.as_object_mut().map(std::mem::take).unwrap_or_default();
    arguments.retain(|_, value| !value.is_null());
    let answer = connect(project, worktree)?.call(tool, arguments, |_| {}, |_, _| {});
    let answer = answer.map_err(|error| error.to_string())?;
    if answer["isError"] == true {
        return Err(answer["content"][0]["text"].as_str().unwrap_or("it failed").to_owned());
    }
    Ok(answer)
}

/// Output of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    pub text: String,
    /// The end, if the session printed more than a face reads at once.
    pub end: Option<String>,
    /// True if the end does not begin where the text ends.
    pub has_gap: bool,
    /// The place to continue from.
    pub cursor: u64,
}

/// Reads the output of a session from a cursor on. Blocks.
///
/// # Errors
/// A sentence about the failure.
pub(crate) fn output(project: &Project, worktree: &str, session: &str, cursor: u64) -> Result<Output, String> {
    let read = |cursor: u64, tail: bool| {
        let arguments = json!({"session": session, "cursor": cursor, "max_bytes": OUTPUT_MAX, "tail": tail});
        let mut answer = call(project, Path::new(worktree), "repl_read", arguments)?;
        Ok::<Value, String>(answer["structuredContent"].take())
    };
    let begin = read(cursor, false)?;
    let cursor = begin["cursor"].as_u64().unwrap_or(cursor);
    // A session may print faster than a face reads: then the end is more telling than the middle.
    let end = if begin["more"] == true { read(cursor, true)? } else { Value::Null };
    Ok(Output {
        text: begin["text"].as_str().unwrap_or_default().to_owned(),
        end: end["text"].as_str().map(str::to_owned),
        has_gap: end["cut"] == true,
        cursor: end["cursor"].as_u64().unwrap_or(cursor),
    })
}

/// Makes a request for the person. Blocks.
///
/// # Errors
/// A sentence about the failure.
pub(crate) fn request(project: &Project, method: &str, params: Value) -> Result<Value, String> {
    connect(project, project.root())?.request(method, params, |_, _| {}).map_err(|error| error.to_string())
}

fn connect(project: &Project, cwd: &Path) -> Result<Control, String> {
    let control = Control::connect(project, &Control::hello(project, cwd)).map_err(|error| error.to_string())?;
    control.ok_or_else(|| "no daemon is running; the next call of an agent starts one".to_owned())
}

/// Returns the outcome of an action in a sentence: the line in brackets of a tool's text, or its last line.
pub(crate) fn outcome(result: Result<Value, String>) -> String {
    let text = match &result {
        Ok(answer) => answer["content"][0]["text"].as_str().unwrap_or("done"),
        Err(why) => why,
    };
    let in_brackets = text.lines().rev().find_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    in_brackets.or(text.lines().last()).unwrap_or("done").to_owned()
}

/// Returns the outcome of stopping a call in a sentence.
pub(crate) fn stop_call(project: &Project, number: u64, started: u64) -> String {
    match request(project, STOP_CALL, json!({"number": number, "started": started})) {
        Ok(answer) if answer["stopped"] == true => {
            "The call is cancelled; its agent gets an error. Interrupt its session if the evaluation must stop."
                .to_owned()
        }
        Ok(_) => "The call has ended.".to_owned(),
        Err(why) => format!("not cancelled: {why}"),
    }
}
