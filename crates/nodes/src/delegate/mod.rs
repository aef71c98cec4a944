//! Delegation: if no model is configured, the caller answers a call itself. It gets the prompt, the schema and a ticket. It
//! submits the value with the ticket, and hob validates it like a model's value.

mod store;
mod ticket;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::file::{Parts, hash};
use crate::provider::{self, Message};
use crate::run::answer;
use crate::{Node, run};
use store::{Call, FAILED_MAX, Store, SubmittedValue};
use ticket::{Ticket, digest};

/// The lifetime of a ticket.
pub const VALID: Duration = Duration::from_secs(3600);
/// The number of equal wrong values, or of invalid tickets, after which a caller is told to stop.
pub const TRIES: usize = 3;
/// The maximum number of callers whose invalid tickets are counted.
const CALLERS_MAX: usize = 256;

/// The task for a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    pub ticket: String,
    pub messages: Vec<Message>,
    /// The JSON Schema of the value.
    pub schema: Value,
    /// The expiry in seconds since 1970.
    pub expires: u64,
    /// The maximum number of values that may be submitted.
    pub attempts: u32,
}

/// The reason why a call cannot be delegated.
#[derive(Debug, thiserror::Error)]
pub enum DelegateError {
    /// The input is invalid.
    #[error("invalid input for {node}: {}", .problems.join("; "))]
    Input { node: String, problems: Vec<String> },
    #[error("{0}")]
    Template(String),
    /// The prompt and schema exceed the node's token limit.
    #[error("this attempt needs about {needs} tokens; policy.tokens of the node allows {allows}")]
    Budget { needs: u64, allows: u64 },
    /// The record of the call could not be stored.
    #[error("the call could not be kept for its answer: {0}")]
    Store(#[from] io::Error),
}

/// The result of submitting a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// The value is valid and is now the node's value.
    Accepted {
        node: String,
        node_hash: String,
        value: Value,
        /// True if another value was accepted before. That value stays.
        was_answered: bool,
        /// True if any value was accepted before. This submission does not count.
        is_repeated: bool,
    },
    /// The value is invalid.
    Rejected {
        node: String,
        node_hash: String,
        problems: Vec<String>,
        attempts_left: u32,
        /// True if the same value was submitted before. It counts once.
        is_repeated: bool,
    },
    /// The caller must not try again: it submitted as many wrong values for this input as the node allows (at least three), or
    /// the same wrong value three times. All tickets for the input count.
    Stopped { node: String, node_hash: String, problems: Vec<String>, values: usize, is_repeated: bool },
    /// The ticket's attempts were used up before. This value was not validated.
    Spent { node: String },
    /// The ticket has expired. The number counts this caller's invalid tickets in a row.
    Expired { in_a_row: usize },
    /// The ticket is not valid for this caller and project, or its call no longer exists.
    Unknown { in_a_row: usize },
}

/// The delegated calls of a project.
#[derive(Debug)]
pub struct Delegation {
    /// The key that seals tickets.
    key: [u8; 32],
    store: Store,
    /// Held while a record changes, so that a ticket is answered once.
    changing: Mutex<()>,
    /// The number of invalid tickets in a row, by caller.
    invalid: Mutex<HashMap<String, usize>>,
    /// The current time in seconds since 1970.
    now: fn() -> u64,
}

impl Delegation {
    /// Creates the store in the directory, which is created on first use. `key` belongs to the project and serves only this
    /// purpose. Without a key, tickets are valid only in this process.
    pub fn new(key: Option<[u8; 32]>, directory: PathBuf) -> Delegation {
        Delegation::at(key, directory, now)
    }

    /// Creates the store with another clock.
    #[doc(hidden)]
    pub fn at(key: Option<[u8; 32]>, directory: PathBuf, now: fn() -> u64) -> Delegation {
        let (store, changing, invalid) = (Store::new(directory), Mutex::default(), Mutex::default());
        Delegation { key: key.unwrap_or_else(random), store, changing, invalid, now }
    }

    /// Begins a call that the caller answers. Blocks on the disk.
    pub fn begin(&self, node: &Node, given: Map<String, Value>, principal: &str) -> Result<Delegated, DelegateError> {
        let input =
            node.complete(given).map_err(|problems| DelegateError::Input { node: node.name.clone(), problems })?;
        let messages = run::prompt(node, &input).map_err(DelegateError::Template)?;
        let (needs, allows) = (provider::estimate(&messages), node.policy.tokens);
        if needs > allows {
            return Err(DelegateError::Budget { needs, allows });
        }
        let now = (self.now)();
        let ticket =
            Ticket { id: random(), expires: now + VALID.as_secs(), node: node_hash(&node.hash), input: digest(&input) };
        let attempts = node.policy.attempts;
        let call = Call {
            expires: ticket.expires,
            node: node.name.clone(),
            text: node.text.clone(),
            parts: node.parts.texts().map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
            input,
            attempts_left: attempts,
            last: None,
            task: ticket.task(principal),
            failed: Vec::new(),
        };
        let _changing = self.changing.lock();
        self.store.make_room(now)?;
        self.store.put(&ticket.id(), &call)?;
        Ok(Delegated {
            ticket: ticket.seal(&self.key, principal),
            messages,
            schema: node.output.json.clone(),
            expires: ticket.expires,
            attempts,
        })
    }

