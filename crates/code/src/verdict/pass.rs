//! All questions of one answer to one server, once: the references of each definition, and what is defined at each candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use super::conditions::{Conditions, has_compile_commands};
use super::decide::{Decided, Said, decide};
use super::dispatch::{Dispatched, between, overrides};
use super::grammar::{is_none_of_them, is_silent};
use super::in_texts::by_text;
use super::mixins::Classes;
use super::named_besides::{imports_default, is_defaulted, is_qualifier};
use super::objects::{by_guess, by_name, by_object, by_order, by_union};
use super::owner::{Renamed, owner};
use super::requests::{defined, left, places, spots_of, within};
use super::said::{read, stands_for};
use super::texts::{Sheets, Spot};
use super::unnamed::unnamed;
use super::waiting::{Round, Settling, Standing};
use super::{Asked, Judged, Verdict, implicit_callers, is_of, mixins};
use crate::answer::{Found, Site, site_at};
use crate::blocking::blocking;
use crate::judgement::{Code, Reason};
use crate::lsp::{Failure, Location, of_path};
use crate::rule::Rule;
use crate::search::Hit;
use crate::server::{Document, Server, Session};
use crate::syntax::{C_AND_CPP, Class, Kind, Language, family};

/// What one pass found out.
pub(super) struct Pass {
    /// By the number of the site.
    decided: BTreeMap<usize, Decided>,
    /// What only the server knows.
    added: Vec<(Site, usize)>,
    /// Places that the server names and that hold another text.
    odd: BTreeSet<Spot>,
    /// Files that were opened as they were read, because of what is odd in them.
    opened: BTreeSet<PathBuf>,
    missed: usize,
    /// Why uses that syntax does not see may be missing: who may call without a name, or what the server refuses.
    unnamed: Option<(Code, String)>,
    conditions: Conditions,
    /// Of Python.
    classes: Classes,
    proves: bool,
    is_lost: bool,
    settling: Settling,
}

/// How many sites are asked for; more are undecided, over a limit.
pub(super) const MOST_SITES: usize = 2000;
/// How many methods are told apart whose traits have one name, or asked for their overriders.
const MOST_BETWEEN: usize = 100;
/// How many files are open at once, besides those of the definitions.
pub(super) const FILES: usize = 180;

