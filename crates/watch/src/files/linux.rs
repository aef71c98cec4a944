//! Linux: openat2(2), and the magic numbers of statfs(2).

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::{DIRECTORY, Failure, Fields};

/// Opens a directory only to look up names in it.
pub(crate) const LOOK_UP: OFlags = OFlags::PATH;
pub(super) const NO_FOLLOW: AtFlags = AtFlags::SYMLINK_NOFOLLOW.union(AtFlags::NO_AUTOMOUNT);

pub(super) fn fields(stat: &Stat) -> Fields {
    Fields {
        device: stat.st_dev,
        mode: stat.st_mode,
        modified: (stat.st_mtime, stat.st_mtime_nsec),
        changed: (stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Opens a directory below the root, through no symbolic link.
pub(super) fn open_below(root: BorrowedFd<'_>, path: &Path, how: OFlags) -> Result<OwnedFd, Failure> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(root, path, DIRECTORY | how, Mode::empty(), resolve) {
        // `openat2` is missing (before Linux 5.6) or forbidden (some sandboxes): open one component at a time.
        Err(Errno::NOSYS | Errno::PERM) => super::open_by_steps(root, path, how),
        other => Ok(other?),
    }
}

/// Returns the name of a file system that other machines can change without this kernel's knowledge (`statfs(2)`).
pub(crate) fn shared_file_system(opened: BorrowedFd<'_>) -> Option<&'static str> {
    let found = rustix::fs::fstatfs(opened).ok()?.f_type;
    // The field is signed on some architectures; the magic numbers have 32 bits.
    shared_by_magic(found as u32)
}

fn shared_by_magic(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "NFS",
        0x0000_517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x00c3_6400 => "Ceph",
        0x5346_414f => "AFS",
        0x6b41_4653 => "kAFS",
        0x7375_7245 => "Coda",
        0x0bd0_0bd0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x786f_4256 => "a VirtualBox shared folder",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_others_are_known_by_their_number() {
        assert_eq!((shared_by_magic(0x6573_5546), shared_by_magic(0xef53)), (Some("FUSE"), None));
    }
}
