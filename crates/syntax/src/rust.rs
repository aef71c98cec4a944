//! Grammar of Rust.

use memchr::memmem;
use tree_sitter::Node;

use super::kind::Kind;
use super::node_path::{Declared, Trail};
use super::rules::{Rule, Table, classify_by_ancestor, direct, in_tokens, is_upper, is_word, steps_to_name_node};
use super::{Class, Grammar};
use crate::text_enum::is_among;

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_rust::LANGUAGE.into(),
    names: "identifier type_identifier primitive_type field_identifier shorthand_field_identifier",
    declared,
    classify,
    alias,
};

/// Removes the keywords of const traits for the grammar, which is older. Rust's standard library uses them, and the
/// members of an `impl` that does not parse lose their type. All offsets stay the same. `None` if nothing changes.
pub(super) fn adapt_for_grammar(text: &[u8]) -> Option<Vec<u8>> {
    const BOUND: &[u8] = b"[const] ";
    const WORD: &[u8] = b"const ";
    let is_before_name = |at: usize| text.get(at + BOUND.len()).is_some_and(|next| is_word(*next));
    let bounds = memmem::find_iter(text, BOUND).filter(|at| is_before_name(*at)).map(|at| at..at + BOUND.len());
    let is_of_const_trait = |at: &usize| {
        let line = text[..*at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let before = text[line..*at].trim_ascii();
        let rest = &text[at + WORD.len()..];
        let rest = rest.strip_prefix(b"unsafe ").unwrap_or(rest);
        let is_trait = [&b"trait "[..], b"impl<", b"impl "].iter().any(|word| rest.starts_with(word));
        is_trait && (before.is_empty() || before == b"pub")
    };
    let words = memmem::find_iter(text, WORD).filter(is_of_const_trait).map(|at| at..at + WORD.len());
    let mut respaced: Option<Vec<u8>> = None;
    for place in bounds.chain(words) {
        respaced.get_or_insert_with(|| text.to_vec())[place].fill(b' ');
    }
    respaced
}

const RULES: &Table = &[
    ("scoped_identifier", "name", Rule::Through),
    ("scoped_type_identifier", "name", Rule::Through),
    ("generic_function", "function", Rule::Through),
    ("generic_type", "type", Rule::Through),
    ("generic_type_with_turbofish", "type", Rule::Through),
    ("parenthesized_expression", "", Rule::Through),
    ("scoped_identifier", "path", Rule::Is(Class::Type)),
    ("scoped_type_identifier", "path", Rule::Is(Class::Type)),
    ("call_expression", "function", Rule::Is(Class::Call)),
    ("macro_invocation", "macro", Rule::Is(Class::Call)),
    ("attribute", "", Rule::Is(Class::Call)),
    ("struct_expression", "name", Rule::Is(Class::Construct)),
    ("field_initializer", "field", Rule::Is(Class::FieldWrite)),
    ("shorthand_field_initializer", "", Rule::Is(Class::FieldWrite)),
    ("tuple_struct_pattern", "type", Rule::Is(Class::Pattern)),
    ("struct_pattern", "type", Rule::Is(Class::Pattern)),
    ("field_pattern", "name", Rule::Is(Class::Pattern)),
    ("assignment_expression", "left", Rule::Is(Class::Binding)),
    ("compound_assignment_expr", "left", Rule::Is(Class::Binding)),
];

/// Positions where an otherwise unclassified name is bound or, in upper case, matched.
const PATTERNS: &Table = &[
    ("match_pattern", "condition", Rule::Stop),
    ("block", "", Rule::Stop),
    ("match_arm", "pattern", Rule::Is(Class::Binding)),
    ("let_declaration", "pattern", Rule::Is(Class::Binding)),
    ("let_condition", "pattern", Rule::Is(Class::Binding)),
    ("parameter", "pattern", Rule::Is(Class::Binding)),
    ("closure_parameters", "", Rule::Is(Class::Binding)),
    ("for_expression", "pattern", Rule::Is(Class::Binding)),
    ("type_parameter", "default_type", Rule::Is(Class::Type)),
    ("type_parameters", "", Rule::Is(Class::Binding)),
];

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    if matches!(trail.kind(1), "lifetime" | "label") {
        return None;
    }
    if let Some(up) = trail.nearest(&["use_declaration"]) {
        let is_public = trail
            .ancestor(up)
            .is_some_and(|node| node.named_child(0).is_some_and(|first| first.kind() == "visibility_modifier"));
        return Some(if is_public { Class::Export } else { Class::Import });
    }
    if trail.nearest(&["extern_crate_declaration"]).is_some() {
        return Some(Class::Import);
    }
    if trail.nearest(&["token_tree", "macro_definition"]).is_some() {
        let in_attribute = trail.nearest(&["attribute_item", "inner_attribute_item"]).is_some();
        let before = trail.text[..trail.at.0].trim_ascii_end();
        let is_function = before.ends_with(b"fn") && !before.iter().rev().nth(2).is_some_and(|byte| is_word(*byte));
        return Some(match () {
            () if in_attribute => Class::Value,
            () if is_function => Class::Binding,
            () if is_in_matches(trail) => in_pattern_of_tokens(trail),
            () => in_tokens(trail),
        });
    }
    if trail.kind(1) == "field_expression" && trail.field(0) == "field" {
        let up = 1 + steps_to_name_node(&trail.ancestor_trail(1), RULES);
        return Some(match (trail.kind(up + 1), trail.field(up)) {
            ("call_expression", "function") if up == 1 || trail.kind(2) == "generic_function" => Class::Call,
            ("assignment_expression" | "compound_assignment_expr", "left") => Class::FieldWrite,
            _ => Class::FieldRead,
        });
    }
    if let Some(class) = direct(trail, RULES) {
        return Some(class);
    }
    let in_pattern = classify_by_ancestor(trail, PATTERNS).is_some() && trail.node().kind() != "type_identifier";
    Some(match trail.node().kind() {
        _ if in_pattern && (is_upper(&trail.name()) || steps_to_name_node(trail, RULES) > 0) => Class::Pattern,
        "shorthand_field_identifier" => Class::Pattern,
        _ if in_pattern => Class::Binding,
        "type_identifier" if trail.kind(1) == "type_parameter" && trail.field(0) != "default_type" => Class::Binding,
        "type_identifier" | "primitive_type" => Class::Type,
        _ => Class::Value,
    })
}