impl Pass {
    /// Asks everything. The time that is left bounds each request.
    pub(super) async fn run(asked: &Asked<'_>, found: &Found, family: &str, server: &Server) -> Pass {
        let mut pass = Pass {
            decided: BTreeMap::new(),
            added: Vec::new(),
            odd: BTreeSet::new(),
            opened: BTreeSet::new(),
            missed: 0,
            unnamed: None,
            conditions: blocking(|| Conditions::of(&asked.call.scope.root, found)),
            classes: Classes::default(),
            proves: false,
            is_lost: false,
            settling: Settling::default(),
        };
        if family == crate::syntax::family(Language::Python) {
            match mixins::classes(asked.call.scope, found, asked.call.until).await {
                Some(classes) => pass.classes = classes,
                None => pass.unnamed = Some((Code::NotSearched, "classes of files that cannot be searched".to_owned())),
            }
        }
        if family == C_AND_CPP && is_in_macro(found) && !has_compile_commands(&asked.call.scope.root) {
            let name = &found.question.name;
            let text = format!(
                "{name} stands in a macro: in which files that is used clangd knows by a compile_commands.json alone"
            );
            pass.unnamed = Some((Code::NotSearched, text));
        }
        let candidates: Vec<usize> = (0..found.sites.len()).filter(|&at| is_asked(asked, found, at, family)).collect();
        let root = &asked.call.scope.root;
        let mut files: Vec<PathBuf> = candidates.iter().map(|&at| root.join(&found.sites[at].path)).collect();
        files.dedup();
        files.sort();
        files.dedup();
        let of_definitions: BTreeSet<PathBuf> = found
            .definitions
            .iter()
            .filter(|one| crate::syntax::family(one.language) == family)
            .map(|one| root.join(&one.path))
            .collect();
        let files: Vec<PathBuf> = files.into_iter().filter(|file| !of_definitions.contains(file)).collect();
        let mut said: Vec<Said> = vec![Said::Nothing; found.sites.len()];
        let mut named: Vec<Vec<usize>> = vec![Vec::new(); found.sites.len()];
        let chunks = files.len().div_ceil(FILES).max(1);
        for number in 0..chunks {
            let chunk: BTreeSet<PathBuf> =
                files.iter().skip(number * FILES).take(FILES).chain(&of_definitions).cloned().collect();
            let documents = chunk.iter().filter_map(|file| document(found, root, file)).collect();
            let Some(session) = within(asked.call.until, server.open(documents)).await.flatten() else {
                pass.is_lost = true;
                return pass;
            };
            pass.settling.asks(&session);
            let mut sheets = Sheets::new(root, &found.texts, session.encoding);
            if number == 0 {
                pass.references(asked, found, family, &session, &mut sheets, &mut named).await;
                if !pass.odd.is_empty() && !pass.is_lost {
                    pass.again(asked, found, family, server, &mut sheets, &mut named).await;
                }
            }
            let is_here = |at: &&usize| chunk.contains(&root.join(&found.sites[**at].path));
            let here: Vec<usize> = candidates.iter().filter(is_here).copied().collect();
            if Rule::Definitions.is_on() {
                pass.definitions(asked, found, &here, &session, &mut sheets, &mut said).await;
            }
            if pass.is_lost {
                return pass;
            }
            if number == 0 && asked.asks_for_calls() && implicit_callers::known(found, asked.wanted).is_none() {
                let until = asked.call.until;
                let by =
                    implicit_callers::by_bases(asked.call.scope, found, family, &session, &mut sheets, until).await;
                pass.unnamed = pass.unnamed.or(by.map(|text| (Code::Dynamic, text)));
            }
        }
        let decide_all = candidates.iter().map(|&at| (at, decide(at, &named, &said, silent(&found.sites[at]))));
        let decided: Vec<(usize, Decided)> = decide_all.collect();
        let silent = decided.iter().filter(|(_, decided)| is_silent(decided.verdict)).map(|(at, _)| &found.sites[*at]);
        let renamed = Renamed::of(&asked.call, silent.filter_map(|site| owner(found, site)).collect()).await;
        for (at, mut decided) in decided {
            if is_silent(decided.verdict) && is_none_of_them(found, &found.sites[at], &renamed) {
                decided.verdict = Verdict::Refuted;
            }
            // Some servers list no imports and no declarations among the references.
            let counts =
                !matches!(found.sites[at].class, Class::Import | Class::Export | Class::Binding | Class::Signature);
            pass.missed += usize::from(decided.is_missed && counts);
            let defined_in =
                decided.meant.filter(|_| decided.verdict == Verdict::Confirmed).map(|of| &found.definitions[of].path);
            pass.proves |= defined_in.is_some_and(|path| found.files == 1 || *path != found.sites[at].path);
            pass.decided.insert(at, decided);
        }
        pass
    }

    /// Asks for the references of each definition.
    async fn references(
        &mut self,
        asked: &Asked<'_>,
        found: &Found,
        of: &str,
        session: &Session,
        sheets: &mut Sheets,
        named: &mut [Vec<usize>],
    ) {
        let mut asking = JoinSet::new();
        for (number, definition) in found.definitions.iter().enumerate() {
            let path = asked.call.scope.root.join(&definition.path);
            let Some(sheet) = sheets.get(&path).filter(|_| family(definition.language) == of) else { continue };
            let params = json!({
                "textDocument": {"uri": of_path(&path)},
                "position": sheet.position(definition.at, session.encoding),
                "context": {"includeDeclaration": false},
            });
            let (client, within) = (session.client.clone(), left(asked.call.until, session));
            asking.spawn(async move { (number, places(&client, "textDocument/references", &params, within).await) });
        }
        while let Some(Ok((number, answer))) = asking.join_next().await {
            match answer {
                Ok(places) => blocking(|| self.take(asked, found, number, places, sheets, named)),
                // Without the references nothing is known of what syntax does not see.
                Err(Failure::Refused { message, .. }) => {
                    let text = project::visible(&message);
                    self.unnamed.get_or_insert((Code::Inactive, format!("the judge names no references: {text}")));
                }
                Err(_) => self.is_lost = true,
            }
        }
    }

