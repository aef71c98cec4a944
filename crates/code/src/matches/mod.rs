//! Where values of a type are taken apart, and what a new constructor, or one less, does there. A match is found by the
//! constructors that it names: one that names none is not seen. A judge then says which of these names are the type's.
//!
//! - [`pattern`]: patterns of every language as one tree, and what a branch takes; [`judge`]: whose constructors they name.
//! - `constructors`: what a match writes for each constructor of a type.
//! - `rust`, `haskell`, `python`, `switch`: how each language writes them.
//! - `tokens`: those in the arguments of Rust's macros.

mod constructors;
mod haskell;
mod judged;
mod pattern;
mod python;
mod rust;
mod switch;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::{Node, TreeCursor};

use crate::answer::{Texts, in_turns, label};
use crate::judgement::{Code, Verdict};
use crate::place::Lines;
use crate::search::{Hit, Scope, Skipped, Why, search_by, word_starts};
use crate::syntax::{Language, occurrences_at, parse, unread_in};
use crate::verdict::At;
use pattern::{Coverage, Match, Otherwise};

pub(crate) use constructors::sum;
pub(crate) use judged::{Assessment, judge};

/// What a change does to a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Effect {
    Breaks,
    FallsThrough,
    Absorbs,
    Unaffected,
    Undecided,
}

impl Effect {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Effect::Breaks => "breaks",
            Effect::FallsThrough => "falls_through",
            Effect::Absorbs => "absorbs",
            Effect::Unaffected => "unaffected",
            Effect::Undecided => "undecided",
        }
    }
}

/// What is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Remove(String),
}

/// A type, by the constructors that tell its values apart.
#[derive(Debug)]
pub(crate) struct Sum {
    pub name: String,
    pub language: Language,
    /// The file that declares it.
    pub file: Arc<Path>,
    /// Each with what a match writes for it: its name, or the texts that mark its values.
    pub constructors: Vec<(String, Vec<String>)>,
    /// Where in that file what a match writes is declared.
    pub declared: Vec<Range<usize>>,
    /// Where in that file the names of constructors stand.
    pub made_at: Vec<usize>,
    /// Names in that file of types whose values it takes, and which are declared elsewhere.
    pub members: Vec<(usize, String)>,
    /// Whether it is a union of TypeScript, whose values are told by one of their members: a judge is asked whose that is.
    pub is_union: bool,
    /// The names that mark its values, behind what has them: `Kind.Circle`.
    pub tags: BTreeSet<(String, String)>,
    /// A member of a union whose values may be told by texts that are not known.
    pub opaque: Option<String>,
    /// That file.
    pub text: Arc<[u8]>,
}

/// Which names are constructors of the type.
#[derive(Debug, Clone)]
pub(crate) enum Ours {
    /// Those that have no other type before them.
    ByName,
    /// All but these places.
    But(BTreeSet<At>),
}

/// A place where a value is taken apart.
#[derive(Debug)]
pub(crate) struct Site {
    pub path: Arc<Path>,
    pub line: usize,
    pub column: usize,
    pub enclosing: String,
    pub form: &'static str,
    pub names: Vec<String>,
    pub has_wildcard: bool,
    /// Whether it also names what is no constructor of the type.
    pub has_others: bool,
    pub missing: Vec<String>,
    pub effect: Effect,
    pub how: String,
    pub verdict: Verdict,
    /// The constructors in its patterns, or what is compared with their texts.
    pub places: BTreeSet<(usize, String)>,
    pub text: String,
}

