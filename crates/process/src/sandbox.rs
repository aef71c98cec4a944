//! A sandbox for a program and all its descendants, by the kernel's Landlock: writes only below some directories, and no
//! TCP connections. It is applied between fork and exec, cannot be lifted, and needs no privilege.
//!
//! Reading is not restricted. Landlock covers neither permissions, owners and times of files, nor UDP, nor connections
//! to Unix sockets in the file system.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};

/// The newest version of the kernel's interface that we use.
const NEWEST: ABI = ABI::V6;
/// Devices that keep nothing of what is written to them.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// The sandbox of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The directories in which the program may write.
    pub writable: Vec<PathBuf>,
}

/// The restrictions that the kernel can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface; 0 if the kernel has none.
    abi: u32,
}

impl Support {
    /// Asks the kernel.
    #[expect(unsafe_code, reason = "the crate landlock does not tell the version")]
    pub fn ask() -> Support {
        const VERSION: libc::c_uint = 1;
        // SAFETY: with this flag the system call takes no attributes and only returns a number.
        let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
        Support { abi: u32::try_from(abi).unwrap_or(0) }
    }

    /// Returns true if the kernel can enforce at least a part.
    pub fn is_any(self) -> bool {
        self.abi > 0
    }

    /// Returns what the kernel cannot enforce, as clauses; nothing if all is enforced.
    pub fn gaps(self) -> Vec<&'static str> {
        match self.abi {
            0 => vec!["this kernel has no Landlock, or it is not enabled"],
            1 | 2 => vec!["files elsewhere can be truncated", "TCP connections are possible"],
            3 => vec!["TCP connections are possible"],
            _ => Vec::new(),
        }
    }

    /// Returns the version of the interface.
    pub fn abi(self) -> u32 {
        self.abi
    }
}

/// A sandbox that is ready to be applied in a child.
#[derive(Debug)]
pub(crate) struct Rules(OwnedFd);

impl Sandbox {
    /// Prepares the rules. `None` if the kernel has no Landlock.
    pub(crate) fn rules(&self) -> io::Result<Option<Rules>> {
        let writes = AccessFs::from_write(NEWEST);
        let ruleset = Ruleset::default().handle_access(writes).map_err(io::Error::other)?;
        let ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(io::Error::other)?;
        let ruleset = ruleset.scope(Scope::from_all(NEWEST)).map_err(io::Error::other)?;
        let mut ruleset = ruleset.create().map_err(io::Error::other)?;
        let of_file: BitFlags<AccessFs> = writes & AccessFs::from_file(NEWEST);
        let directories = self.writable.iter().map(|path| (path.as_path(), writes));
        let devices = DEVICES.iter().map(|path| (Path::new(path), of_file)).filter(|(path, _)| path.exists());
        for (path, access) in directories.chain(devices) {
            let place = PathFd::new(path).map_err(io::Error::other)?;
            ruleset = ruleset.add_rule(PathBeneath::new(place, access)).map_err(io::Error::other)?;
        }
        let rules: Option<OwnedFd> = ruleset.into();
        Ok(rules.map(Rules))
    }

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

impl Rules {
    /// Restricts this process for ever. Only system calls: runs between fork and exec.
    #[expect(unsafe_code, reason = "the crate landlock allocates here")]
    pub(crate) fn apply(&self) -> io::Result<()> {
        // SAFETY: both calls take plain numbers, and the descriptor is open.
        unsafe {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0u32) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_of_each_kernel_are_named() {
        let gaps = |abi| Support { abi }.gaps().len();
        assert_eq!([0, 1, 2, 3, 4, 7].map(gaps), [1, 2, 2, 1, 0, 0]);
        assert!(!Support { abi: 0 }.is_any());
    }
}
