//! `hob repl check`: proves on the real programs that profiles work.

use clap::{Args, Subcommand};
use client::Control;
use project::{Project, visible};
use serde_json::{Value, json};

use super::call::control_failure;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Check REPL profiles
#[derive(Debug, Args)]
pub(crate) struct ReplCommand {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a profile's program and check values, output, errors, input, interrupts and exit
    Check {
        /// The profile, built in or of your configuration [default: each whose program is installed]
        profile: Option<String>,
        /// The number of interrupts, each followed by a value that must be right
        #[arg(long, value_name = "N", default_value_t = 5)]
        interrupts: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl ReplCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let Action::Check { profile, interrupts, json } = self.what;
        let hello = current_project::hello(project)?;
        let mut control = current_project::connect_or_start(project, &hello)?;
        let profiles = match profile {
            Some(profile) => vec![profile],
            None => installed(&mut control, json)?,
        };
        let mut reports = Vec::new();
        for profile in profiles {
            let asked = json!({ "profile": profile, "interrupts": interrupts });
            let report = control.request("repl/check", asked, |_, _| {}).map_err(control_failure)?;
            if !json {
                show(&report);
            }
            reports.push(report);
        }
        let rows = |report: &Value| report["rows"].as_array().cloned().unwrap_or_default();
        let failed = reports.iter().flat_map(rows).any(|row| row["held"] == false);
        if json {
            terminal::json(&Value::Array(reports));
        }
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }
}

/// Returns the profiles whose programs are installed, and names the others.
fn installed(control: &mut Control, quiet: bool) -> Result<Vec<String>, Failure> {
    let answer = control.request("repl/check", json!({}), |_, _| {}).map_err(control_failure)?;
    let mut names = Vec::new();
    for profile in answer["profiles"].as_array().into_iter().flatten() {
        let name = profile["profile"].as_str().unwrap_or_default();
        match profile["problem"].as_str() {
            None => names.push(name.to_owned()),
            Some(problem) if !quiet => terminal::line(format!("{name}: not checked, {}", visible(problem))),
            Some(_) => {}
        }
    }
    Ok(names)
}

/// Prints the table of one profile.
fn show(report: &Value) {
    let version = report["version"].as_str().map(|version| format!(" {}", visible(version))).unwrap_or_default();
    terminal::line(format!("{}{version}", visible(report["profile"].as_str().unwrap_or_default())));
    for row in report["rows"].as_array().into_iter().flatten() {
        let sign = match row["held"].as_bool() {
            Some(true) => "ok",
            Some(false) => "FAILED",
            None => "-",
        };
        let (what, detail) = (row["what"].as_str().unwrap_or_default(), row["detail"].as_str().unwrap_or_default());
        terminal::line(format!("  {sign:<6} {what:<22} {}", visible(detail)));
    }
}
