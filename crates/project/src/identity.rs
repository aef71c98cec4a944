//! The identity of a root directory independent of its path, to find a moved project again, and to distinguish it from
//! another project that was at the same path.

use std::fmt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use std::os::unix::fs::MetadataExt;

use crate::origin::origin;

/// The attributes that survive a move within the file system, and those that identify it after other moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The inode and its birth time, since inodes are reused; the device where the file system has no birth times.
    directory: String,
    /// The file system's id.
    file_system: u64,
    /// The repository that it was cloned from.
    origin: Option<String>,
}

impl Identity {
    /// Returns the identity of the directory at `root`, unless it cannot be seen.
    pub(crate) fn of_directory(root: &Path) -> Option<Identity> {
        let metadata = root.symlink_metadata().ok().filter(|metadata| metadata.is_dir())?;
        let made = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let directory = match made {
            Some(made) => format!("{} {}.{:09}", metadata.ino(), made.as_secs(), made.subsec_nanos()),
            None => format!("{} {}", metadata.ino(), metadata.dev()),
        };
        let file_system = rustix::fs::statvfs(root).map_or(0, |file_system| file_system.f_fsid);
        Some(Identity { directory, file_system, origin: origin(root) })
    }

    /// Parses what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Identity> {
        let mut lines = text.lines();
        let directory = lines.next().filter(|line| !line.is_empty())?.to_owned();
        let file_system = lines.next().and_then(|line| line.parse().ok()).unwrap_or_default();
        Some(Identity { directory, file_system, origin: lines.next().map(str::to_owned) })
    }

    /// Returns the inode, and the directory's birth time where the file system has one.
    fn parts(&self) -> (&str, Option<&str>) {
        let (inode, rest) = self.directory.split_once(' ').unwrap_or((&self.directory, ""));
        (inode, Some(rest).filter(|made| made.contains('.')))
    }

    /// Returns true if the file systems' ids are the same.
    fn is_beside(&self, other: &Identity) -> bool {
        self.file_system != 0 && self.file_system == other.file_system
    }

    /// Returns true if it can be distinguished from any later directory at its path.
    pub(crate) fn is_certain(&self) -> bool {
        self.parts().1.is_some() || self.file_system != 0
    }

    /// Returns true if both are the same directory, at any path; in doubt, they are not. Inode and birth time alone
    /// decide, since the id of a file system may change when the machine restarts, and may coincide with another's.
    /// Without a birth time, the inode is meaningful only within a file system that has an id (every FAT's root has the
    /// same one).
    pub(crate) fn is_directory_of(&self, other: &Identity) -> bool {
        let ((inode, made), (others, made_there)) = (self.parts(), other.parts());
        let no_doubt = match (made, made_there) {
            (Some(_), Some(_)) => true,
            (None, None) => self.is_beside(other),
            _ => false,
        };
        no_doubt && inode == others && made == made_there
    }

    /// Returns true if `other`, at the same path, is another project: another directory, and not a new clone of the
    /// same repository.
    ///
    /// In doubt, when a grant ends, it mostly counts as another: state that is set aside is reported and returns with
    /// its directory, but a stranger's reads cannot be undone. The exception is a file system with neither birth times
    /// nor an id (FUSE, NFS): there, the same inode of the same device is the same project, or every start would lose
    /// the state.
    pub(crate) fn is_replaced_by(&self, other: &Identity) -> bool {
        let same_clone = self.origin.is_some() && self.origin == other.origin;
        let ((inode, made), (others, made_there)) = (self.parts(), other.parts());
        let nothing_apart = match (made, made_there) {
            (Some(_), Some(_)) => false,
            (None, None) => self.directory == other.directory && self.file_system == other.file_system,
            // Only one has a birth time: the other was read in a sandbox that does not permit the query.
            _ => inode == others && self.is_beside(other),
        };
        !same_clone && !nothing_apart && !self.is_directory_of(other)
    }

    /// Returns a number that practically no other directory at its path has.
    pub(crate) fn number(&self) -> String {
        let digits: String = self.directory.chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() { "0".to_owned() } else { digits }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.directory, self.file_system)?;
        self.origin.iter().try_for_each(|origin| writeln!(f, "{}", origin.replace('\n', " ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        let temp = tempfile::tempdir().unwrap();
        let identity = Identity::of_directory(temp.path()).unwrap();
        assert_eq!(Identity::parse(&identity.to_string()), Some(identity.clone()));
        let cloned = Identity { origin: Some("host/path".to_owned()), ..identity };
        assert_eq!(Identity::parse(&cloned.to_string()), Some(cloned));
        assert_eq!(Identity::parse(""), None);
        assert_eq!(Identity::of_directory(&temp.path().join("absent")), None);
    }

    #[test]
    fn what_stands_at_the_same_path() {
        let is = |directory: &str, file_system, origin: Option<&str>| Identity {
            directory: directory.to_owned(),
            file_system,
            origin: origin.map(str::to_owned),
        };
        let before = is("12 1700.000000001", 7, Some("host/a"));
        let replaced = |other: Identity| before.is_replaced_by(&other);
        assert!(!replaced(before.clone()));
        assert!(!replaced(is("12 1700.000000001", 7, None)), "its origin went");
        assert!(!replaced(is("12 1700.000000001", 8, None)), "the disk has another number since the machine started");
        assert!(!replaced(is("13 1800.000000001", 7, Some("host/a"))), "cloned anew");
        assert!(replaced(is("99 1700.000000001", 7, None)), "made at the same time");
        assert!(replaced(is("13 1800.000000001", 8, None)), "on another disk");
        assert!(replaced(is("12 1800.000000001", 0, None)), "on one without a number");
        assert!(replaced(is("13 1800.000000001", 7, None)));
        assert!(replaced(is("12 1800.000000001", 7, Some("host/b"))), "the inode was given anew");
        let (first, second) = (is("12 1700.000000001", 7, None), is("13 1800.000000001", 7, None));
        assert!(first.is_replaced_by(&second), "no origin is no proof");
    }

    #[test]
    fn without_a_time_there_is_doubt() {
        let is = |directory: &str, file_system| Identity { directory: directory.to_owned(), file_system, origin: None };
        let check = |before: &Identity, now: &Identity| (before.is_directory_of(now), before.is_replaced_by(now));
        let (same, replaced, doubt) = ((true, false), (false, true), (false, false));
        let before = is("1 40", 7);
        assert_eq!(check(&before, &is("1 40", 7)), same);
        assert_eq!(check(&before, &is("1 41", 7)), same, "devices are numbered anew");
        assert_eq!(check(&before, &is("2 40", 7)), replaced);
        assert_eq!(check(&before, &is("1 40", 8)), replaced, "the root of another disk");
        assert_eq!(check(&before, &is("1 40", 0)), replaced);
        assert_eq!(check(&before, &is("1 1700.000000001", 7)), doubt);
        assert_eq!(check(&before, &is("1 1700.000000001", 8)), replaced);
        let unnumbered = is("1 40", 0);
        assert_eq!(
            check(&unnumbered, &unnumbered),
            doubt,
            "nothing sets it apart, and nothing says that it is the same"
        );
        assert_eq!(check(&unnumbered, &is("1 41", 0)), replaced);
        assert!(before.is_certain() && is("1 1700.000000001", 0).is_certain() && !unnumbered.is_certain());
    }
}
