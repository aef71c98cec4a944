//! `hob cure fsm`: shows the state machines of programs and their faults.

use std::path::PathBuf;

use clap::Args;
use cure::fsm::mermaid;

use super::{Workspace, counted, inputs, refuse};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Show the state machines of programs: states, faults, diagrams
///
/// Fails if a machine is faulty, except with --diagrams.
#[derive(Debug, Args)]
pub(super) struct Fsm {
    /// Files, directories, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print only the Mermaid diagrams
    #[arg(long)]
    mermaid: bool,
}

impl Fsm {
    pub(super) fn run(self, place: &Workspace) -> Result<Exit, Failure> {
        let mut found_in_all = 0;
        for input in inputs(&self.files)? {
            let compiled = cure::compile(&input.text, &place.modules(&input));
            for (graph, findings) in compiled.machines() {
                if self.mermaid {
                    terminal::print(&mermaid(graph));
                    continue;
                }
                found_in_all += findings.len();
                terminal::line(format!("{}: {} starts in {}", input.name, graph.name, graph.initial));
                terminal::line(format!("  states: {}", graph.states.join(", ")));
                if !graph.terminal.is_empty() {
                    terminal::line(format!("  terminal: {}", graph.terminal.join(", ")));
                }
                for found in findings {
                    terminal::line(format!("  {}: {}", found.kind.name(), found.message));
                    if found.path.len() > 1 {
                        terminal::line(format!("    {}", found.path.join(" ")));
                    }
                }
                if findings.is_empty() {
                    terminal::line("  no faults");
                }
            }
            if compiled.machines().next().is_none() && compiled.is_ok() {
                terminal::note(format!("{} has no state machines", input.name));
            }
            let errors: Vec<_> = compiled.diagnostics.iter().filter(|one| one.is_error()).cloned().collect();
            refuse(&input, &errors, &[])?;
        }
        match found_in_all {
            0 => Ok(Exit::Done),
            count => Err(Failure::new(format_args!("{} in state machines", counted(count, "fault")))),
        }
    }
}
