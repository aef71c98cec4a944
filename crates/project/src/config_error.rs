//! Errors in a configuration file, `hob.toml` or one of the user's own: the file, the line, and the fix.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::de::Error;

use crate::owner;
use crate::visible::{cause, path as shown, visible};

/// The size limit of a configuration file, in bytes.
pub(crate) const FILE_MAX: u64 = 1024 * 1024;

/// A configuration that is invalid or unreadable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}, line {line}: {message}; correct the line, or delete it for the default", shown(path))]
    Wrong { path: PathBuf, line: usize, message: String },
    #[error("{}, line {line}: {what} is already at line {first}: {next}", shown(path))]
    Twice { path: PathBuf, line: usize, what: String, first: usize, next: &'static str },
    #[error("{}, line {line}: {key} = {value} is outside {} to {}; correct it, or delete it for the default", shown(path), range.start(), range.end())]
    Range { path: PathBuf, line: usize, key: &'static str, value: u64, range: RangeInclusive<u64> },
    #[error("cannot read {}: {}{}", shown(path), cause(source), unreadable_advice(source))]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} belongs to user {owner}, not to you (user {}), so its author could configure hob for you. Move it away, \
         or change its owner with chown. If HOME or XDG_CONFIG_HOME belongs to another user, set it to your own \
         directory",
        shown(path),
        owner::current_user()
    )]
    NotMine { path: PathBuf, owner: u32 },
    #[error(
        "{}: {foreign}, who could replace the file and so configure hob for you. Set HOME or XDG_CONFIG_HOME to your \
         own directory",
        shown(path)
    )]
    ForeignPlace { path: PathBuf, foreign: owner::Foreign },
    #[error(
        "{} is a link out of the project, to {}, and is not read; replace it with a file, or with a link inside the \
         project",
        shown(path),
        shown(to)
    )]
    LeadsOut { path: PathBuf, to: PathBuf },
    #[error("{} is larger than {FILE_MAX} bytes, the limit for a configuration file; move it away", shown(path))]
    TooLong { path: PathBuf },
    #[error("{}: {why}", shown(path))]
    Refused { path: PathBuf, why: String },
}

impl ConfigError {
    /// Returns the file with the error.
    pub fn path(&self) -> &Path {
        match self {
            ConfigError::Wrong { path, .. }
            | ConfigError::Twice { path, .. }
            | ConfigError::Range { path, .. }
            | ConfigError::Read { path, .. }
            | ConfigError::NotMine { path, .. }
            | ConfigError::ForeignPlace { path, .. }
            | ConfigError::LeadsOut { path, .. }
            | ConfigError::TooLong { path }
            | ConfigError::Refused { path, .. } => path,
        }
    }
}

/// Returns the advice for an unreadable file. An error about its text already says what to do.
fn unreadable_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidData => "",
        _ => "; make it a text file that you can read, or move it away",
    }
}

/// Parses a file's text; an error names the line of the first mistake.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| wrong(path, text, &error))
}

pub(crate) fn wrong(path: &Path, text: &str, error: &Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start);
    if error.message().starts_with("duplicate key")
        && let Some(twice) = duplicate_error(path, text, at)
    {
        return twice;
    }
    let message = expected_form(text, error).unwrap_or_else(|| error.message().trim_end().replace('\n', ", "));
    wrong_at(path, text, at, &message)
}

/// Returns the form to write if a value has another type than its setting: serde names Rust types and gives no example.
pub fn expected_form(text: &str, error: &Error) -> Option<String> {
    let message = error.message().trim_end();
    let of_type = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    let expected = match of_type {
        Some(of_type) => of_type.rsplit_once(", expected ")?.1,
        // It is one of several words; the error for a text lists them.
        None if message == "wanted string or table" => "a word",
        None => return None,
    };
    let span = error.span()?;
    let value = text.get(span.clone())?.trim();
    let before = text.get(..span.start)?.trim_end();
    // Without an equals sign it is an element of a list.
    let key = before.strip_suffix('=').map(|line| line.rsplit(['\n', '{', ',']).next().unwrap_or_default().trim());
    let is_short = value.len() <= 100 && !value.contains('\n');
    let bare = value.trim_matches(['"', '\'']);
    let is_text = value.starts_with(['"', '\'']);
    let is_plain = is_short && !bare.contains(['"', '\'', '\\', '[', '{']);
    let (what, example) = match expected {
        "a sequence" if is_plain && is_text && !bare.trim().is_empty() => {
            let words: Vec<String> = bare.split_whitespace().map(|word| format!("\"{word}\"")).collect();
            ("a list", format!("[{}]", words.join(", ")))
        }
        "a sequence" if is_plain && !is_text => ("a list", format!("[{value}]")),
        "a sequence" => ("a list", "[\"…\"]".to_owned()),
        "a string" if is_plain && !bare.is_empty() => ("a string", format!("\"{bare}\"")),
        "a string" | "a word" => ("a string", "\"…\"".to_owned()),
        "a boolean" => ("`true` or `false`", (bare != "false" && bare != "no" && bare != "0").to_string()),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" | "an integer" => {
            let number = bare.split(['.', '_']).next().and_then(|digits| digits.parse::<u64>().ok());
            // `code.memory` counts in MiB.
            let bytes = || size(bare).filter(|_| key != Some("memory"));
            let number = number.or_else(bytes).map_or("…".to_owned(), |number| number.to_string());
            ("a whole number, 0 or more", number)
        }
        "a map" => ("a table", "{ … }".to_owned()),
        _ if expected.starts_with("struct ") => ("a table", "{ … }".to_owned()),
        _ => return None,
    };
    Some(match key {
        Some(key) => format!("`{key}` must be {what}: write `{key} = {example}`"),
        None => format!("`{}` is not {what}: write `{example}`", if is_short { value } else { "…" }),
    })
}

/// Reads a size with a unit, such as `50MiB`, and returns it in bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Returns the error for a duplicate table or key, if its first location is found: a file from `hob init` already has
/// the headers of all tables.
fn duplicate_error(path: &Path, text: &str, offset: usize) -> Option<ConfigError> {
    let bare = |line: &str| line.split('#').next().unwrap_or_default().replace(char::is_whitespace, "");
    let is_header = |line: &str| line.starts_with('[') && line.ends_with(']');
    let lines: Vec<String> = text.lines().map(bare).collect();
    let at = line_of(text, offset) - 1;
    let second = lines.get(at)?;
    let (first, what, next) = if is_header(second) {
        let first = lines[..at].iter().position(|line| line == second)?;
        (first, second.as_str(), "move the lines below this one there, and delete this one")
    } else {
        let key = second.split_once('=')?.0;
        let of = |line: &String| line.split_once('=').is_some_and(|(other, _)| other == key);
        let table = lines[..at].iter().rposition(|line| is_header(line)).map_or(0, |header| header + 1);
        (table + lines[table..at].iter().position(of)?, key, "keep one of the two")
    };
    let what = format!("`{}`", visible(what));
    Some(ConfigError::Twice { path: path.to_owned(), line: at + 1, what, first: first + 1, next })
}

/// Returns the number of the line that a byte is in.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

pub(crate) fn wrong_at(path: &Path, text: &str, offset: usize, message: &str) -> ConfigError {
    let line = line_of(text, offset);
    ConfigError::Wrong { path: path.to_owned(), line, message: visible(message) }
}
