//! What gives a class another name: an import, an assignment, a class that is made at run time of a tuple of bases.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem::Finder;

use crate::search::{Scope, search_by, words};
use crate::syntax::{Language, SCRIPTS, family, is_word, last_word, unclosed};

/// How long a search may take.
const WITHIN: Duration = Duration::from_secs(3);
/// How many bytes stand between the word that begins a class and its last base, at most.
pub(in crate::verdict) const HEAD: usize = 8_000;

/// What a use of a class's name makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Other {
    /// The class has this name too, which stands there.
    Named(Range<usize>),
    /// A module of CommonJS exports it: whoever requires that gives it a name.
    Exported,
    /// Another class is made of it, or it has a name that is not known.
    Unknown,
}

/// A place where a class may get another name, in a file of the project, and that name if it is known.
pub(super) type Renaming = (PathBuf, usize, Option<String>);

/// Where the files of a language give what has this name another one; `None` if not all are known.
pub(super) async fn search_for_others(
    scope: &Scope,
    language: Language,
    name: String,
    until: Instant,
) -> Option<Vec<Renaming>> {
    let finds = move |text: &[u8], at: Range<usize>| other(language, text, at);
    let found = search_words(scope, language, name, until, move |text, at| finds(text, at).is_some()).await?;
    let renamings = found.into_iter().map(|(path, text, at)| {
        let name = match other(language, &text, at.clone()) {
            Some(Other::Named(range)) => Some(String::from_utf8_lossy(&text[range]).into_owned()),
            _ => None,
        };
        (path, at.start, name)
    });
    Some(renamings.collect())
}

/// Whether a class of Python has a base of this name, or what has it may be one by another name yet; true if that is not known.
pub(super) async fn may_be_base(scope: &Scope, name: &str, until: Instant) -> bool {
    // What a variable holds is given on all the time, what a class is called is not.
    let is_class = name.starts_with(char::is_uppercase);
    let is_it = move |text: &[u8], at: Range<usize>| {
        is_in_head(text, at.start) || is_class && other(Language::Python, text, at).is_some()
    };
    let found = search_words(scope, Language::Python, name.to_owned(), until, is_it).await;
    found.is_none_or(|found| !found.is_empty())
}

/// The bases of classes of JavaScript that are required from other modules; `None` if not all files are known.
pub(super) async fn required_bases(scope: &Scope, until: Instant) -> Option<Vec<(PathBuf, usize)>> {
    // A package of the project is required by its name.
    let manifest = std::fs::read(scope.root.join("package.json")).unwrap_or_default();
    let has_packages =
        memchr::memmem::find(&manifest, b"\"workspaces\"").is_some() || scope.root.join("pnpm-workspace.yaml").exists();
    let is_wanted = move |text: &[u8], at: Range<usize>| required_base(text, at.end, has_packages).is_some();
    let found = search_words(scope, Language::JavaScript, "extends".to_owned(), until, is_wanted).await?;
    let bases =
        found.into_iter().filter_map(|(path, text, at)| Some((path, required_base(&text, at.end, has_packages)?)));
    Some(bases.collect())
}

/// Where the last name of the base stands that follows `extends`, if the text has what it begins with from `require`.
fn required_base(text: &[u8], after: usize, has_packages: bool) -> Option<usize> {
    let start = after + text[after..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let is_name = |byte: &u8| is_word(*byte) || *byte == b'$';
    let length = text[start..].iter().take_while(|byte| is_name(byte) || **byte == b'.').count();
    let base = &text[start..start + length];
    let root = base.split(|byte| *byte == b'.').next()?;
    let is_root = |at: usize| {
        let before = &text[..at];
        let source = text[at + b"require(".len()..].trim_ascii_start();
        // `events` is nothing of the project's.
        if !has_packages && !source.get(1).is_some_and(|first| b"./".contains(first)) {
            return false;
        }
        let begin =
            [&b"const "[..], b"let ", b"var "].iter().filter_map(|word| memchr::memmem::rfind(before, word)).max();
        begin.is_some_and(|begin| before[begin..].split(|byte| !is_name(byte)).any(|word| word == root))
    };
    let is_required = !root.is_empty() && memchr::memmem::find_iter(text, b"require(").any(is_root);
    is_required.then(|| start + base.iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1))
}

