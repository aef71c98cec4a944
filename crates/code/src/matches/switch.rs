//! `switch` in Go, TypeScript, JavaScript, C and C++.

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::{Text, children, fails, must_return};

const GO_REFUSES: &[&str] = &["panic(", "log.Fatal", "log.Panic", "t.Fatal"];
const SCRIPT_REFUSES: &[&str] = &["throw"];
const NEVER: &[&str] = &[": never", "satisfies never", "assertNever(", "assertUnreachable(", "exhaustive", "absurd("];
const C_REFUSES: &[&str] =
    &["abort(", "throw", "assert(false", "assert(0", "std::abort(", "__builtin_unreachable(", "std::unreachable("];
const REFUSED: &str = "run-time failure: the default fails";

/// Reads a switch. For a union, the compared value is resolved rather than the texts it is compared with.
pub(super) fn read(text: Text<'_>, node: Node<'_>, is_union: bool) -> Option<Match> {
    let falls = Otherwise::FallsThrough("no case runs");
    let (form, cases, otherwise) = match node.kind() {
        "expression_switch_statement" if node.child_by_field_name("value").is_some() => {
            ("switch", children(node), falls)
        }
        "switch_statement" => {
            let body = node.child_by_field_name("body")?;
            // Only C and C++ compilers have an option for a warning.
            let how = if body.kind() == "compound_statement" { "no case runs; -Wswitch warns" } else { "no case runs" };
            let otherwise = if must_return(text, node, "statement_block", MAY_END) {
                Otherwise::Breaks("compile error (TS2366) unless `strict` is off: the function has to return")
            } else {
                Otherwise::FallsThrough(how)
            };
            ("switch", children(body), otherwise)
        }
        _ => return None,
    };
    // The value compared with a text: `kind` in `shape.kind`.
    let value = node.child_by_field_name("value");
    let mut compared = value;
    while let Some(inner) = compared.filter(|one| one.kind() == "parenthesized_expression") {
        compared = inner.named_child(0);
    }
    let is_typeof = compared.is_some_and(|one| text.node_text(one).starts_with("typeof "));
    if is_typeof {
        compared = compared.and_then(|one| one.child_by_field_name("argument"));
    }
    let compared = compared.map(|one| one.child_by_field_name("property").unwrap_or(one).start_byte());
    let compared = Compared { at: compared, is_union, is_typeof };
    let arms = cases.into_iter().filter_map(|case| arm(text, case, compared)).collect();
    Some(Match { bytes: node.byte_range(), form, arms, otherwise })
}

/// The qualifier of a text that is compared with the type of a value.
pub(super) const TYPEOF: &str = "typeof";

/// Kind of comparison in a switch.
#[derive(Clone, Copy)]
struct Compared {
    at: Option<usize>,
    is_union: bool,
    /// True for `switch (typeof value)`.
    is_typeof: bool,
}

/// Words of types whose functions may end without a value.
const MAY_END: &str = "void undefined any unknown Generator AsyncGenerator";

fn arm(text: Text<'_>, case: Node<'_>, compared: Compared) -> Option<Arm> {
    let fields = |field: &str| -> Vec<Node<'_>> {
        let mut cursor = case.walk();
        case.children_by_field_name(field, &mut cursor).collect()
    };
    // Text after the colon.
    let said = || {
        let whole = text.node_text(case);
        whole.split_once(':').map(|(_, said)| said.trim().to_owned()).unwrap_or_default()
    };
    let default = |refuses: Option<&'static str>| Some(Arm { pattern: Pattern::Any, is_guarded: false, refuses });
    let of =
        |patterns: Vec<Pattern>| Some(Arm { pattern: Pattern::Either(patterns), is_guarded: false, refuses: None });
    match case.kind() {
        "expression_case" => {
            of(fields("value").into_iter().flat_map(children).map(|one| value(text, one, compared)).collect())
        }
        "default_case" => default(fails(said(), GO_REFUSES).then_some(REFUSED)),
        "switch_case" => of(fields("value").into_iter().map(|one| value(text, one, compared)).collect()),
        "switch_default" => {
            let said = said();
            let is_never = NEVER.iter().any(|never| said.contains(never));
            default(if is_never {
                Some("compile error: the default takes `never`")
            } else {
                fails(said, SCRIPT_REFUSES).then_some(REFUSED)
            })
        }
        "case_statement" => match fields("value")[..] {
            [] => default(fails(said(), C_REFUSES).then_some(REFUSED)),
            _ => of(fields("value").into_iter().map(|one| value(text, one, compared)).collect()),
        },
        _ => None,
    }
}

/// Reads the value of a case: a name, possibly qualified by a type or package, or a text.
fn value(text: Text<'_>, node: Node<'_>, compared: Compared) -> Pattern {
    let named = |name: &str, before: &str| match node.child_by_field_name(name) {
        Some(name) => {
            let before = node.child_by_field_name(before).map(|before| text.node_text(before));
            let last = before.and_then(|before| before.rsplit(['.', ':']).next().map(str::to_owned));
            match name.kind() {
                // `geo::Color::Red`.
                "qualified_identifier" => value(text, name, compared),
                _ => {
                    let at = compared.at.filter(|_| compared.is_union).unwrap_or(name.start_byte());
                    Pattern::named(text.node_text(name), last, at)
                }
            }
        }
        None => Pattern::Other,
    };
    match node.kind() {
        "identifier" => Pattern::named(text.node_text(node), None, node.start_byte()),
        "selector_expression" => named("field", "operand"),
        "member_expression" => named("property", "object"),
        "qualified_identifier" => named("name", "scope"),
        "parenthesized_expression" | "as_expression" => {
            node.named_child(0).map_or(Pattern::Other, |inner| value(text, inner, compared))
        }
        "string" => {
            let at = compared.at.unwrap_or(node.start_byte());
            let qualifier = compared.is_typeof.then(|| TYPEOF.to_owned());
            Pattern::named(text.node_text(node).trim_matches(['"', '\'', '`']), qualifier, at)
        }
        _ => Pattern::Other,
    }
}
