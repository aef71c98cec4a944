//! What is wrong with a machine: states never reached, dead ends, transitions that compete or never fire, states from
//! which no end is reached. Each finding carries a shortest path that shows it.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Graph, Trigger};
use crate::diagnostic::{Code, Diagnostic, Span, code};

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// What it is, in one sentence.
    pub message: String,
    /// A shortest way from the initial state to where it shows: states with the triggers between them.
    pub path: Vec<String>,
    /// Where.
    pub span: Span,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A state that no path reaches.
    Unreachable,
    /// A state without an exit that is not terminal.
    Deadlock,
    /// Two transitions of one state that can fire at the same moment.
    Nondeterminism,
    /// A transition that can never fire.
    Dead,
    /// A state from which no terminal state is reached, though there is one.
    NoTerminal,
    /// A timeout that cannot work.
    Timeout,
}

impl FindingKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Unreachable => "unreachable",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Nondeterminism => "nondeterminism",
            FindingKind::Dead => "dead_transition",
            FindingKind::NoTerminal => "no_terminal",
            FindingKind::Timeout => "timeout",
        }
    }

    fn code(self) -> Code {
        match self {
            FindingKind::Unreachable => code::UNREACHABLE_STATE,
            FindingKind::Deadlock => code::DEADLOCK,
            FindingKind::Nondeterminism => code::NONDETERMINISM,
            FindingKind::Dead => code::DEAD_TRANSITION,
            FindingKind::NoTerminal => code::NO_TERMINAL,
            FindingKind::Timeout => code::TIMEOUT,
        }
    }
}

impl Finding {
    /// As a warning of the compiler.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let warning = Diagnostic::warning(self.kind.code(), self.span, self.message.clone());
        if self.path.len() > 1 { warning.hint(format!("the way there: {}", self.path.join(" "))) } else { warning }
    }
}

/// How the guards of a machine's transitions stand to each other, by position.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    /// Guards that are never true.
    pub never: HashSet<usize>,
    /// Pairs of transitions whose guards can hold at once.
    pub overlap: HashSet<(usize, usize)>,
    /// Transitions whose guard holds only when an earlier one of the same trigger does.
    pub covered: HashSet<usize>,
}

/// Everything found.
pub(crate) fn verify(graph: &Graph, guards: &Guards) -> Vec<Finding> {
    let mut findings = Vec::new();
    let late: HashSet<usize> = (0..graph.edges.len()).filter(|at| is_late(graph, *at)).collect();
    let live = |at: usize| !guards.never.contains(&at) && !guards.covered.contains(&at) && !late.contains(&at);
    let paths = shortest(graph, &live);
    let path_to = |state: &str| paths.get(state).cloned().unwrap_or_default();
    for state in &graph.states {
        let out = graph.edges.iter().enumerate().any(|(at, edge)| edge.from == *state && live(at));
        let span = place(graph, state);
        if !paths.contains_key(state) {
            let message = format!("the state {state} of {} is never reached", graph.name);
            findings.push(Finding { kind: FindingKind::Unreachable, message, path: Vec::new(), span });
        } else if !out && !graph.terminal.contains(state) {
            let message = format!("the state {state} of {} has no exit and is not terminal", graph.name);
            findings.push(Finding { kind: FindingKind::Deadlock, message, path: path_to(state), span });
        }
    }
    for (at, edge) in graph.edges.iter().enumerate() {
        let say = |kind, message| Finding { kind, message, path: path_to(&edge.from), span: edge.span };
        let label = edge.trigger.label();
        if guards.never.contains(&at) {
            let message = format!("the guard of {label} in {} is never true", edge.from);
            findings.push(say(FindingKind::Dead, message));
        } else if guards.covered.contains(&at) {
            let message = format!("{label} in {} never gets here: earlier transitions take it", edge.from);
            findings.push(say(FindingKind::Dead, message));
        } else if late.contains(&at) {
            let message = format!("{label} never comes in {}: a shorter timeout leaves it before", edge.from);
            findings.push(say(FindingKind::Timeout, message));
        }
        for (other, later) in graph.edges.iter().enumerate().skip(at + 1) {
            let same = later.from == edge.from && later.trigger == edge.trigger;
            if same && guards.overlap.contains(&(at, other)) && !guards.covered.contains(&other) {
                let message = format!(
                    "in {}, {label} can go to {} and to {}; the first one written is taken",
                    edge.from, edge.to, later.to
                );
                findings.push(Finding { span: later.span, ..say(FindingKind::Nondeterminism, message) });
            }
        }
        if edge.trigger == Trigger::Timeout(0) && edge.from == edge.to {
            let message = format!("a timeout of 0 ms from {} to itself never rests", edge.from);
            findings.push(say(FindingKind::Timeout, message));
        }
    }
    if !graph.terminal.is_empty() {
        let ends = leads_to(graph, &live);
        for state in graph.states.iter().filter(|state| paths.contains_key(*state) && !ends.contains(*state)) {
            let message = format!("from the state {state} of {} no terminal state is reached", graph.name);
            let path = path_to(state);
            findings.push(Finding { kind: FindingKind::NoTerminal, message, path, span: place(graph, state) });
        }
    }
    findings
}

/// Whether a shorter timeout without a guard always leaves the state before this one.
fn is_late(graph: &Graph, at: usize) -> bool {
    let edge = &graph.edges[at];
    let Trigger::Timeout(after) = edge.trigger else { return false };
    graph.edges.iter().any(|other| {
        let sooner = matches!(other.trigger, Trigger::Timeout(other) if other < after);
        sooner && other.from == edge.from && other.to != edge.from && other.guard.is_none()
    })
}

fn place(graph: &Graph, state: &str) -> Span {
    let found = graph.edges.iter().find(|edge| edge.from == state || edge.to == state);
    found.map_or(graph.span, |edge| edge.span)
}

/// The shortest way to every state that is reached.
fn shortest(graph: &Graph, live: &dyn Fn(usize) -> bool) -> HashMap<String, Vec<String>> {
    let mut paths = HashMap::new();
    if graph.initial.is_empty() {
        return paths;
    }
    let mut open = VecDeque::from([graph.initial.clone()]);
    paths.insert(graph.initial.clone(), vec![graph.initial.clone()]);
    while let Some(state) = open.pop_front() {
        for (_, edge) in graph.edges.iter().enumerate().filter(|(at, edge)| edge.from == state && live(*at)) {
            if !paths.contains_key(&edge.to) {
                let mut path = paths[&state].clone();
                path.push(format!("--{}-->", edge.trigger.label()));
                path.push(edge.to.clone());
                paths.insert(edge.to.clone(), path);
                open.push_back(edge.to.clone());
            }
        }
    }
    paths
}

/// The states from which a terminal state is reached.
fn leads_to(graph: &Graph, live: &dyn Fn(usize) -> bool) -> HashSet<String> {
    let mut ends: HashSet<String> = graph.terminal.iter().cloned().collect();
    loop {
        let more: Vec<_> = graph
            .edges
            .iter()
            .enumerate()
            .filter(|(at, edge)| live(*at) && ends.contains(&edge.to) && !ends.contains(&edge.from))
            .map(|(_, edge)| edge.from.clone())
            .collect();
        if more.is_empty() {
            return ends;
        }
        ends.extend(more);
    }
}
