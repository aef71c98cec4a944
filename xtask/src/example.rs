//! An example of the library that serves HTTP, built, started, and ended with its owner.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

use crate::workspace::{Profile, build};

/// How long one may take to say where it listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// Builds these examples and gives the folder they are in.
pub(crate) fn built(names: &[&str]) -> Result<PathBuf> {
    let mut args = vec!["--quiet", "-p", "mcp", "--all-features"];
    for name in names {
        args.extend(["--example", name]);
    }
    Ok(build(Profile::Dev, &args)?.join("examples"))
}

/// A running server.
pub(crate) struct Served {
    child: Child,
    /// Where it listens.
    pub(crate) url: String,
    log: NamedTempFile,
}

impl Served {
    /// Starts a program that says in the first line of its standard error where it listens.
    pub(crate) fn start(command: &mut Command) -> Result<Served> {
        let log = NamedTempFile::new().context("could not make a file for a log")?;
        let shown = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.reopen()?)
            .spawn()
            .with_context(|| format!("could not start {shown:?}"))?;
        let mut served = Served { child, url: String::new(), log };
        let deadline = Instant::now() + PATIENCE;
        while served.url.is_empty() {
            if let Some((line, _)) = served.log()?.split_once('\n') {
                served.url = line.to_owned();
            } else if let Some(status) = served.child.try_wait()? {
                bail!("{shown:?} ended ({status}) and said {:?}", served.log()?);
            } else if Instant::now() > deadline {
                bail!("{shown:?} did not say where it listens within {PATIENCE:?}");
            } else {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(served)
    }

    /// What it said on its standard error.
    pub(crate) fn log(&self) -> Result<String> {
        std::fs::read_to_string(self.log.path()).context("could not read a server's log")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
