//! The fields and constructors of a type, as written in its declaration.

mod classes;
mod sum_types;

use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::Node;

pub(crate) use self::classes::MadeBy;
use crate::syntax::{Declaration, Kind, Language, named_children, parse};
use crate::text_enum::is_among;

/// A field.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Field {
    /// The name; a number for a field without a name.
    pub name: String,
    /// The type as written; empty if none is written.
    #[serde(rename = "type")]
    pub of: String,
    /// True if the field is strict; only in Haskell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// The constructor that has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constructor: Option<String>,
    pub line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Offset of the name.
    #[serde(skip)]
    pub at: usize,
}

/// A constructor.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Constructor {
    pub name: String,
    /// Types of the fields.
    pub fields: Vec<String>,
    pub is_record: bool,
    pub field_names: Vec<String>,
    /// The result type, where it is written: in a GADT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    pub line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    #[serde(skip)]
    pub at: usize,
}

/// A type.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub fields: Vec<Field>,
    pub constructors: Vec<Constructor>,
    pub is_gadt: bool,
    /// Ways to create a class without constructors that a pattern could name.
    pub made_by: Vec<MadeBy>,
    /// The type for which this is an alias.
    pub alias: Option<String>,
}

/// Returns the fields and constructors of a declaration.
pub(crate) fn shape(language: Language, text: &[u8], declaration: &Declaration, until: Instant) -> Shape {
    let Some(tree) = parse(language, text, until) else { return Shape::default() };
    let reading = Reading { language, text };
    let mut shape = match language {
        Language::Haskell => reading.haskell(&tree.root_node(), declaration),
        Language::Rust => reading.rust(&tree.root_node(), declaration),
        _ => reading.members(&tree.root_node(), declaration),
    };
    shape.alias = reading.alias(tree.root_node(), declaration);
    let lines = crate::line_column::Lines::new(text);
    shape.made_by.iter_mut().for_each(|made| made.line = lines.line(made.at));
    shape.fields.iter_mut().for_each(|field| field.line = lines.line(field.at));
    shape.constructors.iter_mut().for_each(|constructor| constructor.line = lines.line(constructor.at));
    shape
}

struct Reading<'a> {
    language: Language,
    text: &'a [u8],
}

