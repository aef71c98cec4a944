//! What a program says of its version, in the time that a person waits.

use std::path::Path;

/// The first line of the program's version output; `None` if it fails or takes too long.
pub(crate) fn version(path: &Path, arg: &str) -> Option<String> {
    let text = daemon::said(path, arg)?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
