//! Definitions of a name: what one is, and which of them a question means.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::near::{members, near};
use crate::place::Lines;
use crate::question::Question;
use crate::search::{Hit, NoAnswer, Scope, Skipped, Why, has_sources, search, unread_parts};
use crate::syntax::{
    Class, Declares, Kind, Language, MAKES_ATTRIBUTES, Marks, Occurrence, SCRIPTS, family, is_pure_virtual, occurrences,
};

/// A definition of the name.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub kind: Kind,
    pub language: Language,
    /// Relative to the root.
    pub path: Arc<Path>,
    pub line: usize,
    /// What it is inside of, outermost first; the names of each.
    pub inside: Vec<Vec<String>>,
    /// The same, as it is shown.
    pub label: String,
    pub is_signature: bool,
    /// Whether it is a method of C++ that has no body anywhere: `= 0`.
    pub is_pure: bool,
    /// Where its name begins.
    pub at: usize,
    /// All of it.
    pub bytes: Range<usize>,
    /// Whether it holds nothing but its name.
    pub is_bare: bool,
    /// Whether it is a field without a name of its own, in Go: its type's name is its.
    pub is_embedded: bool,
    /// The trait whose method it is.
    pub of_trait: Option<OfTrait>,
    pub marks: Marks,
}

/// The trait of a method in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfTrait {
    /// Its last name.
    pub name: String,
    /// Whether the method implements it, rather than being declared in it.
    pub is_impl: bool,
}

/// The trait whose method is declared somewhere.
pub(crate) fn of_trait(language: Language, one: &Occurrence) -> Option<OfTrait> {
    let around = one.enclosing.last().filter(|_| language == Language::Rust)?;
    match (around.kind, &around.names[..]) {
        (Kind::Interface, [name, ..]) => Some(OfTrait { name: name.clone(), is_impl: false }),
        (Kind::Impl, [_, name]) => Some(OfTrait { name: name.clone(), is_impl: true }),
        _ => None,
    }
}

impl Definition {
    /// Whether it is a constructor among the methods of a class, under this name.
    pub(crate) fn is_constructor(&self, name: &str) -> bool {
        self.kind == Kind::Method
            && match self.language {
                Language::Cpp => self.inside.last().is_some_and(|names| names.iter().any(|one| one == name)),
                _ => family(self.language) == SCRIPTS && name == "constructor",
            }
    }

    /// Whether it is in no file of the project.
    pub(crate) fn is_outside(&self) -> bool {
        self.path.is_absolute()
    }

    /// `src/geo.rs:12 Shape::area`.
    pub(crate) fn shown(&self) -> String {
        format!("{}:{} {} {}", project::visible::path(&self.path), self.line, self.kind.word(), self.label)
    }
}

/// How many definitions are answered for together.
const MAX_DEFINITIONS: usize = 8;
/// How many of them an error lists.
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
    // A field that a constructor makes is the class's.
    if declares.kind == Kind::Field
        && labels.last().is_some_and(|last| last == "constructor" || MAKES_ATTRIBUTES.contains(&&**last))
    {
        labels.pop();
        inside.pop();
    }
    labels.extend(declares.within.iter().cloned());
    labels.push(name.to_owned());
    Definition {
        kind: declares.kind,
        language: hit.language,
        path: path.clone(),
        line: lines.line(one.bytes.start),
        inside,
        label: labels.join(separator(hit.language)),
        is_signature: declares.is_signature,
        is_pure: hit.language == Language::Cpp && is_pure_virtual(&hit.text, one.bytes.start),
        at: one.bytes.start,
        bytes: declares.bytes.clone(),
        marks: declares.marks.clone(),
        of_trait: of_trait(hit.language, one).filter(|_| declares.kind == Kind::Method),
        is_embedded: one.embeds(),
        is_bare: hit.text.get(declares.bytes.clone()).is_some_and(|text| is_bare(text, name)),
    }
}

/// Whether a declaration has nothing but a name, or a number for it: `Big = 2`.
fn is_bare(text: &[u8], name: &str) -> bool {
    let rest = text.strip_prefix(name.as_bytes()).map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

/// What C++ declares as functions of namespaces, by their labels.
pub(crate) fn functions<'a>(all: impl IntoIterator<Item = &'a Definition>) -> BTreeSet<String> {
    let functions = all.into_iter().filter(|one| one.language == Language::Cpp && one.kind == Kind::Function);
    functions.map(|one| one.label.clone()).collect()
}

