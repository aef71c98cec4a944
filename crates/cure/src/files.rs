//! A project's Cure files: finding, reading and writing them without following a link out of the project, blocking on
//! something that is not a regular file, or reading more than the limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use project::draft;
use project::visible::{cause, path as shown};

/// The maximal number of files in a project.
const MOST_FILES: usize = 10_000;
/// The maximal number of directories that are searched.
const MOST_DIRECTORIES: usize = 50_000;
/// The maximal size of a file in bytes.
pub const MOST_BYTES: u64 = 16 << 20;

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {}: {}", shown(path), cause(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {}", shown(path), cause(source))]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is {what} and not a file", shown(path))]
    NoFile { path: PathBuf, what: &'static str },
    #[error("{} is too large: {bytes} bytes; the limit is {MOST_BYTES}", shown(path))]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("{} is not valid UTF-8 at byte {at}; save it as UTF-8", shown(path))]
    NotText { path: PathBuf, at: usize },
    #[error("{} is outside the project", shown(path))]
    Outside { path: PathBuf },
}

/// Reads a file without ever blocking: a pipe, a device or a directory is rejected.
pub fn read(path: &Path) -> Result<String, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    // Opening a pipe would otherwise block until something writes to it.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(no_file(path, &data));
    }
    let bytes = contents(file, data.len()).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(FileError::TooLarge { path: path.to_owned(), bytes: data.len().max(bytes.len() as u64) });
    }
    String::from_utf8(bytes)
        .map_err(|error| FileError::NotText { path: path.to_owned(), at: error.utf8_error().valid_up_to() })
}

fn contents(file: File, expected: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected.min(MOST_BYTES) as usize + 1);
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces an existing file atomically: a concurrent reader sees the old text or the new one. Its permissions
/// stay. A link is not followed: see [`followed`].
pub fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    let data = path.symlink_metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(no_file(path, &data));
    }
    draft::replace(path, Some(data.mode()), text.as_bytes()).map_err(failed)
}

fn no_file(path: &Path, data: &Metadata) -> FileError {
    let what = match data {
        data if data.is_dir() => "a directory",
        data if data.is_symlink() => "a link",
        _ => "a pipe, a socket or a device",
    };
    FileError::NoFile { path: path.to_owned(), what }
}

/// The target of a path, if it is inside this directory. Links are resolved first, so that none leads out.
pub fn resolve_inside(root: &Path, path: &Path) -> Result<PathBuf, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let real = root.join(path).canonicalize().map_err(failed)?;
    let root = root.canonicalize().map_err(failed)?;
    if real.starts_with(&root) { Ok(real) } else { Err(FileError::Outside { path: path.to_owned() }) }
}

/// Resolves a path that the user named. A path outside of the project is intended; a link in the project that
/// leads out of it may not be.
pub fn followed(root: &Path, path: &Path) -> Result<PathBuf, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let root = root.canonicalize().map_err(failed)?;
    let mut at = PathBuf::new();
    // Resolved like the kernel does: step by step, so that `..` is the parent of a link's target.
    for step in std::path::absolute(path).map_err(failed)?.components() {
        let within = at.starts_with(&root);
        let link = at.join(step).is_symlink();
        at = at.join(step).canonicalize().map_err(failed)?;
        if within && link && !at.starts_with(&root) {
            return Err(FileError::Outside { path: path.to_owned() });
        }
    }
    Ok(at)
}

/// The `.cure` files below these directories, sorted; hidden files, links and build directories are skipped.
pub fn cure_files(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = roots.to_vec();
    let mut files = Vec::new();
    let mut looked = 0;
    while let Some(path) = open.pop() {
        looked += 1;
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let hidden = name.to_string_lossy().starts_with(['.', '_']);
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !hidden && !["target", "node_modules", "ebin"].iter().any(|skip| name == *skip) {
                open.push(path);
            } else if kind.is_file() && is_cure(&path) && !hidden {
                files.push(path);
            }
        }
        if files.len() >= MOST_FILES || looked >= MOST_DIRECTORIES {
            break;
        }
    }
    files.sort();
    files.dedup();
    files
}

