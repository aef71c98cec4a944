//! `hob note`: hand-over notes on this branch.

use clap::Args;
use project::Project;
use serde_json::json;

use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// The limit for reading a note, in MiB. The daemon refuses one that is too long.
const READ_MAX_MIB: u64 = 1;

/// Leave a note for the next agent on this branch, or show the existing notes
#[derive(Debug, Args)]
pub(crate) struct Note {
    /// The text of the note; `-` reads it from stdin
    text: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Note {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let text = match self.text.as_deref() {
            Some("-") => Some(stdin()?),
            text => text.map(str::to_owned),
        };
        let mut control = current_project::connect_or_start(project, &current_project::hello(project)?)?;
        let params = json!({"text": text});
        let result = control.request("work/note", params, |_, _| {}).map_err(control_failure)?;
        finish(&result, self.json)
    }
}

fn stdin() -> Result<String, Failure> {
    super::mail::read_at_most(std::io::stdin().lock(), READ_MAX_MIB).map_err(|error| {
        let failure = Failure::new(format_args!("cannot read the note from stdin: {error}"));
        failure.hint("Put longer texts in a file, and name the file in the note.")
    })
}
