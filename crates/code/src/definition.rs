//! Definitions of a name, and the selection of those that a question means.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use syntax::{
    Class, Declares, Kind, Language, MAKES_ATTRIBUTES, Marks, Occurrence, SCRIPTS, family, is_pure_virtual, occurrences,
};

use crate::line_column::Lines;
use crate::question::Question;
use crate::search::{Hit, NoAnswer, Scope, Skipped, Why, has_sources, search, unread_parts};
use crate::suggestions::{members, similar_names};

#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub kind: Kind,
    pub language: Language,
    /// Relative to the root.
    pub path: Arc<Path>,
    pub line: usize,
    /// The enclosing declarations, outermost first, each with all of its names.
    pub inside: Vec<Vec<String>>,
    /// The qualified name for display.
    pub label: String,
    pub is_signature: bool,
    /// True for a pure virtual method in C++ (`= 0`) that has no body anywhere.
    pub is_pure: bool,
    /// The offset of its name.
    pub at: usize,
    /// The whole definition.
    pub bytes: Range<usize>,
    /// True if it consists of its name only.
    pub is_bare: bool,
    /// True for an embedded field in Go, which takes the name of its type.
    pub is_embedded: bool,
    /// The trait that declares this method.
    pub of_trait: Option<OfTrait>,
    pub marks: Marks,
}

/// The trait of a method in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfTrait {
    /// The last segment of its path.
    pub name: String,
    /// True if the method implements the trait, false if it is declared in the trait.
    pub is_impl: bool,
}

/// Returns the trait of a method declaration.
pub(crate) fn of_trait(language: Language, one: &Occurrence) -> Option<OfTrait> {
    let around = one.enclosing.last().filter(|_| language == Language::Rust)?;
    match (around.kind, &around.names[..]) {
        (Kind::Interface, [name, ..]) => Some(OfTrait { name: name.clone(), is_impl: false }),
        (Kind::Impl, [_, name]) => Some(OfTrait { name: name.clone(), is_impl: true }),
        _ => None,
    }
}

impl Definition {
    /// Returns a definition of which only its place and name are known.
    pub(crate) fn plain(
        kind: Kind,
        language: Language,
        (path, line, at): (&Arc<Path>, usize, usize),
        label: String,
    ) -> Self {
        Definition {
            kind,
            language,
            path: path.clone(),
            line,
            inside: Vec::new(),
            label,
            is_signature: false,
            is_pure: false,
            at,
            bytes: at..at,
            is_bare: false,
            is_embedded: false,
            of_trait: None,
            marks: Marks::default(),
        }
    }

    /// True if it is declared like a constructor among the methods of a class of this name.
    pub(crate) fn is_constructor(&self, name: &str) -> bool {
        self.kind == Kind::Method
            && match self.language {
                Language::Cpp => self.inside.last().is_some_and(|names| names.iter().any(|one| one == name)),
                _ => family(self.language) == SCRIPTS && name == "constructor",
            }
    }

    /// True if it is in no file of the project.
    pub(crate) fn is_outside(&self) -> bool {
        self.path.is_absolute()
    }

    /// Formats the definition, such as `src/geo.rs:12 function Shape::area`.
    pub(crate) fn describe(&self) -> String {
        format!("{}:{} {} {}", project::visible::path(&self.path), self.line, self.kind.word(), self.label)
    }
}

/// The maximum number of definitions that one answer may combine.
const MAX_DEFINITIONS: usize = 8;
/// The maximum number of definitions that an error lists.
pub(crate) const MAX_LISTED: usize = 20;

