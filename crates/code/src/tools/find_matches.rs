//! `find_matches`: what a new constructor, or one less, does to every place that takes values of the type apart.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect as ToolEffect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::show_fields::{Typed, types};
use super::{DefinitionOut, Questions, by_syntax, searched, shown};
use crate::definition::Definition;
use crate::head::Head;
use crate::matches::{Change, Effect, Matches, Site, Sum, matches};
use crate::search::{NoAnswer, Scope};
use crate::syntax::Language;

/// Where values of a type are matched, and what another constructor does there: breaks, falls through, is absorbed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub type_name: String,
    /// `add` (default) or `remove:CONSTRUCTOR`.
    pub change: Option<String>,
    /// Look only there.
    pub path: Option<String>,
    /// 50.
    pub max_results: Option<usize>,
}

/// The matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    type_name: String,
    change: String,
    constructors: Vec<String>,
    matches: Vec<Matched>,
    /// How many there are of each effect, shown or not.
    totals: BTreeMap<&'static str, usize>,
    total: usize,
    truncated: bool,
    /// The head in a sentence; null if the answer is final.
    warning: Option<String>,
    definitions: Vec<DefinitionOut>,
    #[serde(skip)]
    text: Vec<String>,
}

/// A match.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Matched {
    file: String,
    line: usize,
    column: usize,
    enclosing: Option<String>,
    /// `match`, `if let`, `case`, `function clauses`, `switch` …
    form: &'static str,
    /// The constructors that it names, and those that it does not.
    names: Vec<String>,
    missing: Vec<String>,
    /// Whether a branch takes all others.
    wildcard: bool,
    effect: Effect,
    how: String,
    verdict: &'static str,
    context: String,
}

pub(super) struct FindMatches(pub(super) Arc<Questions>);

const MAX_RESULTS: usize = 50;
const MOST_RESULTS: usize = 5000;
/// How many members of a union are looked up.
const MOST_MEMBERS: usize = 32;

impl Tool for FindMatches {
    const NAME: &'static str = "find_matches";
    const TITLE: &'static str = "Find matches";
    const EFFECT: ToolEffect = ToolEffect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, args.path.clone(), move |scope| {
            let whole = Scope { below: scope.root.clone(), ..scope.clone() };
            let (found, types) = types(&whole, &args.type_name)?;
            let [one] = &types[..] else {
                let all: Vec<String> = types.iter().map(|one| one.definition.shown()).collect();
                let problem = format!("`{}` names {} types: {}", args.type_name, all.len(), all.join("; "));
                return Err(NoAnswer(format!("{problem}. Name one as path:name")));
            };
            let sum = sum(&whole, one);
            if sum.constructors.is_empty() {
                let problem = format!("{} has no constructors that a match could name", one.definition.shown());
                return Err(NoAnswer(format!("{problem}; find_uses shows where it is used")));
            }
            let change = change(args.change.as_deref().unwrap_or("add"), &sum)?;
            let Matches { mut sites, files, skipped } = matches(scope, &sum, &change);
            sites.sort_by(|a, b| (a.effect, &a.path, a.line).cmp(&(b.effect, &b.path, b.line)));
            let most = args.max_results.unwrap_or(MAX_RESULTS).min(MOST_RESULTS);
            let skipped = [found.skipped, skipped].concat();
            Ok(output(scope, args, &one.definition, sum, &sites, most, (files, &skipped)))
        })
        .await
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"type_name": "Shape", "change": "add"});
        vec![Example { title: "What one more constructor does", arguments, text: None }]
    }
}

