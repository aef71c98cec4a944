//! Verifies candidates with a language server. Each candidate is checked from both sides: whether the references of a
//! definition include it, and which definition the server returns for it. Answers that do not fit the text are requested
//! again and never trusted.
//!
//! - `prototypes`: resolves prototypes of C and C++.
//! - `classes`: reads class declarations in the source texts.
//! - `evidence`: interprets a server's answer for a candidate.
//! - `grammar`: excludes definitions by grammar if the server is silent; pure.
//! - `heads`: reads class heads to find subclasses.
//! - `implicit_callers`: detects callers that do not name the definition.
//! - `external_names`: verifies uses of a name that the project does not define.
//! - `overriders`: finds the methods that a call of another one may run.
//! - `pass`: sends all requests of one round to one server.
//! - `receiver`: resolves the receiver of a site.
//! - `references`: reads the references of the definitions.
//! - `resolve`: combines the evidence for a candidate; pure.
//!
//! Start with [`judge`].

mod classes;
mod evidence;
mod external_names;
mod grammar;
mod heads;
mod implicit_callers;
mod overriders;
mod pass;
mod prototypes;
mod qualifier;
mod receiver;
mod references;
mod resolve;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use crate::answer::{Candidates, LineOptions, Site};
use crate::definition::Definition;
use crate::haskell::{self, is_judged_by_ghc};
use crate::inquiry::{Asking, blocking, index, rounds};
use crate::judgement::{Code, Judgement, Verdict};
use crate::stored_verdicts::{is_judged_by, keep, recall};

pub(crate) use crate::inquiry::{Call, Meaning, Meanings, Name, meanings};
pub(crate) use crate::stored_verdicts::{At, recalled, remember};
use external_names::judge_outside;
use lsp::server::Server;
use pass::Pass;
use syntax::{Class, family};

/// A question about the uses of a name.
pub(crate) struct Query<'a> {
    pub call: Call<'a>,
    pub wanted: &'a [Class],
    pub shown: LineOptions,
}

impl Query<'_> {
    fn asks_for_calls(&self) -> bool {
        self.wanted.iter().any(|class| matches!(class, Class::Call | Class::Value | Class::FieldRead))
    }
}

/// Verifies the candidates: sets the verdicts of the sites, and adds sites that only the server knows.
pub(crate) async fn judge(asked: &Query<'_>, found: &mut Candidates) -> Judgement {
    for site in &mut found.sites {
        site.verdict = match site.class {
            Class::Mention => Verdict::NotJudged,
            _ => Verdict::Undecided(Code::Absent),
        };
    }
    let mut judged = Judgement { is_certain: true, ..Judgement::default() };
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
    if let Some(text) = implicit_callers::find_in_text(found, asked.wanted).filter(|_| asked.asks_for_calls()) {
        judged.doubt(Code::Dynamic, text, 0);
    }
    found.sites.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    if found.definitions.iter().any(Definition::is_outside) {
        // Sorts sites by definition, the most frequent first, unresolved ones last.
        let mut counts = vec![0; found.definitions.len()];
        found.sites.iter().filter_map(|site| site.meant).for_each(|number| counts[number] += 1);
        let rank = |site: &Site| site.meant.map(|number| (Reverse(counts[number]), number));
        found.sites.sort_by_key(|site| (site.meant.is_none(), rank(site)));
    }
    // Sites that are certainly not local variables come first; confirmation makes them certain.
    found.sites.sort_by_key(|site| site.may_be_local && site.verdict != Verdict::Confirmed);
    judged
}

async fn judge_family(asked: &Query<'_>, found: &mut Candidates, family: &'static str, judged: &mut Judgement) {
    let Some(file) = found.definitions.iter().find(|one| syntax::family(one.language) == family) else { return };
    let file = file.path.clone();
    let answer = if is_judged_by_ghc(family) {
        let index = index(&asked.call, judged).await;
        index.map(|index| {
            blocking(|| haskell::judge(&index, asked.call.scope, asked.wanted, asked.shown, found, judged))
        })
    } else {
        ask_server(asked, found, family, &file, judged).await
    };
    match answer {
        Ok(()) => {
            recall(&asked.call, found, family).await;
            keep(asked.call.pool, found, family).await;
        }
        Err(code) => {
            let all = found.sites.iter_mut().filter(|site| is_judged_by(site, family));
            all.for_each(|site| site.verdict = Verdict::Undecided(code));
            recall(&asked.call, found, family).await;
            let is_open = |site: &&Site| is_judged_by(site, family) && site.verdict == Verdict::Undecided(code);
            if let Some(reason) = judged.reasons.last_mut() {
                reason.sites = found.sites.iter().filter(is_open).count();
            }
        }
    }
}

/// Asks a server and sets the verdicts of the sites.
async fn ask_server(
    asked: &Query<'_>,
    found: &mut Candidates,
    family: &'static str,
    file: &Path,
    judged: &mut Judgement,
) -> Result<(), Code> {
    let open = found.sites.iter().filter(|site| is_judged_by(site, family)).count();
    let uses = Uses { asked, found, family };
    let pass = rounds(&asked.call, family, file, open, &uses, judged).await?;
    pass.apply(found, family, judged);
    Ok(())
}

/// The uses of a name in the files of one server.
struct Uses<'a> {
    asked: &'a Query<'a>,
    found: &'a Candidates,
    family: &'static str,
}

impl Asking for Uses<'_> {
    type Round = Pass;

    async fn ask(&self, server: &Server) -> Pass {
        Pass::run(self, server).await
    }
}
