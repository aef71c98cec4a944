//! Callers that do not name the definition: the language itself, a decorator or an attribute, and code outside of the project
//! through a base class, an interface or a trait. If there may be such a caller, the answer is not complete. Test runners and
//! the start of `main` do not count.

use std::collections::BTreeSet;
use std::path::Path;

use lsp::server::profile::{Rules, rules};
use memchr::memmem::Finder;
use syntax::{Class, Declares, Kind, Language, family, occurrences};

use super::classes::{any_at, is_ambient, is_class_like, is_of_the_project, spot};
use super::heads::Heads;
use crate::answer::Candidates;
use crate::definition::Definition;
use crate::inquiry::{Inquiry, Sheets, Spot};
use crate::rule::Rule;
use crate::search::word_starts;
use crate::test_detection::is_test_file;

/// Returns the possible implicit caller that the text shows, if uses of these classes are requested.
pub(super) fn find_in_text(found: &Candidates, wanted: &[Class]) -> Option<String> {
    if !Rule::OutsideBases.is_on() {
        return None;
    }
    let inside = found.definitions.iter().filter(|one| !one.is_outside());
    if let Some(key) = inside.clone().find(|one| is_key(found, one)) {
        return Some(format!(
            "{} is the key of a dictionary: `x[\"{}\"]` is not listed",
            key.label, found.question.name
        ));
    }
    // A question for places that name a class does not ask for constructor calls.
    let names_class = wanted.contains(&Class::Type) && found.definitions.iter().any(|one| one.kind.is_type());
    let is_asked = |one: &&Definition| !(names_class && one.is_constructor(&found.question.name));
    inside.filter(is_asked).filter(|one| matches!(one.kind, Kind::Function | Kind::Method)).find_map(|one| {
        let label = &one.label;
        let marked = |mark| format!("{label} is marked with `{mark}`: other code may call it without naming it");
        by_trait(found, one)
            .or_else(|| by_runtime(found, one).map(|who| format!("{who} {label} without naming it")))
            .or_else(|| exposing_decorator(one.language, &one.marks.decorators).map(marked))
    })
}

/// True for a key of a Python `TypedDict`, which is accessed by string.
fn is_key(found: &Candidates, one: &Definition) -> bool {
    let text = found.texts.get(&one.path).filter(|_| one.language == Language::Python && one.kind == Kind::Field);
    text.is_some_and(|text| one.marks.bases.iter().any(|base| text.get(base.clone()) == Some(b"TypedDict")))
}

/// Returns the trait outside of the project whose method the definition implements, in Rust.
fn by_trait(found: &Candidates, one: &Definition) -> Option<String> {
    let of = one.of_trait.as_ref().filter(|of| of.is_impl && !found.traits.contains(&of.name))?;
    Some(format!(
        "{} implements {}, a trait that the project does not define: operators, conversions, macros and other crates may call it without naming it",
        one.label, of.name
    ))
}

/// Returns the implicit caller in the language or runtime, with the verb.
fn by_runtime(found: &Candidates, one: &Definition) -> Option<&'static str> {
    let name = found.question.name.as_str();
    let is_method = one.kind == Kind::Method;
    let is_top = one.inside.is_empty();
    let is_called = is_method && rules(family(one.language)).called.iter().any(|called| called == name);
    Some(match one.language {
        Language::Python if name.len() > 2 && name.starts_with('_') && name.ends_with('_') => "Python itself may call",
        Language::Python if name.starts_with("pytest_") => "pytest calls the hook",
        Language::Python if is_test_file(&one.path) && is_of_tests(name) => "a test runner calls",
        Language::Go if is_called => "Go's own packages, by an interface, may call",
        Language::Go if is_top && name == "init" => "Go itself calls",
        Language::Go if is_top && is_exported(found, one) => "C or a host, by a `//` directive, may call",
        Language::Cpp if one.is_constructor(name) => {
            "an instance of a template or a class that inherits the constructor may call"
        }
        Language::Cpp if is_operator(name) => "an operator or the end of a value may call",
        Language::Cpp if is_called => "a `for` over a range or a coroutine may call",
        Language::C | Language::Cpp if is_run_by_attribute(found, one) => "an attribute makes the program call",
        _ if is_called => "JavaScript itself or a browser may call",
        _ => return None,
    })
}