pub(crate) fn definition(
    hit: &Hit,
    path: &Arc<Path>,
    lines: &Lines<'_>,
    one: &Occurrence,
    declares: &Declares,
    name: &str,
) -> Definition {
    let mut inside: Vec<Vec<String>> = one.enclosing.iter().map(|place| place.names.clone()).collect();
    inside.extend(declares.within.iter().map(|name| vec![name.clone()]));
    let mut labels: Vec<String> = one.enclosing.iter().map(|place| place.label.clone()).collect();
    // A field that a constructor creates belongs to the class.
    if declares.kind == Kind::Field
        && labels.last().is_some_and(|last| last == "constructor" || MAKES_ATTRIBUTES.contains(&&**last))
    {
        labels.pop();
        inside.pop();
    }
    labels.extend(declares.within.iter().cloned());
    labels.push(name.to_owned());
    let at = one.bytes.start;
    let label = labels.join(separator(hit.language));
    Definition {
        inside,
        is_signature: declares.is_signature,
        is_pure: hit.language == Language::Cpp && is_pure_virtual(&hit.text, at),
        bytes: declares.bytes.clone(),
        marks: declares.marks.clone(),
        of_trait: of_trait(hit.language, one).filter(|_| declares.kind == Kind::Method),
        is_embedded: one.embeds(),
        is_bare: hit.text.get(declares.bytes.clone()).is_some_and(|text| is_bare(text, name)),
        ..Definition::plain(declares.kind, hit.language, (path, lines.line(at), at), label)
    }
}

/// True if a declaration has only a name, or a name and a number: `Big = 2`.
fn is_bare(text: &[u8], name: &str) -> bool {
    let rest = text.strip_prefix(name.as_bytes()).map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

/// Returns the labels of functions that C++ declares in namespaces.
pub(crate) fn functions<'a>(all: impl IntoIterator<Item = &'a Definition>) -> BTreeSet<String> {
    let functions = all.into_iter().filter(|one| one.language == Language::Cpp && one.kind == Kind::Function);
    functions.map(|one| one.label.clone()).collect()
}

/// Corrects the kind of functions in namespaces: outside of its namespace, a definition looks like a method.
pub(crate) fn tell_functions<'a>(all: impl IntoIterator<Item = &'a mut Definition>, functions: &BTreeSet<String>) {
    let defined = all.into_iter().filter(|one| one.language == Language::Cpp && one.kind == Kind::Method);
    defined.filter(|one| functions.contains(&one.label)).for_each(|one| one.kind = Kind::Function);
}

/// Adds a definition. Haskell repeats the name in each clause and in the signature, which are one definition.
pub(crate) fn add_definition(all: &mut Vec<Definition>, next: Definition, text: &[u8]) {
    let is_same = |last: &Definition| {
        next.language == Language::Haskell
            && matches!(next.kind, Kind::Function | Kind::Method)
            && (&last.path, last.kind, &last.inside) == (&next.path, next.kind, &next.inside)
            && !next.is_signature
    };
    match all.last_mut().filter(|last| is_same(last)) {
        None => all.push(next),
        Some(last) if last.is_signature => {
            // The other names of a shared signature may have clauses in between.
            let between = text.get(last.bytes.end..next.bytes.start).unwrap_or_default().trim_ascii();
            let is_near = between.is_empty() || between.starts_with(b"--");
            let start = if is_near { last.bytes.start } else { next.bytes.start };
            *last = Definition { bytes: start..next.bytes.end, ..next };
        }
        Some(last) => last.bytes.end = next.bytes.end,
    }
}

pub(crate) fn separator(language: Language) -> &'static str {
    match language {
        Language::Rust | Language::C | Language::Cpp => "::",
        _ => ".",
    }
}

/// Where the searched text has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mentions {
    None,
    /// Only in places where the syntax has no name.
    OfNoName,
    Some,
}

