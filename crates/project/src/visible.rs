//! Makes untrusted text safe to show: characters that a terminal would interpret, or that people cannot see, are
//! written out. Names, paths and values of a checkout pass through here before a person judges them.

use std::fmt::Write;
use std::io;
use std::path::Path;

/// Returns a text on one line. Every character that would break the line, is invisible or only looks like a space is
/// written out. That matters in names; running text in French and Japanese is full of such spaces.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_blank(c) => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

/// Returns a path on one line, treated like the text in [`visible`]: it may be any name.
pub fn path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// Returns an error of the system without its number, such as "No such file or directory".
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" (os error ") {
        Some((cause, number)) if number.ends_with(')') && error.raw_os_error().is_some() => cause.to_owned(),
        _ => text,
    }
}

/// Returns the text with everything invisible written out: control characters (line feeds and tabs stay), and
/// characters that turn, hide or break text.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c => push_visible(&mut out, before, c),
        }
        before = c;
    }
    out
}

/// Appends a character to a text, written out if it is invisible. `before` is the preceding character.
pub fn push_visible(out: &mut String, before: char, c: char) {
    match c {
        c if u32::from(c) < 0x80 && c.is_control() => _ = write!(out, "\\x{:02x}", u32::from(c)),
        c if c.is_control() || is_hidden(c) || (is_joint(c) && !joins(before, c)) => {
            _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Returns true for characters that look like a space and do not separate words: other spaces, and the Braille pattern without dots.
fn is_blank(c: char) -> bool {
    c == '\u{2800}' || c.is_whitespace() && !c.is_ascii()
}

/// Returns true for invisible parts of a drawn symbol: the colour selector and the joiner of emoji.
fn is_joint(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{200d}')
}

/// Returns true if a joiner has a meaning here: after a symbol, at most one of each kind. Elsewhere joiners can hide
/// whole texts.
fn joins(before: char, joint: char) -> bool {
    let is_symbol = |c: char| !c.is_ascii_alphabetic() && !c.is_whitespace() && !c.is_control() && !is_hidden(c);
    match (before, joint) {
        ('\u{fe0f}', '\u{200d}') => true,
        (before, _) => is_symbol(before) && !is_joint(before),
    }
}

/// Returns true for invisible characters that change how others are read: directions, line and paragraph separators,
/// tags, variation selectors, annotations (Unicode, "Default_Ignorable_Code_Point" and "Bidi_Control").
pub fn is_hidden(c: char) -> bool {
    matches!(
        u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200c | 0x200e..=0x200f
        | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0e | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3
        | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_is_obeyed() {
        assert_eq!(
            visible("a\u{1b}[2J\r\nb\t\u{9b}\u{202e}x\u{2028}"),
            "a\\x1b[2J\\x0d\\nb\\t\\u{9b}\\u{202e}x\\u{2028}"
        );
        assert_eq!(visible("a\u{2800}b\u{a0}c\u{2003}d\u{3000}e f"), "a\\u{2800}b\\u{a0}c\\u{2003}d\\u{3000}e f");
        assert_eq!(visible("plain ü 漢 🏳\u{fe0f}\u{200d}🌈"), "plain ü 漢 🏳\u{fe0f}\u{200d}🌈");
    }
}