/// Outside of its namespace a function is defined as a method is outside of its class.
pub(crate) fn tell_functions<'a>(all: impl IntoIterator<Item = &'a mut Definition>, functions: &BTreeSet<String>) {
    let defined = all.into_iter().filter(|one| one.language == Language::Cpp && one.kind == Kind::Method);
    defined.filter(|one| functions.contains(&one.label)).for_each(|one| one.kind = Kind::Function);
}

/// Haskell repeats the name in every clause, and before them in the signature.
pub(crate) fn is_clause(last: Option<&Definition>, next: &Definition) -> bool {
    last.is_some_and(|last| {
        next.language == Language::Haskell
            && matches!(next.kind, Kind::Function | Kind::Method)
            && last.path == next.path
            && last.kind == next.kind
            && last.inside == next.inside
            && !next.is_signature
    })
}

pub(crate) fn separator(language: Language) -> &'static str {
    match language {
        Language::Rust | Language::C | Language::Cpp => "::",
        _ => ".",
    }
}

/// Whether a name is there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mentions {
    None,
    /// Where the text has it, the syntax has something else.
    OfNoName,
    Some,
}

/// The definitions that the question means; none for a name from outside of the project. `is_behind`: whether it stands
/// behind its qualifier anywhere.
pub(crate) fn chosen(
    question: &Question,
    all: Vec<Definition>,
    scope: &Scope,
    mentions: Mentions,
    is_behind: bool,
    skipped: &[Skipped],
) -> Result<Vec<Definition>, NoAnswer> {
    // An embedded field is asked for by its line or its type; else its name is a use of another one's.
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
    // A type and its constructor may stand in one line.
    if question.at.is_some_and(|at| meant.iter().any(|one| one.at == at)) {
        meant.retain(|one| question.at == Some(one.at));
    }
    // `geo::area` is what the module itself has; a method of a type in there only if it has none.
    if meant.iter().any(|one| is_directly_inside(question, one)) {
        meant.retain(|one| is_directly_inside(question, one));
    }
    let name = &question.name;
    if meant.is_empty() {
        let besides = left_out(skipped);
        let has = question.qualifiers.last().and_then(|of| has(scope, of));
        if !others.is_empty() && is_behind {
            // `Vec::new`, where the project has a `new` of its own.
            return Ok(meant);
        }
        if !others.is_empty() {
            let (whole, others, has) = (&question.whole, listed(&others), has.unwrap_or_default());
            return Err(NoAnswer(format!("there is no `{whole}`{has}; `{name}` is {others}{besides}")));
        }
        if mentions == Mentions::OfNoName && skipped.is_empty() {
            let problem = "stands in the source files, but as a keyword or within other words, never as a name";
            return Err(NoAnswer(format!("`{name}` {problem}")));
        }
        if mentions != Mentions::Some {
            if !has_sources(scope) {
                let below = project::visible::path(&scope.below);
                return Err(NoAnswer(format!(
                    "no file in {below} is in a language that is known here: {}",
                    Language::KNOWN
                )));
            }
            let near = near(scope, name);
            let next = match (near.is_empty(), besides.is_empty()) {
                (true, true) if has.is_none() => "; outline lists what a file declares".to_owned(),
                (true, _) => String::new(),
                (false, _) => format!("; near to it: {}", near.join(", ")),
            };
            let next = has.unwrap_or_default() + &next;
            let root = project::visible::path(&scope.root);
            let parsed = if besides.is_empty() { "the source files of" } else { "what was parsed of" };
            return Err(NoAnswer(format!("there is no `{name}` in {parsed} {root}{next}{besides}")));
        }
        if let Some(of) = question.qualifiers.last().filter(|of| !is_behind && !is_named(scope, of)) {
            let near = near(scope, of);
            let near = if near.is_empty() { String::new() } else { format!("; near to `{of}`: {}", near.join(", ")) };
            let problem = format!("there is no `{}`: nothing here is named `{of}`{near}", question.whole);
            return Err(NoAnswer(format!("{problem}; ask for `{name}` alone to see all of that name{besides}")));
        }
        // A name from outside of the project.
        return Ok(meant);
    }
    // A prototype and what it announces are one.
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

/// That a name has these definitions, and others if they are not all, of which one is to be named.
pub(crate) fn too_many(question: &Question, known: &[Definition], are_all: bool) -> NoAnswer {
    let (whole, many) = (&question.whole, known.len());
    let (more, listed) = match are_all {
        true => ("", listed(known)),
        false => ("more than ", format!("{}; and others", listed(known))),
    };
    NoAnswer(format!("`{whole}` has {more}{many} definitions: name one as path:name or Type::name. {listed}"))
}

/// The line of an answer about a name that no file declares.
pub(crate) const NOWHERE: &str = "not defined in this project";

/// That there is no definition, as far as that is known.
pub(crate) fn undefined(skipped: &[Skipped]) -> String {
    if let Some(parts) = unread_parts(skipped) {
        return format!("not defined in what was parsed; {parts}, which may define it");
    }
    if let Some(one) = skipped.iter().find(|one| one.why == Why::Makes) {
        return format!(
            "not defined as syntax sees it, but {}: {}",
            project::visible::path(&one.path),
            one.why.words()
        );
    }
    if skipped.is_empty() { NOWHERE.to_owned() } else { "not defined in the files that were parsed".to_owned() }
}

/// Whether code of the project names something so.
fn is_named(scope: &Scope, name: &str) -> bool {
    let names_it = |hit: &Hit| {
        let parsed = occurrences(hit.language, &hit.text, name, &hit.starts, scope.until);
        parsed.is_none_or(|parsed| parsed.all.iter().any(|one| one.class != Class::Mention))
    };
    let searched = search(&Scope { below: scope.root.clone(), ..scope.clone() }, name);
    searched.skipped.iter().any(|one| one.mentions > 0) || searched.hits.iter().any(names_it)
}

/// What a type has, where another member of it is asked for.
fn has(scope: &Scope, of: &str) -> Option<String> {
    let all = members(scope, of);
    let more = all.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = all.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    (!shown.is_empty()).then(|| project::visible(&format!("; {of} has {shown}{rest}")))
}

fn listed(definitions: &[Definition]) -> String {
    let shown: Vec<String> = definitions.iter().take(MAX_LISTED).map(Definition::shown).collect();
    let more = definitions.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join("; "))
}

