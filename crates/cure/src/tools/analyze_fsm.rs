//! `analyze_fsm`: the state machines of a text, their findings and their diagrams.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{modules, work};
use crate::fsm::{Edge, Finding, Graph, mermaid};
use crate::part::Cure;
use crate::report::{Reported, reported};

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
    /// Whether the program stands.
    pub ok: bool,
    /// The machines, in order.
    pub machines: Vec<Machine>,
    /// Errors and warnings of the whole program.
    pub diagnostics: Vec<Reported>,
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
    /// What was found.
    pub findings: Vec<ReportedFinding>,
    /// The diagram.
    pub mermaid: String,
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
    /// Whether it changes the data.
    pub acts: bool,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReportedFinding {
    /// unreachable, deadlock, nondeterminism, dead_transition, no_terminal or timeout.
    pub kind: &'static str,
    /// What it is.
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
            let machines = compiled.machines().map(|(graph, findings)| machine(graph, findings)).collect();
            Output { ok: compiled.is_ok(), machines, diagnostics: reported(&compiled.diagnostics, &args.code) }
        })
        .await
    }

    fn text(output: &Output) -> String {
        let mut text = match output.machines.len() {
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
            if machine.findings.is_empty() {
                text.push_str("✓ nothing found\n");
            }
            text.push_str(&machine.mermaid);
        }
        let errors: Vec<&Reported> = output.diagnostics.iter().filter(|one| one.severity == "error").collect();
        if !errors.is_empty() {
            text.push_str("\n✗ The program has errors:\n");
            for one in errors {
                text.push_str(&format!("{}:{} {}: {}\n", one.line, one.column, one.code, one.message));
            }
        }
        text.trim_end().to_owned()
    }

    fn examples() -> Vec<Example> {
        let code = "module T do\n  record P do\n    n: Int\n  end\n  fsm P{n: 0} do\n    A --> |go| B\n  end\nend";
        vec![Example { title: "A dead end", arguments: json!({ "code": code }), text: None }]
    }
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
    }
}
