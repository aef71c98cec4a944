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
    #[error("{}, line {line}: {what} stands at line {first} already: {next}", shown(path))]
    Twice { path: PathBuf, line: usize, what: String, first: usize, next: &'static str },
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
    if error.message().starts_with("duplicate key")
        && let Some(twice) = twice(path, text, at)
    {
        return twice;
    }
    wrong_at(path, text, at, &error.message().trim_end().replace('\n', ", "))
}

/// The error for a table or a key that stands there twice, if its first place is found: a file from `hob init` has the
/// headers of all tables already.
fn twice(path: &Path, text: &str, offset: usize) -> Option<ConfigError> {
    let bare = |line: &str| line.split('#').next().unwrap_or_default().replace(char::is_whitespace, "");
    let is_header = |line: &str| line.starts_with('[') && line.ends_with(']');
    let lines: Vec<String> = text.lines().map(bare).collect();
    let at = line_of(text, offset) - 1;
    let second = lines.get(at)?;
    let (first, what, next) = if is_header(second) {
        let first = lines[..at].iter().position(|line| line == second)?;
        (first, second.as_str(), "write below that line what stands below this one, and delete this one")
    } else {
        let key = second.split_once('=')?.0;
        let of = |line: &String| line.split_once('=').is_some_and(|(other, _)| other == key);
        let table = lines[..at].iter().rposition(|line| is_header(line)).map_or(0, |header| header + 1);
        (table + lines[table..at].iter().position(of)?, key, "keep one of the two")
    };
    let what = format!("`{}`", visible(what));
    Some(ConfigError::Twice { path: path.to_owned(), line: at + 1, what, first: first + 1, next })
}

/// The number of the line that a byte is in.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

pub(crate) fn wrong_at(path: &Path, text: &str, offset: usize, message: &str) -> ConfigError {
    let line = line_of(text, offset);
    ConfigError::Wrong { path: path.to_owned(), line, message: visible(message) }
}