/// What was not parsed, and may hold the name.
fn left_out(skipped: &[Skipped]) -> String {
    let one = |skipped: &Skipped| {
        let times = match skipped.mentions {
            0 => String::new(),
            times => format!(" mentions it {times} times"),
        };
        format!("; {}{times} ({})", project::visible::path(&skipped.path), skipped.why.words())
    };
    let more = skipped.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    skipped.iter().take(MAX_LISTED).map(one).collect::<String>() + &rest
}

/// Whether a definition is inside of what the qualifiers say: the last of its surroundings, files and folders included.
pub(crate) fn is_inside(qualifiers: &[String], definition: &Definition) -> bool {
    let mut around: Vec<Vec<String>> =
        definition.path.parent().into_iter().flat_map(Path::iter).map(one_name).collect();
    around.extend(definition.path.file_stem().map(one_name));
    let declared = around.len();
    around.extend(definition.inside.iter().cloned());
    // From the end; what stands between may be left out, but the nearest qualifier must be near: a type, or the file.
    let mut at = around.len();
    for (number, qualifier) in qualifiers.iter().rev().enumerate() {
        let Some(next) = around[..at].iter().rposition(|names| names.contains(qualifier)) else { return false };
        // `mod.rs`, `index.ts`, `__init__.py` and Go's files do not name their module.
        let gap = at - 1 - next;
        if number == 0 && next < declared && (definition.inside.len() > 1 || gap > definition.inside.len() + 1) {
            return false;
        }
        at = next;
    }
    true
}

/// Whether nothing stands between a definition and the last qualifier, so far as the file shows it.
fn is_directly_inside(question: &Question, definition: &Definition) -> bool {
    let Some(qualifier) = question.qualifiers.last() else { return true };
    definition.inside.last().is_none_or(|nearest| nearest.contains(qualifier))
}

fn one_name(name: &std::ffi::OsStr) -> Vec<String> {
    vec![name.to_string_lossy().into_owned()]
}
