//! Calls in the body of a definition: every name that is called or passed on, and the project's definitions of that
//! name; on request the types that it names. Candidates are found by name and narrowed by qualifier, receiver and file; all that remain are given. A
//! language server then resolves each call: [`judge`].

mod call_resolution;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::answer::{Texts, define};
use crate::definition::{Definition, definition, functions, tell_functions};
use crate::judgement::{Code, Verdict};
use crate::line_column::Lines;
use crate::search::{Hit, NoAnswer, Scope, Skipped, Why, read, search_by};
use crate::syntax::{
    C_AND_CPP, Class, Declaration, Kind, Language, Occurrence, SCRIPTS, bare_name, declarations, family,
    has_bound_methods, is_word, last_word, occurrences_within, parsed_at, word_ranges,
};

pub(crate) use call_resolution::judge;

#[derive(Debug, Clone)]
pub(crate) struct CallSite {
    pub path: Arc<Path>,
    pub language: Language,
    pub line: usize,
    pub column: usize,
    /// Offset in the text of its file.
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
    /// Verdict, the same for all sites.
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

/// Result of the search.
#[derive(Debug)]
pub(crate) struct Callees {
    pub definitions: Vec<Definition>,
    /// In the order of the first calls.
    pub callees: Vec<Callee>,
    /// Functions that C++ declares in namespaces.
    functions: BTreeSet<String>,
    /// Number of sites that are not calls according to the language server.
    pub refuted: usize,
    pub files: usize,
    pub skipped: Vec<Skipped>,
    /// Texts of the files that contain the bodies.
    pub texts: Texts,
}

/// The syntax of a called name that distinguishes definitions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CallForm {
    name: String,
    family: &'static str,
    path: Arc<Path>,
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

/// The definitions that a walk has looked up, by name. A file that changes during the walk is not read again.
#[derive(Debug, Clone, Default)]
pub struct KnownDefinitions(Arc<Mutex<BTreeMap<String, Vec<Definition>>>>);

impl KnownDefinitions {
    /// Returns all definitions of some names, and searches only those that are not known.
    pub(crate) fn declared(
        &self,
        scope: &Scope,
        names: &HashSet<&[u8]>,
    ) -> (BTreeMap<String, Vec<Definition>>, usize, Vec<Skipped>) {
        let mut known = self.0.lock();
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let new: HashSet<&[u8]> = names.iter().copied().filter(|name| !known.contains_key(&text(name))).collect();
        let (mut all, files, skipped) =
            if new.is_empty() { (BTreeMap::new(), 0, Vec::new()) } else { declared(scope, &new) };
        // A search that was cut off is made again.
        if !scope.is_over() {
            known.extend(new.iter().map(|name| (text(name), all.get(&text(name)).cloned().unwrap_or_default())));
        }
        all.extend(names.iter().filter_map(|name| Some((text(name), known.get(&text(name))?.clone()))));
        (all, files, skipped)
    }
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

/// Returns the callees of a name's definitions.
pub(crate) fn callees(
    scope: &Scope,
    asked: &str,
    wanted: BodyNames,
    known: Option<&KnownDefinitions>,
) -> Result<Callees, NoAnswer> {
    let found = define(scope, asked)?;
    if found.definitions.is_empty() {
        let problem = format!("`{}` is {}, so its body is unknown", found.question.name, found.undefined());
        return Err(NoAnswer(format!("{problem}; find_callers shows who calls it")));
    }
    // Only the bodies matter here.
    let mut skipped: Vec<Skipped> = found.skipped.into_iter().filter(|one| one.why != Why::Broken).collect();
    let mut called: Vec<(CallForm, CallSite)> = Vec::new();
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
        let is_inside = |site: &CallSite| methods.iter().any(|bytes| bytes.contains(&site.at));
        let calls = calls(body, &text, &parsed.all, wanted != BodyNames::Calls);
        called.extend(calls.into_iter().filter(|(_, site)| !is_inside(site)));
        texts.insert(body.path.clone(), text.into());
    }
    let mut names: HashSet<&[u8]> = called.iter().map(|(called, _)| called.name.as_bytes()).collect();
    // A walk asks for these next.
    if known.is_some() {
        let containers = found.definitions.iter().filter_map(|one| one.inside.last()).flatten();
        names.extend(containers.chain([&found.question.name]).map(|name| name.as_bytes()));
    }
    let whole = Scope { below: scope.root.clone(), ..scope.clone() };
    let (declared, files, others) = match known {
        Some(known) => known.declared(&whole, &names),
        None => declared(&whole, &names),
    };
    skipped.extend(others.into_iter().filter(|one| !skipped.contains(one)).collect::<Vec<_>>());
    skipped.sort();
    let mut callees: Vec<Callee> = Vec::new();
    for (called, site) in called {
        let of_name = declared.get(&called.name).map(Vec::as_slice).unwrap_or_default();
        let definitions = resolve(&called, of_name);
        // A value that is not a function of the project is a local or a constant, and is dropped. If the body binds a
        // local of that name, only the language server can tell.
        let is_function = |one: &Definition| matches!(one.kind, Kind::Function | Kind::Method | Kind::Macro);
        let may_be = if called.is_bound { of_name } else { &definitions[..] };
        let is_data = !definitions.is_empty() && definitions.iter().all(|one| one.kind == Kind::Constructor);
        if is_data
            || called.is_value && !may_be.iter().any(|one| is_function(one) && family(one.language) == called.family)
        {
            continue;
        }
        let callee = Callee {
            name: called.name,
            definitions,
            is_value: called.is_value,
            is_type: called.is_type,
            is_local: called.is_bound,
            made_at: None,
            verdict: Verdict::Undecided(Code::Absent),
            sites: vec![site],
        };
        add(&mut callees, callee);
    }
    let functions = functions(declared.values().flatten());
    callees.iter_mut().for_each(|one| tell_functions(&mut one.definitions, &functions));
    Ok(Callees { definitions: found.definitions, callees, functions, refuted: 0, files, skipped, texts })
}

/// Returns the ranges of the methods of a class, except its constructor.
fn methods(class: &Definition, text: &[u8], scope: &Scope) -> Vec<Range<usize>> {
    let mut open = declarations(class.language, text, scope.until).unwrap_or_default();
    while let Some(one) = open.pop() {
        if one.at == class.at {
            let is_method =
                |one: &Declaration| one.kind == Kind::Method && !matches!(&*one.name, "__init__" | "constructor");
            return one.members.into_iter().filter(is_method).map(|one| one.bytes).collect();
        }
        open.extend(one.members);
    }
    Vec::new()
}

/// Adds a callee, or adds its sites to an equal one.
fn add(callees: &mut Vec<Callee>, callee: Callee) {
    match callees.iter_mut().find(|known| known.is_same(&callee)) {
        Some(known) => known.sites.extend(callee.sites),
        None => callees.push(callee),
    }
}

/// Returns the names that a body calls or passes on, and its types if `with_types`, from all names in its file.
fn calls(body: &Definition, text: &[u8], all: &[Occurrence], with_types: bool) -> Vec<(CallForm, CallSite)> {
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
        let is_member =
            one.is_member || one.tokens.is_some() && before.as_deref().is_some_and(|_| is_dot(text, &one.bytes));
        let is_bound = !is_member && !one.is_qualified && bound.contains(&name);
        // A name renamed by an import is looked up by its original name.
        let own_name = imported.get(name.as_str()).filter(|_| !is_bound && !is_member && before.is_none()).cloned();
        let called = CallForm {
            is_imported: own_name.is_some(),
            family: family(body.language),
            path: body.path.clone(),
            is_bound,
            before,
            is_member,
            is_value: !matches!(one.class, Class::Call | Class::Construct | Class::Type),
            is_type: one.class == Class::Type || one.class == Class::Construct && !is_class,
            constructs: one.class == Class::Construct,
            own: body.inside.last().cloned().unwrap_or_default(),
            name: own_name.unwrap_or(name),
        };
        let (line, column) = (lines.line(one.bytes.start), lines.column(one.bytes.start));
        let at = one.bytes.start;
        found.push((called, CallSite { path: body.path.clone(), language: body.language, line, column, at }));
    }
    found
}

