//! `hob stop`: shuts the project's daemon down gracefully, and waits until it is gone.

use std::time::{Duration, Instant};

use clap::Args;
use project::Project;
use project::visible::path as shown;
use serde_json::Value;

use super::call::control_failure;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Stop this project's daemon and its sessions gracefully
#[derive(Debug, Args)]
pub(crate) struct Stop {}

/// The timeout for sessions and connections, in addition to the daemon's own limits.
const PATIENCE: Duration = Duration::from_secs(30);

impl Stop {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let Some(mut control) = current_project::connect(project)? else {
            terminal::line(format!("No daemon is running for {}.", shown(project.root())));
            return Ok(Exit::Done);
        };
        let pid = control.daemon().pid;
        let ended = running(&control.status().map_err(control_failure)?);
        // This command also ends the sessions, which `hob status` lists.
        control.shutdown(true).map_err(control_failure)?;
        drop(control);
        let end = Instant::now() + PATIENCE;
        while pid.is_some_and(is_running) {
            if Instant::now() > end {
                let pid = pid.unwrap_or_default();
                return Err(Failure::new(format_args!("the daemon (pid {pid}) was told to stop but is still running"))
                    .hint(format_args!("`kill -KILL {pid}` kills it; its guardians end the sessions.")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        terminal::line(format!("The daemon of {} has stopped.", shown(project.root())));
        ended.iter().for_each(terminal::line);
        Ok(Exit::Done)
    }
}

/// Returns a line for each running evaluation, which ends with its session.
fn running(status: &Value) -> Vec<String> {
    let sessions = status["sessions"].as_array().into_iter().flatten();
    let runs = sessions.filter_map(|session| {
        let (eval, text) =
            (session["eval"].as_u64()?, |field: &str| project::visible(session[field].as_str().unwrap_or_default()));
        let queued = match session["queue_depth"].as_u64().unwrap_or_default() {
            0 => String::new(),
            1 => ", and 1 that was queued behind it".to_owned(),
            many => format!(", and {many} that were queued behind it"),
        };
        let (name, worktree, code) = (text("session"), text("worktree"), text("code"));
        Some(format!(
            "This also ended evaluation #{eval} of session {name} in {worktree}, which was running: `{code}`{queued}."
        ))
    });
    runs.collect()
}

/// True if a process runs. A zombie, which has not been reaped yet, does not.
fn is_running(pid: u32) -> bool {
    system::process(pid.cast_signed()).is_some_and(|process| !process.is_zombie())
}
