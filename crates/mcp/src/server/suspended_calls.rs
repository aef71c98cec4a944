//! Calls that wait for an answer that comes with another request, and the sealed tickets that name them. They belong to
//! the server, because the answer may come on another connection. `client_questions.rs` suspends and resumes them.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::calls::Target;
use super::peer::CallPeer;
use crate::era::base64;
use crate::era::params::Params;
use crate::tool::{ANSWER_TIMEOUT, Answers, Ask, AskError, CancelToken, NamedAsk};
use crate::wire::Json;

/// The limit of suspended calls.
const MAX_SUSPENDED: usize = 1024;

/// A call between two requests: the one that was answered with its question, and the one that brings the answer.
pub(super) struct SuspendedCall {
    pub target: Target,
    pub peer: Arc<CallPeer>,
    pub running: AbortOnDrop,
    /// The principal that may answer.
    pub principal: Arc<str>,
    pub digest: [u8; 32],
    /// The questions that are not answered yet.
    pub asks: Vec<(String, Ask)>,
    /// The questions' names that the tool chose.
    pub named: Option<NamedAsk>,
    /// The answers so far.
    pub given: Answers,
    pub answer: oneshot::Sender<Result<Answers, AskError>>,
    pub resume_by: ResumeBy,
    pub until: Instant,
}

/// The form of the answer to a suspended call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeBy {
    /// The call's request is sent again with a sealed ticket (2026-07-28).
    Ticket,
    /// The tool is called again with the argument `resume`.
    Argument,
}

/// Cancels and aborts a call when it is dropped.
pub(super) struct AbortOnDrop(Option<(CancelToken, AbortHandle)>);

impl AbortOnDrop {
    pub(super) fn new(cancel: CancelToken, task: AbortHandle) -> AbortOnDrop {
        AbortOnDrop(Some((cancel, task)))
    }

    /// Lets the call live.
    pub(super) fn disarm(mut self) -> Option<(CancelToken, AbortHandle)> {
        self.0.take()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some((cancel, task)) = self.0.take() {
            cancel.cancel();
            task.abort();
        }
    }
}

#[derive(Default)]
pub(super) struct SuspendedCalls {
    calls: Mutex<HashMap<String, SuspendedCall>>,
    key: OnceLock<[u8; 32]>,
}

/// The contents of a sealed ticket.
pub(super) struct Ticket {
    pub name: String,
    /// The question's name that the tool chose. Such a ticket does not expire.
    pub named: Option<String>,
    pub expired: bool,
    /// The effects of the call when it was suspended.
    pub effects: String,
}

