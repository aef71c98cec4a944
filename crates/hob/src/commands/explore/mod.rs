//! `hob teach` and `hob scout`: reading lists and the impact of changes on the command line.

mod export;
mod records;
mod tour;

use std::path::PathBuf;

use clap::Args;
use project::Project;
use serde_json::{Map, Value, json};

pub(crate) use self::records::ExploreCommand;
use super::call::command_texts::in_flags_of;
use super::call::{control_failure, finish};
use super::code::command_hints;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// Show what to read to understand a topic
#[derive(Debug, Args)]
pub(crate) struct Teach {
    /// The topic
    #[arg(required_unless_present = "check")]
    topic: Option<String>,
    /// The definitions to start from, with commas: `Shape,geo::area`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "check")]
    seeds: Vec<String>,
    /// How many definitions to show, 1 to 200 (default 20)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    budget: Option<i64>,
    /// Follow only types or only calls
    #[arg(long, value_name = "NAMES", value_parser = ["types", "calls"])]
    follow: Option<String>,
    /// How many steps from a seed, 0 to 20 (default 5)
    #[arg(long, value_name = "STEPS", allow_negative_numbers = true)]
    max_depth: Option<i64>,
    /// Look for the seeds only in this file or folder
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Also write a tour for the CodeTour extension
    #[arg(long, value_name = "FILE")]
    tour: Option<PathBuf>,
    /// Check that the stops of a tour still match instead; exit status 1 if one does not
    #[arg(long, value_name = "FILE", conflicts_with_all = ["topic", "seeds", "tour"])]
    check: Option<PathBuf>,
    #[command(flatten)]
    by: By,
    /// How long the whole search may take, in milliseconds (default 10000)
    #[arg(long, value_name = "MS")]
    wait_ms: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Teach {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        if let Some(file) = &self.check {
            return tour::check(&project.worktree(&current_project::cwd()?), file);
        }
        let arguments = [
            ("topic", json!(self.topic)),
            ("seeds", json!(self.seeds)),
            ("budget", json!(self.budget)),
            ("follow", json!(self.follow.map(|names| [names]))),
            ("max_depth", json!(self.max_depth)),
            ("path", json!(self.path)),
            ("selector", json!(self.by.selector)),
            ("record", json!(self.by.record)),
            ("wait_ms", json!(self.wait_ms)),
        ];
        let result = call(project, "teach-graph", arguments)?;
        let exit = finish(&result, self.json)?;
        // The list is shown even if the tour cannot be written.
        match &self.tour {
            Some(file) if exit == Exit::Done => {
                tour::write(&result["structuredContent"], &project.worktree(&current_project::cwd()?), file)?
            }
            _ => {}
        }
        Ok(exit)
    }
}

/// Show what breaks if a definition changes
#[derive(Debug, Args)]
pub(crate) struct Scout {
    /// The question: 'What breaks if I add a variant to Shape?'
    #[arg(required_unless_present_any = ["symbols", "diff"])]
    query: Option<String>,
    /// The definitions that change, with commas (default those that the question names)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    symbols: Vec<String>,
    /// The changed definitions of a diff instead: working (not committed, the default), staged or BASE..HEAD
    #[arg(long, value_name = "DIFF", num_args = 0..=1, default_missing_value = "working", conflicts_with = "symbols")]
    diff: Option<String>,
    /// How many uses to visit: low (10), medium (30, the default) or high (100)
    #[arg(long, value_name = "DEPTH", value_parser = ["low", "medium", "high"], hide_possible_values = true)]
    depth: Option<String>,
    /// The change (default the one in the question)
    #[arg(long, value_parser = ["add_variant", "remove", "rename", "change_type", "change_signature"])]
    change: Option<String>,
    /// Look for uses only in this file or folder
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Compile the change in a copy of the worktree; the errors are the places that break. For Haskell, Rust and TypeScript
    #[arg(long)]
    prove: bool,
    #[command(flatten)]
    by: By,
    /// How long the whole search may take, in milliseconds (default 10000; with --prove 300000)
    #[arg(long, value_name = "MS")]
    wait_ms: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Scout {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = [
            ("query", json!(self.query)),
            ("symbols", json!(self.symbols)),
            ("diff", json!(self.diff)),
            ("depth", json!(self.depth)),
            ("change", json!(self.change)),
            ("path", json!(self.path)),
            ("prove", json!(self.prove)),
            ("selector", json!(self.by.selector)),
            ("record", json!(self.by.record)),
            ("wait_ms", json!(self.wait_ms)),
        ];
        finish(&call(project, "scout", arguments)?, self.json)
    }
}

/// Who decides in a walk, and whether that is recorded.
#[derive(Debug, Args)]
struct By {
    /// Who ranks: rules, model, or auto (a model where one is configured; the default)
    #[arg(long, value_name = "WHO", value_parser = ["auto", "rules", "model"], hide_possible_values = true)]
    selector: Option<String>,
    /// Record each decision for `hob explore`
    #[arg(long)]
    record: bool,
}

/// The arguments that are also flags here.
const FLAGS: [&str; 8] = ["symbols", "seeds", "selector", "budget", "diff", "depth", "path", "wait_ms"];

/// Calls a tool with those arguments that are given.
fn call<const N: usize>(project: &Project, tool: &str, arguments: [(&str, Value); N]) -> Result<Value, Failure> {
    let mut hello = current_project::hello(project)?;
    hello.toolsets = vec!["explore".to_owned()];
    let mut control = current_project::connect_or_start(project, &hello)?;
    let given = arguments.into_iter().filter(|(_, value)| !value.is_null());
    let arguments: Map<String, Value> = given.map(|(name, value)| (name.to_owned(), value)).collect();
    let mut result = control.call(tool, arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
    command_hints::result(&mut result);
    if result["isError"] == true {
        for block in result["content"].as_array_mut().into_iter().flatten() {
            block["text"] = in_flags_of(block["text"].as_str().unwrap_or_default(), &FLAGS).into();
        }
    }
    Ok(result)
}
