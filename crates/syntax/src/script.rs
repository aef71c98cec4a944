//! Grammar of JavaScript and TypeScript, with and without JSX.

use tree_sitter::Node;

use super::default_imports::DEFAULT;
use super::kind::Kind;
use super::node_path::{Declared, Trail, named_children};
use super::rules::{Rule, Table, classify_by_ancestor, direct, is_word, steps_to_name_node};
use super::{Class, Grammar};
use crate::text_enum::is_among;

const NAMES: &str = "identifier type_identifier property_identifier private_property_identifier \
                     shorthand_property_identifier shorthand_property_identifier_pattern";

pub(super) static JAVASCRIPT: Grammar = grammar(|| tree_sitter_javascript::LANGUAGE.into());
pub(super) static TYPESCRIPT: Grammar = grammar(|| tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into());
pub(super) static TSX: Grammar = grammar(|| tree_sitter_typescript::LANGUAGE_TSX.into());

const fn grammar(language: fn() -> tree_sitter::Language) -> Grammar {
    Grammar { language, names: NAMES, declared, classify, alias }
}

const RULES: &Table = &[
    ("parenthesized_expression", "", Rule::Through),
    ("non_null_expression", "", Rule::Through),
    ("nested_identifier", "property", Rule::Through),
    ("nested_type_identifier", "name", Rule::Through),
    ("generic_type", "name", Rule::Through),
    ("instantiation_expression", "", Rule::Through),
    ("await_expression", "", Rule::Stop),
    ("call_expression", "function", Rule::Is(Class::Call)),
    ("new_expression", "constructor", Rule::Is(Class::Construct)),
    ("decorator", "", Rule::Is(Class::Call)),
    ("jsx_opening_element", "name", Rule::Is(Class::Call)),
    ("jsx_self_closing_element", "name", Rule::Is(Class::Call)),
    ("jsx_closing_element", "name", Rule::Is(Class::Mention)),
    ("jsx_attribute", "", Rule::Is(Class::FieldWrite)),
    ("pair", "key", Rule::Is(Class::FieldWrite)),
    ("pair_pattern", "key", Rule::Is(Class::FieldRead)),
    ("extends_clause", "value", Rule::Is(Class::Type)),
    ("class_heritage", "", Rule::Is(Class::Type)),
    ("type_query", "", Rule::Is(Class::Type)),
    ("type_parameter", "name", Rule::Is(Class::Binding)),
    ("assignment_expression", "left", Rule::Is(Class::Binding)),
    ("augmented_assignment_expression", "left", Rule::Is(Class::Binding)),
];

const AROUND: &Table = &[
    ("type_query", "", Rule::Is(Class::Type)),
    ("type_annotation", "", Rule::Is(Class::Type)),
    ("required_parameter", "value", Rule::Stop),
    ("optional_parameter", "value", Rule::Stop),
    ("assignment_pattern", "right", Rule::Stop),
    ("object_assignment_pattern", "right", Rule::Stop),
    ("statement_block", "", Rule::Stop),
    ("member_expression", "", Rule::Stop),
    ("subscript_expression", "", Rule::Stop),
    ("call_expression", "", Rule::Stop),
    ("variable_declarator", "name", Rule::Is(Class::Binding)),
    ("formal_parameters", "", Rule::Is(Class::Binding)),
    ("arrow_function", "parameter", Rule::Is(Class::Binding)),
    ("for_in_statement", "left", Rule::Is(Class::Binding)),
    ("catch_clause", "parameter", Rule::Is(Class::Binding)),
    ("assignment_expression", "left", Rule::Is(Class::Binding)),
];

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    if trail.nearest(&["import_statement"]).is_some() {
        return Some(Class::Import);
    }
    if trail.nearest(&["export_clause"]).is_some() || trail.kind(1) == "export_statement" {
        return Some(Class::Export);
    }
    if exported_as(trail).is_some() {
        return Some(Class::Export);
    }
    let kind = trail.node().kind();
    let is_member = trail.kind(1) == "member_expression" && trail.field(0) == "property";
    if is_member {
        return Some(of_member(trail));
    }
    if kind == "identifier" && matches!(trail.kind(1), "as_expression" | "satisfies_expression") {
        return classify(&trail.ancestor_trail(1));
    }
    if is_required(trail) && (kind != "identifier" || trail.kind(1) == "variable_declarator") {
        return Some(Class::Import);
    }
    if let Some(class) = direct(trail, RULES) {
        return Some(class);
    }
    Some(match kind {
        "type_identifier" => Class::Type,
        "shorthand_property_identifier" => Class::Value,
        "shorthand_property_identifier_pattern" => Class::Binding,
        "property_identifier" | "private_property_identifier" => Class::FieldRead,
        _ => classify_by_ancestor(trail, AROUND).unwrap_or(Class::Value),
    })
}

