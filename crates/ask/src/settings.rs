//! The settings `[ask]`.

use project::ConfigError;
use project::config::{File, Settings};
use serde::Deserialize;

/// What is configured for questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskSettings {
    /// Whether agents' own dialogs show questions.
    pub dialog: Dialogs,
}

/// When the dialog of an agent's program shows a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialogs {
    /// At once if nobody watches elsewhere, else after a while.
    #[default]
    Auto,
    /// At once.
    Always,
    Never,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AskTable {
    dialog: Option<Dialogs>,
}

impl Settings for AskSettings {
    const NAME: &'static str = "ask";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = AskTable;

    fn apply(&mut self, table: AskTable, _: &File<'_>) -> Result<(), ConfigError> {
        self.dialog = table.dialog.unwrap_or(self.dialog);
        Ok(())
    }
}