impl Reading<'_> {
    fn node_text(&self, node: Node<'_>) -> String {
        let text = String::from_utf8_lossy(&self.text[node.byte_range()]).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn field(&self, node: Option<Node<'_>>, field: &str) -> Option<String> {
        node.and_then(|node| node.child_by_field_name(field)).map(|node| self.node_text(node))
    }

    fn new_field(&self, name: String, of: String, at: usize) -> Field {
        Field { name, of, at, ..Field::default() }
    }

    fn constructor(&self, name: String, at: usize) -> Constructor {
        Constructor { name, at, ..Constructor::default() }
    }

    // Most languages: the fields and constructors of the outline.
    fn members(&self, root: &Node<'_>, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        for member in &declaration.members {
            let node = declaring_node(*root, member.at, member.name.len());
            match member.kind {
                Kind::Field => shape.fields.push(self.member(node, member)),
                Kind::Constructor => {
                    let doc = member.doc.clone();
                    shape.constructors.push(Constructor { doc, ..self.constructor(member.name.clone(), member.at) });
                }
                // A constructor may also declare fields.
                Kind::Method => {
                    let is_known = |field: &Field| shape.fields.iter().any(|known| known.name == field.name);
                    let more = self.of_constructor(*root, member, declaration);
                    let more: Vec<Field> = more.into_iter().filter(|field| !is_known(field)).collect();
                    shape.fields.extend(more);
                }
                _ => {}
            }
        }
        shape.made_by = self.made_by(declaration);
        self.sum(*root, declaration, &mut shape);
        shape
    }

    fn member(&self, node: Option<Node<'_>>, member: &Declaration) -> Field {
        let of = match self.language {
            Language::C | Language::Cpp => node.map(|node| self.c_type(node, member)),
            Language::Go => node.and_then(|node| self.go_type(node)),
            _ => self.field(node, "type"),
        };
        let of = of.map(|of| of.trim_start_matches(':').trim().to_owned()).unwrap_or_default();
        let value = ["value", "right", "default_value"].into_iter().find_map(|name| self.field(node, name));
        let optional = node.is_some_and(|node| {
            (0..node.child_count()).filter_map(|at| node.child(at)).any(|child| child.kind() == "?")
        });
        Field {
            optional: optional || of.starts_with("Optional[") || of.starts_with("NotRequired["),
            default: value,
            doc: member.doc.clone(),
            ..self.new_field(member.name.clone(), of, member.at)
        }
    }

    /// Returns the type of a field; for an embedded one, everything except its tag.
    fn go_type(&self, node: Node<'_>) -> Option<String> {
        let field = std::iter::successors(Some(node), Node::parent).find(|one| one.kind() == "field_declaration")?;
        let of = field.child_by_field_name("type")?;
        match field.child_by_field_name("name") {
            Some(_) => Some(self.node_text(of)),
            None => Some(String::from_utf8_lossy(&self.text[field.start_byte()..of.end_byte()]).into_owned()),
        }
    }

    /// Returns the declaration without the name. C writes the type around the name.
    fn c_type(&self, node: Node<'_>, member: &Declaration) -> String {
        let Some(of) = node.child_by_field_name("type") else { return String::new() };
        let mut cursor = node.walk();
        let own =
            node.children_by_field_name("declarator", &mut cursor).find(|one| one.byte_range().contains(&member.at));
        let before = String::from_utf8_lossy(&self.text[node.start_byte()..of.end_byte()]).into_owned();
        let declarator = own.map(|own| {
            let text = |from: usize, to: usize| String::from_utf8_lossy(&self.text[from..to]).into_owned();
            format!("{}{}", text(own.start_byte(), member.at), text(member.at + member.name.len(), own.end_byte()))
        });
        let whole = format!("{before} {}", declarator.unwrap_or_default());
        whole.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn rust(&self, root: &Node<'_>, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        let holders: Vec<(&str, usize, &Declaration)> = match declaration.kind {
            Kind::Enum => {
                let variants = declaration.members.iter().filter(|member| member.kind == Kind::Constructor);
                variants.map(|variant| (variant.name.as_str(), variant.at, variant)).collect()
            }
            Kind::Struct | Kind::Union => vec![(declaration.name.as_str(), declaration.at, declaration)],
            _ => Vec::new(),
        };
        for (name, at, holder) in holders {
            let mut made = Constructor { doc: holder.doc.clone(), ..self.constructor(name.to_owned(), at) };
            let node = declaring_node(*root, at, name.len());
            let positional = node.and_then(|node| node.child_by_field_name("body"));
            let positional = positional.filter(|body| body.kind() == "ordered_field_declaration_list");
            let mut fields: Vec<Field> = Vec::new();
            if let Some(list) = positional {
                let mut cursor = list.walk();
                for (number, of) in list.children_by_field_name("type", &mut cursor).enumerate() {
                    fields.push(self.new_field(number.to_string(), self.node_text(of), of.start_byte()));
                }
            } else {
                let named = holder.members.iter().filter(|member| member.kind == Kind::Field);
                fields.extend(
                    named.map(|member| self.member(declaring_node(*root, member.at, member.name.len()), member)),
                );
                made.is_record = !fields.is_empty();
                made.field_names = fields.iter().map(|field| field.name.clone()).collect();
            }
            made.fields = fields.iter().map(|field| field.of.clone()).collect();
            let constructor = (declaration.kind == Kind::Enum).then(|| name.to_owned());
            shape.fields.extend(fields.into_iter().map(|field| Field { constructor: constructor.clone(), ..field }));
            shape.constructors.push(made);
        }
        shape
    }

    fn haskell(&self, root: &Node<'_>, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        let Some(node) = declaring_node(*root, declaration.at, declaration.name.len()) else { return shape };
        let has_pragma = |name: &str| {
            let pragmas = named_children(*root).into_iter();
            pragmas.take_while(|node| node.kind() == "pragma" || node.kind().contains("comment")).any(|node| {
                let text = self.node_text(node);
                node.kind() == "pragma" && text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
            })
        };
        let all_strict = has_pragma("StrictData") || has_pragma("Strict");
        let is_newtype = node.kind() == "newtype";
        let list = node.child_by_field_name("constructors").or_else(|| node.child_by_field_name("constructor"));
        let Some(list) = list else { return shape };
        shape.is_gadt = list.kind() == "gadt_constructors";
        let constructors: Vec<Node<'_>> = match list.kind() {
            "newtype_constructor" => vec![list],
            _ => named_children(list),
        };
        for constructor in constructors {
            self.haskell_constructor(constructor, all_strict && !is_newtype, &mut shape);
        }
        for one in declaration.members.iter().flat_map(|member| std::iter::once(member).chain(&member.members)) {
            let doc = || one.doc.clone();
            shape.constructors.iter_mut().filter(|made| made.at == one.at).for_each(|made| made.doc = doc());
            shape.fields.iter_mut().filter(|field| field.at == one.at).for_each(|field| field.doc = doc());
        }
        shape
    }

    fn haskell_constructor(&self, node: Node<'_>, all_strict: bool, shape: &mut Shape) {
        let children = |node: Node<'_>, field: &str| -> Vec<(usize, usize)> {
            let mut cursor = node.walk();
            node.children_by_field_name(field, &mut cursor).map(|node| (node.start_byte(), node.end_byte())).collect()
        };
        let text = |(from, to): (usize, usize)| {
            String::from_utf8_lossy(&self.text[from..to]).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let inner = node.child_by_field_name("constructor").unwrap_or(node);
        let name = inner.child_by_field_name("name").or_else(|| inner.child_by_field_name("operator"));
        let names = match (name, node.child_by_field_name("names")) {
            (Some(name), _) => vec![(name.start_byte(), name.end_byte())],
            (None, Some(names)) => {
                named_children(names).into_iter().map(|name| (name.start_byte(), name.end_byte())).collect()
            }
            (None, None) => return,
        };
        let constraints = self.field(Some(node), "context").or_else(|| self.field(Some(inner), "context"));
        let of = node.child_by_field_name("type");
        let record = inner.child_by_field_name("fields").or_else(|| of.and_then(|of| of.child_by_field_name("fields")));
        let record = record.or_else(|| {
            inner
                .child_by_field_name("field")
                .filter(|field| field.kind() == "record")
                .and_then(|field| field.child_by_field_name("fields").or(Some(field)))
        });
        let mut result = None;
        let mut fields: Vec<Field> = Vec::new();
        if let Some(record) = record {
            let mut cursor = record.walk();
            for field in record.named_children(&mut cursor).filter(|child| child.kind() == "field") {
                let Some(of) = field.child_by_field_name("type") else { continue };
                let (of, strict) = self.strictness(of, all_strict);
                for at in children(field, "name") {
                    fields.push(Field { strict: Some(strict), ..self.new_field(text(at), of.clone(), at.0) });
                }
            }
            result = of.and_then(|of| self.field(Some(of), "type"));
        } else if let Some(of) = of {
            // `A -> B -> T` of a GADT.
            let mut rest = of.child_by_field_name("type").unwrap_or(of);
            while matches!(rest.kind(), "function" | "context" | "forall") {
                if rest.kind() == "function" {
                    let Some(parameter) = rest.child_by_field_name("parameter") else { break };
                    let (of, strict) = self.strictness(parameter, all_strict);
                    let number = fields.len().to_string();
                    fields.push(Field { strict: Some(strict), ..self.new_field(number, of, parameter.start_byte()) });
                }
                match rest.child_by_field_name("result").or_else(|| rest.child_by_field_name("type")) {
                    Some(next) => rest = next,
                    None => break,
                }
            }
            result = Some(self.node_text(rest));
        } else {
            let mut places = children(inner, "field");
            places.extend(children(inner, "left_operand"));
            places.extend(children(inner, "right_operand"));
            for (from, to) in places {
                let Some(node) = inner.named_descendant_for_byte_range(from, to) else { continue };
                let (of, strict) = self.strictness(node, all_strict);
                let number = fields.len().to_string();
                fields.push(Field { strict: Some(strict), ..self.new_field(number, of, from) });
            }
        }
        for at in names {
            let name = text(at).trim_matches(['(', ')']).to_owned();
            let own = fields.iter().cloned().map(|field| Field { constructor: Some(name.clone()), ..field });
            shape.fields.extend(own);
            shape.constructors.push(Constructor {
                fields: fields.iter().map(|field| field.of.clone()).collect(),
                is_record: record.is_some(),
                field_names: if record.is_some() {
                    fields.iter().map(|field| field.name.clone()).collect()
                } else {
                    Vec::new()
                },
                result: result.clone(),
                constraints: constraints.clone(),
                ..self.constructor(name, at.0)
            });
        }
    }

    /// Returns a type without its strictness mark, and whether the field is strict.
    fn strictness(&self, node: Node<'_>, all_strict: bool) -> (String, bool) {
        let inner = |node: Node<'_>| {
            let of = node.child_by_field_name("type").unwrap_or(node);
            let text = self.node_text(of);
            // Parentheses only delimit the field.
            match of.kind() {
                "parens" => text[1..text.len() - 1].trim().to_owned(),
                _ => text,
            }
        };
        match node.kind() {
            "strict_field" => (inner(node), true),
            "lazy_field" => (inner(node), false),
            "parens" => (inner(node), all_strict),
            _ => (self.node_text(node), all_strict),
        }
    }
}

/// Returns the node that declares the name at an offset: the nearest one larger than the name.
fn declaring_node(root: Node<'_>, at: usize, length: usize) -> Option<Node<'_>> {
    const WRAPPERS: &str = "field_name pointer_declarator array_declarator function_declarator parenthesized_declarator \
                            init_declarator reference_declarator bitfield_clause attribute prefix_id";
    let name = root.named_descendant_for_byte_range(at, at + length)?;
    std::iter::successors(name.parent(), Node::parent).find(|node| !is_among(WRAPPERS, node.kind()))
}