/// Maximum size of `matches!` tokens that are read for each name in them.
const MOST_OF_MATCHES: usize = 4096;

/// True if a name is in the pattern of `matches!(x, A | B(_) if …)`, before its condition.
fn is_in_matches(trail: &Trail<'_, '_>) -> bool {
    let of_tokens = (1..trail.steps.len()).filter(|up| trail.kind(*up) == "token_tree");
    for up in of_tokens {
        let (Some(tokens), Some(inner)) = (trail.ancestor(up), trail.ancestor(up - 1)) else { return false };
        let before = trail.text[..tokens.start_byte()].trim_ascii_end();
        let Some(name) = before.strip_suffix(b"!").map(<[u8]>::trim_ascii_end) else { continue };
        if !name.ends_with(b"matches") || tokens.byte_range().len() > MOST_OF_MATCHES {
            return false;
        }
        let mut cursor = tokens.walk();
        let before = tokens.children(&mut cursor).take_while(|token| token.id() != inner.id());
        let (mut commas, mut is_condition) = (0, false);
        for token in before {
            commas += usize::from(token.kind() == ",");
            is_condition |= commas > 0 && token.kind() == "if";
        }
        // `assert_matches!` continues with its message.
        return !is_condition && (commas == 1 || commas > 1 && !name.ends_with(b"assert_matches"));
    }
    false
}

/// Classifies a name in a pattern of which only the tokens are known.
fn in_pattern_of_tokens(trail: &Trail<'_, '_>) -> Class {
    let after = trail.text[trail.at.1..].trim_ascii_start();
    let before = trail.text[..trail.at.0].trim_ascii_end();
    let is_in_braces = trail.ancestor(1).is_some_and(|tokens| trail.text.get(tokens.start_byte()) == Some(&b'{'));
    let is_field = after.starts_with(b":") || before.ends_with(b"{") || before.ends_with(b",");
    match () {
        () if after.starts_with(b"::") => Class::Type,
        () if is_upper(&trail.name()) || before.ends_with(b"::") || is_in_braces && is_field => Class::Pattern,
        () => Class::Binding,
    }
}

