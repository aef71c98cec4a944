//! `hob cure`: the Cure compiler on the command line, one file per subcommand.
//!
//! The compiler runs in this process, without the daemon: checking a file is faster than connecting to a daemon, files
//! outside any project work too, and no grant is needed, since the user runs it. The daemon's tools are for agents that
//! call repeatedly.

mod build;
mod check;
mod fmt;
mod fsm;
mod lsp;
mod run;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use cure::diagnostic::{Diagnostic, Lines, Stage};
use cure::{Cure, CureSettings, Modules, Options, files};
use project::visible::path as shown;
use project::{Config, Project};

use super::current_project::cwd;
use crate::exit::{Exit, Failure};

/// Check, build, format and run programs in Cure
#[derive(Debug, Args)]
pub(crate) struct CureCommand {
    #[command(subcommand)]
    command: Sub,
}

#[derive(Debug, Subcommand)]
enum Sub {
    Check(check::Check),
    Build(build::Build),
    Fmt(fmt::Fmt),
    Run(run::Run),
    Fsm(fsm::Fsm),
    Lsp(lsp::Lsp),
}

impl CureCommand {
    /// Runs the command. `explicit` is the value of `--project`.
    pub(crate) fn run(self, explicit: Option<&Path>) -> Result<Exit, Failure> {
        let cwd = cwd()?;
        let place = || Workspace::open(explicit, &cwd);
        match self.command {
            Sub::Check(check) => check.run(&place()?),
            Sub::Build(build) => build.run(&place()?),
            Sub::Fmt(fmt) => fmt.run(&place()?),
            Sub::Run(run) => run.run(&place()?),
            Sub::Fsm(fsm) => fsm.run(&place()?),
            // An editor sends its own working directory.
            Sub::Lsp(lsp) => lsp.run(explicit),
        }
    }
}

/// Where modules are looked up.
struct Workspace {
    /// The worktree around the current directory.
    worktree: PathBuf,
    cure: Arc<Cure>,
    /// The configuration. Its limits on a run apply here too.
    settings: CureSettings,
}

impl Workspace {
    fn open(explicit: Option<&Path>, cwd: &Path) -> Result<Workspace, Failure> {
        let project = Project::find(explicit, cwd).map_err(Failure::new)?;
        let config = Config::load(&project, &daemon::sections()).map_err(Failure::new)?;
        let worktree = if explicit.is_some() { project.root().to_owned() } else { project.worktree(cwd) };
        let settings = config.settings::<CureSettings>();
        let options = Options { roots: settings.roots.clone(), run: None };
        Ok(Workspace { worktree, cure: Cure::new(options), settings })
    }

    /// Returns the modules that a text may use: those of the project, or those next to a file outside it.
    fn modules(&self, input: &Input) -> Modules {
        let file = input.path.as_ref().and_then(|path| path.canonicalize().ok());
        let worktree = self.worktree.canonicalize().unwrap_or_else(|_| self.worktree.clone());
        match file.as_deref().filter(|path| !path.starts_with(&worktree)).and_then(Path::parent) {
            Some(beside) => Cure::new(Options::default()).modules(Some(beside)),
            None => self.cure.modules(Some(&worktree)),
        }
    }
}

/// A text to compile.
struct Input {
    /// Its name for messages, as given on the command line.
    name: String,
    /// Its path, unless it came from standard input.
    path: Option<PathBuf>,
    text: String,
}

/// Reads these files, all Cure files below these directories, and standard input for `-`.
fn inputs(named: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in named {
        if path.as_os_str() == "-" {
            inputs.push(standard_input()?);
        } else if path.is_dir() {
            let found = files::cure_files(std::slice::from_ref(path));
            if found.is_empty() {
                return Err(Failure::new(format_args!("no Cure files below {}", shown(path)))
                    .hint("Cure files end in `.cure`; hidden and build directories are skipped."));
            }
            inputs.extend(found.iter().map(|path| input(path)).collect::<Result<Vec<_>, _>>()?);
        } else {
            inputs.push(input(path)?);
        }
    }
    Ok(inputs)
}

fn input(path: &Path) -> Result<Input, Failure> {
    let text = files::read(path).map_err(Failure::new)?;
    Ok(Input { name: shown(path), path: Some(path.to_owned()), text })
}

fn standard_input() -> Result<Input, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(files::MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format_args!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > files::MOST_BYTES {
        return Err(Failure::new(format_args!("standard input has more than {} bytes", files::MOST_BYTES)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format_args!("standard input is not valid UTF-8: invalid byte at offset {at}"))
    })?;
    Ok(Input { name: "<stdin>".to_owned(), path: None, text })
}

/// The number of errors and warnings.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    errors: usize,
    warnings: usize,
    /// The warnings about state machines. Unlike other warnings, they indicate a fault.
    machines: usize,
}

impl Count {
    fn add(&mut self, diagnostics: &[Diagnostic]) {
        let errors = diagnostics.iter().filter(|one| one.is_error()).count();
        self.errors += errors;
        self.warnings += diagnostics.len() - errors;
        self.machines += diagnostics.iter().filter(|one| !one.is_error() && one.code.stage() == Stage::Fsm).count();
    }
}

/// Renders diagnostics for people, with the source lines they refer to.
fn rendered(name: &str, text: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    let lines = Lines::new(text);
    diagnostics.iter().map(|one| format!("{}\n\n", one.render(name, &lines, color))).collect()
}

/// True if this output may have colours.
fn colors(out: &impl IsTerminal) -> bool {
    out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints the diagnostics of a program to standard error; fails if there are errors.
fn refuse(input: &Input, diagnostics: &[Diagnostic], faulty: &[&str]) -> Result<(), Failure> {
    let text = rendered(&input.name, &input.text, diagnostics, colors(&std::io::stderr()));
    if !text.is_empty() {
        crate::terminal::note(text.trim_end());
    }
    let mut count = Count::default();
    count.add(diagnostics);
    if count.errors > 0 {
        let (errors, name) = (counted(count.errors, "error"), &input.name);
        return Err(Failure::new(format_args!("{errors} in {name}")));
    }
    if !faulty.is_empty() {
        return Err(Failure::new(format_args!("{} uses modules that have errors: {}", input.name, faulty.join(", ")))
            .hint("`hob cure check` shows them."));
    }
    Ok(())
}

/// Renders `1 error`, `2 errors`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
