//! `hob upgrade --check`: reports whether the daemon runs this program, and the sessions that a restart would end.

use clap::Args;
use project::Project;
use project::visible::path as shown;
use serde_json::Value;

use super::call::control_failure;
use crate::commands::{current_project, other_program, status};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Report whether the daemon runs this version, and the sessions that a restart would end
#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Only report; the package manager that installed hob upgrades it
    #[arg(long, required = true)]
    check: bool,
}

impl Upgrade {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        terminal::line(format!("This program is hob {}.", env!("CARGO_PKG_VERSION")));
        let Some(mut control) = current_project::connect(project)? else {
            terminal::line(format!("No daemon is running for {}: an upgrade ends no session.", shown(project.root())));
            return Ok(Exit::Done);
        };
        let (pid, version) = (control.daemon().pid, project::visible(&control.daemon().version));
        let report = control.status().map_err(control_failure)?;
        terminal::line(match pid.and_then(other_program::notice) {
            Some(notice) => format!("The daemon is hob {version}: {notice}."),
            None => format!("The daemon is hob {version}, this program: no restart is needed."),
        });
        lines(&report).iter().for_each(terminal::line);
        Ok(Exit::Done)
    }
}

/// Describes the sessions that end with the daemon.
fn lines(report: &Value) -> Vec<String> {
    let sessions: Vec<&Value> =
        report["sessions"].as_array().into_iter().flatten().filter(|it| status::is_alive(it)).collect();
    if sessions.is_empty() {
        return vec!["A restart ends no session.".to_owned()];
    }
    let mut lines =
        vec!["A restart ends these sessions. Their output can still be read, their definitions are lost:".to_owned()];
    lines.extend(sessions.into_iter().map(|session| format!("  {}", status::session(session))));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_living_sessions_are_lost() {
        let sessions = json!({"sessions": [
            {"session": "main", "profile": "python", "state": "running", "pid": 7},
            {"session": "old", "profile": "bash", "state": "exited"},
        ]});
        assert_eq!(lines(&sessions)[1..], ["  main: python, running, pid 7"]);
        assert_eq!(lines(&json!({})), ["A restart ends no session."]);
    }
}
