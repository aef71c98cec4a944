//! The model of mail: names, priorities, messages, deliveries and their states, addresses, limits, time.
//!
//! Plain values and pure rules; this module neither stores nor waits. Start with [`message`].

pub mod address;
pub mod agent;
pub mod clock;
pub mod group;
pub mod ids;
pub mod limits;
pub mod message;
pub mod order;
pub mod priority;
pub mod search_words;

pub use address::{Address, AddressError};
pub use agent::{Agent, Holder, Liveness, Profile, Session};
pub use clock::{Clock, Millis};
pub use group::{Group, Member, MemberKind};
pub use ids::{AgentName, GroupName, MessageId, NameError, Role, SessionId, Space};
pub use limits::Limits;
pub use message::{
    Delivery, DeliveryState, HandedOut, HintAttempt, Kind, MessageView, Outcome, Reminder, Resolution, ResolvedKind,
    Settlement,
};
pub use priority::{Floor, Priority, nearest_priority};
