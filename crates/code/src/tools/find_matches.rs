//! `find_matches`: the effect of an added or a removed constructor on every place that matches values of the type.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mcp::tool::{Context, Effect as ToolEffect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::Kind;

use super::verified_uses::{check_texts, due};
use super::{DefinitionOut, Questions, display_path, most_results, searched};
use crate::completeness::Head;
use crate::definition::Definition;
use crate::judgement::Verdict;
use crate::matches::{Assessment, Change, Effect, Matches, Site, Sum, judge, matches, sum};
use crate::resolved_type::{followed, types};
use crate::search::{NoAnswer, Scope};
use crate::verdict::Call;

/// Where values of a type are matched, and what another constructor does there: breaks, falls through, is absorbed. A complete answer has all that a language server sees: no reflection, generated code or other repositories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// As in find_callers.
    pub type_name: String,
    /// `add` (default) or `remove:CONSTRUCTOR`.
    pub change: Option<String>,
    /// A file or folder to look into.
    pub path: Option<String>,
    /// Matches in the answer (default 50).
    pub max_results: Option<usize>,
    /// As in find_callers.
    pub wait_ms: Option<u64>,
}

impl Args {
    /// Creates the question about all matches on a type.
    pub(crate) fn for_type(type_name: String, change: Option<String>, path: Option<String>, wait_ms: u64) -> Args {
        Args { type_name, change, path, max_results: None, wait_ms: Some(wait_ms) }
    }
}

/// The matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    /// add, or the constructor that is removed.
    change: String,
    constructors: Vec<String>,
    /// By effect and file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    matches: Vec<FileMatches>,
    /// The number of matches for each effect, listed or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    totals: BTreeMap<&'static str, usize>,
    total: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    definition: DefinitionOut,
    #[serde(skip)]
    text: Vec<String>,
}

/// The matches of a file with the same effect.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct FileMatches {
    file: String,
    effect: Effect,
    places: Vec<Site>,
}

pub(super) struct FindMatches(pub(super) Arc<Questions>);

impl Tool for FindMatches {
    const NAME: &'static str = "find_matches";
    const TITLE: &'static str = "Find matches";
    const EFFECT: ToolEffect = ToolEffect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let args = Arc::new(args);
        Ok(output(&args, judged_matches(&self.0, &cx, &args).await?))
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"type_name": "Shape", "change": "add"});
        vec![Example { title: "What one more constructor does", arguments, text: None }]
    }
}

pub(crate) struct JudgedMatches {
    scope: Scope,
    definition: Definition,
    sum: Sum,
    pub found: Matches,
    pub said: Assessment,
    since: Instant,
}

/// Finds and verifies matches.
pub(crate) async fn judged_matches(
    questions: &Questions,
    cx: &Context,
    args: &Arc<Args>,
) -> Result<JudgedMatches, ToolError> {
    let since = Instant::now();
    let until = due(cx, args.wait_ms, since);
    let asked = args.clone();
    let (scope, definition, sum, change, found) =
        searched(questions, cx, args.path.clone(), move |scope| search_matches(scope, &asked)).await?;
    let call = Call { pool: &questions.pool, cx, scope: &scope, until };
    let mut said = judge(&call, &sum, &change, &found).await;
    check_texts(questions, cx, &said.texts, &mut said.judged).await?;
    Ok(JudgedMatches { scope, definition, sum, found, said, since })
}

/// Finds the matches before a language server verifies them.
fn search_matches(scope: &Scope, args: &Args) -> Result<(Scope, Definition, Sum, Change, Matches), NoAnswer> {
    let whole = scope.whole();
    let (mut found, types) = types(&whole, &args.type_name)?;
    let mut types = followed(&whole, &mut found, types);
    // `typedef enum mode { … } mode;` counts as one type.
    let places: Vec<(Arc<Path>, usize)> =
        types.iter().map(|one| (one.definition.path.clone(), one.definition.at)).collect();
    types.retain(|one| {
        let is_inside = |(path, at): &(Arc<Path>, usize)| {
            *path == one.definition.path && *at != one.definition.at && one.definition.bytes.contains(at)
        };
        one.definition.kind != Kind::Type || !places.iter().any(is_inside)
    });
    if types.len() > 1 {
        let all: Vec<String> = types.iter().map(|one| one.definition.describe()).collect();
        let problem = format!("`{}` names {} types: {}", args.type_name, all.len(), all.join("; "));
        let first = &types[0].definition;
        return Err(NoAnswer(format!("{problem}. Name one, such as `{}:{}`", display_path(&first.path), first.line)));
    }
    let one = types.pop().ok_or_else(|| NoAnswer(format!("`{}` is not a type; name a type", args.type_name)))?;
    let sum = sum(&whole, &one);
    if sum.constructors.is_empty() {
        let shown = one.definition.describe();
        let problem = format!("{shown} is not an enum, union or sum type, so no match can name its alternatives");
        return Err(NoAnswer(format!("{problem}; find_uses shows where it is used")));
    }
    let change = change(args.change.as_deref().unwrap_or("add"), &sum)?;
    let mut matches = matches(scope, &sum);
    matches.skipped.splice(0..0, found.skipped);
    Ok((scope.clone(), one.definition, sum, change, matches))
}

