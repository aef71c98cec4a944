//! The patterns of all languages. Most kinds of nodes belong to one language; those that several share mean the same.

use syntax::{Language, last_word};
use tree_sitter::Node;

use super::pattern::{LIST, Pattern, numbered};

/// A text whose nodes are read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: &'a [u8],
    pub language: Language,
    /// True for a union whose values are discriminated by a field.
    pub is_union: bool,
    /// The value that the cases of a `switch` are compared with.
    pub compared: Option<Compared>,
}

/// The value of a `switch`.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    pub at: usize,
    /// True for `switch (typeof value)`.
    pub is_typeof: bool,
}

/// The qualifier of a text that is compared with the type of a value.
pub(super) const TYPEOF: &str = "typeof";

/// The kinds of qualified names, with the fields of the name and of its qualifier.
const QUALIFIED: [(&str, &str, &str); 5] = [
    ("scoped_identifier", "name", "path"),
    ("scoped_type_identifier", "name", "path"),
    ("qualified_identifier", "name", "scope"),
    ("selector_expression", "field", "operand"),
    ("member_expression", "property", "object"),
];

/// The kinds of nodes around a pattern, with its field.
const AROUND: [(&str, &str); 5] =
    [("parens", "pattern"), ("irrefutable", "pattern"), ("strict", "pattern"), ("as", "pattern"), ("qualified", "id")];

