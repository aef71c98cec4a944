//! Who may call a definition without naming it: the language itself, what a decorator or an attribute gives it to, and code
//! outside of the project by a base class, an interface or a trait. Where anybody may, no answer is final. That tests and `main`
//! are run is no news, and counts for nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::requests::{defined, left, places};
use super::texts::{Sheets, Spot};
use crate::answer::Found;
use crate::definition::Definition;
use crate::in_test::is_test_file;
use crate::lsp::of_path;
use crate::server::Session;
use crate::syntax::{Class, Kind, Language, Marks, family, occurrences_at};

/// Who may, as far as the text says it.
pub(super) fn known(found: &Found) -> Option<String> {
    let inside = found.definitions.iter().filter(|one| !one.is_outside());
    inside.filter(|one| matches!(one.kind, Kind::Function | Kind::Method)).find_map(|one| {
        let label = &one.label;
        by_trait(found, one)
            .or_else(|| by_itself(found, one).map(|who| format!("{who} {label} without naming it")))
            .or_else(|| {
                given_to(one).map(|mark| {
                    format!("`{mark}` stands at {label}: what it is given to may call it without naming it")
                })
            })
    })
}

/// The trait outside of the project whose method it implements, in Rust.
fn by_trait(found: &Found, one: &Definition) -> Option<String> {
    let of = one.of_trait.as_ref().filter(|of| of.is_impl && !found.traits.contains(&of.name))?;
    Some(format!(
        "{} implements {}, a trait that the project does not define: operators, conversions, macros and other crates may call it without naming it",
        one.label, of.name
    ))
}

/// What calls by itself, with the verb.
fn by_itself(found: &Found, one: &Definition) -> Option<&'static str> {
    let name = found.question.name.as_str();
    let is_method = one.kind == Kind::Method;
    let is_top = one.inside.is_empty();
    Some(match one.language {
        Language::Python if name.len() > 2 && name.starts_with('_') && name.ends_with('_') => "Python itself calls",
        Language::Python if name.starts_with("pytest_") => "pytest calls the hook",
        Language::Python if is_test_file(&one.path) && is_of_pytest(name) => "pytest runs",
        Language::Go if is_method && OF_INTERFACES.contains(&name) => "Go's own packages, by an interface, may call",
        Language::Go if is_top && name == "init" => "Go itself calls",
        Language::Cpp if name.starts_with("operator") || name.starts_with('~') || is_symbols(name) => {
            "an operator or the end of a value may call"
        }
        Language::Cpp if matches!(name, "begin" | "end") => "a `for` over a range may call",
        Language::TypeScript | Language::Tsx | Language::JavaScript if is_method && OF_JAVASCRIPT.contains(&name) => {
            "JavaScript itself may call"
        }
        _ => return None,
    })
}

/// What pytest runs before and after tests, by its name.
fn is_of_pytest(name: &str) -> bool {
    name.starts_with("setup_") || name.starts_with("teardown_")
}

fn is_symbols(name: &str) -> bool {
    !name.chars().any(|c| c.is_alphanumeric() || c == '_')
}

/// The decorator or attribute that gives a definition to somebody.
fn given_to(one: &Definition) -> Option<&str> {
    let mut marks = one.marks.decorators.iter().map(String::as_str);
    marks.find_map(|mark| {
        let head = mark.split(['(', '=', '[', ' ', '\n']).next().unwrap_or(mark);
        let last = head.rsplit(['.', ':']).next().unwrap_or(head);
        let is_inert = match one.language {
            Language::Python => INERT_IN_PYTHON.contains(&last),
            Language::Rust => {
                // Within `unsafe(…)` and `cfg_attr(…)` too.
                if let Some(word) = ["no_mangle", "export_name"].into_iter().find(|word| mark.contains(word)) {
                    return Some(word);
                }
                INERT_IN_RUST.contains(&head) || OF_TOOLS.iter().any(|tool| head.starts_with(tool))
            }
            _ => false,
        };
        (!is_inert).then_some(head)
    })
}

