//! `find_callees`: what a definition calls.

use std::sync::Arc;
use std::time::Instant;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::judged::{are_unchanged, due, unsettled};
use super::{DefinitionOut, Questions, searched, shown};
use crate::callees::{Callee, Callees, callees, judge};
use crate::head::Head;
use crate::judgement::{Judge, Judged, Verdict};
use crate::search::Scope;
use crate::syntax::Kind;
use crate::verdict::Call;

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
    /// For a judge that is not ready: 10000.
    pub wait_ms: Option<u64>,
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
    /// Null if there are several definitions, or none that is known. Of what a macro makes, `macro`, with its place.
    kind: Option<&'static str>,
    file: Option<String>,
    line: Option<usize>,
    external: bool,
    /// `direct`, `interface`, or `value`: passed on, or called through a local.
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
        let since = Instant::now();
        let until = due(&cx, args.wait_ms, since);
        let mut again = true;
        loop {
            let name = args.name.clone();
            let (scope, mut found) =
                searched(&self.0, &cx, None, move |scope| Ok((scope.clone(), callees(scope, &name)?))).await?;
            let call = Call { pool: &self.0.pool, cx: &cx, scope: &scope, until };
            let (mut judged, texts) = judge(&call, &mut found).await;
            if judged.is_certain && !are_unchanged(&self.0, &cx, texts).await? {
                if again {
                    again = false;
                    continue;
                }
                unsettled(&mut judged);
            }
            return Ok(output(&args, &scope, &found, &judged, since));
        }
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"name": "total"});
        vec![Example { title: "What a function calls", arguments, text: None }]
    }
}

fn output(args: &Args, scope: &Scope, found: &Callees, judged: &Judged, since: Instant) -> Output {
    let most = args.max_results.unwrap_or(MAX_RESULTS).min(MOST_RESULTS);
    let wanted: Vec<&Callee> = found.callees.iter().filter(|one| args.external || !one.is_external()).collect();
    let external_left_out = found.callees.len() - wanted.len();
    let verdicts = found.callees.iter().flat_map(|one| vec![one.verdict; one.sites.len()]);
    let refuted = std::iter::repeat_n(Verdict::Refuted, found.refuted);
    let head = Head::judged(verdicts.chain(refuted), judged).searched(scope, found.files, &found.skipped, since);
    let said = said(&head, &wanted, external_left_out);
    let mut text = vec![said.clone()];
    text.extend(found.definitions.iter().map(|one| format!("defined: {}", one.shown())));
    let is_mixed = found.callees.iter().any(|one| matches!(one.verdict, Verdict::Confirmed | Verdict::Earlier));
    text.extend(wanted.iter().take(most).map(|one| line(one, is_mixed)));
    if wanted.len() > most {
        let next = json!({"name": args.name, "external": args.external, "max_results": wanted.len()});
        text.push(format!("{} more: find_callees {next}", wanted.len() - most));
    }
    Output {
        definitions: found.definitions.iter().map(DefinitionOut::of).collect(),
        callees: wanted.iter().take(most).map(|one| called(one)).collect(),
        total: wanted.len(),
        external_left_out,
        truncated: wanted.len() > most,
        warning: (!head.is_final).then_some(said),
        head,
        text,
    }
}

/// The head as a line: never that there are none, while that is not proven.
fn said(head: &Head, wanted: &[&Callee], external_left_out: usize) -> String {
    let judges: Vec<String> = head.judges.iter().filter_map(Judge::words).collect();
    let judges = if judges.is_empty() { String::new() } else { format!(" · {}", judges.join(", ")) };
    let count = match wanted.len() {
        0 => "no callees".to_owned(),
        1 => "1 callee".to_owned(),
        count => format!("{count} callees"),
    };
    let refuted = if head.refuted > 0 { format!(", {} refuted", head.refuted) } else { String::new() };
    let earlier = if head.earlier > 0 { format!(", {} calls confirmed earlier", head.earlier) } else { String::new() };
    let said = match (head.is_final, wanted.len(), head.confirmed) {
        (true, ..) => format!("{count}{refuted}, 0 undecided{judges}"),
        (false, 0, 0) => format!("no callees found, which is no proof: {}", head.why()),
        (false, _, 0) => format!("{count}, undecided{earlier}{refuted}: {}", head.why()),
        (false, _, confirmed) => {
            let undecided = head.undecided;
            let why = head.why();
            format!(
                "{count}: {confirmed} calls confirmed{earlier}, {undecided} undecided{refuted}, not final: {why}{judges}"
            )
        }
    };
    let besides = match external_left_out {
        0 => String::new(),
        count => format!(" · besides {count} that the project does not define (external)"),
    };
    format!("{said}{besides}{}", head.at())
}

fn called(callee: &Callee) -> Called {
    let only = match &callee.definitions[..] {
        [one] => Some(one),
        _ => None,
    };
    let known = only.map(|one| (one.path.clone(), one.line, one.kind)).or_else(|| callee.made_at.clone());
    Called {
        name: only.map_or_else(|| callee.name.clone(), |one| one.label.clone()),
        kind: known.as_ref().map(|(.., kind)| kind.word()),
        file: known.as_ref().map(|(path, ..)| shown(path)),
        line: known.map(|(_, line, _)| line),
        external: callee.is_external(),
        via: match callee {
            _ if callee.is_value || callee.is_local => "value",
            _ if only.is_some_and(|one| one.is_signature && one.kind == Kind::Method) => "interface",
            _ => "direct",
        },
        verdict: callee.verdict.word(),
        definitions: callee.definitions.iter().take(MAX_DEFINITIONS).map(DefinitionOut::of).collect(),
        sites: callee
            .sites
            .iter()
            .map(|site| SiteOut { file: shown(&site.path), line: site.line, column: site.column })
            .collect(),
    }
}

/// `  Shape::area  method src/geo.rs:4  at 12, 14`.
fn line(callee: &Callee, is_mixed: bool) -> String {
    let mut lines: Vec<String> = callee.sites.iter().map(|site| site.line.to_string()).collect();
    lines.dedup();
    let via = if callee.is_value { " as a value" } else { "" };
    let doubt = match callee.verdict {
        Verdict::Undecided(_) if is_mixed => " undecided",
        Verdict::Earlier => " earlier",
        _ => "",
    };
    let at = format!("{via}{doubt} at {}", lines.join(", "));
    match &callee.definitions[..] {
        [] if callee.is_local => format!("  {}  a local {at}", callee.name),
        [] => match &callee.made_at {
            Some((path, line, kind)) => format!("  {}  {} {}:{line} {at}", callee.name, kind.word(), shown(path)),
            None => format!("  {}  not defined in this project {at}", callee.name),
        },
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
