//! Grammar of Go.

use tree_sitter::Node;

use super::kind::Kind;
use super::node_path::{Declared, Trail, children_in};
use super::rules::{Rule, Table, classify_by_ancestor, direct, steps_to_name_node};
use super::{Class, Grammar};

pub(super) static GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_go::LANGUAGE.into(),
    names: "identifier type_identifier field_identifier package_identifier",
    declared,
    classify,
    alias: |_| None,
};

const RULES: &Table = &[
    ("parenthesized_expression", "", Rule::Through),
    ("qualified_type", "name", Rule::Through),
    ("generic_type", "type", Rule::Through),
    ("type_instantiation_expression", "type", Rule::Through),
    ("index_expression", "operand", Rule::Through),
    ("call_expression", "function", Rule::Is(Class::Call)),
    // `area[int](1)` parses as a conversion to a type. The definitions tell the two apart.
    ("type_conversion_expression", "type", Rule::Is(Class::Call)),
    ("composite_literal", "type", Rule::Is(Class::Construct)),
    ("package_clause", "", Rule::Is(Class::Mention)),
    ("parameter_declaration", "name", Rule::Is(Class::Binding)),
    ("variadic_parameter_declaration", "name", Rule::Is(Class::Binding)),
    ("type_parameter_declaration", "name", Rule::Is(Class::Binding)),
    ("const_spec", "name", Rule::Is(Class::Binding)),
    ("var_spec", "name", Rule::Is(Class::Binding)),
];

const AROUND: &Table = &[
    ("call_expression", "", Rule::Stop),
    ("selector_expression", "", Rule::Stop),
    ("index_expression", "", Rule::Stop),
    ("block", "", Rule::Stop),
    ("short_var_declaration", "left", Rule::Is(Class::Binding)),
    ("assignment_statement", "left", Rule::Is(Class::Binding)),
    ("range_clause", "left", Rule::Is(Class::Binding)),
    ("type_switch_statement", "alias", Rule::Is(Class::Binding)),
];

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    if matches!(trail.kind(1), "label_name" | "labeled_statement") {
        return None;
    }
    if trail.nearest(&["import_declaration"]).is_some() {
        return Some(Class::Import);
    }
    if trail.kind(1) == "selector_expression" && trail.field(0) == "field" {
        let up = 1 + steps_to_name_node(&trail.ancestor_trail(1), RULES);
        let is_left = classify_by_ancestor(&trail.ancestor_trail(1), AROUND) == Some(Class::Binding);
        return Some(match (trail.kind(up + 1), trail.field(up)) {
            ("call_expression", "function") => Class::Call,
            ("inc_statement" | "dec_statement", _) => Class::FieldWrite,
            _ if is_left => Class::FieldWrite,
            _ => Class::FieldRead,
        });
    }
    if trail.kind(1) == "literal_element" && trail.field(1) == "key" {
        let literal = trail.nearest(&["composite_literal"]).and_then(|up| trail.ancestor(up));
        let of = literal.and_then(|literal| literal.child_by_field_name("type"));
        // The keys of a map are expressions.
        let is_map = of.is_some_and(|of| {
            of.kind() == "map_type" || of.kind().ends_with("array_type") || of.kind() == "slice_type"
        });
        return Some(if is_map { Class::Value } else { Class::FieldWrite });
    }
    if let Some(class) = direct(trail, RULES) {
        return Some(class);
    }
    if (trail.kind(1), trail.field(0)) == ("qualified_type", "package") {
        return Some(if is_expression(&trail.ancestor_trail(1)) { Class::Value } else { Class::Type });
    }
    Some(match trail.node().kind() {
        "type_identifier" if is_expression(trail) => Class::Value,
        "type_identifier" | "package_identifier" => Class::Type,
        "field_identifier" => Class::FieldRead,
        _ => classify_by_ancestor(trail, AROUND).unwrap_or(Class::Value),
    })
}

/// True if a type node is a function with type arguments: `area[int, string]`, not `Pair[int, string].Area`.
fn is_expression(trail: &Trail<'_, '_>) -> bool {
    let up = steps_to_name_node(trail, RULES);
    match trail.kind(up + 1) {
        "type_conversion_expression" => trail.field(up) == "type",
        parent => trail.kind(up) == "type_instantiation_expression" && parent != "selector_expression",
    }
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    let outside = || trail.nearest(&["block"]).is_none();
    let named = |kind| children_in(node, "name").into_iter().map(|name| Declared::new(name, kind)).collect::<Vec<_>>();
    match node.kind() {
        "function_declaration" => Declared::named(node, Kind::Function),
        "method_declaration" => {
            let receiver = node.child_by_field_name("receiver").map(|receiver| trail.text_of(receiver).into_owned());
            let within = receiver.as_deref().map(receiver_type).into_iter().collect();
            let name = node.child_by_field_name("name");
            name.map(|name| Declared { within, ..Declared::new(name, Kind::Method) }).into_iter().collect()
        }
        "method_elem" | "method_spec" => {
            let name = node.child_by_field_name("name");
            name.map(|name| Declared::signature(name, Kind::Method)).into_iter().collect()
        }
        "type_spec" | "type_alias" => {
            let kind = match node.child_by_field_name("type").map(|of| of.kind()) {
                Some("struct_type") => Kind::Struct,
                Some("interface_type") => Kind::Interface,
                _ => Kind::Type,
            };
            Declared::named(node, kind)
        }
        "field_declaration" => match named(Kind::Field) {
            names if names.is_empty() => embedded(node).into_iter().collect(),
            names => names,
        },
        "const_spec" if outside() => named(Kind::Constant),
        "var_spec" if outside() => named(Kind::Variable),
        _ => Vec::new(),
    }
}

/// Returns the embedded field, which has the name of its type: `*geo.Circle[int]` is `Circle`.
fn embedded(field: Node<'_>) -> Option<Declared<'_>> {
    let mut name = field.child_by_field_name("type")?;
    loop {
        name = match name.kind() {
            "generic_type" => name.child_by_field_name("type")?,
            "qualified_type" => name.child_by_field_name("name")?,
            _ => return Some(Declared::new(name, Kind::Field)),
        };
    }
}

/// Returns the receiver's type: `Circle` for `(c *Circle[T, U])`.
fn receiver_type(receiver: &str) -> String {
    let of = receiver.trim_matches(['(', ')']).split('[').next().unwrap_or_default();
    of.trim_end().rsplit([' ', '*']).next().unwrap_or_default().to_owned()
}
