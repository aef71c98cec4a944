//! One round of requests to a server: the references of each definition, then the definition at each candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use lsp::Location;
use lsp::server::Server;
use lsp::server::profile::rules;
use syntax::{C_AND_CPP, Class, Language, SCRIPTS, family};

use super::grammar::is_none_of_them;
use super::heads::Heads;
use super::overriders::Dispatches;
use super::prototypes::{Prototypes, has_compile_commands};
use super::qualifier::exclude_other_types;
use super::references::References;
use super::resolve::{Candidate, Evidence, Resolution, resolve};
use super::{Uses, implicit_callers, is_judged_by};
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::inquiry::{FILES, Inquiry, Round, RoundStatus, Sheets, definitions, document};
use crate::judgement::{Code, Judgement, Verdict};
use crate::rule::Rule;

/// The results of a round.
#[derive(Default)]
pub(super) struct Pass {
    /// By the index of the site.
    resolved: BTreeMap<usize, Resolution>,
    references: References,
    /// The reason why uses that syntax cannot see may be missing.
    unseen: Option<(Code, String)>,
    status: RoundStatus,
}

/// The maximum number of candidates to ask about individually. Beyond it, only candidates among the references are asked
/// about; if these are too many, the references alone decide.
const MOST_ASKED: usize = 300;

impl Pass {
    /// Sends all requests, each limited by the remaining time.
    pub(super) async fn run(uses: &Uses<'_>, server: &Server) -> Pass {
        let mut pass = Pass::default();
        pass.status.is_lost = !pass.ask(uses, server).await;
        pass
    }

    /// Sends all requests; false if the server does not answer.
    async fn ask(&mut self, uses: &Uses<'_>, server: &Server) -> bool {
        let Uses { asked, found, family } = *uses;
        let (root, until) = (&asked.call.scope.root, asked.call.until);
        if family == C_AND_CPP && is_in_macro(found) && !has_compile_commands(root) {
            let name = &found.question.name;
            let text = format!(
                "{name} is used in a macro; without compile_commands.json clangd cannot find the uses of the macro"
            );
            self.unseen = Some((Code::NotSearched, text));
        }
        let heads = self.heads(uses).await;
        let wanted: Vec<usize> = (0..found.sites.len()).filter(|&at| is_asked(uses, &found.sites[at])).collect();
        let ours: Vec<&Definition> =
            found.definitions.iter().filter(|one| syntax::family(one.language) == family).collect();
        let of_definitions: BTreeSet<PathBuf> = ours.iter().map(|one| root.join(&one.path)).collect();
        let importers = found.importers.iter().map(|path| root.join(path));
        let files: BTreeSet<PathBuf> =
            wanted.iter().map(|&at| root.join(&found.sites[at].path)).chain(importers).collect();
        let files: Vec<&PathBuf> = files.difference(&of_definitions).collect();
        let are_many = wanted.len() > MOST_ASKED;
        let unasked = |site| if are_many { Evidence::Unknown(Code::OverALimit) } else { silent(found, site) };
        let candidate = |site| Candidate { references: Vec::new(), evidence: unasked(site) };
        let mut candidates: Vec<Candidate> = found.sites.iter().map(candidate).collect();
        let mut is_inactive = false;
        for number in 0..files.len().div_ceil(FILES).max(1) {
            let chunk = files.iter().skip(number * FILES).take(FILES).copied();
            let chunk: BTreeSet<&PathBuf> = chunk.chain(&of_definitions).collect();
            let document = |file: &PathBuf| document(file.clone(), found.texts.get(file.strip_prefix(root).ok()?)?);
            let documents = chunk.iter().filter_map(|file| document(file)).collect();
            let Some(session) = self.status.open(until, server, documents).await else { return false };
            let mut sheets = Sheets::new(root, &found.texts, session.encoding, until);
            if number == 0 && !self.references.ask(uses, server, &session, &mut sheets, &mut candidates).await {
                return false;
            }
            let mut inquiry = Inquiry { found, session: &session, sheets: &mut sheets };
            let is_named = |at: &&usize| !candidates[**at].references.is_empty();
            let is_open = |at: &&usize| chunk.contains(&root.join(&found.sites[**at].path));
            let here: Vec<usize> = match are_many {
                _ if !Rule::Definitions.is_on() => Vec::new(),
                true if wanted.iter().filter(is_named).count() > MOST_ASKED => Vec::new(),
                true => wanted.iter().filter(is_named).filter(is_open).copied().collect(),
                false => wanted.iter().filter(is_open).copied().collect(),
            };
            if number == 0 {
                is_inactive = inquiry.is_inactive(family).await;
            }
            if !inquiry.define(&here, &heads, is_inactive, &mut candidates).await {
                return false;
            }
            if number == 0 {
                self.unseen = self.unseen.take().or_else(|| self.references.refused.take());
                if let Some(first) = ours.first().filter(|_| is_inactive) {
                    let text = format!("{} is not compiled in this configuration", first.describe());
                    self.unseen.get_or_insert((Code::Inactive, text));
                }
                if asked.asks_for_calls() && implicit_callers::find_in_text(found, asked.wanted).is_none() {
                    let by = implicit_callers::by_bases(&mut inquiry, family, &heads).await;
                    self.unseen = self.unseen.take().or(by.map(|text| (Code::Dynamic, text)));
                }
            }
        }
        let is_silent =
            |at: &usize| matches!(resolve(*at, &candidates).verdict, Verdict::Undecided(Code::Inactive | Code::Macro));
        let open = wanted.iter().copied().filter(is_silent).collect();
        exclude_other_types(&asked.call, found, open, &mut candidates).await;
        self.resolve(found, &wanted, &candidates);
        true
    }