    /// Takes the references of a definition.
    fn take(
        &mut self,
        asked: &Asked<'_>,
        found: &Found,
        number: usize,
        places: Vec<Location>,
        sheets: &mut Sheets,
        named: &mut [Vec<usize>],
    ) {
        for place in places {
            // What is used outside of the project was not asked for.
            let Some(below) = sheets.below(&place.path).map(PathBuf::from) else { continue };
            let Some(spot) = sheets.spot(&place) else {
                // Some remember files that were deleted (clangd's index): nothing is used there any more.
                if place.path.try_exists().unwrap_or(true) {
                    self.odd.insert(Spot { path: place.path, start: 0, end: 0 });
                }
                continue;
            };
            let is_here = |site: &Site| *site.path == *below && site.at == spot.start;
            if let Some(at) = found.sites.iter().position(is_here) {
                if !named[at].contains(&number) {
                    named[at].push(number);
                }
                continue;
            }
            // Some name the declaration though they are told not to.
            let is_definition = |one: &crate::definition::Definition| *one.path == *below && one.at == spot.start;
            if found.definitions.iter().any(is_definition) {
                continue;
            }
            let word = sheets.text(&spot).to_owned();
            let is_name = word == found.question.name
                || found.names.contains(&word)
                || stands_for(found, number, &word)
                || imports_default(sheets, &spot, &word);
            // With a field that is embedded by `*geo.Base` gopls gives the uses of the package.
            if !is_name && found.definitions[number].is_embedded {
                continue;
            }
            // `Self` is the type, and not what an alias calls it.
            if word == "Self" && found.definitions[number].kind == Kind::Type {
                continue;
            }
            // It names the namespace of `new app::Item(7)`, too.
            if !is_name && blocking(|| is_qualifier(sheets, &spot, &found.question.name)) {
                continue;
            }
            // clangd names each field where a class has a function made that copies or moves it.
            if !is_name && blocking(|| is_defaulted(sheets, &spot)) {
                continue;
            }
            let is_below = asked.call.scope.root.join(&below).starts_with(&asked.call.scope.below);
            let is_known = |(site, _): &(Site, usize)| is_here(site);
            if !is_name {
                let site = self.opened.contains(&spot.path).then(|| unnamed(found, number, &spot, sheets, asked.shown));
                match site.flatten() {
                    Some(site) if is_below && !self.added.iter().any(is_known) => self.added.push((site, number)),
                    Some(_) => {}
                    None => _ = self.odd.insert(spot),
                }
                continue;
            }
            if !is_below {
                continue;
            }
            let text = sheets.get(&spot.path).map(|sheet| sheet.text.as_bytes().to_vec()).unwrap_or_default();
            let skip = sheets.get(&spot.path).map_or(0, |sheet| sheet.skip);
            if let Some(language) = Language::of(&below, &text).filter(|_| !self.added.iter().any(is_known)) {
                let hit = Hit { path: below.clone(), language, text, starts: vec![spot.start - skip] };
                let until = Instant::now() + Duration::from_secs(1);
                if let Some(mut site) = site_at(found, &hit, &word, asked.shown, until) {
                    site.at += skip;
                    site.alias = (word != found.question.name).then_some(word);
                    self.added.push((site, number));
                }
            }
        }
    }

    /// Opens the files of what holds another text than the name, and asks for the references again.
    async fn again(
        &mut self,
        asked: &Asked<'_>,
        found: &Found,
        family: &str,
        server: &Server,
        sheets: &mut Sheets,
        named: &mut [Vec<usize>],
    ) {
        let files: BTreeSet<PathBuf> = std::mem::take(&mut self.odd).into_iter().map(|spot| spot.path).collect();
        let documents = files.iter().filter_map(|path| {
            let sheet = sheets.get(path)?;
            let language = Language::of(path, sheet.text.as_bytes())?;
            Some(Document { path: path.clone(), language, text: sheet.text.clone() })
        });
        let documents: Vec<Document> = documents.take(20).collect();
        let documents_of = documents.iter().map(|one| one.path.clone()).collect();
        let Some(session) = within(asked.call.until, server.open(documents)).await.flatten() else {
            self.is_lost = true;
            return;
        };
        self.opened = documents_of;
        named.iter_mut().for_each(Vec::clear);
        self.added.clear();
        self.references(asked, found, family, &session, sheets, named).await;
    }

