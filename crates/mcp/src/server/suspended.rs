//! Calls that wait for an answer which comes with another request, and the sealed tickets that name them. They belong
//! to the server, not to a connection: the answer may come on another one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::calls::Target;
use super::peer::CallPeer;
use crate::era::base64;
use crate::era::params::Params;
use crate::tool::{Answers, Ask, AskError, Cancel, PATIENCE};
use crate::wire::Json;

/// How many calls may wait so.
const MOST: usize = 1024;

/// A call between two requests.
pub(super) struct Parked {
    pub target: Target,
    pub peer: Arc<CallPeer>,
    pub running: Running,
    /// Who may answer.
    pub principal: Arc<str>,
    pub digest: [u8; 32],
    /// What is not answered.
    pub asks: Vec<(String, Ask)>,
    /// What is.
    pub given: Answers,
    pub answer: oneshot::Sender<Result<Answers, AskError>>,
    pub way: Way,
    pub until: Instant,
}

/// How the answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// With the call's request once more, and a sealed ticket.
    Sealed,
    /// As an argument of the tool.
    Argument,
}

/// What ends a call when it is dropped.
pub(super) struct Running(Option<(Cancel, AbortHandle)>);

impl Running {
    pub(super) fn new(cancel: Cancel, task: AbortHandle) -> Running {
        Running(Some((cancel, task)))
    }

    /// Lets it go on.
    pub(super) fn go_on(mut self) -> Option<(Cancel, AbortHandle)> {
        self.0.take()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((cancel, task)) = self.0.take() {
            cancel.cancel();
            task.abort();
        }
    }
}

#[derive(Default)]
pub(super) struct SuspendedCalls {
    calls: Mutex<HashMap<String, Parked>>,
    key: OnceLock<[u8; 32]>,
}

/// What a sealed ticket says.
pub(super) struct Ticket {
    pub name: String,
    pub expired: bool,
    /// What the call had done when it was parked.
    pub effects: String,
}

