//! Writes BEAM files to disk: all of them or none.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use project::draft::Draft;

use crate::files::FileError;

/// A directory inside another one, created if it does not exist. Links are resolved first, so that none leads out.
pub fn directory(root: &Path, path: &Path) -> Result<PathBuf, FileError> {
    let failed = |source| FileError::Write { path: path.to_owned(), source };
    let outside = || FileError::Outside { path: path.to_owned() };
    let root = root.canonicalize().map_err(failed)?;
    // The existing part of the path decides where the rest would be created.
    let (mut there, mut rest) = (root.join(path), Vec::new());
    let mut real = loop {
        match there.canonicalize() {
            Ok(real) => break real,
            // A dangling link exists, and its target is unknown.
            Err(_) if there.symlink_metadata().is_ok() => return Err(outside()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        match there.components().next_back() {
            Some(Component::Normal(name)) => rest.push(name.to_owned()),
            _ => return Err(outside()),
        }
        there.pop();
    };
    if !real.starts_with(&root) {
        return Err(outside());
    }
    real.extend(rest.iter().rev());
    fs::create_dir_all(&real).map_err(failed)?;
    Ok(real)
}

/// Writes modules into a directory as `NAME.beam` and returns the names of those that changed. Files with equal
/// contents stay as they are. The others are first written to temporary files: if one fails, no file changes.
pub fn write(directory: &Path, files: &[(String, Vec<u8>)]) -> Result<Vec<String>, FileError> {
    let mut fresh: Vec<(Draft, PathBuf)> = Vec::new();
    let mut changed = Vec::new();
    for (name, bytes) in files {
        let place = directory.join(format!("{name}.beam"));
        if holds(&place, bytes) {
            continue;
        }
        match Draft::new(directory, None, bytes) {
            Ok(draft) => fresh.push((draft, place)),
            Err(source) => return Err(FileError::Write { path: place, source }),
        }
        changed.push(name.clone());
    }
    for (draft, place) in fresh {
        draft.put(&place).map_err(|source| FileError::Write { path: place, source })?;
    }
    Ok(changed)
}

fn holds(place: &Path, bytes: &[u8]) -> bool {
    let same_size = |data: &fs::Metadata| data.is_file() && data.len() == bytes.len() as u64;
    place.symlink_metadata().is_ok_and(|data| same_size(&data)) && fs::read(place).is_ok_and(|known| known == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_inside_only() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        fs::create_dir_all(root.join("deep")).unwrap();
        fs::create_dir(outer.path().join("other")).unwrap();
        std::os::unix::fs::symlink("../other", root.join("out")).unwrap();
        std::os::unix::fs::symlink("../nothing", root.join("lost")).unwrap();
        for path in ["../x", "out", "out/x", "lost", "lost/x", "/tmp", "deep/../../x", "new/../../x"] {
            assert!(matches!(directory(&root, Path::new(path)), Err(FileError::Outside { .. })), "{path}");
        }
        for path in ["_build/mcp", "deep", "deep/../new", "."] {
            let made = directory(&root, Path::new(path)).unwrap();
            assert!(made.is_dir() && made.starts_with(root.canonicalize().unwrap()), "{path}");
        }
        let mut there: Vec<_> = fs::read_dir(outer.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        there.sort();
        assert_eq!(there, ["other", "project"]);
    }

    #[test]
    fn all_files_are_written_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        assert_eq!(write(dir.path(), &[file("A", "a"), file("B", "b")]).unwrap(), ["A", "B"]);
        assert_eq!(write(dir.path(), &[file("A", "a"), file("B", "new")]).unwrap(), ["B"]);
        assert_eq!(fs::read(dir.path().join("B.beam")).unwrap(), b"new");
        // A directory cannot be replaced by a file; the temporary files are removed.
        fs::create_dir(dir.path().join("C.beam")).unwrap();
        fs::write(dir.path().join("C.beam/x"), "").unwrap();
        write(dir.path(), &[file("C", "c")]).unwrap_err();
        let none = write(&dir.path().join("absent"), &[file("D", "d")]);
        assert!(matches!(none, Err(FileError::Write { .. })));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
