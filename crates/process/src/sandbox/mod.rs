//! A sandbox for a program and all its descendants: writes only below some directories (by the kernel's Landlock), and no
//! TCP (by seccomp). It is applied between fork and exec, cannot be lifted, and needs no privilege.
//!
//! Reading is not restricted. Landlock covers neither permissions, owners, times and attributes of files, nor UDP, nor
//! connections to Unix sockets in the file system. Landlock's own rules for TCP would leave open listening without an
//! address, TCP Fast Open and Multipath TCP, so no such socket can be created at all.
//!
//! macOS has no such sandbox for a program without entitlements: there a program that asks for it does not start.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as platform;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as platform;

use std::io;
use std::path::PathBuf;

pub(crate) use platform::Rules;
pub use platform::Support;

/// The sandbox of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The directories in which the program may write.
    pub writable: Vec<PathBuf>,
}

impl Sandbox {
    /// Runs a command in the sandbox, for a program that is not a session.
    pub fn apply(&self, command: &mut std::process::Command) -> io::Result<()> {
        use std::os::unix::process::CommandExt;
        let rules = self.rules()?;
        #[expect(
            unsafe_code,
            reason = "pre_exec is unsafe: between fork and exec only async-signal-safe calls are sound"
        )]
        // SAFETY: the closure makes only system calls.
        unsafe {
            command.pre_exec(move || rules.as_ref().map_or(Ok(()), Rules::apply))
        };
        Ok(())
    }
}
