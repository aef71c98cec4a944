//! Declarations of a file: its outline, and the signature, documentation and members of each.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::{Node, TreeCursor};

use super::kind::Kind;
use super::node_path::{Step, Trail};
use super::{Language, parse};
use crate::text_enum::is_among;

/// An enclosing declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Label for results.
    pub label: String,
    /// Names by which it can be referred to: a method is found by its type and by its trait.
    pub names: Vec<String>,
    pub kind: Kind,
    /// Offset of its name.
    pub at: usize,
}

/// Returns the declarations that enclose the end of a trail, outermost first.
pub(super) fn containers(language: Language, trail: &Trail<'_, '_>) -> Vec<Container> {
    let mut places = Vec::new();
    let name = trail.node().id();
    for up in (1..trail.steps.len()).rev() {
        let declared = (language.grammar().declared)(&trail.ancestor_trail(up));
        let [one] = &declared[..] else { continue };
        if one.kind.encloses() && one.name.id() != name {
            places.extend(named_container(&one.within, one.kind, one.name.start_byte()));
            let label = trail.text_of(one.name).into_owned();
            let names = match one.kind {
                Kind::Impl => one.within.clone(),
                _ => vec![label.clone()],
            };
            let label = if one.kind == Kind::Impl { names.first().cloned().unwrap_or(label) } else { label };
            places.push(Container { label, names, kind: one.kind, at: one.name.start_byte() });
        }
    }
    places
}

/// Returns the scope that a declaration itself names: a receiver in Go, a class before `::` in C++.
fn named_container(within: &[String], kind: Kind, at: usize) -> Vec<Container> {
    match kind {
        Kind::Impl => Vec::new(),
        _ => within
            .iter()
            .map(|name| Container { label: name.clone(), names: vec![name.clone()], kind: Kind::Impl, at })
            .collect(),
    }
}

#[derive(Debug, Clone)]
pub struct Declaration {
    pub name: String,
    pub kind: Kind,
    pub within: Vec<String>,
    pub is_signature: bool,
    /// Offset of its name.
    pub at: usize,
    /// Its whole range, including attributes, decorators and `export` before it.
    pub bytes: Range<usize>,
    /// The text before its body, on one line.
    pub signature: String,
    /// The comment before it, or its docstring.
    pub doc: Option<String>,
    /// True if the docstring is inside its body.
    pub has_docstring: bool,
    pub members: Vec<Declaration>,
}

/// Maximum depth of the search for declarations. Deeper trees are expressions.
const MAX_DEPTH: usize = 200;
/// Maximum size of a signature and of documentation, in bytes.
const MAX_SIGNATURE: usize = 240;
const MAX_DOC: usize = 600;

/// Returns all declarations except those inside functions. `None` if parsing takes too long.
pub fn declarations(language: Language, text: &[u8], until: Instant) -> Option<Vec<Declaration>> {
    let tree = parse(language, text, until)?;
    let mut cursor = tree.walk();
    let mut steps = vec![Step { node: cursor.node(), field: None }];
    let mut found = Vec::new();
    descend(language, text, &mut cursor, &mut steps, &mut found);
    Some(merged(language, found))
}

/// Returns the declaration whose name is at an offset.
pub fn described(language: Language, text: &[u8], at: usize, until: Instant) -> Option<Declaration> {
    fn find(all: Vec<Declaration>, at: usize) -> Option<Declaration> {
        all.into_iter().find_map(|one| if one.at == at { Some(one) } else { find(one.members, at) })
    }
    find(declarations(language, text, until)?, at)
}

