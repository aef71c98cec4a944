//! Places that match on values of a type, and the effect of adding or removing a constructor. A match is found by the
//! constructors that it names. A language server then verifies that these names belong to the type.
//!
//! - [`pattern`]: patterns of all languages in one tree, and their coverage; [`judge`]: the types of their constructors.
//! - `constructors`: how a match names each constructor of a type.
//! - `source`: reads the patterns of all languages; `rust`, `haskell`, `python`, `switch`: the matches of each language.
//! - `tokens`: matches in the arguments of Rust macros.

mod constructors;
mod haskell;
mod pattern;
mod python;
mod rust;
mod source;
mod switch;
mod tokens;
mod type_resolution;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Serialize;
use syntax::text_enum::{is_among, named};
use syntax::{Language, last_word, occurrences_at, parse, unread_in};
use tree_sitter::{Node, TreeCursor};

use crate::answer::{Texts, in_turns, label};
use crate::judgement::{Code, Verdict};
use crate::line_column::Lines;
use crate::search::{Hit, Scope, Skipped, Why, search_by, word_starts};
use crate::verdict::{At, Name};
use pattern::{Coverage, Match, Otherwise};
use source::{Source, children};

pub(crate) use constructors::sum;
pub(crate) use type_resolution::{Assessment, judge};

named! {
    /// Effect of a change on a match.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum Effect by word {
        Breaks = "breaks", FallsThrough = "falls_through", Absorbs = "absorbs", Unaffected = "unaffected",
        Undecided = "undecided",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Remove(String),
}

/// A type and its constructors.
#[derive(Debug)]
pub(crate) struct Sum {
    pub name: String,
    pub language: Language,
    pub file: Arc<Path>,
    /// Constructors with the ways a match names each: its name, or the texts that discriminate its values.
    pub constructors: Vec<(String, Vec<String>)>,
    /// Ranges of files that declare these names and texts: first the whole type, then its constructors.
    pub declared: Vec<(Arc<Path>, Range<usize>)>,
    /// Names of member types that are declared elsewhere.
    pub members: Vec<Name>,
    /// True for a TypeScript union whose values are discriminated by a field. The field is then resolved.
    pub is_union: bool,
    /// Discriminating names with their qualifiers: `Kind.Circle`.
    pub tags: BTreeSet<(String, String)>,
    /// A member of the union whose values may have unknown discriminators.
    pub opaque: Option<String>,
    pub text: Arc<[u8]>,
}

/// A match.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Site {
    #[serde(skip)]
    pub path: Arc<Path>,
    #[serde(skip)]
    pub effect: Effect,
    pub line: usize,
    #[serde(skip)]
    pub last_line: usize,
    pub column: usize,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub enclosing: String,
    /// `match`, `if let`, `case`, `function clauses`, `switch` …
    pub form: &'static str,
    /// The constructors that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The constructors that it does not name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// True if a branch matches all other constructors.
    #[serde(default, rename = "wildcard", skip_serializing_if = "std::ops::Not::not")]
    pub has_wildcard: bool,
    /// True if it also names constructors of another type.
    #[serde(skip)]
    pub has_others: bool,
    pub how: String,
    /// unverified or earlier; absent for verified matches.
    #[serde(default = "Verdict::verified", skip_serializing_if = "Verdict::is_verified")]
    pub verdict: Verdict,
    /// Positions of the constructors in its patterns, or of the values compared with their texts.
    #[serde(skip)]
    pub places: BTreeSet<(usize, String)>,
    /// The line without its indentation.
    pub text: String,
}

/// Result of the search.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Matches with names that could be constructors of the type, and their sites without names and effects. Sorted by
    /// path and line.
    all: Vec<(Match, Site)>,
    pub files: usize,
    pub skipped: Vec<Skipped>,
    /// Imports that rename a constructor. Uses of the new name are not found.
    pub renamed: Vec<(Arc<Path>, usize)>,
    /// Names among macro tokens that do not parse.
    pub unread: Vec<Name>,
    pub texts: Texts,
}

