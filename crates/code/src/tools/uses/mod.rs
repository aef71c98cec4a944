//! Uses in the results of find_callers and find_uses: verified places first, then unverified ones.

mod first_line;
mod lines;
mod receivers;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use syntax::{Class, Kind, Language};

use self::receivers::{call, groups, has_receiver, is_call, with_places};
use super::{DefinitionOut, JudgedAnswer, MOST_DEFINITIONS, defined, display_path};
use crate::answer::{Candidates, Site};
use crate::completeness::Head;
use crate::definition::Definition;
use crate::judgement::{Code, Unnamed, Verdict};
use first_line::sentence;
use lines::{lines, rest_line};
pub(super) use receivers::Group;

/// The places of a file that have the same verdict and mean the same definition.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct FileUses {
    pub file: String,
    /// unverified, earlier (verified at an earlier revision), not_checked (comments and strings) or other (means another
    /// definition); absent for verified places.
    #[serde(default = "Verdict::verified", skip_serializing_if = "Verdict::is_verified")]
    pub verdict: Verdict,
    /// The definition that they mean, as an index into `definitions`; absent if there is only one, or if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<usize>,
    pub places: Vec<Use>,
    /// The definition that they mean, if it is outside of the project or places mean several definitions.
    #[serde(skip)]
    pub means: Option<String>,
}

/// A use.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Use {
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// Absent for a call.
    #[serde(default = "call", skip_serializing_if = "is_call")]
    pub class: Class,
    /// The declarations around it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub enclosing: String,
    /// The line without its indentation.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// interface, implicit (not named here) or macro (named in the text of a macro); absent for a direct use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_test: bool,
    /// True if a local variable of the same name may shadow it. Such uses come last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_local: bool,
    /// The alias that stands here instead of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// The uses in a result. The fields that are skipped are for its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Uses {
    pub head: Head,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionOut>,
    /// Unverified places by receiver, if there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<Group>,
    /// The number of requested places, listed or not.
    pub total: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(skip)]
    pub files: Vec<FileUses>,
    /// All groups of unverified places.
    #[serde(skip)]
    pub groups: Vec<Group>,
    /// The number of places for each class, requested or not, without those that mean another definition.
    #[serde(skip)]
    pub counts: BTreeMap<Class, usize>,
    /// The number of requested places that are verified now, were verified earlier, or are in comments and strings.
    #[serde(skip)]
    pub verified: BTreeMap<Class, usize>,
    /// The number of unverified places for each requested class.
    #[serde(skip)]
    pub open: BTreeMap<Class, usize>,
    /// True if every unverified place whose receiver has an unknown type does have a receiver.
    #[serde(skip)]
    pub have_receivers: bool,
    /// The number of omitted places for each file.
    #[serde(skip)]
    pub rest: BTreeMap<String, usize>,
    /// The number of places with the name in other languages.
    #[serde(skip)]
    pub elsewhere: usize,
    /// The file or folder that was searched, if it is not the whole worktree.
    #[serde(skip)]
    pub below: Option<String>,
    #[serde(skip)]
    pub text: Vec<String>,
}

/// Up to this many unverified places are listed one by one among verified ones.
const FEW: usize = 10;