fn descend<'t>(
    language: Language,
    text: &[u8],
    cursor: &mut TreeCursor<'t>,
    steps: &mut Vec<Step<'t>>,
    found: &mut Vec<Declaration>,
) {
    if steps.len() > MAX_DEPTH || !cursor.goto_first_child() {
        return;
    }
    loop {
        steps.push(Step { node: cursor.node(), field: cursor.field_name() });
        let trail = Trail { steps, text, at: (0, 0) };
        let declared = if cursor.node().is_named() { (language.grammar().declared)(&trail) } else { Vec::new() };
        if declared.is_empty() {
            descend(language, text, cursor, steps, found)
        } else {
            let mut members = Vec::new();
            let whole = extent(&trail);
            let (signature, docstring) = (signature(&trail, &whole), docstring(&trail));
            let has_docstring = docstring.is_some();
            let doc = docstring.or_else(|| comment(&trail)).map(|doc| shortened(&doc, MAX_DOC));
            if !declared.iter().all(|one| one.kind.has_code()) {
                descend(language, text, cursor, steps, &mut members);
            }
            let several = declared.len() > 1;
            for one in declared {
                let name = Trail { steps, text, at: (0, 0) }.text_of(one.name).into_owned();
                let signature = if several && one.is_signature {
                    signature_of(language, &name, &signature)
                } else {
                    signature.clone()
                };
                let name = match (one.kind, language) {
                    // The first name is the whole head: `Show T`.
                    (Kind::Impl, Language::Haskell) => one.within.first().cloned().unwrap_or(name),
                    (Kind::Impl, _) => one.within.join(" "),
                    _ => name,
                };
                found.push(Declaration {
                    name,
                    kind: one.kind,
                    within: one.within,
                    is_signature: one.is_signature,
                    at: one.name.start_byte(),
                    bytes: whole.clone(),
                    signature,
                    doc: doc.clone(),
                    has_docstring,
                    members: merged(language, std::mem::take(&mut members)),
                });
            }
        }
        steps.pop();
        if !cursor.goto_next_sibling() {
            break;
        }
    }
    cursor.goto_parent();
}

/// Returns the part of a joint signature `a, b :: Int` for one name.
fn signature_of(language: Language, name: &str, whole: &str) -> String {
    match whole.find("::").filter(|_| language == Language::Haskell) {
        Some(at) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => format!("{name} {}", &whole[at..]),
        Some(at) => format!("({name}) {}", &whole[at..]),
        None => whole.to_owned(),
    }
}

/// Merges a Haskell function's signature and clauses into one declaration.
fn merged(language: Language, all: Vec<Declaration>) -> Vec<Declaration> {
    if language != Language::Haskell {
        return all;
    }
    let mut merged: Vec<Declaration> = Vec::with_capacity(all.len());
    // Index of the previous declaration.
    let mut last = 0;
    for one in all {
        let is_clause = matches!(one.kind, Kind::Function | Kind::Method) && one.doc.is_none() && !one.is_signature;
        let is_same =
            |known: &Declaration| known.name == one.name && known.kind == one.kind && known.within == one.within;
        // A signature of several names precedes the clauses of all of them.
        let known = merged
            .iter()
            .enumerate()
            .rev()
            .find(|(at, known)| is_clause && is_same(known) && (*at == last || known.is_signature));
        match known.map(|(at, _)| at) {
            Some(at) => {
                let known = &mut merged[at];
                if at == last {
                    known.bytes.end = one.bytes.end
                } else {
                    known.bytes = one.bytes
                }
                // The position of the name is taken from the first clause.
                if known.is_signature {
                    known.at = one.at;
                }
                known.is_signature = false;
                last = at;
            }
            None => {
                last = merged.len();
                merged.push(one);
            }
        }
    }
    merged
}

/// Returns the range of a declaration including wrappers: `export`, decorators, templates, the statement.
pub(super) fn extent(trail: &Trail<'_, '_>) -> Range<usize> {
    // The assignment of `res.send = function send(body) {}` counts.
    const WRAPPERS: &str = "assignment_expression export_statement decorated_definition template_declaration \
                            ambient_declaration expression_statement";
    // These nodes wrap one declaration or a list of them.
    const LISTS: &str = "type_declaration lexical_declaration variable_declaration const_declaration var_declaration";
    let mut node = trail.node();
    for up in 1..trail.steps.len() {
        let Some(parent) = trail.ancestor(up) else { break };
        let only = is_among(LISTS, parent.kind()) && parent.named_child_count() == 1;
        if !only && !is_among(WRAPPERS, parent.kind()) {
            break;
        }
        node = parent;
    }
    node.byte_range()
}