fn output(
    scope: &Scope,
    args: Args,
    definition: &Definition,
    sum: Sum,
    sites: &[Site],
    most: usize,
    (files, skipped): (usize, &[crate::search::Skipped]),
) -> Output {
    let mut undecided: BTreeMap<Language, usize> = BTreeMap::from([(definition.language, 0)]);
    let mut totals: BTreeMap<&'static str, usize> = BTreeMap::new();
    for site in sites {
        *undecided.entry(site.language).or_default() += 1;
        *totals.entry(site.effect.word()).or_default() += 1;
    }
    let head = by_syntax(&undecided).searched(scope, files, skipped, scope.since);
    let counted: Vec<String> = totals.iter().map(|(effect, count)| format!("{count} {effect}")).collect();
    let said = match sites {
        [] => format!("no matches found, which is no proof: {}{}", head.why(), head.at()),
        [one] => format!("1 match by syntax, {}: {}{}", one.effect.word(), head.why(), head.at()),
        all => format!("{} matches by syntax ({}): {}{}", all.len(), counted.join(", "), head.why(), head.at()),
    };
    let mut text = vec![said.clone(), format!("defined: {}", definition.shown())];
    let mut last = ("", String::new());
    for site in sites.iter().take(most) {
        let place = (site.effect.word(), shown(&site.path));
        if place != last {
            text.push(format!("{}: {}", place.0, place.1));
            last = place;
        }
        let enclosing = if site.enclosing.is_empty() { String::new() } else { format!("{}  ", site.enclosing) };
        text.push(format!("  {}  {enclosing}{}  {}  {}", site.line, site.form, site.how, site.text.trim()));
    }
    if sites.len() > most {
        let next = json!({"type_name": args.type_name, "change": args.change, "max_results": sites.len()});
        text.push(format!("{} more: find_matches {next}", sites.len() - most));
    }
    Output {
        type_name: sum.name,
        change: args.change.unwrap_or_else(|| "add".to_owned()),
        constructors: sum.constructors.into_iter().map(|(name, _)| name).collect(),
        matches: sites.iter().take(most).map(matched).collect(),
        totals,
        total: sites.len(),
        truncated: sites.len() > most,
        warning: (!head.is_final).then_some(said),
        definitions: vec![DefinitionOut::of(definition)],
        head,
        text,
    }
}

fn matched(site: &Site) -> Matched {
    Matched {
        file: shown(&site.path),
        line: site.line,
        column: site.column,
        enclosing: (!site.enclosing.is_empty()).then(|| site.enclosing.clone()),
        form: site.form,
        names: site.names.clone(),
        missing: site.missing.clone(),
        wildcard: site.has_wildcard,
        effect: site.effect,
        how: site.how.clone(),
        verdict: "undecided",
        context: project::visible::escaped(&site.text),
    }
}

fn change(said: &str, sum: &Sum) -> Result<Change, NoAnswer> {
    match said.split_once(':') {
        None if said == "add" => Ok(Change::Add),
        Some(("remove", name)) if sum.constructors.iter().any(|(other, _)| other == name.trim()) => {
            Ok(Change::Remove(name.trim().to_owned()))
        }
        Some(("remove", name)) => {
            let all: Vec<&str> = sum.constructors.iter().map(|(name, _)| name.as_str()).collect();
            Err(NoAnswer(format!("{} has no `{}`; its constructors are {}", sum.name, name.trim(), all.join(", "))))
        }
        _ => Err(NoAnswer(format!("`change` is `add` or `remove:CONSTRUCTOR`, not `{said}`"))),
    }
}

/// The constructors of a type, with what a match writes for each.
fn sum(scope: &Scope, one: &Typed) -> Sum {
    let language = one.definition.language;
    let script = matches!(language, Language::TypeScript | Language::Tsx);
    let mut constructors = Vec::new();
    for made in one.shape.constructors.iter().take(MOST_MEMBERS * 8) {
        let marks = match script && !made.name.starts_with(['"', '\'']) {
            // A member of a union is told by the texts that its fields have as type.
            true => tags(scope, &made.name),
            false => Vec::new(),
        };
        // `geo.Circle` in a union of Python is matched as `Circle`, too.
        let bare = made.name.trim_matches(['"', '\'']);
        let bare = if language == Language::Python { bare.rsplit('.').next().unwrap_or(bare) } else { bare };
        let bare = bare.to_owned();
        let marks = if marks.is_empty() { vec![bare] } else { marks };
        constructors.push((made.name.clone(), marks));
    }
    let name = one.definition.label.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    Sum { name, language, constructors }
}

/// The texts that mark the values of a member of a union: `kind: 'circle'`.
fn tags(scope: &Scope, member: &str) -> Vec<String> {
    let quoted = |of: &str| -> Option<String> {
        let quote = of.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        of[1..].split_once(quote).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| text.to_owned())
    };
    if member.starts_with('{') {
        let fields = member.trim_matches(['{', '}']).split([';', ',']);
        return fields.filter_map(|field| quoted(field.split_once(':')?.1.trim())).collect();
    }
    let is_name = member.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let found = if is_name { types(scope, member).ok() } else { None };
    let fields = found.into_iter().flat_map(|(_, types)| types).flat_map(|one| one.shape.fields);
    fields.filter_map(|field| quoted(&field.of)).collect()
}
