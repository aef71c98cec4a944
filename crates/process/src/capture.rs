//! Runs a program for its output (`--version`, `--help`), for callers without a runtime.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::exit::Exit;

/// The time limit of a program.
const PATIENCE: Duration = Duration::from_secs(5);
/// The capacity of a pipe, so that the program need not wait for a reader.
const MAX_BYTES: u64 = 64 * 1024;

/// Runs the command to its end and returns its standard output. Blocks.
///
/// # Errors
/// If it does not start, fails or times out: its exit status, and the first line of its standard error.
pub fn capture(mut command: Command) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", PATIENCE.as_secs()));
            }
        }
    };
    if status.success() {
        return Ok(text(child.stdout));
    }
    let (exit, stderr) = (Exit::new(status), text(child.stderr));
    let line = stderr.lines().find(|line| !line.trim().is_empty());
    Err(line.map_or_else(|| exit.to_string(), |line| format!("{exit}: {}", line.trim())))
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // Data read before an error counts as output.
    let _ = pipe.map(|pipe| pipe.take(MAX_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
