//! `hob hooks log`: prints the journal of hook events, one line each.

use ::hooks::journal::{self, Line};
use clap::Args;
use project::Project;
use serde_json::Value;

use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Show the hook events of agents, and the decisions
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Keep running and print new events, until interrupted
    #[arg(long)]
    follow: bool,
    /// How many events to show
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    last: usize,
    /// Print JSON, with payloads
    #[arg(long, conflicts_with = "follow")]
    json: bool,
}

impl Log {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        // Subscribe before reading the file, so that no event is missed.
        let following = if self.follow {
            Some(current_project::connect_or_start(project, &current_project::hello(project)?)?)
        } else {
            None
        };
        let mut last = std::collections::VecDeque::new();
        let mut shown_to = 0;
        for line in journal::lines(&project.log_dir()) {
            shown_to = line.number;
            if last.len() == self.last {
                last.pop_front();
            }
            if self.last > 0 {
                last.push_back(line);
            }
        }
        for line in &last {
            if self.json {
                terminal::json(&serde_json::to_value(line).unwrap_or_default())
            } else {
                terminal::line(text(line))
            }
        }
        if shown_to == 0 && !self.json {
            terminal::line("No hook has run here yet; `hob hooks install` installs hooks.");
        }
        let Some(control) = following else { return Ok(Exit::Done) };
        let followed = control.events(|entry| {
            let number = entry.fields.get("hook").and_then(Value::as_u64).unwrap_or(0);
            if entry.record == "hook_answered" && (number > shown_to || number == 0) {
                terminal::line(text_of(&entry.fields, entry.at_ms));
            }
            terminal::lost_output().is_none()
        });
        followed.map_err(super::super::call::control_failure)?;
        if terminal::lost_output().is_some() {
            return Ok(Exit::Done);
        }
        terminal::note("The daemon ended, so no more events follow.");
        Ok(Exit::NoDaemon)
    }
}

fn text(line: &Line) -> String {
    let by = line
        .matched
        .iter()
        .find(|matched| Some(&matched.rule) == line.rule.as_ref())
        .and_then(|found| found.by.clone());
    let missed = line.missed.as_ref().map(|why| format!(" (no daemon decided: {why})")).unwrap_or_default();
    let losses: Vec<&str> = line.answer.losses.iter().map(|loss| loss.as_str()).collect();
    let parts = Parts {
        number: line.number,
        at_ms: line.at_ms,
        agent: &line.agent,
        event: &line.event,
        verdict: line.verdict.as_str(),
        rule: line.rule.as_deref(),
        by: by.as_deref(),
        losses: losses.join(", "),
    };
    format!("{}{missed}", parts.text())
}

fn text_of(fields: &serde_json::Map<String, Value>, at_ms: u64) -> String {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    Parts {
        number: fields.get("hook").and_then(Value::as_u64).unwrap_or(0),
        at_ms,
        agent: text("agent").unwrap_or_default(),
        event: text("event").unwrap_or_default(),
        verdict: text("verdict").unwrap_or_default(),
        rule: text("rule"),
        by: text("by"),
        losses: String::new(),
    }
    .text()
}

/// The fields that the file and the daemon's records share.
struct Parts<'a> {
    number: u64,
    at_ms: u64,
    agent: &'a str,
    event: &'a str,
    verdict: &'a str,
    rule: Option<&'a str>,
    by: Option<&'a str>,
    losses: String,
}

impl Parts<'_> {
    fn text(&self) -> String {
        let at = i64::try_from(self.at_ms).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        let at = at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default();
        let rule = self.rule.map(|rule| format!(" by {rule}")).unwrap_or_default();
        let by = self.by.map(|by| format!(": {by}")).unwrap_or_default();
        let losses = if self.losses.is_empty() { String::new() } else { format!(" ({})", self.losses) };
        format!("{} {at} {} {}: {}{rule}{by}{losses}", self.number, self.agent, self.event, self.verdict)
    }
}
