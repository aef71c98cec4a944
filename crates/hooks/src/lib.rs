//! One policy for the hooks of all coding agents. Their events have one form, rules decide on them, and the answer is given in
//! each agent's format.
//!
//! - [`event`]: the canonical event.
//! - [`agents`]: the events of each agent, the supported answers, and their format.
//! - [`policy`]: checked rules, the words of shell commands, and the decision, which is pure.
//! - [`files`]: the policy files and the rules in force; [`journal`]: the decisions with their reasons.
//! - [`context`]: additions to the agent's context, and holds at its turn's end; [`person_questions`]: questions to a person.
//! - [`decision`]: the path of an event through all of these.
//! - [`service`]: the hooks of a daemon, with the interfaces to its other parts.
//! - [`install`]: the entries in agents' files that run `hob hook`; [`prove`]: tests of these entries.
//!
//! Without a matching rule nothing changes: a pass is empty output, and the agent's own prompts stay.

pub mod agents;
pub mod context;
pub mod decision;
pub mod event;
pub mod files;
pub mod install;
pub mod journal;
pub mod person_questions;
pub mod policy;
pub mod prove;
mod record;
pub mod service;
mod settings;
pub mod spool;

use std::path::Path;

pub use agents::{Agent, Fail, Rendered, Version};
pub use event::{Event, Kind};
pub use record::Record;
pub use settings::{Brief, HooksSettings, Keep};

/// Reads any payload of an agent. `named` is the event of the command line.
pub fn read(agent: Agent, named: &str, raw: &[u8]) -> Event {
    agents::read(agent, named, raw)
}

/// Returns true if the project or the user has a policy.
pub fn has_policy(root: &Path) -> bool {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    is_there(&root.join(policy::FILE)) || files::user_path().is_some_and(|path| is_there(&path))
}