impl SuspendedCalls {
    /// Keeps a call under a new name; returns it if there are too many.
    pub(super) fn suspend(&self, mut suspended: SuspendedCall) -> Result<String, Box<SuspendedCall>> {
        let now = Instant::now();
        suspended.until = suspended.named.as_ref().map_or(now + ANSWER_TIMEOUT, |named| named.until);
        let mut calls = self.lock();
        let late: Vec<String> =
            calls.iter().filter(|(_, suspended)| suspended.until <= now).map(|(name, _)| name.clone()).collect();
        let late: Vec<Option<SuspendedCall>> = late.iter().map(|name| calls.remove(name)).collect();
        if calls.len() >= MAX_SUSPENDED {
            return Err(Box::new(suspended));
        }
        let name = random_name();
        calls.insert(name.clone(), suspended);
        drop(calls);
        // Ending calls runs foreign code, so it happens outside of the lock.
        drop(late);
        Ok(name)
    }

    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= MAX_SUSPENDED
    }

    /// Takes the call of that name out, if it is to be resumed this way. A call is taken once.
    pub(super) fn take(
        &self,
        name: &str,
        resume_by: ResumeBy,
        allowed: impl FnOnce(&SuspendedCall) -> bool,
    ) -> Option<SuspendedCall> {
        let mut calls = self.lock();
        let suspended = calls.get(name)?;
        if suspended.resume_by != resume_by || suspended.until <= Instant::now() || !allowed(suspended) {
            return None;
        }
        calls.remove(name)
    }

    /// Ends all suspended calls.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *self.lock());
        drop(calls);
    }

    pub(super) fn set_key(&self, key: [u8; 32]) {
        self.key.get_or_init(|| key);
    }

    /// Seals a ticket for one caller and one call.
    pub(super) fn seal(
        &self,
        name: &str,
        principal: &str,
        digest: &[u8; 32],
        effects: &str,
        named: Option<&str>,
    ) -> String {
        let expiry = now() + ANSWER_TIMEOUT.as_secs();
        let mut ticket = format!("{name}.{expiry}.{}", base64::encode(effects.as_bytes()));
        if let Some(named) = named {
            ticket.push('.');
            ticket.push_str(&base64::encode(named.as_bytes()));
        }
        let seal = self.mac(&ticket, principal, digest);
        format!("{ticket}.{}", base64::encode(&seal.finalize().into_bytes()))
    }

    /// Opens a ticket that was sealed for this caller and this call; `None` if it is any other text.
    pub(super) fn open(&self, sealed: &str, principal: &str, digest: &[u8; 32]) -> Option<Ticket> {
        let (ticket, seal) = sealed.rsplit_once('.')?;
        self.mac(ticket, principal, digest).verify_slice(&base64::decode(seal)?).ok()?;
        let mut parts = ticket.split('.');
        let (name, expiry, effects) = (parts.next()?, parts.next()?, parts.next()?);
        let text = |part: &str| String::from_utf8(base64::decode(part)?).ok();
        let named = match parts.next() {
            Some(named) => Some(text(named)?),
            None => None,
        };
        let expired = named.is_none() && expiry.parse::<u64>().ok()? < now();
        Some(Ticket { name: name.to_owned(), named, expired, effects: text(effects)? })
    }

    fn mac(&self, ticket: &str, principal: &str, digest: &[u8; 32]) -> Hmac<Sha256> {
        let key = self.key.get_or_init(random);
        // The lengths keep one part from passing for another.
        let lengths = format!("mcp request state {} {}\n", ticket.len(), principal.len());
        hmac(key, &[lengths.as_bytes(), ticket.as_bytes(), principal.as_bytes(), digest])
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SuspendedCall>> {
        self.calls.lock()
    }
}

/// HMAC-SHA256 (RFC 2104) over the parts, one after the other.
fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// Identifies a call: its method, target and arguments, whatever their spelling as JSON.
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
        // Too deep to be parsed: used as written.
        Err(_) => raw.get().to_owned(),
    }
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    // Without the system's randomness every name could be guessed; the hasher's keys come from there too.
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
        // RFC 4231, test case 1, with its key of 20 bytes padded with zeros, as the algorithm does.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let mac = hmac(&key, &[b"Hi ", b"There"]);
        let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn a_ticket_opens_for_its_caller_and_its_call_only() {
        let calls = SuspendedCalls::default();
        let sealed = calls.seal("abc", "me", &[1; 32], "wrote a. file", Some("q.1"));
        let ticket = calls.open(&sealed, "me", &[1; 32]).expect("unchanged");
        assert_eq!((ticket.name.as_str(), ticket.effects.as_str(), ticket.expired), ("abc", "wrote a. file", false));
        assert_eq!(ticket.named.as_deref(), Some("q.1"));
        let unnamed = calls.seal("abc", "me", &[1; 32], "", None);
        assert_eq!(calls.open(&unnamed, "me", &[1; 32]).expect("unchanged").named, None);
        assert!(calls.open(&sealed, "you", &[1; 32]).is_none());
        assert!(calls.open(&sealed, "me", &[2; 32]).is_none());
        assert!(SuspendedCalls::default().open(&sealed, "me", &[1; 32]).is_none(), "another key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(calls.open(&String::from_utf8(changed).expect("ASCII"), "me", &[1; 32]).is_none(), "at {at}");
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
