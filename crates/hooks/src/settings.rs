//! The settings `[hooks]`.

use project::ConfigError;
use project::config::{File, Settings};
use project::trust::{Places, Request};
use serde::Deserialize;

use crate::context::Bounds;

/// The configuration of hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksSettings {
    /// The parts that add to an agent's context.
    pub context: Vec<String>,
    pub brief: Brief,
    /// The limits for keeping an agent from stopping.
    pub holds: Bounds,
    pub keep: Keep,
}

/// The condition for giving the work brief to an agent whose session begins or whose memory was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Brief {
    /// If there is a note for the agent, or something waits for it.
    #[default]
    Auto,
    Always,
    Never,
}

/// The part of a payload that the journal stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The complete payload.
    #[default]
    Payload,
    /// Only its hash: such events cannot be decided again.
    Digest,
}

/// The parts that can add context.
const PARTS: &[&str] = &["mail", "ask", "work"];

impl Default for HooksSettings {
    fn default() -> HooksSettings {
        HooksSettings {
            context: PARTS.iter().map(|part| (*part).to_owned()).collect(),
            brief: Brief::default(),
            holds: Bounds::default(),
            keep: Keep::default(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HooksTable {
    context: Option<Vec<String>>,
    brief: Option<Brief>,
    holds: Option<u64>,
    holds_hourly: Option<u64>,
    keep: Option<Keep>,
}

impl Settings for HooksSettings {
    const NAME: &'static str = "hooks";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = HooksTable;

    /// A checkout cannot change how often a user's rules hold an agent, or the journal's content.
    fn requests(table: &HooksTable, places: &Places<'_>) -> Vec<Request> {
        let holds = [("holds", table.holds), ("holds_hourly", table.holds_hourly)];
        let holds = holds.into_iter().filter_map(|(name, count)| {
            Some(places.request(&["hooks", name], format!("sets how often an agent can be held to {}", count?)))
        });
        let asks = |_| places.request(&["hooks", "keep"], "changes the content of the journal of hooks".to_owned());
        holds.chain(table.keep.map(asks)).collect()
    }

    fn withhold(table: &mut HooksTable) {
        (table.holds, table.holds_hourly, table.keep) = (None, None, None);
    }

    fn apply(&mut self, table: HooksTable, file: &File<'_>) -> Result<(), ConfigError> {
        if let Some(unknown) = table.context.iter().flatten().find(|part| !PARTS.contains(&part.as_str())) {
            let parts = PARTS.join(", ");
            return Err(file.refused(format!("hooks.context: unknown part {unknown:?}; available: {parts}")));
        }
        let count =
            |name, value| Ok(file.number_in_range(name, value, 0..=100)?.and_then(|value| u32::try_from(value).ok()));
        self.holds.in_a_row = count("hooks.holds", table.holds)?.unwrap_or(self.holds.in_a_row);
        self.holds.an_hour = count("hooks.holds_hourly", table.holds_hourly)?.unwrap_or(self.holds.an_hour);
        self.context = table.context.unwrap_or_else(|| std::mem::take(&mut self.context));
        self.brief = table.brief.unwrap_or(self.brief);
        self.keep = table.keep.unwrap_or(self.keep);
        Ok(())
    }
}
