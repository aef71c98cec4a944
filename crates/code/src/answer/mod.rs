//! Definitions and uses of a name: the files that mention it, the class of each mention, and its aliases.

mod aliases;
mod classes;
mod define;
mod parallel_parse;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use classes::{corrected_class, leave_out_other_languages, mark_locals, reclassify};
use syntax::{Class, Container, Kind, Language, Occurrence, Parsed, Tokens, family, occurrences};

pub(crate) use define::define;
pub(crate) use parallel_parse::in_turns;

use crate::definition::{
    Definition, MAX_LISTED, Mentions, add_definition, chosen, definition, functions, separator, tell_functions,
    too_many, undefined,
};
use crate::judgement::{Unnamed, Verdict};
use crate::line_column::Lines;
use crate::question::Question;
use crate::rule::Rule;
use crate::search::{Hit, NoAnswer, Scope, SearchResult, Skipped, Why, search};
use crate::test_detection::{is_test, is_test_file};
use crate::unsearched_files::languages_of;

/// A place that has the name or an alias of it.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub path: Arc<Path>,
    pub language: Language,
    pub line: usize,
    pub column: usize,
    /// The offset of the name in its file.
    pub at: usize,
    pub class: Class,
    /// The enclosing declarations; empty at the top level of a file.
    pub enclosing: String,
    pub in_test: bool,
    pub is_member: bool,
    pub is_qualified: bool,
    /// True if a preceding local binding in the same declaration may shadow the name.
    pub may_be_local: bool,
    pub tokens: Option<Tokens>,
    pub is_broken: bool,
    /// True if it embeds a field in Go, which takes this name.
    pub embeds: bool,
    /// True if the nearest enclosing declaration is an interface or a trait.
    pub in_interface: bool,
    /// The alias, if the site has one instead of the name.
    pub alias: Option<String>,
    pub verdict: Verdict,
    /// The index of the definition that it means, as the server resolved it.
    pub meant: Option<usize>,
    /// True if it calls an interface that this definition implements.
    pub by_interface: bool,
    /// How it uses the definition, if it does not name it.
    pub unnamed: Option<Unnamed>,
    /// The line and its context; empty for sites that are never displayed.
    pub text: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl Site {
    /// Returns the site of an occurrence, with this many lines around its own; `None` if it is never displayed.
    pub(crate) fn new(
        path: Arc<Path>,
        language: Language,
        lines: &Lines<'_>,
        one: &Occurrence,
        around: Option<usize>,
    ) -> Site {
        let at = one.bytes.start;
        let line = lines.line(at);
        let context = |of: Range<usize>| of.filter_map(|line| lines.excerpt(line, None)).collect();
        Site {
            language,
            line,
            column: lines.column(at),
            at,
            class: one.class,
            enclosing: label(&one.enclosing, language),
            in_test: is_test_file(&path) || is_test(&one.enclosing),
            path,
            is_member: one.is_member,
            is_qualified: one.is_qualified,
            may_be_local: false,
            tokens: one.tokens,
            is_broken: one.is_broken,
            embeds: one.embeds(),
            in_interface: one.enclosing.last().is_some_and(|place| place.kind == Kind::Interface),
            alias: None,
            verdict: Verdict::default(),
            meant: None,
            by_interface: false,
            unnamed: None,
            text: around.and_then(|_| lines.excerpt(line, Some(at))).unwrap_or_default(),
            before: around.map(|around| context(line.saturating_sub(around).max(1)..line)).unwrap_or_default(),
            after: around.map(|around| context(line + 1..line + 1 + around)).unwrap_or_default(),
        }
    }
}

/// The definitions and possible uses of a name.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub question: Question,
    pub definitions: Vec<Definition>,
    /// All uses, sorted by path and line. Includes other bindings, but not the definitions themselves.
    pub sites: Vec<Site>,
    pub files: usize,
    /// The number of occurrences in languages that do not share names with those of the definitions.
    pub elsewhere: usize,
    pub skipped: Vec<Skipped>,
    /// The traits of the project that declare a method of the name, in Rust.
    pub traits: Vec<String>,
    /// The aliases from imports and re-exports.
    pub names: BTreeSet<String>,
    /// Files that import a module whose default export is one of the definitions.
    pub importers: BTreeSet<Arc<Path>>,
    pub texts: Texts,
}

impl Candidates {
    /// Returns the text of a file before an offset; empty if the file was not read.
    pub(crate) fn text_before(&self, path: &Path, at: usize) -> &[u8] {
        self.texts.get(path).and_then(|text| text.get(..at)).unwrap_or_default()
    }