/// A name in tokens of a macro.
#[derive(Debug)]
pub(crate) struct Unread {
    pub path: Arc<Path>,
    pub at: usize,
    pub line: usize,
    pub name: String,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Matches {
    /// By path and line.
    pub sites: Vec<Site>,
    pub files: usize,
    pub skipped: Vec<Skipped>,
    /// Where an import gives a constructor another name, under which it is not found.
    pub renamed: Vec<(Arc<Path>, usize)>,
    /// Where a constructor may be named in tokens of a macro that are no code by themselves.
    pub unread: Vec<Unread>,
    /// The texts of the files that were read.
    pub texts: Texts,
}

/// The matches over a type, and what the change does to each.
pub(crate) fn matches(scope: &Scope, sum: &Sum, change: &Change, ours: &Ours) -> Matches {
    let family = crate::syntax::family(sum.language);
    let marks: Vec<&str> = sum.constructors.iter().flat_map(|(_, marks)| marks.iter().map(String::as_str)).collect();
    let finders: Vec<Finder<'_>> = marks.iter().map(|mark| Finder::new(mark.as_bytes())).collect();
    let find = |language: Language, text: &[u8]| -> Vec<usize> {
        if crate::syntax::family(language) != family {
            return Vec::new();
        }
        let mut starts: Vec<usize> =
            finders.iter().zip(&marks).flat_map(|(finder, mark)| word_starts(finder, text, mark)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    };
    let searched = search_by(scope, find);
    let mut skipped = searched.skipped;
    let mut sites = Vec::new();
    let (mut renamed, mut unread) = (Vec::new(), Vec::new());
    for (hit, found) in in_turns(&searched.hits, |hit| in_file(scope, hit, sum, change, ours)) {
        match found {
            Some(found) => {
                sites.extend(found.sites);
                renamed.extend(found.renamed.into_iter().map(|line| (hit.path.as_path().into(), line)));
                unread.extend(found.unread);
                let lines = found.unread_lines;
                skipped.extend(
                    (!lines.is_empty()).then(|| Skipped { lines, ..Skipped::new(hit.path.clone(), Why::Unread, 0) }),
                );
            }
            None => {
                let mentions = hit.starts.len();
                skipped.push(Skipped::new(hit.path.clone(), scope.why_not_parsed(), mentions));
            }
        }
    }
    let texts = searched.hits.into_iter().map(|hit| (hit.path.into(), hit.text.into())).collect();
    Matches { sites, files: searched.files, skipped, renamed, unread, texts }
}

/// What was found in a file.
struct InFile {
    sites: Vec<Site>,
    /// The lines in which an import gives a constructor another name.
    renamed: Vec<usize>,
    unread: Vec<Unread>,
    /// The first and last lines of the parts that name a constructor and that the grammar cannot read.
    unread_lines: Vec<(usize, usize)>,
}

fn in_file(scope: &Scope, hit: &Hit, sum: &Sum, change: &Change, ours: &Ours) -> Option<InFile> {
    let tree = parse(hit.language, &hit.text, scope.until)?;
    let text = Text { bytes: &hit.text };
    let mut tokens = tokens::Reader::new(&hit.text, &hit.starts, scope.until);
    let mut others = Vec::new();
    match hit.language {
        Language::Rust => tokens.file(tree.root_node()),
        language => descend(&mut tree.walk(), &hit.starts, &mut |node| {
            others.extend(match language {
                Language::Haskell => haskell::read(text, node),
                Language::Python => python::read(text, node),
                _ => switch::read(text, node, sum.is_union),
            });
        }),
    }
    let (mut found, unread) = (tokens.found, tokens.unread);
    found.extend(others);
    // The clauses of a function come to the same match.
    found.sort_by_key(|one: &Match| (one.bytes.start, one.bytes.end));
    found.dedup_by(|one, other| one.bytes == other.bytes && one.form == other.form);
    let lines = Lines::new(&hit.text);
    let path: Arc<Path> = hit.path.as_path().into();
    let is_ours = |name: &str, qualifier: Option<&str>, at: usize| {
        // A text is no name.
        let is_text = || sum.is_union && qualifier.is_some() && !sum.tags.iter().any(|(_, tag)| tag == name);
        !is_text()
            && sum.constructors.iter().any(|(_, marks)| marks.iter().any(|mark| mark == name))
            && match ours {
                Ours::ByName => qualifier.is_none_or(|qualifier| is_ours(sum, qualifier, text)),
                Ours::But(others) => !others.contains(&(path.clone(), at)),
            }
    };
    let found: Vec<(Match, Coverage)> =
        found.into_iter().filter_map(|one| pattern::judged(&one, &is_ours).map(|judged| (one, judged))).collect();
    let mention = |one: &Match| {
        let first = hit.starts.partition_point(|start| *start < one.bytes.start);
        hit.starts.get(first).copied().filter(|start| one.bytes.contains(start))
    };
    let mut places: Vec<Range<usize>> = found
        .iter()
        .filter_map(|(one, _)| {
            let start = mention(one)?;
            let names = sum.constructors.iter().flat_map(|(_, marks)| marks);
            let name = names.filter(|mark| hit.text[start..].starts_with(mark.as_bytes())).map(String::len).max()?;
            Some(start..start + name)
        })
        .collect();
    places.sort_by_key(|place| place.start);
    places.dedup();
    let all = occurrences_at(hit.language, &hit.text, &places, scope.until)?;
    let labels: BTreeMap<usize, String> =
        all.iter().map(|one| (one.bytes.start, label(&one.enclosing, hit.language))).collect();
    let mut sites: Vec<Site> = Vec::new();
    for (one, judged) in found {
        let enclosing = mention(&one).and_then(|start| labels.get(&start).cloned());
        let at = one.bytes.start;
        sites.push(site(sum, change, &one, judged, MatchContext { path: &path, lines: &lines, at, enclosing }));
    }
    sites.sort_by_key(|site| (site.line, site.column));
    let unread = unread.into_iter().filter_map(|at| unread_at(tree.root_node(), at, text, sum, &path, &lines));
    let mut unread_lines = unread_in(hit.language, &hit.text, scope.until);
    unread_lines.retain(|(first, last)| hit.starts.iter().any(|start| (*first..=*last).contains(&lines.line(*start))));
    Some(InFile { unread: unread.collect(), renamed: renamed(scope, hit, sum, &lines), unread_lines, sites })
}

/// The name that stands there in tokens, if it is no text, and not another type's.
fn unread_at(
    root: Node<'_>,
    at: usize,
    text: Text<'_>,
    sum: &Sum,
    path: &Arc<Path>,
    lines: &Lines<'_>,
) -> Option<Unread> {
    let node = root.descendant_for_byte_range(at, at + 1).filter(|node| node.kind() == "identifier")?;
    let qualifier = text.bytes[..at].trim_ascii_end().strip_suffix(b"::").map(rust::last_word);
    let is_out = qualifier.is_some_and(|qualifier| !is_ours(sum, &qualifier, text));
    (!is_out).then(|| Unread { path: path.clone(), at, line: lines.line(at), name: text.node_text(node) })
}

/// The lines in which an import gives a constructor another name.
fn renamed(scope: &Scope, hit: &Hit, sum: &Sum, lines: &Lines<'_>) -> Vec<usize> {
    let marks = || sum.constructors.iter().flat_map(|(_, marks)| marks);
    let places = hit.starts.iter().filter_map(|start| {
        let rest = &hit.text[*start..];
        let name = marks().filter(|mark| rest.starts_with(mark.as_bytes())).map(String::len).max()?;
        let is_renamed = rest[name..].trim_ascii_start().starts_with(b"as ");
        is_renamed.then_some(*start..*start + name)
    });
    let places: Vec<Range<usize>> = places.collect();
    if places.is_empty() {
        return Vec::new();
    }
    let all = occurrences_at(hit.language, &hit.text, &places, scope.until).unwrap_or_default();
    all.iter().filter(|one| one.alias.is_some()).map(|one| lines.line(one.bytes.start)).collect()
}

/// Where a match stands.
struct MatchContext<'a> {
    path: &'a Arc<Path>,
    lines: &'a Lines<'a>,
    at: usize,
    enclosing: Option<String>,
}

fn site(sum: &Sum, change: &Change, one: &Match, judged: Coverage, place: MatchContext<'_>) -> Site {
    let constructor = |mark: &String| sum.constructors.iter().find(|(_, marks)| marks.contains(mark));
    let mut names: Vec<String> = judged.names.iter().filter_map(constructor).map(|(name, _)| name.clone()).collect();
    names.dedup();
    let missing: Vec<String> =
        sum.constructors.iter().map(|(name, _)| name.clone()).filter(|name| !names.contains(name)).collect();
    let (effect, how) = match (change, judged.new) {
        (Change::Add, Some(Otherwise::Breaks(how))) => (Effect::Breaks, how.to_owned()),
        (Change::Add, Some(Otherwise::FallsThrough(how))) => (Effect::FallsThrough, how.to_owned()),
        (Change::Add, Some(Otherwise::Absorbs(how))) => (Effect::Absorbs, how.to_owned()),
        (Change::Add, None) => (Effect::Undecided, "other parts of the patterns decide".to_owned()),
        (Change::Remove(name), _) if !names.contains(name) => (Effect::Unaffected, format!("it does not name {name}")),
        (Change::Remove(name), _) => {
            let how = match sum.language {
                Language::Python => "run-time failure, when the case is reached",
                Language::JavaScript => "the case takes nothing any more",
                _ => "compile error",
            };
            (Effect::Breaks, format!("{how}: it names {name}"))
        }
    };
    let line = place.lines.line(place.at);
    Site {
        path: place.path.clone(),
        line,
        column: place.lines.column(place.at),
        enclosing: place.enclosing.unwrap_or_default(),
        form: one.form,
        names,
        has_wildcard: judged.has_wildcard,
        has_others: judged.has_others,
        missing,
        effect,
        how,
        verdict: Verdict::Undecided(Code::Absent),
        places: judged.places,
        text: place.lines.excerpt(line, Some(place.at)).unwrap_or_default(),
    }
}

/// Whether what stands before a constructor is its type, a module or a package: another type's constructor is another.
fn is_ours(sum: &Sum, qualifier: &str, text: Text<'_>) -> bool {
    let is_type = qualifier.starts_with(char::is_uppercase) && sum.language != Language::Haskell;
    // `use Shape as S`, `type S = Shape`.
    let is_alias = || {
        let is_said = |said: String| memchr::memmem::find(text.bytes, said.as_bytes()).is_some();
        is_said(format!(" as {qualifier}")) || is_said(format!("type {qualifier} ="))
    };
    !is_type
        || qualifier == sum.name
        || sum.tags.iter().any(|(holder, _)| holder == qualifier)
        || qualifier == "Self"
        || is_alias()
}

/// A text whose nodes are read.
#[derive(Clone, Copy)]
struct Text<'a> {
    bytes: &'a [u8],
}

