//! Journal records of the garden.

use project::journal::Event;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    BedWatered { bed: u64 },
}

impl Event for Record {}
