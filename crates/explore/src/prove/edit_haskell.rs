//! The changes of Haskell definitions: in a declaration of a type, or in the signature and all equations of a function.

use std::cell::Cell;

use code::Kind;
use code::facts::Symbol;

use crate::rubric::Change;

/// Makes a change to a definition. Returns `None` if its form is not supported.
pub(super) fn apply(text: &str, symbol: &Symbol, change: Change) -> Option<String> {
    match change {
        Change::AddVariant => variant(text, symbol),
        Change::ChangeSignature => {
            let is_signature = |rest: &str| rest.trim_start().starts_with("::");
            let equations = Cell::new(0);
            let changed = edit_lines(text, symbol, |name, rest| {
                if !is_signature(rest) {
                    equations.set(equations.get() + 1);
                    return Some(format!("{name} _{rest}"));
                }
                let at = context_end(rest, rest.find("::")? + 2);
                // No argument of a call has this type by chance.
                Some(format!("{name}{} () ->{}", &rest[..at], &rest[at..]))
            });
            // A method of a class may have only a signature; another function has infix equations.
            changed.filter(|_| equations.get() > 0 || symbol.kind == Kind::Method)
        }
        Change::Remove | Change::Rename => {
            let prefix = if symbol.name.starts_with(char::is_uppercase) { "HobRenamed_" } else { "hob_renamed_" };
            edit_lines(text, symbol, |name, rest| Some(format!("{prefix}{name}{rest}")))
        }
        Change::ChangeType => None,
    }
}

/// Adds the first constructor of a type: `data Shape = HobAdded | Circle Double`.
fn variant(text: &str, symbol: &Symbol) -> Option<String> {
    let start: usize = text.split_inclusive('\n').take(symbol.line - 1).map(str::len).sum();
    let declaration = &text[start..];
    let length: usize =
        declaration.split_inclusive('\n').take(symbol.lines.1.checked_sub(symbol.line)? + 1).map(str::len).sum();
    let declaration = &declaration[..length];
    let at = declaration.find('=')? + 1;
    let head = &declaration[..at];
    let is_data =
        head.trim_start().starts_with("data ") && !["--", "{-", " where"].iter().any(|part| head.contains(part));
    is_data.then(|| [&text[..start + at], " HobAdded |", &text[start + at..]].concat())
}

/// Changes the lines of a definition that begin with its name: the signature and the equations.
fn edit_lines(text: &str, symbol: &Symbol, edit: impl Fn(&str, &str) -> Option<String>) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let name = symbol.name.as_str();
    let is_word = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'');
    let column = symbol.column - 1;
    let at_name = |line: &str| {
        let (before, rest) = line.split_at_checked(column)?;
        Some((before.to_owned(), rest.strip_prefix(name).filter(|rest| is_word(rest))?.to_owned()))
    };
    at_name(lines.get(symbol.line - 1)?)?;
    // The lines around that are blank, deeper, comments, or of the same name.
    let is_part = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let is_comment = line.trim_start().starts_with("--") || line.trim_start().starts_with("{-#");
        line.trim().is_empty() || indent > column || is_comment || at_name(line).is_some()
    };
    let before = lines[..symbol.line - 1].iter().rev().take_while(|line| is_part(line)).count();
    let after = lines[symbol.line..].iter().take_while(|line| is_part(line)).count();
    let part = symbol.line - 1 - before..symbol.line + after;
    let mut changed = String::with_capacity(text.len() + 64);
    for (number, line) in lines.iter().enumerate() {
        match at_name(line).filter(|_| part.contains(&number)) {
            Some((indent, rest)) => changed.push_str(&format!("{indent}{}", edit(name, &rest)?)),
            None => changed.push_str(line),
        }
    }
    Some(changed)
}

/// Returns the place after the context of a type, `(Show a, Eq a) =>`, or `at`.
fn context_end(text: &str, at: usize) -> usize {
    let mut depth = 0;
    let mut end = at;
    for (offset, c) in text[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '=' if depth == 0 && text[at + offset..].starts_with("=>") => end = at + offset + 2,
            '.' if depth == 0 && text[at..].trim_start().starts_with("forall") && end == at => end = at + offset + 1,
            '-' if depth == 0 && text[at + offset..].starts_with("->") => break,
            _ => {}
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use code::Language;

    use super::*;

    /// Returns the changed text. The definition of `name` is the first equation or declaration with this name.
    fn changed(name: &str, change: Change, text: &str) -> String {
        let is_definition = |line: &str| line.contains(name) && !line.contains(&format!("{name} ::"));
        let line = text.lines().position(is_definition).unwrap() + 1;
        let column = text.lines().nth(line - 1).unwrap().find(name).unwrap() + 1;
        let symbol = Symbol {
            label: name.to_owned(),
            name: name.to_owned(),
            kind: Kind::Function,
            language: Language::Haskell,
            file: "A.hs".to_owned(),
            line,
            column,
            lines: (line, text.lines().count()),
            signature: String::new(),
            doc: None,
            text: String::new(),
            in_test: false,
        };
        apply(text, &symbol, change).unwrap_or_else(|| "unsupported".to_owned())
    }

    #[test]
    fn another_parameter() {
        let changed = |text| changed("area", Change::ChangeSignature, text);
        assert_eq!(
            changed("area :: Shape -> Int\narea (C r) = r\n-- b\narea (S s) = f\n  where f = s\nareas = 1\n"),
            "area :: () -> Shape -> Int\narea _ (C r) = r\n-- b\narea _ (S s) = f\n  where f = s\nareas = 1\n"
        );
        assert_eq!(
            changed("area :: (Show a, Eq (f a)) => f a -> Int\narea = g\n"),
            "area :: (Show a, Eq (f a)) => () -> f a -> Int\narea _ = g\n"
        );
        assert_eq!(changed("  area ::\n    Int\n  area = 1\n"), "  area :: () ->\n    Int\n  area _ = 1\n");
    }

    #[test]
    fn another_variant_or_name() {
        let variant = |text| changed("Shape", Change::AddVariant, text);
        assert_eq!(variant("data Shape a\n  = A a -- =\n  | B\n"), "data Shape a\n  = HobAdded | A a -- =\n  | B\n");
        assert_eq!(variant("newtype Shape = A Int\n"), "unsupported");
        assert_eq!(variant("data Shape where A :: Shape\n"), "unsupported");
        let rename = |name, text| changed(name, Change::Rename, text);
        assert_eq!(rename("area", "area :: Int\narea = 1\n"), "hob_renamed_area :: Int\nhob_renamed_area = 1\n");
        assert_eq!(rename("Shape", "data Shape = A\n"), "data HobRenamed_Shape = A\n");
    }
}
