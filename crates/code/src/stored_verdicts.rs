//! Earlier verdicts: stores confirmed ones, and recalls them while no language server is available.

use std::path::Path;
use std::sync::Arc;

use syntax::{Class, family};

use crate::answer::{Candidates, Site, Texts};
use crate::definition::Definition;
use crate::inquiry::Call;
use crate::judgement::Verdict;
use crate::pool::Pool;
use crate::search::read;
use crate::verdict_store::{Prints, Record};

/// True if the servers of a family of languages judge this site.
pub(crate) fn is_judged_by(site: &Site, wanted: &str) -> bool {
    family(site.language) == wanted && site.class != Class::Mention
}

/// A file relative to the root, and an offset in it.
pub(crate) type At = (Arc<Path>, usize);

/// Recalls the stored verdicts of sites that were not judged now.
pub(crate) async fn recall(call: &Call<'_>, found: &mut Candidates, family: &str) {
    let is_open = |site: &Site| matches!(site.verdict, Verdict::Undecided(code) if !code.is_judged());
    let is_wanted = |at: &usize| is_judged_by(&found.sites[*at], family) && is_open(&found.sites[*at]);
    let open: Vec<usize> = (0..found.sites.len()).filter(is_wanted).collect();
    let (numbers, definitions) = definitions_of(found, family);
    let sites: Vec<At> = open.iter().map(|at| (found.sites[*at].path.clone(), found.sites[*at].at)).collect();
    for (at, meant) in open.into_iter().zip(recalled(call, definitions, &sites, &found.texts).await) {
        if let Some(number) = meant {
            (found.sites[at].verdict, found.sites[at].meant) = (Verdict::Earlier, Some(numbers[number]));
        }
    }
}

/// Returns which of the definitions each site was confirmed to mean. Reads files that are not among the texts.
pub(crate) async fn recalled(call: &Call<'_>, definitions: Vec<At>, sites: &[At], texts: &Texts) -> Vec<Option<usize>> {
    let none = || vec![None; sites.len()];
    let Some(kept) = call.pool.verdict_store().cloned().filter(|_| !definitions.is_empty() && !sites.is_empty()) else {
        return none();
    };
    let (root, sites, texts) = (call.scope.root.clone(), sites.to_vec(), texts.clone());
    let recalled = tokio::task::spawn_blocking(move || {
        let mut prints = Prints::default();
        let mut record = |(path, at): &At| match texts.get(path) {
            Some(text) => prints.record(path, text, *at),
            None => prints.record(path, &read(&root.join(path)).unwrap_or_default(), *at),
        };
        let [definitions, sites] = [definitions, sites].map(|all| all.iter().map(&mut record).collect::<Vec<_>>());
        kept.recall(&definitions, &sites)
    });
    recalled.await.unwrap_or_else(|_| none())
}

/// Stores pairs of a site and its definition. The texts of both must be known.
pub(crate) async fn remember(pool: &Pool, judgements: &[(At, At)], texts: &Texts) {
    let mut definitions: Vec<At> = judgements.iter().map(|(definition, _)| definition.clone()).collect();
    definitions.sort();
    definitions.dedup();
    definitions.retain(|(path, _)| texts.contains_key(path));
    let site = |(definition, site): &(At, At)| Some((site.clone(), Some(definitions.binary_search(definition).ok()?)));
    let sites: Vec<(At, Option<usize>)> = judgements.iter().filter_map(site).collect();
    store(pool, definitions, sites, texts).await;
}

/// Stores the verdicts of this answer.
pub(crate) async fn keep(pool: &Pool, found: &Candidates, family: &str) {
    let (numbers, definitions) = definitions_of(found, family);
    let judged = found.sites.iter().filter(|site| is_judged_by(site, family)).filter_map(|site| {
        let meant = match site.verdict {
            Verdict::Confirmed => numbers.iter().position(|number| Some(*number) == site.meant),
            Verdict::Refuted => None,
            Verdict::Undecided(_) | Verdict::NotJudged | Verdict::Earlier => return None,
        };
        Some(((site.path.clone(), site.at), meant))
    });
    store(pool, definitions, judged.collect(), &found.texts).await;
}

/// Stores the definition that each site means, by its index; none for one that means another.
async fn store(pool: &Pool, definitions: Vec<At>, sites: Vec<(At, Option<usize>)>, texts: &Texts) {
    let Some(kept) = pool.verdict_store().cloned() else { return };
    let texts = texts.clone();
    let kept = tokio::task::spawn_blocking(move || {
        let mut prints = Prints::default();
        let mut record = |(path, at): &At| Some(prints.record(path, texts.get(path)?, *at));
        let definitions: Vec<Record> = definitions.iter().filter_map(&mut record).collect();
        let sites = sites.iter().filter_map(|(site, meant)| Some((record(site)?, *meant)));
        kept.keep(&definitions, &sites.collect::<Vec<_>>())
    });
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(%error, "verdicts are not kept");
    }
}

/// Returns the indices and places of the definitions in a family.
fn definitions_of(found: &Candidates, family: &str) -> (Vec<usize>, Vec<At>) {
    let is_of_family = |one: &Definition| syntax::family(one.language) == family;
    let all = found.definitions.iter().enumerate();
    let all = all.filter(|(_, one)| is_of_family(one) && found.texts.contains_key(&one.path));
    all.map(|(number, one)| (number, (one.path.clone(), one.at))).unzip()
}
