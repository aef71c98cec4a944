//! The format of the journal: typed records of events. Clients show it and tests wait on it; the log is separate.
//!
//! Each part declares its own records; the daemon's are [`Record`]. A reader gets all of them in one form, [`Entry`].

use std::fmt::Debug;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A record with its number in the journal, as read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The record's number since the daemon started: counts from 1, without gaps.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The kind of record.
    pub record: String,
    /// The other fields, as the part that wrote the record declares them.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// An event, declared by the crate that records it: an enum with `#[serde(tag = "record", rename_all = "snake_case")]`.
pub trait Event: Serialize + Debug + Send + Sync + 'static {
    /// Returns true if the record is written to the file immediately. Records that come thousands of times a second may
    /// be batched.
    fn is_rare(&self) -> bool {
        false
    }
}

/// Returns the milliseconds since 1970.
pub fn now() -> u64 {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time in milliseconds since 1970; the same time gives the same number in each call.
pub fn time_of(time: Instant) -> u64 {
    static ANCHOR: OnceLock<(Instant, u64)> = OnceLock::new();
    let (anchor, at) = *ANCHOR.get_or_init(|| (Instant::now(), now()));
    let span = |span: Duration| u64::try_from(span.as_millis()).unwrap_or_default();
    match time.checked_duration_since(anchor) {
        Some(after) => at + span(after),
        None => at.saturating_sub(span(anchor.saturating_duration_since(time))),
    }
}

/// An event of the daemon itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The daemon serves.
    DaemonStarted {
        /// Its process id.
        pid: u32,
        version: String,
        /// The id of this daemon process.
        life: String,
    },
    /// The daemon stops.
    DaemonStopping { reason: String },
    /// A connection was accepted.
    ConnectionOpened {
        connection: u64,
        /// Its role.
        role: crate::Role,
        /// The process at its other end.
        pid: u32,
        /// The name of its agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A connection ended.
    ConnectionClosed { connection: u64, reason: String },
}

impl Event for Record {
    fn is_rare(&self) -> bool {
        matches!(self, Record::DaemonStarted { .. } | Record::DaemonStopping { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_every_record_in_one_form() {
        let line = r#"{"seq":7,"at_ms":1,"record":"evaluation_finished","session":"main","eval":3}"#;
        let entry: Entry = serde_json::from_str(line).unwrap();
        assert_eq!((entry.seq, &*entry.record, &entry.fields["eval"]), (7, "evaluation_finished", &Value::from(3)));
        assert!(now() > 1_700_000_000_000);
    }
}
