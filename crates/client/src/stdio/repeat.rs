//! How lost calls may be made again, as the daemon declared for each tool.

use project::{HelloAck, Repeat, RepeatRule};

use super::peek;

#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Tools that only read: calls of them may be made again.
    read_only: Vec<String>,
    /// Of the others; `None` from a daemon that does not say.
    rules: Option<Vec<RepeatRule>>,
}

impl Rules {
    pub(super) fn of(daemon: &HelloAck) -> Rules {
        Rules { read_only: daemon.read_only.clone(), rules: daemon.repeat.clone() }
    }

    /// What is said of the tool that a call names.
    pub(super) fn rule(&self, tool: &str) -> Option<&Repeat> {
        let mut rules = self.rules.iter().flatten();
        rules.find(|rule| rule.tools.iter().any(|name| name == tool)).map(|rule| &rule.how)
    }

    /// Of a call that hands something out, the field of its answer that names what.
    pub(super) fn receipt(&self, call: &[u8]) -> Option<&str> {
        // Most calls are others, and a search is cheaper than reading them.
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

    /// Whether a call may have handed something out: where the daemon did not say, each that is more than reading.
    pub(super) fn may_hand_out(&self, call: &[u8]) -> bool {
        match self.rules {
            Some(_) => self.receipt(call).is_some(),
            None => !self.only_reads(call),
        }
    }

    /// Whether a call runs once, however often it is made.
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

    /// Whether a call must not be made twice.
    pub(super) fn has_effect(&self, call: &[u8]) -> bool {
        self.receipt(call).is_none() && !self.is_keyed(call) && !self.only_reads(call)
    }

    fn only_reads(&self, call: &[u8]) -> bool {
        peek::call(call).0.is_some_and(|tool| self.read_only.contains(&tool))
    }
}

fn contains(line: &[u8], text: &str) -> bool {
    memchr::memmem::find(line, text.as_bytes()).is_some()
}
