//! One round of requests to a server: the references of each definition, then the definition at each candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use super::evidence::read;
use super::grammar::{is_none_of_them, is_silent};
use super::heads::Heads;
use super::overriders::Dispatch;
use super::owner::{OwnerAliases, owner};
use super::prototypes::{Prototypes, has_compile_commands};
use super::references::References;
use super::resolve::{Candidate, Evidence, Resolution, resolve};
use super::{Query, implicit_callers, is_judged_by};
use crate::answer::{Candidates, Site};
use crate::definition::Definition;
use crate::inquiry::{
    FILES, Inquiry, Round, RoundStatus, Settling, Sheets, Spot, blocking, definitions, document, with_deadline,
};
use crate::judgement::{Code, Judgement, Reason, Verdict};
use crate::lsp::Location;
use crate::rule::Rule;
use crate::server::Server;
use crate::server::profile::rules;
use crate::syntax::{C_AND_CPP, Class, Kind, Language, SCRIPTS, family};

/// The results of a round.
#[derive(Default)]
pub(super) struct Pass {
    /// By the index of the site.
    resolved: BTreeMap<usize, Resolution>,
    references: References,
    /// The number of sites that the references lack.
    missed: usize,
    /// The reason why uses that syntax cannot see may be missing.
    unseen: Option<(Code, String)>,
    proves: bool,
    is_lost: bool,
    settling: Settling,
}

/// The maximum number of candidates to ask about individually. Beyond it, only candidates among the references are asked
/// about; if these are too many, the references alone decide.
const MOST_ASKED: usize = 300;
/// The maximum number of methods to disambiguate by trait, or to ask for overriders.
const MOST_METHODS: usize = 100;

impl Pass {
    /// Sends all requests, each limited by the remaining time.
    pub(super) async fn run(asked: &Query<'_>, found: &Candidates, family: &str, server: &Server) -> Pass {
        let mut pass = Pass::default();
        pass.is_lost = !pass.ask(asked, found, family, server).await;
        pass
    }

