//! Grammar of C and C++.

use tree_sitter::Node;

use super::kind::Kind;
use super::node_path::{Declared, Trail, children_in};
use super::rules::{Rule, Table, direct, steps_to_name_node};
use super::{Class, Grammar};
use crate::text_enum::is_among;

const NAMES: &str = "identifier type_identifier field_identifier namespace_identifier operator_name destructor_name \
                     primitive_type";

pub(super) static C: Grammar = grammar(|| tree_sitter_c::LANGUAGE.into());
pub(super) static CPP: Grammar = grammar(|| tree_sitter_cpp::LANGUAGE.into());

const fn grammar(language: fn() -> tree_sitter::Language) -> Grammar {
    Grammar { language, names: NAMES, declared, classify, alias: |_| None }
}

const RULES: &Table = &[
    ("qualified_identifier", "name", Rule::Through),
    ("qualified_identifier", "scope", Rule::Is(Class::Type)),
    ("template_function", "name", Rule::Through),
    ("template_method", "name", Rule::Through),
    ("template_type", "name", Rule::Through),
    ("dependent_name", "", Rule::Through),
    ("parenthesized_expression", "", Rule::Through),
    ("call_expression", "function", Rule::Is(Class::Call)),
    ("new_expression", "type", Rule::Is(Class::Construct)),
    ("compound_literal_expression", "type", Rule::Is(Class::Construct)),
    ("field_initializer", "", Rule::Is(Class::FieldWrite)),
    ("field_designator", "", Rule::Is(Class::FieldWrite)),
    ("base_class_clause", "", Rule::Is(Class::Type)),
    ("using_declaration", "", Rule::Is(Class::Import)),
    ("assignment_expression", "left", Rule::Is(Class::Binding)),
    ("init_declarator", "declarator", Rule::Through),
    ("pointer_declarator", "declarator", Rule::Through),
    ("array_declarator", "declarator", Rule::Through),
    ("reference_declarator", "", Rule::Through),
    ("function_declarator", "declarator", Rule::Through),
    ("parenthesized_declarator", "", Rule::Through),
    ("variadic_declarator", "", Rule::Through),
    ("parameter_declaration", "declarator", Rule::Is(Class::Binding)),
    ("optional_parameter_declaration", "declarator", Rule::Is(Class::Binding)),
    ("declaration", "declarator", Rule::Is(Class::Binding)),
    ("field_declaration", "declarator", Rule::Is(Class::Binding)),
    ("function_definition", "declarator", Rule::Is(Class::Binding)),
    ("for_range_loop", "declarator", Rule::Is(Class::Binding)),
    ("condition_clause", "declarator", Rule::Is(Class::Binding)),
    ("structured_binding_declarator", "", Rule::Is(Class::Binding)),
    ("lambda_capture_initializer", "left", Rule::Is(Class::Binding)),
    ("type_parameter_declaration", "", Rule::Is(Class::Binding)),
];

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    let is_label = matches!(trail.kind(1), "labeled_statement" | "goto_statement");
    // A parameter of a macro is unrelated to other names.
    if is_label || trail.kind(1) == "preproc_params" {
        return None;
    }
    // `x.template area<int>` wraps the name twice, `x.Base::area` once for each scope.
    let wraps =
        |up: &usize| matches!(trail.kind(up + 1), "template_method" | "dependent_name" | "qualified_identifier");
    let field = 1 + (0..8).take_while(wraps).count();
    if trail.kind(field) == "field_expression" && (trail.field(field - 1) == "field" || field > 1) {
        let up = field + steps_to_name_node(&trail.ancestor_trail(field), RULES);
        return Some(match (trail.kind(up + 1), trail.field(up)) {
            ("call_expression", "function") => Class::Call,
            ("assignment_expression", "left") | ("update_expression", _) => Class::FieldWrite,
            _ => Class::FieldRead,
        });
    }
    if trail.kind(1) == "type_descriptor" && matches!(trail.kind(2), "compound_literal_expression" | "new_expression") {
        return Some(Class::Construct);
    }
    // `(*area)(1)` and `(&area)(1)` are calls like `area(1)`.
    let is_called = trail.kind(1) == "pointer_expression"
        && trail.kind(2) == "parenthesized_expression"
        && (trail.kind(3), trail.field(2)) == ("call_expression", "function");
    if is_called {
        return Some(Class::Call);
    }
    if trail.kind(1) == "destructor_name" {
        const AROUND: &[&str] = &["field_expression", "function_definition", "declaration", "field_declaration"];
        return Some(match trail.nearest(AROUND).map(|up| trail.kind(up)) {
            Some("function_definition" | "declaration" | "field_declaration") => Class::Binding,
            _ => Class::Type,
        });
    }
    if let Some(class) = direct(trail, RULES) {
        let is_value = trail.kind(1) == "field_initializer" && trail.node().prev_sibling().is_some();
        return Some(if is_value { Class::Value } else { class });
    }
    Some(match trail.node().kind() {
        "type_identifier" | "namespace_identifier" | "primitive_type" => Class::Type,
        "field_identifier" => Class::FieldRead,
        _ => Class::Value,
    })
}