/// True if the name is that of a setup or teardown function for Python tests.
fn is_of_tests(name: &str) -> bool {
    ["setup_", "teardown_"].iter().any(|begin| name.starts_with(begin))
        || matches!(name, "setUpModule" | "tearDownModule" | "load_tests")
}

/// True for `operator+`, `operator bool`, `~Circle`.
fn is_operator(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let rest = name.strip_prefix("operator");
    name.starts_with('~') || !name.chars().any(is_word) || rest.is_some_and(|rest| !rest.starts_with(is_word))
}

/// True if a directive exports a Go function to C or to the host of WebAssembly.
fn is_exported(found: &Candidates, one: &Definition) -> bool {
    let text = found.text_before(&one.path, one.at);
    let mut above = text.rsplit(|byte| *byte == b'\n').skip(1).take_while(|line| line.starts_with(b"//"));
    above.any(|line| line.starts_with(b"//export ") || line.starts_with(b"//go:wasmexport "))
}

/// True if a C attribute runs a function at program start or end, or gives it another name.
fn is_run_by_attribute(found: &Candidates, one: &Definition) -> bool {
    let Some(text) = found.texts.get(&one.path) else { return false };
    // The attributes before a declaration are not always part of it.
    let start = text[..one.at].iter().rposition(|byte| b"{};".contains(byte)).map_or(0, |at| at + 1);
    let head = text[start..].split(|byte| b"{;".contains(byte)).next().unwrap_or_default();
    let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
    (has("__attribute__") || has("[["))
        && ["constructor", "destructor", "alias", "ifunc", "interrupt", "used"].iter().any(|word| has(word))
}

/// Returns the decorator or attribute that may make a definition callable from elsewhere.
fn exposing_decorator(language: Language, decorators: &[String]) -> Option<&str> {
    let rules = rules(family(language));
    decorators.iter().find_map(|mark| match language {
        Language::Python => Some(head(mark)).filter(|head| !is_inert_in_python(rules, head)),
        Language::Rust => in_rust(rules, mark),
        _ => Some(head(mark)),
    })
}

/// Returns the name at the start of a decorator or attribute.
fn head(mark: &str) -> &str {
    let end = mark.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$'))).unwrap_or(mark.len());
    if end == 0 { "a decorator" } else { &mark[..end] }
}

/// True for decorators such as `property`, `functools.cache`, `area.setter`. Other modules may do anything.
fn is_inert_in_python(rules: &Rules, head: &str) -> bool {
    let (module, last) = head.rsplit_once('.').unwrap_or(("", head));
    // pytest marks do not call the function, apart from running it as a test.
    if matches!(module, "pytest.mark" | "mark") {
        return true;
    }
    let is_known = rules.modules.iter().any(|one| one == module) || matches!(last, "setter" | "getter" | "deleter");
    rules.inert.iter().any(|one| one == last) && is_known
}

/// Returns the Rust attribute that may add a caller, also within `unsafe(…)` and `cfg_attr(…)`.
fn in_rust<'a>(rules: &Rules, mark: &'a str) -> Option<&'a str> {
    let name = head(mark);
    let inner =
        mark.get(name.len()..).unwrap_or_default().trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match (name, inner) {
        ("unsafe", Some(inner)) => in_rust(rules, inner.trim()),
        // The first part is the condition.
        ("cfg_attr", Some(inner)) => parts(inner).into_iter().skip(1).find_map(|part| in_rust(rules, part)),
        _ => {
            let is_inert = |one: &String| one == name || one.ends_with([':', '_']) && name.starts_with(one.as_str());
            let is_inert = rules.inert.iter().any(is_inert);
            (!is_inert).then_some(name)
        }
    }
}

/// Splits a text at commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let separates = |c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(separates).map(str::trim).filter(|part| !part.is_empty()).collect()
}

const NAMELESS: &str = "a base without a name";
/// The maximum number of bases to follow.
const MOST_BASES: usize = 50;

