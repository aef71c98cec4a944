//! The changes, as edits of a file's text that keep all line numbers.

use std::ops::Range;

use code::facts::Symbol;
use code::{Kind, Language};

use super::edit_haskell;
use crate::rubric::Change;

/// Makes a change to a definition. The error explains why it cannot be made.
pub(super) fn apply(text: &str, symbol: &Symbol, change: Change) -> Result<String, String> {
    let name = name_range(text, symbol).ok_or("the file has changed; ask again")?;
    let cannot = || format!("{} cannot be changed in this way for a proof", symbol.label);
    if change == Change::ChangeType {
        return Err("a proof needs a change other than `change_type`".to_owned());
    }
    if symbol.language == Language::Haskell {
        return edit_haskell::apply(text, symbol, change).ok_or_else(cannot);
    }
    let insert = match change {
        // Both leave every use without its definition.
        Change::Remove | Change::Rename => return Ok(replaced(text, name.start..name.start, "hob_renamed_")),
        Change::ChangeSignature => parameter(text, symbol, name.end),
        Change::AddVariant => variant(text, symbol, name.end),
        Change::ChangeType => None,
    };
    let (at, new) = insert.ok_or_else(cannot)?;
    Ok(replaced(text, at..at, &new))
}

/// Returns true if a line is one that the edit changed.
pub(super) fn is_edited(text: &str, changed: &str, line: usize) -> bool {
    let line_of = |text: &str| text.lines().nth(line.saturating_sub(1)).map(str::to_owned);
    line_of(text) != line_of(changed)
}

fn replaced(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    text.split_inclusive('\n')
        .map(str::len)
        .scan(0, |at, length| Some(std::mem::replace(at, *at + length)))
        .nth(line - 1)
}

fn name_range(text: &str, symbol: &Symbol) -> Option<Range<usize>> {
    let start = line_start(text, symbol.line)?;
    let line = text[start..].lines().next()?;
    // The column counts from 1. Before a name that stands on its line twice, it decides.
    let column = line.char_indices().nth(symbol.column.saturating_sub(1))?.0;
    let at = start + column;
    text[at..].starts_with(&symbol.name).then(|| at..at + symbol.name.len())
}

/// Returns the place and the text of another parameter.
fn parameter(text: &str, symbol: &Symbol, end: usize) -> Option<(usize, String)> {
    if !matches!(symbol.kind, Kind::Function | Kind::Method | Kind::Variable | Kind::Constant) {
        return None;
    }
    let mut at = skip_generics(text, end)?;
    if !text[at..].starts_with('(') {
        // `const area = async (shape: Shape) =>`.
        let rest = &text[at..];
        let value = rest.find('=').filter(|_| symbol.language != Language::Rust)?;
        let is_before = |word: &str| matches!(word.trim(), "" | "async" | "function" | "async function");
        let open = value + rest[value..].find('(')?;
        at += is_before(&rest[value + 1..open]).then_some(open)?;
    }
    let (close, last) = closing(text, at)?;
    if symbol.language == Language::Rust {
        return Some((close, format!("{}_hob_added: ()", separator(last))));
    }
    let inside = text[at + 1..close].trim();
    if inside.starts_with("this:") {
        return None;
    }
    let comma = if inside.is_empty() { "" } else { ", " };
    // No value has this type, so no call stays right by chance.
    Some((at + 1, format!("hobAdded: never{comma}")))
}

/// Returns the place and the text of another variant.
fn variant(text: &str, symbol: &Symbol, end: usize) -> Option<(usize, String)> {
    if symbol.kind == Kind::Enum {
        let open = end + text[end..].find('{')?;
        let (close, last) = closing(text, open)?;
        let is_text = symbol.language != Language::Rust && text[open..close].contains(['"', '\'']);
        let value = if is_text { " = \"hob-added\"" } else { "" };
        return Some((close, format!("{}HobAdded{value}", separator(last))));
    }
    if symbol.language == Language::Rust {
        return None;
    }
    // `type Shape = Circle | Square;`
    let start = skip_generics(text, end)?;
    let start = text[start..].starts_with('=').then_some(start + 1)?;
    let last = line_start(text, symbol.lines.1)?;
    let last = last + text[last..].lines().next()?.trim_end().trim_end_matches(';').len();
    let union = text.get(start..last)?;
    if union.contains("//") {
        return None;
    }
    let union = union.split_whitespace().collect::<Vec<_>>().join(" ");
    let union = union.trim_start_matches('|').trim();
    if is_of_texts(union) {
        return Some((last, " | \"hob-added\"".to_owned()));
    }
    // An object like the others, whose fields of literal texts have another text.
    let field = format!("({union})[K]");
    let literal = format!("string extends {field} ? {field} : \"hob-added\"");
    Some((last, format!(" | {{ [K in keyof ({union})]: {field} extends string ? {literal} : {field} }}")))
}

/// Returns true for a union of literal texts.
fn is_of_texts(union: &str) -> bool {
    let mut members = union.split('|').map(str::trim);
    members.all(|member| matches!(member, "null" | "undefined") || member.starts_with(['"', '\'']))
}