/// True for keywords among the tokens of a macro.
fn is_keyword(language: Language, word: &[u8]) -> bool {
    language == Language::Rust
        && matches!(word, b"if" | b"match" | b"while" | b"return" | b"in" | b"for" | b"fn" | b"mut")
}

fn is_dot(text: &[u8], place: &Range<usize>) -> bool {
    text[..place.start].trim_ascii_end().ends_with(b".")
}

/// Returns the qualifier before a name: `Shape` in `Shape::area`, `self` in `self.area`, `G` in `G.area`. Empty if it
/// is not a word.
fn qualifier_before(language: Language, text: &[u8], start: usize) -> Option<String> {
    let before = text[..start].trim_ascii_end();
    let rest = before
        .strip_suffix(b"::")
        .or_else(|| before.strip_suffix(b"?."))
        .or_else(|| {
            before.strip_suffix(b".").filter(|rest| {
                language != Language::Haskell || before.len() == start && rest.last().is_some_and(|last| is_word(*last))
            })
        })
        .or_else(|| before.strip_suffix(b"->").filter(|_| matches!(language, Language::C | Language::Cpp)))?;
    let rest = rest.trim_ascii_end();
    // `Vec::<u8>::new`, `Shape<T>::area`.
    let rest =
        if rest.ends_with(b">") { rest.rsplitn(2, |byte| *byte == b'<').last().unwrap_or_default() } else { rest };
    let rest = rest.strip_suffix(b"::").unwrap_or(rest);
    Some(String::from_utf8_lossy(last_word(rest)).into_owned())
}