    /// Reads the class heads of the project if the question is about a member.
    async fn heads(&mut self, uses: &Uses<'_>) -> Heads {
        let has_classes =
            |language| matches!(language, Language::Python | Language::Cpp) || family(language) == SCRIPTS;
        let is_member = |one: &&Definition| family(one.language) == uses.family && implicit_callers::is_member(one);
        let Some(one) = uses.found.definitions.iter().find(is_member).filter(|one| has_classes(one.language)) else {
            return Heads::default();
        };
        let heads = Heads::search(&uses.asked.call, one.language).await;
        heads.unwrap_or_else(|| {
            self.unseen = Some((Code::NotSearched, "classes of files that cannot be searched".to_owned()));
            Heads::default()
        })
    }

    fn resolve(&mut self, found: &Candidates, wanted: &[usize], candidates: &[Candidate]) {
        // A string may be a key: `geo["area"]`. A comment cannot: `{@link area}`.
        let is_named = |at: &usize| {
            let site = &found.sites[*at];
            let before = found.texts.get(&site.path).and_then(|text| text.get(..site.at)?.last());
            let is_text = before.is_some_and(|before| b"\"'`".contains(before));
            site.class == Class::Mention && is_text && !candidates[*at].references.is_empty()
        };
        let mentions = (0..candidates.len()).filter(is_named);
        for at in wanted.iter().copied().chain(mentions) {
            let site = &found.sites[at];
            let resolution = resolve(at, candidates);
            // Some servers omit imports and declarations from the references.
            let counts = !matches!(site.class, Class::Import | Class::Export | Class::Binding | Class::Signature);
            self.status.is_doubted |= resolution.is_missed && counts;
            let is_confirmed = resolution.verdict == Verdict::Confirmed;
            let meant = resolution.meant.filter(|_| is_confirmed).map(|of| &found.definitions[of].path);
            self.status.proves |= meant.is_some_and(|path| found.files == 1 || *path != site.path);
            self.resolved.insert(at, resolution);
        }
        // Another round would not ask about more candidates.
        let is_open = |one: &Resolution| matches!(one.verdict, Verdict::Undecided(code) if code != Code::OverALimit);
        let is_decided = !self.status.is_doubted && !self.resolved.values().any(is_open);
        self.status.is_sure = is_decided && self.references.are_sure();
    }

    /// Sets the verdicts of the sites, and adds sites that only the server knows.
    pub(super) fn apply(self, found: &mut Candidates, family: &str, judged: &mut Judgement) {
        for site in found.sites.iter_mut().filter(|site| is_judged_by(site, family)) {
            // Classes that were not requested are not verified.
            site.verdict = Verdict::NotJudged;
        }
        for (at, resolution) in self.resolved {
            let site = &mut found.sites[at];
            if site.class == Class::Mention {
                site.class = Class::Value;
            }
            (site.verdict, site.meant, site.by_interface) =
                (resolution.verdict, resolution.meant, resolution.by_interface);
        }
        if let Some((code, text)) = self.unseen {
            judged.doubt(code, text, 0);
        }
        self.references.apply(found, judged);
    }
}