/// Decorators of Python that call nothing by themselves, by their last names.
const INERT_IN_PYTHON: &[&str] = &[
    "abstractmethod",
    "asynccontextmanager",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "dataclass",
    "deleter",
    "deprecated",
    "final",
    "getter",
    "lru_cache",
    "overload",
    "override",
    "property",
    "runtime_checkable",
    "setter",
    "staticmethod",
    "total_ordering",
    "wraps",
];

/// Attributes of Rust that call nothing, and macros that only change what is written below them.
const INERT_IN_RUST: &[&str] = &[
    "allow",
    "async_trait",
    "async_trait::async_trait",
    "automatically_derived",
    "bench",
    "cfg",
    "cfg_attr",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "ignore",
    "inline",
    "instrument",
    "must_use",
    "naked",
    "optimize",
    "should_panic",
    "stable",
    "target_feature",
    "test",
    "track_caller",
    "tracing::instrument",
    "unsafe",
    "unstable",
    "warn",
];
const OF_TOOLS: &[&str] = &["clippy::", "diagnostic::", "rustfmt::", "rustc_"];

/// Methods that JavaScript itself calls, or what it converts and waits with.
const OF_JAVASCRIPT: &[&str] = &["constructor", "next", "return", "then", "throw", "toJSON", "toString", "valueOf"];

/// Methods of the interfaces that Go's own packages call.
const OF_INTERFACES: &[&str] = &[
    "As",
    "Close",
    "Error",
    "Format",
    "GoString",
    "Is",
    "Len",
    "Less",
    "MarshalBinary",
    "MarshalJSON",
    "MarshalText",
    "MarshalXML",
    "MarshalYAML",
    "Pop",
    "Push",
    "Read",
    "ReadAt",
    "ReadByte",
    "ReadFrom",
    "ReadRune",
    "RoundTrip",
    "Scan",
    "Seek",
    "ServeHTTP",
    "Set",
    "String",
    "Swap",
    "Unwrap",
    "UnmarshalBinary",
    "UnmarshalJSON",
    "UnmarshalText",
    "UnmarshalXML",
    "UnmarshalYAML",
    "Value",
    "Write",
    "WriteAt",
    "WriteByte",
    "WriteString",
    "WriteTo",
];

/// How many bases are followed, and how many definitions are asked about.
const MOST_BASES: usize = 50;
const MOST_ASKED: usize = 20;
/// How long one file may take.
const WITHIN: Duration = Duration::from_secs(1);

