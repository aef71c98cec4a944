//! The settings `[mail]`, and the sources of the database's address: the environment, a private file, or the user's own
//! configuration. Never `hob.toml`, which others can write.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use project::config::{File, Settings, Source, value};
use project::trust::{Places, Request};
use project::{ConfigError, Project, daemon_environment};
use serde::Deserialize;

/// The environment variable for the address.
const VARIABLE: &str = "HOB_MAIL_DATABASE";
/// The file for the address, in the project's state directory.
const FILE: &str = "mail-database";
/// The longest address, in bytes.
const ADDRESS_MAX: u64 = 4096;

/// The settings of the mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// Names the agents and messages that belong together; by default the repository's origin does.
    pub space: Option<String>,
    /// The maximum number of recipients of a broadcast.
    pub broadcast_max: u64,
    /// The number of messages that two agents may exchange in a thread within five minutes before it is slowed; 0 for
    /// no bound.
    pub thread_max: u64,
    /// The maximum number of sends kept on this machine's disk while the database is unavailable; with 0, they fail.
    pub spool: u64,
    /// The database in the user's configuration; [`MailSettings::database`] considers every source.
    database: Option<String>,
}

impl Default for MailSettings {
    fn default() -> MailSettings {
        MailSettings { space: None, broadcast_max: 100, thread_max: 20, spool: 0, database: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MailTable {
    space: Option<String>,
    broadcast_max: Option<u64>,
    thread_max: Option<u64>,
    spool: Option<u64>,
    database: Option<String>,
}

impl Settings for MailSettings {
    const NAME: &'static str = "mail";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = MailTable;

    fn apply(&mut self, table: MailTable, file: &File<'_>) -> Result<(), ConfigError> {
        if table.database.is_some() && file.source == Source::Project {
            return Err(file.refused(
                "mail.database is not allowed in a shared file; put the address into \
                 HOB_MAIL_DATABASE, your own config.toml, or mail-database in the project's state directory (mode 0600; \
                 `hob doctor` names the directory)",
            ));
        }
        let broadcast_max = file.number_in_range("mail.broadcast_max", table.broadcast_max, 1..=500)?;
        self.broadcast_max = broadcast_max.unwrap_or(self.broadcast_max);
        self.thread_max =
            file.number_in_range("mail.thread_max", table.thread_max, 0..=10_000)?.unwrap_or(self.thread_max);
        self.spool = file.number_in_range("mail.spool", table.spool, 0..=10_000)?.unwrap_or(self.spool);
        self.database = table.database.or_else(|| self.database.take());
        self.space = table.space.or_else(|| self.space.take());
        Ok(())
    }

    fn requests(table: &MailTable, places: &Places<'_>) -> Vec<Request> {
        let ask = |space: &String| {
            let space = value::quoted(space);
            let asks = format!("reads and sends the mail of the space {space}, where a database is shared");
            places.request(&["mail", "space"], asks)
        };
        table.space.iter().map(ask).collect()
    }

    fn withhold(table: &mut MailTable) {
        table.space = None;
    }
}

impl MailSettings {
    /// Returns the address of the PostgreSQL database for the mail; `None` for the project's own file.
    pub fn database(&self, project: &Project) -> Result<Option<String>, ConfigError> {
        if let Some(address) = daemon_environment::secret(VARIABLE) {
            return Ok(Some(address));
        }
        match from_file(&project.state_dir().join(FILE))? {
            Some(address) => Ok(Some(address)),
            None => Ok(self.database.clone()),
        }
    }
}

fn from_file(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(ConfigError::NotMine { path: path.to_owned(), owner: metadata.uid() });
    }
    if !metadata.is_file() || metadata.mode() & 0o077 != 0 || metadata.len() > ADDRESS_MAX {
        let what = "it must be a short file that only you can read (chmod 600)";
        return Err(failed(std::io::Error::other(what)));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Ok(Some(text.trim().to_owned()).filter(|address| !address.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_shared_file_names_no_database() {
        let table = || MailTable { database: Some("postgres://h/d".into()), ..MailTable::default() };
        let mut config = MailSettings::default();
        let file = |source| File::new(Path::new("a.toml"), source, "");
        let refused = config.apply(table(), &file(Source::Project)).unwrap_err().to_string();
        assert!(refused.contains("HOB_MAIL_DATABASE"), "{refused}");
        config.apply(table(), &file(Source::User)).unwrap();
        assert_eq!(config.database.as_deref(), Some("postgres://h/d"));
    }

    #[test]
    fn a_file_is_private_or_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(FILE);
        assert_eq!(from_file(&path).unwrap(), None);
        fs::write(&path, "postgres://u:p@h/d\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(from_file(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(from_file(&path).unwrap().as_deref(), Some("postgres://u:p@h/d"));
    }
}