/// True if a name in the body of a `#define` is one of its parameters, which is substituted.
pub(super) fn is_parameter_of_macro(trail: &Trail<'_, '_>) -> bool {
    let definition = trail.ancestor(1).filter(|definition| definition.kind() == "preproc_function_def");
    let parameters = definition.and_then(|definition| definition.child_by_field_name("parameters"));
    parameters.is_some_and(|parameters| {
        let parameters = trail.text_of(parameters);
        let mut words = parameters.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == trail.name())
    })
}

/// Returns the name at the end of a chain of declarators, its scopes, and whether it names a function.
fn declarator<'t>(trail: &Trail<'_, 't>, node: Node<'t>) -> Option<(Node<'t>, Vec<String>, bool)> {
    let (mut node, mut within, mut is_function, mut is_pointer) = (node, Vec::new(), false, false);
    // Lines written by people have fewer declarators.
    for _ in 0..32 {
        node = match node.kind() {
            "qualified_identifier" => {
                within.extend(node.child_by_field_name("scope").map(|scope| bare(&trail.text_of(scope))));
                node.child_by_field_name("name")?
            }
            "template_function" | "template_type" => node.child_by_field_name("name")?,
            "function_declarator" => {
                let inner = node.child_by_field_name("declarator")?;
                // `(*name)(…)` is a pointer to a function.
                is_pointer |= inner.kind() == "parenthesized_declarator" && trail.text_of(inner).contains('*');
                is_function = true;
                inner
            }
            "parenthesized_declarator" | "reference_declarator" | "variadic_declarator" => node.named_child(0)?,
            "init_declarator" | "pointer_declarator" | "array_declarator" => node.child_by_field_name("declarator")?,
            kind if is_among(NAMES, kind) => {
                return Some((node, within, is_function && !is_pointer));
            }
            _ => return None,
        };
    }
    None
}

fn bare(scope: &str) -> String {
    scope.split('<').next().unwrap_or(scope).trim().to_owned()
}

/// Returns a class. A nested class may be defined outside its container: `struct Entity::Impl {}`.
fn class<'t>(trail: &Trail<'_, 't>, kind: Kind) -> Vec<Declared<'t>> {
    let Some(mut name) = trail.node().child_by_field_name("name") else { return Vec::new() };
    let mut within = Vec::new();
    while name.kind() == "qualified_identifier" {
        within.extend(name.child_by_field_name("scope").map(|scope| bare(&trail.text_of(scope))));
        let Some(next) = name.child_by_field_name("name") else { break };
        name = next;
    }
    vec![Declared { within, ..Declared::new(name, kind) }]
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    let in_class = || {
        let above = trail.ancestor_trail(1).nearest(&["field_declaration_list", "compound_statement"]);
        above.is_some_and(|up| trail.kind(up + 1) == "field_declaration_list")
    };
    let has_body = node.child_by_field_name("body").is_some();
    match node.kind() {
        "struct_specifier" if has_body => class(trail, Kind::Struct),
        "union_specifier" if has_body => class(trail, Kind::Union),
        "class_specifier" if has_body => class(trail, Kind::Class),
        "enum_specifier" if has_body => Declared::named(node, Kind::Enum),
        "enumerator" => Declared::named(node, Kind::Constructor),
        "namespace_definition" => Declared::named(node, Kind::Module),
        "alias_declaration" | "concept_definition" => Declared::named(node, Kind::Type),
        "preproc_def" | "preproc_function_def" => Declared::named(node, Kind::Macro),
        "type_definition" => {
            let names = children_in(node, "declarator").into_iter();
            names.filter_map(|name| declarator(trail, name)).map(|(name, ..)| Declared::new(name, Kind::Type)).collect()
        }
        "function_definition" => {
            let found = node.child_by_field_name("declarator").and_then(|of| declarator(trail, of));
            let is_method = in_class();
            let one = |(name, within, _): (Node<'t>, Vec<String>, bool)| {
                let kind = if is_method || !within.is_empty() { Kind::Method } else { Kind::Function };
                Declared { within, ..Declared::new(name, kind) }
            };
            found.map(one).into_iter().collect()
        }
        "field_declaration" | "declaration" => {
            if trail.ancestor_trail(1).nearest(&["compound_statement", "for_statement", "condition_clause"]).is_some()
                && !in_class()
            {
                return Vec::new();
            }
            let is_member = in_class();
            let names = children_in(node, "declarator").into_iter();
            names.filter_map(|of| declarator(trail, of)).map(|found| member(found, is_member)).collect()
        }
        _ => Vec::new(),
    }
}

/// True if the C++ prototype whose name is at `at` is pure virtual (`= 0`). A server then returns its overriders.
pub fn is_pure_virtual(text: &[u8], at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.iter().position(|byte| matches!(byte, b';' | b'{')).unwrap_or_default();
    let said = rest[..end].trim_ascii_end().strip_suffix(b"0").map(<[u8]>::trim_ascii_end);
    said.is_some_and(|said| said.ends_with(b"="))
}

fn member<'t>((name, within, is_function): (Node<'t>, Vec<String>, bool), is_member: bool) -> Declared<'t> {
    let kind = match (is_function, is_member) {
        (true, true) => Kind::Method,
        (true, false) => Kind::Function,
        (false, true) => Kind::Field,
        (false, false) => Kind::Variable,
    };
    Declared { within, is_signature: is_function, ..Declared::new(name, kind) }
}
