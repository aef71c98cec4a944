//! Uses in a result, as find_callers and find_uses have them: each site, the counts, and the text form.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Answered;
use super::shown;
use crate::answer::{Found, Site};
use crate::definition::Definition;
use crate::head::Head;
use crate::judgement::{Judge, Unnamed, Verdict};
use crate::syntax::{Class, Kind, Language};

/// A use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Use {
    pub file: String,
    pub line: usize,
    /// In characters.
    pub column: usize,
    pub class: Class,
    /// The line.
    pub context: String,
    pub context_before: Vec<String>,
    pub context_after: Vec<String>,
    pub via: &'static str,
    pub verdict: &'static str,
    /// The declarations around it.
    pub enclosing: Option<String>,
    pub in_test: bool,
    /// The definition that is meant, as path:line; null while nothing has judged.
    pub definition: Option<String>,
    /// Whether a local of that name is bound before it in the same declaration. Such uses come last.
    pub may_be_local: bool,
    /// The name that stands here, if an import gave it another.
    pub alias: Option<String>,
    /// What it means, where that is outside of the project.
    #[serde(skip)]
    group: Option<String>,
}

impl Use {
    /// What stands there instead of the name that was asked for: who reads the line would look for that.
    fn named(&self) -> String {
        match (self.via, &self.alias) {
            ("interface", None) => " by an interface".to_owned(),
            (_, None) => String::new(),
            ("implicit", Some(_)) => " implicit".to_owned(),
            ("macro", Some(name)) => format!(" by the macro {name}"),
            (_, Some(name)) => format!(" as {name}"),
        }
    }
}

/// The uses of some classes.
pub(super) struct Uses {
    pub head: Head,
    pub shown: Vec<Use>,
    pub total: usize,
    pub truncated: bool,
    /// How many of each class, shown or not, wanted or not.
    pub counts: BTreeMap<Class, usize>,
    /// How many of each wanted class are undecided.
    open: BTreeMap<Class, usize>,
    /// How many each file has of the wanted ones that are not shown.
    pub rest: BTreeMap<String, usize>,
    /// How many places have the name in other languages.
    pub elsewhere: usize,
    /// The file or folder that was looked into, if it is not all.
    below: Option<String>,
}

impl Uses {
    /// Those of the wanted classes. What the judge refuted is counted, and listed only if that is asked for.
    pub(super) fn of(answered: &Answered, wanted: &[Class], most: usize, with_refuted: bool) -> Uses {
        let Answered { scope, found, judged, since } = answered;
        let is_listed = |site: &&Site| with_refuted || site.verdict != Verdict::Refuted;
        let of_class = || found.sites.iter().filter(|site| wanted.contains(&site.class));
        let all: Vec<&Site> = of_class().filter(is_listed).collect();
        let mut counts = BTreeMap::new();
        for site in found.sites.iter().filter(|site| site.verdict != Verdict::Refuted) {
            *counts.entry(site.class).or_default() += 1;
        }
        let mut open = BTreeMap::new();
        for site in of_class().filter(|site| matches!(site.verdict, Verdict::Undecided(_))) {
            *open.entry(site.class).or_default() += 1;
        }
        let head = Head::judged(of_class().map(|site| site.verdict), judged).searched(
            scope,
            found.files,
            &found.skipped,
            *since,
        );
        let mut rest: BTreeMap<String, usize> = BTreeMap::new();
        for site in all.iter().skip(most) {
            *rest.entry(shown(&site.path)).or_default() += 1;
        }
        let dispatched = found.definitions.iter().any(dispatches);
        Uses {
            head,
            total: all.len(),
            truncated: all.len() > most,
            shown: all.iter().take(most).map(|site| one(found, site, dispatched)).collect(),
            counts,
            open,
            rest,
            elsewhere: found.elsewhere,
            below: scope.below.strip_prefix(&scope.root).ok().filter(|below| !below.as_os_str().is_empty()).map(shown),
        }
    }
}

/// Whether a call of a definition runs another one.
fn dispatches(one: &Definition) -> bool {
    one.is_signature && one.kind == Kind::Method && (one.language != Language::Cpp || one.is_pure)
}

fn one(found: &Found, site: &Site, dispatched: bool) -> Use {
    let meant = site.meant.and_then(|number| found.definitions.get(number));
    Use {
        file: shown(&site.path),
        line: site.line,
        column: site.column,
        class: site.class,
        context: project::visible::escaped(&site.text),
        context_before: site.before.iter().map(|line| project::visible::escaped(line)).collect(),
        context_after: site.after.iter().map(|line| project::visible::escaped(line)).collect(),
        via: match site.class {
            _ if site.unnamed.is_some() => site.unnamed.map_or("", Unnamed::word),
            _ if site.by_interface => "interface",
            Class::Call if site.is_member && meant.map_or(dispatched, dispatches) => "interface",
            Class::Value => "value",
            _ => "direct",
        },
        verdict: site.verdict.word(),
        enclosing: (!site.enclosing.is_empty()).then(|| site.enclosing.clone()),
        in_test: site.in_test,
        definition: meant.map(|one| format!("{}:{}", shown(&one.path), one.line)),
        may_be_local: site.may_be_local && site.verdict != Verdict::Confirmed,
        alias: site.alias.clone(),
        group: meant.filter(|one| one.is_outside()).map(Definition::shown),
    }
}

