//! Access to a directory of a checkout that follows no link: a checkout can contain links to anywhere. The directory is
//! held open, so replacing it meanwhile has no effect.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{regular, visible};

/// A directory inside of a root.
#[derive(Debug)]
pub struct Inside {
    directory: OwnedFd,
    /// Relative to the root, for errors.
    path: PathBuf,
}

impl Inside {
    /// Opens a directory below a root. Only the path of the root may lead through links.
    ///
    /// # Errors
    /// If it is absent (`NotFound`), a link or not a directory, or not below the root.
    pub fn open(root: &Path, below: &Path) -> io::Result<Inside> {
        Inside::reach(root, below, false)
    }

    /// Opens it like [`Inside::open`], and creates missing directories.
    ///
    /// # Errors
    /// Those of [`Inside::open`], and if a directory cannot be created.
    pub fn create(root: &Path, below: &Path) -> io::Result<Inside> {
        Inside::reach(root, below, true)
    }

    fn reach(root: &Path, below: &Path, makes: bool) -> io::Result<Inside> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(root, flags, Mode::empty())?;
        let mut reached = Inside { directory, path: PathBuf::new() };
        for part in below.components() {
            let Component::Normal(name) = part else {
                return Err(refused(below, "is not a plain path inside the worktree"));
            };
            if makes {
                match rustix::fs::mkdirat(&reached.directory, name, Mode::from(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let opened = rustix::fs::openat(&reached.directory, name, flags | OFlags::NOFOLLOW, Mode::empty());
            let opened = opened.map_err(|error| reached.failed(Path::new(name), error, "is not a directory"))?;
            reached = Inside { directory: opened, path: reached.path.join(name) };
        }
        Ok(reached)
    }

    /// Opens a file for reading, without waiting for a writer.
    ///
    /// # Errors
    /// If it is absent (`NotFound`), a link or not a regular file, or unreadable.
    pub fn file(&self, name: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.directory, single(name)?, flags, Mode::empty());
        let file = File::from(opened.map_err(|error| self.failed(name, error, "is not a regular file"))?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(refused(&self.path.join(name), "is not a regular file")) }
    }

    /// Returns the text of a file of at most `most` bytes.
    ///
    /// # Errors
    /// Those of [`Inside::file`], and if it is too long or not UTF-8.
    pub fn read(&self, name: &Path, most: u64) -> io::Result<String> {
        regular::text(self.file(name)?, most)
    }

    /// Replaces a file as a whole; a link in its place is replaced, wherever it leads. The bytes are on disk when this
    /// returns.
    ///
    /// # Errors
    /// If it cannot be written; the former file is kept.
    pub fn replace(&self, name: &Path, bytes: &[u8]) -> io::Result<()> {
        let name = single(name)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let draft = format!(".hob-{:016x}", u64::from_ne_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.directory, &draft, flags, Mode::from(0o666))?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let put = written.and_then(|()| Ok(rustix::fs::renameat(&self.directory, &draft, &self.directory, name)?));
        if put.is_err() {
            // The write error is reported; the draft is removed.
            let _ = rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty());
        }
        put
    }

    /// Removes a file; of a link, the link.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.directory, single(name)?, AtFlags::empty())?)
    }

    /// Returns the names of all entries, sorted.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Converts an error, and describes an entry that is neither a file nor a directory.
    fn failed(&self, name: &Path, error: Errno, otherwise: &str) -> io::Error {
        let path = self.path.join(name);
        let found = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW);
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            Ok(FileType::Symlink) => {
                refused(&path, "is a link, and links are not followed; replace it with its target")
            }
            _ if matches!(error, Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => refused(&path, otherwise),
            _ => error.into(),
        }
    }
}

/// Checks that a name is a single component.
fn single(name: &Path) -> io::Result<&Path> {
    let mut parts = name.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) if only == name.as_os_str() => Ok(name),
        _ => Err(refused(name, "is not a file name")),
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} {why}", visible::path(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_reached_through_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "planted").unwrap();
        symlink(&outside, root.join("link")).unwrap();
        symlink(&outside, root.join("a/link")).unwrap();
        symlink(outside.join("secret"), root.join("a/file")).unwrap();
        for below in ["link", "a/link", "a/link/deeper", "../outside", "a/file"] {
            for reached in [Inside::open(&root, Path::new(below)), Inside::create(&root, Path::new(below))] {
                assert_eq!(reached.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{below}");
            }
        }
        let said = Inside::open(&root, Path::new("a/link")).unwrap_err().to_string();
        assert_eq!(said, "a/link is a link, and links are not followed; replace it with its target");
        let inside = Inside::open(&root, Path::new("a")).unwrap();
        let said = inside.read(Path::new("file"), 100).unwrap_err().to_string();
        assert_eq!(said, "a/file is a link, and links are not followed; replace it with its target");
        for name in ["../outside/secret", "link/secret", "..", "/etc/hostname", "file/"] {
            inside.read(Path::new(name), 100).unwrap_err();
            inside.replace(Path::new(name), b"x").unwrap_err();
            inside.remove(Path::new(name)).unwrap_err();
        }
        // A link is replaced and removed itself.
        inside.replace(Path::new("file"), b"mine").unwrap();
        inside.remove(Path::new("link")).unwrap();
        assert_eq!(inside.names().unwrap(), ["file"]);
        assert_eq!(inside.read(Path::new("file"), 100).unwrap(), "mine");
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "planted");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[test]
    fn directories_are_made_and_what_is_absent_is_said_to_be() {
        let temp = tempfile::tempdir().unwrap();
        let absent = Inside::open(temp.path(), Path::new("a/b")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        let inside = Inside::create(temp.path(), Path::new("a/b")).unwrap();
        assert_eq!(inside.read(Path::new("x"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        inside.replace(Path::new("x"), b"one").unwrap();
        inside.replace(Path::new("x"), b"two").unwrap();
        assert_eq!(fs::read(temp.path().join("a/b/x")).unwrap(), b"two");
        // A draft that cannot be put in place leaves nothing.
        fs::create_dir(temp.path().join("a/b/full")).unwrap();
        inside.replace(Path::new("full"), b"three").unwrap_err();
        assert_eq!(inside.names().unwrap(), ["full", "x"]);
        inside.read(Path::new("full"), 1).unwrap_err();
    }
}
