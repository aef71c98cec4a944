//! Tours for the CodeTour extension. A stop is anchored by the text of its line, not by its number, so that a tour survives
//! edits above it; a check finds the stops whose line is gone.

use std::path::Path;

use project::checkout_dir::Inside;
use project::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::terminal;

const SCHEMA: &str = "https://aka.ms/codetour-schema";
/// The size limits of a tour and of a file in it.
const MAX_TOUR: u64 = 4 << 20;
const MAX_FILE: u64 = 16 << 20;
/// The characters with a meaning in a pattern.
const SPECIAL: &str = r".*+?^${}()|[]\/";
/// The parts of a pattern around the text of a line.
const START: &str = r"^\s*";
const END: &str = r"\s*$";

/// A tour.
#[derive(Debug, Serialize, Deserialize)]
struct Tour {
    #[serde(rename = "$schema", default)]
    schema: String,
    title: String,
    steps: Vec<Step>,
}

/// A stop of a tour. hob writes `file` and `pattern`; other tours may lack them.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    #[serde(default)]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    description: String,
}

/// Writes the reading list of `teach-graph` as a tour, in reading order.
pub(super) fn write(list: &Value, file: &Path) -> Result<(), Failure> {
    let units: Vec<&Value> =
        ["core", "prereqs", "support"].iter().filter_map(|part| list[part].as_array()).flatten().collect();
    let place = |unit: &Value| {
        let location = &unit["symbol"]["location"];
        format!("{}:{}", location["file"].as_str().unwrap_or_default(), location["line"])
    };
    let order = list["order"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let ordered = order.filter_map(|at| units.iter().find(|unit| place(unit) == at));
    let title = list["title"].as_str().unwrap_or_default().to_owned();
    let tour = Tour { schema: SCHEMA.to_owned(), title, steps: ordered.map(|unit| step(unit)).collect() };
    let mut text = serde_json::to_string_pretty(&tour).map_err(Failure::new)?;
    text.push('\n');
    std::fs::write(file, text).map_err(|error| {
        Failure::new(format_args!("cannot write {}: {}", visible::path(file), visible::cause(&error)))
            .hint("Name a file in a writable directory with `--tour`.")
    })
}

fn step(unit: &Value) -> Step {
    let symbol = &unit["symbol"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let doc = symbol["docComment"].as_str().map(|doc| format!("\n\n{doc}")).unwrap_or_default();
    Step {
        title: Some(text(&symbol["name"])),
        file: Some(text(&symbol["location"]["file"])),
        pattern: Some(pattern(&text(&symbol["text"]))),
        description: format!("`{}` ({}){doc}", text(&symbol["signature"]), text(&unit["why"])),
    }
}

/// Returns the pattern of a line: its text between blanks.
fn pattern(line: &str) -> String {
    let mut pattern = START.to_owned();
    for c in line.trim().chars() {
        if SPECIAL.contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + END
}

/// Returns the line of a pattern that hob wrote; `None` for another pattern.
fn line_of(pattern: &str) -> Option<String> {
    let mut chars = pattern.strip_prefix(START)?.strip_suffix(END)?.chars();
    let mut line = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => line.push(chars.next().filter(|c| SPECIAL.contains(*c))?),
            c if SPECIAL.contains(c) => return None,
            c => line.push(c),
        }
    }
    Some(line)
}

/// Prints the stops of a tour that match no line of their files.
pub(super) fn check(root: &Path, file: &Path) -> Result<Exit, Failure> {
    let text = project::regular::read(file, MAX_TOUR)
        .map_err(|error| Failure::new(format_args!("cannot read {}: {error}", file.display())))?;
    let tour: Tour = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format_args!("{} is not a tour: {error}", file.display())))?;
    let problems: Vec<String> = tour
        .steps
        .iter()
        .enumerate()
        .filter_map(|(number, step)| Some(format!("stop {}: {}", number + 1, problem(root, step)?)))
        .collect();
    for problem in &problems {
        terminal::line(project::visible(problem));
    }
    if problems.is_empty() {
        terminal::line(format!("all {} stops match", tour.steps.len()));
        return Ok(Exit::Done);
    }
    Ok(Exit::Failed)
}

/// Returns the reason why a stop does not match.
fn problem(root: &Path, step: &Step) -> Option<String> {
    let Some(file) = &step.file else { return None };
    let title = step.title.as_deref().unwrap_or(file);
    let path = Path::new(file);
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    let text = match Inside::open(root, folder).and_then(|folder| folder.read(Path::new(name), MAX_FILE)) {
        Ok(text) => text,
        Err(error) => return Some(format!("{title}: cannot read {file}: {error}")),
    };
    let Some(line) = step.pattern.as_deref().and_then(line_of) else {
        return Some(format!("{title}: not checked, because hob wrote no pattern for it"));
    };
    let has_line = text.lines().any(|other| other.trim() == line);
    (!has_line).then(|| format!("{title}: {file} no longer has the line `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_the_text_of_its_line() {
        for line in ["pub fn area(&self) -> f64 {", r"let a = b[0] * c.d + '\\';", "x / y | z"] {
            assert_eq!(line_of(&pattern(&format!("    {line}  "))).as_deref(), Some(line));
        }
        assert_eq!(pattern("fn a() {}"), r"^\s*fn a\(\) \{\}\s*$");
        for other in ["fn a", r"^\s*fn .*\s*$", r"^\s*fn \w\s*$"] {
            assert_eq!(line_of(other), None, "{other}");
        }
    }
}
