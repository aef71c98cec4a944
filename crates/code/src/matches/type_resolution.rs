//! Resolves with a language server to which type the constructors in a match belong. Names of other types are removed,
//! and a match without remaining names is refuted.

use std::collections::{BTreeMap, BTreeSet};

use syntax::family;

use super::{Change, Matches, Site, Sum};
use crate::answer::Texts;
use crate::judgement::{Code, Judgement, Verdict};
use crate::line_column::Lines;
use crate::target::Target;
use crate::verdict::{At, Call, Meaning, Meanings, Name, meanings, recalled, remember};

/// Results of the language server.
pub(crate) struct Assessment {
    pub judged: Judgement,
    pub sites: Vec<Site>,
    /// Number of matches on another type.
    pub refuted: usize,
    /// Texts that the answer is based on.
    pub texts: Texts,
}

/// Resolves each name that could be a wanted constructor.
pub(crate) async fn judge(call: &Call<'_>, sum: &Sum, change: &Change, all: &Matches) -> Assessment {
    let mut judged = Judgement { is_certain: true, ..Judgement::default() };
    let sites = all.sites(sum, &Change::Add, Some(&BTreeSet::new()));
    let places: BTreeMap<At, &String> =
        sites.iter().flat_map(|site| site.places.iter().map(|(at, name)| ((site.path.clone(), *at), name))).collect();
    let named = places.iter().map(|((path, at), word)| Name { path: path.clone(), at: *at, word: (*word).clone() });
    let names: Vec<Name> = sum.members.iter().cloned().chain(named).chain(all.unread.iter().cloned()).collect();
    let mut known = all.texts.clone();
    known.entry(sum.file.clone()).or_insert_with(|| sum.text.clone());
    let Meanings { of, texts } = meanings(call, family(sum.language), &sum.file, &names, &known, &mut judged).await;
    let (members, of) = of.split_at(sum.members.len());
    let mut declared = sum.declared.clone();
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
    let unread: Vec<&Name> = unread.map(|(one, _)| one).collect();
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
    let constructors = sum.declared.iter().skip(1).map(|(path, bytes)| (path.clone(), bytes.start)).collect();
    for (at, meant) in open.iter().zip(recalled(call, constructors, &open, &texts).await) {
        if meant.is_some() {
            verdicts.insert(at.clone(), Verdict::Earlier);
        }
    }
    let is_refuted = |at: At| verdicts.get(&at) == Some(&Verdict::Refuted);
    let refuted = sites.iter().filter(|site| site_positions(site).all(is_refuted)).count();
    if let [(path, line), ..] = &all.renamed[..] {
        let file = project::visible::path(path);
        let text = format!("{file}:{line} renames a constructor, and matches by the new name are not found");
        judged.doubt(Code::Dynamic, text, all.renamed.len());
    }
    if let Some(member) = &sum.opaque {
        let (member, union) = (project::visible(member), &sum.name);
        let unknown = "and the texts of its values are unknown: matches by them are not found";
        judged.doubt(Code::Dynamic, format!("{member} is one of {union}, {unknown}"), 0);
    }
    if let [Name { path, at, word }, ..] = unread[..] {
        let line = Lines::new(texts.get(path).map(|text| &text[..]).unwrap_or_default()).line(*at);
        let place = format!("{}:{line}", project::visible::path(path));
        let text = format!("{place} names {word} in macro tokens that are not code: matches there are not found");
        judged.doubt(Code::Macro, text, unread.len());
    }
    let sites = with_verdicts(sum, change, all, &verdicts, &mut judged);
    Assessment { judged, sites, refuted, texts }
}

/// Returns the matches with their verdicts: names of other types are removed.
fn with_verdicts(
    sum: &Sum,
    change: &Change,
    all: &Matches,
    verdicts: &BTreeMap<At, Verdict>,
    judged: &mut Judgement,
) -> Vec<Site> {
    let known: BTreeSet<At> = all.sites(sum, change, None).iter().flat_map(site_positions).collect();
    // An undecided name is shown only if its qualifier is compatible.
    let is_out = |(at, verdict): &(&At, &Verdict)| match verdict {
        Verdict::Refuted => true,
        Verdict::Undecided(_) => !known.contains(*at),
        _ => false,
    };
    let out: BTreeSet<At> = verdicts.iter().filter(is_out).map(|(at, _)| at.clone()).collect();
    // A constructor qualified by another type's name may belong to an alias of the wanted type.
    judged.is_certain &= out.iter().all(|at| verdicts[at] == Verdict::Refuted);
    let mut sites = all.sites(sum, change, Some(&out));
    for site in &mut sites {
        let verdicts: Vec<Verdict> =
            site_positions(site).map(|at| verdicts.get(&at).copied().unwrap_or(site.verdict)).collect();
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

fn site_positions(site: &Site) -> impl Iterator<Item = At> {
    site.places.iter().map(|(at, _)| (site.path.clone(), *at))
}
