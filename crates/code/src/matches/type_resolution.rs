//! Resolves with a language server to which type the constructors in a match belong. Names of other types are removed,
//! and a match without remaining names is refuted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Change, Matches, Ours, Site, Sum, Unread};
use crate::answer::Texts;
use crate::judgement::{Code, Judgement, Reason, Verdict};
use crate::syntax::family;
use crate::target::Target;
use crate::verdict::{At, Call, Meaning, Meanings, Name, meanings, recalled, remember};

/// Results of the language server.
pub(crate) struct Assessment {
    pub judged: Judgement,
    /// Number of matches on another type.
    pub refuted: usize,
    /// Texts that the answer is based on.
    pub texts: Texts,
    /// Verdict for each resolved position.
    verdicts: BTreeMap<At, Verdict>,
}

/// Resolves each name that could be a wanted constructor.
pub(crate) async fn judge(call: &Call<'_>, sum: &Sum, all: &Matches) -> Assessment {
    let mut judged = Judgement { is_certain: true, ..Judgement::default() };
    let sites = all.sites(sum, &Change::Add, &Ours::But(BTreeSet::new()));
    let places: BTreeMap<At, &String> =
        sites.iter().flat_map(|site| site.places.iter().map(|(at, name)| ((site.path.clone(), *at), name))).collect();
    let name = |path: &Arc<Path>, at: usize, word: &str| Name { path: path.clone(), at, word: word.to_owned() };
    let members = sum.members.iter().map(|(at, word)| name(&sum.file, *at, word));
    let names = members.chain(places.iter().map(|((path, at), word)| name(path, *at, word)));
    let names: Vec<Name> = names.chain(all.unread.iter().map(|one| name(&one.path, one.at, &one.name))).collect();
    let mut known = all.texts.clone();
    known.entry(sum.file.clone()).or_insert_with(|| sum.text.clone());
    let Meanings { of, texts } = meanings(call, family(sum.language), &sum.file, &names, &known, &mut judged).await;
    let (members, of) = of.split_at(sum.members.len());
    let mut declared: Vec<(Arc<Path>, Range<usize>)> =
        sum.declared.iter().map(|bytes| (sum.file.clone(), bytes.clone())).collect();
    // While one member of a union is unresolved, any remaining name may be that member.
    let mut unknown = None;
    for member in members {
        match member {
            Meaning::Is(targets) => {
                let targets = targets.iter().filter_map(|target| target.declares.as_ref());
                declared.extend(targets.map(|one| (one.path.clone(), one.bytes.clone())));
            }
            Meaning::External => unknown = Some(Code::OutsideTheRoot),
            Meaning::Undecided(code) => unknown = Some(*code),
        }
    }
    let ours =
        |target: &Target| declared.iter().any(|(path, bytes)| *path == target.path && bytes.contains(&target.at));
    let verdict = |meaning: &Meaning| match meaning {
        Meaning::Undecided(code) => Verdict::Undecided(*code),
        // Comparing a text with a local gives no information about the type.
        Meaning::Is(targets) if targets.iter().all(|target| target.is_bound) => Verdict::Undecided(Code::Dynamic),
        Meaning::Is(targets) if targets.iter().all(ours) => Verdict::Confirmed,
        Meaning::Is(_) | Meaning::External => unknown.map_or(Verdict::Refuted, Verdict::Undecided),
    };
    let (of, of_unread) = of.split_at(places.len());
    let mut verdicts: BTreeMap<At, Verdict> = places.into_keys().zip(of.iter().map(verdict)).collect();
    let unread = all.unread.iter().zip(of_unread).filter(|(_, meaning)| verdict(meaning) != Verdict::Refuted);
    let unread: Vec<&Unread> = unread.map(|(one, _)| one).collect();
    let texts: Texts = known.into_iter().chain(texts).collect();
    let judgements = verdicts.iter().zip(of).filter_map(|((at, verdict), meaning)| match (verdict, meaning) {
        (Verdict::Confirmed, Meaning::Is(targets)) => {
            targets.first().map(|target| ((target.path.clone(), target.at), at.clone()))
        }
        _ => None,
    });
    remember(call.pool, &judgements.collect::<Vec<_>>(), &texts).await;
    let open = verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Undecided(code) if !code.is_judged()));
    let open: Vec<At> = open.map(|(at, _)| at.clone()).collect();
    let constructors = sum.made_at.iter().map(|at| (sum.file.clone(), *at)).collect();
    for (at, meant) in open.iter().zip(recalled(call, constructors, &open, &texts).await) {
        if meant.is_some() {
            verdicts.insert(at.clone(), Verdict::Earlier);
        }
    }
    let is_refuted = |at: At| verdicts.get(&at) == Some(&Verdict::Refuted);
    let refuted = sites.iter().filter(|site| self::site_positions(site).all(is_refuted)).count();
    if let [(path, line), ..] = &all.renamed[..] {
        judged.is_certain = false;
        let count = all.renamed.len();
        let text = format!(
            "{}:{line} renames a constructor, and matches by the new name are not found",
            project::visible::path(path)
        );
        judged.reasons.push(Reason { code: Code::Dynamic, text, sites: count });
    }
    if let Some(member) = &sum.opaque {
        judged.is_certain = false;
        let text = format!(
            "{} is one of {}, and the texts of its values are unknown: matches by them are not found",
            project::visible(member),
            sum.name
        );
        judged.reasons.push(Reason { code: Code::Dynamic, text, sites: 0 });
    }
    if let [one, ..] = &unread[..] {
        judged.is_certain = false;
        let text = format!(
            "{}:{} names {} in macro tokens that are not code: matches there are not found",
            project::visible::path(&one.path),
            one.line,
            one.name
        );
        judged.reasons.push(Reason { code: Code::Macro, text, sites: unread.len() });
    }
    Assessment { judged, refuted, texts, verdicts }
}

