//! The settings of a part: its own table in `hob.toml` and in the user's configuration. The part declares its settings,
//! their meaning, and which need a grant; this crate reads the files, and knows no part.

use std::any::Any;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::de::{Error, ValueDeserializer};

use super::{Config, ConfigError, Source};
use crate::request::{Places, Request};

/// The settings of a part, with their defaults.
pub trait Settings: Clone + Debug + Default + Send + Sync + 'static {
    /// The name of the table.
    const NAME: &'static str;

    /// The lines below the table's head in the file that `hob init` writes: each setting commented out with its
    /// default, below lines that begin with `# ` and explain it.
    const TEMPLATE: &'static str;

    /// The table of one file, unmerged. It denies unknown fields, so that an error names them.
    type Table: DeserializeOwned + Send + 'static;

    /// Merges the table of a file.
    ///
    /// # Errors
    /// If a value is out of its range, or is not allowed in that file.
    fn apply(&mut self, table: Self::Table, file: &File<'_>) -> Result<(), ConfigError>;

    /// Returns the requests of a `hob.toml`'s table beyond the safe set: each setting that needs a grant.
    fn requests(_table: &Self::Table, _places: &Places<'_>) -> Vec<Request> {
        Vec::new()
    }

    /// Removes the settings that need a grant.
    fn withhold(_table: &mut Self::Table) {}
}

/// The settings of one part, type-erased.
#[derive(Clone, Copy)]
pub struct Section {
    /// The name of the table.
    pub name: &'static str,
    /// See [`Settings::TEMPLATE`].
    pub template: &'static str,
    /// Returns settings that cannot take effect. A pending grant is not a fault.
    pub faults: fn(&Config) -> Vec<String>,
    /// Returns a sentence for each environment variable that the settings need and this process lacks.
    pub lacks: fn(&Config) -> Vec<String>,
    pub(super) read: fn(ValueDeserializer<'_>) -> Result<Box<dyn Table>, Error>,
}

impl Section {
    /// Returns the section of these settings.
    pub const fn for_settings<S: Settings>() -> Section {
        Section {
            name: S::NAME,
            template: S::TEMPLATE,
            faults: |_| Vec::new(),
            lacks: |_| Vec::new(),
            read: |value| Ok(Box::new(ParsedTable::<S>(<S::Table as serde::Deserialize>::deserialize(value)?))),
        }
    }

    /// Sets the function that finds settings that cannot take effect.
    #[must_use]
    pub const fn with_faults(self, faults: fn(&Config) -> Vec<String>) -> Section {
        Section { faults, ..self }
    }

    /// Sets the function that finds missing environment variables.
    #[must_use]
    pub const fn with_missing_variables(self, lacks: fn(&Config) -> Vec<String>) -> Section {
        Section { lacks, ..self }
    }
}

/// The table of one part in one file.
pub(crate) trait Table: Send {
    fn requests(&self, places: &Places<'_>) -> Vec<Request>;
    fn withhold(&mut self);
    fn apply(self: Box<Self>, config: &mut Config, file: &File<'_>) -> Result<(), ConfigError>;
}

struct ParsedTable<S: Settings>(S::Table);

impl<S: Settings> Table for ParsedTable<S> {
    fn requests(&self, places: &Places<'_>) -> Vec<Request> {
        S::requests(&self.0, places)
    }

    fn withhold(&mut self) {
        S::withhold(&mut self.0);
    }

    fn apply(self: Box<Self>, config: &mut Config, file: &File<'_>) -> Result<(), ConfigError> {
        let mut settings: S = config.settings();
        settings.apply(self.0, file)?;
        config.parts.insert(S::NAME, Arc::new(settings) as Arc<dyn Any + Send + Sync>);
        Ok(())
    }
}

/// The file that contains a table.
pub struct File<'a> {
    pub path: &'a Path,
    /// The owner of the file.
    pub source: Source,
    places: Places<'a>,
}

impl<'a> File<'a> {
    /// Returns the file at this path, with this text.
    pub fn new(path: &'a Path, source: Source, text: &'a str) -> File<'a> {
        File { path, source, places: Places::new(text) }
    }

    /// Returns a number, if the file sets it. `key` is its full name, such as `limits.sessions`.
    ///
    /// # Errors
    /// If it is out of range.
    pub fn number_in_range(
        &self,
        key: &'static str,
        value: Option<u64>,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ConfigError> {
        match value {
            Some(value) if !range.contains(&value) => {
                let line = self.places.line(&key.split('.').collect::<Vec<_>>());
                Err(ConfigError::Range { path: self.path.to_owned(), line, key, value, range })
            }
            value => Ok(value),
        }
    }

    /// Returns the error for a setting that is not allowed in this file, with the reason and the alternative.
    pub fn refused(&self, why: impl Into<String>) -> ConfigError {
        ConfigError::Refused { path: self.path.to_owned(), why: why.into() }
    }
}
