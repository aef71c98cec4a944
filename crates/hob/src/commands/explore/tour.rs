//! Tours for the CodeTour extension. A stop is anchored by the text of its line, not by its number, so that a tour survives
//! edits above it; a check finds the stops whose line is gone. CodeTour opens the first match in the file, so a line that
//! stands there more than once takes the lines after it along.

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
/// The parts of a pattern around the texts of its lines.
const START: &str = r"^[ \t]*";
const BETWEEN: &str = r"[ \t]*\r?\n[ \t]*";
const END: &str = r"[ \t]*$";
/// The maximum number of lines in a pattern.
const MOST_LINES: usize = 10;

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
pub(super) fn write(list: &Value, root: &Path, file: &Path) -> Result<(), Failure> {
    let units: Vec<&Value> =
        ["core", "prereqs", "support"].iter().filter_map(|part| list[part].as_array()).flatten().collect();
    let place = |unit: &Value| {
        let location = &unit["symbol"]["location"];
        format!("{}:{}", location["file"].as_str().unwrap_or_default(), location["line"])
    };
    let order = list["order"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let ordered = order.filter_map(|at| units.iter().find(|unit| place(unit) == at));
    let title = list["title"].as_str().unwrap_or_default().to_owned();
    let tour = Tour { schema: SCHEMA.to_owned(), title, steps: ordered.map(|unit| step(unit, root)).collect() };
    let mut text = serde_json::to_string_pretty(&tour).map_err(Failure::new)?;
    text.push('\n');
    std::fs::write(file, text).map_err(|error| {
        Failure::new(format_args!("cannot write {}: {}", visible::path(file), visible::cause(&error)))
            .hint("Name a file in a writable directory with `--tour`.")
    })
}

fn step(unit: &Value, root: &Path) -> Step {
    let symbol = &unit["symbol"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let file = text(&symbol["location"]["file"]);
    let line = symbol["location"]["line"].as_u64().and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let source = read(root, &file).unwrap_or_default();
    let lines = line.and_then(|line| anchor(&source, line)).unwrap_or_else(|| vec![text(&symbol["text"])]);
    let doc = symbol["docComment"].as_str().map(|doc| format!("\n\n{doc}")).unwrap_or_default();
    Step {
        title: Some(text(&symbol["name"])),
        file: Some(file),
        pattern: Some(pattern(&lines)),
        description: format!("`{}` ({}){doc}", text(&symbol["signature"]), text(&unit["why"])),
    }
}

/// Returns the lines from this one on that identify the place: the fewest that occur only once in the text.
fn anchor(text: &str, line: usize) -> Option<Vec<String>> {
    let all: Vec<&str> = text.lines().map(str::trim).collect();
    let most = MOST_LINES.min(all.len().checked_sub(line)?);
    if most == 0 {
        return None;
    }
    let is_unique = |count: &usize| matches(&all, &all[line..line + count]) == 1;
    let count = (1..=most).find(is_unique).unwrap_or(most);
    Some(all[line..line + count].iter().map(|line| (*line).to_owned()).collect())
}

/// Returns the number of places with these lines.
fn matches(all: &[&str], lines: &[impl AsRef<str>]) -> usize {
    let are_same = |place: &&[&str]| place.iter().zip(lines).all(|(one, other)| *one == other.as_ref());
    all.windows(lines.len()).filter(are_same).count()
}

/// Returns the pattern of lines: their texts between blanks.
fn pattern(lines: &[String]) -> String {
    let escape = |c: char| if SPECIAL.contains(c) { vec!['\\', c] } else { vec![c] };
    let texts = lines.iter().map(|line| line.trim().chars().flat_map(escape).collect());
    format!("{START}{}{END}", texts.collect::<Vec<String>>().join(BETWEEN))
}

/// Returns the lines of a pattern that hob wrote; `None` for another pattern.
fn lines_of(pattern: &str) -> Option<Vec<String>> {
    let texts = pattern.strip_prefix(START)?.strip_suffix(END)?.split(BETWEEN);
    let line = |text: &str| {
        let (mut chars, mut line) = (text.chars(), String::new());
        while let Some(c) = chars.next() {
            match c {
                '\\' => line.push(chars.next().filter(|c| SPECIAL.contains(*c))?),
                c if SPECIAL.contains(c) => return None,
                c => line.push(c),
            }
        }
        Some(line)
    };
    texts.map(line).collect()
}

/// Reads a file of the project.
fn read(root: &Path, file: &str) -> std::io::Result<String> {
    let path = Path::new(file);
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    Inside::open(root, folder)?.read(Path::new(name), MAX_FILE)
}

/// Prints the stops of a tour that match no line of their files.
pub(super) fn check(root: &Path, file: &Path) -> Result<Exit, Failure> {
    let text = project::regular::read(file, MAX_TOUR).map_err(|error| {
        Failure::new(format_args!(
            "cannot read {}: {}; name a tour that exists",
            visible::path(file),
            visible::cause(&error)
        ))
    })?;
    let tour: Tour = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format_args!("{} is not a tour: {error}; `hob teach --tour FILE` writes one", file.display()))
    })?;
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
    let text = match read(root, file) {
        Ok(text) => text,
        Err(error) => return Some(format!("{title}: cannot read {file}: {error}")),
    };
    let Some(lines) = step.pattern.as_deref().and_then(lines_of) else {
        return Some(format!("{title}: not checked, because hob wrote no pattern for it"));
    };
    match matches(&text.lines().map(str::trim).collect::<Vec<_>>(), &lines) {
        0 => Some(format!("{title}: {file} no longer has the line `{}`", lines.join(" "))),
        1 => None,
        _ if lines.len() == MOST_LINES => None,
        count => {
            Some(format!("{title}: {count} places of {file} have the line `{}`; write the tour again", lines.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_the_text_of_its_lines() {
        for line in ["pub fn area(&self) -> f64 {", r"let a = b[0] * c.d + '\\';", "x / y | z"] {
            let lines = [line.to_owned(), "}".to_owned()];
            assert_eq!(lines_of(&pattern(&lines)).as_deref(), Some(&lines[..]));
        }
        assert_eq!(pattern(&["fn a() {}".to_owned()]), r"^[ \t]*fn a\(\) \{\}[ \t]*$");
        for other in ["fn a", r"^[ \t]*fn .*[ \t]*$", r"^[ \t]*fn \w[ \t]*$"] {
            assert_eq!(lines_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_that_stands_twice_takes_others_along() {
        let text = "class A:\n  def get(\n    self):\n      pass\nclass B:\n  def get(\n    self):\n      return 1\n";
        assert_eq!(anchor(text, 0).as_deref(), Some(&["class A:".to_owned()][..]));
        assert_eq!(anchor(text, 5).expect("a line"), ["def get(", "self):", "return 1"]);
        assert_eq!(anchor("x\nx\n", 0).expect("a line"), ["x", "x"]);
        assert_eq!(anchor("x\n", 1), None);
    }
}
