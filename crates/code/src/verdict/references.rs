//! The references of the definitions: which candidates they include, and uses that a search by name cannot find.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp::server::{Document, Server, Session};
use lsp::{Failure, Location, of_path};
use serde_json::json;
use syntax::{C_AND_CPP, Class, Kind, Language, Occurrence, SCRIPTS, family, is_word, occurrences_at};
use tokio::task::JoinSet;

use super::Uses;
use super::resolve::Candidate;
use crate::answer::{Candidates, LineOptions, Site, site_at};
use crate::inquiry::{Sheets, Spot, blocking, request_locations, request_time_limit, with_deadline};
use crate::judgement::{Code, Judgement, Unnamed, Verdict};
use crate::line_column::Lines;
use crate::search::Hit;

/// References other than candidates.
#[derive(Default)]
pub(super) struct References {
    /// Uses that a search by name cannot find, with the index of the definition.
    added: Vec<(Site, usize)>,
    /// Places whose text does not match.
    odd: BTreeSet<Spot>,
    /// Files that were opened because of such places.
    opened: BTreeSet<PathBuf>,
    /// The reason why a server refused the request.
    pub refused: Option<(Code, String)>,
}

/// The maximum number of files opened because of mismatches.
const MOST_OPENED: usize = 20;

impl References {
    /// Requests the references of each definition; false if the server does not answer.
    pub(super) async fn ask(
        &mut self,
        uses: &Uses<'_>,
        server: &Server,
        session: &Session,
        sheets: &mut Sheets,
        candidates: &mut [Candidate],
    ) -> bool {
        if !self.ask_once(uses, session, sheets, candidates).await {
            return false;
        }
        if self.odd.is_empty() {
            return true;
        }
        // The server may have an old version of these files.
        let files: BTreeSet<PathBuf> = std::mem::take(&mut self.odd).into_iter().map(|spot| spot.path).collect();
        let documents = files.iter().filter_map(|path| sheets.document(path));
        let documents: Vec<Document> = documents.take(MOST_OPENED).collect();
        self.opened = documents.iter().map(|one| one.path.clone()).collect();
        let Some(session) = with_deadline(sheets.until(), server.open(documents)).await.flatten() else {
            return false;
        };
        candidates.iter_mut().for_each(|one| one.references.clear());
        self.added.clear();
        self.ask_once(uses, &session, sheets, candidates).await
    }