/// Classifies the member whose name or key is the node at the end of the trail.
pub(super) fn of_member(trail: &Trail<'_, '_>) -> Class {
    let up = 1 + steps_to_name_node(&trail.ancestor_trail(1), RULES);
    match (trail.kind(up + 1), trail.field(up)) {
        ("call_expression", "function") | ("decorator", _) => Class::Call,
        ("jsx_opening_element" | "jsx_self_closing_element", "name") => Class::Call,
        ("new_expression", "constructor") => Class::Construct,
        ("assignment_expression" | "augmented_assignment_expression", "left") | ("update_expression", _) => {
            Class::FieldWrite
        }
        _ => Class::FieldRead,
    }
}

/// True if the name stands before `= require(…)`, directly or in a pattern.
fn is_required(trail: &Trail<'_, '_>) -> bool {
    let Some(up) = trail.nearest(&["variable_declarator"]).filter(|up| *up > 0) else { return false };
    let value = trail.ancestor(up).and_then(|node| node.child_by_field_name("value"));
    trail.field(up - 1) == "name" && is_require(trail, value)
}

fn is_require(trail: &Trail<'_, '_>, value: Option<Node<'_>>) -> bool {
    let called = value.filter(|value| value.kind() == "call_expression");
    let function = called.and_then(|call| call.child_by_field_name("function"));
    function.is_some_and(|function| trail.text_of(function) == "require")
}

/// Returns the name under which a CommonJS module exports the name: `exports.area = area`, `module.exports = { area }`,
/// `exports.area = require("./area")`.
fn exported_as(trail: &Trail<'_, '_>) -> Option<String> {
    let left = |assignment: usize| {
        let node = trail.ancestor(assignment).filter(|node| node.kind() == "assignment_expression")?;
        Some(trail.text_of(node.child_by_field_name("left")?).into_owned())
    };
    let is_whole = |left: &String| matches!(left.as_str(), "module.exports" | "exports");
    let member = |left: &String| {
        let (of, name) = left.rsplit_once('.')?;
        matches!(of, "module.exports" | "exports").then(|| name.to_owned())
    };
    match (trail.kind(1), trail.field(0)) {
        ("assignment_expression", "right") => {
            let left = left(1)?;
            if is_whole(&left) { Some(DEFAULT.to_owned()) } else { member(&left) }
        }
        // `module.exports = function area() {}`.
        ("function_expression" | "generator_function" | "class", "name") if trail.field(1) == "right" => {
            let left = left(2)?;
            if is_whole(&left) { Some(DEFAULT.to_owned()) } else { member(&left) }
        }
        ("object", _) if trail.field(1) == "right" => left(2).filter(is_whole).map(|_| trail.name().into_owned()),
        ("pair", "value") if trail.field(2) == "right" => {
            left(3).filter(is_whole)?;
            Some(trail.text_of(trail.ancestor(1)?.child_by_field_name("key")?).into_owned())
        }
        ("member_expression", "property") if trail.field(1) == "left" => {
            let right = trail.ancestor(2).and_then(|assignment| assignment.child_by_field_name("right"));
            left(2).filter(|_| is_require(trail, right)).and_then(|left| member(&left))
        }
        _ => None,
    }
}

