//! `hob serve`: runs the daemon in the foreground, or, with a hidden flag, in the background for front-ends. Also serves
//! `hob mcp --standalone`, without a daemon.

use std::io::IsTerminal;
use std::net::SocketAddr;

use clap::Args;
use daemon::Options;
use project::{Hello, Project, visible};

use crate::exit::{Exit, Failure};
use crate::terminal;

/// Run this project's daemon in the foreground; agents and commands start it automatically
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Detach from the terminal, and print on stdout when the daemon is ready or why it failed
    #[arg(long, hide = true)]
    pub(crate) background: bool,
    /// Also serve HTTP, at a local address such as 127.0.0.1:7117; `hob init --http` shows how to connect
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give a local address and a port, such as 127.0.0.1:7117".to_owned())
}

impl Serve {
    pub(crate) fn run(self, project: Project) -> Result<Exit, Failure> {
        let background = self.background;
        // Print this once: the daemon restarts itself in a clean environment.
        if !background && project::daemon_environment::is_handed_over() && std::io::stderr().is_terminal() {
            let (root, log) = (visible::path(project.root()), visible::path(&project.log_dir()));
            terminal::note(format!("Serving {root}; its log is in {log}. Ctrl-C or `hob stop` stops it."));
        }
        match daemon::serve(Options { project, background, http: self.http }) {
            Ok(()) => Ok(Exit::Done),
            // The starting process was already told.
            Err(_) if background => Ok(Exit::Failed),
            Err(error) => Err(Failure::new(error)),
        }
    }
}

/// Serves an agent on stdin and stdout; sessions end with this process.
pub(crate) fn standalone(project: &Project, hello: &Hello) -> Result<Exit, Failure> {
    daemon::standalone(project, hello).map_err(Failure::new)?;
    Ok(Exit::Done)
}
