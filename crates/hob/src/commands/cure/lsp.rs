//! `hob cure lsp`: what an editor starts.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use cure::lsp::{Folder, serve};

use super::Place;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Serve an editor on stdin and stdout (Language Server Protocol): errors as one types, types, definitions, completion
#[derive(Debug, Args)]
pub(super) struct Lsp {
    /// What some editors say to a language server; there is no other way
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    /// Serves until the editor ends. `explicit` is what `--project` named.
    pub(super) fn run(self, explicit: Option<&Path>) -> Result<Exit, Failure> {
        if std::io::stdin().is_terminal() {
            terminal::note("`hob cure lsp` waits for an editor; in a terminal use `hob cure check`.");
        }
        let failed = |error| Failure::new(format_args!("stdin or stdout failed: {error}"));
        // From here on, a stray print goes to standard error.
        let output =
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).map_err(|error| failed(error.into()))?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(|error| failed(error.into()))?;
        let find = |folder: &Path| match Place::of(explicit, folder) {
            Ok(place) => Folder { roots: place.cure.roots(&place.worktree), worktree: real(&place.worktree) },
            Err(failure) => {
                // A home, say: what is open there is checked by itself.
                terminal::report(&failure);
                Folder { worktree: real(folder), roots: Vec::new() }
            }
        };
        let ended = serve(std::io::stdin(), &mut File::from(output), &find).map_err(failed)?;
        // As the protocol wants it: 1 when the editor went without `shutdown`.
        if ended { Ok(Exit::Done) } else { Err(Failure::new("the editor ended without `shutdown`")) }
    }
}

fn real(path: &Path) -> std::path::PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
