//! Follows the rooms of a project, also when its daemon is replaced.

use std::time::Duration;

use client::Control;
use client::control::ControlError;
use project::rooms::{NEXT, Snapshot};
use project::{Hello, Project};
use serde::Deserialize;
use serde_json::json;

/// The interval between attempts to connect.
pub(crate) const AGAIN: Duration = Duration::from_millis(300);
/// The time after which the daemon repeats an unchanged state.
const WAIT: Duration = Duration::from_secs(10);

const NONE_RUNS: &str = "No daemon is running. The next call of an agent or of hob starts one.";

/// Follows the rooms until `tell` returns false. It gets each state, or the reason why the last one may be old. `greet` runs
/// on each new connection. Blocks; starts no daemon, so that a stopped one stays stopped.
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
            Ok(Err(error)) => return Some(format!("the daemon is of another version ({error}): run `hob stop`")),
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
        error => format!("{error}: if the daemon is of another version, run `hob stop`"),
    }
}