fn alias(trail: &Trail<'_, '_>) -> Option<String> {
    let parent = trail.ancestor(1)?;
    let is_default = |node: Node<'_>| {
        let mut cursor = node.walk();
        node.kind() == "export_statement" && node.children(&mut cursor).any(|child| child.kind() == "default")
    };
    let declares = trail.field(0) == "name" && trail.field(1) == "declaration";
    if is_default(parent) || declares && trail.ancestor(2).is_some_and(is_default) {
        return Some(DEFAULT.to_owned());
    }
    if let Some(exported) = exported_as(trail) {
        return Some(exported);
    }
    let other = match parent.kind() {
        "import_specifier" | "export_specifier" if trail.field(0) == "name" => parent.child_by_field_name("alias"),
        "pair_pattern" if trail.field(0) == "key" => parent.child_by_field_name("value"),
        _ => None,
    }?;
    matches!(other.kind(), "identifier" | "default").then(|| trail.text_of(other).into_owned())
}

/// Returns the names to which an inline object type belongs: `server` in `interface Config { server: { host: string }
/// }`. Its members are not members of the outer declaration.
fn holders(trail: &Trail<'_, '_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_written_there = false;
    for up in 1..trail.steps.len() {
        let Some(node) = trail.ancestor(up) else { break };
        let field = match node.kind() {
            "object_type" => {
                is_written_there = true;
                continue;
            }
            "property_signature" | "public_field_definition" => "name",
            "required_parameter" | "optional_parameter" => "pattern",
            "interface_declaration" | "type_alias_declaration" | "class_body" | "statement_block" | "program" => break,
            _ => continue,
        };
        if is_written_there {
            names.extend(node.child_by_field_name(field).map(|name| trail.text_of(name).into_owned()));
        }
        is_written_there = false;
    }
    names.reverse();
    names
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let mut all = declared_there(trail);
    if matches!(trail.node().kind(), "property_signature" | "method_signature") && trail.kind(1) == "object_type" {
        all.iter_mut().for_each(|one| one.within = holders(trail));
    }
    all
}

fn declared_there<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    let signature = |kind| {
        let name = node.child_by_field_name("name");
        name.map(|name| Declared::signature(name, kind)).into_iter().collect()
    };
    let kind = match node.kind() {
        "function_declaration" | "generator_function_declaration" => Kind::Function,
        "function_signature" => return signature(Kind::Function),
        "abstract_method_signature" | "method_signature" => return signature(Kind::Method),
        "class_declaration" | "abstract_class_declaration" => Kind::Class,
        "interface_declaration" => Kind::Interface,
        "type_alias_declaration" => Kind::Type,
        "enum_declaration" => Kind::Enum,
        "internal_module" | "module" => Kind::Module,
        "method_definition" => Kind::Method,
        "public_field_definition" => return member(node, "name"),
        "field_definition" => return member(node, "property"),
        "property_signature" => Kind::Field,
        "enum_assignment" => Kind::Constructor,
        "property_identifier" if trail.kind(1) == "enum_body" => return vec![Declared::new(node, Kind::Constructor)],
        "required_parameter" => {
            let mut cursor = node.walk();
            let is_modifier = |kind: &str| matches!(kind, "accessibility_modifier" | "override_modifier" | "readonly");
            let is_field = node.children(&mut cursor).any(|child| is_modifier(child.kind()));
            let name = node.child_by_field_name("pattern").filter(|_| is_field);
            return name.map(|name| Declared::new(name, Kind::Field)).into_iter().collect();
        }
        "function_expression" | "generator_function" | "class" => return expression(trail),
        "variable_declarator" => return variable(trail),
        "pair" if is_function(node.child_by_field_name("value")) && is_of_named_object(trail) => {
            let key = node.child_by_field_name("key").filter(|key| key.kind() == "property_identifier");
            return key.map(|key| Declared::new(key, Kind::Method)).into_iter().collect();
        }
        "assignment_expression" => return assigned(trail, node),
        _ => return Vec::new(),
    };
    Declared::named(node, kind)
}

