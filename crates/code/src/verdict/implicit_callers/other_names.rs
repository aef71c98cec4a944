//! What gives a class another name: an import, an assignment, a class that is made at run time of a tuple of bases.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::search::{Scope, search_by};
use crate::syntax::{Language, SCRIPTS, family, is_word};
use memchr::memmem::{Finder, find, find_iter};

/// How long a search may take.
const WITHIN: Duration = Duration::from_secs(3);

/// Where the files of a language give what has this name another one; `None` if not all are known.
pub(super) async fn search_for_others(
    scope: &Scope,
    language: Language,
    name: String,
    until: Instant,
) -> Option<Vec<(PathBuf, usize)>> {
    // The question's own search is over; this one has its own time, as much as the call has left.
    let whole = Scope::of(&scope.root, WITHIN);
    let whole = Scope { until: whole.until.min(until), beyond: scope.beyond.clone(), ..whole };
    let searching = tokio::task::spawn_blocking(move || {
        let finder = Finder::new(name.as_bytes());
        let searched = search_by(&whole, |of, text| match family(of) == family(language) {
            true => {
                let all = crate::search::words(&finder, text, &name).into_iter();
                all.filter(|at| gives_another(of, text, *at..*at + name.len())).collect()
            }
            false => Vec::new(),
        });
        let is_known = searched.skipped.iter().all(|one| one.why.is_of_its_language());
        let places = searched.hits.into_iter().flat_map(|hit| {
            let path = hit.path;
            hit.starts.into_iter().map(move |at| (path.clone(), at))
        });
        is_known.then(|| places.collect())
    });
    searching.await.ok().flatten()
}

/// Whether what stands around a class's name gives it another one: `import C as D`, `D = a.C`, `typedef C D;`,
/// `type("D", (C,), {})`, `ALL = (C,)` where classes have starred bases.
pub(super) fn gives_another(language: Language, text: &[u8], name: Range<usize>) -> bool {
    let (Some(before), Some(after)) = (text.get(..name.start), text.get(name.end..)) else { return false };
    let before = &before[before.len().saturating_sub(2_000)..];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = after.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let begins = |word: &str| line.trim_ascii_start().starts_with(word.as_bytes());
    let is_caught = ["except", "with", "case"].into_iter().any(begins);
    // TypeScript lists the uses of a name that an import gives as uses of the class.
    if after.starts_with(b"as ") && !is_caught && family(language) != SCRIPTS {
        return true;
    }
    if language == Language::Cpp && begins("typedef ") {
        return true;
    }
    let ends = matches!(after.first(), None | Some(b';' | b'#')) || after.starts_with(b"//");
    let goes_on = [&b"if "[..], b"or "].iter().any(|word| after.starts_with(word));
    let owner = without_word(before);
    if is_assigned(owner) && (ends || goes_on) {
        return true;
    }
    language == Language::Python && in_tuple(before).is_some_and(|opened| is_made_of(text, opened))
}

/// The name that a class gets by `using D = C;` or `typedef C D;` in C++, by `const D = C;` in TypeScript and JavaScript, where a
/// judge knows the uses of that name.
pub(super) fn alias(language: Language, text: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    let is_cpp = language == Language::Cpp;
    let start = text[..name.start].iter().rposition(|byte| b"\n;{}".contains(byte)).map_or(0, |at| at + 1);
    let end = name.end + text[name.end..].iter().position(|byte| matches!(byte, b';' | b'\n')).unwrap_or(0);
    let is_name = |at: &usize| is_word(text[*at]) || !is_cpp && text[*at] == b'$';
    let statement = text[start..name.start].trim_ascii_start();
    let words: &[&[u8]] = if is_cpp { &[b"using "] } else { &[b"export const ", b"const ", b"let ", b"var "] };
    if let Some(rest) = words.iter().find_map(|word| statement.strip_prefix(*word)) {
        let from = (name.start - rest.len()..name.start).find(is_name)?;
        let to = (from..name.start).find(|at| !is_name(at))?;
        return text[to..name.start].trim_ascii_start().starts_with(b"=").then_some(from..to);
    }
    // `typedef C* D` is no class.
    let to = (name.end..end).rfind(is_name)? + 1;
    let from = (name.end..to).rfind(|at| !is_name(at))? + 1;
    let is_plain = text[name.end..from].iter().all(u8::is_ascii_whitespace);
    (is_cpp && statement.starts_with(b"typedef ") && is_plain).then_some(from..to)
}

