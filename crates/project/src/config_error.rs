//! Errors in a configuration file, `hob.toml` or one of the user's own: which file, which line, what to do.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::de::Error;

use crate::owner;
use crate::visible::{path as shown, visible};

/// The largest configuration file that is read, in bytes.
pub(crate) const FILE_MAX: u64 = 1024 * 1024;

/// A configuration that is invalid or unreadable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}, line {line}: {message}; correct the line, or delete it for the default", shown(path))]
    Wrong { path: PathBuf, line: usize, message: String },
    #[error("{}, line {line}: {key} = {value} is outside {} to {}; correct it, or delete it for the default", shown(path), range.start(), range.end())]
    Range { path: PathBuf, line: usize, key: &'static str, value: u64, range: RangeInclusive<u64> },
    #[error("read {}: {source}; make it a text file that you can read, or move it away", shown(path))]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} belongs to user {owner}, not to you (user {}): refused, because whoever wrote it would decide for you; move it \
         away, or take it over with chown. If HOME or XDG_CONFIG_HOME is another user's, set it to a directory of your own",
        shown(path),
        owner::me()
    )]
    NotMine { path: PathBuf, owner: u32 },
    #[error(
        "{}: {foreign}, who could put another file in its place: refused, because whoever did would decide for you; set HOME or \
         XDG_CONFIG_HOME to a directory of your own",
        shown(path)
    )]
    ForeignPlace { path: PathBuf, foreign: owner::Foreign },
    #[error(
        "{} is a link that leads out of the project, to {}; nothing of that is read: put a file in its place, or link to one inside of the project",
        shown(path),
        shown(to)
    )]
    LeadsOut { path: PathBuf, to: PathBuf },
    #[error("{} has more than {FILE_MAX} bytes; no configuration is that long, so move it away", shown(path))]
    TooLong { path: PathBuf },
    #[error("{}: {why}", shown(path))]
    Refused { path: PathBuf, why: String },
}

/// Parses a file's text; an error names the line of the first mistake.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| wrong(path, text, &error))
}

pub(crate) fn wrong(path: &Path, text: &str, error: &Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start);
    wrong_at(path, text, at, &error.message().trim_end().replace('\n', ", "))
}

pub(crate) fn wrong_at(path: &Path, text: &str, offset: usize, message: &str) -> ConfigError {
    let line = 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
    ConfigError::Wrong { path: path.to_owned(), line, message: visible(message) }
}