fn is_function(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "function" | "generator_function")
    })
}

/// True if the node is in an object held by a variable, an export or another such object.
fn is_of_named_object(trail: &Trail<'_, '_>) -> bool {
    let mut up = 1;
    while trail.kind(up) == "object" && trail.kind(up + 1) == "pair" {
        up += 2;
    }
    let holder = (trail.kind(up + 1), trail.field(up));
    trail.kind(up) == "object"
        && matches!(
            holder,
            ("variable_declarator", "value") | ("assignment_expression", "right") | ("export_statement", _)
        )
}

/// Returns a member of a class. It is a method if its value is a function.
fn member<'t>(node: Node<'t>, field: &str) -> Vec<Declared<'t>> {
    let kind = if is_function(node.child_by_field_name("value")) { Kind::Method } else { Kind::Field };
    node.child_by_field_name(field).map(|name| Declared::new(name, kind)).into_iter().collect()
}

/// Returns a variable outside functions, or a function named by its variable.
fn variable<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    let Some(name) = node.child_by_field_name("name") else { return Vec::new() };
    if name.kind() != "identifier" {
        return exported_bindings(trail, name);
    }
    let outside = matches!(trail.kind(2), "program" | "export_statement" | "ambient_declaration")
        || trail.kind(2) == "statement_block" && trail.kind(3) == "internal_module";
    let value = node.child_by_field_name("value");
    if is_function(value) {
        vec![Declared::new(name, Kind::Function)]
    } else if value.is_some_and(|value| value.kind() == "class") {
        vec![Declared::new(name, Kind::Class)]
    } else if outside && !is_require(trail, value) {
        vec![Declared::new(name, Kind::Variable)]
    } else {
        // A value from another module is declared in that module.
        Vec::new()
    }
}

/// Returns the variables bound and exported by a pattern: `export const { reset } = slice.actions`.
fn exported_bindings<'t>(trail: &Trail<'_, 't>, pattern: Node<'t>) -> Vec<Declared<'t>> {
    let is_common = || memchr::memmem::find(trail.text, b"module.exports").is_some();
    let is_given = trail.kind(2) == "export_statement" || trail.kind(2) == "program" && is_common();
    if !is_given || is_require(trail, trail.node().child_by_field_name("value")) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => names.push(Declared::new(node, Kind::Variable)),
            "pair_pattern" => open.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => open.extend(node.child_by_field_name("left")),
            "object_pattern" | "array_pattern" | "rest_pattern" => open.extend(named_children(node)),
            _ => {}
        }
    }
    names
}

/// Returns a function or class named by an expression, as a member or as a module's export: `module.exports = class
/// Shape {}`. A named function passed to a call, or assigned to a member of another name, is a value.
fn expression<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let declared = match (trail.kind(1), trail.field(0)) {
        ("pair", "value") => named_value(trail, trail.node(), None),
        ("assignment_expression", "right") => named_value(trail, trail.node(), trail.ancestor(1)),
        _ => None,
    };
    declared.into_iter().collect()
}

fn named_value<'t>(trail: &Trail<'_, 't>, value: Node<'t>, assignment: Option<Node<'t>>) -> Option<Declared<'t>> {
    let kind = match value.kind() {
        "class" => Kind::Class,
        _ if is_function(Some(value)) => Kind::Function,
        _ => return None,
    };
    let left = assignment.and_then(|assignment| assignment.child_by_field_name("left"));
    let member = left.and_then(|left| left.child_by_field_name("property"));
    let within = match left.zip(member) {
        // `res.send = function send(body) {}`.
        Some((left, member)) if names_itself(trail, value, member) => receiver(trail, left),
        Some((left, _)) if trail.text_of(left) != "module.exports" => return None,
        _ => Vec::new(),
    };
    let name = value.child_by_field_name("name")?;
    Some(Declared { within, ..Declared::new(name, kind) })
}