/// What stands before the name that a text ends with, and what qualifies it.
fn without_word(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_word(*byte) && !b".:".contains(byte)).map_or(0, |at| at + 1);
    text[..end].trim_ascii_end()
}

fn is_assigned(before: &[u8]) -> bool {
    before.ends_with(b"=") && ![&b"=="[..], b"!=", b"<=", b">="].iter().any(|other| before.ends_with(other))
}

/// What stands before the bracket of the tuple or list whose element ends a text, if nothing but names are in there.
fn in_tuple(before: &[u8]) -> Option<&[u8]> {
    let is_element = |byte: &u8| is_word(*byte) || byte.is_ascii_whitespace() || b".,*".contains(byte);
    let opened = before.iter().rposition(|byte| !is_element(byte))?;
    matches!(before[opened], b'(' | b'[').then(|| before[..opened].trim_ascii_end())
}

/// Whether a tuple of classes, before which this stands, makes a class: as an argument of a call that asks no question about
/// classes, or under a name where the text has starred bases.
fn is_made_of(text: &[u8], before: &[u8]) -> bool {
    if is_assigned(before) {
        return has_starred_bases(text);
    }
    let Some(arguments) = before.strip_suffix(b",") else { return false };
    let mut depth = 0usize;
    let opened = arguments.iter().rposition(|byte| {
        match byte {
            b')' | b']' => depth += 1,
            b'(' | b'[' if depth > 0 => depth -= 1,
            b'(' => return true,
            _ => {}
        }
        false
    });
    let called = opened.map(|at| arguments[..at].trim_ascii_end()).unwrap_or_default();
    let word = called.iter().rposition(|byte| !is_word(*byte)).map_or(called, |at| &called[at + 1..]);
    !word.is_empty() && !matches!(word, b"isinstance" | b"issubclass")
}

/// Whether a class of a text has bases that a variable holds: `class A(*ALL):`.
fn has_starred_bases(text: &[u8]) -> bool {
    find_iter(text, b"class ").any(|at| {
        let head = text[at..].split(|byte| *byte == b':').next().unwrap_or_default();
        [&b"(*"[..], b", *"].iter().any(|star| find(head, star).is_some()) && find(head, b"**").is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_whose_uses_a_judge_knows() {
        let check = |language, text: &str, wanted: Option<&str>| {
            let at = text.find("Base").unwrap();
            assert_eq!(alias(language, text.as_bytes(), at..at + 4).map(|found| &text[found]), wanted, "{text}");
        };
        for (text, wanted) in [
            ("  using Super = geo::Base;", Some("Super")),
            ("struct T { typedef Base Super; };", Some("Super")),
            ("typedef Base* P;", None),
            ("Base b = x;", None),
            ("typedef Base", None),
        ] {
            check(Language::Cpp, text, wanted);
        }
        for (text, wanted) in [
            ("const $B = geo.Base;", Some("$B")),
            ("export const B = Base\n", Some("B")),
            ("const B: typeof Base = Base;", None),
            ("let B; B = Base;", None),
        ] {
            check(Language::TypeScript, text, wanted);
        }
    }

    #[test]
    fn what_gives_a_class_another_name() {
        let check = |language, text: &str, wanted: bool| {
            let at = text.find("Base").unwrap();
            assert_eq!(gives_another(language, text.as_bytes(), at..at + 4), wanted, "{text}");
        };
        for (text, wanted) in [
            ("from geo import Base as B", true),
            ("from geo import (\n    Other,\n    Base as B,\n)", true),
            ("B = geo.Base  # why", true),
            ("B: type = Base", true),
            ("B = Base if x else Other", true),
            ("T = type('T', (Base, TestCase), {})", true),
            ("T = types.new_class('T', (geo.Base,))", true),
            ("ALL = (Base, Other)\nclass T(*ALL): pass", true),
            ("ALL = (Base, Other)\nclass T(ALL): pass", false),
            ("except geo.Base as e:", false),
            ("b = Base()", false),
            ("b = Base.made", false),
            ("x == Base", false),
            ("isinstance(x, (Other, Base))", false),
            ("f(a, Base, b)", false),
            ("class T(Base, Other): pass", false),
        ] {
            check(Language::Python, text, wanted);
        }
        check(Language::TypeScript, "import { Base as B } from './geo';", false);
        check(Language::TypeScript, "const B = Base;", true);
        check(Language::TypeScript, "const b = new Base();", false);
        check(Language::Cpp, "using B = geo::Base;", true);
        check(Language::Cpp, "typedef Base B;", true);
        check(Language::Cpp, "struct T : Base {};", false);
    }
}
