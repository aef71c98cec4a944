//! Grammar of Python.

use super::kind::Kind;
use super::node_path::{Declared, Trail, named_children};
use super::rules::{Rule, Table, classify_by_ancestor, direct, is_upper, steps_to_name_node};
use super::{Class, Grammar};

pub(super) static GRAMMAR: Grammar =
    Grammar { language: || tree_sitter_python::LANGUAGE.into(), names: "identifier", declared, classify, alias };

const IMPORTS: &[&str] = &["import_statement", "import_from_statement", "future_import_statement"];

const RULES: &Table = &[
    ("parenthesized_expression", "", Rule::Through),
    ("call", "function", Rule::Is(Class::Call)),
    ("decorator", "", Rule::Is(Class::Call)),
    ("keyword_pattern", "", Rule::Is(Class::Pattern)),
    ("keyword_argument", "name", Rule::Is(Class::FieldWrite)),
    ("global_statement", "", Rule::Is(Class::Mention)),
    ("nonlocal_statement", "", Rule::Is(Class::Mention)),
    ("as_pattern_target", "", Rule::Is(Class::Binding)),
    ("named_expression", "name", Rule::Is(Class::Binding)),
    ("typed_parameter", "", Rule::Is(Class::Binding)),
    ("default_parameter", "name", Rule::Is(Class::Binding)),
    ("typed_default_parameter", "name", Rule::Is(Class::Binding)),
    ("parameters", "", Rule::Is(Class::Binding)),
    ("lambda_parameters", "", Rule::Is(Class::Binding)),
];

const AROUND: &Table = &[
    ("typed_parameter", "type", Rule::Is(Class::Type)),
    ("type", "", Rule::Is(Class::Type)),
    ("class_pattern", "", Rule::Is(Class::Pattern)),
    ("case_pattern", "", Rule::Is(Class::Pattern)),
    ("class_definition", "superclasses", Rule::Is(Class::Type)),
    ("default_parameter", "value", Rule::Stop),
    ("typed_default_parameter", "value", Rule::Stop),
    ("call", "", Rule::Stop),
    ("subscript", "", Rule::Stop),
    ("attribute", "", Rule::Stop),
    ("block", "", Rule::Stop),
    ("assignment", "left", Rule::Is(Class::Binding)),
    ("augmented_assignment", "left", Rule::Is(Class::Binding)),
    ("for_statement", "left", Rule::Is(Class::Binding)),
    ("for_in_clause", "left", Rule::Is(Class::Binding)),
    ("as_pattern_target", "", Rule::Is(Class::Binding)),
    ("parameters", "", Rule::Is(Class::Binding)),
    ("lambda_parameters", "", Rule::Is(Class::Binding)),
];

fn classify(trail: &Trail<'_, '_>) -> Option<Class> {
    if trail.nearest(IMPORTS).is_some() {
        return Some(Class::Import);
    }
    if in_annotation(trail) && !(trail.kind(1) == "attribute" && trail.field(0) == "object") {
        return Some(Class::Type);
    }
    if trail.kind(1) == "attribute" && trail.field(0) == "attribute" {
        let up = 1 + steps_to_name_node(&trail.ancestor_trail(1), RULES);
        if matches!(classify_by_ancestor(&trail.ancestor_trail(1), AROUND), Some(Class::Type)) {
            return Some(Class::Type);
        }
        let is_left = classify_by_ancestor(&trail.ancestor_trail(1), AROUND) == Some(Class::Binding);
        return Some(match (trail.kind(up + 1), trail.field(up)) {
            ("call", "function") | ("decorator", _) => Class::Call,
            ("delete_statement", _) => Class::FieldWrite,
            _ if is_left => Class::FieldWrite,
            _ => Class::FieldRead,
        });
    }
    // A dotted name in a pattern is looked up; a plain name binds.
    if trail.kind(1) == "dotted_name" && trail.kind(2) == "case_pattern" {
        let is_plain = trail.ancestor(1).is_some_and(|dotted| dotted.named_child_count() == 1);
        let binds = is_plain && !is_upper(&trail.name());
        return Some(if binds { Class::Binding } else { Class::Pattern });
    }
    if trail.kind(1) == "dotted_name" && trail.kind(2) == "keyword_pattern" {
        return Some(Class::Binding);
    }
    if let Some(class) = direct(trail, RULES) {
        return Some(class);
    }
    Some(classify_by_ancestor(trail, AROUND).unwrap_or(Class::Value))
}

/// Returns true in an annotation, also in brackets and quotes: `Optional["Shape"]`. The texts of `Literal` are no names.
pub(super) fn in_annotation(trail: &Trail<'_, '_>) -> bool {
    let is_literal = |up: usize| {
        let of = trail.ancestor(up).and_then(|whole| whole.child_by_field_name("value").or_else(|| whole.child(0)));
        of.is_some_and(|of| trail.text_of(of).ends_with("Literal"))
    };
    let around = trail.nearest(&["type", "call", "lambda", "block"]);
    around.is_some_and(|up| trail.kind(up) == "type")
        && !trail.nearest(&["subscript", "generic_type"]).is_some_and(is_literal)
}

