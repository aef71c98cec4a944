//! Candidates and a judge make verdicts. Every candidate is looked at from both sides: whether the judge's references of the
//! definition have it, and what the judge says is defined there. What the judge says without the text to show for it is asked
//! again and never believed.
//!
//! - `by_ghc`: Haskell, which no server judges.
//! - `classes`: classes as the texts declare them.
//! - `conditions`: definitions of which each configuration compiles another one.
//! - `decide`: what two answers mean for a site; pure.
//! - `derived`: which class overrides a member of another, as the bases tell it that classes name.
//! - `dispatch`: what a call of a method that others implement or override, or of theirs, may come to.
//! - `grammar`: what a name cannot mean where it stands, for what the judge is silent on; pure.
//! - `guessed`: objects of which a judge guesses the class.
//! - `implicit_callers`: who may call a definition without naming it.
//! - `in_texts`: names in texts by which tests replace what they name.
//! - `invocations`: what a macro of the project is given.
//! - `named_besides`: what references have beside uses.
//! - `objects`: what is said of sites, corrected by the objects that they reach their names through.
//! - `owner`: which type a name belongs to, by the words before it.
//! - `said`: what a server's answer says of a site.
//! - `texts`: places of the protocol in the texts that were read.
//! - `requests`: what is asked for places.
//! - `pass`: all questions about the uses of a name to one server, once.
//! - `meaning`: what names mean, one by one, for questions that begin with places.
//! - `structural`: interfaces that a class meets without naming them.
//! - `mixins`: classes of Python that others derive from beside ours.
//! - `outside`: the uses of a name that the project does not define.
//! - `unnamed`: uses that do not name what they use.
//! - `waiting`: waits for a judge that can be believed, and asks until two rounds agree where one proves nothing.
//!
//! Start with [`judge`].

mod by_ghc;
mod classes;
mod conditions;
mod decide;
mod derived;
mod dispatch;
mod grammar;
mod guessed;
mod implicit_callers;
mod in_texts;
mod invocations;
mod meaning;
mod mixins;
mod named_besides;
mod objects;
mod outside;
mod owner;
mod pass;
mod requests;
mod said;
mod structural;
mod texts;
mod unnamed;
mod waiting;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mcp::tool::Context;

use crate::answer::{Found, Shown, Site, Texts};
use crate::definition::Definition;
use crate::haskell::is_judged_by_ghc;
use crate::judgement::{Code, Judged, Reason, Verdict};
use crate::kept::Stand;
use crate::pool::Pool;
use crate::search::{Scope, read};
use crate::server::Server;
use crate::syntax::{Class, family};

pub(crate) use meaning::{Meaning, Meanings, Name, Target, meanings};
use outside::judge_outside;
use pass::Pass;
use waiting::{Asking, judge_for, rounds};

/// A call that waits for judges.
pub(crate) struct Call<'a> {
    pub pool: &'a Pool,
    pub cx: &'a Context,
    pub scope: &'a Scope,
    /// When the answer is due.
    pub until: Instant,
}

/// A question about the uses of a name.
pub(crate) struct Asked<'a> {
    pub call: Call<'a>,
    pub wanted: &'a [Class],
    pub shown: Shown,
}

impl Asked<'_> {
    fn asks_for_calls(&self) -> bool {
        self.wanted.iter().any(|class| matches!(class, Class::Call | Class::Value | Class::FieldRead))
    }
}

