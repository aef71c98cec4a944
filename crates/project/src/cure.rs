//! The settings of the Cure compiler (`[cure]`): where modules are found, and whether and how far programs may run.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::config::ConfigError;

/// What is configured for Cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CureConfig {
    /// The directories where modules are found, relative to the worktree; none for all of it.
    pub roots: Vec<PathBuf>,
    /// Whether programs may be run. They run in an interpreter without files, network or processes; what they cost is
    /// time and memory of the daemon.
    pub run: bool,
    /// How many steps a run may do.
    pub run_steps: u64,
    /// How many bytes of memory a run may take.
    pub run_memory: u64,
    /// How long a run may take.
    pub run_time: Duration,
}

impl Default for CureConfig {
    fn default() -> CureConfig {
        CureConfig {
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
pub(crate) struct CureTable {
    roots: Option<Vec<PathBuf>>,
    run: Option<bool>,
    run_steps: Option<u64>,
    run_memory: Option<u64>,
    run_seconds: Option<u64>,
}

impl CureConfig {
    pub(crate) fn apply(&mut self, path: &Path, table: CureTable) -> Result<(), ConfigError> {
        if let Some(roots) = table.roots {
            let leads_out = |root: &&PathBuf| !root.components().all(|part| matches!(part, Component::Normal(_)));
            if let Some(root) = roots.iter().find(leads_out) {
                return Err(ConfigError::Root { path: path.to_owned(), root: root.clone() });
            }
            self.roots = roots;
        }
        self.run = table.run.unwrap_or(self.run);
        let mib = 1024 * 1024;
        let within = |key, value: Option<u64>, range: std::ops::RangeInclusive<u64>| match value {
            Some(value) if !range.contains(&value) => {
                Err(ConfigError::Range { path: path.to_owned(), key, value, range })
            }
            value => Ok(value),
        };
        let steps = within("cure.run_steps", table.run_steps, 1..=1_000_000_000_000)?;
        let memory = within("cure.run_memory", table.run_memory, mib..=64 * 1024 * mib)?;
        let seconds = within("cure.run_seconds", table.run_seconds, 1..=3600)?;
        self.run_steps = steps.unwrap_or(self.run_steps);
        self.run_memory = memory.unwrap_or(self.run_memory);
        self.run_time = seconds.map_or(self.run_time, Duration::from_secs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<CureConfig, ConfigError> {
        let mut config = CureConfig::default();
        config.apply(Path::new("hob.toml"), toml::from_str(text).unwrap())?;
        Ok(config)
    }

    #[test]
    fn what_can_be_said() {
        let config = applied("roots = [\"src\", \"lib/cure\"]\nrun = true\nrun_seconds = 60\n").unwrap();
        assert_eq!(config.roots, [PathBuf::from("src"), PathBuf::from("lib/cure")]);
        assert_eq!((config.run, config.run_time), (true, Duration::from_secs(60)));
        for (text, wanted) in [
            ("roots = [\"/etc\"]", "/etc leads out of the project"),
            ("roots = [\"src/../..\"]", "src/../.. leads out of the project"),
            ("run_seconds = 0", "cure.run_seconds = 0 is outside 1 to 3600"),
            ("run_memory = 1", "cure.run_memory = 1 is outside"),
        ] {
            let said = applied(text).unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