fn output(args: &Args, answered: JudgedMatches) -> Output {
    let JudgedMatches { scope, definition, sum, found, said, since } = answered;
    let mut sites = said.sites;
    let is_open = |site: &Site| matches!(site.verdict, Verdict::Undecided(_));
    sites.sort_by(|a, b| (a.effect, is_open(a), &a.path, a.line).cmp(&(b.effect, is_open(b), &b.path, b.line)));
    let most = most_results(args.max_results);
    let mut totals: BTreeMap<Effect, usize> = BTreeMap::new();
    for site in &sites {
        *totals.entry(site.effect).or_default() += 1;
    }
    let refuted = std::iter::repeat_n(Verdict::Refuted, said.refuted);
    let verdicts = sites.iter().map(|site| site.verdict).chain(refuted);
    let head = Head::judged(verdicts, &said.judged).searched(&scope, found.files, &found.skipped, since);
    let one = |(effect, count): (&Effect, &usize)| format!("{count} {}", effect_text(*effect));
    let effects: Vec<String> = totals.iter().map(one).collect();
    let details = if sites.is_empty() { String::new() } else { format!(": {}", effects.join(", ")) };
    let said = head.first_line(sites.len(), "match", &details);
    let mut text = vec![format!("{said}{}", head.at()), format!("defined: {}", definition.describe())];
    let is_mixed = head.confirmed + head.earlier > 0 && head.undecided + head.earlier > 0;
    let mut last = ("", String::new());
    for site in sites.iter().take(most) {
        let place = (effect_text(site.effect), display_path(&site.path));
        if place != last {
            text.push(format!("{}: {}", place.0, place.1));
            last = place;
        }
        let enclosing = if site.enclosing.is_empty() { String::new() } else { format!("{}  ", site.enclosing) };
        let doubt = match site.verdict {
            Verdict::Undecided(_) if is_mixed => " unverified",
            Verdict::Earlier if is_mixed => " verified earlier",
            _ => "",
        };
        text.push(format!("  {}  {enclosing}{}{doubt}  {}  {}", site.line, site.form, site.how, site.text));
    }
    if sites.len() > most {
        let next = json!({"type_name": args.type_name, "change": args.change, "max_results": sites.len()});
        text.push(format!("{} more: find_matches {next}", sites.len() - most));
    }
    let same = |one: &Site, next: &Site| (&one.path, one.effect) == (&next.path, next.effect);
    let of_file = |sites: &[Site]| FileMatches {
        file: display_path(&sites[0].path),
        effect: sites[0].effect,
        places: sites.to_vec(),
    };
    Output {
        change: args.change.clone().unwrap_or_else(|| "add".to_owned()),
        constructors: sum.constructors.into_iter().map(|(name, _)| name).collect(),
        matches: sites[..sites.len().min(most)].chunk_by(same).map(of_file).collect(),
        totals: totals.into_iter().map(|(effect, count)| (effect.word(), count)).collect(),
        total: sites.len(),
        truncated: sites.len() > most,
        definition: DefinitionOut::new(&definition),
        head: head.with_reasons(),
        text,
    }
}

fn effect_text(effect: Effect) -> &'static str {
    match effect {
        Effect::Undecided => "unknown effect",
        Effect::FallsThrough => "falls through",
        effect => effect.word(),
    }
}

fn change(said: &str, sum: &Sum) -> Result<Change, NoAnswer> {
    match said.split_once(':') {
        None if said == "add" => Ok(Change::Add),
        Some(("remove", name)) => removed(name.trim(), sum),
        _ => Err(NoAnswer(format!("invalid `change` `{said}`; use `add` or `remove:CONSTRUCTOR`"))),
    }
}

/// Resolves a constructor to remove: `circle` matches `'circle'`, `{ kind: 'circle' }` and the type that declares this `kind`. Ignores quotes and spaces.
fn removed(name: &str, sum: &Sum) -> Result<Change, NoAnswer> {
    let bare = |text: &str| text.replace(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'), "");
    let is_named = |other: &String| bare(other) == bare(name);
    let mut meant: Vec<&str> =
        sum.constructors.iter().filter(|(one, _)| is_named(one)).map(|(one, _)| &**one).collect();
    if meant.is_empty() {
        let marked = sum.constructors.iter().filter(|(_, marks)| marks.iter().any(is_named));
        meant.extend(marked.map(|(one, _)| one.as_str()));
    }
    match meant[..] {
        [one] => Ok(Change::Remove(one.to_owned())),
        [] => {
            let all: Vec<&str> = sum.constructors.iter().map(|(name, _)| name.as_str()).collect();
            Err(NoAnswer(format!("{} has no `{name}`; its constructors are {}", sum.name, all.join(", "))))
        }
        _ => Err(NoAnswer(format!("`{name}` is ambiguous in {}: {}; write one of these", sum.name, meant.join(", ")))),
    }
}
