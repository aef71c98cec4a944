//! `analyze_fsm`: the state machines of a text, their findings and their diagrams.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{modules, work};
use crate::answer::Room;
use crate::fsm::{Edge, Finding, Graph, mermaid};
use crate::part::Cure;
use crate::report::{self, Diagnosis, diagnose};

/// Analyze the state machines of Cure code. Gives states, transitions, guards and timeouts; states never reached, dead
/// ends, competing and dead transitions, each with a shortest path that shows it; and a Mermaid diagram.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The Cure code.
    pub code: String,
}

/// The machines.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True if the program has no errors.
    pub ok: bool,
    /// The machines, in order, as many as fit.
    pub machines: Vec<Machine>,
    /// How many machines there are.
    pub count: usize,
    /// Errors and warnings of the whole program.
    #[serde(flatten)]
    pub said: Diagnosis,
}

/// One machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Machine {
    /// Its name.
    pub name: String,
    /// Its states.
    pub states: Vec<String>,
    /// Where it starts.
    pub initial: String,
    /// The states that may end.
    pub terminal: Vec<String>,
    /// Its transitions.
    pub transitions: Vec<Transition>,
    /// Findings about the machine.
    pub findings: Vec<ReportedFinding>,
    /// The diagram.
    pub mermaid: String,
    /// True if the machine is too large for an answer, so that only the beginning of its lists is here and no diagram.
    pub truncated: bool,
}

/// One transition.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Transition {
    /// From which state.
    pub from: String,
    /// The event, or the time in the state.
    pub on: String,
    /// To which state.
    pub to: String,
    /// Its guard.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub guard: Option<String>,
    /// True if it changes the data.
    pub acts: bool,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReportedFinding {
    /// unreachable, deadlock, nondeterminism, dead_transition, no_terminal or timeout.
    pub kind: &'static str,
    /// Text of the finding.
    pub message: String,
    /// A shortest way to where it shows.
    pub path: Vec<String>,
}

pub(super) struct AnalyzeFsm(pub Arc<Cure>);

impl Tool for AnalyzeFsm {
    const NAME: &'static str = "analyze_fsm";
    const TITLE: &'static str = "Analyze Cure state machines";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let sources = modules(&self.0, &cx);
        work(args.code.len(), move || {
            let compiled = crate::compile(&args.code, &sources);
            let mut room = Room::new();
            let mut share = room.share(SAID);
            let said = diagnose(&compiled.diagnostics, &args.code, &mut share, Self::NAME);
            room.rest(share);
            let mut machines = Vec::new();
            for (graph, findings) in compiled.machines() {
                let machine = machine(graph, findings);
                if room.takes(&machine) {
                    machines.push(machine);
                    continue;
                }
                if machines.is_empty() {
                    machines.push(beginning(machine, &mut room));
                }
                break;
            }
            Output { ok: compiled.is_ok(), machines, count: compiled.machines().count(), said }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let mut text = match output.count {
            0 => "No FSM definitions found in the code.".to_owned(),
            count => format!("Found {count} FSM definition(s):"),
        };
        for machine in &output.machines {
            text.push_str(&format!("\n\nFSM: {}\nInitial State: {}\n", machine.name, machine.initial));
            text.push_str(&format!("States: {}\n", machine.states.join(", ")));
            if !machine.terminal.is_empty() {
                text.push_str(&format!("Terminal: {}\n", machine.terminal.join(", ")));
            }
            for found in &machine.findings {
                text.push_str(&format!("✗ {}: {}\n", found.kind, found.message));
                if found.path.len() > 1 {
                    text.push_str(&format!("    {}\n", found.path.join(" ")));
                }
            }
            if machine.findings.is_empty() && !machine.truncated {
                text.push_str("✓ no faults\n");
            }
            text.push_str(&machine.mermaid);
            if machine.truncated {
                text.push_str("… the machine is too large for an answer; `hob cure fsm FILE` shows all of it\n");
            }
        }
        let left = output.count - output.machines.len();
        if left > 0 {
            text.push_str(&format!("\n… {left} more are left out: analyze one module at a time\n"));
        }
        if !output.said.is_ok() {
            text.push_str("\n✗ The program has errors:\n");
            let errors = output.said.diagnostics.iter().filter(|one| one.severity == "error");
            errors.for_each(|one| text.push_str(&format!("{}\n", report::line(one))));
            if let Some(more) = &output.said.more {
                text.push_str(&format!("… {more}\n"));
            }
        }
        text.trim_end().to_owned()
    }

    fn examples() -> Vec<Example> {
        let code = "module T do\n  record P do\n    n: Int\n  end\n  fsm P{n: 0} do\n    A --> |go| B\n  end\nend";
        vec![Example { title: "A dead end", arguments: json!({ "code": code }), text: None }]
    }
}

/// Maximum size of the diagnostics in addition to the machines, in bytes.
const SAID: usize = 16_000;

/// A machine that is too large, without its diagram and with the beginning of its lists.
fn beginning(mut machine: Machine, room: &mut Room) -> Machine {
    let Machine { states, terminal, transitions, findings, .. } = &mut machine;
    *findings = room.first(std::mem::take(findings));
    *states = room.first(std::mem::take(states));
    *terminal = room.first(std::mem::take(terminal));
    *transitions = room.first(std::mem::take(transitions));
    Machine { mermaid: String::new(), truncated: true, ..machine }
}

fn machine(graph: &Graph, findings: &[Finding]) -> Machine {
    let transition = |edge: &Edge| Transition {
        from: edge.from.clone(),
        on: edge.trigger.label(),
        to: edge.to.clone(),
        guard: edge.guard.clone(),
        acts: edge.acts,
    };
    let found =
        |one: &Finding| ReportedFinding { kind: one.kind.name(), message: one.message.clone(), path: one.path.clone() };
    Machine {
        name: graph.name.clone(),
        states: graph.states.clone(),
        initial: graph.initial.clone(),
        terminal: graph.terminal.clone(),
        transitions: graph.edges.iter().map(transition).collect(),
        findings: findings.iter().map(found).collect(),
        mermaid: mermaid(graph),
        truncated: false,
    }
}