/// The places of a word in the files of a language that are as wanted; `None` if not all files are known.
pub(in crate::verdict) async fn search_words(
    scope: &Scope,
    language: Language,
    name: String,
    until: Instant,
    is_wanted: impl Fn(&[u8], Range<usize>) -> bool + Send + Sync + 'static,
) -> Option<Vec<(PathBuf, Arc<[u8]>, Range<usize>)>> {
    // The question's own search is over; this one has its own time, as much as the call has left.
    let whole = Scope::of(&scope.root, WITHIN);
    let whole = Scope { until: whole.until.min(until), beyond: scope.beyond.clone(), ..whole };
    let searching = tokio::task::spawn_blocking(move || {
        let finder = Finder::new(name.as_bytes());
        let searched = search_by(&whole, |of, text| match family(of) == family(language) {
            true => {
                let all = words(&finder, text, &name).into_iter();
                all.filter(|at| is_wanted(text, *at..*at + name.len())).collect()
            }
            false => Vec::new(),
        });
        let is_known = searched.skipped.iter().all(|one| one.why.is_of_its_language());
        let length = name.len();
        let places = searched.hits.into_iter().flat_map(|hit| {
            let text: Arc<[u8]> = hit.text.into();
            hit.starts.into_iter().map(move |at| (hit.path.clone(), text.clone(), at..at + length))
        });
        is_known.then(|| places.collect())
    });
    searching.await.ok().flatten()
}