impl Inquiry<'_> {
    /// Requests the definition at each of these sites; false if the server ended.
    async fn define(
        &mut self,
        sites: &[usize],
        heads: &Heads,
        is_inactive: bool,
        candidates: &mut [Candidate],
    ) -> bool {
        let place = |at: &usize| (*at, self.sheets.path(&self.found.sites[*at].path), self.found.sites[*at].at);
        let Some(all) = definitions(self.session, self.sheets, sites.iter().map(place)).await else { return false };
        let prototypes = self.prototypes().await;
        let mut dispatches = Dispatches::default();
        for (at, answer) in &all {
            candidates[*at].evidence = match answer {
                Ok(places) => self.evidence(*at, places, &prototypes, &mut dispatches, is_inactive).await,
                Err(code) => Evidence::Unknown(*code),
            };
        }
        // Calls of overridden methods take further requests.
        dispatches.may_ask = Rule::Overriders.is_on();
        for (at, answer) in &all {
            let is_open = dispatches.may_ask && candidates[*at].evidence == Evidence::Base;
            if let Ok(places) = answer
                && is_open
            {
                let evidence = self.evidence(*at, places, &prototypes, &mut dispatches, is_inactive).await;
                candidates[*at].evidence = self.by_receiver(&self.found.sites[*at], evidence, heads).await;
            }
        }
        true
    }

    /// Interprets the answer about a site.
    async fn evidence(
        &mut self,
        at: usize,
        places: &[Location],
        prototypes: &Prototypes,
        dispatches: &mut Dispatches,
        is_inactive: bool,
    ) -> Evidence {
        if Instant::now() >= self.sheets.until() {
            return Evidence::Unknown(Code::OutOfTime);
        }
        let site = &self.found.sites[at];
        match self.read(at, places, prototypes, dispatches, silent(self.found, site)).await {
            Evidence::Other | Evidence::Interface if is_inactive && !is_none_of_them(self.found, site) => {
                Evidence::Unknown(Code::Inactive)
            }
            evidence => evidence,
        }
    }

    /// True if no definition is compiled: a server resolves nothing in excluded code.
    async fn is_inactive(&self, of: &str) -> bool {
        let ours = self.found.definitions.iter().filter(|one| family(one.language) == of);
        let ours: Vec<&Definition> = ours.filter(|_| rules(of).has_conditions).collect();
        let places = ours.iter().map(|one| (0, self.sheets.path(&one.path), one.at));
        let answers = definitions(self.session, self.sheets, places).await;
        let is_silent = |answer: &Result<Vec<Location>, Code>| answer.as_ref().is_ok_and(Vec::is_empty);
        !ours.is_empty() && answers.is_some_and(|all| all.iter().all(|(_, answer)| is_silent(answer)))
    }
}

impl Round for Pass {
    fn status(&self) -> &RoundStatus {
        &self.status
    }

    fn says_the_same(&self, other: &Pass) -> bool {
        self.resolved == other.resolved && self.references.say_the_same(&other.references)
    }
}

/// True if the definition at a site is needed: its class was requested, or others are resolved through it.
fn is_asked(uses: &Uses<'_>, site: &Site) -> bool {
    let is_way = site.embeds || matches!(site.class, Class::Import | Class::Export | Class::Signature);
    is_judged_by(site, uses.family) && (is_way || uses.asked.wanted.contains(&site.class))
}

/// True if a C or C++ macro body contains the name.
fn is_in_macro(found: &Candidates) -> bool {
    found.sites.iter().any(|site| site.tokens.is_some() && family(site.language) == C_AND_CPP)
}

/// Returns the evidence about a site on which a ready server is silent.
fn silent(found: &Candidates, site: &Site) -> Evidence {
    if is_none_of_them(found, site) {
        return Evidence::Excluded;
    }
    let has_conditions = rules(family(site.language)).has_conditions;
    Evidence::Unknown(match site.tokens {
        Some(_) => Code::Macro,
        None if site.is_broken => Code::Unparsable,
        None if has_conditions => Code::Inactive,
        None => Code::Dynamic,
    })
}