/// Judges what was found. The sites get their verdicts; those that only the judge knows are added.
pub(crate) async fn judge(asked: &Asked<'_>, found: &mut Found) -> Judged {
    for site in &mut found.sites {
        site.verdict = match site.class {
            Class::Mention => Verdict::NotJudged,
            _ => Verdict::Undecided(Code::Absent),
        };
    }
    let mut judged = Judged { is_certain: true, ..Judged::default() };
    let of_definitions: BTreeSet<&'static str> = found.definitions.iter().map(|one| family(one.language)).collect();
    if of_definitions.is_empty() {
        let families: BTreeSet<&'static str> = found.sites.iter().map(|site| family(site.language)).collect();
        for family in families {
            judge_outside(asked, found, family, &mut judged).await;
        }
    }
    for family in of_definitions {
        judge_family(asked, found, family, &mut judged).await;
    }
    if let Some(text) = implicit_callers::known(found, asked.wanted).filter(|_| asked.asks_for_calls()) {
        judged.is_certain = false;
        judged.reasons.push(Reason { code: Code::Dynamic, text, sites: 0 });
    }
    found.sites.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    if found.definitions.iter().any(Definition::is_outside) {
        // What means the same stands together, the most frequent first; then what is not known.
        let mut counts = vec![0; found.definitions.len()];
        found.sites.iter().filter_map(|site| site.meant).for_each(|number| counts[number] += 1);
        let rank = |site: &Site| site.meant.map(|number| (Reverse(counts[number]), number));
        found.sites.sort_by_key(|site| (site.meant.is_none(), rank(site)));
    }
    // What is surely no local comes first; a judge makes that sure.
    found.sites.sort_by_key(|site| site.may_be_local && site.verdict != Verdict::Confirmed);
    judged
}

async fn judge_family(asked: &Asked<'_>, found: &mut Found, family: &'static str, judged: &mut Judged) {
    let Some(file) = found.definitions.iter().find(|one| crate::syntax::family(one.language) == family) else { return };
    let file = file.path.clone();
    let answer = if is_judged_by_ghc(family) {
        by_ghc::judge(asked, found, judged).await
    } else {
        ask_server(asked, found, family, &file, judged).await
    };
    match answer {
        Ok(()) => {
            recall(asked.call.pool, found, family).await;
            keep(asked.call.pool, found, family).await;
        }
        Err(code) => {
            undecided(found, family, code);
            recall(asked.call.pool, found, family).await;
            let is_open = |site: &&Site| is_of(site, family) && site.verdict == Verdict::Undecided(code);
            if let Some(reason) = judged.reasons.last_mut() {
                reason.sites = found.sites.iter().filter(is_open).count();
            }
        }
    }
}

/// Asks a server; the sites get what it says.
async fn ask_server(
    asked: &Asked<'_>,
    found: &mut Found,
    family: &'static str,
    file: &Path,
    judged: &mut Judged,
) -> Result<(), Code> {
    let server = judge_for(&asked.call, family, file, judged).await?;
    let open = found.sites.iter().filter(|site| is_of(site, family)).count();
    let uses = Uses { asked, found, family };
    let pass = rounds(&asked.call, &server, family, open, &uses, judged).await?;
    pass.apply(found, family, judged);
    Ok(())
}

/// The uses of a name in the files of one judge.
struct Uses<'a> {
    asked: &'a Asked<'a>,
    found: &'a Found,
    family: &'static str,
}

impl Asking for Uses<'_> {
    type Round = Pass;

    async fn ask(&self, server: &Server) -> Pass {
        Pass::run(self.asked, self.found, self.family, server).await
    }
}

fn is_of(site: &Site, wanted: &str) -> bool {
    family(site.language) == wanted && site.class != Class::Mention
}

/// Leaves all sites of a family undecided.
fn undecided(found: &mut Found, family: &str, code: Code) {
    for site in found.sites.iter_mut().filter(|site| is_of(site, family)) {
        site.verdict = Verdict::Undecided(code);
    }
}

/// What was confirmed earlier of what nobody judges now.
async fn recall(pool: &Pool, found: &mut Found, family: &str) {
    let Some(kept) = pool.kept().cloned() else { return };
    let is_open = |site: &Site| matches!(site.verdict, Verdict::Undecided(code) if !code.is_judged());
    let open: Vec<usize> =
        (0..found.sites.len()).filter(|at| is_of(&found.sites[*at], family) && is_open(&found.sites[*at])).collect();
    let (numbers, definitions) = stands_of_definitions(found, family);
    let sites: Vec<(usize, Stand)> =
        open.into_iter().filter_map(|at| Some((at, stand(found, &found.sites[at])?))).collect();
    if sites.is_empty() || definitions.is_empty() {
        return;
    }
    let (open, stands): (Vec<usize>, Vec<Stand>) = sites.into_iter().unzip();
    let recalled = tokio::task::spawn_blocking(move || kept.recall(&definitions, &stands));
    for (at, meant) in open.into_iter().zip(recalled.await.unwrap_or_default()) {
        if let Some(number) = meant {
            (found.sites[at].verdict, found.sites[at].meant) = (Verdict::Earlier, Some(numbers[number]));
        }
    }
}