impl Uses {
    /// Selects the uses of the requested classes, and those that mean another definition if `with_other`. `tool` is called
    /// with `name` for more, and lists places called `noun`.
    pub(super) fn new(answered: &JudgedAnswer, with_other: bool, (tool, noun, name): (&str, &str, &str)) -> Uses {
        let JudgedAnswer { scope, found, judged, classes: wanted, shown, since, .. } = answered;
        let most = shown.most;
        let of_class = || found.sites.iter().filter(|site| wanted.contains(&site.class));
        let is_open = |site: &&Site| matches!(site.verdict, Verdict::Undecided(_));
        let is_other = |site: &&Site| site.verdict == Verdict::Refuted;
        let mut all: Vec<&Site> = of_class().filter(|site| with_other || !is_other(site)).collect();
        all.sort_by_key(|site| rank(site.verdict));
        let head = Head::judged(of_class().map(|site| site.verdict), judged).searched(
            scope,
            found.files,
            &found.skipped,
            *since,
        );
        let is_checked = head.confirmed + head.earlier > 0 || head.open.keys().any(|code| code.is_judged());
        let is_grouped = is_checked && head.undecided > FEW && shown.context_lines == 0;
        let total = all.len();
        if is_grouped {
            all.retain(|site| !is_open(site));
        }
        let groups = groups(found, of_class().filter(is_open));
        let left = most.saturating_sub(all.len()).max(FEW);
        let unverified = if is_grouped { with_places(&groups, left) } else { Vec::new() };
        let shown_places: usize = unverified.iter().flat_map(|group| group.places.values()).map(Vec::len).sum();
        let mut rest: BTreeMap<String, usize> = BTreeMap::new();
        for site in all.iter().skip(most) {
            *rest.entry(display_path(&site.path)).or_default() += 1;
        }
        let counted = |is_meant: &dyn Fn(&&Site) -> bool| {
            let mut counts = BTreeMap::new();
            found.sites.iter().filter(is_meant).for_each(|site| *counts.entry(site.class).or_default() += 1);
            counts
        };
        let is_wanted = |site: &&Site| wanted.contains(&site.class);
        let lacks_type = |site: &&Site| site.verdict == Verdict::Undecided(Code::Dynamic);
        let uses = Uses {
            definitions: found.definitions.iter().take(MOST_DEFINITIONS).map(DefinitionOut::new).collect(),
            files: files(found, &all[..all.len().min(most)]),
            unverified,
            groups,
            total,
            truncated: all.len().min(most) + shown_places < total,
            counts: counted(&|site| !is_other(site)),
            verified: counted(&|site| is_wanted(site) && !is_other(site) && !is_open(site)),
            open: counted(&|site| is_wanted(site) && is_open(site)),
            have_receivers: of_class().filter(lacks_type).all(|site| has_receiver(found, site)),
            rest,
            elsewhere: found.elsewhere,
            below: (scope.below != scope.root).then(|| display_path(scope.relative(&scope.below))),
            head,
            text: Vec::new(),
        };
        let mut text = vec![sentence(answered, &uses, noun)];
        text.extend(defined(found));
        text.extend(lines(&uses));
        text.extend(rest_line(tool, name, &uses));
        Uses { head: uses.head.with_reasons(), text, ..uses }
    }

    /// Returns the number of other places with the name.
    pub(super) fn filtered_count(&self) -> usize {
        let all: usize = self.counts.values().sum();
        all + self.head.refuted + self.elsewhere - self.total
    }
}

/// Returns the sort order of a verdict: verified first.
fn rank(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Confirmed => 0,
        Verdict::Earlier => 1,
        Verdict::Undecided(_) => 2,
        Verdict::NotJudged => 3,
        Verdict::Refuted => 4,
    }
}

/// Groups places by file, verdict and meaning, in their order.
fn files(found: &Candidates, sites: &[&Site]) -> Vec<FileUses> {
    let same = |one: &&Site, next: &&Site| {
        (&one.path, rank(one.verdict), one.meant) == (&next.path, rank(next.verdict), next.meant)
    };
    let meanings: BTreeSet<usize> = sites.iter().filter_map(|site| site.meant).collect();
    let group = |sites: &[&Site]| {
        let meant = sites[0].meant.and_then(|number| found.definitions.get(number));
        FileUses {
            file: display_path(&sites[0].path),
            verdict: sites[0].verdict,
            definition: sites[0].meant.filter(|_| found.definitions.len() > 1),
            places: sites.iter().map(|site| build_use(found, site, meant)).collect(),
            means: meant.filter(|one| one.is_outside() || meanings.len() > 1).map(Definition::describe),
        }
    };
    sites.chunk_by(same).map(group).collect()
}

/// True if a call of a definition runs another one.
fn dispatches(one: &Definition) -> bool {
    one.is_signature && one.kind == Kind::Method && (one.language != Language::Cpp || one.is_pure)
}

/// Returns how a place uses its definition; `None` if directly.
pub(super) fn use_kind(found: &Candidates, site: &Site, meant: Option<&Definition>) -> Option<&'static str> {
    let is_dispatched = || found.definitions.iter().any(dispatches);
    match site.class {
        _ if site.unnamed.is_some() => site.unnamed.map(Unnamed::word),
        _ if site.by_interface => Some("interface"),
        Class::Call if site.is_member && meant.map_or_else(is_dispatched, dispatches) => Some("interface"),
        _ => None,
    }
}

fn build_use(found: &Candidates, site: &Site, meant: Option<&Definition>) -> Use {
    let visible = |lines: &[String]| lines.iter().map(|line| project::visible::escaped(line)).collect();
    Use {
        line: site.line,
        column: site.column,
        class: site.class,
        enclosing: site.enclosing.clone(),
        text: project::visible::escaped(site.text.trim()),
        before: visible(&site.before),
        after: visible(&site.after),
        via: use_kind(found, site, meant),
        in_test: site.in_test,
        may_be_local: site.may_be_local && site.verdict != Verdict::Confirmed,
        alias: site.alias.clone(),
    }
}
