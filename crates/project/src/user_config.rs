//! The user's own configuration, `$XDG_CONFIG_HOME/hob/config.toml`. It needs no trust, as only the user writes it. It
//! holds the settings of `hob.toml`, which overrides it within its limits, and `environment`.
//!
//! The file decides which programs run as this user, and the environment decides its location. So a file that another
//! user made or may change is refused, also if that user owns a link or a directory on the way.

use std::env;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config_error::{ConfigError, FILE_MAX, parse};
use crate::owner;
use crate::regular::{self, is_absent};

/// The user's configuration except settings of projects, which [`crate::Config`] reads.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct UserConfig {
    /// Names of environment variables (`FOO`, `BAR_*`) that sessions get beyond the built-in list.
    pub environment: Vec<String>,
}

impl UserConfig {
    /// Returns the file's path: `None` when neither `XDG_CONFIG_HOME` nor `HOME` is set.
    pub fn path() -> Option<PathBuf> {
        Some(directory()?.join("config.toml"))
    }

    /// Reads the configuration; an absent file is an empty one.
    pub fn load() -> Result<UserConfig, ConfigError> {
        let Some(path) = UserConfig::path() else { return Ok(UserConfig::default()) };
        UserConfig::read(&path)?.map_or_else(|| Ok(UserConfig::default()), |text| parse(&path, &text))
    }

    /// Reads a file of the user's configuration that the user or root wrote; `None` if it is absent.
    ///
    /// # Errors
    /// If another user wrote it, or may replace it.
    pub fn read(path: &Path) -> Result<Option<String>, ConfigError> {
        read_of(path, &[owner::current_user(), 0])
    }
}

/// Returns the directory of the user's configuration.
pub(crate) fn directory() -> Option<PathBuf> {
    let (base, below) = config_location()?;
    Some(base.join(below))
}

/// Returns the directory from the environment, and the path of hob's configuration below it.
fn config_location() -> Option<(PathBuf, &'static str)> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || Some((absolute("HOME")?, ".config/hob"));
    absolute("XDG_CONFIG_HOME").map(|base| (base, "hob")).or_else(of_home)
}

/// Reads a file of the user's configuration that one of these users wrote.
pub(crate) fn read_of(path: &Path, writers: &[u32]) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    // Opened once: the checks apply to the file that is read.
    let file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    refuse_foreign_place(path)?;
    let owner = file.metadata().map_err(failed)?.uid();
    if !writers.contains(&owner) {
        return Err(ConfigError::NotMine { path: path.to_owned(), owner });
    }
    match regular::text(file, FILE_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(ConfigError::TooLong { path: path.to_owned() })
        }
        Err(source) => Err(failed(source)),
    }
}

/// Refuses a file in a place that another user controls: the file may be this user's own, but meant for another purpose
/// (a link into a checkout).
pub(crate) fn refuse_foreign_place(path: &Path) -> Result<(), ConfigError> {
    let base = config_location().map(|(base, _)| base).filter(|base| path.starts_with(base));
    let base = base.as_deref().or_else(|| path.parent()).unwrap_or(path);
    match owner::foreign(base, path) {
        Some(foreign) if foreign.path == path => Err(ConfigError::NotMine { path: foreign.path, owner: foreign.owner }),
        Some(foreign) => Err(ConfigError::ForeignPlace { path: path.to_owned(), foreign }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    #[test]
    fn only_what_the_user_or_root_wrote_and_nothing_that_waits() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("hob/config.toml");
        assert_eq!(UserConfig::read(&path).unwrap(), None);
        fs::create_dir(temp.path().join("hob")).unwrap();
        assert_eq!(UserConfig::read(&path).unwrap(), None);
        fs::write(&path, "toolsets = []\n").unwrap();
        assert_eq!(UserConfig::read(&path).unwrap().as_deref(), Some("toolsets = []\n"));
        // A dotfile manager's link.
        fs::rename(&path, temp.path().join("mine")).unwrap();
        symlink("../mine", &path).unwrap();
        assert_eq!(UserConfig::read(&path).unwrap().as_deref(), Some("toolsets = []\n"));
        if owner::current_user() == 0 {
            lchown(&path, Some(12345), None).unwrap();
            assert!(matches!(UserConfig::read(&path), Err(ConfigError::NotMine { owner: 12345, .. })), "a link");
            lchown(&path, Some(0), None).unwrap();
            lchown(temp.path().join("mine"), Some(12345), None).unwrap();
            assert!(matches!(UserConfig::read(&path), Err(ConfigError::NotMine { owner: 12345, .. })), "a file");
            lchown(temp.path().join("mine"), Some(0), None).unwrap();
            lchown(temp.path().join("hob"), Some(12345), None).unwrap();
            assert!(matches!(UserConfig::read(&path), Err(ConfigError::ForeignPlace { .. })), "a directory");
            lchown(temp.path().join("hob"), Some(0), None).unwrap();
        }
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(UserConfig::read(&path), Err(ConfigError::Read { .. })), "a pipe");
    }
}