    /// Validates a value. A repeated value gets the same answer and counts once. The third time, its caller is told to
    /// stop. Blocks on the disk.
    pub fn submit(&self, sealed: &str, value: Value, principal: &str) -> io::Result<Submitted> {
        let submitted = self.submit_once(sealed, value, principal)?;
        let mut invalid = self.invalid.lock();
        let (Submitted::Expired { in_a_row } | Submitted::Unknown { in_a_row }) = submitted else {
            invalid.remove(principal);
            return Ok(submitted);
        };
        if invalid.len() >= CALLERS_MAX {
            invalid.clear();
        }
        let count = invalid.entry(principal.to_owned()).or_default();
        *count += in_a_row;
        let in_a_row = *count;
        Ok(match submitted {
            Submitted::Expired { .. } => Submitted::Expired { in_a_row },
            _ => Submitted::Unknown { in_a_row },
        })
    }

    fn submit_once(&self, sealed: &str, value: Value, principal: &str) -> io::Result<Submitted> {
        const UNKNOWN: Submitted = Submitted::Unknown { in_a_row: 1 };
        let Some(ticket) = Ticket::open(sealed, &self.key, principal) else { return Ok(UNKNOWN) };
        if ticket.expires <= (self.now)() {
            return Ok(Submitted::Expired { in_a_row: 1 });
        }
        let _changing = self.changing.lock();
        let Some(mut call) = self.store.get(&ticket.id())? else { return Ok(UNKNOWN) };
        let parts = Parts(call.parts.iter().map(|(name, text)| (name.clone(), Ok(text.clone()))).collect());
        let is_of_node = node_hash(&hash(&call.text, &parts)) == ticket.node;
        let node_of_ticket = Node::parse_with(&call.node, &call.text, parts).ok();
        let is_of_ticket = is_of_node && digest(&call.input) == ticket.input;
        let Some(node) = node_of_ticket.filter(|_| is_of_ticket) else { return Ok(UNKNOWN) };
        let named = || (node.name.clone(), node.hash.clone());
        let accepted = |value, was_answered, is_repeated| {
            let (node, node_hash) = named();
            Submitted::Accepted { node, node_hash, value, was_answered, is_repeated }
        };
        let rejected = |problems, attempts_left, is_repeated| {
            let (node, node_hash) = named();
            Submitted::Rejected { node, node_hash, problems, attempts_left, is_repeated }
        };
        let stopped = |problems, values, is_repeated| {
            let (node, node_hash) = named();
            Submitted::Stopped { node, node_hash, problems, values, is_repeated }
        };
        let (value, problems) = judged(&node, &call.input, value);
        if let Some(last) = &call.last {
            if last.problems.is_empty() {
                return Ok(accepted(last.value.clone(), last.value != value, true));
            }
            let is_repeated = last.value == value;
            if is_repeated || call.attempts_left == 0 {
                let last = last.problems.clone();
                return Ok(match self.fail(&ticket, &mut call, &node, &value, &problems)? {
                    Some(values) => stopped(if problems.is_empty() { last } else { problems }, values, is_repeated),
                    None if is_repeated => rejected(problems, call.attempts_left, true),
                    None => Submitted::Spent { node: node.name.clone() },
                });
            }
        }
        call.last = Some(SubmittedValue { value: value.clone(), problems: problems.clone() });
        if problems.is_empty() {
            call.failed.clear();
            self.store.put(&ticket.id(), &call)?;
            return Ok(accepted(value, false, false));
        }
        call.attempts_left = call.attempts_left.saturating_sub(1);
        Ok(match self.fail(&ticket, &mut call, &node, &value, &problems)? {
            Some(values) => stopped(problems, values, false),
            None => rejected(problems, call.attempts_left, false),
        })
    }

    /// Counts a rejected value and stores the call. If the caller must stop, returns the number of rejected values for the same
    /// version of the node, input and caller.
    fn fail(
        &self,
        ticket: &Ticket,
        call: &mut Call,
        node: &Node,
        value: &Value,
        problems: &[String],
    ) -> io::Result<Option<usize>> {
        let value = hex::encode(digest(value));
        call.failed.truncate(FAILED_MAX - 1);
        call.failed.insert(0, value.clone());
        self.store.put(&ticket.id(), call)?;
        let failed = self.store.failed(&call.task)?;
        let equal = failed.iter().filter(|known| **known == value).count();
        let distinct = failed.iter().collect::<BTreeSet<_>>().len();
        let is_too_many = !problems.is_empty() && distinct >= TRIES.max(node.policy.attempts as usize);
        Ok((equal >= TRIES || is_too_many).then_some(failed.len()))
    }
}

/// Returns the parsed value and its problems. A model may write the value as a text or inside a fence.
fn judged(node: &Node, input: &Map<String, Value>, value: Value) -> (Value, Vec<String>) {
    let problems = node.problems(input, &value);
    if let (false, Value::String(text)) = (problems.is_empty(), &value)
        && let Ok(meant) = answer::value(text)
    {
        let problems = node.problems(input, &meant);
        return (meant, problems);
    }
    (value, problems)
}

fn node_hash(hash: &str) -> [u8; 8] {
    let mut bytes = [0; 8];
    // The text is eight bytes in hex.
    let _ = hex::decode_to_slice(hash, &mut bytes);
    bytes
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
