//! The fields and constructors of a type, as written in its declaration.

mod classes;
mod sum_types;

use std::ops::Range;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use syntax::text_enum::is_among;
use syntax::{Declaration, Kind, Language, named_children, parse};
use tree_sitter::Node;

pub(crate) use self::classes::MadeBy;
use crate::line_column::Lines;

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

impl Shape {
    /// Adds a constructor with its fields, which belong to the one of this name.
    fn add(&mut self, made: Constructor, fields: Vec<Field>, is_record: bool, name: Option<String>) {
        self.constructors.push(Constructor {
            fields: fields.iter().map(|field| field.of.clone()).collect(),
            is_record,
            field_names: fields.iter().filter(|_| is_record).map(|field| field.name.clone()).collect(),
            ..made
        });
        self.fields.extend(fields.into_iter().map(|field| Field { constructor: name.clone(), ..field }));
    }
}

/// Returns the fields and constructors of a declaration.
pub(crate) fn shape(language: Language, text: &[u8], declaration: &Declaration, until: Instant) -> Shape {
    let Some(tree) = parse(language, text, until) else { return Shape::default() };
    let reading = Reading { language, text, lines: Lines::new(text), root: tree.root_node() };
    let shape = match language {
        Language::Haskell => reading.haskell(declaration),
        Language::Rust => reading.rust(declaration),
        _ => reading.members(declaration),
    };
    Shape { alias: reading.alias(declaration), ..shape }
}

struct Reading<'a> {
    language: Language,
    text: &'a [u8],
    lines: Lines<'a>,
    root: Node<'a>,
}

impl<'a> Reading<'a> {
    /// Returns a part of the text in one line.
    fn join_words(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(&self.text[range]).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn node_text(&self, node: Node<'_>) -> String {
        self.join_words(node.byte_range())
    }

    fn field(&self, node: Option<Node<'_>>, field: &str) -> Option<String> {
        node.and_then(|node| node.child_by_field_name(field)).map(|node| self.node_text(node))
    }

    fn new_field(&self, name: String, of: String, at: usize) -> Field {
        Field { name, of, at, line: self.lines.line(at), ..Field::default() }
    }

    fn constructor(&self, name: String, at: usize) -> Constructor {
        Constructor { name, at, line: self.lines.line(at), ..Constructor::default() }
    }

    /// Returns the node of a declaration: the nearest one larger than its name.
    fn node_of(&self, one: &Declaration) -> Option<Node<'a>> {
        let name = self.root.named_descendant_for_byte_range(one.at, one.at + one.name.len())?;
        std::iter::successors(name.parent(), Node::parent).find(|node| !is_among(WRAPPERS, node.kind()))
    }

    // Most languages: the fields and constructors of the outline.
    fn members(&self, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        for member in &declaration.members {
            match member.kind {
                Kind::Field => shape.fields.push(self.member(member)),
                Kind::Constructor => {
                    let doc = member.doc.clone();
                    shape.constructors.push(Constructor { doc, ..self.constructor(member.name.clone(), member.at) });
                }
                // A constructor may also declare fields.
                Kind::Method => {
                    let is_known = |field: &Field| shape.fields.iter().any(|known| known.name == field.name);
                    let more = self.of_constructor(member, declaration);
                    let more: Vec<Field> = more.into_iter().filter(|field| !is_known(field)).collect();
                    shape.fields.extend(more);
                }
                _ => {}
            }
        }
        shape.made_by = self.made_by(declaration);
        self.sum(declaration, &mut shape);
        shape
    }

