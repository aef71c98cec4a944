//! The settings `[explore]`.

use project::ConfigError;
use project::config::{File, Settings, Source};
use serde::Deserialize;

/// The configuration of this part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExploreSettings {
    /// The maximum number of tokens of a model in one walk.
    pub tokens: u64,
}

impl Default for ExploreSettings {
    fn default() -> ExploreSettings {
        ExploreSettings { tokens: 50_000 }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExploreTable {
    tokens: Option<u64>,
}

impl Settings for ExploreSettings {
    const NAME: &'static str = "explore";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = ExploreTable;

    fn apply(&mut self, table: ExploreTable, file: &File<'_>) -> Result<(), ConfigError> {
        if let Some(tokens) = table.tokens {
            // A checkout can only lower the limit, because the user pays for the tokens.
            self.tokens = if file.source == Source::Project { tokens.min(self.tokens) } else { tokens };
        }
        Ok(())
    }
}