/// Selects the definitions that the question means; none for a name from outside of the project. `is_behind` is true if the
/// name stands behind its qualifier anywhere.
pub(crate) fn chosen(
    question: &Question,
    all: Vec<Definition>,
    scope: &Scope,
    mentions: Mentions,
    is_behind: bool,
    skipped: &[Skipped],
) -> Result<Vec<Definition>, NoAnswer> {
    // An embedded field must be selected by its line or type; otherwise its name is a use of that type.
    let is_field = |one: &Definition| {
        let holder = one.inside.last().zip(question.qualifiers.last());
        question.line.is_some() || holder.is_some_and(|(names, qualifier)| names.contains(qualifier))
    };
    let all: Vec<Definition> = all.into_iter().filter(|one| !one.is_embedded || is_field(one)).collect();
    let is_meant = |definition: &Definition| {
        question.fits_file(&definition.path)
            && question.line.is_none_or(|line| definition.line == line)
            && is_inside(&question.qualifiers, definition)
    };
    let (mut meant, others): (Vec<Definition>, Vec<Definition>) = all.into_iter().partition(is_meant);
    // A type and its constructor may be on the same line.
    let is_there =
        |one: &Definition| question.at.as_ref().is_some_and(|(path, at)| (&*one.path, one.at) == (path, *at));
    if meant.iter().any(is_there) {
        meant.retain(is_there);
    }
    // `geo::area` means the function of the module. Without such a function, methods of types in the module count.
    if meant.iter().any(|one| is_directly_inside(question, one)) {
        meant.retain(|one| is_directly_inside(question, one));
    }
    let name = &question.name;
    if meant.is_empty() {
        let besides = left_out(skipped);
        let has = question.qualifiers.last().and_then(|of| has(scope, of));
        if !others.is_empty() && is_behind {
            // `Vec::new` in a project with another `new`.
            return Ok(meant);
        }
        if !others.is_empty() {
            let (whole, others, has) = (&question.whole, listed(&others), has.unwrap_or_default());
            return Err(NoAnswer(format!("`{whole}` does not exist{has}; `{name}` is {others}{besides}")));
        }
        if mentions == Mentions::OfNoName && skipped.is_empty() {
            let problem = "occurs in the source files only as a keyword or inside other words, never as a name";
            return Err(NoAnswer(format!("`{name}` {problem}")));
        }
        if mentions != Mentions::Some {
            if !has_sources(scope) {
                let below = project::visible::path(&scope.below);
                return Err(NoAnswer(format!("no file in {below} is in a supported language: {}", Language::KNOWN)));
            }
            let near = similar_names(scope, name);
            let next = match (near.is_empty(), besides.is_empty()) {
                (true, true) if has.is_none() => "; outline lists what a file declares".to_owned(),
                (true, _) => String::new(),
                (false, _) => format!("; similar names: {}", near.join(", ")),
            };
            let next = has.unwrap_or_default() + &next;
            let root = project::visible::path(&scope.root);
            let parsed = if besides.is_empty() { "the source files of" } else { "the parsed files of" };
            return Err(NoAnswer(format!("`{name}` is not in {parsed} {root}{next}{besides}")));
        }
        if let Some(of) = question.qualifiers.last().filter(|of| !is_behind && !is_named(scope, of)) {
            let near = similar_names(scope, of);
            let near = if near.is_empty() { String::new() } else { format!("; similar names: {}", near.join(", ")) };
            let problem = format!("`{}` does not exist: nothing here is named `{of}`{near}", question.whole);
            let alone = || format!("; ask for `{name}` alone to see all of that name");
            let next = is_named(scope, name).then(alone).unwrap_or_default();
            return Err(NoAnswer(format!("{problem}{next}{besides}")));
        }
        // The name is defined outside of the project.
        return Ok(meant);
    }
    // A prototype and the definition that it declares are one.
    let has_body = |one: &Definition| {
        meant.iter().any(|other| {
            !other.is_signature && other.inside == one.inside && other.language.word() == one.language.word()
        })
    };
    let kept: Vec<Definition> = meant
        .iter()
        .filter(|one| {
            // An overload may have a body.
            !one.is_signature
                || one.is_pure
                || one.inside.iter().any(|_| true) && one.language != Language::Cpp
                || !has_body(one)
        })
        .cloned()
        .collect();
    if kept.len() > MAX_DEFINITIONS {
        return Err(too_many(question, &kept, true));
    }
    Ok(kept)
}

/// Returns the error that lists these definitions and asks for one of them. `are_all` is false if there are more.
pub(crate) fn too_many(question: &Question, known: &[Definition], are_all: bool) -> NoAnswer {
    let (whole, many) = (&question.whole, known.len());
    let place = |one: &Definition| format!("{}:{}", project::visible::path(&one.path), one.line);
    let first = known.first().map(place).unwrap_or_default();
    let (more, listed) =
        if are_all { ("", listed(known)) } else { ("more than ", format!("{}; and others", listed(known))) };
    NoAnswer(format!("`{whole}` has {more}{many} definitions: {AMBIGUOUS}, such as `{first}`. {listed}"))
}

