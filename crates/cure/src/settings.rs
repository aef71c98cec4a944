//! The settings of the Cure compiler (`[cure]`): where modules are found, whether programs may run, and with which
//! limits.

use std::path::{Component, PathBuf};
use std::time::Duration;

use project::config::{File, Settings};
use project::{ConfigError, visible};
use serde::Deserialize;

/// The settings of the Cure compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CureSettings {
    /// The directories where modules are found, relative to the worktree; empty for the whole worktree.
    pub roots: Vec<PathBuf>,
    /// True if programs may be run. They run in an interpreter without files, network or processes, and cost the daemon
    /// only time and memory.
    pub run: bool,
    /// Maximum steps of a run.
    pub run_steps: u64,
    /// Maximum memory of a run, in bytes.
    pub run_memory: u64,
    /// Maximum duration of a run.
    pub run_time: Duration,
}

impl Default for CureSettings {
    fn default() -> CureSettings {
        CureSettings {
            roots: Vec::new(),
            run: false,
            run_steps: 1_000_000_000,
            run_memory: 256 * 1024 * 1024,
            run_time: Duration::from_secs(10),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CureTable {
    roots: Option<Vec<PathBuf>>,
    run: Option<bool>,
    run_steps: Option<u64>,
    run_memory: Option<u64>,
    run_seconds: Option<u64>,
}

impl Settings for CureSettings {
    const NAME: &'static str = "cure";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = CureTable;

    fn apply(&mut self, table: CureTable, file: &File<'_>) -> Result<(), ConfigError> {
        if let Some(roots) = table.roots {
            let leads_out = |root: &&PathBuf| !root.components().all(|part| matches!(part, Component::Normal(_)));
            if let Some(root) = roots.iter().find(leads_out) {
                return Err(file.refused(format!(
                    "cure.roots: {} is outside the project; name a directory inside it, relative to its root",
                    visible::path(root)
                )));
            }
            self.roots = roots;
        }
        self.run = table.run.unwrap_or(self.run);
        let mib = 1024 * 1024;
        let steps = file.number_in_range("cure.run_steps", table.run_steps, 1..=1_000_000_000_000)?;
        let memory = file.number_in_range("cure.run_memory", table.run_memory, mib..=64 * 1024 * mib)?;
        let seconds = file.number_in_range("cure.run_seconds", table.run_seconds, 1..=3600)?;
        self.run_steps = steps.unwrap_or(self.run_steps);
        self.run_memory = memory.unwrap_or(self.run_memory);
        self.run_time = seconds.map_or(self.run_time, Duration::from_secs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use project::config::Source;
    use serde_json::{Value, json};
    use std::path::Path;

    fn applied(table: Value) -> Result<CureSettings, ConfigError> {
        let mut settings = CureSettings::default();
        let file = File::new(Path::new("hob.toml"), Source::Project, "");
        settings.apply(serde_json::from_value(table).unwrap(), &file)?;
        Ok(settings)
    }

    #[test]
    fn what_can_be_said() {
        let config = applied(json!({"roots": ["src", "lib/cure"], "run": true, "run_seconds": 60})).unwrap();
        assert_eq!(config.roots, [PathBuf::from("src"), PathBuf::from("lib/cure")]);
        assert_eq!((config.run, config.run_time), (true, Duration::from_secs(60)));
        for (table, wanted) in [
            (json!({"roots": ["/etc"]}), "/etc is outside the project"),
            (json!({"roots": ["src/../.."]}), "src/../.. is outside the project"),
            (json!({"run_seconds": 0}), "cure.run_seconds = 0 is outside 1 to 3600"),
            (json!({"run_memory": 1}), "cure.run_memory = 1 is outside"),
        ] {
            let said = applied(table).unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
