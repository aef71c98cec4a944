//! Which directory a root is, whatever its path: so that a project that was moved is found again, and one that stands
//! where another stood is not taken for it.

use std::fmt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use std::os::unix::fs::MetadataExt;

use crate::origin::origin;

/// What a directory stays when it is moved within its file system, and what says more of it where it was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The inode and when it was made, since inodes are given anew; where the file system does not tell when, its device.
    directory: String,
    /// The file system it is on, by the number that it gives itself.
    file_system: u64,
    /// The repository that it is a clone of.
    origin: Option<String>,
}

impl Identity {
    /// Of the directory at `root`; `None` where there is none to be seen.
    pub(crate) fn of(root: &Path) -> Option<Identity> {
        let metadata = root.symlink_metadata().ok().filter(|metadata| metadata.is_dir())?;
        let made = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let directory = match made {
            Some(made) => format!("{} {}.{:09}", metadata.ino(), made.as_secs(), made.subsec_nanos()),
            None => format!("{} {}", metadata.ino(), metadata.dev()),
        };
        let file_system = rustix::fs::statvfs(root).map_or(0, |file_system| file_system.f_fsid);
        Some(Identity { directory, file_system, origin: origin(root) })
    }

    /// What [`fmt::Display`] wrote.
    pub(crate) fn read(text: &str) -> Option<Identity> {
        let mut lines = text.lines();
        let directory = lines.next().filter(|line| !line.is_empty())?.to_owned();
        let file_system = lines.next().and_then(|line| line.parse().ok()).unwrap_or_default();
        Some(Identity { directory, file_system, origin: lines.next().map(str::to_owned) })
    }

    /// Whether both are one directory, wherever it is.
    pub(crate) fn is_directory_of(&self, other: &Identity) -> bool {
        self.directory == other.directory
    }

    /// Whether `other`, at the same path, is another project: another directory, and not of a repository that was cloned
    /// anew.
    pub(crate) fn is_replaced_by(&self, other: &Identity) -> bool {
        let same_clone = self.origin.is_some() && self.origin == other.origin;
        !same_clone && self.is_another_than(other)
    }

    /// Whether `other`, at the same path, is another directory: where the whole disk was copied, every one is.
    pub(crate) fn is_another_than(&self, other: &Identity) -> bool {
        // Some file systems number their directories anew; when one was made stays.
        let made = |identity: &Identity| identity.directory.split_once(' ').map(|(_, made)| made.to_owned());
        let same_birth = made(self) == made(other) && self.directory.contains('.');
        let may_have_been_moved = self.file_system != 0 && self.file_system == other.file_system;
        may_have_been_moved && !same_birth && !self.is_directory_of(other)
    }

    /// A number that no other directory of its path has.
    pub(crate) fn number(&self) -> String {
        self.directory.chars().filter(char::is_ascii_digit).collect()
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
        let identity = Identity::of(temp.path()).unwrap();
        assert_eq!(Identity::read(&identity.to_string()), Some(identity.clone()));
        let cloned = Identity { origin: Some("host/path".to_owned()), ..identity };
        assert_eq!(Identity::read(&cloned.to_string()), Some(cloned));
        assert_eq!(Identity::read(""), None);
        assert_eq!(Identity::of(&temp.path().join("absent")), None);
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
        assert!(!replaced(is("99 1700.000000001", 7, None)), "directories were numbered anew");
        assert!(!replaced(is("13 1800.000000001", 7, Some("host/a"))), "cloned anew");
        assert!(!replaced(is("13 1800.000000001", 8, None)), "copied to another disk");
        assert!(replaced(is("13 1800.000000001", 7, None)));
        assert!(replaced(is("12 1800.000000001", 7, Some("host/b"))), "the inode was given anew");
        let (first, second) = (is("12 1700.000000001", 7, None), is("13 1800.000000001", 7, None));
        assert!(first.is_replaced_by(&second), "no origin is no proof");
        assert!(!is("12 1700.000000001", 0, None).is_replaced_by(&second), "nobody knows where it was");
    }
}
