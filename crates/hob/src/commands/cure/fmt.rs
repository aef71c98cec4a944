//! `hob cure fmt`: formats files; only white space changes.

use std::path::PathBuf;

use clap::Args;
use cure::files::FileError;

use super::{Workspace, colors, counted, inputs, rendered};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Format programs in place, or standard input to standard output
#[derive(Debug, Args)]
pub(super) struct Fmt {
    /// Files, directories, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Change nothing; list the files that are not formatted, and fail if there are any
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(super) fn run(self, place: &Workspace) -> Result<Exit, Failure> {
        let (mut wrong, mut unformatted) = (0, 0);
        for input in inputs(&self.files)? {
            let formatted = match cure::syntax::format(&input.text) {
                Ok(formatted) => formatted,
                Err(errors) => {
                    wrong += 1;
                    let text = rendered(&input.name, &input.text, &errors, colors(&std::io::stderr()));
                    terminal::note(text.trim_end());
                    continue;
                }
            };
            let changed = formatted != input.text;
            match (&input.path, self.check) {
                (_, true) if changed => {
                    unformatted += 1;
                    terminal::line(format!("not formatted: {}", input.name));
                }
                (_, true) => {}
                (None, false) => terminal::print(&formatted),
                (Some(path), false) if changed => {
                    let place = cure::files::followed(&place.worktree, path).map_err(|error| match error {
                        error @ FileError::Outside { .. } => {
                            Failure::new(error).hint("hob does not write through a link: name the file itself.")
                        }
                        error => Failure::new(error),
                    })?;
                    cure::files::write(&place, &formatted).map_err(Failure::new)?;
                    terminal::line(format!("formatted: {}", input.name));
                }
                (Some(_), false) => {}
            }
        }
        if wrong > 0 {
            let files = counted(wrong, "file");
            return Err(Failure::new(format_args!("{files} not formatted, because of errors in the syntax")));
        }
        if unformatted > 0 {
            return Err(Failure::new(format_args!("{} not formatted", counted(unformatted, "file")))
                .hint("`hob cure fmt` without --check formats them."));
        }
        Ok(Exit::Done)
    }
}