/// Returns the place after blanks and type parameters.
fn skip_generics(text: &str, at: usize) -> Option<usize> {
    let skip_blanks = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    let at = skip_blanks(at);
    if !text[at..].starts_with('<') {
        return Some(at);
    }
    let mut depth = 0;
    let mut before = ' ';
    for (offset, c) in text[at..].char_indices() {
        match c {
            '<' => depth += 1,
            // The arrow of a function type.
            '>' if !matches!(before, '-' | '=') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(skip_blanks(at + offset + 1));
        }
        before = c;
    }
    None
}

/// Returns the place of the bracket that closes the one at `open`, past strings and comments, and the last byte of code
/// before it.
fn closing(text: &str, open: usize) -> Option<(usize, u8)> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut last) = (open, 0, 0);
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        match rest[0] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((at, last));
                }
            }
            b'/' if rest.starts_with(b"//") => {
                at += rest.iter().position(|byte| *byte == b'\n')?;
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += rest.windows(2).position(|pair| pair == b"*/")? + 2;
                continue;
            }
            b'"' | b'`' => at += string(rest)?,
            // A character or a short string. A lifetime has no closing quote after it.
            b'\'' if rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'') => at += string(rest)?,
            _ => {}
        }
        if !rest[0].is_ascii_whitespace() {
            last = rest[0];
        }
        at += 1;
    }
    None
}

/// Returns the separator of a new element after the last byte of a list.
fn separator(last: u8) -> &'static str {
    if matches!(last, b'(' | b'{' | b',') { "" } else { ", " }
}

/// Returns the length of a string without its closing quote.
fn string(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    while *rest.get(at)? != rest[0] {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changed text. The definition of `name` is the first word of this name.
    fn changed(language: Language, kind: Kind, name: &str, change: Change, text: &str) -> String {
        let at = text.find(name).unwrap();
        let line = text[..at].lines().count().max(1);
        let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
        let symbol = Symbol {
            label: name.to_owned(),
            name: name.to_owned(),
            kind,
            language,
            file: "a".to_owned(),
            line,
            column,
            lines: (line, text.lines().count()),
            signature: String::new(),
            doc: None,
            text: String::new(),
            in_test: false,
        };
        apply(text, &symbol, change).unwrap_or_else(|error| format!("error: {error}"))
    }

    #[test]
    fn another_parameter() {
        let rust = |text| changed(Language::Rust, Kind::Function, "area", Change::ChangeSignature, text);
        assert_eq!(rust("fn area() {}"), "fn area(_hob_added: ()) {}");
        assert_eq!(rust("fn area(a: u8, b: (u8, u8)) {}"), "fn area(a: u8, b: (u8, u8), _hob_added: ()) {}");
        assert_eq!(rust("fn area(\n    a: u8, // (\n) {}"), "fn area(\n    a: u8, // (\n_hob_added: ()) {}");
        assert_eq!(
            rust("fn area<F: Fn(u8) -> Vec<u8>>(f: F) {}"),
            "fn area<F: Fn(u8) -> Vec<u8>>(f: F, _hob_added: ()) {}"
        );
        let script = |text| changed(Language::TypeScript, Kind::Function, "area", Change::ChangeSignature, text);
        assert_eq!(script("function area(a = \")\") {}"), "function area(hobAdded: never, a = \")\") {}");
        assert_eq!(script("const area = async () => 1"), "const area = async (hobAdded: never) => 1");
        assert_eq!(script("const area = memo(f)"), "error: area cannot be changed in this way for a proof");
    }

    #[test]
    fn another_variant() {
        let rust = |text| changed(Language::Rust, Kind::Enum, "Shape", Change::AddVariant, text);
        assert_eq!(rust("enum Shape<'a> { A(&'a str), B }"), "enum Shape<'a> { A(&'a str), B , HobAdded}");
        assert_eq!(rust("enum Shape {\n    A = '}' as isize,\n}"), "enum Shape {\n    A = '}' as isize,\nHobAdded}");
        let script = |kind, text| changed(Language::TypeScript, kind, "Shape", Change::AddVariant, text);
        assert_eq!(
            script(Kind::Enum, "enum Shape { A = \"a\" }"),
            "enum Shape { A = \"a\" , HobAdded = \"hob-added\"}"
        );
        assert_eq!(script(Kind::Type, "type Shape = \"a\" | 'b';"), "type Shape = \"a\" | 'b' | \"hob-added\";");
        let union = script(Kind::Type, "type Shape =\n  | A\n  | B;\n");
        let expected = "type Shape =\n  | A\n  | B | { [K in keyof (A | B)]: (A | B)[K] extends string ? \
                        string extends (A | B)[K] ? (A | B)[K] : \"hob-added\" : (A | B)[K] };\n";
        assert_eq!(union, expected);
    }

    #[test]
    fn another_name() {
        let renamed = changed(Language::Rust, Kind::Struct, "Shape", Change::Remove, "/// S\nstruct Shape;\n");
        assert_eq!(renamed, "/// S\nstruct hob_renamed_Shape;\n");
        assert!(is_edited("a\nb", "a\nc", 2) && !is_edited("a\nb", "a\nc", 1));
    }
}
