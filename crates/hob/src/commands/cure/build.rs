//! `hob cure build`: BEAM files of programs, with everything they need.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use cure::Sources;
use cure::beam::{self, Origin};

use super::{Place, counted, cwd, inputs, refuse, shown};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Compile programs to BEAM files, with the modules of the library that they need; Erlang is needed to run them only
#[derive(Debug, Args)]
pub(super) struct Build {
    /// Files, directories, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where the files go [default: _build/cure]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const OUTPUT: &str = "_build/cure";

impl Build {
    pub(super) fn run(self, place: &Place) -> Result<Exit, Failure> {
        let mut beams: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut mains = Vec::new();
        for input in inputs(&self.files)? {
            let modules = place.modules(&input);
            let compiled = cure::compile(&input.text, &modules);
            refuse(&input, &compiled.diagnostics, &compiled.faulty())?;
            let own = |name: &str| compiled.syntax().iter().any(|module| *module.name.name == *name);
            let origin = |name: &str| match own(name) {
                true => Some(Origin { file: input.name.clone(), text: input.text.as_str().into() }),
                false => Some(Origin { file: format!("{name}.cure"), text: modules.source(name)? }),
            };
            match beam::program(&compiled.forms(), &origin) {
                Ok(files) => beams.extend(files),
                Err(error) => refuse(&input, &[error.diagnostic()], &[])?,
            }
            let modules = compiled.syntax().iter().map(|module| module.name.name.to_string());
            mains.extend(modules.filter(|module| compiled.exports(module, "main", 0)));
        }
        let output = shown(self.output.as_deref().unwrap_or(Path::new(OUTPUT)));
        let directory = made(self.output, place)?;
        let files: Vec<_> = beams.into_iter().collect();
        let changed = beam::output::write(&directory, &files).map_err(Failure::new)?;
        terminal::line(format!("{} in {output}, {} changed", counted(files.len(), "BEAM file"), changed.len()));
        let directory = output.replace('\'', "'\\''");
        for module in mains {
            let call = format!(r#""io:format(\"~tp~n\", ['{module}':main()]), halt().""#);
            terminal::line(format!("erl -noshell -pa '{directory}' -eval {call}"));
        }
        Ok(Exit::Done)
    }
}

/// The directory that the files go to. A directory that is named is used wherever it is; the default one is made inside
/// of the project, whatever links a checkout brings.
fn made(named: Option<PathBuf>, place: &Place) -> Result<PathBuf, Failure> {
    let failed = |error: &dyn Display| {
        let output = shown(named.as_deref().unwrap_or(Path::new(OUTPUT)));
        Failure::new(format_args!("could not make {output}: {error}")).hint("--output DIR names another place.")
    };
    if let Some(directory) = &named {
        std::fs::create_dir_all(directory).map_err(|error| failed(&error))?;
        return Ok(directory.clone());
    }
    let cwd = cwd()?;
    let root = if cwd.starts_with(&place.worktree) { &place.worktree } else { &cwd };
    beam::output::directory(root, &cwd.join(OUTPUT)).map_err(|error| failed(&error))
}
