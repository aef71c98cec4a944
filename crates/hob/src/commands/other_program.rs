//! Detects that the running daemon is a different program: its file was replaced by an upgrade, or is elsewhere.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Returns a warning with the fix; `None` if the daemon is this program, or the kernel does not tell.
pub(super) fn notice(pid: u32) -> Option<String> {
    let link = format!("/proc/{pid}/exe");
    let program = fs::read_link(&link).ok()?.to_string_lossy().into_owned();
    let file = |path: &str| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    if file(&link)? == file("/proc/self/exe")? {
        return None;
    }
    let next = "run `hob stop`; the next call starts this program";
    Some(match program.strip_suffix(" (deleted)") {
        Some(path) => {
            format!("the daemon runs an old version: {} was replaced after it started: {next}", project::visible(path))
        }
        None => format!("the daemon runs another program, {}: {next}", project::visible(&program)),
    })
}
