//! Access of parts to each other without naming one another, for pending messages and facts, and to the connections.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

use mcp::tool::Context;

use super::Part;
use crate::connections::{Connections, Open};

/// The parts of a daemon, as seen by one of them.
#[derive(Default)]
pub(crate) struct Neighbours {
    /// Each part by its toolset's name; set once all are created. They hold this in turn.
    parts: OnceLock<Vec<(&'static str, Weak<dyn Part>)>>,
    /// `None` without a daemon.
    connections: Option<Arc<Connections>>,
}

/// A future with a part's text, if it has any.
pub(crate) type PartText<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

impl Neighbours {
    pub(super) fn new(connections: Option<&Arc<Connections>>) -> Arc<Neighbours> {
        Arc::new(Neighbours { parts: OnceLock::new(), connections: connections.cloned() })
    }

    /// Sets the parts. Only the first call counts.
    pub(super) fn introduce(&self, parts: &[Arc<dyn Part>]) {
        self.parts.get_or_init(|| parts.iter().map(|part| (part.toolset().name, Arc::downgrade(part))).collect());
    }

    /// Returns the pending messages for this caller, by part.
    pub(crate) async fn waiting(&self, cx: &Context) -> Vec<(&'static str, String)> {
        let mut waiting = Vec::new();
        for (name, part) in self.parts.get().into_iter().flatten() {
            if let Some(part) = part.upgrade()
                && let Some(text) = part.waiting(cx).await
            {
                waiting.push((*name, text));
            }
        }
        waiting
    }

    /// Returns the parts that are still alive.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, Arc<dyn Part>)> {
        self.parts.get().into_iter().flatten().filter_map(|(name, part)| Some((*name, part.upgrade()?)))
    }

    /// Returns the connections, unless there is no daemon.
    pub(crate) fn connections(&self) -> Option<&Arc<Connections>> {
        self.connections.as_ref()
    }

    /// Returns a fact about a worktree, from the part that knows it.
    pub(crate) async fn fact(&self, name: &str, worktree: &Path) -> Option<String> {
        for (_, part) in self.parts.get().into_iter().flatten() {
            if let Some(part) = part.upgrade()
                && let Some(fact) = part.fact(name, worktree).await
            {
                return Some(fact);
            }
        }
        None
    }

    /// Returns the name under which the agent of a connection registered, if a part knows one.
    pub(crate) fn agent_name(&self, cx: &Context) -> Option<String> {
        self.parts().find_map(|(_, part)| part.agent_name(cx))
    }

    /// Returns the connections of agents whose programs are in the worktree.
    pub(crate) fn agents(&self, worktree: &Path) -> Vec<Open> {
        self.connections.as_ref().map_or_else(Vec::new, |connections| connections.agents(worktree))
    }
}