/// What else the class is called whose name stands there: `import C as D`, `D = a.C`, `typedef C D;`, `ALL = (C,)`,
/// `type("D", (C,), {})`.
pub(super) fn other(language: Language, text: &[u8], name: Range<usize>) -> Option<Other> {
    let (before, after) = (text.get(..name.start)?, text.get(name.end..)?);
    let before = &before[before.len().saturating_sub(HEAD)..];
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = after.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let begins = |word: &str| line.trim_ascii_start().starts_with(word.as_bytes());
    let is_caught = ["except", "with", "case"].into_iter().any(begins);
    // TypeScript lists the uses of a name that an import gives as uses of the class.
    if after.starts_with(b"as ") && !is_caught && family(language) != SCRIPTS {
        let start = name.end + text[name.end..].iter().position(|byte| *byte == b's')? + 1;
        let start = start + text[start..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let length = text[start..].iter().take_while(|byte| is_word(**byte)).count();
        // `import C as C` passes it on.
        return (text[start..start + length] != text[name]).then_some(Other::Named(start..start + length));
    }
    let statement = line.rsplit(|byte| b";{}".contains(byte)).next().unwrap_or_default();
    if language == Language::Cpp && statement.trim_ascii_start().starts_with(b"typedef ") {
        return by_typedef(text, name);
    }
    let ends = matches!(after.first(), None | Some(b';' | b'#')) || after.starts_with(b"//");
    let goes_on = [&b"if "[..], b"or "].iter().any(|word| after.starts_with(word));
    let offset = name.start - before.len();
    if let Some(target) = assigned(without_word(before)).filter(|_| ends || goes_on) {
        // `const { create } = Base` takes members out.
        let target_end = target.trim_ascii_end();
        // `export = Base` gives it to who imports it.
        // No class derives from a name of `type B = Base`.
        let statement = target_end.rsplit(|byte| b"\n;{}".contains(byte)).next().unwrap_or_default().trim_ascii();
        let is_type = statement.starts_with(b"type ") || statement.starts_with(b"export type ");
        let is_pattern =
            family(language) == SCRIPTS && (target_end.ends_with(b"}") || target_end.ends_with(b"export") || is_type);
        return (!is_pattern).then(|| named(language, text, offset, target));
    }
    let is_element = after.is_empty() || b",)]".contains(&after[0]);
    match in_tuple(before).filter(|_| language == Language::Python && is_element) {
        Some(opened) => match assigned(opened) {
            Some(target) => Some(named(language, text, offset, target)),
            None => is_argument(opened).then_some(Other::Unknown),
        },
        None => None,
    }
}

/// What an assignment to this calls it; what stands before the assignment begins `offset` bytes into the text.
fn named(language: Language, text: &[u8], offset: usize, target: &[u8]) -> Other {
    let start = target.iter().rposition(|byte| b"\n;{}(,".contains(byte)).map_or(0, |at| at + 1);
    let statement = &target[start..];
    let is_exported =
        statement.trim_ascii().starts_with(b"exports") || statement.trim_ascii().starts_with(b"module.exports");
    if is_exported && family(language) == SCRIPTS {
        return Other::Exported;
    }
    // `B: type = C`, `let B: T = C`; `geo::C` is not meant.
    let plain = match language {
        Language::Cpp => statement,
        _ => statement.split(|byte| *byte == b':').next().unwrap_or_default(),
    };
    let plain = plain.trim_ascii_end();
    let is_name = |byte: &u8| is_word(*byte) || *byte == b'$';
    let length = plain.iter().rev().take_while(|byte| is_name(byte)).count();
    let before = plain[..plain.len() - length].trim_ascii();
    let is_declared = match language {
        Language::Python => before.is_empty() || before.ends_with(b"."),
        Language::Cpp => before == b"using",
        _ => {
            plain.len() == statement.trim_ascii_end().len()
                && [&b"const"[..], b"let", b"var"].contains(&before.strip_prefix(b"export ").unwrap_or(before))
        }
    };
    let end = offset + start + plain.len();
    let is_known = is_declared && length > 0 && text.get(end - length..end).is_some();
    if is_known { Other::Named(end - length..end) } else { Other::Unknown }
}

/// The other name that a `typedef` gives a class: `typedef C D;`, `typedef C<int> D;`. Of `typedef C* D;` and
/// `typedef std::vector<C> D;` none can be a base.
fn by_typedef(text: &[u8], name: Range<usize>) -> Option<Other> {
    let length = text[name.end..].iter().position(|byte| *byte == b';')?;
    let mut rest = text[name.end..name.end + length].trim_ascii();
    if rest.starts_with(b"<") {
        let mut depth = 0usize;
        let closed = rest.iter().position(|byte| {
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        rest = closed.map(|at| rest[at + 1..].trim_ascii()).unwrap_or_default();
    }
    if rest.is_empty() || !is_word(rest[0]) {
        return None;
    }
    let end = name.end + text[name.end..name.end + length].trim_ascii_end().len();
    let is_name = rest.iter().all(|byte| is_word(*byte));
    Some(if is_name { Other::Named(end - rest.len()..end) } else { Other::Unknown })
}

/// What stands before the name that a text ends with, and what qualifies it.
fn without_word(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_word(*byte) && !b".:".contains(byte)).map_or(0, |at| at + 1);
    text[..end].trim_ascii_end()
}

/// What stands before the sign of an assignment that a text ends with.
fn assigned(before: &[u8]) -> Option<&[u8]> {
    let target = before.strip_suffix(b"=")?;
    (!target.ends_with(b"=") && !target.ends_with(b"!") && !target.ends_with(b"<") && !target.ends_with(b">"))
        .then(|| target.strip_suffix(b":").unwrap_or(target))
}

/// What stands before the bracket of the tuple or list whose element ends a text, if nothing but names are in there.
fn in_tuple(before: &[u8]) -> Option<&[u8]> {
    let is_element = |byte: &u8| is_word(*byte) || byte.is_ascii_whitespace() || b".,*".contains(byte);
    let opened = before.iter().rposition(|byte| !is_element(byte))?;
    matches!(before[opened], b'(' | b'[').then(|| before[..opened].trim_ascii_end())
}

/// Whether a tuple of classes, before which this stands, is a later argument of a call that may make a class.
fn is_argument(before: &[u8]) -> bool {
    let Some(arguments) = before.strip_suffix(b",") else { return false };
    let called = unclosed(arguments, b'(').map(|at| arguments[..at].trim_ascii_end()).unwrap_or_default();
    let word = String::from_utf8_lossy(last_word(called)).to_lowercase();
    let is_asked = matches!(word.as_str(), "isinstance" | "issubclass") || word.starts_with("assert");
    // `type`, `new_class`, `EnumMeta`, `super().__new__`.
    !is_asked && ["type", "class", "meta", "__new__"].iter().any(|part| word.contains(part))
}

/// Whether a place stands in the list of bases of a class of Python.
pub(in crate::verdict) fn is_in_head(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(HEAD)..at];
    let Some(opened) = unclosed(before, b'(') else { return false };
    let name = before[..opened].trim_ascii_end();
    let rest = &name[..name.len() - last_word(name).len()];
    last_word(rest.trim_ascii_end()) == b"class"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_a_class_another_name() {
        let check = |language, text: &str, wanted: Option<&str>| {
            let at = text.find("Base").unwrap();
            let found = other(language, text.as_bytes(), at..at + 4).map(|found| match found {
                Other::Named(range) => &text[range],
                Other::Exported => "exports",
                Other::Unknown => "?",
            });
            assert_eq!(found, wanted, "{text}");
        };
        for (text, wanted) in [
            ("from geo import Base as B", Some("B")),
            ("from geo import (\n    Other,\n    Base as  B,\n)", Some("B")),
            ("from .geo import Base as Base", None),
            ("x = 1\nB = geo.Base  # why", Some("B")),
            ("    made: Type = Base", Some("made")),
            ("app.made = Base", Some("made")),
            ("B = Base if x else Other", Some("B")),
            ("A, B = Other, Base", None),
            ("(A, B) = x = Base", Some("?")),
            ("if (b := Base):", None),
            ("T = type('T', (Base, TestCase), {})", Some("?")),
            ("T = types.new_class('T', (geo.Base,))", Some("?")),
            ("ALL = (Base, Other)", Some("ALL")),
            ("ALL = [\n    Other,\n    geo.Base,\n]", Some("ALL")),
            ("ALL = [Base(1), Other]", None),
            ("except geo.Base as e:", None),
            ("b = Base()", None),
            ("b = Base.made", None),
            ("x == Base", None),
            ("isinstance(x, (Other, Base))", None),
            ("f(a, Base, b)", None),
            ("@pytest.mark.parametrize('cls', [Base, Other])", None),
            ("self.assertIsInstance(x, (Base, Other))", None),
            ("T = ModelMeta('T', (Base,), {})", Some("?")),
            ("class T(Base, Other): pass", None),
        ] {
            check(Language::Python, text, wanted);
        }
        for (text, wanted) in [
            ("import { Base as B } from './geo';", None),
            ("const $B = geo.Base;", Some("$B")),
            ("export const B = Base\n", Some("B")),
            ("const B: typeof Base = Base;", None),
            ("const B: X = Base;", Some("?")),
            ("const { create } = Base;", None),
            ("export type B = Base;", None),
            ("let B; B = Base;", Some("?")),
            ("module.exports = Base;", Some("exports")),
            ("f(); exports.B = Base;", Some("exports")),
            ("const b = new Base();", None),
        ] {
            check(Language::TypeScript, text, wanted);
        }
        for (text, wanted) in [
            ("  using Super = geo::Base;", Some("Super")),
            ("struct T { typedef Base Super; };", Some("Super")),
            ("  typedef Base Super;", Some("Super")),
            ("typedef Base* P;", None),
            ("typedef const Base &P;", None),
            ("typedef std::map<int, Base> P;", None),
            ("typedef std::function<void(Base&)> P;", None),
            ("typedef Base<int, A<B>> P;", Some("P")),
            ("typedef Base const P;", Some("?")),
            ("Base b = x;", None),
            ("struct T : Base {};", None),
        ] {
            check(Language::Cpp, text, wanted);
        }
    }

    #[test]
    fn bases_that_are_required() {
        let check = |text: &str, wanted: Option<&str>| {
            let at = text.find("extends").unwrap() + "extends".len();
            assert_eq!(required_base(text.as_bytes(), at, false).map(|at| &text[at..at + 4]), wanted, "{text}");
        };
        check("const Base = require('./base');\nclass A extends Base {}", Some("Base"));
        check("const {\n  X, Base\n} = require('./base');\nclass A extends Base {}", Some("Base"));
        check("const lib = require('./lib');\nclass A extends lib.Base {}", Some("Base"));
        check("const x = require('./lib');\nclass Base {}\nclass A extends Base {}", None);
        check("class A extends Base {}", None);
    }

    #[test]
    fn bases_of_python() {
        let check = |text: &str, wanted: bool| {
            assert_eq!(is_in_head(text.as_bytes(), text.find("ALL").unwrap()), wanted, "{text}");
        };
        check("class T(ALL): pass", true);
        check("class T(made(1), geo.Of[int], *ALL): pass", true);
        check("class T(\n    Other,\n    ALL,\n): pass", true);
        check("class T(Other): x = f(ALL)", false);
        check("class T(Other): ALL = 1", false);
        check("f(ALL)", false);
    }
}