fn alias(trail: &Trail<'_, '_>) -> Option<String> {
    let up = trail.nearest(&["aliased_import"])?;
    let import = trail.ancestor(up)?;
    let is_last = import.child_by_field_name("name").is_some_and(|name| name.end_byte() == trail.at.1);
    is_last.then(|| import.child_by_field_name("alias")).flatten().map(|alias| trail.text_of(alias).into_owned())
}

fn declared<'t>(trail: &Trail<'_, 't>) -> Vec<Declared<'t>> {
    let node = trail.node();
    // The enclosing function or class, or the module.
    let scope = || {
        trail
            .ancestor_trail(1)
            .nearest(&["function_definition", "class_definition", "lambda"])
            .map(|up| trail.kind(up + 1))
    };
    match node.kind() {
        "function_definition" if scope() == Some("class_definition") => Declared::named(node, Kind::Method),
        "function_definition" => Declared::named(node, Kind::Function),
        "class_definition" => Declared::named(node, Kind::Class),
        "assignment" => {
            let Some(left) = node.child_by_field_name("left") else { return Vec::new() };
            match (left.kind(), scope()) {
                ("identifier", None) if is_union(trail, node) => vec![Declared::new(left, Kind::Type)],
                ("identifier", None) => vec![Declared::new(left, Kind::Variable)],
                ("identifier", Some("class_definition")) => vec![Declared::new(left, Kind::Field)],
                ("attribute", Some("function_definition")) => attribute_of_self(trail, left),
                (_, Some("function_definition")) => {
                    named_children(left).into_iter().flat_map(|one| attribute_of_self(trail, one)).collect()
                }
                (_, scope) => bound(left, scope),
            }
        }
        "for_statement" => node.child_by_field_name("left").map_or_else(Vec::new, |left| bound(left, scope())),
        "named_expression" => node.child_by_field_name("name").map_or_else(Vec::new, |name| bound(name, scope())),
        "as_pattern_target" if trail.nearest(&["with_statement"]).is_some() => bound(node, scope()),
        "type_alias_statement" => {
            let name = node.child_by_field_name("left").and_then(|left| left.named_child(0));
            name.map(|name| Declared::new(name, Kind::Type)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the names bound by a target outside functions: `a, (b, *c) = …`, `with f() as d`.
fn bound<'t>(target: tree_sitter::Node<'t>, scope: Option<&str>) -> Vec<Declared<'t>> {
    let kind = match scope {
        None => Kind::Variable,
        Some("class_definition") => Kind::Field,
        Some(_) => return Vec::new(),
    };
    let mut names = Vec::new();
    let mut open = vec![target];
    while let Some(node) = open.pop() {
        match node.kind() {
            "identifier" => names.push(Declared::new(node, kind)),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern" | "as_pattern_target" => {
                open.extend(named_children(node));
            }
            // `shape.area = …`, `all[0] = …`.
            _ => {}
        }
    }
    names
}

/// True for a union: `Shape = Circle | Square`, `Shape = Union[Circle, Square]`.
fn is_union(trail: &Trail<'_, '_>, assignment: tree_sitter::Node<'_>) -> bool {
    let Some(right) = assignment.child_by_field_name("right") else { return false };
    match right.kind() {
        "subscript" => {
            let of = right.child_by_field_name("value").map(|value| trail.text_of(value));
            of.is_some_and(|of| matches!(&*of, "Union" | "typing.Union" | "t.Union"))
        }
        "binary_operator" => {
            let text = trail.text_of(right);
            let is_type = |part: &str| {
                let name = part.trim().rsplit('.').next().unwrap_or_default();
                is_upper(name) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            };
            // `FLAG_A | FLAG_B` combines flags.
            let has_lower = text.chars().any(char::is_lowercase);
            has_lower && text.split('|').all(is_type)
        }
        _ => false,
    }
}

/// Methods that set an object's attributes, called by Python or by test frameworks.
pub const MAKES_ATTRIBUTES: &[&str] = &["__init__", "__post_init__", "setUp", "asyncSetUp", "setup_method", "setup"];

/// Returns the field declared by `self.radius = …` in `__init__`, or in a similar method if nothing earlier in the class declares it.
fn attribute_of_self<'t>(trail: &Trail<'_, 't>, left: tree_sitter::Node<'t>) -> Vec<Declared<'t>> {
    let function = trail.nearest(&["function_definition"]).and_then(|up| trail.ancestor(up));
    let method = function.and_then(|function| function.child_by_field_name("name")).map(|name| trail.text_of(name));
    let is_first = || {
        let class = trail.nearest(&["class_definition"]).and_then(|up| trail.ancestor(up))?;
        let before = String::from_utf8_lossy(trail.text.get(class.start_byte()..left.start_byte())?).into_owned();
        let name = trail.text_of(left.child_by_field_name("attribute")?);
        let mut words = before.split(|c: char| !c.is_alphanumeric() && c != '_');
        Some(!words.any(|word| word == name))
    };
    let is_init = method.is_some_and(|method| {
        &*method == "__init__" || MAKES_ATTRIBUTES.contains(&&*method) && is_first().unwrap_or_default()
    });
    let is_self = left.kind() == "attribute"
        && left.child_by_field_name("object").is_some_and(|object| trail.text_of(object) == "self");
    match left.child_by_field_name("attribute").filter(|_| is_init && is_self) {
        Some(name) => vec![Declared::new(name, Kind::Field)],
        None => Vec::new(),
    }
}