    async fn ask_once(
        &mut self,
        uses: &Uses<'_>,
        session: &Session,
        sheets: &mut Sheets,
        candidates: &mut [Candidate],
    ) -> bool {
        let mut asking = JoinSet::new();
        for (number, definition) in uses.found.definitions.iter().enumerate() {
            let path = sheets.path(&definition.path);
            let position = sheets.position(&path, definition.at);
            let Some(position) = position.filter(|_| family(definition.language) == uses.family) else { continue };
            let params = json!({
                "textDocument": {"uri": of_path(&path)},
                "position": position,
                "context": {"includeDeclaration": false},
            });
            let (client, within) = (session.client.clone(), request_time_limit(sheets.until(), session));
            asking.spawn(async move {
                (number, request_locations(&client, "textDocument/references", &params, within).await)
            });
        }
        while let Some(Ok((number, answer))) = asking.join_next().await {
            match answer {
                Ok(places) => {
                    let until = sheets.until();
                    let take = |place| self.take(uses, number, place, sheets, candidates);
                    if blocking(|| places.into_iter().map(take).any(|()| Instant::now() >= until)) {
                        return false;
                    }
                }
                // Without references, uses that syntax cannot see are unknown.
                Err(Failure::Refused { message, .. }) => {
                    let text = project::visible(&message);
                    self.refused = Some((Code::Inactive, format!("the language server reports no references: {text}")));
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Records a reference of a definition.
    fn take(
        &mut self,
        uses: &Uses<'_>,
        number: usize,
        place: Location,
        sheets: &mut Sheets,
        candidates: &mut [Candidate],
    ) {
        let Uses { asked, found, .. } = *uses;
        // Uses outside of the project were not requested.
        let Some(below) = sheets.relative_path(&place.path).map(PathBuf::from) else { return };
        let Some(spot) = sheets.spot(&place) else {
            // Some servers remember deleted files (clangd's index); these have no uses any more.
            if place.path.try_exists().unwrap_or(true) {
                self.odd.insert(Spot { path: place.path, start: 0, end: 0 });
            }
            return;
        };
        let is_here = |site: &Site| *site.path == *below && site.at == spot.start;
        if let Some(at) = found.sites.iter().position(is_here) {
            if !candidates[at].references.contains(&number) {
                candidates[at].references.push(number);
            }
            return;
        }
        let word = sheets.text(&spot).to_owned();
        let (is_name, is_use) = kind(found, number, &below, &spot, &word, sheets);
        if !is_use {
            return;
        }
        let is_below = asked.call.scope.root.join(&below).starts_with(&asked.call.scope.below);
        let is_known = self.added.iter().any(|(site, _)| is_here(site));
        let site = match is_name {
            true if !is_below || is_known => return,
            true => named(found, &below, &spot, word, sheets, asked.shown),
            false => {
                let site =
                    unnamed(found, number, &spot, sheets, asked.shown).filter(|_| self.opened.contains(&spot.path));
                if site.is_none() {
                    self.odd.insert(spot);
                }
                site.filter(|_| is_below && !is_known)
            }
        };
        self.added.extend(site.map(|site| (site, number)));
    }

    /// Adds the uses that only the server knows, and records mismatches.
    pub(super) fn apply(self, found: &mut Candidates, judged: &mut Judgement) {
        for (mut site, number) in self.added {
            (site.verdict, site.meant) = (Verdict::Confirmed, Some(number));
            if site.class == Class::Mention {
                site.verdict = Verdict::NotJudged;
            }
            found.sites.push(site);
        }
        if !self.odd.is_empty() {
            let places = match self.odd.len() {
                1 => "the language server reports a place with other text".to_owned(),
                count => format!("the language server reports {count} places with other text"),
            };
            let text = format!("{places}; if this persists, `hob code restart` or code_status with restart may help");
            judged.doubt(Code::Stale, text, self.odd.len());
        }
    }

    pub(super) fn are_sure(&self) -> bool {
        self.odd.is_empty() && self.opened.is_empty()
    }

    pub(super) fn say_the_same(&self, other: &References) -> bool {
        let places = |of: &References| -> BTreeSet<_> {
            of.added.iter().map(|(site, _)| (site.path.clone(), site.at)).collect()
        };
        places(self) == places(other) && self.odd == other.odd
    }
}

/// Returns whether a reference that is not a candidate names the definition, and whether it is a use.
fn kind(found: &Candidates, number: usize, below: &Path, spot: &Spot, word: &str, sheets: &Sheets) -> (bool, bool) {
    let definition = &found.definitions[number];
    // Some servers include the declaration although the request excludes it.
    if found.definitions.iter().any(|one| *one.path == *below && one.at == spot.start) {
        return (true, false);
    }
    let is_name = word == found.question.name
        || found.names.contains(word)
        || is_keyword_for(found, number, word)
        || imports_default(sheets, spot, word)
        || found.importers.contains(below) && is_identifier(word);
    // `Self` names the type, not an alias of it.
    if is_name {
        return (true, word != "Self" || definition.kind != Kind::Type);
    }
    // For a field embedded as `*geo.Base`, gopls includes uses of the package. clangd includes the namespace of `new
    // app::Item(7)`, and each field if a class has a generated copy or move function.
    let is_other =
        definition.is_embedded || is_qualifier(sheets, spot, &found.question.name) || is_defaulted(sheets, spot);
    (false, !is_other)
}

/// Returns the use at a spot that names the definition.
fn named(
    found: &Candidates,
    below: &Path,
    spot: &Spot,
    word: String,
    sheets: &Sheets,
    shown: LineOptions,
) -> Option<Site> {
    let text = sheets.get(&spot.path)?.as_bytes().to_vec();
    let language = Language::detect(below, &text)?;
    let hit = Hit { path: below.to_owned(), language, text, starts: vec![spot.start] };
    let site = site_at(found, &hit, &word, shown, sheets.until())?;
    Some(Site { alias: (word != found.question.name).then_some(word), ..site })
}

/// True if a C++ spot is only a qualifier: `app` in `app::Item(7)`.
fn is_qualifier(sheets: &Sheets, spot: &Spot, name: &str) -> bool {
    let rest = sheets.text_from(&spot.path, spot.end);
    let path = rest.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)).next();
    path.is_some_and(|path| path.starts_with("::") && path.rsplit("::").next() == Some(name))
}

/// True if a text is a single name.
fn is_identifier(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    text.chars().all(is_part) && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

/// True if a C++ spot is a function that the compiler generates: `= default`.
fn is_defaulted(sheets: &Sheets, spot: &Spot) -> bool {
    let statement = sheets.text_from(&spot.path, spot.start).split([';', '{', '}']).next().unwrap_or_default();
    Language::by_name(&spot.path).is_some_and(|language| family(language) == C_AND_CPP)
        && statement.trim_end().strip_suffix("default").is_some_and(|before| before.trim_end().ends_with('='))
}

/// True if a TypeScript or JavaScript file imports the name as a default export, which may wrap one of the definitions
/// (`export default memo(Button)`).
fn imports_default(sheets: &Sheets, spot: &Spot, name: &str) -> bool {
    let is_script = Language::by_name(&spot.path).is_some_and(|language| family(language) == SCRIPTS);
    let Some(text) = sheets.get(&spot.path).filter(|_| is_script && !name.is_empty()) else { return false };
    let import = format!("import {name}");
    let mut all = text.split(import.as_str()).skip(1).map(str::trim_start);
    all.any(|rest| rest.starts_with("from ") || rest.starts_with(','))
}

/// True if a keyword means a definition without naming it.
fn is_keyword_for(found: &Candidates, number: usize, word: &str) -> bool {
    let definition = &found.definitions[number];
    let is_type = definition.kind.is_type() || definition.kind == Kind::Constructor;
    if definition.is_constructor(&found.question.name)
        && definition.inside.last().is_some_and(|names| names.iter().any(|one| one == word))
    {
        return true;
    }
    match definition.language {
        Language::Rust => is_type && word == "Self" || matches!(word, "self" | "super" | "crate"),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            is_type && matches!(word, "super" | "this") || word == "default"
        }
        Language::Python => is_type && matches!(word, "cls" | "super" | "self"),
        _ => false,
    }
}

/// Returns a use that does not name its definition, as clangd reports them: an implicit constructor call, the sign of an
/// operator, and the use of a macro whose body has the name. `None` if the text does not support it.
fn unnamed(found: &Candidates, number: usize, spot: &Spot, sheets: &Sheets, shown: LineOptions) -> Option<Site> {
    let definition = &found.definitions[number];
    let text = sheets.get(&spot.path)?.as_bytes();
    let path: PathBuf = sheets.relative_path(&spot.path)?.into();
    let language = Language::detect(&path, text).filter(|one| matches!(one, Language::C | Language::Cpp))?;
    let (start, end) = (spot.start, spot.end);
    let word = text.get(start..end).filter(|word| !word.is_empty())?;
    // A spot within a word indicates that the text has changed.
    let is_in_word = |at: usize| {
        at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|one| is_word(*one))
            && text.get(at).is_some_and(|one| is_word(*one))
    };
    if is_in_word(start) || is_in_word(end) || word.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let until = Instant::now() + Duration::from_secs(1);
    let all = occurrences_at(language, text, std::slice::from_ref(&(start..end)), until);
    let one = all.and_then(|all| all.into_iter().next());
    let name = &found.question.name;
    // The sign of an operator, or the bracket of a call operator.
    let is_operator = name.strip_prefix("operator").is_some_and(|sign| sign.trim_start().as_bytes().starts_with(word));
    let (how, class) = if definition.is_constructor(name) {
        (Unnamed::Implicit, Class::Construct)
    } else if is_operator && !is_word(word[0]) {
        (Unnamed::Implicit, Class::Call)
    } else if found.texts.values().any(|text| is_macro(text, word)) {
        // `COMMAND(list) { … }` looks like a function.
        let class = match one.as_ref().map(|one| one.class)? {
            Class::Binding | Class::Signature if !definition.kind.is_type() => Class::Call,
            class => class,
        };
        (Unnamed::Macro, class)
    } else {
        return None;
    };
    let alias = Some(String::from_utf8_lossy(word).into_owned());
    let one = Occurrence::new(start..end, class, one.map(|one| one.enclosing).unwrap_or_default());
    let site = Site::new(Arc::from(path), language, &Lines::new(text), &one, Some(shown.context_lines));
    Some(Site { at: spot.start, alias, unnamed: Some(how), in_interface: false, ..site })
}

fn is_macro(text: &[u8], word: &[u8]) -> bool {
    let mut all = memchr::memmem::find_iter(text, b"define");
    all.any(|at| {
        let before = text[..at].trim_ascii_end();
        let rest = text[at + b"define".len()..].trim_ascii_start();
        let is_whole = rest.get(word.len()).is_none_or(|next| !is_word(*next));
        before.ends_with(b"#") && rest.starts_with(word) && is_whole
    })
}