    /// Asks what is defined at each of these sites.
    async fn definitions(
        &mut self,
        asked: &Asked<'_>,
        found: &Found,
        sites: &[usize],
        session: &Session,
        sheets: &mut Sheets,
        said: &mut [Said],
    ) {
        let mut asking = JoinSet::new();
        for &at in sites.iter().take(MOST_SITES) {
            let site = &found.sites[at];
            let path = asked.call.scope.root.join(&site.path);
            let Some(sheet) = sheets.get(&path) else {
                said[at] = Said::Failed(Code::Unparsable);
                continue;
            };
            let position = sheet.position(site.at, session.encoding);
            let (client, within) = (session.client.clone(), left(asked.call.until, session));
            asking.spawn(async move { (at, defined(&client, &path, position, within).await) });
        }
        for &at in sites.iter().skip(MOST_SITES) {
            said[at] = Said::Failed(Code::OverALimit);
        }
        self.bodies(found, session, sheets, asked.call.until).await;
        let mut known = BTreeMap::new();
        let mut open: Vec<(usize, Vec<Location>)> = Vec::new();
        let mut all = Vec::with_capacity(asking.len());
        while let Some(Ok((at, answer))) = asking.join_next().await {
            match answer {
                Ok(places) => all.push((at, places)),
                Err(Failure::TimedOut { .. }) => said[at] = Said::Failed(Code::OutOfTime),
                Err(Failure::Closed) => {
                    self.is_lost = true;
                    said[at] = Said::Failed(Code::Crashed);
                }
                Err(Failure::Refused { .. } | Failure::Odd { .. }) => said[at] = Said::Nothing,
            }
        }
        let beside = if self.classes.beside.is_empty() { Vec::new() } else { all.clone() };
        blocking(|| {
            for (at, places) in all {
                said[at] = read(found, at, &places, sheets, &mut known, &mut self.conditions);
                if said[at] == Said::Failed(Code::Dynamic) {
                    open.push((at, places));
                }
            }
        });
        let to_ask = |(spot, come_to): (&Spot, &Option<Dispatched>)| {
            let is_asked = |one: &Dispatched| match one {
                Dispatched::Overriders => Rule::Overriders.is_on(),
                one => matches!(one, Dispatched::Either),
            };
            let asks = come_to.filter(is_asked)?;
            Some((spot.clone(), asks))
        };
        let spots: Vec<(Spot, Dispatched)> = known.iter().filter_map(to_ask).collect();
        for (spot, asks) in spots.into_iter().take(MOST_BETWEEN) {
            // Some servers answer only where a file is open, as that of a site is.
            let leads_there = |places: &[Location], sheets: &mut Sheets| {
                places.iter().any(|place| sheets.spot(place).as_ref() == Some(&spot))
            };
            let from = blocking(|| open.iter().find(|(_, places)| leads_there(places, sheets)).map(|(at, _)| *at));
            let from = from.map(|at| (sheets.path(&found.sites[at].path), found.sites[at].at));
            let come_to = match asks {
                Dispatched::Overriders => overrides(found, &spot, from, session, sheets, asked.call.until).await,
                _ => between(found, &spot, session, sheets, asked.call.until).await,
            };
            known.insert(spot, come_to);
        }
        for (at, places) in open {
            said[at] = read(found, at, &places, sheets, &mut known, &mut self.conditions);
            if !Rule::Overriders.is_on() {
                continue;
            }
            said[at] = by_object(found, at, said[at].clone(), &self.classes, session, sheets, asked.call.until).await;
        }
        by_name(found, sites, said);
        by_text(found, sites, session, sheets, asked.call.until, said).await;
        blocking(|| by_order(found, beside, &self.classes, sheets, said));
        by_union(found, sites, session, sheets, asked.call.until, said).await;
        by_guess(found, sites, session, sheets, asked.call.until, said).await;
    }

