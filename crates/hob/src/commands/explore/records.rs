//! `hob explore`: recorded decisions of walks.

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Value, json};

use super::export::example;
use crate::commands::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Export recorded walks as training examples, or compare the rules with a model on them
#[derive(Debug, Args)]
pub(crate) struct ExploreCommand {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the decisions of walks that were called with `--record`, one JSON object in each line
    Export {
        /// The names of the recorded walks
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// The format of the lines: the records, chat messages, or text for FunctionGemma
        #[arg(long, value_parser = ["raw", "chat", "functiongemma"], default_value = "raw")]
        format: String,
    },
    /// Make the decisions again by the rules and by a model, and print how far they agree
    Compare {
        /// The names of the recorded walks
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl ExploreCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Action::Export { runs, format } => {
                let result = request(project, "explore/export", json!({"runs": runs}))?;
                let records = result["structuredContent"]["records"].as_array().into_iter().flatten();
                let lines = records.map(|record| format!("{}\n", example(record, &format)));
                terminal::print(&lines.collect::<String>());
                Ok(Exit::Done)
            }
            Action::Compare { runs, json } => {
                finish(&request(project, "explore/compare", json!({"runs": runs}))?, json)
            }
        }
    }
}

fn request(project: &Project, method: &str, params: Value) -> Result<Value, Failure> {
    let mut control = current_project::connect_or_start(project, &current_project::hello(project)?)?;
    control.request(method, params, |_, _| {}).map_err(control_failure)
}
