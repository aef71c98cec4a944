//! The settings `[work]`.

use project::ConfigError;
use project::config::{File, Settings};
use serde::Deserialize;

use crate::tracker::branch_issue::Pattern;

/// The configuration of this part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkSettings {
    /// The base branch, unless a pull request names another one.
    pub base: Option<String>,
    /// Additional patterns for branches that name an issue.
    pub branches: Vec<Pattern>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkTable {
    base: Option<String>,
    branches: Option<Vec<String>>,
}

/// The maximum number of patterns.
const PATTERNS: usize = 50;

impl Settings for WorkSettings {
    const NAME: &'static str = "work";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = WorkTable;

    fn apply(&mut self, table: WorkTable, file: &File<'_>) -> Result<(), ConfigError> {
        if let Some(base) = table.base {
            // The rules of git-check-ref-format; the name goes to git's command line.
            let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
            if base.is_empty() || base.starts_with(['-', '/']) || base.contains("..") || base.contains(is_odd) {
                return Err(file.refused(format!(
                    "work.base: {base:?} is not a valid branch name; give one like \"main\" or \"origin/main\""
                )));
            }
            self.base = Some(base);
        }
        if let Some(branches) = table.branches {
            if branches.len() > PATTERNS {
                return Err(file.refused(format!("work.branches has {} patterns; at most {PATTERNS}", branches.len())));
            }
            let patterns: Result<_, _> = branches.iter().map(|text| Pattern::parse(text)).collect();
            self.branches = patterns.map_err(|why| file.refused(format!("work.branches: {why}")))?;
        }
        Ok(())
    }
}
