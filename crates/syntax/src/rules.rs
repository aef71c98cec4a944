//! Rule tables that classify a name by the position of its node in the parent.

use super::Class;
use super::node_path::Trail;

/// Consequence of a node's position in its parent.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    Is(Class),
    /// The parent stands for the node: apply the rules to the parent.
    Through,
    /// No class, and outer parents do not decide either.
    Stop,
}

/// A parent's kind, the field in it (empty for any), and the rule.
pub(super) type Table = [(&'static str, &'static str, Rule)];

fn find_rule(table: &Table, parent: &str, field: &str) -> Option<Rule> {
    let fits =
        |(kind, in_field, _): &&(&str, &str, Rule)| *kind == parent && (in_field.is_empty() || *in_field == field);
    table.iter().find(fits).map(|(_, _, rule)| *rule)
}

/// Classifies the name by its own position.
pub(super) fn direct(trail: &Trail<'_, '_>, table: &Table) -> Option<Class> {
    match find_rule(
        table,
        trail.kind(steps_to_name_node(trail, table) + 1),
        trail.field(steps_to_name_node(trail, table)),
    )? {
        Rule::Is(class) => Some(class),
        Rule::Through | Rule::Stop => None,
    }
}

/// Returns how many steps up the node is that stands for the name.
pub(super) fn steps_to_name_node(trail: &Trail<'_, '_>, table: &Table) -> usize {
    let mut up = 0;
    while let Some(Rule::Through) = find_rule(table, trail.kind(up + 1), trail.field(up)) {
        up += 1;
    }
    up
}

/// Classifies the name by the nearest enclosing node that has a rule.
pub(super) fn classify_by_ancestor(trail: &Trail<'_, '_>, table: &Table) -> Option<Class> {
    for up in 0..trail.steps.len() - 1 {
        match find_rule(table, trail.kind(up + 1), trail.field(up)) {
            Some(Rule::Is(class)) => return Some(class),
            Some(Rule::Stop) => return None,
            Some(Rule::Through) | None => {}
        }
    }
    None
}

/// True if the name starts like a constructor where case matters.
pub(super) fn is_upper(name: &str) -> bool {
    name.starts_with(|c: char| c.is_uppercase() || c == ':')
}

/// True if the byte can be part of a name. Every non-ASCII character counts; the parser decides.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the word at the end of a text, or an empty text.
pub fn last_word(text: &[u8]) -> &[u8] {
    text.iter().rposition(|byte| !is_word(*byte)).map_or(text, |at| &text[at + 1..])
}

/// Returns the offset of the last unclosed `(` or `{` of a text.
pub fn unclosed(text: &[u8], bracket: u8) -> Option<usize> {
    let mut depth = 0usize;
    text.iter().rposition(|byte| {
        match byte {
            b')' | b']' if bracket == b'(' => depth += 1,
            b'}' if bracket == b'{' => depth += 1,
            b'(' | b'[' if bracket == b'(' && depth > 0 => depth -= 1,
            b'{' if bracket == b'{' && depth > 0 => depth -= 1,
            _ => return *byte == bracket,
        }
        false
    })
}

/// Returns a name without the raw prefix of Rust: `r#match`.
pub fn bare_name(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"r#").unwrap_or(name)
}

/// Returns the text after leading Rust type arguments: `::<Vec<u8>>`, which end an expression.
fn after_arguments(text: &[u8]) -> Option<&[u8]> {
    let arguments = text.strip_prefix(b"::")?.trim_ascii_start();
    if !arguments.starts_with(b"<") {
        return None;
    }
    let mut depth = 0usize;
    let end = arguments.iter().position(|byte| {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let rest = arguments[end + 1..].trim_ascii_start();
    (!rest.starts_with(b"::")).then_some(rest)
}

/// Classifies a name among macro tokens by the bytes around it. Before a parenthesis it is called.
pub(super) fn in_tokens(trail: &Trail<'_, '_>) -> Class {
    let after = trail.text[trail.at.1..].trim_ascii_start();
    let before = trail.text[..trail.at.0].trim_ascii_end();
    let is_macro = after.starts_with(b"!") && !after.starts_with(b"!=");
    let is_assigned = after.starts_with(b"=") && !after.starts_with(b"==") && !after.starts_with(b"=>");
    if after.starts_with(b"(") || is_macro {
        Class::Call
    } else if let Some(rest) = after_arguments(after) {
        // `area::<u8>(1)`.
        if rest.starts_with(b"(") { Class::Call } else { Class::Value }
    } else if after.starts_with(b"::") {
        Class::Type
    } else if before.ends_with(b".") && !before.ends_with(b"..") || before.ends_with(b"->") {
        if is_assigned { Class::FieldWrite } else { Class::FieldRead }
    } else if is_assigned {
        // A named argument, or an assignment.
        Class::Binding
    } else if after.starts_with(b"{") && is_upper(&trail.name()) {
        Class::Construct
    } else {
        Class::Value
    }
}
