//! A state machine as a graph.

use std::collections::HashSet;

use crate::diagnostic::Span;
use crate::syntax::ast;

#[derive(Debug, Clone)]
pub struct Graph {
    pub name: String,
    /// All states, in the order in which they are declared or first written.
    pub states: Vec<String>,
    /// The initial state; empty for a machine without states.
    pub initial: String,
    /// The terminal states.
    pub terminal: Vec<String>,
    /// Its transitions, in order.
    pub edges: Vec<Edge>,
    /// Where it is defined.
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Edge {
    /// The source state.
    pub from: String,
    /// The target state.
    pub to: String,
    /// The trigger.
    pub trigger: Trigger,
    /// Its guard as written.
    pub guard: Option<String>,
    /// True if it changes the data.
    pub acts: bool,
    /// The place of its definition.
    pub span: Span,
}

/// The trigger of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// An event of this name.
    Event(String),
    /// A timeout, this many milliseconds after entering the state.
    Timeout(u64),
}

impl Trigger {
    /// The trigger as messages and diagrams show it.
    pub fn label(&self) -> String {
        match self {
            Trigger::Event(name) => name.clone(),
            Trigger::Timeout(ms) => format!("after {ms} ms"),
        }
    }
}

impl Graph {
    /// The graph of a written machine.
    pub fn new(fsm: &ast::Fsm, source: &str) -> Graph {
        let mut states: Vec<String> = Vec::new();
        let mut known: HashSet<ast::Name> = HashSet::new();
        let mut add = |name: &ast::Name| {
            if !name.is_empty() && known.insert(name.clone()) {
                states.push(name.to_string());
            }
        };
        match &fsm.states {
            Some(declared) => declared.iter().for_each(|state| add(&state.name)),
            None => {
                for transition in &fsm.transitions {
                    add(&transition.from.name);
                    add(&transition.to.name);
                }
                fsm.blocks.iter().chain(&fsm.terminal).for_each(|state| add(&state.name));
            }
        }
        let initial = fsm.initial.as_ref().map(|state| state.name.to_string());
        let text = |span: Span| span.text(source).to_owned();
        let edges = fsm.transitions.iter().map(|transition| Edge {
            from: transition.from.name.to_string(),
            to: transition.to.name.to_string(),
            trigger: match &transition.trigger {
                ast::Trigger::Event(name) => Trigger::Event(name.name.to_string()),
                ast::Trigger::Timeout(after) => Trigger::Timeout(milliseconds(after).unwrap_or(0)),
            },
            guard: transition.guard.as_ref().map(|guard| text(guard.span)),
            acts: !transition.actions.is_empty(),
            span: transition.span,
        });
        Graph {
            name: fsm.name.name.to_string(),
            initial: initial.or_else(|| states.first().cloned()).unwrap_or_default(),
            terminal: fsm.terminal.iter().map(|state| state.name.to_string()).collect(),
            edges: edges.collect(),
            states,
            span: fsm.name.span,
        }
    }
}

/// The time of a timeout: a literal number of milliseconds.
pub(crate) fn milliseconds(after: &ast::Expr) -> Option<u64> {
    match &after.kind {
        ast::ExprKind::Int(value) => num_traits::ToPrimitive::to_u64(value),
        _ => None,
    }
}
