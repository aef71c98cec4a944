//! The connections of `hob top` to the daemon: a thread that watches the rooms and connects again after a restart, and a
//! thread that acts, so that neither blocks the keyboard.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use client::Control;
use client::control::ControlError;
use project::Project;
use project::rooms::{NEXT, Snapshot};
use serde_json::{Map, Value, json};

use super::state::{Action, Event};

/// The longest wait for a change, and the pause before another attempt to connect.
const WAIT_MS: u64 = 5_000;
const AGAIN: Duration = Duration::from_millis(300);

/// Returns the rows now; `None` if no daemon runs.
///
/// # Errors
/// A sentence about the failure.
pub(super) fn snapshot(project: &Project, cwd: &Path) -> Result<Option<Snapshot>, String> {
    let control = Control::connect(project, &Control::hello(project, cwd)).map_err(|error| error.to_string())?;
    let Some(mut control) = control else { return Ok(None) };
    let answer = control.request(NEXT, json!({}), |_, _| {}).map_err(|error| error.to_string())?;
    serde_json::from_value(answer).map(Some).map_err(|error| error.to_string())
}

/// Starts to watch. The thread ends when the receiver is dropped.
pub(super) fn watch(project: Project, cwd: PathBuf, events: Sender<Event>) {
    thread::spawn(move || {
        loop {
            let why = match watch_once(&project, &cwd, &events) {
                Ok(()) => return,
                Err(why) => why,
            };
            if events.send(Event::Lost(why)).is_err() {
                return;
            }
            thread::sleep(AGAIN);
        }
    });
}

/// Watches on one connection. Returns when the receiver is dropped.
fn watch_once(project: &Project, cwd: &Path, events: &Sender<Event>) -> Result<(), String> {
    let hello = Control::hello(project, cwd);
    let control = Control::connect(project, &hello).map_err(|error| error.to_string())?;
    let mut control = control.ok_or("no daemon runs; the next call of an agent starts one")?;
    let text = |error: ControlError| match error {
        ControlError::Lost { .. } => "the daemon ended".to_owned(),
        error => error.to_string(),
    };
    let refusal = control.request("ask/refusal", json!({}), |_, _| {}).map_err(text)?;
    let refusal = refusal["refusal"].as_str().map(str::to_owned);
    if refusal.is_none() {
        // Agents that ask wait longer, since a person looks.
        control.request("ask/watch", json!({}), |_, _| {}).map_err(text)?;
    }
    if events.send(Event::Refusal(refusal)).is_err() {
        return Ok(());
    }
    let mut params = json!({});
    loop {
        let answer = control.request(NEXT, params, |_, _| {}).map_err(text)?;
        let snapshot: Snapshot = serde_json::from_value(answer).map_err(|error| error.to_string())?;
        params = json!({"life": snapshot.life, "number": snapshot.number, "wait_ms": WAIT_MS});
        if events.send(Event::Snapshot(Box::new(snapshot))).is_err() {
            return Ok(());
        }
    }
}

/// Starts the thread that acts, and returns the way to it.
pub(super) fn act(project: Project, events: Sender<Event>) -> Sender<Action> {
    let (actions, todo): (Sender<Action>, Receiver<Action>) = channel();
    thread::spawn(move || {
        for action in todo {
            if let Some(event) = perform(&project, action)
                && events.send(event).is_err()
            {
                return;
            }
        }
    });
    actions
}

fn perform(project: &Project, action: Action) -> Option<Event> {
    let notice = |result: Result<Value, String>| {
        Event::Notice(match result {
            Ok(answer) => {
                answer["content"][0]["text"].as_str().unwrap_or("done").lines().last().unwrap_or("done").to_owned()
            }
            Err(why) => why,
        })
    };
    Some(match action {
        Action::Interrupt { worktree, session, eval } => {
            let result =
                call(project, Path::new(&worktree), "repl_interrupt", json!({"session": session, "eval": eval}));
            notice(result)
        }
        Action::Stop { worktree, session } => {
            notice(call(project, Path::new(&worktree), "repl_stop", json!({"session": session})))
        }
        Action::Read { id, worktree, session, cursor } => {
            let arguments = json!({"session": session, "cursor": cursor, "max_bytes": 60_000});
            // Without an answer the next attempt begins at the same place.
            let answer = call(project, Path::new(&worktree), "repl_read", arguments).unwrap_or_default();
            let output = &answer["structuredContent"];
            let text = output["text"].as_str().unwrap_or_default().to_owned();
            Event::Output { session: id, text, cursor: output["cursor"].as_u64().unwrap_or(cursor) }
        }
        Action::Quit | Action::Suspend | Action::Answer { .. } => return None,
    })
}

/// Calls a tool as from a worktree, to which the names of sessions belong.
fn call(project: &Project, worktree: &Path, tool: &str, arguments: Value) -> Result<Value, String> {
    let mut arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    arguments.retain(|_, value| !value.is_null());
    let answer =
        connect(project, worktree)?.call(tool, arguments, |_| {}, |_, _| {}).map_err(|error| error.to_string())?;
    if answer["isError"] == true {
        return Err(answer["content"][0]["text"].as_str().unwrap_or("it failed").to_owned());
    }
    Ok(answer)
}

fn connect(project: &Project, cwd: &Path) -> Result<Control, String> {
    let control = Control::connect(project, &Control::hello(project, cwd)).map_err(|error| error.to_string())?;
    control.ok_or_else(|| "no daemon runs".to_owned())
}
