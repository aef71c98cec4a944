//! What a program says of its version. Agents and REPLs are asked, in the time that a person waits.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to print its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);

/// The first line of the program's version output; `None` if it fails or takes too long.
pub(crate) fn version(path: &Path, arg: &str) -> Option<String> {
    let mut child =
        Command::new(path).arg(arg).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let end = Instant::now() + VERSION_PATIENCE;
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => break,
            Some(_) => return None,
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    // A version fits into a pipe, so the program did not wait for us to read.
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
