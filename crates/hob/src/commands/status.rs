//! `hob status`: what the project's daemon holds.

use clap::Args;
use project::Project;
use serde_json::{Value, json};

use super::call::control_failure;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Show the daemon, its sessions, connections, queues and memory
#[derive(Debug, Args)]
pub(crate) struct StatusCommand {
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl StatusCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let status = match super::connect(project)? {
            Some(mut control) => control.status().map_err(control_failure)?,
            None if self.json => json!({"running": false, "root": project.root()}),
            None => {
                terminal::line(format!(
                    "No daemon runs for {}; it starts when it is needed.",
                    project.root().display()
                ));
                return Ok(Exit::Done);
            }
        };
        if self.json {
            terminal::line(format!("{status:#}"));
        } else {
            let mut text = String::new();
            render(&status, 0, &mut text);
            terminal::print(&text);
        }
        Ok(Exit::Done)
    }
}

/// Names and values, indented; a list as one block per item.
fn render(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let label = paint(&name.replace('_', " "), Style::Bold);
                match value {
                    Value::Null => {}
                    Value::Array(items) if items.is_empty() => out.push_str(&format!("{indent}{label}: none\n")),
                    Value::Object(_) | Value::Array(_) => {
                        out.push_str(&format!("{indent}{label}:\n"));
                        render(value, depth + 1, out);
                    }
                    scalar => out.push_str(&format!("{indent}{label}: {}\n", plain(scalar))),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(_) | Value::Array(_) => {
                        let mut block = String::new();
                        render(item, 0, &mut block);
                        for (number, line) in block.lines().enumerate() {
                            out.push_str(&format!("{indent}{} {line}\n", if number == 0 { "-" } else { " " }));
                        }
                    }
                    scalar => out.push_str(&format!("{indent}- {}\n", plain(scalar))),
                }
            }
        }
        scalar => out.push_str(&format!("{indent}{}\n", plain(scalar))),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
