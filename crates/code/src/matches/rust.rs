//! Matches in Rust.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern, numbered};
use super::{Text, children, fails};

const EXHAUSTIVE: Otherwise = Otherwise::Breaks("compile error (E0004)");
const IRREFUTABLE: Otherwise = Otherwise::Breaks("compile error (E0005)");
const REFUSES: &[&str] = &["unreachable!", "panic!", "todo!", "unimplemented!", "std::process::abort"];

pub(super) fn read(text: Text<'_>, node: Node<'_>) -> Option<Match> {
    let plain = |pattern: Node<'_>, form, otherwise| Match {
        bytes: node.byte_range(),
        form,
        arms: vec![Arm { pattern: pattern_of(text, pattern), is_guarded: false, refuses: None }],
        otherwise,
    };
    match node.kind() {
        "match_expression" => {
            let body = node.child_by_field_name("body")?;
            let arms = children(body).into_iter().filter(|child| child.kind() == "match_arm");
            let arms = arms.filter_map(|arm| {
                let pattern = arm.child_by_field_name("pattern")?;
                let value = arm.child_by_field_name("value");
                Some(Arm {
                    pattern: inner(pattern).map_or(Pattern::Other, |inner| pattern_of(text, inner)),
                    is_guarded: pattern.child_by_field_name("condition").is_some(),
                    refuses: value
                        .filter(|value| fails(text.node_text(*value), REFUSES))
                        .map(|_| "run-time failure: the catch-all branch panics"),
                })
            });
            Some(Match { bytes: node.byte_range(), form: "match", arms: arms.collect(), otherwise: EXHAUSTIVE })
        }
        "let_condition" => {
            let mut above = node.parent()?;
            while matches!(above.kind(), "let_chain" | "parenthesized_expression" | "binary_expression") {
                above = above.parent()?;
            }
            let (form, otherwise) = match above.kind() {
                "while_expression" => ("while let", Otherwise::FallsThrough("the loop ends")),
                "if_expression" if above.child_by_field_name("alternative").is_some() => {
                    ("if let", Otherwise::Absorbs("the else branch takes it"))
                }
                "match_pattern" => ("if let guard", Otherwise::Absorbs("the next branch takes it")),
                _ => ("if let", Otherwise::FallsThrough("no branch runs")),
            };
            Some(plain(node.child_by_field_name("pattern")?, form, otherwise))
        }
        "let_declaration" => {
            let otherwise = match node.child_by_field_name("alternative") {
                Some(_) => Otherwise::Absorbs("the else block takes it"),
                None => IRREFUTABLE,
            };
            Some(plain(node.child_by_field_name("pattern")?, "let", otherwise))
        }
        "parameter" => Some(plain(node.child_by_field_name("pattern")?, "parameter", IRREFUTABLE)),
        "for_expression" => Some(plain(node.child_by_field_name("pattern")?, "for", IRREFUTABLE)),
        _ => None,
    }
}

/// Returns the pattern in a `match_pattern`.
fn inner(node: Node<'_>) -> Option<Node<'_>> {
    node.child(0)
}

pub(super) fn last_word(before: &[u8]) -> String {
    String::from_utf8_lossy(crate::syntax::last_word(before)).into_owned()
}

fn pattern_of(text: Text<'_>, node: Node<'_>) -> Pattern {
    let path = |node: Node<'_>| -> (String, Option<String>, usize) {
        let name = node.child_by_field_name("name").unwrap_or(node);
        let qualifier = node.child_by_field_name("path").map(|path| last_word(text.node_text(path).as_bytes()));
        (text.node_text(name), qualifier, name.start_byte())
    };
    match node.kind() {
        "_" | "remaining_field_pattern" => Pattern::Any,
        "identifier" => {
            let name = text.node_text(node);
            if name.starts_with(char::is_uppercase) {
                Pattern::named(name, None, node.start_byte())
            } else {
                Pattern::Any
            }
        }
        "scoped_identifier" => {
            let (name, qualifier, at) = path(node);
            Pattern::named(name, qualifier, at)
        }
        "tuple_struct_pattern" => {
            let Some(of) = node.child_by_field_name("type") else { return Pattern::Other };
            let (name, qualifier, at) = path(of);
            let parts = children(node).into_iter().filter(|child| child.id() != of.id());
            let parts = upto_rest(parts.collect());
            Pattern::Of { name, qualifier, at, parts: numbered(parts.into_iter().map(|part| pattern_of(text, part))) }
        }
        "struct_pattern" => {
            let Some(of) = node.child_by_field_name("type") else { return Pattern::Other };
            let (name, qualifier, at) = path(of);
            let fields = children(node).into_iter().filter(|child| child.kind() == "field_pattern");
            let parts = fields.filter_map(|field| {
                let label = text.node_text(field.child_by_field_name("name")?);
                let inner = field.child_by_field_name("pattern").map_or(Pattern::Any, |inner| pattern_of(text, inner));
                Some((label, inner))
            });
            Pattern::Of { name, qualifier, at, parts: parts.collect() }
        }
        "tuple_pattern" => Pattern::combine_adjacent(children(node).into_iter().map(|part| pattern_of(text, part))),
        "slice_pattern" => {
            let parts = children(node);
            let is_rest = |part: &Node<'_>| part.kind() == "remaining_field_pattern";
            let rest = parts.iter().position(is_rest);
            let parts = parts.into_iter().filter(|part| !is_rest(part)).map(|part| pattern_of(text, part));
            Pattern::sequence(parts.collect(), rest)
        }
        "or_pattern" => Pattern::Either(children(node).into_iter().map(|one| pattern_of(text, one)).collect()),
        "reference_pattern" | "ref_pattern" | "mut_pattern" | "captured_pattern" | "match_pattern" => {
            let last = node.child(node.child_count().saturating_sub(1));
            last.map_or(Pattern::Other, |last| pattern_of(text, last))
        }
        _ => Pattern::Other,
    }
}

/// Returns the parts before `..`. Positions after it are unknown.
fn upto_rest(mut parts: Vec<Node<'_>>) -> Vec<Node<'_>> {
    if let Some(rest) = parts.iter().position(|part| part.kind() == "remaining_field_pattern") {
        parts.truncate(rest);
    }
    parts
}
