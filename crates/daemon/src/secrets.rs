//! Secrets of a project that only its user can read: the key that seals tickets, and the HTTP token. They are stored
//! outside the project's directory, since a checkout could supply its own.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, Mac};
use project::SecretsDir;
use project::visible::path as shown;
use project::{Project, private};
use sha2::Sha256;

/// The length of a secret in random bytes.
const BYTES: usize = 32;

/// A secret could not be stored.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot store a secret in {}: {source}; check that you own the directory and that the disk is not full",
    shown(path)
)]
pub struct SecretError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the token that HTTP clients of this project's daemon need, and the file that holds it (mode 0600). Created
/// on first use; deleting the file creates a new one.
pub fn http_token(project: &Project) -> Result<(String, PathBuf), SecretError> {
    let path = project.state_dir().join("http-token");
    let bytes = secret(&path).map_err(|source| SecretError { path: path.clone(), source })?;
    Ok((hex::encode(bytes), path))
}

/// Seals tickets of open questions; stable over restarts of the daemon.
pub(crate) struct Seal {
    pub(crate) key: [u8; BYTES],
    _kept: SecretsDir,
}

impl Seal {
    pub(crate) fn for_project(project: &Project) -> Result<Seal, SecretError> {
        let failed = |path: PathBuf| move |source| SecretError { path, source };
        let kept = SecretsDir::hold(project).map_err(failed(project.state_dir().to_owned()))?;
        let path = kept.seal_key_path();
        Ok(Seal { key: secret(&path).map_err(failed(path))?, _kept: kept })
    }

    /// Derives a key for one use. Neither the master key nor another derived key can be computed from it.
    pub(crate) fn key_for(&self, what: &str) -> [u8; BYTES] {
        // This is HKDF-Expand (RFC 5869) with one block.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        mac.update(format!("hob {what}\x01").as_bytes());
        mac.finalize().into_bytes().into()
    }
}

fn secret(path: &Path) -> io::Result<[u8; BYTES]> {
    if let Some(known) = read(path)? {
        return Ok(known);
    }
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut fresh = [0; BYTES];
    getrandom::fill(&mut fresh).map_err(io::Error::other)?;
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = writeln!(file, "{}", hex::encode(fresh)).and_then(|()| {
        // A rejected file is no longer a secret.
        let _ = fs::remove_file(path);
        // Unlike a rename, a link never replaces a file that another process has just created.
        fs::hard_link(&draft, path)
    });
    let _ = fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(fresh),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path)?.ok_or(error),
        Err(error) => Err(error),
    }
}

/// Returns the content of the file, if no other user can have read or written it.
fn read(path: &Path) -> io::Result<Option<[u8; BYTES]>> {
    let text = private::read(path, 256)?;
    // Our secrets are text only.
    let text = text.and_then(|text| String::from_utf8(text).ok());
    Ok(text.and_then(|text| hex::decode(text.trim_end()).ok()?.try_into().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn kept_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/secret");
        let first = secret(&path).unwrap();
        assert_eq!(secret(&path).unwrap(), first);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
        // A secret that others could have read, or that is malformed, is replaced.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let second = secret(&path).unwrap();
        assert_ne!(second, first);
        fs::write(&path, "short").unwrap();
        assert_ne!(secret(&path).unwrap(), second);
        let elsewhere = temp.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let third = secret(&path).unwrap();
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(secret(&path).unwrap(), third);
    }
}
