//! `hob cure check`: checks names, types, refinements, exhaustiveness and state machines.

use std::path::PathBuf;

use clap::Args;

use super::{Count, Workspace, colors, counted, inputs, rendered, shown};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Check programs: names, types, refinements, exhaustiveness, state machines
///
/// Fails on errors and on faulty state machines, not on other warnings.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Files, directories, or `-` for standard input [default: all modules of the project]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Check {
    pub(super) fn run(self, place: &Workspace) -> Result<Exit, Failure> {
        let color = colors(&std::io::stdout());
        let mut count = Count::default();
        let files = if self.files.is_empty() {
            let report = place.cure.check(&place.worktree, &place.worktree);
            if report.files.is_empty() {
                return Err(Failure::new(format_args!("no Cure files below {}", shown(&place.worktree)))
                    .hint("Name a file, or `-` for standard input."));
            }
            for file in &report.files {
                let name = shown(file.path.strip_prefix(&place.worktree).unwrap_or(&file.path));
                terminal::print(&rendered(&name, &file.text, &file.diagnostics, color));
                count.add(&file.diagnostics);
                if let Some(problem) = &file.problem {
                    terminal::line(problem);
                    count.errors += 1;
                }
            }
            for path in &report.left_out {
                terminal::line(format!("{} was skipped: the project is too large", shown(path)));
                count.errors += 1;
            }
            report.files.len()
        } else {
            let inputs = inputs(&self.files)?;
            for input in &inputs {
                let compiled = cure::compile(&input.text, &place.modules(input));
                terminal::print(&rendered(&input.name, &input.text, &compiled.diagnostics, color));
                count.add(&compiled.diagnostics);
            }
            inputs.len()
        };
        let files = counted(files, "file");
        let found = match (count.errors, count.warnings) {
            (0, 0) => "no errors".to_owned(),
            // Count the faults that cause the failure, not all warnings.
            (0, _) if count.machines > 0 => format!("{} in state machines,", counted(count.machines, "fault")),
            (0, warnings) => counted(warnings, "warning"),
            (errors, 0) => counted(errors, "error"),
            (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        };
        if count.errors + count.machines > 0 {
            return Err(Failure::new(format_args!("{found} in {files}")));
        }
        terminal::line(format!("{files} checked: {found}"));
        Ok(Exit::Done)
    }
}
