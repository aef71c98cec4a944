//! `hob note`: hand-over notes on this branch.

use std::io::{self, Read};

use clap::Args;
use project::Project;
use serde_json::json;

use super::call::{control_failure, finish};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};

/// The limit for reading a note, in bytes. The daemon refuses one that is too long.
const READ: u64 = 64 * 1024;

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
    let mut text = String::new();
    let read = io::stdin().lock().take(READ).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| Failure::new(format_args!("cannot read the note from stdin: {error}")))
}
