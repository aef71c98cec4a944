//! `hob mail`: shows where this project's mail is stored; `hob mail keep` and `hob mail switch` decide which store is used
//! after the configuration has changed.

use clap::{Args, Subcommand};
use project::{Config, Project};
use serde_json::{Value, json};

use crate::commands::call::control_failure;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Show where the mail is stored, and choose the store after the configuration has changed
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PlaceCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    choice: Option<Choice>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Choice {
    /// Keep using the current store, regardless of the configuration
    Keep,
    /// Switch to the configured store; mail in the old one stays there and is not shown
    Switch,
}

impl PlaceCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let asked = match self.choice {
            None => return self.show(project),
            Some(Choice::Keep) => json!({"choose": "keep"}),
            Some(Choice::Switch) => json!({"choose": "switch"}),
        };
        // The daemon decides: it was started with the configuration that applies.
        let mut control = current_project::connect_or_start(project, &current_project::hello(project)?)?;
        let done = control.request("mail/place", asked, |_, _| {}).map_err(control_failure)?;
        terminal::line(done["decided"].as_str().unwrap_or_default());
        if done["open"] == true && done["changed"] == true {
            terminal::line(
                "The running daemon still uses the old choice: run `hob stop`; the next call applies the new one.",
            );
        }
        Ok(Exit::Done)
    }

    fn show(&self, project: &Project) -> Result<Exit, Failure> {
        let place = match current_project::connect(project)? {
            Some(mut control) => control.request("mail/place", json!({}), |_, _| {}).map_err(control_failure)?,
            // This never starts a daemon.
            None => {
                let look = daemon::parts::mail::home(
                    project,
                    &Config::load(project, &daemon::sections()).map_err(Failure::new)?,
                )
                .report_location();
                let (problem, next) = look.problem.unzip();
                json!({"place": look.place, "problem": problem, "next": next.unwrap_or_default(), "remark": look.remark})
            }
        };
        if self.json {
            terminal::line(format!("{place:#}"))
        } else {
            place_lines(&place).into_iter().for_each(terminal::line)
        }
        Ok(Exit::Done)
    }
}

/// Renders the location of the mail.
pub(crate) fn place_lines(place: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut lines = vec![format!("{}: in {}", paint("mail", Style::Bold), text(&place["place"]).unwrap_or_default())];
    lines.extend(text(&place["problem"]).map(|problem| format!("  {}", paint(&problem, Style::Red))));
    let next = place["next"].as_array().into_iter().flatten().filter_map(text);
    lines.extend(next.map(|next| format!("  {next}")));
    lines.extend(text(&place["remark"]).map(|remark| format!("  {remark}")));
    lines
}