/// Returns the definitions that a called name can refer to.
fn resolve(called: &CallForm, all: &[Definition]) -> Vec<Definition> {
    if called.is_bound {
        return Vec::new();
    }
    let is_method = |one: &Definition| matches!(one.kind, Kind::Method | Kind::Field);
    let is_called = |one: &Definition| match one.kind {
        _ if called.is_type => one.kind.is_type(),
        Kind::Function | Kind::Method | Kind::Macro | Kind::Constructor => true,
        Kind::Class | Kind::Struct => called.constructs || matches!(called.family, "Python" | SCRIPTS | C_AND_CPP),
        // A function held by a variable, or a function pointer.
        Kind::Variable | Kind::Constant | Kind::Field => !called.is_value,
        _ => false,
    };
    let mut left: Vec<Definition> =
        all.iter().filter(|one| family(one.language) == called.family && is_called(one)).cloned().collect();
    let inside = |one: &Definition, name: &str| one.inside.iter().any(|names| names.iter().any(|other| other == name));
    let in_file = |one: &Definition, name: &str| {
        let mut names =
            one.path.iter().filter_map(|part| part.to_str()).map(|part| part.split('.').next().unwrap_or(part));
        names.any(|part| part == name)
    };
    let in_module = |one: &Definition, name: &str| inside(one, name) || in_file(one, name) && one.inside.is_empty();
    let by_dot = matches!(called.family, "Python" | SCRIPTS | "Go");
    match called.before.as_deref() {
        Some("self" | "this" | "Self" | "cls") => {
            let own = |one: &Definition| called.own.iter().any(|name| inside(one, name));
            if left.iter().any(own) {
                left.retain(own);
            } else if called.is_member {
                left.retain(is_method);
            }
        }
        Some("crate" | "super") => left.retain(|one| !is_method(one)),
        // The type of a receiver is unknown, unless it is a module or a type.
        Some(name) if called.is_member => {
            if left.iter().any(|one| in_module(one, name)) && by_dot {
                left.retain(|one| in_module(one, name));
            } else if !by_dot || !is_upper(name) && left.iter().any(is_method) && called.family != "Go" {
                left.retain(is_method);
            }
        }
        // `Vec::new` cannot be the `new` of another type.
        Some(name) if !name.is_empty() && called.family != "Haskell" => left.retain(|one| in_module(one, name)),
        Some(_) => {}
        None => {
            // Without a receiver no method is meant, except in languages where methods are in scope.
            if called.family != C_AND_CPP && called.family != "Haskell" {
                left.retain(|one| !is_method(one));
            }
            let own: Vec<Definition> =
                left.iter().filter(|one| (one.path == called.path) != called.is_imported).cloned().collect();
            if !own.is_empty() {
                left = own;
            }
        }
    }
    // In C++ a constructor has the name of its class.
    let makes =
        |one: &Definition| one.kind == Kind::Method && one.inside.last().is_some_and(|of| of.contains(&called.name));
    if left.iter().any(makes) {
        left.retain(makes);
    }
    // A prototype and its definition count as one.
    if left.iter().any(|one| !one.is_signature)
        && left.iter().all(|one| matches!(one.language, Language::C | Language::Cpp | Language::Haskell))
    {
        left.retain(|one| !one.is_signature);
    }
    left
}

