//! Durable messages between agents: send, wait without polling, acknowledge. Nothing is lost, doubled or delivered to
//! the wrong mailbox. The store holds the truth; every way of waking an agent is only a hint.
//!
//! - [`model`]: names, priorities, messages, deliveries and their states.
//! - [`store`]: one trait, its engines ([`store::sqlite`] by default, [`store::postgres`] for agents on many machines,
//!   [`store::memory`] for tests), and their common promises.
//! - [`Mail`]: the service that tools, the command line and the sockets use.
//! - [`home`]: where a project's mail is, under any name of the project.
//! - [`spool`]: sends that wait while the store is unavailable, if enabled.
//! - [`callers`]: the callers and their names; [`tools`]: the agents' tools, one file each; [`framing`]: shows text of
//!   other agents.
//!
//! A front-end calls [`Mail::enter`] to take a name for a session, and keeps the result of [`Mail::attach`] for as long
//! as its connection lasts. Then:
//!
//! | | |
//! |---|---|
//! | send | [`Mail::send`], [`Mail::broadcast`] |
//! | receive | [`Mail::check`], [`Mail::wait`] hand out under a lease; [`Mail::ack`] and the next of these confirm;
//! [`Mail::confirm`] for callers without a next call |
//! | look | [`Mail::read_mailbox`], [`Mail::wait_after`], [`Mail::subscribe`] by cursor; [`Mail::thread`], [`Mail::search`], [`Mail::delivery_status`], [`Mail::message`] |
//! | people | [`Mail::agents`], [`Mail::groups`], [`Mail::group`], and changes of groups |
//! | hints | [`hints::hook_context`]; [`Mail::pending`], [`Mail::begin_hint`], [`Mail::end_hint`] |
//!
//! When a session's last connection ends, the session has a grace period (30 s) to reconnect. When its process has
//! exited, [`Mail::end_session`] ends it at once. The messages in hand of an ended session are handed out again,
//! marked.

pub mod callers;
pub mod control;
pub mod error;
pub mod framing;
pub mod hints;
pub mod home;
pub mod identity;
pub mod import;
pub mod journal;
mod membership;
pub mod model;
pub mod opening;
mod reminders;
pub mod service;
mod settings;
pub mod spool;
pub mod store;
mod thrum;
pub mod time;
pub mod tokens;
pub mod tools;
mod whole_id;

pub use error::{MailError, Refusal, StoreError};
pub use model::{
    Agent, AgentName, Clock, Delivery, DeliveryState, Floor, Group, GroupName, HandedOut, Holder, Limits, Liveness,
    Member, MemberKind, MessageId, MessageView, Millis, Outcome, Priority, Profile, Reminder, Role, Session, SessionId,
    Settlement, Space, nearest_priority,
};
pub use service::agents::{EnterRequest, Entry, Expanded, member};
pub use service::queries::{Hit, SearchRequest};
pub use service::receive::{CheckRequest, Checked, LONGEST_WAIT, WaitRequest, Waited};
pub use service::reply_throttle::Slowed;
pub use service::send::{BroadcastRequest, SendRequest, SentMessage, SentTo};
pub use service::subscribe::{ArrivalPage, Subscription};
pub use service::{Attachment, IsHere, Journal, Mail, MailOptions, Presence};
pub use settings::MailSettings;
pub use store::change::HintVerdict;
pub use store::query::{Counts, Fetched};
