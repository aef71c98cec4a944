//! The settings `[ask]`.

use project::ConfigError;
use project::config::{File, Settings, Source};
use serde::Deserialize;

/// The configuration of questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskSettings {
    /// The mode of agents' own dialogs.
    pub dialog: Dialogs,
    /// The program, with its first arguments, that notifies the person. The id and the title are appended.
    pub notify: Vec<String>,
}

/// The time at which an agent's dialog shows a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialogs {
    /// At once if no face is connected, else after a delay.
    #[default]
    Auto,
    /// Always at once.
    Always,
    Never,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AskTable {
    dialog: Option<Dialogs>,
    notify: Option<Vec<String>>,
}

impl Settings for AskSettings {
    const NAME: &'static str = "ask";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = AskTable;

    fn apply(&mut self, table: AskTable, file: &File<'_>) -> Result<(), ConfigError> {
        if table.notify.is_some() && file.source == Source::Project {
            return Err(file.refused(
                "ask.notify is a command that runs as you: it is not allowed in a file of the checkout; put it \
                 into your own config.toml (`hob doctor` names it)",
            ));
        }
        if table
            .notify
            .iter()
            .flatten()
            .next()
            .is_some_and(|program| program.contains('/') && !program.starts_with('/'))
        {
            return Err(file.refused("ask.notify: the program is a name on the PATH, or an absolute path"));
        }
        self.notify = table.notify.unwrap_or_else(|| std::mem::take(&mut self.notify));
        self.dialog = table.dialog.unwrap_or(self.dialog);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_checkout_sets_no_notification_command() {
        let table = || AskTable { notify: Some(vec!["true".to_owned()]), ..AskTable::default() };
        let mut settings = AskSettings::default();
        let file = |source| File::new(Path::new("a.toml"), source, "");
        let refused = settings.apply(table(), &file(Source::Project)).unwrap_err().to_string();
        assert!(refused.contains("your own config.toml"), "{refused}");
        settings.apply(table(), &file(Source::User)).unwrap();
        assert_eq!(settings.notify, ["true"]);
    }
}
