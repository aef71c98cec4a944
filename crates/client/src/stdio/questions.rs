//! Requests from the daemon to the agent. Their ids get a random prefix per connection, so that a late answer to a lost
//! daemon is never taken for the answer to another question.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use mcp::wire::{Envelope, Id, build};
use serde::Serialize;
use serde_json::value::RawValue;

use super::peek;

/// The maximum number of open questions kept.
const OPEN_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Questions {
    prefix: String,
    count: u64,
    /// Id towards the agent → id of the daemon, as JSON.
    open: HashMap<Id, Box<str>>,
}

impl Questions {
    /// Starts with a new connection.
    pub(super) fn connected(&mut self) {
        self.prefix = format!("hob-{:016x}", random());
        self.count = 0;
    }

    /// Handles a question of the daemon. Returns the line for the agent.
    pub(super) fn ask(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let envelope = Envelope::peek(line)?;
        let theirs = envelope.raw_id()?;
        if self.open.len() >= OPEN_MAX {
            return None;
        }
        self.count += 1;
        let ours = format!("\"{}-{}\"", self.prefix, self.count);
        self.open.insert(Id::from_json(&ours)?, theirs.into());
        splice(line, theirs, &ours)
    }

    /// Handles the withdrawal of a question. Returns the line for the agent, if the question is open.
    pub(super) fn withdrawn(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let envelope = Envelope::peek(line)?;
        let theirs = peek::request_id(envelope.params()?)?;
        let ours = self.open.iter().find(|(_, id)| ***id == *theirs.as_json())?.0.clone();
        self.open.remove(&ours);
        let params: HashMap<&str, &RawValue> = serde_json::from_str(envelope.params()?.get()).ok()?;
        splice(line, params.get("requestId")?.get(), ours.as_json())
    }

    /// Handles an answer of the agent. Returns the line for the daemon, if it still waits for it.
    pub(super) fn answered(&mut self, line: &[u8], envelope: &Envelope) -> Option<Vec<u8>> {
        let theirs = self.open.remove(&envelope.id()?)?;
        splice(line, envelope.raw_id()?, &theirs)
    }

    /// Cancels the questions of a lost daemon. Returns lines for the agent.
    pub(super) fn abandon(&mut self) -> Vec<u8> {
        let mut lines = Vec::new();
        for id in self.open.drain().map(|(id, _)| id) {
            let Ok(request_id) = serde_json::from_str(id.as_json()) else { continue };
            let cancelled = Cancelled { request_id, reason: "the daemon that asked has ended" };
            let params = serde_json::to_string(&cancelled).expect("strings and JSON text are JSON");
            build::notification(&mut lines, "notifications/cancelled", Some(&params));
        }
        lines
    }
}

/// The parameters of a notification that cancels a request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'a> {
    request_id: &'a RawValue,
    reason: &'a str,
}

/// Returns `line` with `part`, a slice of it, replaced.
fn splice(line: &[u8], part: &str, with: &str) -> Option<Vec<u8>> {
    let start = (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    let (before, after) = (line.get(..start)?, line.get(start + part.len()..)?);
    Some([before, with.as_bytes(), after].concat())
}

/// Returns a unique number.
pub(super) fn random() -> u64 {
    // Keyed by the system's randomness; two calls differ.
    RandomState::new().build_hasher().finish()
}
