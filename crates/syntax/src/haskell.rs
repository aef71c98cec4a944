//! Grammar of Haskell.

use tree_sitter::Node;

use super::kind::Kind;
use super::node_path::{Declared, Trail, children_in, named_children};
use super::rules::is_upper;
use super::{Class, Grammar};
use crate::text_enum::is_among;

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_haskell::LANGUAGE.into(),
    names: "variable constructor name operator constructor_operator module_id",
    declared,
    classify,
    alias: |_| None,
};

/// Rewrites string gaps for the grammar, which rejects blanks and carriage returns between the first backslash of a gap
/// and the line end. All offsets stay the same. `None` if nothing changes.
pub(super) fn adapt_for_grammar(text: &[u8]) -> Option<Vec<u8>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let mut respaced: Option<Vec<u8>> = None;
    for end in memchr::memchr_iter(b'\n', text) {
        let bare = text[..end].iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
        let next = text[end + 1..].iter().find(|byte| !is_blank(byte));
        if bare < end && text[..bare].ends_with(b"\\") && next == Some(&b'\\') {
            let changed = respaced.get_or_insert_with(|| text.to_vec());
            changed[bare] = b'\n';
            changed[bare + 1..=end].fill(b' ');
        }
    }
    respaced
}

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    if trail.nearest(&["import"]).is_some() {
        return Some(Class::Import);
    }
    if trail.nearest(&["exports"]).is_some() {
        return Some(Class::Export);
    }
    let kind = trail.node().kind();
    if kind == "module_id" {
        return Some(Class::Mention);
    }
    if trail.nearest(&["fixity"]).is_some() {
        return Some(Class::Signature);
    }
    // Parentheses around an operator, and a qualifier, stand for the name.
    let mut up = 0;
    while matches!(trail.kind(up + 1), "prefix_id" | "qualified" | "infix_id" | "field_name" | "binding_list") {
        up += 1;
    }
    let (parent, field) = (trail.kind(up + 1), trail.field(up));
    if parent == "signature" && field == "name" {
        return Some(Class::Signature);
    }
    match (parent, field) {
        ("instance" | "deriving_instance", "name") => return Some(Class::Binding),
        ("field_update", "field") => {
            let in_pattern = classify_context(trail, up) == Where::Pattern;
            return Some(if in_pattern { Class::Pattern } else { Class::FieldWrite });
        }
        ("field_pattern", "field") => return Some(Class::Pattern),
        ("projection" | "projection_selector", "field") => return Some(Class::FieldRead),
        ("function" | "bind", "name") => return Some(Class::Binding),
        _ => {}
    }
    Some(match (classify_context(trail, up), kind) {
        (Where::Type, "variable") => Class::Binding,
        (Where::Type, _) => Class::Type,
        (Where::Pattern, "variable") => Class::Binding,
        (Where::Pattern, "operator") if is_bound_operator(trail, up) => Class::Binding,
        (Where::Pattern, _) => Class::Pattern,
        (Where::Expression, _) if trail.kind(1) == "infix_id" => called(trail),
        (Where::Expression, "operator" | "constructor_operator")
            if parent == "infix" && (0..=up).all(|up| trail.kind(up) != "prefix_id") =>
        {
            called(trail)
        }
        (Where::Expression, "constructor") if parent == "record" => Class::Construct,
        (Where::Expression, "name") => Class::Type,
        (Where::Expression, _) if is_applied(trail, up) => called(trail),
        (Where::Expression, _) => Class::Value,
    })
}

/// Classifies a constructor that is applied to arguments as a construction.
fn called(trail: &Trail<'_, '_>) -> Class {
    if is_upper(&trail.name()) { Class::Construct } else { Class::Call }
}