/// Finds the matches with names that could be constructors of a type.
pub(crate) fn matches(scope: &Scope, sum: &Sum) -> Matches {
    let family = syntax::family(sum.language);
    let marks: Vec<&str> = sum.constructors.iter().flat_map(|(_, marks)| marks.iter().map(String::as_str)).collect();
    let finders: Vec<Finder<'_>> = marks.iter().map(|mark| Finder::new(mark.as_bytes())).collect();
    let find = |language: Language, text: &[u8]| -> Vec<usize> {
        if syntax::family(language) != family {
            return Vec::new();
        }
        let mut starts: Vec<usize> =
            finders.iter().zip(&marks).flat_map(|(finder, mark)| word_starts(finder, text, mark)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    };
    let searched = search_by(scope, find);
    let mut found = Matches { files: searched.files, skipped: searched.skipped, ..Matches::default() };
    for (hit, in_file) in in_turns(&searched.hits, |hit| in_file(scope, hit, sum)) {
        let Some(in_file) = in_file else {
            found.skipped.push(Skipped::new(hit.path.clone(), scope.why_not_parsed(), hit.starts.len()));
            continue;
        };
        found.all.extend(in_file.all);
        found.skipped.extend(in_file.skipped);
        found.renamed.extend(in_file.renamed);
        found.unread.extend(in_file.unread);
    }
    found.texts = searched.hits.into_iter().map(|hit| (hit.path.into(), hit.text.into())).collect();
    found
}

impl Matches {
    /// Returns the matches on the type, and the effect of a change on each. Names at the places `out` do not count; by
    /// default, those that another type qualifies do not count.
    pub(crate) fn sites(&self, sum: &Sum, change: &Change, out: Option<&BTreeSet<At>>) -> Vec<Site> {
        let site = |(one, place): &(Match, Site)| {
            let text = self.texts.get(&place.path).map(|text| &text[..]).unwrap_or_default();
            let is_ours = |name: &str, qualifier: Option<&str>, at: usize| {
                names_constructor(sum, name, qualifier)
                    && match out {
                        None => qualifier.is_none_or(|qualifier| is_ours(sum, qualifier, text)),
                        Some(out) => !out.contains(&(place.path.clone(), at)),
                    }
            };
            pattern::judged(one, &is_ours).map(|judged| self::site(sum, change, place, judged))
        };
        self.all.iter().filter_map(site).collect()
    }
}

/// True if a name is that of a constructor, or of a text that discriminates one.
fn names_constructor(sum: &Sum, name: &str, qualifier: Option<&str>) -> bool {
    // `switch (typeof value)` tells the members `string` and `number` apart, and nothing else does.
    let is_typeof = qualifier == Some(source::TYPEOF);
    let is_compared = |member: &str| !sum.is_union || is_typeof == is_among(constructors::WITHOUT_TAGS, member);
    // A text is not a name.
    let is_text = || sum.is_union && qualifier.is_some() && !is_typeof && !sum.tags.iter().any(|(_, tag)| tag == name);
    !is_text()
        && sum.constructors.iter().any(|(member, marks)| is_compared(member) && marks.iter().any(|mark| mark == name))
}

fn in_file(scope: &Scope, hit: &Hit, sum: &Sum) -> Option<Matches> {
    let tree = parse(hit.language, &hit.text, scope.until)?;
    let source = Source { text: &hit.text, language: hit.language, is_union: sum.is_union, compared: None };
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    if hit.language == Language::Rust {
        let mut reader = tokens::Reader::new(source, &hit.starts, scope.until);
        reader.file(tree.root_node());
        (found, unread) = (reader.found, reader.unread);
    } else {
        descend(&mut tree.walk(), &hit.starts, &mut |node| {
            found.extend(match hit.language {
                Language::Haskell => haskell::read(source, node),
                Language::Python => python::read(source, node),
                _ => switch::read(source, node),
            });
        });
    }
    // The clauses of a function form one match.
    found.sort_by_key(|one: &Match| (one.bytes.start, one.bytes.end));
    found.dedup_by(|one, other| one.bytes == other.bytes && one.form == other.form);
    found.retain(|one| pattern::judged(one, &|name, qualifier, _| names_constructor(sum, name, qualifier)).is_some());
    let lines = Lines::new(&hit.text);
    let path: Arc<Path> = hit.path.as_path().into();
    let mention = |one: &Match| {
        let first = hit.starts.partition_point(|start| *start < one.bytes.start);
        hit.starts.get(first).copied().filter(|start| one.bytes.contains(start))
    };
    let is_renamed = |place: &Range<usize>| hit.text[place.end..].trim_ascii_start().starts_with(b"as ");
    let imports = hit.starts.iter().filter_map(|start| mark_at(sum, &hit.text, *start)).filter(is_renamed);
    let mentions = found.iter().filter_map(|one| mark_at(sum, &hit.text, mention(one)?));
    let mut places: Vec<Range<usize>> = mentions.chain(imports).collect();
    places.sort_by_key(|place| place.start);
    places.dedup();
    let all = occurrences_at(hit.language, &hit.text, &places, scope.until)?;
    let labels: BTreeMap<usize, String> =
        all.iter().map(|one| (one.bytes.start, label(&one.enclosing, hit.language))).collect();
    let renamed = all.iter().filter(|one| one.alias.is_some()).map(|one| (path.clone(), lines.line(one.bytes.start)));
    let site = |one: Match| {
        let (at, line) = (one.bytes.start, lines.line(one.bytes.start));
        let site = Site {
            path: path.clone(),
            effect: Effect::Undecided,
            line,
            last_line: lines.line(one.bytes.end),
            column: lines.column(at),
            enclosing: mention(&one).and_then(|start| labels.get(&start).cloned()).unwrap_or_default(),
            form: one.form,
            names: Vec::new(),
            missing: Vec::new(),
            has_wildcard: false,
            has_others: false,
            how: String::new(),
            verdict: Verdict::Undecided(Code::Absent),
            places: BTreeSet::new(),
            text: project::visible::escaped(lines.excerpt(line, Some(at)).unwrap_or_default().trim()),
        };
        (one, site)
    };
    let mut unread_lines = unread_in(hit.language, &hit.text, scope.until);
    unread_lines.retain(|(first, last)| hit.starts.iter().any(|start| (*first..=*last).contains(&lines.line(*start))));
    let skipped = match unread_lines.is_empty() {
        true => Vec::new(),
        false => vec![Skipped { lines: unread_lines, ..Skipped::new(hit.path.clone(), Why::Unread, 0) }],
    };
    let unread = unread.into_iter().filter_map(|at| unread_at(tree.root_node(), at, source, sum, &path));
    let (renamed, unread) = (renamed.collect(), unread.collect());
    let mut all: Vec<(Match, Site)> = found.into_iter().map(site).collect();
    all.sort_by_key(|(_, site)| (site.line, site.column));
    Some(Matches { all, skipped, renamed, unread, ..Matches::default() })
}

/// Returns the range of the longest constructor's name or text that begins at an offset.
fn mark_at(sum: &Sum, text: &[u8], start: usize) -> Option<Range<usize>> {
    let marks = sum.constructors.iter().flat_map(|(_, marks)| marks);
    let length = marks.filter(|mark| text[start..].starts_with(mark.as_bytes())).map(String::len).max()?;
    Some(start..start + length)
}

/// Returns the name at a position among tokens, unless it is inside a string or belongs to another type.
fn unread_at(root: Node<'_>, at: usize, source: Source<'_>, sum: &Sum, path: &Arc<Path>) -> Option<Name> {
    let node = root.descendant_for_byte_range(at, at + 1).filter(|node| node.kind() == "identifier")?;
    let qualifier = source.text[..at].trim_ascii_end().strip_suffix(b"::").map(last_word);
    let is_out = qualifier.is_some_and(|qualifier| !is_ours(sum, &String::from_utf8_lossy(qualifier), source.text));
    (!is_out).then(|| Name { path: path.clone(), at, word: source.node_text(node) })
}

fn site(sum: &Sum, change: &Change, place: &Site, judged: Coverage) -> Site {
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
                Language::JavaScript => "the case no longer matches anything",
                _ => "compile error",
            };
            (Effect::Breaks, format!("{how}: it names {name}"))
        }
    };
    let (has_wildcard, has_others, places) = (judged.has_wildcard, judged.has_others, judged.places);
    Site { names, missing, has_wildcard, has_others, effect, how, places, ..place.clone() }
}

