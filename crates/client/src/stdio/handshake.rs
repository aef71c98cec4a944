//! The agent's connection state, to be replayed to the next daemon: `initialize`, `initialized`, the log level, resource subscriptions, and calls that last
//! as long as their connection. (Listens stay open requests; the ledger holds them.)

use std::collections::HashSet;

use mcp::wire::{Envelope, Id, Json, build};
use serde::Deserialize;

use super::lists::Promised;
use super::peek::{self, Method};
use super::questions::random;

#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// The request that a daemon accepted.
    initialize: Option<Box<[u8]>>,
    /// True if `notifications/initialized` was sent to a daemon.
    pub(super) initialized: bool,
    level: Option<Box<[u8]>>,
    /// The subscriptions, by resource.
    subscriptions: Vec<(String, Box<[u8]>)>,
    /// Calls that changed the connection's tools.
    lasting: Vec<Box<[u8]>>,
    /// Ids of replayed requests: their answers are not for the agent.
    replayed: HashSet<Id>,
    batches: bool,
    promised: Promised,
}

/// The maximum number of lasting calls replayed.
const MAX_LASTING: usize = 32;

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Handshake {
    /// Returns true if the negotiated revision has batches: only 2025-03-26 does.
    pub(super) fn batches(&self) -> bool {
        self.batches
    }

    pub(super) fn subscribed(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// Returns the announcements promised to an initialized agent, and the resources it watches.
    pub(super) fn promised(&self) -> (Promised, impl Iterator<Item = &str>) {
        let promised = if self.initialized { self.promised } else { Promised::default() };
        (promised, self.subscriptions.iter().map(|(uri, _)| uri.as_str()))
    }

    /// Records the result of an agent's request.
    pub(super) fn answered(&mut self, method: Method, asked: &[u8], answer: &[u8]) {
        match method {
            Method::Initialize => {
                self.initialize = Some(asked.into());
                self.promised = Promised::parse_promises(answer);
                self.batches = version(answer).is_some_and(|version| version == "2025-03-26");
            }
            Method::SetLevel => self.level = Some(asked.into()),
            Method::Subscribe => {
                if let Some(uri) = uri(asked) {
                    self.subscriptions.retain(|(known, _)| *known != uri);
                    self.subscriptions.push((uri, asked.into()));
                }
            }
            Method::Unsubscribe => {
                if let Some(uri) = uri(asked) {
                    self.subscriptions.retain(|(known, _)| *known != uri);
                }
            }
            Method::Call | Method::Listen | Method::Plain => {}
        }
    }

    /// Records the result of a call that changed the connection's tools.
    pub(super) fn record_lasting_call(&mut self, call: Box<[u8]>) {
        if self.lasting.len() < MAX_LASTING && !self.lasting.iter().any(|known| peek::is_same_call(known, &call)) {
            self.lasting.push(call);
        }
    }

    /// Returns true if this is the answer to a replayed request.
    pub(super) fn swallows(&mut self, id: &Id) -> bool {
        self.replayed.remove(id)
    }

    pub(super) fn disconnected(&mut self) {
        self.replayed.clear();
    }

    /// Returns the notification, if it must follow a replayed `initialize`.
    pub(super) fn initialized_line(&self) -> Option<&'static [u8]> {
        self.initialized.then_some(INITIALIZED)
    }

    /// Appends the lines that bring a new daemon to the state of the last one. Omits `initialize` if the agent's own is
    /// in flight.
    pub(super) fn replay(&mut self, out: &mut Vec<u8>, initialize_in_flight: bool) {
        let mark = random();
        let mut replayed = HashSet::new();
        let mut again = |out: &mut Vec<u8>, line: &[u8]| {
            let Some(envelope) = Envelope::peek(line) else { return };
            let id = format!("\"hob-replay-{mark:016x}-{}\"", replayed.len());
            if let (Some(id), Some(method)) = (Id::from_json(&id), envelope.method()) {
                build::request(out, &id, method, envelope.params().map(Json::get));
                replayed.insert(id);
            }
        };
        if let Some(line) = self.initialize.as_deref().filter(|_| !initialize_in_flight) {
            again(out, line);
            if self.initialized {
                out.extend_from_slice(INITIALIZED);
                out.push(b'\n');
            }
        }
        let subscriptions = self.subscriptions.iter().map(|(_, line)| line);
        self.level.iter().chain(subscriptions).chain(&self.lasting).for_each(|line| again(out, line));
        self.replayed = replayed;
    }
}

fn uri(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let params = Envelope::peek(line)?.params()?;
    Some(serde_json::from_str::<Params>(params.get()).ok()?.uri)
}

fn version(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Result {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let result = Envelope::peek(answer)?.result()?;
    Some(serde_json::from_str::<Result>(result.get()).ok()?.version)
}
