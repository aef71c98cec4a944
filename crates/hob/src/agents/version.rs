//! What a program says of its version, in the time that a person waits.

use std::path::Path;
use std::process::Command;

/// The first line of the program's version output; `None` if it fails or takes too long.
pub(crate) fn version(path: &Path, arg: &str) -> Option<String> {
    let mut command = Command::new(path);
    // A version manager's shim would run what the files of a checkout name (`rust-toolchain.toml`, `.tool-versions`).
    command.arg(arg).current_dir("/");
    let text = daemon::capture(command).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
