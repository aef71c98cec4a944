//! What is configured: `hob.toml` at the project's root over the user's own configuration over the defaults.
//!
//! `hob.toml` is text from outside: it may enable toolsets, choose among what is built in and set limits within their
//! ranges. What goes further (commands to run) counts only when the user granted that very text ([`crate::Trust`]);
//! until then it is withheld and listed in [`Config::withheld`]. Parsing is strict: a mistake is named with its line.

mod document;
mod duration;
mod limits;
mod section;
pub mod value;

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::document::Document;
pub(crate) use self::document::parse;
pub use self::duration::Limit;
pub use self::limits::Limits;
pub use self::section::{File, Section, Settings};
use crate::trust::Request;
use crate::user_config::is_absent;
use crate::visible::path as shown;
use crate::{Project, Trust, UserConfig, owner, regular};

/// The largest configuration file that is read, in bytes.
pub(crate) const FILE_MAX: u64 = 1024 * 1024;

/// A configuration that cannot be used.
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

/// Where a setting came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user's own configuration.
    User,
    /// The project's `hob.toml`.
    Project,
}

/// Everything configured, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The toolsets that a connection gets when it asks for none, if any are named.
    pub toolsets: Option<Vec<String>>,
    /// When a daemon without connection and without live session ends.
    pub idle: Limit,
    pub limits: Limits,
    /// What the parts have to say, by the names of their sections; see [`Config::of`].
    parts: BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>,
    /// What `hob.toml` asks for and the user has not granted.
    pub withheld: Vec<Request>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            toolsets: None,
            idle: Limit::After(Duration::from_secs(30 * 60)),
            limits: Limits::default(),
            parts: BTreeMap::new(),
            withheld: Vec::new(),
        }
    }
}

impl Config {
    /// What the user has configured for all projects. `sections` are those of all parts: what else stands there is a mistake.
    pub fn of_user(sections: &[Section]) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(path) = UserConfig::path()
            && let Some(text) = UserConfig::read(&path)?
        {
            let file = File::new(&path, Source::User, &text);
            Document::parse(&path, &text, file.source, sections)?.apply(&mut config, &file)?;
        }
        Ok(config)
    }

    /// Loads what holds for a project.
    pub fn load(project: &Project, sections: &[Section]) -> Result<Config, ConfigError> {
        let mut config = Config::of_user(sections)?;
        let path = project.config_path();
        if let Some(text) = read_of(project)? {
            let file = File::new(&path, Source::Project, &text);
            let mut document = Document::parse(&path, &text, file.source, sections)?;
            let requests = document.requests(&text);
            if !requests.is_empty() && !Trust::load()?.covers(project, &text) {
                document.withhold();
                config.withheld = requests;
            }
            document.apply(&mut config, &file)?;
        }
        Ok(config)
    }

    /// Reads a project's `hob.toml` alone, for its mistakes and for what it asks beyond the safe set.
    pub fn requests(project: &Project, sections: &[Section]) -> Result<Vec<Request>, ConfigError> {
        Config::asked(project, sections).map(|(_, requests)| requests)
    }

    /// The same with the text that asks.
    pub(crate) fn asked(project: &Project, sections: &[Section]) -> Result<(String, Vec<Request>), ConfigError> {
        let path = project.config_path();
        let Some(text) = read_of(project)? else { return Ok((String::new(), Vec::new())) };
        let file = File::new(&path, Source::Project, &text);
        let document = Document::parse(&path, &text, file.source, sections)?;
        let requests = document.requests(&text);
        document.apply(&mut Config::default(), &file)?;
        Ok((text, requests))
    }

    /// Whether the user has granted by now what was withheld when this was read. A text that asks for something else by now
    /// is another matter.
    pub fn is_granted_by_now(&self, project: &Project, sections: &[Section]) -> bool {
        !self.withheld.is_empty()
            && Config::load(project, sections).is_ok_and(|config| config.withheld.is_empty())
            && Config::requests(project, sections).is_ok_and(|requests| requests == self.withheld)
    }

    /// What is configured for a part; its defaults where nothing is.
    pub fn of<S: Settings>(&self) -> S {
        let settings = self.parts.get(S::NAME).and_then(|settings| settings.downcast_ref::<S>());
        settings.cloned().unwrap_or_default()
    }
}

/// The text of a project's `hob.toml`. Mistakes in it are shown with what stands there, so it is not read through a link to
/// what does not belong to the project.
pub(crate) fn read_of(project: &Project) -> Result<Option<String>, ConfigError> {
    let path = project.config_path();
    match path.canonicalize() {
        Ok(to) if !to.starts_with(project.root()) => Err(ConfigError::LeadsOut { path, to }),
        // What is not there, or cannot be seen, is not read either.
        found => read(&found.unwrap_or(path)),
    }
}

fn read(path: &std::path::Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    match regular::read(path, FILE_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(ConfigError::TooLong { path: path.to_owned() })
        }
        Err(source) => Err(failed(source)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
