//! The callers that evaluated in a session lately: each evaluation tells its caller who else did since the one before.

use std::collections::VecDeque;

use project::{Caller, Role};

/// The number of evaluations remembered.
const KEPT: usize = 256;

/// The latest evaluations of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Evaluators(VecDeque<Evaluator>);

/// The caller of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Evaluator {
    /// The agent's run or connection. `None` for people and scripts, whose commands are told apart by the name.
    id: Option<String>,
    name: String,
}

impl Evaluator {
    fn from_caller(caller: &Caller) -> Evaluator {
        let name = caller.name.as_deref().map(project::visible);
        if caller.role != Role::Mcp {
            let user = || match system::input_terminal(caller.pid.cast_signed()) {
                Some(terminal) => format!("user at {}", project::visible(&terminal)),
                None => "user".to_owned(),
            };
            return Evaluator { id: None, name: name.unwrap_or_else(user) };
        }
        let id = caller.run.clone().unwrap_or_else(|| caller.connection.to_string());
        Evaluator { id: Some(id), name: name.unwrap_or_else(|| format!("an agent (process {})", caller.pid)) }
    }
}

impl Evaluators {
    /// Records an evaluation. Returns the note for its caller, if others evaluated since the caller's last one.
    pub(super) fn record(&mut self, caller: &Caller) -> Option<String> {
        let me = Evaluator::from_caller(caller);
        let last = self.0.iter().rposition(|other| *other == me);
        let mut others: Vec<(&str, usize)> = Vec::new();
        for other in last.into_iter().flat_map(|last| self.0.iter().skip(last + 1)) {
            match others.iter_mut().find(|(name, _)| *name == other.name) {
                Some((_, count)) => *count += 1,
                None => others.push((&other.name, 1)),
            }
        }
        let note = match others.split_first() {
            None => None,
            Some(((name, count), rest)) => {
                let s = if *count == 1 { "" } else { "s" };
                let rest: String = rest.iter().map(|(name, count)| format!(", {count} by {name}")).collect();
                Some(format!("Since your last evaluation: {count} evaluation{s} by {name}{rest}."))
            }
        };
        self.0.push_back(me);
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
        note
    }
}
