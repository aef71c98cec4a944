//! Calls in the body of a definition: every name that is called or passed on, and the project's definition of it; on request
//! the types that it names.
//!
//! - `by_name`: the definitions that a name can refer to, without a language server.
//! - `call_resolution`: resolves the calls with a language server, and by name where it is not ready.

mod by_name;
mod call_resolution;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use syntax::{
    Class, Declaration, Kind, Language, Occurrence, bare_name, declarations, has_bound_methods, is_word, last_word,
    occurrences_within,
};

use crate::answer::{Texts, define};
use crate::definition::Definition;
use crate::judgement::Verdict;
use crate::line_column::Lines;
use crate::name_at_position::flattened;
use crate::search::{NoAnswer, Scope, Skipped, Why, read};

pub use by_name::KnownDefinitions;
pub(crate) use call_resolution::judge;

#[derive(Debug, Clone)]
pub(crate) struct CallSite {
    pub path: Arc<Path>,
    pub language: Language,
    pub line: usize,
    pub column: usize,
    pub at: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Callee {
    pub name: String,
    /// Candidate definitions; empty if the project defines no such name.
    pub definitions: Vec<Definition>,
    /// True if the name is passed on rather than called.
    pub is_value: bool,
    /// True if the name is a type, in a signature or in the body.
    pub is_type: bool,
    /// True if a parameter or variable of the body holds the function.
    pub is_local: bool,
    /// The location given by the language server if no declaration is there, and its kind: a module, or a macro that generates it.
    pub made_at: Option<(Arc<Path>, usize, Kind)>,
    pub verdict: Verdict,
    pub sites: Vec<CallSite>,
}

impl Callee {
    /// True if it is not defined in the project.
    pub(crate) fn is_external(&self) -> bool {
        match (&self.definitions[..], &self.made_at) {
            ([], None) => true,
            ([], Some((path, ..))) => path.is_absolute(),
            (all, _) => all.iter().all(|one| one.path.is_absolute()),
        }
    }

    /// True if it differs from another one only in its sites.
    fn is_same(&self, other: &Callee) -> bool {
        let place = |one: &Definition| (one.path.clone(), one.at);
        self.name == other.name
            && (self.is_value, self.is_type) == (other.is_value, other.is_type)
            && (self.is_local, self.verdict) == (other.is_local, other.verdict)
            && self.made_at == other.made_at
            && self.definitions.iter().map(place).eq(other.definitions.iter().map(place))
    }
}

/// The definitions of a name, and the calls in their bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    pub definitions: Vec<Definition>,
    /// In the order of the text.
    calls: Vec<CallForm>,
    pub skipped: Vec<Skipped>,
    pub texts: Texts,
}

/// The callees of a name's definitions.
#[derive(Debug)]
pub(crate) struct Callees {
    pub definitions: Vec<Definition>,
    /// In the order of the first calls.
    pub callees: Vec<Callee>,
    pub files: usize,
    pub skipped: Vec<Skipped>,
    pub texts: Texts,
}

/// The syntax of a called name that distinguishes definitions.
#[derive(Debug)]
struct CallForm {
    name: String,
    site: CallSite,
    /// Qualifier: a module, a type, `self`.
    before: Option<String>,
    is_member: bool,
    is_value: bool,
    is_type: bool,
    /// True if the body binds a local of that name.
    is_bound: bool,
    is_imported: bool,
    /// True if it is constructed by syntax: `new`, braces.
    constructs: bool,
    /// Type that encloses the body.
    own: Vec<String>,
}

/// The names that are wanted of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyNames {
    /// Those that are called or passed on.
    Calls,
    /// Types too.
    All,
    /// Types too, but of a class only those outside of its methods. Its constructor counts as outside.
    Shape,
}

/// Returns the bodies of a name's definitions.
pub(crate) fn bodies(scope: &Scope, asked: &str, wanted: BodyNames) -> Result<Bodies, NoAnswer> {
    let found = define(scope, asked)?;
    if found.definitions.is_empty() {
        let problem = format!("`{}` is {}, so its body is unknown", found.question.name, found.undefined());
        return Err(NoAnswer(format!("{problem}; find_callers shows who calls it")));
    }
    // Only the bodies matter here.
    let mut skipped: Vec<Skipped> = found.skipped.into_iter().filter(|one| one.why != Why::Broken).collect();
    let mut called: Vec<CallForm> = Vec::new();
    let mut texts = Texts::new();
    for body in &found.definitions {
        let Ok(text) = read(&scope.root.join(&body.path)) else { continue };
        let Some(parsed) = occurrences_within(body.language, &text, 0..text.len(), scope.until) else {
            skipped.push(Skipped::new(body.path.to_path_buf(), scope.why_not_parsed(), 0));
            continue;
        };
        let last = Lines::new(&text).line(body.bytes.end);
        let is_in_body = |part: &(usize, usize)| part.0 <= last && body.line <= part.1;
        let lines: Vec<(usize, usize)> = parsed.unread.iter().copied().filter(is_in_body).collect();
        if !lines.is_empty() {
            skipped.push(Skipped { lines, ..Skipped::new(body.path.to_path_buf(), Why::Unread, 0) });
        }
        let methods = match wanted {
            BodyNames::Shape if body.kind.is_type() => methods(body, &text, scope),
            _ => Vec::new(),
        };
        let is_inside = |call: &CallForm| methods.iter().any(|bytes| bytes.contains(&call.site.at));
        let calls = calls(body, &text, &parsed.all, wanted != BodyNames::Calls);
        called.extend(calls.into_iter().filter(|call| !is_inside(call)));
        texts.insert(body.path.clone(), text.into());
    }
    Ok(Bodies { definitions: found.definitions, calls: called, skipped, texts })
}

