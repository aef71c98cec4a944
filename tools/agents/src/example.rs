//! Builds examples of the MCP library, and runs one that serves HTTP.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use taskkit::until;
use taskkit::workspace::{KillOnDrop, Profile, build};
use tempfile::NamedTempFile;

/// Builds these examples and returns their directory.
pub(crate) fn build_examples(names: &[&str]) -> Result<PathBuf> {
    let mut args = vec!["--quiet", "-p", "mcp", "--all-features"];
    for name in names {
        args.extend(["--example", name]);
    }
    Ok(build(Profile::Dev, &args)?.join("examples"))
}

/// A running server, killed with its owner.
pub(crate) struct ExampleServer {
    child: KillOnDrop,
    pub(crate) url: String,
    log: NamedTempFile,
}

impl ExampleServer {
    /// Starts a program that prints its address as the first line of its standard error.
    pub(crate) fn start(command: &mut Command) -> Result<ExampleServer> {
        let log = NamedTempFile::new().context("could not make a file for a log")?;
        let shown = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.reopen()?)
            .spawn()
            .with_context(|| format!("could not start {shown:?}"))?;
        let mut server = ExampleServer { child: KillOnDrop(child), url: String::new(), log };
        server.url = until("the address of a server", || match server.log()?.split_once('\n') {
            Some((line, _)) => Ok(Some(line.to_owned())),
            None => match server.child.try_wait()? {
                Some(status) => bail!("{shown:?} ended ({status}) and said {:?}", server.log()?),
                None => Ok(None),
            },
        })?;
        Ok(server)
    }

    /// The server's standard error so far.
    pub(crate) fn log(&self) -> Result<String> {
        std::fs::read_to_string(self.log.path()).context("could not read a server's log")
    }
}
