//! Matches in Rust.

use tree_sitter::Node;

use super::fails;
use super::pattern::{Arm, Match, Otherwise};
use super::source::{Source, children};

const EXHAUSTIVE: Otherwise = Otherwise::Breaks("compile error (E0004)");
const IRREFUTABLE: Otherwise = Otherwise::Breaks("compile error (E0005)");
const REFUSES: &[&str] = &["unreachable!", "panic!", "todo!", "unimplemented!", "std::process::abort"];

/// Reads the matches of a node: several if a condition has several `let`.
pub(super) fn read(source: Source<'_>, node: Node<'_>) -> Vec<Match> {
    let has_else = node.child_by_field_name("alternative").is_some();
    let (form, otherwise) = match (node.kind(), has_else) {
        ("match_expression", _) => return matched(source, node).into_iter().collect(),
        ("if_expression", true) => ("if let", Otherwise::Absorbs("the else branch takes it")),
        ("if_expression", false) => ("if let", Otherwise::FallsThrough("no branch runs")),
        ("while_expression", _) => ("while let", Otherwise::FallsThrough("the loop ends")),
        ("match_pattern", _) => ("if let guard", Otherwise::Absorbs("the next branch takes it")),
        ("let_declaration", true) => ("let", Otherwise::Absorbs("the else block takes it")),
        ("let_declaration", false) => ("let", IRREFUTABLE),
        ("parameter", _) => ("parameter", IRREFUTABLE),
        ("for_expression", _) => ("for", IRREFUTABLE),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut open = vec![node.child_by_field_name("condition").unwrap_or(node)];
    while let Some(one) = open.pop() {
        if let Some(pattern) = one.child_by_field_name("pattern") {
            found.push(Match::single(one.byte_range(), form, source.pattern(pattern), otherwise));
        } else if matches!(one.kind(), "let_chain" | "parenthesized_expression" | "binary_expression") {
            open.extend(children(one));
        }
    }
    found
}

pub(super) fn matched(source: Source<'_>, node: Node<'_>) -> Option<Match> {
    let body = node.child_by_field_name("body")?;
    let arms = children(body).into_iter().filter(|child| child.kind() == "match_arm").filter_map(|arm| {
        let pattern = arm.child_by_field_name("pattern")?;
        let value = arm.child_by_field_name("value");
        Some(Arm {
            pattern: source.pattern(pattern),
            is_guarded: pattern.child_by_field_name("condition").is_some(),
            refuses: value
                .filter(|value| fails(source.node_text(*value), REFUSES))
                .map(|_| "run-time failure: the catch-all branch panics"),
        })
    });
    Some(Match { bytes: node.byte_range(), form: "match", arms: arms.collect(), otherwise: EXHAUSTIVE })
}