/// Returns the text before the body, on one line and without comments.
fn signature(trail: &Trail<'_, '_>, whole: &Range<usize>) -> String {
    let node = trail.node();
    // `res.contentType = res.type = function …` has the body of the last assignment.
    let right = std::iter::successors(node.child_by_field_name("right"), |right| right.child_by_field_name("right"));
    let right = right.last();
    let value = || node.child_by_field_name("value").or(right);
    let body = node
        .child_by_field_name("body")
        .or_else(|| value().and_then(|value| value.child_by_field_name("body")))
        .or_else(|| node.child_by_field_name("match").filter(|_| matches!(node.kind(), "function" | "bind")))
        .or_else(|| node.child_by_field_name("type").and_then(|of| body_of_type(of)))
        .or_else(|| node.child_by_field_name("declarations"));
    // The first comment of a body may precede it.
    let before = std::iter::successors(body.and_then(|body| body.prev_sibling()), Node::prev_sibling)
        .find(|node| !node.kind().contains("comment"));
    let end = before.map(|node| node.end_byte()).or(body.map(|body| body.start_byte())).unwrap_or(whole.end);
    let start = whole.start.min(end);
    let mut text = trail.text[start..end].to_vec();
    let mut open = vec![node];
    while let Some(next) = open.pop() {
        if next.kind().contains("comment") || next.kind() == "haddock" {
            text[next.start_byte().max(start) - start..next.end_byte().min(end) - start].fill(b' ');
        } else {
            let children = (0..next.child_count()).filter_map(|index| next.child(index));
            open.extend(children.filter(|child| child.start_byte() < end && child.end_byte() > start));
        }
    }
    let text = String::from_utf8_lossy(&text);
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if body.is_some() {
        let bare = line.trim_end().trim_end_matches("=>").trim_end_matches(['{', ':', '=', ' ']);
        line.truncate(bare.len());
    }
    shortened(line.trim_end_matches([',', ';']), MAX_SIGNATURE)
}

/// Returns the body of a Go struct or interface, which is part of the type.
fn body_of_type(of: Node<'_>) -> Option<Node<'_>> {
    match of.kind() {
        "struct_type" | "interface_type" => (0..of.child_count())
            .filter_map(|index| of.child(index))
            .find(|child| child.kind() == "field_declaration_list" || child.kind() == "{"),
        _ => None,
    }
}

/// Truncates a text to at most `max` bytes at a character boundary.
pub fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Returns the comments immediately before a declaration.
fn comment(trail: &Trail<'_, '_>) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for up in 0..trail.steps.len() {
        let mut before = trail.ancestor(up).and_then(|node| node.prev_sibling());
        while let Some(node) = before {
            let kind = node.kind();
            if kind.contains("comment") || kind == "haddock" {
                let text = trail.text_of(node).into_owned();
                lines.push(text);
            } else if kind != "attribute_item" {
                break;
            }
            before = node.prev_sibling();
        }
        let starts_parent = trail.ancestor(up + 1).zip(trail.ancestor(up)).is_some_and(|(parent, node)| {
            let is_around = matches!(parent.kind(), "assignment_expression" | "export_statement");
            is_around || parent.parent().is_some() && parent.start_byte() == node.start_byte()
        });
        if !lines.is_empty() || !starts_parent {
            break;
        }
    }
    lines.reverse();
    let text = lines.iter().flat_map(|text| text.lines()).map(bare_comment).collect::<Vec<_>>().join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a line of a comment without its markers.
fn bare_comment(line: &str) -> &str {
    let line = line.trim().trim_end_matches("*/").trim_end_matches("-}");
    let marks = ["///", "//!", "//", "/**", "/*", "-- |", "-- ^", "{-|", "{-", "--", "#", "*"];
    marks.into_iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim()
}

fn docstring(trail: &Trail<'_, '_>) -> Option<String> {
    let node = trail.node();
    if !matches!(node.kind(), "function_definition" | "class_definition") {
        return None;
    }
    let first = node.child_by_field_name("body")?.named_child(0)?;
    let string = (first.kind() == "expression_statement").then(|| first.named_child(0)).flatten()?;
    let content = (string.kind() == "string").then(|| string.named_child(1)).flatten()?;
    let text = trail.text_of(content);
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    Some(lines.join("\n"))
}
