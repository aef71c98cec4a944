//! Typed holes: the compiler's report about `_` and `_name`.

use schemars::JsonSchema;
use serde::Serialize;

use super::one_line;
use diagnostics::Diagnostic;

/// A hole, with candidates to fill it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hole {
    /// `_`, or its name.
    pub name: String,
    /// The type expected there.
    #[serde(rename = "type")]
    pub type_: String,
    /// The file; absent for code typed at the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Its column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Local names with their types, as `name :: type`.
    pub bindings: Vec<String>,
    /// Names that fit, as `name :: type`.
    pub fits: Vec<String>,
}

impl Hole {
    /// Formats the hole with its location, the names in scope and the fits, each on its line.
    pub fn text(&self) -> String {
        let mut text = format!("{} :: {}", self.name, self.type_);
        if let (Some(file), Some(line), Some(column)) = (&self.file, self.line, self.column) {
            text.push_str(&format!("  -- {file}:{line}:{column}"));
        }
        self.bindings.iter().for_each(|binding| text.push_str(&format!("\n  has {binding}")));
        self.fits.iter().for_each(|fit| text.push_str(&format!("\n  fits {fit}")));
        text
    }
}

/// Returns the holes among these messages.
pub fn holes(diagnostics: &[Diagnostic]) -> Vec<Hole> {
    diagnostics.iter().filter_map(hole).collect()
}

fn hole(diagnostic: &Diagnostic) -> Option<Hole> {
    let lines: Vec<&str> = diagnostic.message.lines().collect();
    let first = lines.iter().position(|line| bare(line).starts_with("Found hole:"))?;
    let mut signature = bare(lines[first])["Found hole:".len()..].to_owned();
    // A long type continues in lines that are indented deeper than the sentence.
    let sentence = indent(lines[first]) + if lines[first].trim_start().starts_with("• ") { 2 } else { 0 };
    for line in lines[first + 1..].iter().take_while(|line| indent(line) > sentence) {
        signature.push('\n');
        signature.push_str(line);
    }
    let (name, type_) = signature.split_once(" :: ").or_else(|| signature.split_once("\n"))?;
    Some(Hole {
        name: name.trim().to_owned(),
        type_: one_line(type_).trim_start_matches(":: ").to_owned(),
        file: diagnostic.file.clone(),
        line: diagnostic.line,
        column: diagnostic.column,
        bindings: section(&lines, "Relevant bindings include"),
        fits: section(&lines, "Valid hole fits include"),
    })
}

/// Returns the entries below a heading, or the one on its line.
fn section(lines: &[&str], heading: &str) -> Vec<String> {
    let Some(at) = lines.iter().position(|line| bare(line).starts_with(heading)) else { return Vec::new() };
    let inline = bare(lines[at])[heading.len()..].trim();
    let mut entries: Vec<String> = Vec::new();
    entries.extend(Some(inline.to_owned()).filter(|inline| !inline.is_empty()));
    let width = lines.get(at + 1).map_or(0, |line| indent(line));
    let base = indent(lines[at]) + if lines[at].trim_start().starts_with("• ") { 2 } else { 0 };
    for line in lines[at + 1..].iter().take_while(|line| indent(line) > base) {
        match entries.last_mut().filter(|_| indent(line) > width) {
            Some(entry) => {
                entry.push(' ');
                entry.push_str(line.trim());
            }
            None => entries.push(line.trim().to_owned()),
        }
    }
    entries.retain(|entry| !entry.starts_with("(Some hole fits suppressed"));
    entries.iter().map(|entry| without_origin(entry)).collect()
}

/// Removes the origin: `head :: forall a. [a] -> a with head @Int (imported from …)` → the part before.
fn without_origin(entry: &str) -> String {
    let name = entry.split(" :: ").next().unwrap_or_default();
    let with = format!(" with {name} ");
    let marks = [with.as_str(), " (bound at ", " (imported from ", " (and originally ", " (defined "];
    let end = marks.iter().filter_map(|mark| entry.find(mark)).min().unwrap_or(entry.len());
    one_line(&entry[..end])
}

fn bare(line: &str) -> &str {
    let line = line.trim_start();
    line.strip_prefix("• ").unwrap_or(line)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostics::ghc::parse;
    use expect_test::{Expect, expect};

    fn check(stderr: &str, expected: Expect) {
        expected.assert_eq(&serde_json::to_string_pretty(&holes(&parse(stderr).diagnostics)).expect("serializable"));
    }

    #[test]
    fn with_bindings_and_fits() {
        check(
            "Hole.hs:4:8-11: error:\n    • Found hole: _foo :: [Int] -> Int\n      Or perhaps ‘_foo’ is mis-spelled, or not in \
             scope\n    • In the expression: _foo\n    • Relevant bindings include\n        xs :: [Int] (bound at \
             Hole.hs:4:3)\n        m :: [Int] -> Int (bound at Hole.hs:4:1)\n      Valid hole fits include\n        head :: \
             forall a. [a] -> a\n          with head @Int\n          (imported from ‘Prelude’ at Hole.hs:1:8-11\n           \
             (and originally defined in ‘GHC.List’))\n        (Some hole fits suppressed; use -fmax-valid-hole-fits=N)\n",
            expect![[r#"
                [
                  {
                    "name": "_foo",
                    "type": "[Int] -> Int",
                    "file": "Hole.hs",
                    "line": 4,
                    "column": 8,
                    "bindings": [
                      "xs :: [Int]",
                      "m :: [Int] -> Int"
                    ],
                    "fits": [
                      "head :: forall a. [a] -> a"
                    ]
                  }
                ]"#]],
        );
    }

    #[test]
    fn at_the_prompt() {
        check(
            "<interactive>:1:1: error:\n    • Found hole: _ :: t\n      Where: ‘t’ is a rigid type variable bound by\n               \
             the inferred type of it :: t\n    • In the expression: _\n    • Relevant bindings include it :: t (bound at \
             <interactive>:1:1)\n",
            expect![[r#"
                [
                  {
                    "name": "_",
                    "type": "t",
                    "line": 1,
                    "column": 1,
                    "bindings": [
                      "it :: t"
                    ],
                    "fits": []
                  }
                ]"#]],
        );
    }

    #[test]
    fn a_type_over_lines() {
        check(
            "A.hs:4:8-11: error:\n    • Found hole:\n        _f :: Int\n              -> Int\n    • In the expression: _f\n",
            expect![[r#"
                [
                  {
                    "name": "_f",
                    "type": "Int -> Int",
                    "file": "A.hs",
                    "line": 4,
                    "column": 8,
                    "bindings": [],
                    "fits": []
                  }
                ]"#]],
        );
    }
}