fn is_upper(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn declared(scope: &Scope, names: &HashSet<&[u8]>) -> (BTreeMap<String, Vec<Definition>>, usize, Vec<Skipped>) {
    let places = |language: Language, text: &[u8]| -> Vec<Range<usize>> {
        let is_wanted =
            |place: &Range<usize>| names.contains(&text[place.clone()]) && may_declare(language, text, place.start);
        word_ranges(language, text).into_iter().filter(is_wanted).collect()
    };
    let starts =
        |language: Language, text: &[u8]| places(language, text).into_iter().map(|place| place.start).collect();
    let searched = search_by(scope, starts);
    let mut skipped = searched.skipped;
    let mut found: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    let parse = |hit: &Hit| parsed_at(hit.language, &hit.text, &places(hit.language, &hit.text), scope.until);
    for (hit, parsed) in crate::answer::in_turns(&searched.hits, parse) {
        let Some(parsed) = parsed else {
            skipped.push(Skipped::new(hit.path.clone(), scope.why_not_parsed(), 0));
            continue;
        };
        let path: Arc<Path> = hit.path.as_path().into();
        let lines = Lines::new(&hit.text);
        for one in &parsed.all {
            let Some(declares) = &one.declares else { continue };
            let name = String::from_utf8_lossy(bare_name(&hit.text[one.bytes.clone()])).into_owned();
            let definition = definition(hit, &path, &lines, one, declares, &name);
            let all = found.entry(name).or_default();
            if !crate::definition::is_clause(all.last(), &definition) {
                all.push(definition);
            } else if let Some(last) = all.last_mut().filter(|last| last.is_signature) {
                *last = definition;
            }
        }
    }
    (found, searched.files, skipped)
}

/// The keywords before a declared name in Rust. Fields and variants have no keyword.
const RUST_DECLARING: [&[u8]; 15] = [
    b"fn", b"struct", b"enum", b"union", b"trait", b"type", b"const", b"static", b"mut", b"mod", b"macro", b"pub",
    b"crate", b"as", b"ref",
];

/// True if the text before a name in its line permits a declaration. It avoids parsing files that only call the name.
fn may_declare(language: Language, text: &[u8], start: usize) -> bool {
    // Only the adjacent text is examined, because a line may be as long as its file.
    let mut before = in_line(&text[..start]);
    if language == Language::Rust {
        before = before.strip_suffix(b"r#").map_or(before, in_line);
    }
    match (before.last(), language) {
        (None, _) => true,
        (Some(last), Language::Haskell) => is_word(*last) || b"|={,(:;".contains(last),
        (Some(b'.'), Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Python) => {
            let after = text[start..].iter().position(|byte| !is_word(*byte)).map_or(text.len(), |end| start + end);
            text[after..].trim_ascii_start().starts_with(b"=")
        }
        (Some(b':' | b'('), Language::C | Language::Cpp) => true,
        (Some(last), Language::Rust) if is_word(*last) => {
            let start = before.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
            RUST_DECLARING.contains(&&before[start..])
        }
        (Some(last), Language::Rust) => b")!{,;}".contains(last),
        (Some(last), _) => is_word(*last) || b"*&)!>~{,;}".contains(last),
    }
}

/// Returns the text without trailing blanks; empty if its last line is blank.
fn in_line(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !byte.is_ascii_whitespace() || *byte == b'\n');
    end.filter(|end| text[*end] != b'\n').map_or(b"", |end| &text[..=end])
}
