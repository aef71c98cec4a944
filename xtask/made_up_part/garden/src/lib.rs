//! A garden with a few beds: a minimal example part, which shows that a part is one crate, one file and one line.

mod journal;
mod settings;
mod water_bed;

use std::sync::{Arc, Mutex, PoisonError};

use mcp::resource::{Contents, Resource, Resources, resource};
use mcp::tool::{AnyTool, tool};

pub use journal::Record;
pub use settings::GardenSettings;

/// Receiver of journal records.
pub type Journal = Arc<dyn Fn(Record) + Send + Sync>;

/// The beds: how often each was watered.
pub struct Garden {
    beds: Mutex<Vec<u64>>,
    journal: Journal,
}

impl Garden {
    /// Creates a garden with the configured number of beds, all dry.
    pub fn new(settings: &GardenSettings, journal: Journal) -> Arc<Garden> {
        let beds = usize::try_from(settings.beds).unwrap_or_default();
        Arc::new(Garden { beds: Mutex::new(vec![0; beds]), journal })
    }

    /// Waters a bed, counted from 1, and returns how often it was watered; `None` for an unknown bed.
    pub(crate) fn water(&self, bed: u64) -> Option<u64> {
        let mut beds = self.beds.lock().unwrap_or_else(PoisonError::into_inner);
        let count = usize::try_from(bed).ok()?.checked_sub(1).and_then(|index| beds.get_mut(index))?;
        *count += 1;
        (self.journal)(Record::BedWatered { bed });
        Some(*count)
    }

    /// Returns how often each bed was watered.
    pub fn watered(&self) -> Vec<u64> {
        self.beds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the garden's tools.
pub fn tools(garden: &Arc<Garden>) -> Vec<Arc<dyn AnyTool>> {
    vec![tool(water_bed::WaterBed(garden.clone()))]
}

/// Adds the garden's resources.
pub fn serve_resources(garden: &Arc<Garden>, resources: &Arc<Resources>) {
    let garden = garden.clone();
    resources.add(resource(Resource::new("garden://beds", "beds"), move |_| {
        let text = format!("{:?}", garden.watered());
        async move { Ok(vec![Contents::text("garden://beds", "text/plain", text)]) }
    }));
}
