//! What a name cannot mean where it stands, by the grammar of its language: what the judge is silent on may be told by that. A
//! method is reached by a dot or a path, a field by a dot and not by a call, a function never by a dot.

use super::Verdict;
use crate::answer::{Found, Site};
use crate::definition::Definition;
use crate::judgement::Code;
use crate::syntax::{Class, Kind, Language, bare_name, family};

/// Whether a site of which the judge says nothing means none of the definitions.
pub(super) fn is_none_of_them(found: &Found, site: &Site, verdict: Verdict) -> bool {
    let is_silent = matches!(verdict, Verdict::Undecided(Code::Inactive | Code::Macro));
    // What a macro that is not known makes of its tokens is its own.
    if !is_silent || site.language != Language::Rust || site.is_broken || site.alias.is_some() {
        return false;
    }
    if site.in_macro && !site.in_code {
        return false;
    }
    let name = &found.question.name;
    let Some(text) = found.texts.get(&*site.path) else { return false };
    let (Some(before), Some(rest)) = (text.get(..site.at), text.get(site.at..)) else { return false };
    let Some(after) = bare_name(rest).get(name.len()..) else { return false };
    let place = Place::of(before.trim_ascii_end(), after.trim_ascii_start(), site.class);
    let mut all = found.definitions.iter().filter(|one| family(one.language) == family(site.language));
    all.all(|one| place.cannot_be(one) && !takes_self(found, one))
}

/// Whether a function takes `self`: where the parser lost what it is inside of, it is a method all the same.
fn takes_self(found: &Found, definition: &Definition) -> bool {
    let text = found.texts.get(&*definition.path).and_then(|text| text.get(definition.bytes.clone()));
    let head = text.unwrap_or_default().split(|byte| *byte == b'{').next().unwrap_or_default();
    definition.kind == Kind::Function && memchr::memmem::find(head, b"self").is_some()
}

/// What stands around a name.
#[derive(Debug, Clone, Copy)]
struct Place {
    by_dot: bool,
    by_path: bool,
    is_called: bool,
    class: Class,
}

impl Place {
    fn of(before: &[u8], after: &[u8], class: Class) -> Place {
        Place {
            by_dot: before.ends_with(b".") && !before.ends_with(b".."),
            by_path: before.ends_with(b"::"),
            is_called: after.starts_with(b"(") || after.starts_with(b"::"),
            class,
        }
    }

    fn cannot_be(self, definition: &Definition) -> bool {
        match definition.kind {
            Kind::Method => !self.by_dot && !self.by_path,
            Kind::Field => {
                self.by_path
                    || self.by_dot && self.is_called
                    || matches!(self.class, Class::Import | Class::Export | Class::Type)
            }
            Kind::Function | Kind::Constructor => self.by_dot,
            kind if kind.is_type() => self.by_dot,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_a_name_cannot_be_where_it_stands() {
        let definition = |kind| Definition {
            kind,
            language: Language::Rust,
            path: Path::new("a.rs").into(),
            line: 1,
            inside: Vec::new(),
            label: "end".to_owned(),
            is_signature: false,
            at: 0,
            bytes: 0..0,
            is_bare: false,
            of_trait: None,
        };
        let cannot = |text: &str, class| {
            let (before, after) = text.split_once("end").unwrap();
            let place = Place::of(before.trim_ascii_end().as_bytes(), after.trim_ascii_start().as_bytes(), class);
            let kinds = [Kind::Method, Kind::Field, Kind::Function, Kind::Struct, Kind::Variable];
            kinds.into_iter().filter(|kind| place.cannot_be(&definition(*kind))).map(Kind::word).collect::<Vec<_>>()
        };
        assert_eq!(cannot("x.end()", Class::Call), ["field", "function", "struct"]);
        assert_eq!(cannot("x\n  .end", Class::FieldRead), ["function", "struct"]);
        assert_eq!(cannot("start..end", Class::Value), ["method"]);
        assert_eq!(cannot("find(start, end)", Class::Value), ["method"]);
        assert_eq!(cannot("Match::end(x)", Class::Call), ["field"]);
        assert_eq!(cannot("use a::{b, end}", Class::Import), ["method", "field"]);
        assert_eq!(cannot("x.end::<u8>()", Class::Call), ["field", "function", "struct"]);
    }
}
