//! One policy for the hooks of every coding agent: their events in one form, rules that decide on them, and the answer in
//! each agent's own form.
//!
//! - [`event`]: the canonical event.
//! - [`agents`]: which events an agent has, what it takes for an answer, and how that is written.
//! - [`policy`]: checked rules, the words of shell commands, and the decision, which is pure.
//! - [`files`]: the policy files, as they are in force; [`journal`]: what was decided and why.
//! - [`context`]: what is added to the agent's context, and when it is held at its turn's end; [`person`]: what a person is
//!   asked.
//! - [`deciding`]: an event's way through all of these.
//! - [`install`]: what agents' files hold so that they run `hob hook`; [`prove`]: whether that does what it promises.
//!
//! Saying nothing changes nothing: a pass is empty output, and the agent's own prompts stay as they are.

pub mod agents;
pub mod context;
pub mod deciding;
pub mod event;
pub mod files;
pub mod install;
pub mod journal;
pub mod person;
pub mod policy;
pub mod prove;
mod record;
mod settings;
pub mod spool;

use std::path::Path;

pub use agents::{Agent, Fail, Rendered, Version};
pub use event::{Event, Kind};
pub use record::Record;
pub use settings::{Brief, HooksSettings, Keep};

/// Reads a payload of an agent, whatever it is. `named` is the event that the command line says.
pub fn read(agent: Agent, named: &str, raw: &[u8]) -> Event {
    agents::read(agent, named, raw)
}

/// Returns true if there is a policy to ask: the project's or the user's.
pub fn has_policy(root: &Path) -> bool {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    is_there(&root.join(policy::FILE)) || files::user_path().is_some_and(|path| is_there(&path))
}
