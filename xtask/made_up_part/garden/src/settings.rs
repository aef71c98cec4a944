//! The settings of the garden (`[garden]`): the number of beds.

use project::ConfigError;
use project::config::{File, Settings};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq)]
pub struct GardenSettings {
    pub beds: u64,
}

impl Default for GardenSettings {
    fn default() -> GardenSettings {
        GardenSettings { beds: 2 }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GardenTable {
    beds: Option<u64>,
}

impl Settings for GardenSettings {
    const NAME: &'static str = "garden";
    const TEMPLATE: &'static str = "# How many beds the garden has.\n#beds = 2\n";
    type Table = GardenTable;

    fn apply(&mut self, table: GardenTable, file: &File<'_>) -> Result<(), ConfigError> {
        self.beds = file.within("garden.beds", table.beds, 1..=9)?.unwrap_or(self.beds);
        Ok(())
    }
}
