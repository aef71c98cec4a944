//! Facts for walks over code: the definitions of a name, their uses and matches, what a definition needs, and texts that
//! mention a name outside of the reach of a language server.

mod symbols;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp::server::profile::rules;
use mcp::tool::{Context, ToolError};
use memchr::memmem::Finder;
use parking_lot::Mutex;
use syntax::{Class, Kind, Language, SCRIPTS, family};

use self::symbols::Declared;
use crate::answer::{LineOptions, Site, Texts, define};
use crate::callees::BodyNames;
pub use crate::callees::KnownDefinitions;
use crate::completeness::Head;
use crate::haskell::ChangeEffect;
use crate::inquiry::ghc;
use crate::judgement::{Code, Verdict};
use crate::line_column::Lines;
use crate::search::{MAX_PARSED, read, stamp, word_starts};
use crate::test_detection::is_test_file;
use crate::tools::find_callees::{BodyQuestion, judged_callees};
use crate::tools::find_matches::{Args, JudgedMatches, judged_matches};
use crate::tools::verified_uses::{Question, answer};
use crate::tools::{Questions, display_path, searched};
use crate::walk::{Entry, Files, walk};

/// The effect of a new or a removed constructor on a match.
pub use crate::matches::Effect as MatchEffect;

/// A definition in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name with its containers, such as `Shape::area`.
    pub label: String,
    /// The last part of the name.
    pub name: String,
    pub kind: Kind,
    pub language: Language,
    /// The path for display, relative to the root.
    pub file: String,
    /// The line and column of the name.
    pub line: usize,
    pub column: usize,
    /// The first and last lines of the whole declaration.
    pub lines: (usize, usize),
    /// The last line of what a class begins with: its fields and its constructor. Otherwise the last line.
    pub beginning_end: usize,
    pub signature: String,
    pub doc: Option<String>,
    /// The line of the name.
    pub text: String,
    pub in_test: bool,
    /// True for a function that a test runner calls by its name.
    pub is_test: bool,
}

