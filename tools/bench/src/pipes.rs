//! A program on synchronous pipes, for measuring: no thread stands between its write and our read.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command};

use anyhow::{Context, Result, bail};
use taskkit::workspace::KillOnDrop;

/// A running program.
pub(crate) struct Pipes {
    child: KillOnDrop,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Pipes {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let (child, stdin, stdout) = KillOnDrop::piped(command)?;
        Ok(Self { child, stdin: Some(stdin), stdout: BufReader::with_capacity(1 << 16, stdout) })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes one line, which must end in a newline.
    pub(crate) fn write(&mut self, line: &[u8]) -> Result<()> {
        self.stdin.as_mut().context("its input is closed")?.write_all(line).context("the program reads no more")
    }

    /// Reads one line into `line`, which is cleared first.
    pub(crate) fn read_line(&mut self, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        let count = self.stdout.read_until(b'\n', line).context("the program's output broke")?;
        if count == 0 {
            bail!("the program closed its output");
        }
        Ok(())
    }

    /// Closes the input and waits for the process to end.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.stdin = None;
        std::io::copy(&mut self.stdout, &mut std::io::sink()).context("the program's output broke")?;
        self.child.wait().context("could not wait for the program")?;
        Ok(())
    }
}
