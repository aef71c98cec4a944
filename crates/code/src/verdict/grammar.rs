//! Excludes definitions that a name cannot mean by the grammar of its language, for sites on which the server is silent. A
//! method follows a dot or a path, a field follows a dot and is not called, a function never follows a dot.

use std::ops::Range;

use syntax::{Class, Kind, Language, Tokens, bare_name, family, is_word};

use crate::answer::{Candidates, Site};
use crate::definition::Definition;

/// True if the grammar excludes all definitions at a site on which the server is silent.
pub(super) fn is_none_of_them(found: &Candidates, site: &Site) -> bool {
    if site.language != Language::Rust || site.is_broken || site.alias.is_some() {
        return false;
    }
    // An unknown macro may use its tokens in any way.
    if site.tokens.is_some_and(|tokens| !tokens.are_code) {
        return false;
    }
    let Some(text) = found.texts.get(&*site.path) else { return false };
    let Some(place) = Surroundings::read(text, site.at..site.at + found.question.name.len(), site.class, site.tokens)
    else {
        return false;
    };
    let mut all = found.definitions.iter().filter(|one| family(one.language) == family(site.language));
    all.all(|one| place.cannot_be(one) && !takes_self(found, one))
}

/// True if a function takes `self`: it is a method even if the parser lost its context.
fn takes_self(found: &Candidates, definition: &Definition) -> bool {
    let text = found.texts.get(&*definition.path).and_then(|text| text.get(definition.bytes.clone()));
    let head = text.unwrap_or_default().split(|byte| *byte == b'{').next().unwrap_or_default();
    definition.kind == Kind::Function && memchr::memmem::find(head, b"self").is_some()
}

/// The syntax around a name.
#[derive(Debug, Clone, Copy)]
struct Surroundings {
    by_dot: bool,
    by_path: bool,
    is_called: bool,
    class: Class,
    /// `let area = …`, `fn area()`.
    is_declared: bool,
    /// True if it stands alone, outside of literals and patterns with fields.
    is_bare: bool,
}

impl Surroundings {
    fn read(text: &[u8], name: Range<usize>, class: Class, tokens: Option<Tokens>) -> Option<Surroundings> {
        let (before, rest) = (text.get(..name.start)?.trim_ascii_end(), text.get(name.start..)?);
        let after = bare_name(rest).get(name.len()..)?.trim_ascii_start();
        let by_dot = before.ends_with(b".") && !before.ends_with(b"..");
        let by_path = before.ends_with(b"::");
        let has_fields = match tokens {
            None => !matches!(class, Class::Value | Class::Call),
            Some(tokens) => tokens.opened_at.is_none_or(|at| text.get(at) == Some(&b'{') && ends_a_field(after)),
        };
        Some(Surroundings {
            by_dot,
            by_path,
            is_called: after.starts_with(b"(") || after.starts_with(b"::"),
            class,
            is_declared: match tokens {
                None => class == Class::Binding,
                Some(_) => declares(before),
            },
            is_bare: !by_dot && !by_path && !has_fields,
        })
    }

    fn cannot_be(self, definition: &Definition) -> bool {
        match definition.kind {
            Kind::Method if self.is_declared && definition.of_trait.is_none() => true,
            Kind::Function | Kind::Field | Kind::Module | Kind::Macro if self.is_declared => true,
            Kind::Method => !self.by_dot && !self.by_path,
            Kind::Field => {
                self.by_path
                    || self.is_bare
                    || self.by_dot && self.is_called
                    || matches!(self.class, Class::Import | Class::Export | Class::Type)
            }
            Kind::Function | Kind::Constructor => self.by_dot,
            kind if kind.is_type() => self.by_dot,
            _ => false,
        }
    }
}

/// True if a field of a literal or a pattern may end here: `Circle { area, .. }`, `Circle { area: 1 }`.
fn ends_a_field(after: &[u8]) -> bool {
    after.is_empty() || b",}$)@".contains(&after[0]) || after.starts_with(b":") && !after.starts_with(b"::")
}

/// True if the words before a name declare it: `let`, `let mut`, `fn`.
fn declares(before: &[u8]) -> bool {
    let word = |text: &[u8]| text.rsplit(|byte| !is_word(*byte)).next().map(<[u8]>::to_vec).unwrap_or_default();
    let last = word(before);
    let earlier = before[..before.len() - last.len()].trim_ascii_end();
    matches!(&last[..], b"let" | b"fn") || last == b"mut" && word(earlier) == b"let"
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;
    use syntax::occurrences;

    fn definition(kind: Kind) -> Definition {
        Definition::plain(kind, Language::Rust, (&Path::new("a.rs").into(), 1, 0), "end".to_owned())
    }

    fn cannot(text: &str) -> Vec<&'static str> {
        let at = text.find("end").unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        let all = occurrences(Language::Rust, text.as_bytes(), "end", &[at], until).unwrap().all;
        let [one] = &all[..] else { panic!("{text}: {all:?}") };
        let place = Surroundings::read(text.as_bytes(), one.bytes.clone(), one.class, one.tokens).unwrap();
        let kinds = [Kind::Method, Kind::Field, Kind::Function, Kind::Struct, Kind::Variable];
        kinds.into_iter().filter(|kind| place.cannot_be(&definition(*kind))).map(Kind::word).collect()
    }

    #[test]
    fn grammar_excludes_definitions() {
        let check = |text: &str, wanted: &[&str]| assert_eq!(cannot(text), wanted, "{text}");
        check("fn a() { x.end(); }", &["field", "function", "struct"]);
        check("fn a() { x\n  .end; }", &["function", "struct"]);
        check("fn a() { start..end }", &["method", "field"]);
        check("fn a() { find(start, end) }", &["method", "field"]);
        check("fn a() { Match::end(x) }", &["field"]);
        check("use a::{b, end};", &["method", "field"]);
        check("fn a() { x.end::<u8>(); }", &["field", "function", "struct"]);
        check("fn a() { let end = 1; }", &["method", "field", "function"]);
        check("fn end() {}", &["method", "field", "function"]);
        check("struct B { end: u8 }", &["method", "field", "function"]);
        check("fn a() { B { end } }", &["method"]);
        check("fn a() { let B { end, .. } = b; }", &["method"]);
    }

    #[test]
    fn grammar_excludes_definitions_in_macro_tokens() {
        let check = |body: &str, wanted: &[&str]| {
            let text = format!("macro_rules! m {{ ($x:expr) => {{ {body} }} }}");
            assert_eq!(cannot(&text), wanted, "{text}");
        };
        check("x.find(start, end)", &["method", "field"]);
        check("let end = 1;", &["method", "field", "function"]);
        check("let mut end = 1;", &["method", "field", "function"]);
        check("fn end() {}", &["method", "field", "function"]);
        check("{ end.len() }", &["method", "field"]);
        check("{ let a = end; }", &["method", "field"]);
        check("B { end }", &["method"]);
        check("B { end: 1 }", &["method"]);
        check("B { $(a: $x),* end, }", &["method"]);
        check("B { $( end: $x ),* }", &["method"]);
        check("B { $(end)? }", &["method"]);
        check("let B { mut end } = b;", &["method"]);
    }
}