/// Who may by a base class or an interface that the project does not define, as the judge of a family knows them.
pub(super) async fn by_bases(
    found: &Found,
    of: &str,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<String> {
    let name = &found.question.name;
    let is_asked = |one: &&Definition| {
        // A trait of another crate may have the name of one of ours.
        let may_be_ours = one.language != Language::Rust || one.of_trait.as_ref().is_some_and(|of| of.is_impl);
        one.kind == Kind::Method && !one.is_outside() && family(one.language) == of && may_be_ours
    };
    for one in found.definitions.iter().filter(is_asked).take(MOST_ASKED) {
        let base = match one.language {
            Language::Go => interface(found, one, session, sheets, until).await,
            Language::Haskell | Language::C => None,
            _ => base(found, one, session, sheets, until).await,
        };
        if let Some(base) = base {
            let label = &one.label;
            return Some(format!(
                "{label} stands below {base}, which the project does not define: code outside may call {name} without naming it here"
            ));
        }
    }
    None
}

/// The nearest base, of the class that a method is a member of, that the project does not define.
async fn base(
    found: &Found,
    one: &Definition,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<String> {
    let path = sheets.path(&one.path);
    let mut open: Vec<Spot> = spots(&path, &one.marks, 0);
    open.extend(of_prototypes(found, one, sheets));
    let mut at = 0;
    while let Some(spot) = open.get(at).cloned().filter(|_| at < MOST_BASES) {
        at += 1;
        let word = sheets.text(&spot).to_owned();
        let position = sheets.get(&spot.path)?.position(spot.start, session.encoding);
        let answer = defined(&session.client, &spot.path, position, left(until, session)).await;
        let targets: Vec<Spot> = answer.unwrap_or_default().iter().filter_map(|place| sheets.spot(place)).collect();
        let inside = |target: &&Spot| sheets.below(&target.path).is_some_and(is_of_the_project);
        if targets.iter().any(|target| is_inert(&target.path)) {
            continue;
        }
        let Some(target) = targets.iter().find(inside) else { return Some(word) };
        let sheet = sheets.get(&target.path)?;
        let start = target.start.checked_sub(sheet.skip)?;
        let text = sheet.text.as_bytes();
        let place = start..start + sheets.word(target).len();
        let all = occurrences_at(one.language, text, std::slice::from_ref(&place), Instant::now() + WITHIN);
        // What is no class, an import that leads nowhere or a value, may be anything.
        let Some(declares) = all.and_then(|all| all.into_iter().next()?.declares) else { return Some(word) };
        for next in spots(&target.path, &declares.marks, sheet.skip) {
            if !open.contains(&next) {
                open.push(next);
            }
        }
    }
    None
}

/// Where bases stand: `skip` bytes after what their text counts.
fn spots(path: &Path, marks: &Marks, skip: usize) -> Vec<Spot> {
    let spot =
        |base: &std::ops::Range<usize>| Spot { path: path.to_owned(), start: base.start + skip, end: base.end + skip };
    marks.bases.iter().map(spot).collect()
}

/// In C++ the class of a method that is defined outside of it names the bases.
fn of_prototypes(found: &Found, one: &Definition, sheets: &Sheets) -> Vec<Spot> {
    let is_of_it = |class: &str| {
        one.label.strip_suffix(&found.question.name).map(|label| label.trim_end_matches(':')) == Some(class)
    };
    let prototypes = found
        .sites
        .iter()
        .filter(|site| one.language == Language::Cpp && site.class == Class::Signature && is_of_it(&site.enclosing));
    let spots = prototypes.filter_map(|site| {
        let path = sheets.path(&site.path);
        let sheet = sheets.get(&path)?;
        let start = site.at.checked_sub(sheet.skip)?;
        let place = start..start + found.question.name.len();
        let all = occurrences_at(Language::Cpp, sheet.text.as_bytes(), &[place], Instant::now() + WITHIN)?;
        Some(spots(&path, &all.into_iter().next()?.declares?.marks, sheet.skip))
    });
    spots.flatten().collect()
}

/// Whether people of the project write a file, by its folders.
fn is_of_the_project(below: &Path) -> bool {
    !below.iter().any(|part| {
        let part = part.to_string_lossy();
        part.starts_with('.') || matches!(&*part, "node_modules" | "site-packages" | "vendor")
    })
}

/// Whether what a file outside of the project declares calls nothing but what the language itself calls.
fn is_inert(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_of_python = ["abc", "builtins", "enum", "typing", "typing_extensions"]
        .iter()
        .any(|module| name.strip_prefix(module).is_some_and(|rest| matches!(rest, ".py" | ".pyi")));
    let is_of_script =
        name.starts_with("lib.") && name.ends_with(".d.ts") && !name.contains("dom") && !name.contains("worker");
    is_of_python || is_of_script
}

/// The interface outside of the project that a method of Go implements.
async fn interface(
    found: &Found,
    one: &Definition,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<String> {
    // Another package cannot ask for a name that is not exported.
    if !found.question.name.starts_with(char::is_uppercase) {
        return None;
    }
    let path = sheets.path(&one.path);
    let position = sheets.get(&path)?.position(one.at, session.encoding);
    let params = json!({"textDocument": {"uri": of_path(&path)}, "position": position});
    let answer = places(&session.client, "textDocument/implementation", &params, left(until, session)).await;
    let all = answer.unwrap_or_default();
    let outside = all.iter().find(|place| !sheets.below(&place.path).is_some_and(is_of_the_project))?;
    let package = outside.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(format!("an interface of {}", package.unwrap_or_default()))
}
