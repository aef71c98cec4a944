//! The private directory for sockets: `$XDG_RUNTIME_DIR/hob`, otherwise `hob-UID` under the temporary directory. Its
//! mode is 0700, checked without following links (any user can create that name in a shared temporary directory).

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::owner;
use crate::path_error::PathError;

/// Returns the runtime directory, whether it exists or not; an error if it exists and is not private.
pub(crate) fn directory() -> Result<PathBuf, PathError> {
    let xdg = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let path = directory_in(xdg.as_deref(), &temporary());
    // Looking creates nothing.
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
        _ => private(&path).map(|()| path),
    }
}

/// Returns the runtime directory, created if necessary.
pub(crate) fn create_runtime_dir() -> Result<PathBuf, PathError> {
    let path = directory()?;
    private(&path).map(|()| path)
}

/// Returns the temporary directory: `$TMPDIR`, unless that does not exist (a job's directory that its environment outlived).
pub fn temporary() -> PathBuf {
    temporary_in(env::temp_dir())
}

fn temporary_in(said: PathBuf) -> PathBuf {
    if said.is_dir() { said } else { PathBuf::from("/tmp") }
}

fn directory_in(xdg: Option<&Path>, temp: &Path) -> PathBuf {
    // Switching users (su, sudo) leaves the former user's XDG_RUNTIME_DIR behind: not ours, so not used.
    let xdg = xdg.filter(|path| path.is_absolute()).filter(|path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == owner::current_user())
    });
    match xdg {
        Some(xdg) => xdg.join("hob"),
        None => temp.join(format!("hob-{}", owner::current_user())),
    }
}

/// Creates a directory that only this user can enter, or checks that an existing one is private.
pub(crate) fn private(path: &Path) -> Result<(), PathError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(PathError::Create { path: path.to_owned(), source }),
    }
    let check = || fs::symlink_metadata(path).map_err(|source| PathError::Create { path: path.to_owned(), source });
    let mut metadata = check()?;
    // Our own directory with loose permissions (a umask, a copy) is tightened rather than refused.
    if metadata.is_dir() && metadata.uid() == owner::current_user() && metadata.mode() & 0o077 != 0 {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
        metadata = check()?;
    }
    if owner::is_private_directory(&metadata) { Ok(()) } else { Err(PathError::NotPrivate { path: path.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_temporary_directory_that_is_gone_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(temporary_in(temp.path().to_owned()), temp.path());
        assert_eq!(temporary_in(temp.path().join("gone")), Path::new("/tmp"));
        fs::write(temp.path().join("file"), "").unwrap();
        assert_eq!(temporary_in(temp.path().join("file")), Path::new("/tmp"));
    }

    #[test]
    fn made_private_and_links_refused() {
        let temp = tempfile::tempdir().unwrap();
        let (xdg, tmp) = (temp.path().join("run"), temp.path().join("tmp"));
        fs::create_dir(&xdg).unwrap();
        fs::create_dir(&tmp).unwrap();
        assert_eq!(directory_in(Some(&xdg), &tmp), xdg.join("hob"));
        let fallback = tmp.join(format!("hob-{}", owner::current_user()));
        assert_eq!(directory_in(Some(Path::new("/nonexistent")), &tmp), fallback);
        private(&fallback).unwrap();
        assert_eq!(fs::metadata(&fallback).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&fallback, fs::Permissions::from_mode(0o755)).unwrap();
        private(&fallback).unwrap();
        assert_eq!(fs::metadata(&fallback).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir(&fallback).unwrap();
        symlink(&xdg, &fallback).unwrap();
        let refused = private(&fallback).unwrap_err().to_string();
        assert!(refused.contains("not a private directory"), "{refused}");
    }
}
