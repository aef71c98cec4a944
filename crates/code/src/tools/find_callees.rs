//! `find_callees`: what a definition calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{DefinitionOut, Questions, by_syntax, searched, shown};
use crate::callees::{Callee, callees};
use crate::head::Head;
use crate::syntax::Language;

/// What a definition calls or passes on, each with its definition in the project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub name: String,
    /// Also what the project does not define.
    #[serde(default)]
    pub external: bool,
    /// 50.
    pub max_results: Option<usize>,
}

/// What is called.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    /// Whose bodies were read.
    definitions: Vec<DefinitionOut>,
    callees: Vec<Called>,
    /// Of the callees that were asked for, shown or not.
    total: usize,
    /// How many more the project does not define.
    external_left_out: usize,
    truncated: bool,
    /// The head in a sentence; null if the answer is final.
    warning: Option<String>,
    #[serde(skip)]
    text: Vec<String>,
}

/// A callee.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Called {
    name: String,
    /// Null if there are several definitions, or none in the project.
    kind: Option<&'static str>,
    file: Option<String>,
    line: Option<usize>,
    external: bool,
    /// `direct`, or `value`: passed on, or called through a local.
    via: &'static str,
    verdict: &'static str,
    /// What it may be, at most eight.
    definitions: Vec<DefinitionOut>,
    sites: Vec<SiteOut>,
}

/// Where it is called.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct SiteOut {
    file: String,
    line: usize,
    column: usize,
}

pub(super) struct FindCallees(pub(super) Arc<Questions>);

const MAX_RESULTS: usize = 50;
const MOST_RESULTS: usize = 5000;
/// How many definitions of one callee are named, and how many in the text.
const MAX_DEFINITIONS: usize = 8;
const TEXT_DEFINITIONS: usize = 3;

impl Tool for FindCallees {
    const NAME: &'static str = "find_callees";
    const TITLE: &'static str = "Find callees";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        searched(&self.0, &cx, None, move |scope| {
            let found = callees(scope, &args.name)?;
            let most = args.max_results.unwrap_or(MAX_RESULTS).min(MOST_RESULTS);
            let all = found.callees.len();
            let wanted: Vec<&Callee> =
                found.callees.iter().filter(|one| args.external || !one.definitions.is_empty()).collect();
            let mut undecided: BTreeMap<Language, usize> = BTreeMap::new();
            for site in wanted.iter().flat_map(|one| &one.sites) {
                *undecided.entry(site.language).or_default() += 1;
            }
            for definition in &found.definitions {
                undecided.entry(definition.language).or_default();
            }
            let head = by_syntax(&undecided).searched(&scope.root, found.files, &found.skipped, scope.since);
            let external_left_out = all - wanted.len();
            let said = match wanted.len() {
                0 => format!("no callees found, which is no proof: {}", head.why()),
                1 => format!("1 callee, undecided: {}", head.why()),
                count => format!("{count} callees, undecided: {}", head.why()),
            };
            let besides = match external_left_out {
                0 => String::new(),
                count => format!(" · besides {count} that the project does not define (external)"),
            };
            let said = format!("{said}{besides}{}", head.at());
            let mut text = vec![said.clone()];
            text.extend(found.definitions.iter().map(|one| format!("defined: {}", one.shown())));
            text.extend(wanted.iter().take(most).map(|one| line(one)));
            if wanted.len() > most {
                let next = json!({"name": args.name, "external": args.external, "max_results": wanted.len()});
                text.push(format!("{} more: find_callees {next}", wanted.len() - most));
            }
            Ok(Output {
                definitions: found.definitions.iter().map(DefinitionOut::of).collect(),
                callees: wanted.iter().take(most).map(|one| called(one)).collect(),
                total: wanted.len(),
                external_left_out,
                truncated: wanted.len() > most,
                warning: (!head.is_final).then_some(said),
                head,
                text,
            })
        })
        .await
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"name": "total"});
        vec![Example { title: "What a function calls", arguments, text: None }]
    }
}

fn called(callee: &Callee) -> Called {
    let only = match &callee.definitions[..] {
        [one] => Some(one),
        _ => None,
    };
    Called {
        name: only.map_or_else(|| callee.name.clone(), |one| one.label.clone()),
        kind: only.map(|one| one.kind.word()),
        file: only.map(|one| shown(&one.path)),
        line: only.map(|one| one.line),
        external: callee.definitions.is_empty(),
        via: if callee.is_value || callee.is_local { "value" } else { "direct" },
        verdict: "undecided",
        definitions: callee.definitions.iter().take(MAX_DEFINITIONS).map(DefinitionOut::of).collect(),
        sites: callee
            .sites
            .iter()
            .map(|site| SiteOut { file: shown(&site.path), line: site.line, column: site.column })
            .collect(),
    }
}

/// `  Shape::area  method src/geo.rs:4  at 12, 14`.
fn line(callee: &Callee) -> String {
    let mut lines: Vec<String> = callee.sites.iter().map(|site| site.line.to_string()).collect();
    lines.dedup();
    let via = if callee.is_value { " as a value" } else { "" };
    let at = format!("{via} at {}", lines.join(", "));
    match &callee.definitions[..] {
        [] if callee.is_local => format!("  {}  a local {at}", callee.name),
        [] => format!("  {}  not defined in this project {at}", callee.name),
        [one] => format!("  {}  {} {}:{} {at}", one.label, one.kind.word(), shown(&one.path), one.line),
        several => {
            let place =
                |one: &crate::definition::Definition| format!("{} {}:{}", one.label, shown(&one.path), one.line);
            let named: Vec<String> = several.iter().take(TEXT_DEFINITIONS).map(place).collect();
            let more = several.len().saturating_sub(TEXT_DEFINITIONS);
            let more = if more > 0 { format!(" or {more} more") } else { String::new() };
            format!("  {}  {}{more} {at}", callee.name, named.join(" or "))
        }
    }
}
