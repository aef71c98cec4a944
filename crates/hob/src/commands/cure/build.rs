//! `hob cure build`: compiles programs and their dependencies to BEAM files.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use cure::beam;

use super::{Workspace, counted, cwd, inputs, refuse, shown};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Compile programs to BEAM files, including the library modules they need; only running them requires Erlang
#[derive(Debug, Args)]
pub(super) struct Build {
    /// Files, directories, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The output directory [default: _build/cure]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const OUTPUT: &str = "_build/cure";

impl Build {
    pub(super) fn run(self, place: &Workspace) -> Result<Exit, Failure> {
        let mut beams: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut mains = Vec::new();
        for input in inputs(&self.files)? {
            let modules = place.modules(&input);
            let compiled = cure::compile(&input.text, &modules);
            refuse(&input, &compiled.diagnostics, &compiled.faulty())?;
            match beam::build(&compiled, &input.name, &input.text, &modules) {
                Ok(built) => {
                    beams.extend(built.files);
                    mains.extend(built.mains);
                }
                Err(error) => refuse(&input, &[error.diagnostic()], &[])?,
            }
        }
        let output = self.output.clone().unwrap_or_else(|| OUTPUT.into());
        let directory = create_output_dir(self.output, place)?;
        let files: Vec<_> = beams.into_iter().collect();
        let changed = beam::output::write(&directory, &files).map_err(Failure::new)?;
        terminal::line(format!(
            "{} in {}, {} changed",
            counted(files.len(), "BEAM file"),
            shown(&output),
            changed.len()
        ));
        for module in mains {
            terminal::line(beam::command_line(&output, &module));
        }
        Ok(Exit::Done)
    }
}

/// Creates the output directory. A named directory may be anywhere; the default one must be inside the project, even if a
/// checkout contains links.
fn create_output_dir(named: Option<PathBuf>, place: &Workspace) -> Result<PathBuf, Failure> {
    let failed = |error: &dyn Display| {
        let output = shown(named.as_deref().unwrap_or(Path::new(OUTPUT)));
        Failure::new(format_args!("cannot create {output}: {error}"))
            .hint("Use --output DIR to choose another directory.")
    };
    if let Some(directory) = &named {
        std::fs::create_dir_all(directory).map_err(|error| failed(&error))?;
        return Ok(directory.clone());
    }
    let cwd = cwd()?;
    let root = if cwd.starts_with(&place.worktree) { &place.worktree } else { &cwd };
    beam::output::directory(root, &cwd.join(OUTPUT)).map_err(|error| failed(&error))
}
