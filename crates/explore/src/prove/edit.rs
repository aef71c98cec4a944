//! The changes, as insertions into a file's text that keep all line numbers.

use std::time::{Duration, Instant};

use code::facts::Symbol;
use code::{Kind, Language};
use tree_sitter::Node;

use super::edit_haskell;
use crate::rubric::Change;

/// A new text and its offset.
pub(super) type Insertion = (usize, String);

/// The time limit for parsing the file.
const PARSING: Duration = Duration::from_secs(3);

/// Makes a change to a definition. The error explains why it cannot be made.
pub(super) fn apply(text: &str, symbol: &Symbol, change: Change) -> Result<String, String> {
    if change == Change::ChangeType {
        return Err("a proof needs a change other than `change_type`".to_owned());
    }
    let tree = code::parse(symbol.language, text.as_bytes(), Instant::now() + PARSING);
    let tree = tree.ok_or_else(|| format!("{} cannot be parsed in time", symbol.file))?;
    let name = name_of(tree.root_node(), text, symbol).ok_or("the file has changed; ask again")?;
    let insertions = match change {
        _ if symbol.language == Language::Haskell => edit_haskell::insertions(text, name, symbol, change),
        // Both leave every use without its definition.
        Change::Remove | Change::Rename => Some(vec![(name.start_byte(), "hob_renamed_".to_owned())]),
        Change::ChangeSignature => parameter(text, name, symbol).map(|one| vec![one]),
        Change::AddVariant => variant(text, name, symbol).map(|one| vec![one]),
        Change::ChangeType => None,
    };
    let mut insertions =
        insertions.ok_or_else(|| format!("{} cannot be changed in this way for a proof", symbol.label))?;
    insertions.sort();
    let mut changed = text.to_owned();
    for (at, new) in insertions.into_iter().rev() {
        changed.insert_str(at, &new);
    }
    Ok(changed)
}

/// Returns true if a line is one that the edit changed.
pub(super) fn is_edited(text: &str, changed: &str, line: usize) -> bool {
    let line_of = |text: &str| text.lines().nth(line.saturating_sub(1)).map(str::to_owned);
    line_of(text) != line_of(changed)
}

/// Finds the name of a definition in the tree.
fn name_of<'t>(root: Node<'t>, text: &str, symbol: &Symbol) -> Option<Node<'t>> {
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.clone().take(symbol.line - 1).map(str::len).sum();
    let line = lines.nth(symbol.line - 1)?;
    // The column counts characters from 1.
    let at = start + line.char_indices().nth(symbol.column.saturating_sub(1))?.0;
    let name = root.descendant_for_byte_range(at, at + symbol.name.len())?;
    (text.get(name.byte_range()) == Some(&symbol.name)).then_some(name)
}

/// Returns another parameter.
fn parameter(text: &str, name: Node<'_>, symbol: &Symbol) -> Option<Insertion> {
    if !matches!(symbol.kind, Kind::Function | Kind::Method | Kind::Variable | Kind::Constant) {
        return None;
    }
    let definition = name.parent()?;
    // `const area = async (shape: Shape) =>`.
    let value = || definition.child_by_field_name("value")?.child_by_field_name("parameters");
    let list = definition.child_by_field_name("parameters").or_else(value)?;
    if symbol.language == Language::Rust {
        let (at, separator) = end_of_list(list)?;
        return Some((at, format!("{separator}_hob_added: ()")));
    }
    let inside = text.get(list.start_byte() + 1..list.end_byte() - 1)?.trim();
    if inside.starts_with("this:") {
        return None;
    }
    let comma = if inside.is_empty() { "" } else { ", " };
    // No value has this type, so no call stays right by chance.
    Some((list.start_byte() + 1, format!("hobAdded: never{comma}")))
}

/// Returns another variant.
fn variant(text: &str, name: Node<'_>, symbol: &Symbol) -> Option<Insertion> {
    let definition = name.parent()?;
    if symbol.kind == Kind::Enum {
        let body = definition.child_by_field_name("body")?;
        let (at, separator) = end_of_list(body)?;
        let is_text = symbol.language != Language::Rust && text[body.byte_range()].contains(['"', '\'']);
        let value = if is_text { " = \"hob-added\"" } else { "" };
        return Some((at, format!("{separator}HobAdded{value}")));
    }
    // `type Shape = Circle | Square;`
    let union = definition.child_by_field_name("value").filter(|_| definition.kind() == "type_alias_declaration")?;
    let (union, end) = (&text[union.byte_range()], union.end_byte());
    if union.contains("//") {
        return None;
    }
    let union = union.split_whitespace().collect::<Vec<_>>().join(" ");
    let union = union.trim_start_matches('|').trim();
    let is_literal = |member: &str| matches!(member, "null" | "undefined") || member.starts_with(['"', '\'']);
    if union.split('|').map(str::trim).all(is_literal) {
        return Some((end, " | \"hob-added\"".to_owned()));
    }
    // An object like the others, whose fields of literal texts have another text.
    let field = format!("({union})[K]");
    let literal = format!("string extends {field} ? {field} : \"hob-added\"");
    Some((end, format!(" | {{ [K in keyof ({union})]: {field} extends string ? {literal} : {field} }}")))
}

