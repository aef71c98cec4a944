//! Matches in Haskell.

use tree_sitter::Node;

use super::fails;
use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::source::{Source, children};

const INCOMPLETE: Otherwise = Otherwise::Breaks("warning (-Wincomplete-patterns) and run-time failure");
const REFUSES: &[&str] = &["error ", "error(", "error$", "undefined", "throw ", "errorWithoutStackTrace"];

pub(super) fn read(source: Source<'_>, node: Node<'_>) -> Option<Match> {
    let (form, otherwise) = match node.kind() {
        "case" => return alternatives(source, node, "case"),
        "lambda_case" => return alternatives(source, node, "\\case"),
        "lambda_cases" => return alternatives(source, node, "\\cases"),
        "function" => return clauses(source, node),
        "lambda" => ("lambda", Otherwise::Breaks("warning (-Wincomplete-uni-patterns) and run-time failure")),
        "bind" if node.child_by_field_name("match").is_some() => {
            ("binding", Otherwise::Breaks("run-time failure, where what it binds is used"))
        }
        "bind" => ("do", Otherwise::Breaks("run-time failure, by `fail` of the monad")),
        "generator" => ("generator", Otherwise::FallsThrough("it is left out")),
        "pattern_guard" => ("pattern guard", Otherwise::Absorbs("the next guard or branch takes it")),
        _ => return None,
    };
    Some(Match::single(node.byte_range(), form, head(source, node)?, otherwise))
}

fn alternatives(source: Source<'_>, node: Node<'_>, form: &'static str) -> Option<Match> {
    let all = children(node.child_by_field_name("alternatives")?).into_iter();
    let arms = all.filter(|child| child.kind() == "alternative").filter_map(|arm| arm_of(source, arm)).collect();
    Some(Match { bytes: node.byte_range(), form, arms, otherwise: INCOMPLETE })
}

/// Reads all clauses of a function as one match, located at the first. The search finds only clauses that name a
/// constructor, and the first clause may not.
fn clauses(source: Source<'_>, node: Node<'_>) -> Option<Match> {
    let name = name(source, node)?;
    let is_part = |other: &Node<'_>| !matches!(other.kind(), "comment" | "haddock" | "pragma" | "cpp");
    let is_clause = |other: &Node<'_>| other.kind() == "function" && self::name(source, *other).as_ref() == Some(&name);
    let before = std::iter::successors(node.prev_named_sibling(), Node::prev_named_sibling);
    let after = std::iter::successors(node.next_named_sibling(), Node::next_named_sibling);
    let mut all: Vec<Node<'_>> = before.filter(is_part).take_while(is_clause).collect();
    all.reverse();
    all.push(node);
    all.extend(after.filter(is_part).take_while(is_clause));
    let bytes = all[0].start_byte()..all[all.len() - 1].end_byte();
    let arms = all.into_iter().map(|clause| arm_of(source, clause)).collect::<Option<_>>()?;
    Some(Match { bytes, form: "function clauses", arms, otherwise: INCOMPLETE })
}

/// Returns the name of a function's clause.
fn name(source: Source<'_>, node: Node<'_>) -> Option<String> {
    let infix = || children(node).into_iter().find(|child| child.kind() == "infix")?.child_by_field_name("operator");
    node.child_by_field_name("name").or_else(infix).map(|name| source.node_text(name))
}

/// Returns the patterns of a clause, an alternative, a lambda or a binding.
fn head(source: Source<'_>, node: Node<'_>) -> Option<Pattern> {
    if let Some(pattern) = node.child_by_field_name("pattern") {
        return Some(source.pattern(pattern));
    }
    if let Some(patterns) = node.child_by_field_name("patterns") {
        return Some(Pattern::combine_adjacent(source.each(children(patterns))));
    }
    let is_infix = |child: &Node<'_>| node.kind() == "function" && child.kind() == "infix";
    let infix = children(node).into_iter().find(is_infix)?;
    let operands = ["left_operand", "right_operand"].map(|field| infix.child_by_field_name(field));
    Some(Pattern::combine_adjacent(source.each(operands.into_iter().flatten())))
}

fn arm_of(source: Source<'_>, node: Node<'_>) -> Option<Arm> {
    let mut cursor = node.walk();
    let matches: Vec<Node<'_>> = node.children_by_field_name("match", &mut cursor).collect();
    let is_open = |one: &Node<'_>| match one.child_by_field_name("guards") {
        None => true,
        Some(guards) => matches!(source.node_text(guards).trim(), "otherwise" | "True"),
    };
    let last = matches.iter().find(|one| is_open(one));
    let body = last.and_then(|last| last.child_by_field_name("expression"));
    Some(Arm {
        pattern: head(source, node)?,
        is_guarded: last.is_none() && !matches.is_empty(),
        refuses: body
            .filter(|body| fails(source.node_text(*body), REFUSES))
            .map(|_| "run-time failure: the catch-all branch is an error"),
    })
}