impl Assessment {
    /// Applies the verdicts to the matches: names of other types are removed.
    pub(crate) fn apply(&mut self, sum: &Sum, change: &Change, found: &Matches) -> Vec<Site> {
        let known: BTreeSet<At> = found.sites(sum, change, &Ours::ByName).iter().flat_map(site_positions).collect();
        // An undecided name is shown only if its qualifier is compatible.
        let is_out = |(at, verdict): (&At, &Verdict)| match verdict {
            Verdict::Refuted => Some(at.clone()),
            Verdict::Undecided(_) if !known.contains(at) => Some(at.clone()),
            _ => None,
        };
        let out: BTreeSet<At> = self.verdicts.iter().filter_map(is_out).collect();
        // A constructor qualified by another type's name may belong to an alias of the wanted type.
        self.judged.is_certain &= out.iter().all(|at| self.verdicts[at] == Verdict::Refuted);
        let mut sites = found.sites(sum, change, &Ours::But(out));
        for site in &mut sites {
            let verdicts: Vec<Verdict> =
                site_positions(site).map(|at| self.verdicts.get(&at).copied().unwrap_or(site.verdict)).collect();
            let is_open = |verdict: &&Verdict| matches!(verdict, Verdict::Undecided(_));
            let is_earlier = |verdict: &&Verdict| **verdict == Verdict::Earlier;
            let doubted = verdicts.iter().find(is_open).or_else(|| verdicts.iter().find(is_earlier));
            // The members of this union may also belong to a larger union.
            let may_be_another = site.has_others && !site.has_wildcard && !sum.members.is_empty();
            let own = if may_be_another { Verdict::Undecided(Code::Dynamic) } else { Verdict::Confirmed };
            site.verdict = doubted.copied().unwrap_or(own);
        }
        sites
    }
}

fn site_positions(site: &Site) -> impl Iterator<Item = At> {
    site.places.iter().map(|(at, _)| (site.path.clone(), *at))
}