/// True if a path has the extension of Cure files.
pub fn is_cure(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cure")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_no_text_in_the_project_is_refused_at_once() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::write(outer.path().join("secret.cure"), "module Secret do\nend\n").unwrap();
        std::fs::write(root.join("a.cure"), "module A do\nend\n").unwrap();
        std::fs::write(root.join("bad.cure"), b"module \xff do\nend\n").unwrap();
        std::os::unix::fs::symlink("../secret.cure", root.join("link.cure")).unwrap();
        std::os::unix::fs::symlink("a.cure", root.join("fine.cure")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe.cure"), rustix::fs::Mode::RWXU).unwrap();
        File::create(root.join("huge.cure")).unwrap().set_len(1 << 40).unwrap();
        let said = |path: &str| match resolve_inside(&root, Path::new(path)).and_then(|path| read(&path)) {
            Ok(text) => format!("{path}: {} bytes\n", text.len()),
            Err(error) => format!("{error}\n").replace(&root.canonicalize().unwrap().display().to_string(), "[root]"),
        };
        let paths = ["a.cure", "deep/../a.cure", "fine.cure", "deep", "bad.cure", "pipe.cure", "huge.cure"];
        let outside = ["link.cure", "../secret.cure", "/etc/passwd", "none.cure", "a\0.cure"];
        let all: String = paths.into_iter().chain(outside).map(said).collect();
        expect![[r#"
            a.cure: 16 bytes
            deep/../a.cure: 16 bytes
            fine.cure: 16 bytes
            [root]/deep is a directory and not a file
            [root]/bad.cure is not valid UTF-8 at byte 7; save it as UTF-8
            [root]/pipe.cure is a pipe, a socket or a device and not a file
            [root]/huge.cure is too large: 1099511627776 bytes; the limit is 16777216
            link.cure is outside the project
            ../secret.cure is outside the project
            /etc/passwd is outside the project
            cannot read none.cure: No such file or directory
            cannot read a\x00.cure: file name contained an unexpected NUL byte
        "#]]
        .assert_eq(&all);
        let listed: Vec<_> = cure_files(&[root]);
        let names: Vec<_> = listed.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["a.cure", "bad.cure", "huge.cure"]);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cure");
        std::fs::write(&path, "old").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert!(write(&dir.path().join("none.cure"), "new").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_beside_a_file_is_written_to_and_its_permissions_stay() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let (path, precious) = (root.join("a.cure"), outer.path().join("precious"));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::fs::write(&precious, "mine").unwrap();
        // The former name of drafts, which contained the process id.
        let planted = root.join(format!(".a.cure.{}", std::process::id()));
        std::os::unix::fs::symlink(&precious, &planted).unwrap();
        write(&path, "new").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&precious).unwrap()), (b"new".into(), b"mine".into()));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        // A pipe of that name does not block the writer.
        std::fs::remove_file(&planted).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &planted, rustix::fs::Mode::RWXU).unwrap();
        write(&path, "newer").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        // Only a file is replaced.
        let link = root.join("link.cure");
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        assert!(write(&link, "x").unwrap_err().to_string().ends_with("link.cure is a link and not a file"));
        assert_eq!((std::fs::read(&precious).unwrap(), link.is_symlink()), (b"mine".into(), true));
        assert!(matches!(write(&planted, "x"), Err(FileError::NoFile { .. })));
    }

    #[test]
    fn a_link_of_the_project_leads_nowhere_else() {
        let outer = tempfile::tempdir().unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let root = outer.join("project");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::create_dir(outer.join("other")).unwrap();
        for file in ["a.cure", "deep/b.cure", "../other/c.cure"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        for (to, link) in [
            ("../other/c.cure", "project/out.cure"),
            ("../other", "project/out"),
            ("a.cure", "project/fine.cure"),
            ("deep", "project/fine"),
            ("project/a.cure", "back.cure"),
        ] {
            std::os::unix::fs::symlink(to, outer.join(link)).unwrap();
        }
        let said = |path: &str| match followed(&root, &root.join(path)) {
            Ok(path) => path.strip_prefix(&outer).unwrap().display().to_string(),
            Err(FileError::Outside { .. }) => "outside".to_owned(),
            Err(error) => error.to_string(),
        };
        for (path, to) in [
            ("a.cure", "project/a.cure"),
            ("fine.cure", "project/a.cure"),
            ("fine/b.cure", "project/deep/b.cure"),
            ("./deep/../a.cure", "project/a.cure"),
            // An explicit path outside the project is intended.
            ("../other/c.cure", "other/c.cure"),
            ("../back.cure", "project/a.cure"),
            ("out.cure", "outside"),
            ("out/c.cure", "outside"),
        ] {
            assert_eq!(said(path), to, "{path}");
        }
    }
}
