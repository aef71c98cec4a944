//! The configuration: the project's `hob.toml`, which overrides the user's own configuration, which overrides the defaults.
//!
//! `hob.toml` is untrusted text: it may enable toolsets, choose among what is built in and set limits within their
//! ranges. Anything beyond that (commands to run) takes effect only when the user granted that very text
//! ([`crate::Trust`]); until then it is withheld and listed in [`Config::withheld`]. Parsing is strict: an error names
//! the line.

mod document;
mod duration;
mod limits;
mod section;
pub mod value;

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use self::document::Document;
pub use self::duration::Limit;
pub use self::limits::Limits;
pub use self::section::{File, Section, Settings};
pub use crate::config_error::ConfigError;
use crate::config_error::FILE_MAX;
use crate::regular::{self, is_absent};
use crate::request::Request;
use crate::trust::TrustError;
use crate::{Project, Results, Trust, UserConfig};

/// The source of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user's own configuration.
    User,
    /// The project's `hob.toml`.
    Project,
}

/// The whole configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The toolsets of a connection that requests none, if configured.
    pub toolsets: Option<Vec<String>>,
    /// The form of tool results, if configured; otherwise it depends on the client.
    pub results: Option<Results>,
    /// The time after which a daemon without connections and live sessions stops.
    pub idle: Limit,
    pub limits: Limits,
    /// True if the socket of Tidepool's control server is also served.
    pub tidepool: bool,
    /// The parts' settings, by the names of their sections; see [`Config::settings`].
    parts: BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>,
    /// The requests in `hob.toml` that the user has not granted.
    pub withheld: Vec<Request>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            toolsets: None,
            results: None,
            idle: Limit::After(Duration::from_secs(30 * 60)),
            limits: Limits::default(),
            tidepool: false,
            parts: BTreeMap::new(),
            withheld: Vec::new(),
        }
    }
}

impl Config {
    /// Returns the user's configuration for all projects. `sections` are those of all parts: any other table is an error.
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

    /// Loads the configuration of a project.
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

    /// Reads only a project's `hob.toml`: checks it, and returns its requests beyond the safe set.
    pub fn requests(project: &Project, sections: &[Section]) -> Result<Vec<Request>, ConfigError> {
        Config::read_requests(project, sections).map(|(_, requests)| requests)
    }

    /// Grants the current requests of the project's `hob.toml`. `shown` are the requests that the user saw: if the file
    /// has changed them, nothing is granted.
    pub fn grant(project: &Project, sections: &[Section], shown: &[Request]) -> Result<(), TrustError> {
        Config::grant_in(&Trust::path()?, project, sections, shown)
    }

    pub(crate) fn grant_in(
        file: &Path,
        project: &Project,
        sections: &[Section],
        shown: &[Request],
    ) -> Result<(), TrustError> {
        let (text, asked) = Config::read_requests(project, sections)?;
        if asked != shown {
            return Err(TrustError::Changed { path: project.config_path() });
        }
        Trust::grant(file, project, &text)
    }

    /// Returns the requests, and the text that contains them.
    fn read_requests(project: &Project, sections: &[Section]) -> Result<(String, Vec<Request>), ConfigError> {
        let path = project.config_path();
        let Some(text) = read_of(project)? else { return Ok((String::new(), Vec::new())) };
        let file = File::new(&path, Source::Project, &text);
        let document = Document::parse(&path, &text, file.source, sections)?;
        let requests = document.requests(&text);
        document.apply(&mut Config::default(), &file)?;
        Ok((text, requests))
    }

    /// Returns true if the user has by now granted the requests withheld at load time. A text whose requests have
    /// changed since does not count.
    pub fn is_granted_by_now(&self, project: &Project, sections: &[Section]) -> bool {
        !self.withheld.is_empty()
            && Config::load(project, sections).is_ok_and(|config| config.withheld.is_empty())
            && Config::requests(project, sections).is_ok_and(|requests| requests == self.withheld)
    }

    /// Returns the settings of a part, or its defaults.
    pub fn settings<S: Settings>(&self) -> S {
        let settings = self.parts.get(S::NAME).and_then(|settings| settings.downcast_ref::<S>());
        settings.cloned().unwrap_or_default()
    }
}

/// Returns the text of a project's `hob.toml`. Errors quote the text, so links to files outside the project are not followed.
pub(crate) fn read_of(project: &Project) -> Result<Option<String>, ConfigError> {
    let path = project.config_path();
    match path.canonicalize() {
        Ok(to) if !to.starts_with(project.root()) => Err(ConfigError::LeadsOut { path, to }),
        // An absent or invisible file is not read either.
        found => read(&found.unwrap_or(path)),
    }
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
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