/// `a <+> b = …` binds the operator.
fn is_bound_operator(trail: &Trail<'_, '_>, up: usize) -> bool {
    trail.kind(up + 1) == "infix" && trail.kind(up + 2) == "function"
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Where {
    Expression,
    Pattern,
    Type,
}

const HEADS: &str = "data_type newtype class instance type_synonym type_family type_instance data_family data_instance \
                     equation deriving_instance";

/// Returns the kind of context of the node `up` steps above.
fn classify_context(trail: &Trail<'_, '_>, up: usize) -> Where {
    for up in up..trail.steps.len() - 1 {
        match (trail.kind(up + 1), trail.field(up)) {
            ("view_pattern", "expression") => return Where::Expression,
            ("function", "patterns") | (_, "pattern" | "patterns" | "synonym") => {
                let in_head = is_among(HEADS, trail.kind(up + 1));
                let of_synonym = trail.nearest(&["pattern_synonym"]).is_some();
                return if in_head && !of_synonym { Where::Type } else { Where::Pattern };
            }
            ("function" | "bind", "infix") | ("function", "") if trail.kind(up) == "infix" => return Where::Pattern,
            (_, "type") | ("type_application" | "deriving" | "context" | "fundeps", _) => return Where::Type,
            ("signature", "expression") => return Where::Expression,
            ("data_type" | "newtype" | "type_synonym" | "type_family" | "class" | "instance", _)
                if !matches!(trail.field(up), "declarations") =>
            {
                return Where::Type;
            }
            (_, "expression" | "match" | "guards" | "binds" | "statement" | "declarations") => {
                return Where::Expression;
            }
            _ => {}
        }
    }
    Where::Expression
}

/// True if an expression is the head of an application, or the function operand of `$`, `$!` or `&`.
fn is_applied(trail: &Trail<'_, '_>, up: usize) -> bool {
    let mut up = up;
    let mut applied = false;
    loop {
        match (trail.kind(up + 1), trail.field(up)) {
            ("apply", "function") => {
                // A type is not an argument.
                let argument = trail.ancestor(up + 1).and_then(|apply| apply.child_by_field_name("argument"));
                applied |= argument.is_none_or(|argument| argument.kind() != "type_application");
            }
            ("parens", _) => {}
            _ => break,
        }
        up += 1;
    }
    if applied {
        return true;
    }
    // The grammar ignores fixities: `f . g $ x` nests to the right. The nearest operator to the right decides.
    let operator = |node: Option<Node<'_>>| {
        node.and_then(|infix| infix.child_by_field_name("operator"))
            .map(|operator| trail.text_of(operator).into_owned())
    };
    let (mut left, mut right) = (None, None);
    match (trail.kind(up + 1), trail.field(up)) {
        ("infix", "left_operand") => {
            right = operator(trail.ancestor(up + 1));
            if (trail.kind(up + 2), trail.field(up + 1)) == ("infix", "right_operand") {
                left = operator(trail.ancestor(up + 2));
            }
        }
        ("infix", "right_operand") => left = operator(trail.ancestor(up + 1)),
        _ => {}
    }
    let is = |operator: &Option<String>, of: &[&str]| operator.as_deref().is_none_or(|operator| of.contains(&operator));
    let takes_right = right.is_some() && is(&right, &["$", "$!"]) && is(&left, &["$", "$!", "&"]);
    let takes_left = left.as_deref() == Some("&") && is(&right, &["&", "$", "$!"]);
    takes_right || takes_left
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    // Declarations inside a function are local.
    let is_local = || {
        let up = trail.ancestor_trail(1).nearest(&[
            "local_binds",
            "class_declarations",
            "instance_declarations",
            "let",
            "do",
        ]);
        up.is_some_and(|up| !matches!(trail.kind(up + 1), "class_declarations" | "instance_declarations"))
    };
    let in_class = || trail.nearest(&["class_declarations", "instance_declarations"]).is_some();
    let function_kind = || if in_class() { Kind::Method } else { Kind::Function };
    match node.kind() {
        "data_type" | "data_family" => {
            let constructors = node.child_by_field_name("constructors").map_or(0, |all| all.named_child_count());
            Declared::named(node, if constructors == 1 { Kind::Struct } else { Kind::Enum })
        }
        "newtype" => Declared::named(node, Kind::Struct),
        "type_synonym" | "type_family" => Declared::named(node, Kind::Type),
        "class" => Declared::named(node, Kind::Interface),
        "instance" => {
            let name = node.child_by_field_name("name");
            let types = node.child_by_field_name("patterns").map(|patterns| trail.text_of(patterns).into_owned());
            let label = |name: Node<'t>| trail.text_of(name).into_owned();
            name.map(|name| {
                let whole = format!("{} {}", label(name), types.as_deref().unwrap_or_default());
                let words = types.as_deref().unwrap_or_default();
                let words = words.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_upper(word));
                let within = [whole, label(name)].into_iter().chain(words.map(str::to_owned)).collect();
                Declared { within, ..Declared::new(name, Kind::Impl) }
            })
            .into_iter()
            .collect()
        }
        "data_constructor" => {
            let Some(inner) = node.child_by_field_name("constructor") else { return Vec::new() };
            let name = inner.child_by_field_name("name").or_else(|| inner.child_by_field_name("operator"));
            name.map(|name| Declared::new(bare(name), Kind::Constructor)).into_iter().collect()
        }
        "newtype_constructor" => Declared::named(node, Kind::Constructor),
        "gadt_constructor" => {
            let names = node.child_by_field_name("names").map_or_else(|| children_in(node, "name"), named_children);
            names.into_iter().map(|name| Declared::new(bare(name), Kind::Constructor)).collect()
        }
        "field" => {
            let names = children_in(node, "name").into_iter();
            names.map(|name| Declared::new(name.named_child(0).unwrap_or(name), Kind::Field)).collect()
        }
        "function" | "bind" if !is_local() && matches!(trail.field(0), "" | "declaration") => {
            let infix = named_children(node).into_iter().find(|child| child.kind() == "infix");
            let name = node
                .child_by_field_name("name")
                .or_else(|| infix.and_then(|infix| infix.child_by_field_name("operator")));
            let of_infix_id = |name: Node<'t>| if name.kind() == "infix_id" { name.named_child(0) } else { Some(name) };
            let is_type = node.kind() == "function" && node.child_by_field_name("arrow").is_some();
            let name = name.and_then(of_infix_id).filter(|_| !is_type);
            name.map(|name| Declared::new(bare(name), function_kind())).into_iter().collect()
        }
        "signature"
            if !is_local()
                && matches!(trail.field(0), "" | "declaration")
                && node.child_by_field_name("expression").is_none() =>
        {
            let names = node.child_by_field_name("names").map_or_else(|| children_in(node, "name"), named_children);
            names.into_iter().map(|name| Declared::signature(bare(name), function_kind())).collect()
        }
        "foreign_import" => {
            let signature = node.child_by_field_name("signature");
            let name = signature.and_then(|signature| signature.child_by_field_name("name"));
            name.map(|name| Declared::new(bare(name), Kind::Function)).into_iter().collect()
        }
        "pattern_synonym" => {
            let synonym = node.named_child(0).and_then(|equation| equation.child_by_field_name("synonym"));
            let name = synonym.map(|synonym| synonym.child_by_field_name("function").unwrap_or(synonym));
            name.map(|name| Declared::new(bare(name), Kind::Constructor)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Strips the parentheses: `(<+>)` is `<+>`.
fn bare(name: Node<'_>) -> Node<'_> {
    match name.kind() {
        "prefix_id" | "parens" => name.named_child(0).unwrap_or(name),
        _ => name,
    }
}
