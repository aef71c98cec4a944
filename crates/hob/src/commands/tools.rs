//! `hob tools`: lists the tools, one line each.

use std::path::Path;

use clap::Args;
use project::Config;
use serde_json::json;

use super::call::{self, Choice, Tool};
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// List the tools for `hob call`, one line each
#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Only the tools of this toolset
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// The tools compatible with another system, as served by `hob mcp --profile`
    #[arg(long, value_name = "NAME", conflicts_with = "toolset")]
    profile: Option<String>,
    /// Print JSON: name, description and input schema of each tool
    #[arg(long)]
    json: bool,
}

impl Tools {
    pub(crate) fn run(self, explicit: Option<&Path>) -> Result<Exit, Failure> {
        let tools = call::tools(match (&self.toolset, &self.profile) {
            (Some(name), _) => Choice::Toolset(name),
            (None, Some(name)) => Choice::Profile(name),
            // Without a project, the user's configuration for all projects applies.
            (None, None) => Choice::Enabled(match current_project::find_project(explicit) {
                Ok(project) => daemon::enabled(&Config::load(&project, &daemon::sections()).map_err(Failure::new)?),
                Err(failure) if explicit.is_some() => return Err(failure),
                Err(_) => daemon::enabled(&Config::of_user(&daemon::sections()).map_err(Failure::new)?),
            }),
        })?;
        if self.json {
            let tool = |tool: &Tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
            terminal::json(&json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()}));
            return Ok(Exit::Done);
        }
        let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
        for Tool { name, description, .. } in &tools {
            let padding = " ".repeat(width - name.len());
            let about = shorten(&first_sentence(description), LINE.saturating_sub(width + 2));
            terminal::line(format!("{}{padding}  {about}", paint(name, Style::Bold)));
        }
        Ok(Exit::Done)
    }
}

/// The length limit of a line, in characters.
const LINE: usize = 120;

/// Truncates a text to at most `length` characters, between words.
fn shorten(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let cut: String = text.chars().take(length.saturating_sub(2)).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{} …", cut[..end].trim_end_matches([',', ';', ':']))
}

/// Returns the first sentence, without the line breaks of the source.
fn first_sentence(description: &str) -> String {
    let flat = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.find(". ") {
        Some(end) => flat[..=end].to_owned(),
        None => flat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_is_enough() {
        assert_eq!(first_sentence("Does\nit. And more."), "Does it.");
        assert_eq!(first_sentence("Takes 1.5 s"), "Takes 1.5 s");
        assert_eq!(shorten("one two, three", 14), "one two, three");
        assert_eq!(shorten("one two, three", 13), "one two …");
    }
}