fn alias(trail: &Trail<'_, '_>) -> Option<String> {
    let up = trail.nearest(&["use_as_clause"])?;
    let clause = trail.ancestor(up)?;
    // Only the last name of the path is renamed.
    let path = clause.child_by_field_name("path")?;
    let is_last = path.end_byte() == trail.at.1;
    is_last.then(|| clause.child_by_field_name("alias")).flatten().map(|alias| trail.text_of(alias).into_owned())
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    let in_type = || {
        let above = trail.ancestor_trail(1).nearest(&["impl_item", "trait_item", "function_item", "mod_item"]);
        above.is_some_and(|up| matches!(trail.kind(up + 1), "impl_item" | "trait_item"))
    };
    let kind = match node.kind() {
        "function_item" if in_type() => Kind::Method,
        "function_item" => Kind::Function,
        "function_signature_item" => {
            let kind = if in_type() { Kind::Method } else { Kind::Function };
            return node.child_by_field_name("name").map(|name| Declared::signature(name, kind)).into_iter().collect();
        }
        "struct_item" => Kind::Struct,
        "union_item" => Kind::Union,
        "enum_item" => Kind::Enum,
        "enum_variant" => Kind::Constructor,
        "field_declaration" => Kind::Field,
        "trait_item" => Kind::Interface,
        "type_item" | "associated_type" => Kind::Type,
        "const_item" => Kind::Constant,
        "static_item" => Kind::Variable,
        "mod_item" => Kind::Module,
        "macro_definition" => Kind::Macro,
        "impl_item" => {
            let Some(of) = node.child_by_field_name("type") else { return Vec::new() };
            let within = [Some(of), node.child_by_field_name("trait")].into_iter().flatten();
            let within = within.map(|name| bare_type(&trail.text_of(name))).collect();
            return vec![Declared { within, ..Declared::new(of, Kind::Impl) }];
        }
        _ => return Vec::new(),
    };
    Declared::named(node, kind)
}

/// Returns the bare type: `Circle` for `geo::Circle<T>` and `&'a mut Circle`.
fn bare_type(text: &str) -> String {
    let text = text.split('<').next().unwrap_or(text);
    let text = text.rsplit("::").next().unwrap_or(text).trim();
    let text = text.strip_prefix("dyn ").unwrap_or(text);
    let Some(referred) = text.strip_prefix('&') else { return text.to_owned() };
    let named = |word: &&str| !word.starts_with('\'') && *word != "mut";
    referred.trim_start_matches('&').split_whitespace().find(named).unwrap_or(text).to_owned()
}

/// Macros whose arguments are expressions, patterns or text.
const OF_EXPRESSIONS: &str = "assert assert_eq assert_ne dbg debug_assert debug_assert_eq debug_assert_ne eprint eprintln \
                              format format_args matches panic print println todo unimplemented unreachable vec write \
                              writeln";

/// True if the macro tokens around a name are ordinary code: the arguments of macros that take expressions, and the
/// body of a macro definition.
pub(super) fn in_code(trail: &Trail<'_, '_>) -> bool {
    let is_known = |node: Node<'_>| is_among(OF_EXPRESSIONS, &trail.text_of(node));
    (0..trail.steps.len()).all(|up| {
        let (Some(tree), above) = (trail.ancestor(up), trail.ancestor(up + 1)) else { return true };
        if tree.kind() != "token_tree" {
            return true;
        }
        match above.map(|above| (above.kind(), above)) {
            Some(("macro_invocation", above)) => above.child_by_field_name("macro").is_some_and(is_known),
            Some(("macro_rule", _)) => true,
            Some(("token_tree", _)) => {
                let mark = tree.prev_sibling().filter(|mark| mark.kind() == "!");
                mark.is_none_or(|mark| mark.prev_sibling().is_some_and(is_known))
            }
            _ => false,
        }
    })
}