    /// Returns the receiver of a site: the expression before the dot, empty without one.
    pub(crate) fn receiver(&self, site: &Site) -> &[u8] {
        self.text_before(&site.path, site.at)
            .trim_ascii_end()
            .strip_suffix(b".")
            .map(<[u8]>::trim_ascii_end)
            .unwrap_or_default()
    }

    /// Explains that no definition was found. A macro call outside of any declaration, with the name among its tokens, may
    /// define it: only a language server can tell.
    pub(crate) fn undefined(&self) -> String {
        let said = undefined(&self.skipped);
        let may_make = |site: &&Site| {
            let is_given = |tokens: Tokens| tokens.defined_at.is_none() && !tokens.are_code;
            site.enclosing.is_empty() && site.tokens.is_some_and(is_given)
        };
        match self.sites.iter().find(may_make) {
            Some(site) => {
                let file = project::visible::path(&site.path);
                format!("{said} by its own text; the macro call at {file}:{} mentions it and may define it", site.line)
            }
            None => said,
        }
    }
}

/// File contents by path, relative to the root.
pub(crate) type Texts = BTreeMap<Arc<Path>, Arc<[u8]>>;

/// The maximum length of an alias chain, and the maximum number of aliases.
const MAX_RENAMES: usize = 3;
const MAX_ALIASES: usize = 32;

/// For how many sites of one file the line is stored, however few are listed: the listed ones may come last.
const MIN_LINES: usize = 200;

/// How many lines of context to store for a site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineOptions {
    pub context_lines: usize,
    /// For how many sites of one file.
    pub most: usize,
}

/// Finds the definitions and uses of a name: in the whole worktree, or only `in_file` of its definition.
pub(crate) fn find(scope: &Scope, asked: &str, shown: LineOptions, in_file: bool) -> Result<Candidates, NoAnswer> {
    let question = crate::name_at_position::parse_question(scope, asked)?;
    let file = question.place.as_ref().filter(|_| in_file);
    let below = file.map_or_else(|| scope.root.clone(), |place| scope.root.join(place));
    let whole = Scope { below, ..scope.clone() };
    let (reader, SearchResult { files, hits, skipped }) = read_all(&whole, &question, shown, true)?;
    let Reader { definitions, sites, aliases, .. } = reader;
    let declared_in = |one: &Definition| one.of_trait.clone().filter(|of| !of.is_impl).map(|of| of.name);
    let traits = definitions.iter().filter_map(declared_in).collect();
    let text = |site: &Site| hits.iter().find(|hit| *hit.path == *site.path).and_then(|hit| hit.text.get(..site.at));
    let is_behind = sites.iter().any(|site| question.count_qualifiers(text(site).unwrap_or_default()) > 0);
    let (definitions, skipped) = choose(&question, definitions, scope, (&hits, &sites), is_behind, skipped)?;
    let texts = hits.into_iter().map(|hit| (hit.path.into(), hit.text.into())).collect();
    let mut found = Candidates { question, definitions, sites, files, skipped, traits, texts, ..Candidates::default() };
    leave_out_other_languages(&mut found);
    if Rule::OtherNames.is_on() {
        aliases::follow(&whole, &mut found, aliases, shown);
    }
    if scope.below != scope.root {
        let below = scope.relative(&scope.below);
        found.sites.retain(|site| site.path.starts_with(below));
    }
    if Rule::Reclassify.is_on() {
        reclassify(&mut found);
    }
    found.sites.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    mark_locals(&mut found.sites);
    // Sites that cannot be local variables come first.
    found.sites.sort_by_key(|site| site.may_be_local);
    Ok(found)
}

/// Returns the site of a name or an alias at one place of a file; `None` if there is no name at this place.
pub(crate) fn site_at(found: &Candidates, hit: &Hit, name: &str, shown: LineOptions, until: Instant) -> Option<Site> {
    let all = occurrences(hit.language, &hit.text, name, &hit.starts, until)?;
    let mut reader = Reader::new(&found.question, shown);
    let given = Alias { name: name.to_owned(), path: hit.path.as_path().into(), line: 0, is_open: false, depth: 0 };
    reader.read(hit, &all.all, name, (name != found.question.name).then_some(&given));
    let site = reader.sites.pop()?;
    let texts = Texts::from([(site.path.clone(), hit.text.clone().into())]);
    let class = corrected_class(found, &texts, &site);
    Some(Site { class, ..site })
}