/// True if the qualifier of a constructor is its type, a module or a package, and not another type.
fn is_ours(sum: &Sum, qualifier: &str, text: &[u8]) -> bool {
    let is_type = qualifier.starts_with(char::is_uppercase) && sum.language != Language::Haskell;
    // `use Shape as S`, `type S = Shape`.
    let is_alias = || {
        let is_said = |said: String| memchr::memmem::find(text, said.as_bytes()).is_some();
        is_said(format!(" as {qualifier}")) || is_said(format!("type {qualifier} ="))
    };
    !is_type
        || qualifier == sum.name
        || sum.tags.iter().any(|(holder, _)| holder == qualifier)
        || qualifier == "Self"
        || is_alias()
}

/// True if a match ends a function that must return a value, so that an unhandled value is a type error. `may_end` are
/// words of types that permit an end without one.
fn must_return(source: Source<'_>, node: Node<'_>, block: &str, may_end: &str) -> bool {
    let Some(body) = node.parent().filter(|body| body.kind() == block) else { return false };
    let returns = body.parent().and_then(|function| function.child_by_field_name("return_type"));
    let may_be_nothing = |of: String| {
        let mut words = of.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| is_among(may_end, word))
    };
    children(body).last() == Some(&node) && returns.is_some_and(|of| !may_be_nothing(source.node_text(of)))
}

/// True if code begins with a failing call.
fn fails(said: String, words: &[&str]) -> bool {
    let said = said.trim_start_matches(['{', ' ', '\t', '\n', '\r', '(']);
    let said = said.strip_prefix("return ").unwrap_or(said);
    words.iter().any(|word| said.starts_with(word))
}

const MAX_DEPTH: usize = 2000;

/// Visits the nodes around the offsets, parents first.
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
