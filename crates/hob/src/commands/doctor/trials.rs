//! `hob doctor --try`: runs the trials of the parts, and measures how long each takes.

use std::time::Instant;

use client::control::{Control, Progress};
use daemon::parts::{Finding, Trial};
use project::Project;
use serde_json::Value;

use crate::commands::current_project;
use crate::exit::Failure;

/// Runs all trials. Starts the daemon if none runs, and any language server that a trial needs. A trial may take a minute;
/// `tell` receives the progress.
pub(super) fn findings(project: &Project, trials: Vec<Trial>, tell: impl Fn(&str)) -> Vec<Finding> {
    trials.into_iter().map(|trial| finding(project, trial, &tell)).collect()
}

fn finding(project: &Project, trial: Trial, tell: impl Fn(&str)) -> Finding {
    let since = Instant::now();
    let within = trial.arguments.get("wait_ms").and_then(Value::as_u64);
    let within = within.map(|ms| format!(", which may take {} s", ms / 1000)).unwrap_or_default();
    tell(&format!("{}: waiting for {}{within}", trial.subject, trial.asks));
    match ask(project, &trial, tell) {
        Err(failure) => {
            let detail = format!("{}: {}. {}", trial.asks, failure.message, failure.hints.join(" "));
            Finding::problem(trial.subject, detail.trim_end())
        }
        Ok(result) => {
            let said = text(&result);
            let took = since.elapsed().as_secs_f64();
            let detail = format!("{} after {took:.1} s: {}", trial.asks, said.lines().next().unwrap_or_default());
            if result["isError"] == true {
                Finding::problem(trial.subject, detail)
            } else if (trial.is_whole)(&result["structuredContent"]) {
                Finding::good(trial.subject, detail)
            } else if trial.can_be_whole {
                Finding::note(trial.subject, detail)
            } else {
                Finding::remark(trial.subject, detail)
            }
        }
    }
}

fn ask(project: &Project, trial: &Trial, tell: impl Fn(&str)) -> Result<Value, Failure> {
    // The names are relative to the root, regardless of the current directory.
    let mut hello = Control::hello(project, project.root());
    hello.toolsets = vec![trial.toolset.to_owned()];
    let mut control = current_project::connect_or_start(project, &hello)?;
    let arguments = trial.arguments.clone();
    let mut last = String::new();
    let progress = |progress: Progress| {
        if let Some(message) = progress.message.filter(|message| *message != last) {
            tell(&format!("{}: {message}", trial.subject));
            last = message;
        }
    };
    control.call(trial.tool, arguments, progress, |_, _| {}).map_err(super::super::call::control_failure)
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