impl Text<'_> {
    /// What a node says.
    fn node_text(self, node: Node<'_>) -> String {
        String::from_utf8_lossy(self.bytes.get(node.byte_range()).unwrap_or_default()).into_owned()
    }
}

/// The named children of a node, and wildcards, which have no name in some grammars; without comments.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    let is_part = |child: &Node<'_>| (child.is_named() || child.kind() == "_") && !child.kind().contains("comment");
    node.children(&mut cursor).filter(is_part).collect()
}

/// Whether code begins with a word of failure.
fn fails(said: String, words: &[&str]) -> bool {
    let said = said.trim_start_matches(['{', ' ', '\t', '\n', '\r', '(']);
    let said = said.strip_prefix("return ").unwrap_or(said);
    words.iter().any(|word| said.starts_with(word))
}

/// How deep trees are read.
const MAX_DEPTH: usize = 2000;

/// Visits the nodes around the places, parents first.
fn descend<'t>(cursor: &mut TreeCursor<'t>, starts: &[usize], visit: &mut impl FnMut(Node<'t>)) {
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let next = starts.partition_point(|start| *start < node.start_byte());
        let holds = starts.get(next).is_some_and(|start| *start < node.end_byte());
        if holds {
            visit(node);
            if depth < MAX_DEPTH && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}
