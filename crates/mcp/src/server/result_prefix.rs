//! Text that the embedder puts before the blocks of tools' results, whatever the tool. It is chosen when a result is
//! about to be written, so it is current, and none is chosen for a cancelled call.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answers::failed_outcome;
use super::calls::{Call, Reply, Target};
use super::catch_unwind::catch;
use super::connection_state::ConnectionState;
use super::{fault, fault_id};
use crate::tool::{Content, Context, Declaration, Outcome};

/// Chooses the text for one result.
pub(super) type Choose = Arc<dyn Fn(&Context, &Declaration) -> Vec<String> + Send + Sync>;

/// All that choose, in order.
#[derive(Default)]
pub(super) struct ResultPrefixes {
    all: RwLock<Vec<Choose>>,
    /// True if `all` has any: saves every call a lock.
    has_any: AtomicBool,
}

impl ResultPrefixes {
    pub(super) fn add(&self, choose: Choose) {
        self.all.write().push(choose);
        self.has_any.store(true, Ordering::Release);
    }

    pub(super) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// Returns the text for this call's result. A callback that panics adds none.
    fn choose(&self, cx: &Context, tool: &Declaration) -> Vec<String> {
        let all = self.all.read().clone();
        let chosen = all.iter().map(|choose| catch(|| choose(cx, tool)));
        chosen
            .flat_map(|chosen| {
                chosen.unwrap_or_else(|panicked| {
                    fault::panicked(&tool.name, "the callback for text before results", &fault_id(), &panicked.0);
                    Vec::new()
                })
            })
            .collect()
    }
}

impl ConnectionState {
    /// Returns a call's reply, which is about to be written, with the embedder's text before its own.
    pub(super) fn with_prefix(&mut self, call: &Call, reply: Reply) -> Reply {
        let Target::Tool(tool) = &call.target else { return reply };
        // A client that cancelled the call, or has disconnected, reads no answer.
        if call.id.is_none() || call.cancel.is_cancelled() {
            return reply;
        }
        let mut outcome: Outcome = match reply {
            Reply::Tool(Ok(outcome)) => outcome,
            // This is an error of the protocol, which has no blocks.
            Reply::Tool(Err(_)) if call.missing_capabilities(&reply).is_some() => return reply,
            Reply::Tool(Err(error)) => failed_outcome(call.target.name(), &error),
            other => return other,
        };
        let cx = call.context(self.caller.clone());
        let texts = self.shared.result_prefixes.choose(&cx, tool.declaration());
        drop(cx);
        outcome.content.splice(0..0, texts.into_iter().map(Content::Text));
        // A kept clone of the context still reports a cancellation that arrives later.
        self.calls.answered(call);
        Reply::Tool(Ok(outcome))
    }
}