    /// Sends all requests; false if the server does not answer.
    async fn ask(&mut self, asked: &Query<'_>, found: &Candidates, family: &str, server: &Server) -> bool {
        let (root, until) = (&asked.call.scope.root, asked.call.until);
        if family == C_AND_CPP && is_in_macro(found) && !has_compile_commands(root) {
            let name = &found.question.name;
            let text = format!(
                "{name} is used in a macro; without compile_commands.json clangd cannot find the uses of the macro"
            );
            self.unseen = Some((Code::NotSearched, text));
        }
        let heads = self.heads(asked, found, family).await;
        let wanted: Vec<usize> = (0..found.sites.len()).filter(|&at| is_asked(asked, found, at, family)).collect();
        let ours: Vec<&Definition> =
            found.definitions.iter().filter(|one| crate::syntax::family(one.language) == family).collect();
        let of_definitions: BTreeSet<PathBuf> = ours.iter().map(|one| root.join(&one.path)).collect();
        let importers = found.importers.iter().map(|path| root.join(path));
        let files: BTreeSet<PathBuf> =
            wanted.iter().map(|&at| root.join(&found.sites[at].path)).chain(importers).collect();
        let files: Vec<&PathBuf> = files.difference(&of_definitions).collect();
        let are_many = wanted.len() > MOST_ASKED;
        let unasked = |site| Candidate::new(if are_many { Code::OverALimit } else { silent(site) });
        let mut candidates: Vec<Candidate> = found.sites.iter().map(unasked).collect();
        let mut is_inactive = false;
        for number in 0..files.len().div_ceil(FILES).max(1) {
            let chunk = files.iter().skip(number * FILES).take(FILES).copied();
            let chunk: BTreeSet<&PathBuf> = chunk.chain(&of_definitions).collect();
            let document = |file: &PathBuf| document(file.clone(), found.texts.get(file.strip_prefix(root).ok()?)?);
            let documents = chunk.iter().filter_map(|file| document(file)).collect();
            let Some(session) = with_deadline(until, server.open(documents)).await.flatten() else { return false };
            self.settling.asks(&session);
            let mut sheets = Sheets::new(root, &found.texts, session.encoding, until);
            if number == 0
                && !self.references.ask(asked, found, family, server, &session, &mut sheets, &mut candidates).await
            {
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
        self.resolve(asked, found, &wanted, candidates).await;
        true
    }

    /// Reads the class heads of the project if the question is about a member.
    async fn heads(&mut self, asked: &Query<'_>, found: &Candidates, of: &str) -> Heads {
        let has_classes =
            |language| matches!(language, Language::Python | Language::Cpp) || family(language) == SCRIPTS;
        let is_member = |one: &&Definition| family(one.language) == of && implicit_callers::is_member(one);
        let Some(one) = found.definitions.iter().find(is_member).filter(|one| has_classes(one.language)) else {
            return Heads::default();
        };
        let heads = Heads::search(asked.call.scope, one.language, asked.call.until).await;
        heads.unwrap_or_else(|| {
            self.unseen = Some((Code::NotSearched, "classes of files that cannot be searched".to_owned()));
            Heads::default()
        })
    }

    /// Resolves the candidates. The grammar may exclude those on which the server is silent.
    async fn resolve(
        &mut self,
        asked: &Query<'_>,
        found: &Candidates,
        wanted: &[usize],
        mut candidates: Vec<Candidate>,
    ) {
        let is_open = |at: usize, candidates: &[Candidate]| is_silent(resolve(at, candidates).verdict);
        let open: Vec<usize> = wanted.iter().copied().filter(|at| is_open(*at, &candidates)).collect();
        let owners = open.iter().filter_map(|at| owner(found, &found.sites[*at])).collect();
        let renamed = OwnerAliases::find(&asked.call, owners).await;
        for at in open.into_iter().filter(|at| is_none_of_them(found, &found.sites[*at], &renamed)) {
            candidates[at].evidence = Evidence::Other;
        }
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
            let resolution = resolve(at, &candidates);
            // Some servers omit imports and declarations from the references.
            let counts = !matches!(site.class, Class::Import | Class::Export | Class::Binding | Class::Signature);
            self.missed += usize::from(resolution.is_missed && counts);
            let is_confirmed = resolution.verdict == Verdict::Confirmed;
            let meant = resolution.meant.filter(|_| is_confirmed).map(|of| &found.definitions[of].path);
            self.proves |= meant.is_some_and(|path| found.files == 1 || *path != site.path);
            self.resolved.insert(at, resolution);
        }
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
            judged.is_certain = false;
            judged.reasons.push(Reason { code, text, sites: 0 });
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
        let mut answers: Vec<(usize, Vec<Location>)> = Vec::with_capacity(all.len());
        for (at, answer) in all {
            match answer {
                Ok(places) => answers.push((at, places)),
                Err(code) => candidates[at].evidence = Evidence::Unknown(code),
            }
        }
        let mut known = BTreeMap::new();
        blocking(|| {
            for (at, places) in &answers {
                candidates[*at].evidence = self.read(*at, places, &mut known, &prototypes, is_inactive);
            }
        });
        answers.retain(|(at, _)| candidates[*at].evidence == Evidence::Base);
        if !Rule::Overriders.is_on() {
            return true;
        }
        self.dispatch(&answers, &mut known).await;
        for (at, places) in answers {
            let evidence = self.read(at, &places, &mut known, &prototypes, is_inactive);
            candidates[at].evidence = self.by_receiver(&self.found.sites[at], evidence, heads).await;
        }
        true
    }

    /// Interprets the answer about a site.
    fn read(
        &mut self,
        at: usize,
        places: &[Location],
        known: &mut BTreeMap<Spot, Option<Dispatch>>,
        prototypes: &Prototypes,
        is_inactive: bool,
    ) -> Evidence {
        if Instant::now() >= self.sheets.until() {
            return Evidence::Unknown(Code::OutOfTime);
        }
        match read(self.found, at, places, self.sheets, known, prototypes, silent(&self.found.sites[at])) {
            Evidence::Other | Evidence::Interface if is_inactive => Evidence::Unknown(Code::Inactive),
            evidence => evidence,
        }
    }

    /// Decides which definitions the methods at these sites run.
    async fn dispatch(&mut self, sites: &[(usize, Vec<Location>)], known: &mut BTreeMap<Spot, Option<Dispatch>>) {
        let asks = |dispatch: &Option<Dispatch>| matches!(dispatch, Some(Dispatch::Either | Dispatch::Overriders));
        let spots: Vec<(Spot, Option<Dispatch>)> = known
            .iter()
            .filter(|(_, dispatch)| asks(dispatch))
            .map(|(spot, dispatch)| (spot.clone(), *dispatch))
            .collect();
        for (spot, dispatch) in spots.into_iter().take(MOST_METHODS) {
            let from = sites.iter().find(|(_, places)| self.sheets.spots(places).contains(&spot));
            let from = from.map(|(at, _)| &self.found.sites[*at]);
            let from = from.map(|site| (self.sheets.path(&site.path), site.at));
            let dispatch = match dispatch {
                Some(Dispatch::Overriders) => self.override_of(&spot, from).await,
                _ => self.resolve_dispatch(&spot).await,
            };
            known.insert(spot, dispatch);
        }
    }

    /// Requests the functions of C and C++ prototypes among the definitions.
    async fn prototypes(&mut self) -> Prototypes {
        let mut prototypes = Prototypes::new(self.sheets.root());
        for (number, one) in self.found.definitions.iter().enumerate() {
            let text = self.found.text_before(&one.path, one.at);
            let statement = text.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
            let is_extern = one.kind == Kind::Variable && statement.trim_ascii().starts_with(b"extern");
            if family(one.language) != C_AND_CPP || !one.is_signature && !is_extern {
                continue;
            }
            let path = self.sheets.path(&one.path);
            for body in self.defined(&path, one.at).await.unwrap_or_default() {
                prototypes.add_body(&body, number);
            }
        }
        prototypes
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
    fn round_status(&self) -> RoundStatus {
        // Another round would not ask about more candidates.
        let is_open = |one: &Resolution| matches!(one.verdict, Verdict::Undecided(code) if code != Code::OverALimit);
        RoundStatus {
            is_lost: self.is_lost,
            is_sure: self.missed == 0 && self.references.are_sure() && !self.resolved.values().any(is_open),
            proves: self.proves,
            is_doubted: self.missed > 0,
        }
    }

    fn settling(&self) -> &Settling {
        &self.settling
    }

    fn says_the_same(&self, other: &Pass) -> bool {
        self.resolved == other.resolved && self.references.say_the_same(&other.references)
    }
}

/// True if the definition at a site is needed: its class was requested, or others are resolved through it.
fn is_asked(asked: &Query<'_>, found: &Candidates, at: usize, of: &str) -> bool {
    let site = &found.sites[at];
    let is_way = site.embeds || matches!(site.class, Class::Import | Class::Export | Class::Signature);
    is_judged_by(site, of) && (is_way || asked.wanted.contains(&site.class))
}

/// True if a C or C++ macro body contains the name.
fn is_in_macro(found: &Candidates) -> bool {
    found.sites.iter().any(|site| site.tokens.is_some() && family(site.language) == C_AND_CPP)
}

/// Returns the reason why a ready server is silent on a site.
fn silent(site: &Site) -> Code {
    if site.tokens.is_some() {
        return Code::Macro;
    }
    if site.is_broken {
        return Code::Unparsable;
    }
    if rules(family(site.language)).has_conditions { Code::Inactive } else { Code::Dynamic }
}