/// Returns the ranges of the methods of a class, except its constructor.
fn methods(class: &Definition, text: &[u8], scope: &Scope) -> Vec<Range<usize>> {
    let all = declarations(class.language, text, scope.until).unwrap_or_default();
    let is_method = |one: &&Declaration| one.kind == Kind::Method && !matches!(&*one.name, "__init__" | "constructor");
    let class = flattened(&all).into_iter().find(|one| one.at == class.at);
    let members = class.map(|one| one.members.iter()).unwrap_or_default();
    members.filter(is_method).map(|one| one.bytes.clone()).collect()
}

/// Adds a callee, or adds its sites to an equal one.
fn add(callees: &mut Vec<Callee>, callee: Callee) {
    match callees.iter_mut().find(|known| known.is_same(&callee)) {
        Some(known) => known.sites.extend(callee.sites),
        None => callees.push(callee),
    }
}

/// Returns the names that a body calls or passes on, and its types if `with_types`, from all names in its file.
fn calls(body: &Definition, text: &[u8], all: &[Occurrence], with_types: bool) -> Vec<CallForm> {
    let lines = Lines::new(text);
    let name = |one: &Occurrence| String::from_utf8_lossy(bare_name(&text[one.bytes.clone()])).into_owned();
    let is_import = |one: &&Occurrence| matches!(one.class, Class::Import | Class::Export);
    let imported: HashMap<&str, String> =
        all.iter().filter(is_import).filter_map(|one| Some((one.alias.as_deref()?, name(one)))).collect();
    let is_in_body = |one: &&Occurrence| body.bytes.start <= one.bytes.start && one.bytes.end <= body.bytes.end;
    let all: Vec<&Occurrence> = all.iter().filter(is_in_body).collect();
    let bound: HashSet<String> =
        all.iter().filter(|one| one.class == Class::Binding && one.declares.is_none()).map(|one| name(one)).collect();
    let mut found = Vec::new();
    for one in all {
        // `Circle { … }` and `Circle 1` construct data and call nothing; a class runs its constructor.
        let is_class = !matches!(body.language, Language::Rust | Language::Haskell | Language::Go | Language::C);
        let is_wanted = match one.class {
            Class::Call | Class::Value => true,
            Class::FieldRead => has_bound_methods(body.language),
            // A record is constructed from its type's name.
            Class::Construct => is_class || with_types,
            Class::Type => with_types,
            _ => false,
        };
        if !is_wanted || is_keyword(body.language, &text[one.bytes.clone()]) {
            continue;
        }
        let name = name(one);
        let before = qualifier_before(body.language, text, one.bytes.start);
        let is_after_dot = || text[..one.bytes.start].trim_ascii_end().ends_with(b".");
        let is_member = one.is_member || one.tokens.is_some() && before.is_some() && is_after_dot();
        let is_bound = !is_member && !one.is_qualified && bound.contains(&name);
        // A name renamed by an import is looked up by its original name.
        let own_name = imported.get(name.as_str()).filter(|_| !is_bound && !is_member && before.is_none()).cloned();
        let at = one.bytes.start;
        let (line, column) = (lines.line(at), lines.column(at));
        found.push(CallForm {
            is_imported: own_name.is_some(),
            site: CallSite { path: body.path.clone(), language: body.language, line, column, at },
            is_bound,
            before,
            is_member,
            is_value: !matches!(one.class, Class::Call | Class::Construct | Class::Type),
            is_type: one.class == Class::Type || one.class == Class::Construct && !is_class,
            constructs: one.class == Class::Construct,
            own: body.inside.last().cloned().unwrap_or_default(),
            name: own_name.unwrap_or(name),
        });
    }
    found
}

/// True for keywords among the tokens of a macro.
fn is_keyword(language: Language, word: &[u8]) -> bool {
    language == Language::Rust
        && matches!(word, b"if" | b"match" | b"while" | b"return" | b"in" | b"for" | b"fn" | b"mut")
}

/// Returns the qualifier before a name: `Shape` in `Shape::area`, `self` in `self.area`, `G` in `G.area`. Empty if it
/// is not a word.
fn qualifier_before(language: Language, text: &[u8], start: usize) -> Option<String> {
    let before = text[..start].trim_ascii_end();
    let points: &[&[u8]] = match language {
        Language::C | Language::Cpp => &[b"::", b".", b"->"],
        _ => &[b"::", b"?.", b"."],
    };
    let point = points.iter().find(|point| before.ends_with(point))?;
    let rest = &before[..before.len() - point.len()];
    // In Haskell, a dot with a space around it is an operator.
    let is_close = before.len() == start && rest.last().is_some_and(|last| is_word(*last));
    if language == Language::Haskell && *point == b"." && !is_close {
        return None;
    }
    let rest = rest.trim_ascii_end();
    // `Vec::<u8>::new`, `Shape<T>::area`.
    let rest =
        if rest.ends_with(b">") { rest.rsplitn(2, |byte| *byte == b'<').last().unwrap_or_default() } else { rest };
    let rest = rest.strip_suffix(b"::").unwrap_or(rest);
    Some(String::from_utf8_lossy(last_word(rest)).into_owned())
}
