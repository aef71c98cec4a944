//! Matches in Python: `match`.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::{Text, children, fails, must_return};

pub(super) fn read(text: Text<'_>, node: Node<'_>) -> Option<Match> {
    if node.kind() != "match_statement" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let arms = children(body).into_iter().filter(|child| child.kind() == "case_clause").map(|arm| {
        let patterns: Vec<Node<'_>> =
            children(arm).into_iter().filter(|child| child.kind() == "case_pattern").collect();
        let pattern = match &patterns[..] {
            [one] => pattern_of(text, *one),
            // `case a, b:` is a tuple.
            several => Pattern::combine_adjacent(several.iter().map(|one| pattern_of(text, *one))),
        };
        let said = arm.child_by_field_name("consequence").map(|body| text.node_text(body)).unwrap_or_default();
        let refuses = if fails(said.clone(), &["assert_never(", "typing.assert_never("]) {
            Some("type checkers complain, and assert_never fails when run")
        } else if fails(said, &["raise", "assert False"]) {
            Some("run-time failure: the catch-all branch raises")
        } else {
            None
        };
        Arm { pattern, is_guarded: arm.child_by_field_name("guard").is_some(), refuses }
    });
    let otherwise = if must_return(text, node, "block", MAY_END) {
        Otherwise::Breaks("type checkers complain: the function has to return, and returns None")
    } else {
        Otherwise::FallsThrough("no case runs")
    };
    Some(Match { bytes: node.byte_range(), form: "match", arms: arms.collect(), otherwise })
}

/// Words of types whose functions may end without a value.
const MAY_END: &str = "None Optional Any object Iterator Iterable Generator AsyncGenerator";

fn pattern_of(text: Text<'_>, node: Node<'_>) -> Pattern {
    let dotted = |node: Node<'_>| {
        let parts = children(node);
        let at = parts.last().map_or(node.start_byte(), Node::start_byte);
        let mut names: Vec<String> = parts.into_iter().map(|name| text.node_text(name)).collect();
        let name = names.pop().unwrap_or_default();
        (name, names.pop(), at)
    };
    match node.kind() {
        "_" => Pattern::Any,
        "case_pattern" | "as_pattern" | "parenthesized_expression" => match node.child(0) {
            Some(inner) => pattern_of(text, inner),
            None => Pattern::Other,
        },
        "dotted_name" => match dotted(node) {
            // A plain name binds.
            (_, None, _) => Pattern::Any,
            (name, qualifier, at) => Pattern::named(name, qualifier, at),
        },
        "class_pattern" => {
            let Some((name, qualifier, at)) = node.named_child(0).map(dotted) else { return Pattern::Other };
            let parts = children(node).into_iter().skip(1).enumerate().map(|(number, part)| {
                let keyword = part.named_child(0).filter(|inner| inner.kind() == "keyword_pattern");
                match keyword {
                    Some(keyword) => {
                        let label = keyword.named_child(0).map(|label| text.node_text(label)).unwrap_or_default();
                        (label, keyword.named_child(1).map_or(Pattern::Other, |inner| pattern_of(text, inner)))
                    }
                    None => (number.to_string(), pattern_of(text, part)),
                }
            });
            Pattern::Of { name, qualifier, at, parts: parts.collect() }
        }
        "union_pattern" => Pattern::Either(children(node).into_iter().map(|one| pattern_of(text, one)).collect()),
        "tuple_pattern" => Pattern::combine_adjacent(children(node).into_iter().map(|one| pattern_of(text, one))),
        "string" => Pattern::named(text.node_text(node).trim_matches(['"', '\'']), None, node.start_byte()),
        _ => Pattern::Other,
    }
}
