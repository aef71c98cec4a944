//! Matches in Haskell.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern, numbered};
use super::{Text, children, fails};

const INCOMPLETE: Otherwise = Otherwise::Breaks("warning (-Wincomplete-patterns) and run-time failure");
const REFUSES: &[&str] = &["error ", "error(", "error$", "undefined", "throw ", "errorWithoutStackTrace"];

pub(super) fn read(text: Text<'_>, node: Node<'_>) -> Option<Match> {
    let plain = |pattern: Pattern, form, otherwise| Match {
        bytes: node.byte_range(),
        form,
        arms: vec![Arm { pattern, is_guarded: false, refuses: None }],
        otherwise,
    };
    match node.kind() {
        "case" | "lambda_case" | "lambda_cases" => {
            let alternatives = node.child_by_field_name("alternatives")?;
            let arms = children(alternatives).into_iter().filter(|child| child.kind() == "alternative");
            let arms = arms.filter_map(|arm| Some(arm_of(text, arm, head(text, arm)?))).collect();
            let form = match node.kind() {
                "case" => "case",
                "lambda_case" => "\\case",
                _ => "\\cases",
            };
            Some(Match { bytes: node.byte_range(), form, arms, otherwise: INCOMPLETE })
        }
        // All clauses of a function form one match, located at the first.
        "function" => {
            let name = name(text, node)?;
            let is_clause =
                |other: &Node<'_>| other.kind() == "function" && self::name(text, *other).as_ref() == Some(&name);
            // The search finds only clauses that name a constructor, and the first clause may not.
            let mut first = node;
            while let Some(clause) = previous_declaration(first).filter(is_clause) {
                first = clause;
            }
            let mut arms = Vec::new();
            let mut end = first;
            let mut next = Some(first);
            while let Some(clause) = next.filter(is_clause) {
                arms.push(arm_of(text, clause, head(text, clause)?));
                end = clause;
                next = next_declaration(clause);
            }
            let bytes = first.start_byte()..end.end_byte();
            Some(Match { bytes, form: "function clauses", arms, otherwise: INCOMPLETE })
        }
        "lambda" => {
            let how = Otherwise::Breaks("warning (-Wincomplete-uni-patterns) and run-time failure");
            Some(plain(head(text, node)?, "lambda", how))
        }
        "bind" => {
            let pattern = pattern_of(text, node.child_by_field_name("pattern")?);
            let (form, otherwise) = match node.child_by_field_name("match") {
                Some(_) => ("binding", Otherwise::Breaks("run-time failure, where what it binds is used")),
                None => ("do", Otherwise::Breaks("run-time failure, by `fail` of the monad")),
            };
            Some(plain(pattern, form, otherwise))
        }
        "generator" => {
            let pattern = pattern_of(text, node.child_by_field_name("pattern")?);
            Some(plain(pattern, "generator", Otherwise::FallsThrough("it is left out")))
        }
        "pattern_guard" => {
            let pattern = pattern_of(text, node.child_by_field_name("pattern")?);
            Some(plain(pattern, "pattern guard", Otherwise::Absorbs("the next guard or branch takes it")))
        }
        _ => None,
    }
}

