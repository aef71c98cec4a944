//! `hob wait`: blocks until a message arrives, across daemon restarts. The kernel waits: one read on a socket, with its
//! time-out. The message stays in the mailbox: `check_messages` takes it.

use std::thread;
use std::time::{Duration, Instant};

use mcp::wire::code;
use project::{Hello, Project};
use serde_json::{Value, json};

use crate::connect::ConnectError;
use crate::control::{Control, ControlError};

/// The time for another program to restart a lost daemon before this one does.
const BY_ANOTHER: Duration = Duration::from_secs(1);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Announces a message.
const MESSAGE: &str = "notification.message";
/// Reports why no further messages come, such as that the name was taken over.
const END: &str = "notification.end";

/// The message to wait for.
#[derive(Debug, Clone, Default)]
pub struct Wait {
    /// The lowest priority: `all`, `normal_and_above`, `high_and_above` or `critical`.
    pub floor: Option<String>,
    /// Only messages after this position in the mailbox. If absent, a pending message ends the wait.
    pub after: Option<u64>,
    /// The time to give up.
    pub deadline: Option<Instant>,
}

/// Waits, and calls `show` with the parameters of the notification (`message_id`, `from`, `priority`, `preview`,
/// `timestamp`, `seq`) before it disconnects, since the caller waits for them. `None` if nothing arrived in time.
pub fn wait<T>(
    project: &Project,
    hello: &Hello,
    wanted: &Wait,
    show: impl FnOnce(Value) -> T,
) -> Result<Option<T>, ControlError> {
    let mut control = Control::connect_or_start(project, hello)?;
    loop {
        match wait_over_control(&mut control, wanted) {
            Err(ControlError::Lost { .. }) => control = reconnect(project, hello, wanted.deadline)?,
            ended => return ended.map(|message| message.map(show)),
        }
        if wanted.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
    }
}

fn wait_over_control(control: &mut Control, wanted: &Wait) -> Result<Option<Value>, ControlError> {
    let mut early = None;
    let params = json!({"floor": wanted.floor, "after": wanted.after});
    let mut answer = control.request("subscribe", params, |method, params| {
        if [MESSAGE, END].contains(&method) && early.is_none() {
            early = Some((method.to_owned(), params.clone()));
        }
    })?;
    // Notifications come in the order of the mailbox.
    let urgent = answer["urgent"].take();
    if urgent.is_object() {
        return Ok(Some(urgent));
    }
    let told = match early {
        Some(told) => Some(told),
        None => control.notification(&[MESSAGE, END], wanted.deadline)?,
    };
    match told {
        Some((method, params)) if method == END => {
            let message = params["reason"].as_str().unwrap_or("no further messages will arrive").to_owned();
            Err(ControlError::Refused {
                method: "subscribe".to_owned(),
                code: code::INVALID_PARAMS,
                message,
                data: None,
            })
        }
        told => Ok(told.map(|(_, message)| message)),
    }
}

/// Reconnects after a daemon exited. Another program that needs a daemon starts one; if none does in time, this one
/// does.
fn reconnect(project: &Project, hello: &Hello, deadline: Option<Instant>) -> Result<Control, ControlError> {
    let until = Instant::now() + BY_ANOTHER;
    let until = deadline.map_or(until, |deadline| until.min(deadline));
    while Instant::now() < until {
        match Control::connect(project, hello) {
            Ok(Some(control)) => return Ok(control),
            Ok(None) | Err(ConnectError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
        thread::sleep(PAUSE);
    }
    Ok(Control::connect_or_start(project, hello)?)
}
