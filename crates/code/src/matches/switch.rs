//! `switch` in Go, TypeScript, JavaScript, C and C++.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::source::{Compared, Source, children};
use super::{fails, must_return};

/// Calls that fail, by the kind of the default branch: of Go, of TypeScript and JavaScript, of C and C++.
const REFUSES: [(&str, &[&str]); 3] = [
    ("default_case", &["panic(", "log.Fatal", "log.Panic", "t.Fatal"]),
    ("switch_default", &["throw"]),
    (
        "case_statement",
        &["abort(", "throw", "assert(false", "assert(0", "std::abort(", "__builtin_unreachable(", "std::unreachable("],
    ),
];
const NEVER: &[&str] = &[": never", "satisfies never", "assertNever(", "assertUnreachable(", "exhaustive", "absurd("];

/// Reads a switch. For a union, the compared value is resolved rather than the texts it is compared with.
pub(super) fn read(source: Source<'_>, node: Node<'_>) -> Option<Match> {
    let value = node.child_by_field_name("value");
    let (cases, otherwise) = match node.kind() {
        "expression_switch_statement" if value.is_some() => (children(node), Otherwise::FallsThrough("no case runs")),
        "switch_statement" => {
            let body = node.child_by_field_name("body")?;
            // Only C and C++ compilers have an option for a warning.
            let how = if body.kind() == "compound_statement" { "no case runs; -Wswitch warns" } else { "no case runs" };
            let otherwise = if must_return(source, node, "statement_block", MAY_END) {
                Otherwise::Breaks("compile error (TS2366) unless `strict` is off: the function has to return")
            } else {
                Otherwise::FallsThrough(how)
            };
            (children(body), otherwise)
        }
        _ => return None,
    };
    // The value compared with a text: `kind` in `shape.kind`.
    let mut compared = value;
    while let Some(inner) = compared.filter(|one| one.kind() == "parenthesized_expression") {
        compared = inner.named_child(0);
    }
    let is_typeof = compared.is_some_and(|one| source.node_text(one).starts_with("typeof "));
    if is_typeof {
        compared = compared.and_then(|one| one.child_by_field_name("argument"));
    }
    let at = compared.map(|one| one.child_by_field_name("property").unwrap_or(one).start_byte());
    let source = Source { compared: at.map(|at| Compared { at, is_typeof }), ..source };
    let arms = cases.into_iter().filter_map(|case| arm(source, case)).collect();
    Some(Match { bytes: node.byte_range(), form: "switch", arms, otherwise })
}

/// Words of types whose functions may end without a value.
const MAY_END: &str = "void undefined any unknown Generator AsyncGenerator";

fn arm(source: Source<'_>, case: Node<'_>) -> Option<Arm> {
    let mut cursor = case.walk();
    let values: Vec<Node<'_>> = case.children_by_field_name("value", &mut cursor).collect();
    let values: Vec<Node<'_>> = match case.kind() {
        "expression_case" => values.into_iter().flat_map(children).collect(),
        "switch_case" | "case_statement" | "default_case" | "switch_default" => values,
        _ => return None,
    };
    if !values.is_empty() || case.kind() == "expression_case" {
        return Some(Arm { pattern: Pattern::Either(source.each(values)), is_guarded: false, refuses: None });
    }
    let text = source.node_text(case);
    let said = text.split_once(':').map(|(_, said)| said.trim().to_owned()).unwrap_or_default();
    let words = REFUSES.iter().find(|(kind, _)| *kind == case.kind()).map(|(_, words)| *words);
    let refuses = if case.kind() == "switch_default" && NEVER.iter().any(|never| said.contains(never)) {
        Some("compile error: the default takes `never`")
    } else {
        fails(said, words.unwrap_or_default()).then_some("run-time failure: the default fails")
    };
    Some(Arm { pattern: Pattern::Any, is_guarded: false, refuses })
}