/// The part of an error about a name with too many definitions by which it is recognized.
pub const AMBIGUOUS: &str = "name one";

/// The line of an answer about a name that no file declares.
pub(crate) const NOWHERE: &str = "not defined in this project";

/// Explains that no definition was found, and which files may hold one.
pub(crate) fn undefined(skipped: &[Skipped]) -> String {
    if let Some(parts) = unread_parts(skipped) {
        return format!("not defined in the parsed parts; {parts}, which may define it");
    }
    if let Some(one) = skipped.iter().find(|one| one.why == Why::Makes) {
        return format!(
            "not defined according to syntax, but {}: {}",
            project::visible::path(&one.path),
            one.why.describe()
        );
    }
    if skipped.is_empty() { NOWHERE.to_owned() } else { "not defined in the files that were parsed".to_owned() }
}

/// True if code of the project uses the name.
fn is_named(scope: &Scope, name: &str) -> bool {
    let names_it = |hit: &Hit| {
        let parsed = occurrences(hit.language, &hit.text, name, &hit.starts, scope.until);
        parsed.is_none_or(|parsed| parsed.all.iter().any(|one| one.class != Class::Mention))
    };
    let searched = search(&scope.whole(), name);
    searched.skipped.iter().any(|one| one.mentions > 0) || searched.hits.iter().any(names_it)
}

/// Lists the members of a type that lacks the requested one.
fn has(scope: &Scope, of: &str) -> Option<String> {
    let all = members(scope, of);
    let more = all.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = all.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    (!shown.is_empty()).then(|| project::visible(&format!("; {of} has {shown}{rest}")))
}

fn listed(definitions: &[Definition]) -> String {
    limited(definitions.iter().map(Definition::describe))
}

/// Joins texts, and tells how many are left out.
fn limited(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MAX_LISTED);
    let rest = (more > 0).then(|| format!("and {more} more"));
    all.take(MAX_LISTED).chain(rest).collect::<Vec<_>>().join("; ")
}

/// Lists the files that were not parsed and may hold the name.
fn left_out(skipped: &[Skipped]) -> String {
    let one = |skipped: &Skipped| {
        let times = match skipped.mentions {
            0 => String::new(),
            1 => " mentions it once".to_owned(),
            times => format!(" mentions it {times} times"),
        };
        format!("{}{times} ({})", project::visible::path(&skipped.path), skipped.why.describe())
    };
    if skipped.is_empty() { String::new() } else { format!("; {}", limited(skipped.iter().map(one))) }
}

/// True if the qualifiers match the end of the definition's surroundings, which include its file and folders.
pub(crate) fn is_inside(qualifiers: &[String], definition: &Definition) -> bool {
    // In Rust `src` is not a module, and a crate name uses `_` instead of `-`.
    let is_rust = definition.language == Language::Rust;
    let module = |name: &str| if is_rust { name.replace('-', "_") } else { name.to_owned() };
    let path = definition.path.with_extension("");
    let folders = path.iter().map(|name| name.to_string_lossy()).filter(|name| !is_rust || *name != "src");
    let mut around: Vec<Vec<String>> = folders.map(|name| vec![module(&name)]).collect();
    let declared = around.len();
    around.extend(definition.inside.iter().cloned());
    // Matching starts at the end. Outer levels may be skipped, but the last qualifier must be the type or the file.
    let mut at = around.len();
    for (number, qualifier) in qualifiers.iter().rev().enumerate() {
        let Some(next) = around[..at].iter().rposition(|names| names.contains(qualifier)) else { return false };
        // `mod.rs`, `index.ts`, `__init__.py` and Go files do not name their module.
        let gap = at - 1 - next;
        if number == 0 && next < declared && (definition.inside.len() > 1 || gap > definition.inside.len() + 1) {
            return false;
        }
        at = next;
    }
    true
}

/// True if the last qualifier is the innermost surrounding of the definition, as its file shows it.
fn is_directly_inside(question: &Question, definition: &Definition) -> bool {
    let Some(qualifier) = question.qualifiers.last() else { return true };
    definition.inside.last().is_none_or(|nearest| nearest.contains(qualifier))
}