impl Symbol {
    /// Returns the question that means exactly this definition.
    pub fn question(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// Returns the label of the class that this constructor makes. Code names the class, so its uses are those of the class.
    fn made_class(&self) -> Option<&str> {
        let is_constructor = match self.language {
            Language::Python => self.name == "__init__",
            language => family(language) == SCRIPTS && self.name == "constructor",
        };
        self.label.rsplit_once('.').filter(|_| is_constructor).map(|(class, _)| class)
    }

    /// Returns true for a type whose values are of one of several variants, which a match tells apart.
    pub fn has_variants(&self) -> bool {
        match self.kind {
            Kind::Enum | Kind::Union | Kind::Type => true,
            // A Haskell type with one constructor may get another one.
            Kind::Struct => self.language == Language::Haskell,
            // Python declares an enum as a class.
            Kind::Class => self.language == Language::Python,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A language server or a compiler resolved it.
    Verified,
    /// Only the syntax suggests it.
    Possible,
    /// A comment or a string.
    Mention,
}

/// How complete the facts are, and why they are not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Basis {
    pub is_complete: bool,
    pub checked_by: Vec<String>,
    pub reasons: Vec<String>,
    /// True if a retry may soon give a better answer.
    pub ask_again: bool,
}

#[derive(Debug, Clone)]
pub struct UseSite {
    pub file: String,
    pub language: Language,
    pub line: usize,
    pub column: usize,
    pub class: Class,
    /// The label of the declarations around it.
    pub enclosing: String,
    /// The function, type or value around it.
    pub within: Option<Symbol>,
    pub in_test: bool,
    pub certainty: Certainty,
    pub text: String,
}

/// The uses of a definition, sorted by place.
#[derive(Debug, Default)]
pub struct UseFacts {
    pub sites: Vec<UseSite>,
    pub basis: Basis,
}

/// A match on values of a type.
#[derive(Debug, Clone)]
pub struct MatchSite {
    /// The place; its class is [`Class::Pattern`].
    pub site: UseSite,
    pub last_line: usize,
    pub effect: MatchEffect,
    pub how: String,
}

#[derive(Debug, Default)]
pub struct MatchFacts {
    pub sites: Vec<MatchSite>,
    pub basis: Basis,
}

/// A definition that another one names.
#[derive(Debug, Clone)]
pub struct Need {
    pub symbol: Symbol,
    pub kind: NeedKind,
    pub certainty: Certainty,
    /// The line of the first place that names it.
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedKind {
    Type,
    /// A function that it calls or passes on.
    Call,
    /// The type of which it is a method.
    Container,
    /// A method of a class that is not a seed.
    Method,
    /// A function that calls it. [`Questions::needs`] gives none.
    Caller,
    /// A method that overrides it, one of this many. Only a few are given.
    Override(usize),
}

/// The names in a definition.
#[derive(Debug, Default)]
pub struct NeedFacts {
    pub needs: Vec<Need>,
    /// Names that the project does not define.
    pub external: Vec<String>,
    pub basis: Basis,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MentionLine {
    pub file: String,
    pub line: usize,
    pub text: String,
}

/// The maximum number of stored lines of text for a file.
const MOST_TEXTS: usize = 5000;
/// The maximum number of definitions that one need may have.
const MOST_DEFINITIONS: usize = 4;
/// The maximum numbers of overriding methods that are given for a method: if it is a seed, and if it calls nothing itself.
const OVERRIDERS_OF_SEED: usize = 5;
const OVERRIDERS_OF_STUB: usize = 3;

impl Questions {
    /// Checks that a file or folder to search exists.
    ///
    /// # Errors
    /// If it does not exist, or if it is outside of the worktree.
    pub async fn check_path(&self, cx: &Context, path: &str) -> Result<(), ToolError> {
        searched(self, cx, Some(path.to_owned()), |_| Ok(())).await
    }

    /// Returns the definitions of a name. The error of an unknown name suggests similar ones.
    ///
    /// # Errors
    /// If the name is invalid or not defined here, or if it has too many definitions.
    pub async fn symbols(&self, cx: &Context, name: &str, path: Option<&str>) -> Result<Vec<Symbol>, ToolError> {
        let name = name.to_owned();
        searched(self, cx, path.map(str::to_owned), move |scope| {
            let found = define(scope, &name)?;
            let mut files = Declared::new(scope, Texts::new());
            Ok(found.definitions.iter().filter_map(|one| files.symbol(one)).collect())
        })
        .await
    }

    /// Returns the innermost declarations around lines of a file. The list is empty if the file cannot be parsed.
    pub async fn enclosing_symbols(
        &self,
        cx: &Context,
        lines: Vec<(PathBuf, usize)>,
    ) -> Result<Vec<Symbol>, ToolError> {
        searched(self, cx, None, move |scope| {
            let mut files = Declared::new(scope, Texts::new());
            let mut found: Vec<Symbol> = Vec::new();
            for (path, line) in lines {
                let one = files.around_line(path.as_path().into(), line);
                found.extend(one.filter(|one| !found.contains(one)));
            }
            Ok(found)
        })
        .await
    }

    /// Returns the uses of a definition. Of those that are not `is_direct`, which lie beyond another use, the list of a language
    /// server is enough, if it lists all files.
    pub async fn uses(
        &self,
        cx: &Context,
        symbol: &Symbol,
        path: Option<&str>,
        is_direct: bool,
        wait_ms: u64,
    ) -> Result<UseFacts, ToolError> {
        let class = symbol.made_class();
        let name = class.map_or_else(|| symbol.question(), |class| format!("{}:{class}", symbol.file));
        let shown = LineOptions { context_lines: 0, most: MOST_TEXTS };
        let of = family(symbol.language);
        let is_listed = !is_direct && rules(of).lists_all_files && self.pool.is_ready(cx, of, &symbol.file).await;
        let asked = Question { name: &name, path, shown, wait_ms: Some(wait_ms), is_listed };
        let creates = |one: &Class| matches!(one, Class::Call | Class::Construct | Class::Value);
        let is_used = |one: &&Class| if class.is_some() { creates(one) } else { **one != Class::Mention };
        let wanted: Vec<Class> = Class::ALL.iter().filter(is_used).copied().collect();
        let answered = answer(self, cx, &asked, |_| wanted.clone()).await?;
        let verdicts = answered.found.sites.iter().filter(|site| site.class != Class::Mention);
        let head = Head::judged(verdicts.map(|site| site.verdict), &answered.judged);
        let (mut found, scope) = (answered.found, answered.scope);
        let head = head.searched(&scope, found.files, &found.skipped, answered.since);
        // The server named its references: the other places with that name are too many to check, and most mean another definition.
        let is_unchecked = |site: &Site| site.verdict == Verdict::Undecided(Code::OverALimit);
        let has_references = head.confirmed > 0;
        found.sites.retain(|site| !(has_references && is_unchecked(site)) && (class.is_none() || creates(&site.class)));
        searched(self, cx, None, move |scope| {
            let mut files = Declared::new(scope, found.texts);
            let mut sites = Vec::new();
            for site in found.sites.iter().filter(|site| site.verdict != Verdict::Refuted) {
                let within = files.enclosing_symbol(&site.path, site.at);
                let (kind, at) = ((site.class, site.language), (&*site.path, site.line, site.column));
                let place = use_site(kind, at, &site.enclosing, within, site.verdict, &site.text);
                sites.push(UseSite { in_test: site.in_test || place.in_test, ..place });
            }
            sites.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
            Ok(UseFacts { sites, basis: basis(head) })
        })
        .await
    }

    /// Returns the matches on values of a type, and what an added or removed constructor does there. `removed` is the
    /// constructor that is removed; by default, one is added.
    pub async fn matches(
        &self,
        cx: &Context,
        symbol: &Symbol,
        removed: Option<&str>,
        path: Option<&str>,
        wait_ms: u64,
    ) -> Result<MatchFacts, ToolError> {
        let change = removed.map(|name| format!("remove:{name}"));
        let args = Arc::new(Args::for_type(symbol.question(), change, path.map(str::to_owned), wait_ms));
        let JudgedMatches { said, found, .. } = judged_matches(self, cx, &args).await?;
        let head = Head::judged(said.sites.iter().map(|site| site.verdict), &said.judged);
        let language = symbol.language;
        searched(self, cx, None, move |scope| {
            let mut files = Declared::new(scope, found.texts);
            let mut sites = Vec::new();
            for site in said.sites.into_iter().filter(|site| site.verdict != Verdict::Refuted) {
                let within = files.around_line(site.path.clone(), site.line);
                let (kind, at) = ((Class::Pattern, language), (&*site.path, site.line, site.column));
                let place = use_site(kind, at, &site.enclosing, within, site.verdict, &site.text);
                let (last_line, effect, how) = (site.last_line, site.effect, site.how);
                sites.push(MatchSite { site: place, last_line, effect, how });
            }
            Ok(MatchFacts { sites, basis: basis(head) })
        })
        .await
    }

    /// Returns the definitions that earlier walks over this worktree have looked up. A changed file discards them.
    pub async fn known_definitions(&self, cx: &Context) -> Result<KnownDefinitions, ToolError> {
        let state = searched(self, cx, None, |scope| Ok(stamp(scope).map(|stamp| (scope.root.clone(), stamp)))).await?;
        let mut known = self.known.lock();
        if state.is_none() || known.0 != state {
            *known = (state, KnownDefinitions::default());
        }
        Ok(known.1.clone())
    }

    /// Returns the types and functions that a definition names, the type of a method, and the methods that override a seed or a
    /// method that calls nothing. In a class that is not a seed, only names outside of its methods count. `known` keeps the
    /// definitions of names for the questions of one walk.
    pub async fn needs(
        &self,
        cx: &Context,
        symbol: &Symbol,
        is_seed: bool,
        known: &KnownDefinitions,
        wait_ms: u64,
    ) -> Result<NeedFacts, ToolError> {
        let (name, wanted) = (symbol.question(), if is_seed { BodyNames::All } else { BodyNames::Shape });
        let asked = BodyQuestion { name: &name, wanted, known: known.clone(), wait_ms: Some(wait_ms) };
        let (symbol, known) = (symbol.clone(), known.clone());
        let (_, found, judged) = judged_callees(self, cx, &asked).await?;
        // A name that the project does not define leads nowhere, so its verdict says nothing about the needs.
        let verdicts = found.callees.iter().filter(|one| !one.is_external()).map(|one| one.verdict);
        let head = Head::judged(verdicts, &judged);
        searched(self, cx, None, move |scope| {
            let mut files = Declared::new(scope, found.texts);
            let (mut needs, mut external) = (Vec::new(), Vec::new());
            for one in &found.callees {
                if one.is_external() && !one.is_local && !external.contains(&one.name) {
                    external.push(one.name.clone());
                }
                // A name with many definitions says nothing about this one.
                if one.definitions.len() > MOST_DEFINITIONS {
                    continue;
                }
                for definition in one.definitions.iter().filter(|one| !one.is_outside()) {
                    needs.extend(files.symbol(definition).map(|symbol| Need {
                        symbol,
                        kind: if one.is_type { NeedKind::Type } else { NeedKind::Call },
                        certainty: certainty(one.verdict),
                        line: one.sites.first().map_or(0, |site| site.line),
                    }));
                }
            }
            let certainty = Certainty::Possible;
            let by_syntax = |kind, symbol: Symbol| Need { line: symbol.line, symbol, kind, certainty };
            let methods = if is_seed { Vec::new() } else { files.methods(&symbol) };
            needs.extend(methods.into_iter().map(|one| by_syntax(NeedKind::Method, one)));
            needs.extend(files.container(&symbol, &known).map(|one| by_syntax(NeedKind::Container, one)));
            let calls = needs.iter().any(|one| one.kind == NeedKind::Call);
            let overriders = if is_seed || !calls { files.overriders(&symbol, &known) } else { Vec::new() };
            let most = if is_seed { OVERRIDERS_OF_SEED } else { OVERRIDERS_OF_STUB };
            let kind = NeedKind::Override(overriders.len());
            needs.extend(overriders.into_iter().take(most).map(|one| by_syntax(kind, one)));
            external.sort();
            Ok(NeedFacts { needs, external, basis: basis(head) })
        })
        .await
    }

    /// Compiles the Haskell files of a worktree with and without another text of a file, and returns what the change
    /// causes. The worktree is not written.
    ///
    /// # Errors
    /// Explains why GHC cannot tell.
    pub async fn ghc_effect(&self, cx: &Context, root: &Path, file: &Path, text: &str) -> Result<ChangeEffect, String> {
        ghc::prove(&self.pool, cx, root, file, text).await
    }

    /// Returns the lines that mention a name in files that the language server of its language does not read.
    pub async fn mentions(
        &self,
        cx: &Context,
        name: &str,
        language: Language,
        most: usize,
    ) -> Result<Vec<MentionLine>, ToolError> {
        let name = name.to_owned();
        searched(self, cx, None, move |scope| {
            let finder = Finder::new(name.as_bytes());
            let found = Mutex::new(Vec::new());
            let is_read = |path: &Path| Language::by_name(path).is_some_and(|one| family(one) == family(language));
            let visit = |entry| {
                let Entry::File(path) = entry else { return };
                if is_read(&path) || path.metadata().is_ok_and(|file| file.len() > MAX_PARSED) {
                    return;
                }
                let Ok(text) = read(&path) else { return };
                let starts = word_starts(&finder, &text, &name);
                if starts.is_empty() || text.contains(&0) {
                    return;
                }
                let lines = Lines::new(&text);
                let file = display_path(scope.relative(&path));
                let mut all: Vec<MentionLine> = starts
                    .into_iter()
                    .map(|start| {
                        let line = lines.line(start);
                        let text = lines.excerpt(line, Some(start)).unwrap_or_default();
                        MentionLine { file: file.clone(), line, text: project::visible::escaped(text.trim()) }
                    })
                    .collect();
                all.dedup();
                found.lock().extend(all);
            };
            walk(&scope.root, &scope.root, Files::Written, || scope.is_over(), visit);
            let mut found = found.into_inner();
            found.sort();
            found.truncate(most);
            Ok(found)
        })
        .await
    }
}

/// Describes a place, given by its file, line and column.
fn use_site(
    (class, language): (Class, Language),
    (path, line, column): (&Path, usize, usize),
    enclosing: &str,
    within: Option<Symbol>,
    verdict: Verdict,
    text: &str,
) -> UseSite {
    UseSite {
        file: display_path(path),
        language,
        line,
        column,
        class,
        enclosing: enclosing.to_owned(),
        in_test: is_test_file(path) || within.as_ref().is_some_and(|one| one.in_test),
        within,
        certainty: certainty(verdict),
        text: project::visible::escaped(text.trim()),
    }
}

fn certainty(verdict: Verdict) -> Certainty {
    match verdict {
        Verdict::Confirmed | Verdict::Earlier => Certainty::Verified,
        Verdict::Undecided(_) | Verdict::Refuted => Certainty::Possible,
        Verdict::NotJudged => Certainty::Mention,
    }
}

fn basis(head: Head) -> Basis {
    Basis {
        is_complete: head.is_complete,
        checked_by: head.servers.iter().filter_map(|one| one.ready().map(str::to_owned)).collect(),
        ask_again: head.ask_again,
        reasons: head.with_reasons().reasons.into_iter().map(|reason| reason.text).collect(),
    }
}

/// Returns the files of a folder, relative to it, without hidden and ignored files and the output of builds.
pub fn written_files(root: &Path) -> Vec<PathBuf> {
    let files = Mutex::new(Vec::new());
    let visit = |entry| {
        let Entry::File(path) = entry else { return };
        if let Ok(file) = path.strip_prefix(root) {
            files.lock().push(file.to_owned());
        }
    };
    walk(root, root, Files::Written, || false, visit);
    files.into_inner()
}