/// Returns the place before the closing bracket of a list, and the separator of another element.
fn end_of_list(list: Node<'_>) -> Option<(usize, &'static str)> {
    let mut cursor = list.walk();
    let children: Vec<Node<'_>> = list.children(&mut cursor).filter(|child| !child.is_extra()).collect();
    let [.., last, close] = &children[..] else { return None };
    let separator = if matches!(last.kind(), "(" | "{" | ",") { "" } else { ", " };
    Some((close.start_byte(), separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changed text. The definition of `name` is the first word of this name.
    fn changed(language: Language, kind: Kind, name: &str, change: Change, text: &str) -> String {
        let at = text.find(name).unwrap();
        let line = text[..at].lines().count().max(1);
        let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
        let symbol = Symbol {
            label: name.to_owned(),
            name: name.to_owned(),
            kind,
            language,
            file: "a".to_owned(),
            line,
            column,
            lines: (line, text.lines().count()),
            beginning_end: 0,
            signature: String::new(),
            doc: None,
            text: String::new(),
            in_test: false,
            is_test: false,
        };
        apply(text, &symbol, change).unwrap_or_else(|error| format!("error: {error}"))
    }

    #[test]
    fn another_parameter() {
        let rust = |text| changed(Language::Rust, Kind::Function, "area", Change::ChangeSignature, text);
        assert_eq!(rust("fn area() {}"), "fn area(_hob_added: ()) {}");
        assert_eq!(rust("fn area(a: u8, b: (u8, u8)) {}"), "fn area(a: u8, b: (u8, u8), _hob_added: ()) {}");
        assert_eq!(rust("fn area(\n    a: u8, // (\n) {}"), "fn area(\n    a: u8, // (\n_hob_added: ()) {}");
        assert_eq!(
            rust("fn area<F: Fn(u8) -> Vec<u8>>(f: F) {}"),
            "fn area<F: Fn(u8) -> Vec<u8>>(f: F, _hob_added: ()) {}"
        );
        let script = |text| changed(Language::TypeScript, Kind::Function, "area", Change::ChangeSignature, text);
        assert_eq!(script("function area(a = \")\") {}"), "function area(hobAdded: never, a = \")\") {}");
        assert_eq!(script("const area = async () => 1"), "const area = async (hobAdded: never) => 1");
        assert_eq!(script("const area = memo(f)"), "error: area cannot be changed in this way for a proof");
    }

    #[test]
    fn another_variant() {
        let rust = |text| changed(Language::Rust, Kind::Enum, "Shape", Change::AddVariant, text);
        assert_eq!(rust("enum Shape<'a> { A(&'a str), B }"), "enum Shape<'a> { A(&'a str), B , HobAdded}");
        assert_eq!(rust("enum Shape {\n    A = '}' as isize,\n}"), "enum Shape {\n    A = '}' as isize,\nHobAdded}");
        let script = |kind, text| changed(Language::TypeScript, kind, "Shape", Change::AddVariant, text);
        assert_eq!(
            script(Kind::Enum, "enum Shape { A = \"a\" }"),
            "enum Shape { A = \"a\" , HobAdded = \"hob-added\"}"
        );
        assert_eq!(script(Kind::Type, "type Shape = \"a\" | 'b';"), "type Shape = \"a\" | 'b' | \"hob-added\";");
        let union = script(Kind::Type, "type Shape =\n  | A\n  | B;\n");
        let expected = "type Shape =\n  | A\n  | B | { [K in keyof (A | B)]: (A | B)[K] extends string ? \
                        string extends (A | B)[K] ? (A | B)[K] : \"hob-added\" : (A | B)[K] };\n";
        assert_eq!(union, expected);
    }

    #[test]
    fn another_name() {
        let renamed = changed(Language::Rust, Kind::Struct, "Shape", Change::Remove, "/// S\nstruct Shape;\n");
        assert_eq!(renamed, "/// S\nstruct hob_renamed_Shape;\n");
        assert!(is_edited("a\nb", "a\nc", 2) && !is_edited("a\nb", "a\nc", 1));
    }

    #[test]
    fn another_parameter_in_haskell() {
        let changed = |text| changed(Language::Haskell, Kind::Function, "area", Change::ChangeSignature, text);
        assert_eq!(
            changed("area :: Shape -> Int\narea (C r) = r\n-- b\narea (S s) = f\n  where f = s\nareas = 1\n"),
            "area :: () -> Shape -> Int\narea _ (C r) = r\n-- b\narea _ (S s) = f\n  where f = s\nareas = 1\n"
        );
        assert_eq!(
            changed("area :: (Show a, Eq (f a)) => f a -> Int\narea = g\n"),
            "area :: (Show a, Eq (f a)) => () -> f a -> Int\narea _ = g\n"
        );
        assert_eq!(
            changed("area :: forall a. Show a =>\n  a -> Int\narea = g\n"),
            "area :: forall a. Show a =>\n  () -> a -> Int\narea _ = g\n"
        );
        assert_eq!(changed("x `area` y = x\n"), "error: area cannot be changed in this way for a proof");
    }

    #[test]
    fn another_variant_or_name_in_haskell() {
        let changed = |change, name, text| changed(Language::Haskell, Kind::Type, name, change, text);
        let variant = |text| changed(Change::AddVariant, "Shape", text);
        assert_eq!(variant("data Shape a\n  = A a -- =\n  | B\n"), "data Shape a\n  = HobAdded | A a -- =\n  | B\n");
        for unsupported in ["newtype Shape = A Int\n", "data Shape where A :: Shape\n"] {
            assert_eq!(variant(unsupported), "error: Shape cannot be changed in this way for a proof");
        }
        assert_eq!(changed(Change::Rename, "Shape", "data Shape = A\n"), "data HobRenamed_Shape = A\n");
    }
}