    fn member(&self, member: &Declaration) -> Field {
        let node = self.node_of(member);
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
        let mut text = self.text[node.start_byte()..of.end_byte()].to_vec();
        if let Some(own) = own {
            text.push(b' ');
            text.extend_from_slice(&self.text[own.start_byte()..member.at]);
            text.extend_from_slice(&self.text[member.at + member.name.len()..own.end_byte()]);
        }
        String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn rust(&self, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        let is_enum = declaration.kind == Kind::Enum;
        let holders: Vec<&Declaration> = match declaration.kind {
            Kind::Enum => declaration.members.iter().filter(|member| member.kind == Kind::Constructor).collect(),
            Kind::Struct | Kind::Union => vec![declaration],
            _ => Vec::new(),
        };
        for holder in holders {
            let body = self.node_of(holder).and_then(|node| node.child_by_field_name("body"));
            let positional = body.filter(|body| body.kind() == "ordered_field_declaration_list");
            let fields: Vec<Field> = match positional {
                Some(list) => {
                    let types = children(list, "type").into_iter().enumerate();
                    types.map(|(at, of)| self.new_field(at.to_string(), self.node_text(of), of.start_byte())).collect()
                }
                None => {
                    let named = holder.members.iter().filter(|member| member.kind == Kind::Field);
                    named.map(|member| self.member(member)).collect()
                }
            };
            let made = Constructor { doc: holder.doc.clone(), ..self.constructor(holder.name.clone(), holder.at) };
            let name = is_enum.then(|| holder.name.clone());
            shape.add(made, fields, positional.is_none(), name);
        }
        // A record has fields.
        shape.constructors.iter_mut().for_each(|made| made.is_record &= !made.fields.is_empty());
        shape
    }

    fn haskell(&self, declaration: &Declaration) -> Shape {
        let mut shape = Shape::default();
        let Some(node) = self.node_of(declaration) else { return shape };
        let has_pragma = |name: &str| {
            let pragmas = named_children(self.root).into_iter();
            pragmas.take_while(|node| node.kind() == "pragma" || node.kind().contains("comment")).any(|node| {
                let text = self.node_text(node);
                node.kind() == "pragma" && text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
            })
        };
        let all_strict = has_pragma("StrictData") || has_pragma("Strict");
        let list = node.child_by_field_name("constructors").or_else(|| node.child_by_field_name("constructor"));
        let Some(list) = list else { return shape };
        shape.is_gadt = list.kind() == "gadt_constructors";
        let constructors: Vec<Node<'_>> = match list.kind() {
            "newtype_constructor" => vec![list],
            _ => named_children(list),
        };
        for constructor in constructors {
            self.haskell_constructor(constructor, all_strict && node.kind() != "newtype", &mut shape);
        }
        for one in declaration.members.iter().flat_map(|member| std::iter::once(member).chain(&member.members)) {
            let doc = || one.doc.clone();
            shape.constructors.iter_mut().filter(|made| made.at == one.at).for_each(|made| made.doc = doc());
            shape.fields.iter_mut().filter(|field| field.at == one.at).for_each(|field| field.doc = doc());
        }
        shape
    }

    fn haskell_constructor(&self, node: Node<'_>, all_strict: bool, shape: &mut Shape) {
        let inner = node.child_by_field_name("constructor").unwrap_or(node);
        let name = inner.child_by_field_name("name").or_else(|| inner.child_by_field_name("operator"));
        let names = name
            .map_or_else(|| children(node, "names").into_iter().flat_map(named_children).collect(), |name| vec![name]);
        let constraints = self.field(Some(node), "context").or_else(|| self.field(Some(inner), "context"));
        let of = node.child_by_field_name("type");
        let record = inner.child_by_field_name("fields").or_else(|| of.and_then(|of| of.child_by_field_name("fields")));
        let record = record.or_else(|| {
            let field = inner.child_by_field_name("field").filter(|field| field.kind() == "record");
            field.and_then(|field| field.child_by_field_name("fields").or(Some(field)))
        });
        let mut result = None;
        let mut fields: Vec<Field> = Vec::new();
        let positional = |fields: &mut Vec<Field>, of: Node<'_>| {
            let (text, strict) = self.strictness(of, all_strict);
            let field = self.new_field(fields.len().to_string(), text, of.start_byte());
            fields.push(Field { strict: Some(strict), ..field });
        };
        if let Some(record) = record {
            for field in named_children(record).into_iter().filter(|child| child.kind() == "field") {
                let Some(of) = field.child_by_field_name("type") else { continue };
                let (of, strict) = self.strictness(of, all_strict);
                for name in children(field, "name") {
                    let field = self.new_field(self.node_text(name), of.clone(), name.start_byte());
                    fields.push(Field { strict: Some(strict), ..field });
                }
            }
            result = of.and_then(|of| self.field(Some(of), "type"));
        } else if let Some(of) = of {
            // `A -> B -> T` of a GADT.
            let mut rest = of.child_by_field_name("type").unwrap_or(of);
            while matches!(rest.kind(), "function" | "context" | "forall") {
                if rest.kind() == "function" {
                    let Some(parameter) = rest.child_by_field_name("parameter") else { break };
                    positional(&mut fields, parameter);
                }
                match rest.child_by_field_name("result").or_else(|| rest.child_by_field_name("type")) {
                    Some(next) => rest = next,
                    None => break,
                }
            }
            result = Some(self.node_text(rest));
        } else {
            let parts = ["field", "left_operand", "right_operand"].map(|field| children(inner, field));
            parts.into_iter().flatten().for_each(|of| positional(&mut fields, of));
        }
        for name in names {
            let (text, at) = (self.node_text(name).trim_matches(['(', ')']).to_owned(), name.start_byte());
            let (result, constraints) = (result.clone(), constraints.clone());
            let made = Constructor { result, constraints, ..self.constructor(text.clone(), at) };
            shape.add(made, fields.clone(), record.is_some(), Some(text));
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

/// Returns the children of a node in a field.
fn children<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).collect()
}

/// The kinds of nodes between a declaration and its name.
const WRAPPERS: &str = "field_name pointer_declarator array_declarator function_declarator parenthesized_declarator \
                        init_declarator reference_declarator bitfield_clause attribute prefix_id";
