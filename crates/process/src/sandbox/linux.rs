//! Linux: Landlock and seccomp.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use landlock::{ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Sandbox;

/// The newest version of the kernel's interface that we use.
const NEWEST: ABI = ABI::V6;
/// Devices that keep nothing of what is written to them.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

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
            1 | 2 => vec!["files elsewhere can be truncated"],
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
pub(crate) struct Rules {
    files: OwnedFd,
    sockets: BpfProgram,
}

impl Sandbox {
    /// Prepares the rules. `None` if the kernel has no Landlock.
    pub(crate) fn rules(&self) -> io::Result<Option<Rules>> {
        let writes = AccessFs::from_write(NEWEST);
        let ruleset = Ruleset::default().handle_access(writes).map_err(io::Error::other)?;
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
        rules.map(|files| Ok(Rules { files, sockets: sockets()? })).transpose()
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
            if libc::syscall(libc::SYS_landlock_restrict_self, self.files.as_raw_fd(), 0u32) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // Its only failures are of system calls; another error would allocate.
        seccompiler::apply_filter(&self.sockets).map_err(|_| io::Error::last_os_error())
    }
}

/// Returns the filter of system calls that refuses all sockets of the internet but UDP, packet sockets, and io_uring, which
/// creates sockets without system calls.
fn sockets() -> io::Result<BpfProgram> {
    let is = |argument, mask, value: libc::c_int| {
        let operator = SeccompCmpOp::MaskedEq(mask);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value.cast_unsigned()))
    };
    const ANY: u64 = 0xffff_ffff;
    // The type without its flags.
    const TYPE: u64 = 0xf;
    let mut refused = vec![SeccompRule::new(vec![is(0, ANY, libc::AF_PACKET).map_err(io::Error::other)?])];
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
            let both = [is(0, ANY, family), is(1, TYPE, kind)].into_iter().collect::<Result<_, _>>();
            refused.push(SeccompRule::new(both.map_err(io::Error::other)?));
        }
    }
    let refused = refused.into_iter().collect::<Result<_, _>>().map_err(io::Error::other)?;
    let calls = BTreeMap::from([(libc::SYS_socket, refused), (libc::SYS_io_uring_setup, Vec::new())]);
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let action = SeccompAction::Errno(libc::EACCES.cast_unsigned());
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, action, architecture).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_of_each_kernel_are_named() {
        let gaps = |abi| Support { abi }.gaps().len();
        assert_eq!([0, 1, 2, 3, 7].map(gaps), [1, 1, 1, 0, 0]);
        assert!(!Support { abi: 0 }.is_any());
    }
}