/// A place in a file, relative to the root.
pub(crate) type At = (Arc<Path>, usize);

/// Which of some definitions sites were confirmed to mean earlier. The files of the definitions are read.
pub(crate) async fn recalled(call: &Call<'_>, definitions: Vec<At>, sites: &[At], texts: &Texts) -> Vec<Option<usize>> {
    let none = || vec![None; sites.len()];
    let Some(kept) = call.pool.kept().cloned() else { return none() };
    let Some(sites) = sites.iter().map(|(path, at)| stand_of(texts, path, *at)).collect::<Option<Vec<Stand>>>() else {
        return none();
    };
    let (root, count) = (call.scope.root.clone(), sites.len());
    let recalled = tokio::task::spawn_blocking(move || {
        let stand = |(path, at): At| Stand { text: read(&root.join(&path)).unwrap_or_default().into(), path, at };
        let definitions: Vec<Stand> = definitions.into_iter().map(stand).collect();
        kept.recall(&definitions, &sites)
    });
    recalled.await.unwrap_or_else(|_| vec![None; count])
}

/// Keeps that sites mean definitions, whose texts are known.
pub(crate) async fn remember(pool: &Pool, judgements: &[(At, At)], texts: &Texts) {
    let Some(kept) = pool.kept().cloned() else { return };
    let mut numbers: Vec<&At> = judgements.iter().map(|(definition, _)| definition).collect();
    numbers.sort();
    numbers.dedup();
    numbers.retain(|(path, _)| texts.contains_key(path));
    let definitions: Vec<Stand> = numbers.iter().filter_map(|(path, at)| stand_of(texts, path, *at)).collect();
    let sites: Vec<(Stand, Option<usize>)> = judgements
        .iter()
        .filter_map(|(definition, (path, at))| {
            Some((stand_of(texts, path, *at)?, Some(numbers.binary_search(&definition).ok()?)))
        })
        .collect();
    let kept = tokio::task::spawn_blocking(move || kept.keep(&definitions, &sites));
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(%error, "verdicts are not kept");
    }
}

/// Keeps what was judged now.
async fn keep(pool: &Pool, found: &Found, family: &str) {
    let Some(kept) = pool.kept().cloned() else { return };
    let (numbers, definitions) = stands_of_definitions(found, family);
    let judged = found.sites.iter().filter(|site| is_of(site, family)).filter_map(|site| {
        let meant = match site.verdict {
            Verdict::Confirmed => numbers.iter().position(|number| Some(*number) == site.meant),
            Verdict::Refuted => None,
            Verdict::Undecided(_) | Verdict::NotJudged | Verdict::Earlier => return None,
        };
        Some((stand(found, site)?, meant))
    });
    let judged: Vec<(Stand, Option<usize>)> = judged.collect();
    let kept = tokio::task::spawn_blocking(move || kept.keep(&definitions, &judged));
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(%error, "verdicts are not kept");
    }
}

/// Where the definitions of a family stand, and their numbers.
fn stands_of_definitions(found: &Found, family: &str) -> (Vec<usize>, Vec<Stand>) {
    let of_family = |one: &Definition| crate::syntax::family(one.language) == family;
    let all = found.definitions.iter().enumerate().filter(|(_, one)| of_family(one));
    let all = all.filter_map(|(number, one)| {
        let text = found.texts.get(&*one.path)?.clone();
        Some((number, Stand { path: one.path.clone(), text, at: one.at }))
    });
    all.unzip()
}

fn stand(found: &Found, site: &Site) -> Option<Stand> {
    stand_of(&found.texts, &site.path, site.at)
}

fn stand_of(texts: &Texts, path: &Arc<Path>, at: usize) -> Option<Stand> {
    Some(Stand { path: path.clone(), text: texts.get(path)?.clone(), at })
}