/// Returns the previous or next declaration, skipping comments.
fn previous_declaration(node: Node<'_>) -> Option<Node<'_>> {
    std::iter::successors(node.prev_named_sibling(), Node::prev_named_sibling).find(|node| !is_comment(node))
}

fn next_declaration(node: Node<'_>) -> Option<Node<'_>> {
    std::iter::successors(node.next_named_sibling(), Node::next_named_sibling).find(|node| !is_comment(node))
}

fn is_comment(node: &Node<'_>) -> bool {
    matches!(node.kind(), "comment" | "haddock" | "pragma" | "cpp")
}

/// Returns the name of a function's clause.
fn name(text: Text<'_>, node: Node<'_>) -> Option<String> {
    let infix = || children(node).into_iter().find(|child| child.kind() == "infix")?.child_by_field_name("operator");
    node.child_by_field_name("name").or_else(infix).map(|name| text.node_text(name))
}

/// Returns the patterns of a clause, an alternative or a lambda.
fn head(text: Text<'_>, node: Node<'_>) -> Option<Pattern> {
    if let Some(pattern) = node.child_by_field_name("pattern") {
        return Some(pattern_of(text, pattern));
    }
    if let Some(patterns) = node.child_by_field_name("patterns") {
        return Some(Pattern::combine_adjacent(children(patterns).into_iter().map(|one| pattern_of(text, one))));
    }
    let infix = children(node).into_iter().find(|child| child.kind() == "infix")?;
    let operand = |field| infix.child_by_field_name(field).map_or(Pattern::Other, |one| pattern_of(text, one));
    Some(Pattern::combine_adjacent([operand("left_operand"), operand("right_operand")]))
}

fn arm_of(text: Text<'_>, node: Node<'_>, pattern: Pattern) -> Arm {
    let mut cursor = node.walk();
    let matches: Vec<Node<'_>> = node.children_by_field_name("match", &mut cursor).collect();
    let is_open = |one: &Node<'_>| match one.child_by_field_name("guards") {
        None => true,
        Some(guards) => matches!(text.node_text(guards).trim(), "otherwise" | "True"),
    };
    let last = matches.iter().find(|one| is_open(one));
    let body = last.and_then(|last| last.child_by_field_name("expression"));
    Arm {
        pattern,
        is_guarded: last.is_none() && !matches.is_empty(),
        refuses: body
            .filter(|body| fails(text.node_text(*body), REFUSES))
            .map(|_| "run-time failure: the catch-all branch is an error"),
    }
}

fn pattern_of(text: Text<'_>, node: Node<'_>) -> Pattern {
    let inner = |field: &str| node.child_by_field_name(field).map_or(Pattern::Other, |one| pattern_of(text, one));
    match node.kind() {
        "variable" | "wildcard" => Pattern::Any,
        "constructor" | "constructor_operator" => Pattern::named(text.node_text(node), None, node.start_byte()),
        "qualified" => node.child_by_field_name("id").map_or(Pattern::Other, |id| pattern_of(text, id)),
        "parens" | "irrefutable" | "strict" | "as" => inner("pattern"),
        "signature" => node.named_child(0).map_or(Pattern::Other, |one| pattern_of(text, one)),
        "tuple" => Pattern::combine_adjacent(children(node).into_iter().map(|part| pattern_of(text, part))),
        "record" => match inner("constructor") {
            Pattern::Of { name, qualifier, at, .. } => {
                let fields = children(node).into_iter().filter(|child| child.kind() == "field_pattern");
                let parts = fields.filter_map(|field| {
                    let label = text.node_text(field.child_by_field_name("field")?);
                    let pattern = field.child_by_field_name("pattern");
                    Some((label, pattern.map_or(Pattern::Any, |pattern| pattern_of(text, pattern))))
                });
                Pattern::Of { name, qualifier, at, parts: parts.collect() }
            }
            other => other,
        },
        "apply" => {
            let mut arguments = Vec::new();
            let mut function = node;
            while function.kind() == "apply" {
                if let Some(argument) = function.child_by_field_name("argument") {
                    arguments.push(pattern_of(text, argument));
                }
                let Some(next) = function.child_by_field_name("function") else { return Pattern::Other };
                function = next;
            }
            arguments.reverse();
            match pattern_of(text, function) {
                Pattern::Of { name, qualifier, at, .. } => {
                    Pattern::Of { name, qualifier, at, parts: numbered(arguments) }
                }
                _ => Pattern::Other,
            }
        }
        "infix" => {
            let operator = node.child_by_field_name("operator");
            let operator =
                operator.map(|one| if one.kind() == "infix_id" { one.named_child(0).unwrap_or(one) } else { one });
            let parts = numbered([inner("left_operand"), inner("right_operand")]);
            operator.map_or(Pattern::Other, |one| Pattern::Of {
                name: text.node_text(one),
                qualifier: None,
                at: one.start_byte(),
                parts,
            })
        }
        _ => Pattern::Other,
    }
}
