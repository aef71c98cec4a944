//! `hob cure lsp`: the language server for editors.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use cure::lsp::{Folder, serve};

use super::Workspace;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Serve an editor on stdin and stdout (Language Server Protocol): diagnostics, types, definitions, completion
#[derive(Debug, Args)]
pub(super) struct Lsp {
    /// Accepted because some editors pass it to every language server; stdio is always used
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    /// Serves until the editor exits. `explicit` is the value of `--project`.
    pub(super) fn run(self, explicit: Option<&Path>) -> Result<Exit, Failure> {
        if std::io::stdin().is_terminal() {
            terminal::note("`hob cure lsp` waits for an editor; in a terminal use `hob cure check`.");
        }
        let failed = |error| Failure::new(format_args!("stdin or stdout failed: {error}"));
        // From here on, stray prints go to standard error.
        let output =
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).map_err(|error| failed(error.into()))?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(|error| failed(error.into()))?;
        let find = |folder: &Path| match Workspace::open(explicit, folder) {
            Ok(place) => Folder { roots: place.cure.roots(&place.worktree), worktree: real(&place.worktree) },
            Err(failure) => {
                // Without a project, for example in a home, each file is checked separately.
                terminal::report(&failure);
                Folder { worktree: real(folder), roots: Vec::new() }
            }
        };
        let ended = serve(std::io::stdin(), &mut File::from(output), &find).map_err(failed)?;
        // The protocol requires exit code 1 if the editor exits without `shutdown`.
        if ended { Ok(Exit::Done) } else { Err(Failure::new("the editor ended without `shutdown`")) }
    }
}

fn real(path: &Path) -> std::path::PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