/// Returns an explanation that names a base which may use one of the definitions.
pub(super) async fn by_bases(inquiry: &mut Inquiry<'_>, of: &str, heads: &Heads) -> Option<String> {
    if !Rule::OutsideBases.is_on() {
        return None;
    }
    let found = inquiry.found;
    let is_asked = |one: &&Definition| is_member(one) && !one.is_outside() && family(one.language) == of;
    for one in found.definitions.iter().filter(is_asked) {
        let base = match one.language {
            Language::Go => interface(inquiry, one).await,
            _ => Walk { inquiry: &mut *inquiry, heads, seen: BTreeSet::new() }.base(one).await,
        };
        if let Some(base) = base {
            return Some(format!("{} may be used through {base}, without being named here", one.label));
        }
    }
    None
}

/// True if a definition is a member that a base may use.
pub(super) fn is_member(one: &Definition) -> bool {
    match one.language {
        // A trait of another crate may have the name of a trait of the project.
        Language::Rust => one.of_trait.as_ref().is_some_and(|of| of.is_impl),
        Language::Go | Language::Cpp => one.kind == Kind::Method,
        Language::C | Language::Haskell => false,
        _ => matches!(one.kind, Kind::Method | Kind::Field),
    }
}

/// A walk from a member through the bases of its class, then through the other bases of its subclasses.
struct Walk<'a, 'b> {
    inquiry: &'a mut Inquiry<'b>,
    heads: &'a Heads,
    /// The spots of the classes that were visited.
    seen: BTreeSet<Spot>,
}

impl Walk<'_, '_> {
    async fn base(&mut self, one: &Definition) -> Option<String> {
        let own = Spot::at(self.inquiry.sheets.path(&one.path), one.at);
        let mut all = vec![(own.path.clone(), one.marks.clone())];
        if one.language == Language::Cpp && one.marks.class.is_none() {
            // The prototypes of a method that is defined outside of its class.
            let places = self.inquiry.ask("textDocument/declaration", &own).await.unwrap_or_default();
            let sheets = &mut *self.inquiry.sheets;
            let spots = sheets.spots(&places).into_iter();
            all.extend(spots.filter_map(|spot| any_at(sheets, &spot).map(|declares| (spot.path, declares.marks))));
        }
        let mut bases = Vec::new();
        let mut names = BTreeSet::new();
        for (path, marks) in &all {
            if marks.has_nameless_base {
                return Some(NAMELESS.to_owned());
            }
            bases.extend(marks.bases.iter().map(|base| spot(path, base)));
            for class in marks.class.iter().map(|class| spot(path, class)) {
                names.extend(self.heads.heirs(self.inquiry.sheets.word(&class)));
                self.seen.insert(class);
            }
        }
        let above = self.with_member(bases, false).await;
        if above.is_some() || one.language == Language::Rust {
            return above;
        }
        match self.other_bases(&names) {
            Ok(beside) => self.with_member(beside, true).await,
            Err(why) => Some(why),
        }
    }

    /// Returns the bases of the subclasses that are not among these classes.
    fn other_bases(&mut self, names: &BTreeSet<String>) -> Result<Vec<Spot>, String> {
        let mut beside = Vec::new();
        for head in self.heads.with_names(names) {
            self.inquiry.sheets.read(&head.class.path);
            let Some(declares) = any_at(self.inquiry.sheets, &head.class) else { continue };
            if declares.marks.has_nameless_base {
                return Err(NAMELESS.to_owned());
            }
            let bases = declares.marks.bases.iter().map(|base| spot(&head.class.path, base));
            beside.extend(bases.filter(|base| !names.contains(self.inquiry.sheets.word(base))));
        }
        Ok(beside)
    }

