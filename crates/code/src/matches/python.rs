//! Matches in Python: `match`.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::source::{Source, children};
use super::{fails, must_return};

pub(super) fn read(source: Source<'_>, node: Node<'_>) -> Option<Match> {
    if node.kind() != "match_statement" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let arms = children(body).into_iter().filter(|child| child.kind() == "case_clause").map(|arm| {
        let patterns = children(arm).into_iter().filter(|child| child.kind() == "case_pattern");
        let mut patterns = source.each(patterns);
        let said = arm.child_by_field_name("consequence").map(|body| source.node_text(body)).unwrap_or_default();
        let refuses = if fails(said.clone(), &["assert_never(", "typing.assert_never("]) {
            Some("type checkers complain, and assert_never fails when run")
        } else if fails(said, &["raise", "assert False"]) {
            Some("run-time failure: the catch-all branch raises")
        } else {
            None
        };
        Arm {
            pattern: match patterns.len() {
                1 => patterns.remove(0),
                // `case a, b:` is a tuple.
                _ => Pattern::combine_adjacent(patterns),
            },
            is_guarded: arm.child_by_field_name("guard").is_some(),
            refuses,
        }
    });
    let otherwise = if must_return(source, node, "block", MAY_END) {
        Otherwise::Breaks("type checkers complain: the function has to return, and returns None")
    } else {
        Otherwise::FallsThrough("no case runs")
    };
    Some(Match { bytes: node.byte_range(), form: "match", arms: arms.collect(), otherwise })
}

/// Words of types whose functions may end without a value.
const MAY_END: &str = "None Optional Any object Iterator Iterable Generator AsyncGenerator";
