//! The user's own configuration, `$XDG_CONFIG_HOME/hob/config.toml`. What stands here needs no trust: only the user
//! writes it. Same settings as `hob.toml`, which it is overridden by where that is allowed to, and `environment`.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::config::{ConfigError, Settings, parse};
use crate::owner;

/// The user's configuration. All of it optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserConfig {
    /// Names of environment variables (`FOO`, `BAR_*`) that sessions get beyond the built-in list.
    pub environment: Vec<String>,
    /// Toolsets for projects that name none.
    pub(crate) toolsets: Option<Vec<String>>,
    pub(crate) daemon: crate::config::DaemonTable,
    pub(crate) limits: crate::config::LimitsTable,
    pub(crate) repl: crate::config::ReplTable,
    pub(crate) mail: crate::mail::MailTable,
    pub(crate) cure: crate::cure::CureTable,
}

impl UserConfig {
    /// Where it is: `None` when neither `XDG_CONFIG_HOME` nor `HOME` is set.
    pub fn path() -> Option<PathBuf> {
        Some(directory()?.join("config.toml"))
    }

    /// Reads it; an absent file is an empty one.
    pub fn load() -> Result<UserConfig, ConfigError> {
        let Some(path) = UserConfig::path() else { return Ok(UserConfig::default()) };
        match fs::read_to_string(&path) {
            Ok(text) => {
                let owner = fs::metadata(&path).map_or(owner::me(), |metadata| metadata.uid());
                if owner != owner::me() && owner != 0 {
                    return Err(ConfigError::NotMine { path, owner });
                }
                parse(&path, &text)
            }
            Err(error) if is_absent(&error) => Ok(UserConfig::default()),
            Err(source) => Err(ConfigError::Read { path, source }),
        }
    }

    pub(crate) fn into_settings(self) -> Settings {
        let UserConfig { environment: _, toolsets, daemon, limits, repl, mail, cure } = self;
        Settings { toolsets, daemon, limits, repl, mail, cure }
    }
}

/// The directory of the user's configuration.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(config.join("hob"))
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
