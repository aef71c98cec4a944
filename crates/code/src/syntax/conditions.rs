//! What is compiled under a condition: `#[cfg(…)]` in Rust, `#if` in C. That of tests is left out: they are read with the rest.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::Node;

use super::{Language, parse};

/// The parts of a text that a condition decides about.
pub(crate) fn conditional(language: Language, text: &[u8], until: Instant) -> Vec<Range<usize>> {
    let marks: &[&[u8]] = match language {
        Language::Rust => &[b"#[cfg", b"#![cfg"],
        Language::C | Language::Cpp => &[b"#if", b"# if"],
        _ => return Vec::new(),
    };
    let places = marks.iter().flat_map(|mark| memchr::memmem::find_iter(text, mark).map(|at| at..at + mark.len()));
    let mut places = places.peekable();
    if places.peek().is_none() {
        return Vec::new();
    }
    let Some(tree) = parse(language, text, until) else { return Vec::new() };
    let root = tree.root_node();
    let parts = places.filter_map(|place| {
        let node = root.descendant_for_byte_range(place.start, place.end)?;
        match language {
            Language::Rust => of_attribute(node, text),
            _ => of_directive(node, text),
        }
    });
    parts.collect()
}

/// What an attribute stands before, or within.
fn of_attribute(mut node: Node<'_>, text: &[u8]) -> Option<Range<usize>> {
    while !matches!(node.kind(), "attribute_item" | "inner_attribute_item") {
        node = node.parent()?;
    }
    let said: Vec<u8> =
        text.get(node.byte_range())?.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if said == b"#[cfg(test)]"
        || said == b"#![cfg(test)]"
        || said.starts_with(b"#[cfg_attr")
        || said.starts_with(b"#![cfg_attr")
    {
        return None;
    }
    if node.kind() == "inner_attribute_item" {
        return node.parent().map(|parent| parent.byte_range());
    }
    let mut next = node.next_named_sibling()?;
    while matches!(next.kind(), "attribute_item" | "line_comment" | "block_comment") {
        next = next.next_named_sibling()?;
    }
    Some(next.byte_range())
}

/// What stands between a directive and its end. The guard of a header decides about nothing.
fn of_directive(mut node: Node<'_>, text: &[u8]) -> Option<Range<usize>> {
    while !matches!(node.kind(), "preproc_if" | "preproc_ifdef") {
        node = node.parent()?;
    }
    let range = node.byte_range();
    let is_guard = text[range.clone()].starts_with(b"#ifndef")
        && text[..range.start].iter().filter(|byte| **byte == b'#').count() == 0
        && text[range.end..].trim_ascii().is_empty();
    (!is_guard).then_some(range)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_condition_decides_about() {
        let check = |language, text: &str, wanted: &[&str]| {
            let until = Instant::now() + Duration::from_secs(5);
            let parts: Vec<&str> =
                conditional(language, text.as_bytes(), until).into_iter().map(|part| text[part].trim()).collect();
            assert_eq!(parts, wanted, "{text}");
        };
        check(Language::Rust, "#[cfg(unix)]\n#[inline]\nfn a() {}\nfn b() {}", &["fn a() {}"]);
        check(Language::Rust, "#[cfg(test)] mod tests {} #[cfg_attr(unix, inline)] fn a() {}", &[]);
        check(Language::Rust, "impl A { #[cfg(unix)] fn a() {} fn b() {} }", &["fn a() {}"]);
        check(Language::Rust, "mod m { #![cfg(unix)] fn a() {} }", &["{ #![cfg(unix)] fn a() {} }"]);
        check(Language::Rust, "#[cfg(unix)] use a::b; use c::d;", &["use a::b;"]);
        let wanted = "#ifdef _WIN32\nint a;\n#else\nint b;\n#endif";
        check(Language::C, &format!("int c;\n{wanted}\nint d;\n"), &[wanted]);
        check(Language::C, "#ifndef A_H\n#define A_H\nint a;\n#endif\n", &[]);
    }
}