/// Parses all files that mention the name. If `is_refused`, too many definitions of the plain name are an error: parsing then
/// stops as soon as they are found.
fn read_all<'a>(
    scope: &Scope,
    question: &'a Question,
    shown: LineOptions,
    is_refused: bool,
) -> Result<(Reader<'a>, SearchResult), NoAnswer> {
    let mut searched = search(scope, &question.name);
    let mut reader = Reader::new(question, shown);
    let defined = AtomicUsize::new(0);
    let are_many = || is_refused && question.is_plain() && defined.load(Ordering::Relaxed) > MAX_LISTED;
    let parse = |hit: &Hit| {
        if are_many() {
            return None;
        }
        let parsed = occurrences(hit.language, &hit.text, &question.name, &hit.starts, scope.until)?;
        defined.fetch_add(defines(hit.language, &parsed.all), Ordering::Relaxed);
        Some(parsed)
    };
    let mut skipped = Vec::new();
    let parsed = in_turns(&searched.hits, parse);
    if are_many() {
        parsed
            .for_each(|(hit, all)| reader.read(hit, &all.map(|all| all.all).unwrap_or_default(), &question.name, None));
        reader.definitions.retain(|one| !one.is_signature && !one.is_embedded);
        reader.definitions.truncate(MAX_LISTED);
        return Err(too_many(question, &reader.definitions, false));
    }
    for (hit, all) in parsed {
        match all {
            Some(parsed) => {
                reader.read(hit, &parsed.all, &question.name, None);
                skipped.extend(broken(hit, &parsed));
            }
            None => skipped.push(unparsed(scope, hit)),
        }
    }
    let functions = functions(&reader.definitions);
    tell_functions(&mut reader.definitions, &functions);
    searched.skipped.extend(skipped);
    Ok((reader, searched))
}

/// Counts the definitions in a file. The result is a lower bound.
fn defines(language: Language, all: &[Occurrence]) -> usize {
    let is_one = |one: &&Occurrence| one.declares.as_ref().is_some_and(|one| !one.is_signature) && !one.embeds();
    let all = all.iter().filter(is_one).count();
    // The clauses of a function are one definition.
    if language == Language::Haskell { all.min(1) } else { all }
}

/// Returns the entry for a file that could not be parsed in time.
fn unparsed(scope: &Scope, hit: &Hit) -> Skipped {
    Skipped::new(hit.path.clone(), scope.why_not_parsed(), hit.starts.len())
}

/// Returns the entry for a file that was parsed in part.
pub(crate) fn broken(hit: &Hit, parsed: &Parsed) -> Option<Skipped> {
    let skipped = Skipped::new(hit.path.clone(), Why::Broken, hit.starts.len());
    (!parsed.unread.is_empty()).then(|| Skipped { lines: parsed.unread.clone(), ..skipped })
}

/// Selects the definitions that are meant. If there are none, macros may define the name.
fn choose(
    question: &Question,
    all: Vec<Definition>,
    scope: &Scope,
    (hits, sites): (&[Hit], &[Site]),
    is_behind: bool,
    mut skipped: Vec<Skipped>,
) -> Result<(Vec<Definition>, Vec<Skipped>), NoAnswer> {
    let made = macro_defined_files(hits, sites);
    let mentions = mentions(hits, sites);
    let definitions = chosen(question, all, scope, mentions, is_behind, &[&skipped[..], &made].concat())?;
    if definitions.is_empty() && !is_behind {
        skipped.extend(made);
        // No language server was asked about definitions in these files.
        skipped.iter_mut().filter(|one| one.why == Why::Broken).for_each(|one| one.why = Why::Unread);
    }
    Ok((definitions, skipped))
}

/// Returns the Rust files in which a macro defines a function of the name.
fn macro_defined_files(hits: &[Hit], sites: &[Site]) -> Vec<Skipped> {
    let is_made = |site: &&Site| {
        let is_in_macro = site.class == Class::Binding && site.tokens.is_some_and(|tokens| tokens.defined_at.is_some());
        let hit = hits.iter().find(|hit| is_in_macro && *hit.path == *site.path);
        hit.and_then(|hit| hit.text.get(..site.at)).is_some_and(|before| before.trim_ascii_end().ends_with(b"fn"))
    };
    files_of(sites.iter().filter(is_made), Why::Makes)
}

