//! Detects that the running daemon is a different program: its file was replaced by an upgrade, or is elsewhere.

/// Returns a warning with the fix; `None` if the daemon is this program, or the kernel does not tell.
pub(super) fn notice(pid: u32) -> Option<String> {
    let pid = pid.cast_signed();
    let program = system::program(pid)?.to_string_lossy().into_owned();
    if system::is_same_program(pid)? {
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