impl Source<'_> {
    pub(super) fn node_text(&self, node: Node<'_>) -> String {
        String::from_utf8_lossy(self.text.get(node.byte_range()).unwrap_or_default()).into_owned()
    }

    pub(super) fn pattern(&self, node: Node<'_>) -> Pattern {
        let read = |node: Option<Node<'_>>| node.map_or(Pattern::Other, |node| self.pattern(node));
        // In Rust, a lower-case name binds.
        let binds = || self.language == Language::Rust && !self.node_text(node).starts_with(char::is_uppercase);
        let kind = node.kind();
        if let Some((_, field)) = AROUND.iter().find(|(other, _)| *other == kind) {
            return read(node.child_by_field_name(field));
        }
        match kind {
            "_" | "remaining_field_pattern" | "variable" | "wildcard" => Pattern::Any,
            "identifier" if binds() => Pattern::Any,
            // In Python, a plain name binds.
            "dotted_name" if node.named_child_count() == 1 => Pattern::Any,
            "identifier" | "constructor" | "constructor_operator" | "dotted_name" => {
                self.constructor(Some(node), Vec::new())
            }
            _ if QUALIFIED.iter().any(|(other, ..)| *other == kind) => self.constructor(Some(node), Vec::new()),
            "or_pattern" | "union_pattern" => Pattern::Either(self.each(children(node))),
            "tuple_pattern" | "tuple" => Pattern::combine_adjacent(self.each(children(node))),
            "slice_pattern" | "list_pattern" => match &children(node)[..] {
                [rest] if rest.kind() == "remaining_field_pattern" => Pattern::Any,
                parts => {
                    let parts = numbered(self.each(parts.iter().copied()));
                    Pattern::Of { name: LIST.to_owned(), qualifier: None, at: 0, parts }
                }
            },
            "struct_pattern" | "record" => {
                let (of, label) = if kind == "record" { ("constructor", "field") } else { ("type", "name") };
                let part = |field: Node<'_>| {
                    let label = self.node_text(field.child_by_field_name(label)?);
                    let inner = field.child_by_field_name("pattern");
                    Some((label, inner.map_or(Pattern::Any, |inner| self.pattern(inner))))
                };
                let fields = children(node).into_iter().filter(|child| child.kind() == "field_pattern");
                self.constructor(node.child_by_field_name(of), fields.filter_map(part).collect())
            }
            "tuple_struct_pattern" => {
                let of = node.child_by_field_name("type");
                let parts = children(node).into_iter().filter(|part| Some(*part) != of);
                // Positions after `..` are unknown.
                let parts = parts.take_while(|part| part.kind() != "remaining_field_pattern");
                self.constructor(of, numbered(self.each(parts)))
            }
            "class_pattern" => {
                let parts = children(node).into_iter().skip(1).enumerate().map(|(number, part)| {
                    let keyword = part.named_child(0).filter(|inner| inner.kind() == "keyword_pattern");
                    match keyword {
                        Some(keyword) => {
                            let label = keyword.named_child(0).map(|label| self.node_text(label));
                            (label.unwrap_or_default(), read(keyword.named_child(1)))
                        }
                        None => (number.to_string(), self.pattern(part)),
                    }
                });
                self.constructor(node.named_child(0), parts.collect())
            }
            "apply" => {
                let mut parts = Vec::new();
                let mut of = node;
                while let Some(function) = of.child_by_field_name("function") {
                    parts.extend(of.child_by_field_name("argument").map(|one| self.pattern(one)));
                    of = function;
                }
                parts.reverse();
                self.constructor(Some(of), numbered(parts))
            }
            "infix" => {
                let parts = ["left_operand", "right_operand"].map(|field| read(node.child_by_field_name(field)));
                self.constructor(node.child_by_field_name("operator"), numbered(parts.into()))
            }
            "string" => {
                let qualifier = self.compared.filter(|one| one.is_typeof).map(|_| TYPEOF.to_owned());
                let at = self.compared.map_or(node.start_byte(), |one| one.at);
                let name = self.node_text(node).trim_matches(['"', '\'', '`']).to_owned();
                Pattern::Of { name, qualifier, at, parts: Vec::new() }
            }
            "match_pattern" | "case_pattern" | "as_pattern" => read(node.child(0)),
            "signature" | "parenthesized_expression" | "as_expression" => read(node.named_child(0)),
            "reference_pattern" | "ref_pattern" | "mut_pattern" | "captured_pattern" => {
                read(node.child(node.child_count().saturating_sub(1)))
            }
            _ => Pattern::Other,
        }
    }

    pub(super) fn each<'t>(&self, nodes: impl IntoIterator<Item = Node<'t>>) -> Vec<Pattern> {
        nodes.into_iter().map(|node| self.pattern(node)).collect()
    }

    /// Returns the pattern of a constructor, from its name and its parts.
    fn constructor<'t>(&self, of: Option<Node<'t>>, parts: Vec<(String, Pattern)>) -> Pattern {
        let Some(of) = of else { return Pattern::Other };
        let (mut name, mut qualifier) = (of, None);
        let part = |node: Node<'t>| match node.kind() {
            "parens" => Some((node.child_by_field_name("pattern")?, None)),
            "qualified" => Some((node.child_by_field_name("id")?, None)),
            "infix_id" => Some((node.named_child(0)?, None)),
            "dotted_name" => {
                let mut names = children(node);
                Some((names.pop()?, names.pop()))
            }
            kind => {
                let (_, name, before) = QUALIFIED.iter().find(|(other, ..)| *other == kind)?;
                Some((node.child_by_field_name(name)?, node.child_by_field_name(before)))
            }
        };
        // `geo::Color::Red` of C++ has two levels.
        while let Some((inner, before)) = part(name) {
            (name, qualifier) = (inner, before);
        }
        let at = self.compared.filter(|_| self.is_union && qualifier.is_some()).map_or(name.start_byte(), |one| one.at);
        let word = |node| String::from_utf8_lossy(last_word(self.node_text(node).as_bytes())).into_owned();
        Pattern::Of { name: self.node_text(name), qualifier: qualifier.map(word), at, parts }
    }
}

/// Returns the named children of a node without comments. Includes wildcards, which are unnamed in some grammars.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let is_part = |child: &Node<'_>| (child.is_named() || child.kind() == "_") && !child.kind().contains("comment");
    node.children(&mut cursor).filter(is_part).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::matches::{descend, pattern, python, rust};

    #[test]
    fn the_effect_in_a_list_is_undecided() {
        let python = "match all:\n    case [A(), *rest]:\n        pass\n";
        for (language, text) in [(Language::Rust, "fn f() { if let [A, ..] = all {} }"), (Language::Python, python)] {
            let tree = syntax::parse(language, text.as_bytes(), Instant::now() + Duration::from_secs(60)).unwrap();
            let source = Source { text: text.as_bytes(), language, is_union: false, compared: None };
            let mut found = Vec::new();
            descend(&mut tree.walk(), &[text.find('A').unwrap()], &mut |node| {
                found.extend(rust::read(source, node));
                found.extend(python::read(source, node));
            });
            let judged = found.iter().filter_map(|one| pattern::judged(one, &|name, _, _| name == "A"));
            assert_eq!(judged.map(|one| one.new).collect::<Vec<_>>(), [None], "{text}");
        }
    }
}
