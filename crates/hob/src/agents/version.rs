//! Queries the version of a program, with a short timeout.

use std::path::Path;
use std::process::Command;

/// Returns the first line of the program's version output; `None` if it fails or times out.
pub(crate) fn version(path: &Path, arg: &str) -> Option<String> {
    let mut command = Command::new(path);
    // A version manager's shim would run programs that a checkout names (`rust-toolchain.toml`, `.tool-versions`).
    command.arg(arg).current_dir("/");
    let text = daemon::capture(command).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
