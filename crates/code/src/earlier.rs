//! Earlier verdicts: stores confirmed ones, and recalls them while no language server is available.

use std::path::Path;
use std::sync::Arc;

use crate::answer::{Candidates, Site, Texts};
use crate::definition::Definition;
use crate::inquiry::Call;
use crate::judgement::Verdict;
use crate::kept::Anchor;
use crate::pool::Pool;
use crate::search::read;
use crate::syntax::{Class, family};

/// True if the servers of a family of languages judge this site.
pub(crate) fn is_of(site: &Site, wanted: &str) -> bool {
    family(site.language) == wanted && site.class != Class::Mention
}

/// Recalls the stored verdicts of sites that were not judged now.
pub(crate) async fn recall(pool: &Pool, found: &mut Candidates, family: &str) {
    let Some(kept) = pool.verdict_store().cloned() else { return };
    let is_open = |site: &Site| matches!(site.verdict, Verdict::Undecided(code) if !code.is_judged());
    let open: Vec<usize> =
        (0..found.sites.len()).filter(|at| is_of(&found.sites[*at], family) && is_open(&found.sites[*at])).collect();
    let (numbers, definitions) = definition_anchors(found, family);
    let sites: Vec<(usize, Anchor)> =
        open.into_iter().filter_map(|at| Some((at, anchor(found, &found.sites[at])?))).collect();
    if sites.is_empty() || definitions.is_empty() {
        return;
    }
    let (open, stands): (Vec<usize>, Vec<Anchor>) = sites.into_iter().unzip();
    let recalled = tokio::task::spawn_blocking(move || kept.recall(&definitions, &stands));
    for (at, meant) in open.into_iter().zip(recalled.await.unwrap_or_default()) {
        if let Some(number) = meant {
            (found.sites[at].verdict, found.sites[at].meant) = (Verdict::Earlier, Some(numbers[number]));
        }
    }
}

/// A file relative to the root, and an offset in it.
pub(crate) type At = (Arc<Path>, usize);

/// Returns which of the definitions each site was confirmed to mean. Reads the files of the definitions.
pub(crate) async fn recalled(call: &Call<'_>, definitions: Vec<At>, sites: &[At], texts: &Texts) -> Vec<Option<usize>> {
    let none = || vec![None; sites.len()];
    let Some(kept) = call.pool.verdict_store().cloned() else { return none() };
    let Some(sites) = sites.iter().map(|(path, at)| stand_of(texts, path, *at)).collect::<Option<Vec<Anchor>>>() else {
        return none();
    };
    let (root, count) = (call.scope.root.clone(), sites.len());
    let recalled = tokio::task::spawn_blocking(move || {
        let stand = |(path, at): At| Anchor { text: read(&root.join(&path)).unwrap_or_default().into(), path, at };
        let definitions: Vec<Anchor> = definitions.into_iter().map(stand).collect();
        kept.recall(&definitions, &sites)
    });
    recalled.await.unwrap_or_else(|_| vec![None; count])
}

/// Stores pairs of a site and its definition. The texts of both must be known.
pub(crate) async fn remember(pool: &Pool, judgements: &[(At, At)], texts: &Texts) {
    let Some(kept) = pool.verdict_store().cloned() else { return };
    let mut numbers: Vec<&At> = judgements.iter().map(|(definition, _)| definition).collect();
    numbers.sort();
    numbers.dedup();
    numbers.retain(|(path, _)| texts.contains_key(path));
    let definitions: Vec<Anchor> = numbers.iter().filter_map(|(path, at)| stand_of(texts, path, *at)).collect();
    let sites: Vec<(Anchor, Option<usize>)> = judgements
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

/// Stores the verdicts of this answer.
pub(crate) async fn keep(pool: &Pool, found: &Candidates, family: &str) {
    let Some(kept) = pool.verdict_store().cloned() else { return };
    let (numbers, definitions) = definition_anchors(found, family);
    let judged = found.sites.iter().filter(|site| is_of(site, family)).filter_map(|site| {
        let meant = match site.verdict {
            Verdict::Confirmed => numbers.iter().position(|number| Some(*number) == site.meant),
            Verdict::Refuted => None,
            Verdict::Undecided(_) | Verdict::NotJudged | Verdict::Earlier => return None,
        };
        Some((anchor(found, site)?, meant))
    });
    let judged: Vec<(Anchor, Option<usize>)> = judged.collect();
    let kept = tokio::task::spawn_blocking(move || kept.keep(&definitions, &judged));
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(%error, "verdicts are not kept");
    }
}

/// Returns the indices and locations of the definitions in a family.
fn definition_anchors(found: &Candidates, family: &str) -> (Vec<usize>, Vec<Anchor>) {
    let of_family = |one: &Definition| crate::syntax::family(one.language) == family;
    let all = found.definitions.iter().enumerate().filter(|(_, one)| of_family(one));
    let all = all.filter_map(|(number, one)| {
        let text = found.texts.get(&*one.path)?.clone();
        Some((number, Anchor { path: one.path.clone(), text, at: one.at }))
    });
    all.unzip()
}

fn anchor(found: &Candidates, site: &Site) -> Option<Anchor> {
    stand_of(&found.texts, &site.path, site.at)
}

fn stand_of(texts: &Texts, path: &Arc<Path>, at: usize) -> Option<Anchor> {
    Some(Anchor { path: path.clone(), text: texts.get(path)?.clone(), at })
}
