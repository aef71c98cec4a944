//! The rules for repeating lost calls, as the daemon declared them for each tool.

use project::{HelloAck, Repeat, RepeatRule};

use super::peek;

#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Tools that only read: their calls may be repeated.
    read_only: Vec<String>,
    /// Rules for the other tools; `None` if the daemon sends none.
    rules: Option<Vec<RepeatRule>>,
}

impl Rules {
    pub(super) fn from_hello(daemon: &HelloAck) -> Rules {
        Rules { read_only: daemon.read_only.clone(), rules: daemon.repeat.clone() }
    }

    /// Returns the rule for a tool.
    pub(super) fn rule(&self, tool: &str) -> Option<&Repeat> {
        let mut rules = self.rules.iter().flatten();
        rules.find(|rule| rule.tools.iter().any(|name| name == tool)).map(|rule| &rule.how)
    }

    /// Returns the receipt field in the answer of a call that delivers something.
    pub(super) fn receipt(&self, call: &[u8]) -> Option<&str> {
        // Most calls do not, and searching is cheaper than parsing.
        let mut rules = self.rules.iter().flatten().filter(|rule| matches!(rule.how, Repeat::HandsOut { .. }));
        let is_in = |rule: &RepeatRule| rule.tools.iter().any(|name| contains(call, name));
        if !rules.any(is_in) {
            return None;
        }
        match self.rule(&peek::call(call).0?) {
            Some(Repeat::HandsOut { receipt }) => Some(receipt),
            _ => None,
        }
    }

    /// Returns true if a call changes its connection's tools, so that it must be repeated on the next one.
    pub(super) fn changes_tools(&self, call: &[u8]) -> bool {
        let lasting = |rule: &&RepeatRule| matches!(rule.how, Repeat::Lasting);
        let mut tools = self.rules.iter().flatten().filter(lasting).flat_map(|rule| &rule.tools);
        // Most calls are of other tools, and searching is cheaper than parsing.
        tools.any(|tool| contains(call, tool) && peek::call(call).0.as_ref() == Some(tool))
    }

    /// Returns true if a call may have delivered something: without rules, every call that does more than read.
    pub(super) fn may_hand_out(&self, call: &[u8]) -> bool {
        match self.rules {
            Some(_) => self.receipt(call).is_some(),
            None => !self.only_reads(call),
        }
    }

    /// Returns true if a call runs only once, even if sent repeatedly.
    pub(super) fn is_keyed(&self, call: &[u8]) -> bool {
        let key = |rule: &RepeatRule| matches!(&rule.how, Repeat::Keyed { argument, .. } if contains(call, argument));
        if !self.rules.iter().flatten().any(key) {
            return false;
        }
        let tool = peek::call(call).0;
        match tool.and_then(|tool| self.rule(&tool)) {
            Some(Repeat::Keyed { argument, .. }) => peek::has_text(call, argument),
            _ => false,
        }
    }

    /// Returns true if a call must not run twice.
    pub(super) fn has_effect(&self, call: &[u8]) -> bool {
        self.receipt(call).is_none() && !self.is_keyed(call) && !self.changes_tools(call) && !self.only_reads(call)
    }

    fn only_reads(&self, call: &[u8]) -> bool {
        peek::call(call).0.is_some_and(|tool| self.read_only.contains(&tool))
    }
}

fn contains(line: &[u8], text: &str) -> bool {
    memchr::memmem::find(line, text.as_bytes()).is_some()
}