    /// Asks where the functions stand whose prototypes in C and C++ are our definitions.
    async fn bodies(&mut self, found: &Found, session: &Session, sheets: &mut Sheets, until: Instant) {
        for (number, one) in found.definitions.iter().enumerate() {
            let text = found.texts.get(&one.path).and_then(|text| text.get(..one.at)).unwrap_or_default();
            let statement = text.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
            let is_extern = one.kind == Kind::Variable && statement.trim_ascii().starts_with(b"extern");
            if family(one.language) != C_AND_CPP || !one.is_signature && !is_extern {
                continue;
            }
            let path = sheets.path(&one.path);
            for body in spots_of(&path, one.at, session, sheets, until).await.unwrap_or_default() {
                self.conditions.take_body(&body, number);
            }
        }
    }

    /// Gives the sites their verdicts, and adds what only the server knows.
    pub(super) fn apply(self, found: &mut Found, family: &str, judged: &mut Judged) {
        for site in found.sites.iter_mut().filter(|site| is_of(site, family)) {
            // What is not asked for is not judged.
            site.verdict = Verdict::NotJudged;
        }
        for (at, decided) in self.decided {
            let site = &mut found.sites[at];
            (site.verdict, site.meant, site.by_interface) = (decided.verdict, decided.meant, decided.by_interface);
        }
        judged.missed += self.missed;
        if let Some((code, text)) = self.unnamed {
            judged.is_certain = false;
            judged.reasons.push(Reason { code, text, sites: 0 });
        }
        for (mut site, number) in self.added {
            (site.verdict, site.meant) = (Verdict::Confirmed, Some(number));
            if site.class == Class::Mention {
                site.verdict = Verdict::NotJudged;
            }
            found.sites.push(site);
        }
        if !self.odd.is_empty() {
            judged.is_certain = false;
            let places = match self.odd.len() {
                1 => "a place that the judge names holds another text".to_owned(),
                count => format!("{count} places that the judge names hold another text"),
            };
            let text = format!("{places}; if that stays, `hob code restart` or code_status with restart begins anew");
            judged.reasons.push(Reason { code: Code::Stale, text, sites: self.odd.len() });
        }
    }
}

impl Round for Pass {
    fn standing(&self) -> Standing {
        let is_open = |decided: &Decided| matches!(decided.verdict, Verdict::Undecided(_));
        Standing {
            is_lost: self.is_lost,
            is_sure: self.missed == 0
                && self.odd.is_empty()
                && self.opened.is_empty()
                && !self.decided.values().any(is_open),
            proves: self.proves,
            is_doubted: self.missed > 0,
        }
    }

    fn settling(&self) -> &Settling {
        &self.settling
    }

    fn says_the_same(&self, other: &Pass) -> bool {
        let places =
            |pass: &Pass| pass.added.iter().map(|(site, _)| (site.path.clone(), site.at)).collect::<BTreeSet<_>>();
        self.decided == other.decided && places(self) == places(other) && self.odd == other.odd
    }
}

/// Whether what is defined at a site is asked for: what is wanted, and what others are reached through.
fn is_asked(asked: &Asked<'_>, found: &Found, at: usize, of: &str) -> bool {
    let site = &found.sites[at];
    let is_way = site.embeds || matches!(site.class, Class::Import | Class::Export | Class::Signature);
    is_of(site, of) && (is_way || asked.wanted.contains(&site.class))
}

/// Whether a macro of C or C++ has the name in its text.
fn is_in_macro(found: &Found) -> bool {
    found.sites.iter().any(|site| site.tokens.is_some() && family(site.language) == C_AND_CPP)
}

/// Why a server that is ready says nothing of a site.
fn silent(site: &Site) -> Code {
    if site.tokens.is_some() {
        return Code::Macro;
    }
    if site.is_broken {
        return Code::Unparsable;
    }
    match site.language {
        Language::Rust | Language::C | Language::Cpp | Language::Go => Code::Inactive,
        _ => Code::Dynamic,
    }
}

fn document(found: &Found, root: &Path, file: &Path) -> Option<Document> {
    let below = file.strip_prefix(root).ok()?;
    let bytes = found.texts.get(below)?;
    let sheet = super::texts::Sheet::of(bytes)?;
    let language = Language::of(file, bytes)?;
    Some(Document { path: file.to_owned(), language, text: sheet.text })
}
