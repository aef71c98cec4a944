//! What a program says of itself (`--version`, `--help`), for callers without a runtime.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a pipe holds, so that the program need not wait for a reader.
const MAX_BYTES: u64 = 64 * 1024;

/// What the program prints when it is given this argument; `None` if it fails or takes too long.
pub fn said(program: &Path, arg: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(arg).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let end = Instant::now() + PATIENCE;
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
    let mut text = String::new();
    child.stdout.take()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