impl SuspendedCalls {
    /// Keeps a call under a new name. Gives it back if there are too many.
    pub(super) fn park(&self, mut parked: Parked) -> Result<String, Box<Parked>> {
        let now = Instant::now();
        parked.until = now + PATIENCE;
        let mut calls = self.lock();
        let late: Vec<String> =
            calls.iter().filter(|(_, parked)| parked.until <= now).map(|(name, _)| name.clone()).collect();
        let late: Vec<Option<Parked>> = late.iter().map(|name| calls.remove(name)).collect();
        if calls.len() >= MOST {
            return Err(Box::new(parked));
        }
        let name = random_name();
        calls.insert(name.clone(), parked);
        drop(calls);
        // Ending calls runs foreign code: not under the lock.
        drop(late);
        Ok(name)
    }

    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= MOST
    }

    /// Takes a call that waits for an answer that comes this way. Once.
    pub(super) fn take(&self, name: &str, way: Way, allowed: impl FnOnce(&Parked) -> bool) -> Option<Parked> {
        let mut calls = self.lock();
        let parked = calls.get(name)?;
        if parked.way != way || parked.until <= Instant::now() || !allowed(parked) {
            return None;
        }
        calls.remove(name)
    }

    /// Ends them all.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *self.lock());
        drop(calls);
    }

    pub(super) fn set_key(&self, key: [u8; 32]) {
        self.key.get_or_init(|| key);
    }

    /// Seals a ticket for one caller and one call.
    pub(super) fn seal(&self, name: &str, principal: &str, digest: &[u8; 32], effects: &str) -> String {
        let expiry = now() + PATIENCE.as_secs();
        let ticket = format!("{name}.{expiry}.{}", base64::encode(effects.as_bytes()));
        let seal = self.mac(&ticket, principal, digest);
        format!("{ticket}.{}", base64::encode(&seal))
    }

    /// Opens one that was sealed for this caller and this call.
    pub(super) fn open(&self, sealed: &str, principal: &str, digest: &[u8; 32]) -> Option<Ticket> {
        let (ticket, seal) = sealed.rsplit_once('.')?;
        let seal = base64::decode(seal)?;
        let expected = self.mac(ticket, principal, digest);
        // Without a branch on where they differ.
        let differ =
            seal.iter().zip(&expected).fold(seal.len() ^ expected.len(), |differ, (a, b)| differ | usize::from(a ^ b));
        if differ != 0 {
            return None;
        }
        let mut parts = ticket.split('.');
        let (name, expiry, effects) = (parts.next()?, parts.next()?, parts.next()?);
        let effects = String::from_utf8(base64::decode(effects)?).ok()?;
        Some(Ticket { name: name.to_owned(), expired: expiry.parse::<u64>().ok()? < now(), effects })
    }

    fn mac(&self, ticket: &str, principal: &str, digest: &[u8; 32]) -> [u8; 32] {
        let key = self.key.get_or_init(random);
        // The lengths keep one part from passing for another.
        let lengths = format!("mcp request state {} {}\n", ticket.len(), principal.len());
        hmac(key, &[lengths.as_bytes(), ticket.as_bytes(), principal.as_bytes(), digest])
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// HMAC-SHA256 (RFC 2104) with a key of 32 bytes.
fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    block[..32].copy_from_slice(key);
    let mut inner = Sha256::new();
    inner.update(block.map(|byte| byte ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new();
    outer.update(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// What makes two requests the same call: the method and what it is called on and with, however it is written.
pub(super) fn digest(method: &str, params: &Params<'_>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [params.name, params.uri, params.arguments] {
        let text = part.map(canonical).unwrap_or_default();
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    digest.update(method);
    digest.finalize().into()
}

fn canonical(raw: Json<'_>) -> String {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        // Too deep to be read: as it was written.
        Err(_) => raw.get().to_owned(),
    }
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    // Without the system's randomness nothing could be kept from being guessed; the hasher's keys come from there too.
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

pub(super) fn random_name() -> String {
    random()[..12].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_the_one_of_the_standard() {
        // RFC 4231, test case 1: its key of 20 bytes, padded with zeros as the algorithm does.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let mac = hmac(&key, &[b"Hi ", b"There"]);
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn a_ticket_opens_for_its_caller_and_its_call_only() {
        let lot = SuspendedCalls::default();
        let sealed = lot.seal("abc", "me", &[1; 32], "wrote a. file");
        let ticket = lot.open(&sealed, "me", &[1; 32]).expect("unchanged");
        assert_eq!((ticket.name.as_str(), ticket.effects.as_str(), ticket.expired), ("abc", "wrote a. file", false));
        assert!(lot.open(&sealed, "you", &[1; 32]).is_none());
        assert!(lot.open(&sealed, "me", &[2; 32]).is_none());
        assert!(SuspendedCalls::default().open(&sealed, "me", &[1; 32]).is_none(), "another key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(lot.open(&String::from_utf8(changed).expect("ASCII"), "me", &[1; 32]).is_none(), "at {at}");
        }
    }

    #[test]
    fn the_same_call_has_the_same_digest_however_it_is_written() {
        let digest = |text: &str| digest("tools/call", &Params::read(Json::check(text)).expect("parameters"));
        let one = digest(r#"{"name":"x","arguments":{"a":1,"b":{"c":2,"d":3}}}"#);
        assert_eq!(one, digest(r#"{"arguments": {"b": {"d": 3, "c": 2}, "a": 1}, "name": "\u0078", "_meta": {}}"#));
        assert_ne!(one, digest(r#"{"name":"x","arguments":{"a":1,"b":{"c":2,"d":4}}}"#));
        assert_ne!(one, digest(r#"{"name":"y","arguments":{"a":1,"b":{"c":2,"d":3}}}"#));
    }
}