    /// Returns the first of these bases, direct or indirect, that has the member or may have it. Servers relate members to
    /// those of project classes above them; `counts_inside` tells whether these count.
    async fn with_member(&mut self, mut open: Vec<Spot>, counts_inside: bool) -> Option<String> {
        let name = &self.inquiry.found.question.name;
        let mut at = 0;
        while let Some(base) = open.get(at).cloned() {
            at += 1;
            if at > MOST_BASES {
                return Some("more bases than are followed".to_owned());
            }
            let targets = self.inquiry.defined(&base).await.unwrap_or_default();
            let sheets = &*self.inquiry.sheets;
            let word = sheets.word(&base);
            let mut is_known = false;
            for target in targets {
                // clangd returns the surrounding scope for an unknown name.
                if Language::by_name(&base.path) == Some(Language::Cpp) && sheets.word(&target) != word {
                    continue;
                }
                let Some(declares) = any_at(sheets, &target) else { continue };
                let is_class = is_class_like(declares.kind);
                if is_class && !self.seen.insert(target.clone()) {
                    is_known = true;
                    continue;
                }
                let below = sheets.relative_path(&target.path).filter(|below| is_of_the_project(below));
                let is_inside = below.is_some() && !is_ambient(&target.path);
                if (counts_inside || !is_inside) && names_in(sheets, &target, &declares, name) {
                    let whose =
                        if is_inside { "which also has" } else { "which the project does not define and which has" };
                    return Some(format!("{word}, {whose} {name}"));
                }
                if declares.marks.has_nameless_base {
                    return Some(NAMELESS.to_owned());
                }
                // `Generic: _SpecialForm`, `declare var HTMLElement`.
                let is_value = !is_inside && declares.kind == Kind::Variable;
                is_known |= is_class || is_value;
                if is_class {
                    open.extend(declares.marks.bases.iter().map(|base| spot(&target.path, base)));
                }
            }
            if !is_known {
                return Some(format!("{word} (whose members are unknown)"));
            }
        }
        None
    }
}

/// True if the code of a declaration contains a name.
fn names_in(sheets: &Sheets, spot: &Spot, declares: &Declares, name: &str) -> bool {
    let text = sheets.get(&spot.path).unwrap_or_default().as_bytes();
    let Some(language) = Language::detect(&spot.path, text) else { return false };
    let starts = word_starts(&Finder::new(name), text.get(declares.bytes.clone()).unwrap_or_default(), name);
    let starts: Vec<usize> = starts.into_iter().map(|at| declares.bytes.start + at).collect();
    let all = || occurrences(language, text, name, &starts, sheets.until());
    // A declaration that cannot be parsed in time may have it.
    !starts.is_empty() && all().is_none_or(|parsed| parsed.all.iter().any(|one| one.class != Class::Mention))
}

/// Returns the interface outside of the project that a Go method implements.
async fn interface(inquiry: &mut Inquiry<'_>, one: &Definition) -> Option<String> {
    // Another package cannot use a name that is not exported.
    if !inquiry.found.question.name.starts_with(char::is_uppercase) {
        return None;
    }
    let own = Spot::at(inquiry.sheets.path(&one.path), one.at);
    let Ok(all) = inquiry.ask("textDocument/implementation", &own).await else {
        return Some("an interface that gopls does not name".to_owned());
    };
    let outside = all.iter().find(|place| !inquiry.sheets.relative_path(&place.path).is_some_and(is_of_the_project))?;
    let package = outside.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Some(format!("an interface of {}, which the project does not define", package.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_rust_that_may_call() {
        for (mark, said) in [
            ("inline(always)", None),
            ("no_mangle", Some("no_mangle")),
            ("unsafe(export_name = \"x\")", Some("export_name")),
            ("cfg_attr(docsrs, doc(cfg(feature = \"x\")))", None),
            ("cfg_attr(all(unix, mobile), inline, tauri::mobile_entry_point)", Some("tauri::mobile_entry_point")),
            ("clippy::all", None),
            ("tool(name = \"x\")", Some("tool")),
        ] {
            assert_eq!(in_rust(rules("Rust"), mark), said, "{mark}");
        }
    }

    #[test]
    fn decorators_of_python_that_may_call() {
        for (mark, said) in [
            ("property", true),
            ("functools.lru_cache(maxsize=None)", true),
            ("area.setter", true),
            ("pytest.mark.parametrize('x', [1])", true),
            ("pytest.fixture", false),
            ("app.cache", false),
            ("(made())", false),
            ("app.route('/')", false),
        ] {
            assert_eq!(is_inert_in_python(rules("Python"), head(mark)), said, "{mark}");
        }
    }

    #[test]
    fn operators_of_cpp() {
        assert!(["operator+", "operator bool", "operator()", "~A", "+"].into_iter().all(is_operator));
        assert!(!["operators", "operator_of", "area"].into_iter().any(is_operator));
    }
}
