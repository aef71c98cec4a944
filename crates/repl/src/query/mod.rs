//! Data types and parsers for GHCi's answers to questions (`:type`, `:info`, `:uses` …). The tool `repl_query` asks the
//! questions; this module is pure.

mod browse;
mod completion;
mod holes;
mod info;
mod location;

use schemars::JsonSchema;
use serde::Serialize;

pub use browse::{Item, browse};
pub use completion::{Completions, complete_command, completions};
pub use holes::{Hole, holes};
pub use info::{Info, Instance, info, instances};
pub use location::{Loaded, Location, identifier_at, loaded, locations};

/// `:type`: an expression and its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Typed {
    /// The type, or the kind, on one line.
    #[serde(rename = "type")]
    pub type_: String,
    /// The expanded form of a type, without synonyms and families.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_form: Option<String>,
}

/// Parses the answer of `:type`, `:kind!` and `:type-at`: the question itself, `::`, and the type.
pub fn typed(question: &str, stdout: &str) -> Option<Typed> {
    let answer = stdout.trim();
    // The question may contain `::`; GHCi repeats it as typed.
    let rest = match answer.strip_prefix(question.trim()) {
        Some(rest) => rest.trim_start().strip_prefix("::")?,
        None => answer.split_once("::")?.1,
    };
    let (type_, normal_form) = match rest.split_once("\n= ") {
        Some((type_, normal)) => (type_, Some(one_line(normal))),
        None => (rest, None),
    };
    Some(Typed { type_: one_line(type_), normal_form })
}

/// Parses `:doc`: the text, if there is any. GHC 9.0 prints it alone; newer versions print the declaration first, then
/// comments that begin with `-- |`, one for each entity of that name.
pub fn doc(stdout: &str) -> Option<String> {
    let commented = stdout.lines().any(|line| line.starts_with("-- |"));
    let mut lines: Vec<&str> = Vec::new();
    for line in stdout.lines() {
        match (commented, line.strip_prefix("--")) {
            (false, _) => lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end()),
            (true, Some(text)) => {
                let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
                lines.push(text.strip_prefix("| ").unwrap_or(text));
            }
            // This is a declaration; between two comments it becomes a blank line.
            (true, None) if lines.last().is_some_and(|last| !last.is_empty()) => lines.push(""),
            (true, None) => {}
        }
    }
    let text = lines.join("\n").trim().to_owned();
    Some(text).filter(|text| !text.is_empty() && text != "<has no documentation>")
}

/// Joins the lines of a type that GHCi wrapped.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, stdout: &str, expected: &str) {
        let typed = typed(question, stdout).expect("an answer");
        let normal = typed.normal_form.map_or(String::new(), |normal| format!(" = {normal}"));
        assert_eq!(format!("{}{normal}", typed.type_), expected);
    }

    #[test]
    fn types_and_kinds() {
        check("map", "map :: (a -> b) -> [a] -> [b]\n", "(a -> b) -> [a] -> [b]");
        check(
            "foldr . foldr",
            "foldr . foldr\n  :: (Foldable t1, Foldable t2) =>\n     (a -> t2 a -> t2 a) -> t2 a -> t1 (t2 a) -> t2 a\n",
            "(Foldable t1, Foldable t2) => (a -> t2 a -> t2 a) -> t2 a -> t1 (t2 a) -> t2 a",
        );
        check("(1 :: Int, ())", "(1 :: Int, ()) :: (Int, ())\n", "(Int, ())");
        check("Maybe Int", "Maybe Int :: *\n= Maybe Int\n", "* = Maybe Int");
        check("", " :: Double\n", "Double");
        assert_eq!(typed("x", "no answer"), None);
    }

    #[test]
    fn documentation() {
        assert_eq!(doc(" The area of a shape.\n").as_deref(), Some("The area of a shape."));
        assert_eq!(doc(" One.\n\n > code\n").as_deref(), Some("One.\n\n> code"));
        assert_eq!(doc("<has no documentation>\n"), None);
        assert_eq!(doc(""), None);
        let newer =
            "Area.area :: Shape -> Double\n  \t-- Identifier defined at src/Area.hs:7:1\n-- | One.\n--\n-- > code\n";
        assert_eq!(doc(newer).as_deref(), Some("One.\n\n> code"));
    }
}