/// `4 call, 1 value`.
pub(super) fn counted(counts: &BTreeMap<Class, usize>, of: &[Class]) -> String {
    let counted = of.iter().filter_map(|class| Some((class, counts.get(class).filter(|count| **count > 0)?)));
    counted.map(|(class, count)| format!("{count} {}", class.word())).collect::<Vec<_>>().join(", ")
}

/// The head as a line: never that there are none, while that is not proven.
pub(super) fn head_line(uses: &Uses, wanted: &[Class], nothing: &str) -> String {
    let Uses { head, counts, elsewhere, .. } = uses;
    let why = head.why();
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let judges: Vec<String> = head.judges.iter().filter_map(Judge::words).collect();
    let judges = if judges.is_empty() { String::new() } else { format!(" · {}", judges.join(", ")) };
    let counted_all = counted(counts, wanted);
    let open = counted(&uses.open, wanted);
    let open = if open.is_empty() { open } else { format!(" ({open})") };
    let refuted = if head.refuted > 0 { format!(", {} refuted", head.refuted) } else { String::new() };
    let earlier = if head.earlier > 0 { format!(", {} confirmed earlier", head.earlier) } else { String::new() };
    // Where asking again changes nothing, nothing will be confirmed.
    let yet = if head.retry_after_ms.is_some() { " yet" } else { "" };
    let said = match (head.is_final, head.confirmed, head.undecided) {
        (true, 0, _) if counted_all.is_empty() => format!("{nothing}{refuted}, 0 undecided{judges}"),
        (true, ..) => format!("{counted_all}{refuted}, 0 undecided{judges}"),
        (false, 0, 0) if counted_all.is_empty() => format!("none found, which is no proof{refuted}{why}"),
        (false, 0, undecided) if head.earlier > 0 => {
            let earlier = head.earlier;
            format!("none confirmed{yet}, {earlier} earlier, {undecided} undecided{open}{refuted}{why}")
        }
        (false, 0, 0) => format!("{counted_all}{refuted}{why}"),
        (false, 0, undecided) => format!("none confirmed{yet}, {undecided} undecided{open}{refuted}{why}"),
        (false, confirmed, undecided) => {
            format!("{confirmed} confirmed{earlier}, {undecided} undecided{open}{refuted}, not final{why}{judges}")
        }
    };
    let others: Vec<Class> = Class::ALL.into_iter().filter(|class| !wanted.contains(class)).collect();
    let mut others = counted(counts, &others);
    if *elsewhere > 0 {
        let comma = if others.is_empty() { "" } else { ", " };
        others = format!("{others}{comma}{elsewhere} in other languages");
    }
    let others = if others.is_empty() { String::new() } else { format!(" · besides {others}") };
    let below = uses.below.as_ref().map(|below| format!(" · in {below} alone")).unwrap_or_default();
    format!("{said}{others}{below}{}", head.at())
}

/// The uses as lines, grouped by file.
pub(super) fn lines(uses: &[Use], with_context: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut file = "";
    let mut group = None;
    let is_mixed = uses.iter().any(|one| matches!(one.verdict, "confirmed" | "earlier"));
    for (number, one) in uses.iter().enumerate() {
        if one.group.is_some() && one.group != group {
            group.clone_from(&one.group);
            lines.extend(group.iter().map(|group| format!("means: {group}")));
            file = "";
        }
        if one.file != file {
            file = &one.file;
            lines.push(file.to_owned());
        }
        let enclosing = one.enclosing.as_deref().map(|name| format!("{name}  ")).unwrap_or_default();
        let is_same = |next: &&Use| {
            (&next.file, next.line, next.class, next.verdict, &next.group, next.named())
                == (&one.file, one.line, one.class, one.verdict, &one.group, one.named())
        };
        let times = 1 + uses[number + 1..].iter().take_while(is_same).count();
        if number > 0 && is_same(&&uses[number - 1]) {
            continue;
        }
        if with_context {
            lines.extend(one.context_before.iter().map(|line| format!("    | {line}")));
        }
        let local = if one.may_be_local { " of a local?" } else { "" };
        // Beside confirmed ones: where all are undecided the head says it.
        let doubt = match one.verdict {
            "undecided" if is_mixed => " undecided",
            "refuted" => " refuted",
            "earlier" => " earlier",
            _ => "",
        };
        let (line, class, named) = (one.line, one.class.word(), one.named());
        let line = format!("  {line}  {enclosing}{class}{named}{doubt}{local}");
        let times = if times > 1 { format!(" ×{times}") } else { String::new() };
        lines.push(format!("{line}{times}  {}", one.context.trim()));
        if with_context {
            lines.extend(one.context_after.iter().map(|line| format!("    | {line}")));
        }
    }
    lines
}

/// How many more there are and where, and the call that shows them.
pub(super) fn rest_line(tool: &str, name: &str, rest: &BTreeMap<String, usize>, total: usize) -> Option<String> {
    let (file, _) = rest.iter().max_by_key(|(_, count)| **count)?;
    let count: usize = rest.values().sum();
    let files: Vec<String> = rest.iter().take(10).map(|(file, count)| format!("{file} {count}")).collect();
    let more = if rest.len() > 10 { format!(" and {} more files", rest.len() - 10) } else { String::new() };
    let next = serde_json::json!({"name": name, "path": file, "max_results": total});
    Some(format!("{count} more: {}{more}. For one file: {tool} {next}", files.join(", ")))
}