/// Returns an entry for each file with some sites.
fn files_of<'a>(sites: impl Iterator<Item = &'a Site>, why: Why) -> Vec<Skipped> {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    sites.for_each(|site| *counts.entry(&*site.path).or_default() += 1);
    counts.into_iter().map(|(path, count)| Skipped::new(path.to_path_buf(), why, count)).collect()
}

fn mentions(hits: &[Hit], sites: &[Site]) -> Mentions {
    match (hits, sites) {
        ([], _) => Mentions::None,
        (_, []) => Mentions::OfNoName,
        _ => Mentions::Some,
    }
}

/// Collects definitions, sites and aliases from hits.
struct Reader<'a> {
    question: &'a Question,
    shown: LineOptions,
    definitions: Vec<Definition>,
    sites: Vec<Site>,
    /// Aliases from imports: the name, the file, and whether other files may use it.
    aliases: VecDeque<Alias>,
}

#[derive(Debug, Clone)]
struct Alias {
    name: String,
    path: Arc<Path>,
    /// The line of the import.
    line: usize,
    is_open: bool,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(question: &'a Question, shown: LineOptions) -> Reader<'a> {
        Reader { question, shown, definitions: Vec::new(), sites: Vec::new(), aliases: VecDeque::new() }
    }

    fn read(&mut self, hit: &Hit, all: &[Occurrence], name: &str, alias: Option<&Alias>) {
        let path: Arc<Path> = hit.path.as_path().into();
        let lines = Lines::new(&hit.text);
        for (number, one) in all.iter().enumerate() {
            if let Some(other) = &one.alias {
                self.add_alias(other, &path, &lines, one, alias.map_or(0, |alias| alias.depth) + 1);
            }
            if let (Some(declares), None) = (&one.declares, alias) {
                let definition = definition(hit, &path, &lines, one, declares, name);
                add_definition(&mut self.definitions, definition, &hit.text);
            }
            let is_shown = self.shown.most > 0 && number < self.shown.most.saturating_mul(4).max(MIN_LINES);
            let around = is_shown.then_some(self.shown.context_lines);
            let site = Site::new(path.clone(), hit.language, &lines, one, around);
            self.sites.push(Site { alias: alias.map(|alias| alias.name.clone()), ..site });
        }
    }

    fn add_alias(&mut self, name: &str, path: &Arc<Path>, lines: &Lines<'_>, one: &Occurrence, depth: usize) {
        let is_new =
            name != self.question.name && !self.aliases.iter().any(|other| other.name == name && other.path == *path);
        if is_new && depth <= MAX_RENAMES && self.aliases.len() < MAX_ALIASES {
            let language = Language::by_name(path);
            let is_open = one.class == Class::Export || language == Some(Language::Python);
            self.aliases.push_back(Alias {
                name: name.to_owned(),
                path: path.clone(),
                line: lines.line(one.bytes.start),
                is_open,
                depth,
            });
        }
    }
}

pub(crate) fn label(places: &[Container], language: Language) -> String {
    places.iter().map(|place| place.label.as_str()).collect::<Vec<_>>().join(separator(language))
}

/// Returns the name under which a file is imported; `None` if it is unknown.
fn module_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    match stem {
        "lib" | "main" => None,
        "mod" | "index" | "__init__" => match path.parent()?.file_name() {
            Some(folder) => Some(folder.to_str()?.to_owned()),
            None => Some(stem.to_owned()),
        },
        _ => Some(stem.to_owned()),
    }
}

fn has(text: &[u8], name: &str) -> bool {
    memchr::memmem::find(text, name.as_bytes()).is_some()
}

impl Candidates {
    /// Adds the skipped files of a search for an alias, if they may hold uses in these languages.
    fn leave_out<'a>(&mut self, skipped: impl Iterator<Item = &'a Skipped>, families: &BTreeSet<&str>) {
        let is_of_them = |one: &&Skipped| may_use_languages(&one.path, families);
        for one in skipped.filter(is_of_them) {
            if !self.skipped.iter().any(|known| (&known.path, known.why) == (&one.path, one.why)) {
                self.skipped.push(one.clone());
            }
        }
    }
}

/// True if a skipped file may hold uses in these languages.
fn concerns(skipped: &Skipped, families: &BTreeSet<&str>) -> bool {
    !skipped.why.is_of_its_language() || families.is_empty() || may_use_languages(&skipped.path, families)
}

/// True if a file may use names of these languages; an unknown kind of file may.
fn may_use_languages(path: &Path, families: &BTreeSet<&str>) -> bool {
    let languages = languages_of(path);
    languages.is_empty() || languages.into_iter().any(|language| families.contains(family(language)))
}
