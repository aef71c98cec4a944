//! Truth by deprecation: definitions in a copy of a crate are marked deprecated, and each warning of rustc is a use.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A definition that can be marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Below the crate's folder.
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) kind: String,
}

/// A use, as rustc reports it: lines and columns from 1, the last column excluded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) file: String,
    pub(super) first: (usize, usize),
    pub(super) last: (usize, usize),
}

impl Use {
    pub(super) fn holds(&self, file: &str, place: (usize, usize)) -> bool {
        self.file == file && self.first <= place && place < self.last
    }
}

const NOTE: &str = "hob-truth-";

/// Whether the line of a definition begins with it, so that an attribute can stand before it in the same line.
pub(super) fn can_mark(line: &str, item: &Item) -> bool {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.trim_start();
        if let Some(inner) = rest.strip_prefix('(') {
            let Some((_, after)) = inner.split_once(')') else { return false };
            rest = after.trim_start();
        }
    }
    for word in ["default ", "const ", "async ", "unsafe ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let is_function = matches!(item.kind.as_str(), "function" | "method");
    let Some(rest) = (if is_function { rest.strip_prefix("fn ") } else { Some(rest) }) else { return false };
    let Some(after) = rest.strip_prefix(item.name.as_str()) else { return false };
    !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Marks items in the copy, compiles it, and takes the marks away. What rustc says of each, by its number.
pub(super) fn uses(copy: &Path, items: &[(usize, &Item)]) -> Result<Vec<(usize, Use)>> {
    let mut left: Vec<(usize, &Item)> = items.to_vec();
    // Some definitions may not be marked: those that a macro takes, say. rustc names their lines.
    for _ in 0..4 {
        let before = mark(copy, &left)?;
        let said = check(copy);
        before.into_iter().try_for_each(|(file, text)| std::fs::write(copy.join(file), text))?;
        let (found, errors) = read(&said?)?;
        if errors.is_empty() {
            // The fields of a variant are deprecated with it: those are uses of the fields.
            // What derives write stands where the definition does: it is nobody's use.
            let is_at = |item: &Item, place: &Use| item.file == place.file && item.line == place.first.0;
            let is_of = |one: &Warning| {
                left.iter().any(|(id, item)| *id == one.id && item.name == one.name && !is_at(item, &one.place))
            };
            return Ok(found.into_iter().filter(is_of).map(|one| (one.id, one.place)).collect());
        }
        let is_named = |item: &Item| errors.iter().any(|(file, line)| (file, line) == (&item.file, &item.line));
        let count = left.len();
        left.retain(|(_, item)| !is_named(item));
        if left.len() == count {
            bail!("the marked copy does not compile, at {errors:?}");
        }
    }
    bail!("the marked copy does not compile after leaving out what rustc names")
}

/// Writes the attributes; gives back the files as they were.
fn mark(copy: &Path, items: &[(usize, &Item)]) -> Result<Vec<(String, String)>> {
    let mut before: Vec<(String, String)> = Vec::new();
    let mut files: Vec<&str> = items.iter().map(|(_, item)| item.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        let text = std::fs::read_to_string(copy.join(file)).with_context(|| format!("could not read {file}"))?;
        let marked = text.split_inclusive('\n').enumerate().map(|(number, line)| {
            let here = items.iter().find(|(_, item)| item.file == file && item.line == number + 1);
            match here {
                Some((id, _)) => {
                    let indentation = line.len() - line.trim_start().len();
                    format!("{}#[deprecated = \"{NOTE}{id}\"] {}", &line[..indentation], &line[indentation..])
                }
                None => line.to_owned(),
            }
        });
        let marked: String = marked.collect();
        std::fs::write(copy.join(file), marked).with_context(|| format!("could not write {file}"))?;
        before.push((file.to_owned(), text));
    }
    Ok(before)
}

/// What `cargo check` prints, one message a line. That it fails is in the messages.
fn check(copy: &Path) -> Result<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = cargo
        .args(["check", "--lib", "--all-features", "--quiet", "--message-format", "json"])
        .current_dir(copy)
        .env("RUSTFLAGS", "--force-warn deprecated --cap-lints warn")
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .output()
        .context("could not run cargo")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.is_empty() && !output.status.success() {
        bail!("cargo check failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(said)
}

/// A warning: the number of the mark, the name that rustc says, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Warning {
    id: usize,
    name: String,
    place: Use,
}

/// Files and lines.
type Errors = Vec<(String, usize)>;

fn read(said: &str) -> Result<(Vec<Warning>, Errors)> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for line in said.lines() {
        let record: Value = serde_json::from_str(line).with_context(|| format!("no message of cargo: {line}"))?;
        let message = &record["message"];
        let spans = message["spans"].as_array().into_iter().flatten();
        let Some(span) = spans.into_iter().find(|span| span["is_primary"] == true) else { continue };
        let text = message["message"].as_str().unwrap_or_default();
        let number = |span: &Value, field: &str| span[field].as_u64().unwrap_or_default() as usize;
        match message["level"].as_str() {
            Some("error") => {
                let file = span["file_name"].as_str().unwrap_or_default().to_owned();
                errors.push((file, number(span, "line_start")));
            }
            Some("warning") if message["code"]["code"] == "deprecated" => {
                let Some((_, id)) = text.split_once(NOTE) else { continue };
                let id: String = id.chars().take_while(char::is_ascii_digit).collect();
                // `use of deprecated method `a::B::<T>::name`: hob-truth-1`.
                let path = text.split('`').nth(1).unwrap_or_default();
                let name = path.rsplit("::").next().unwrap_or_default().to_owned();
                // What a macro of another crate writes stands where that macro is called.
                let mut span = span;
                while span["file_name"].as_str().is_none_or(|file| !file.starts_with("src")) {
                    let outer = &span["expansion"]["span"];
                    if outer.is_null() {
                        break;
                    }
                    span = outer;
                }
                let at = |line: &str, column: &str| (number(span, line), number(span, column));
                let place = Use {
                    file: span["file_name"].as_str().unwrap_or_default().to_owned(),
                    first: at("line_start", "column_start"),
                    last: at("line_end", "column_end"),
                };
                found.push(Warning { id: id.parse().context("a note without number")?, name, place });
            }
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    Ok((found, errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_marked_begins_its_line() {
        let item = |kind: &str| Item { file: String::new(), line: 1, name: "area".to_owned(), kind: kind.to_owned() };
        for line in ["fn area() {", "    pub(crate) const unsafe fn area<T>(x: T)", "pub fn area(", "async fn area()"] {
            assert!(can_mark(line, &item("function")), "{line}");
        }
        for line in ["fn area_of() {", "impl A { fn area() {} }", "area: f64,"] {
            assert!(!can_mark(line, &item("method")), "{line}");
        }
        assert!(can_mark("    pub area: f64,", &item("field")) && can_mark("    area(u8),", &item("constructor")));
        assert!(!can_mark("struct A { area: f64 }", &item("field")));
    }

    #[test]
    fn warnings_are_uses_with_their_item() {
        let said = concat!(
            r#"{"reason":"compiler-artifact"}"#,
            "\n",
            r#"{"reason":"compiler-message","message":{"level":"warning","code":{"code":"deprecated"},"#,
            r#""message":"use of deprecated function `area`: hob-truth-12","spans":[{"is_primary":true,"#,
            r#""file_name":"src/a.rs","line_start":3,"line_end":3,"column_start":5,"column_end":9,"expansion":null}]}}"#,
        );
        let (found, errors) = read(said).unwrap();
        let place = Use { file: "src/a.rs".to_owned(), first: (3, 5), last: (3, 9) };
        assert!(
            place.holds("src/a.rs", (3, 5)) && !place.holds("src/a.rs", (3, 9)) && !place.holds("src/b.rs", (3, 5))
        );
        assert_eq!((found, errors), (vec![Warning { id: 12, name: "area".to_owned(), place }], vec![]));
    }
}