/// Returns the object whose member is assigned: `View`, `prototype` of `View.prototype.lookup`. Empty for exports of a
/// module, and if the object is not a name.
fn receiver(trail: &Trail<'_, '_>, member: Node<'_>) -> Vec<String> {
    let Some(object) = member.child_by_field_name("object") else { return Vec::new() };
    let text = trail.text_of(object);
    let is_name = |part: &str| !part.is_empty() && part.bytes().all(|byte| is_word(byte) || byte == b'$');
    match &*text {
        "exports" | "module.exports" => Vec::new(),
        text if text.split('.').all(is_name) => text.split('.').map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// True if an assignment in a class's constructor creates a field that the class does not declare: `this.radius = radius`.
fn makes_field(trail: &Trail<'_, '_>, name: Node<'_>) -> bool {
    let function =
        trail.nearest(&["method_definition", "function_declaration", "function_expression", "arrow_function"]);
    let method = function.and_then(|up| trail.ancestor(up)).filter(|node| node.kind() == "method_definition");
    let is_constructor = method
        .and_then(|method| method.child_by_field_name("name"))
        .is_some_and(|name| trail.text_of(name) == "constructor");
    let class = method.and_then(|method| method.parent()).filter(|_| is_constructor);
    let declares = |member: Node<'_>| {
        let field = member.child_by_field_name("property").or_else(|| member.child_by_field_name("name"));
        field.is_some_and(|field| trail.text_of(field) == trail.text_of(name))
    };
    class.is_some_and(|class| !named_children(class).into_iter().any(declares))
}

/// Expressions that give a module's member an anonymous value.
const MADE: &str = "array await_expression call_expression false new_expression number object regex string template_string \
                    true";

/// Returns the members declared by an assignment: `exports.area = function …`, `Shape.prototype.area = …`, both of
/// `res.contentType = res.type = …`.
fn assigned<'t>(trail: &Trail<'_, 't>, node: Node<'t>) -> Vec<Declared<'t>> {
    let [left, right] = ["left", "right"].map(|field| node.child_by_field_name(field));
    let Some((left, right)) = left.filter(|left| left.kind() == "member_expression").zip(right) else {
        return Vec::new();
    };
    let [object, name] = ["object", "property"].map(|field| left.child_by_field_name(field));
    let Some((object, name)) = object.zip(name) else { return Vec::new() };
    if object.kind() == "this" {
        return if makes_field(trail, name) { vec![Declared::new(name, Kind::Field)] } else { Vec::new() };
    }
    let inner = |right: &Node<'t>| right.child_by_field_name("right").filter(|_| right.kind() == node.kind());
    let Some(value) = std::iter::successors(Some(right), inner).last() else { return Vec::new() };
    let is_of_module = || matches!(&*trail.text_of(object), "exports" | "module.exports");
    let kind = match value.kind() {
        // A function or class with that name declares it.
        _ if names_itself(trail, right, name) => None,
        _ if is_function(Some(value)) => Some(Kind::Function),
        "class" => Some(Kind::Class),
        // `exports.list = wrapped(async (request) => { … })`.
        kind if is_among(MADE, kind) && is_of_module() && !is_require(trail, Some(value)) => Some(Kind::Variable),
        _ => None,
    };
    let one = kind.map(|kind| Declared { within: receiver(trail, left), ..Declared::new(name, kind) });
    let others = if right.kind() == node.kind() { all_assigned(trail, right) } else { Vec::new() };
    one.into_iter().chain(others).collect()
}

/// Returns the same, including the declarations of values with their own names.
fn all_assigned<'t>(trail: &Trail<'_, 't>, node: Node<'t>) -> Vec<Declared<'t>> {
    let all = assigned(trail, node);
    match node.child_by_field_name("right") {
        Some(right) if all.is_empty() => named_value(trail, right, Some(node)).into_iter().collect(),
        _ => all,
    }
}

fn names_itself(trail: &Trail<'_, '_>, value: Node<'_>, name: Node<'_>) -> bool {
    let own = value.child_by_field_name("name");
    own.is_some_and(|own| trail.text_of(own) == trail.text_of(name))
}
