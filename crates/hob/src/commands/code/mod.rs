//! `hob callers`, `uses`, `callees`, `def`, `outline`, `fields`, `constructors`, `matches` and `code`: code search on the
//! command line.

pub(super) mod command_hints;

use clap::{Args, Subcommand};
use project::Project;
use serde_json::{Map, Value, json};

use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// Show who calls a function or passes it as a value
#[derive(Debug, Args)]
pub(crate) struct Callers {
    #[command(flatten)]
    asked: SearchArgs,
}

/// Show every use of a name, by what it does there
#[derive(Debug, Args)]
pub(crate) struct Uses {
    #[command(flatten)]
    asked: SearchArgs,
    /// Only uses of this class: call, value, import, export, signature, type, pattern, construct, binding, field_read, field_write, mention
    #[arg(long = "class", value_name = "CLASS", hide_possible_values = true, value_parser = CLASSES)]
    classes: Vec<String>,
}

/// The classes of uses.
const CLASSES: [&str; 12] = [
    "call",
    "value",
    "import",
    "export",
    "signature",
    "type",
    "pattern",
    "construct",
    "binding",
    "field_read",
    "field_write",
    "mention",
];

/// Show what a function calls
#[derive(Debug, Args)]
pub(crate) struct Callees {
    /// `area`, `Shape::area`, `src/geo.rs:area` or `src/geo.rs:41`
    name: String,
    /// Also show callees that the project does not define
    #[arg(long)]
    external: bool,
    /// How many to show (default 50)
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// How long to wait for a language server, in milliseconds (default 10000); 0 does not wait
    #[arg(long, value_name = "MS")]
    wait_ms: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show the source of a definition
#[derive(Debug, Args)]
pub(crate) struct Def {
    /// `area`, `Shape::area`, `src/geo.rs:area` or `src/geo.rs:41`
    name: String,
    /// How many bytes of each source to show (default 6000)
    #[arg(long, value_name = "BYTES")]
    max: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show what a file or the files of a folder declare
#[derive(Debug, Args)]
pub(crate) struct Outline {
    /// A file or folder; the whole worktree if none is named
    path: Option<String>,
    /// Only names that contain this text
    #[arg(long = "match", value_name = "TEXT")]
    matching: Option<String>,
    /// How many levels of declarations to show
    #[arg(long, value_name = "LEVELS")]
    depth: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show the fields of a type
#[derive(Debug, Args)]
pub(crate) struct Fields {
    #[command(flatten)]
    of: Type,
}

/// Show the constructors of a type
#[derive(Debug, Args)]
pub(crate) struct Constructors {
    #[command(flatten)]
    of: Type,
}

/// Show where values of a type are matched, and what another constructor does there
#[derive(Debug, Args)]
pub(crate) struct Matches {
    #[command(flatten)]
    of: Type,
    /// The constructor to remove; by default, a constructor is added
    #[arg(long, value_name = "CONSTRUCTOR")]
    remove: Option<String>,
    /// How many to show (default 50)
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// How long to wait for a language server, in milliseconds (default 10000); 0 does not wait
    #[arg(long, value_name = "MS")]
    wait_ms: Option<u64>,
}

#[derive(Debug, Args)]
struct Type {
    /// `Shape`, `geometry::Shape`, `src/geo.rs:Shape` or `src/geo.rs:8`
    name: String,
    /// Look only in this file or folder
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show or restart the language servers that check answers about code
#[derive(Debug, Args)]
pub(crate) struct CodeCommand {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The languages of this worktree, and the language server of each
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restart the language servers of this worktree
    Restart,
}

#[derive(Debug, Args)]
struct SearchArgs {
    /// `area`, `Shape::area`, `src/geo.rs:area` or `src/geo.rs:41`
    name: String,
    /// Look only in this file or folder
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Lines around each use (default 0)
    #[arg(short = 'C', long, value_name = "LINES")]
    context: Option<u64>,
    /// How many uses to show (default 50)
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// Also show places that mean another definition
    #[arg(long)]
    refuted: bool,
    /// How long to wait for a language server, in milliseconds (default 10000); 0 does not wait
    #[arg(long, value_name = "MS")]
    wait_ms: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl SearchArgs {
    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("name", json!(self.name)),
            ("path", json!(self.path)),
            ("context_lines", json!(self.context)),
            ("max_results", json!(self.max)),
            ("wait_ms", json!(self.wait_ms)),
            ("refuted", json!(self.refuted.then_some(true))),
        ]
    }
}

impl Callers {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        ask(project, "find_callers", self.asked.arguments(), self.asked.json)
    }
}

impl Uses {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut arguments = self.asked.arguments();
        arguments.push(("classes", json!(self.classes)));
        ask(project, "find_uses", arguments, self.asked.json)
    }
}

impl Callees {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = vec![
            ("name", json!(self.name)),
            ("external", json!(self.external)),
            ("max_results", json!(self.max)),
            ("wait_ms", json!(self.wait_ms)),
        ];
        ask(project, "find_callees", arguments, self.json)
    }
}

impl Def {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = vec![("name", json!(self.name)), ("max_bytes", json!(self.max))];
        ask(project, "show_definition", arguments, self.json)
    }
}

impl Outline {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = vec![("path", json!(self.path)), ("match", json!(self.matching)), ("depth", json!(self.depth))];
        ask(project, "outline", arguments, self.json)
    }
}

impl Type {
    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![("type_name", json!(self.name)), ("path", json!(self.path))]
    }
}

impl Fields {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        ask(project, "show_fields", self.of.arguments(), self.of.json)
    }
}

impl Constructors {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        ask(project, "show_constructors", self.of.arguments(), self.of.json)
    }
}

impl Matches {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let mut arguments = self.of.arguments();
        arguments.push(("change", json!(self.remove.map(|name| format!("remove:{name}")))));
        arguments.extend([("max_results", json!(self.max)), ("wait_ms", json!(self.wait_ms))]);
        ask(project, "find_matches", arguments, self.of.json)
    }
}

impl CodeCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        match self.what {
            Action::Status { json } => ask(project, "code_status", Vec::new(), json),
            Action::Restart => ask(project, "code_status", vec![("restart", json!(true))], false),
        }
    }
}

/// Calls a tool, omitting null arguments.
fn ask(project: &Project, tool: &str, arguments: Vec<(&str, Value)>, as_json: bool) -> Result<Exit, Failure> {
    let mut hello = current_project::hello(project)?;
    hello.toolsets = vec!["code".to_owned()];
    let mut control = current_project::connect_or_start(project, &hello)?;
    let said = arguments.into_iter().filter(|(_, value)| !value.is_null());
    let arguments = Map::from_iter(said.map(|(name, value)| (name.to_owned(), value)));
    let mut result = control.call(tool, arguments, |_| {}, |_, _| {}).map_err(control_failure)?;
    if !as_json {
        command_hints::result(&mut result);
    }
    finish(&result, as_json)
}
