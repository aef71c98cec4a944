//! What is compiled under a condition: `#[cfg(…)]` in Rust, `#if` in C. That of tests is left out: they are read with the rest.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::Node;

use super::{Language, parse};

/// The parts of a text that a condition decides about; all of it where they are not known in time.
pub(crate) fn conditional(language: Language, text: &[u8], until: Instant) -> Vec<Range<usize>> {
    let marks: &[&[u8]] = match language {
        Language::Rust => &[b"#[cfg", b"#![cfg"],
        Language::C | Language::Cpp => &[b"#if", b"# if"],
        _ => return Vec::new(),
    };
    if !marks.iter().any(|mark| memchr::memmem::find(text, mark).is_some()) {
        return Vec::new();
    }
    let all = 0..text.len();
    let Some(tree) = parse(language, text, until) else { return vec![all] };
    let first = memchr::memchr(b'#', text).unwrap_or_default();
    let mut parts = Vec::new();
    let mut cursor = tree.walk();
    // The nodes around, and whether a condition stands before what comes next in each.
    let mut around: Vec<(Range<usize>, bool)> = vec![(all.clone(), false)];
    // One way through the tree: to ask a node for its sibling or for its parent takes as long as there are nodes before it.
    loop {
        if Instant::now() >= until {
            return vec![all];
        }
        let node = cursor.node();
        let last = around.len() - 1;
        let (outer, is_awaited) = &mut around[last];
        match node.kind() {
            "attribute_item" => *is_awaited |= is_condition(node, text),
            "inner_attribute_item" if is_condition(node, text) => parts.push(outer.clone()),
            "line_comment" | "block_comment" => {}
            "preproc_if" | "preproc_ifdef" if !is_guard(node, text, first) => parts.push(node.byte_range()),
            _ if node.is_named() && std::mem::take(is_awaited) => parts.push(node.byte_range()),
            _ => {}
        }
        if cursor.goto_first_child() {
            around.push((node.byte_range(), false));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return parts;
            }
            around.pop();
        }
    }
}

/// Whether an attribute is a condition.
fn is_condition(node: Node<'_>, text: &[u8]) -> bool {
    let said = text.get(node.byte_range()).unwrap_or_default();
    let said: Vec<u8> = said.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let said = said.strip_prefix(b"#").map(|said| said.strip_prefix(b"!").unwrap_or(said)).unwrap_or_default();
    said.starts_with(b"[cfg") && !said.starts_with(b"[cfg_attr") && said != b"[cfg(test)]"
}

/// Whether a directive, the first of its file being somewhere, is the guard of a header: it decides about nothing.
fn is_guard(node: Node<'_>, text: &[u8], first: usize) -> bool {
    let range = node.byte_range();
    range.start <= first && text[range.clone()].starts_with(b"#ifndef") && text[range.end..].trim_ascii().is_empty()
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
        check(Language::Rust, "#[cfg(unix)] #[cfg(any())] fn a() {} #[doc = \"#[cfg(b)]\"] fn b() {}", &["fn a() {}"]);
        check(Language::C, "#ifndef A_H\n#define A_H\nint a;\n#endif\n", &[]);
    }

    #[test]
    fn what_is_made_to_take_long_is_all_under_a_condition() {
        let text = "#[cfg(a)]\n".repeat(100_000) + "fn a() {}";
        let (begun, until) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        let only = |until| match &*conditional(Language::Rust, text.as_bytes(), until) {
            [part] => text.get(part.clone()).map(str::len),
            _ => None,
        };
        assert_eq!(only(until), Some("fn a() {}".len()));
        let directives = "#ifndef A\n#endif\n".repeat(50_000);
        assert_eq!(conditional(Language::C, directives.as_bytes(), until).len(), 50_000);
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!(only(Instant::now()), Some(text.len()));
    }
}
