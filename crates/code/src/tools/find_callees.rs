//! `find_callees`: the calls in a definition.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use syntax::Kind;

use super::verified_uses::{check_texts, due};
use super::{DefinitionOut, Questions, display_path, most_results, searched};
use crate::callees::{BodyNames, Callee, Callees, KnownDefinitions, bodies, judge};
use crate::completeness::Head;
use crate::definition::Definition;
use crate::judgement::{Judgement, Verdict, is_zero};
use crate::search::Scope;
use crate::verdict::Call;

/// What a definition calls or passes on, each with its definition in the project. A complete answer has all that a language server sees: no reflection, generated code or other repositories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// As in find_callers.
    pub name: String,
    /// List callees outside of the project too (default false).
    #[serde(default)]
    pub external: bool,
    /// Callees in the answer (default 50).
    pub max_results: Option<usize>,
    /// As in find_callers.
    pub wait_ms: Option<u64>,
}

/// The callees.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    /// The definitions whose bodies were read.
    definitions: Vec<DefinitionOut>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    callees: Vec<CalleeView>,
    /// The number of requested callees, listed or not.
    total: usize,
    /// The number of omitted callees outside of the project.
    #[serde(default, skip_serializing_if = "is_zero")]
    external_left_out: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip)]
    text: Vec<String>,
}

/// A callee.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct CalleeView {
    name: String,
    /// Absent if there are several definitions or no known one. A callee that a macro defines has `macro` and its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    external: bool,
    /// interface, or value (passed on, or called through a local); absent for a direct call.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'static str>,
    /// unverified or earlier; absent for verified callees.
    #[serde(default = "Verdict::verified", skip_serializing_if = "Verdict::is_verified")]
    verdict: Verdict,
    /// Its possible definitions, at most eight, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    definitions: Vec<DefinitionOut>,
    /// The line and column of each call.
    places: Vec<(usize, usize)>,
    /// The file of the calls, if several bodies were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller_file: Option<String>,
}

pub(super) struct FindCallees(pub(super) Arc<Questions>);

/// The maximum number of definitions listed for a callee, and in the text.
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
        let (wanted, known) = (BodyNames::Calls, KnownDefinitions::default());
        let asked = BodyQuestion { name: &args.name, wanted, known, wait_ms: args.wait_ms };
        let (scope, found, judged) = judged_callees(&self.0, &cx, &asked).await?;
        Ok(output(&args, &scope, &found, &judged, since))
    }

    fn text(output: &Output) -> String {
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"name": "total"});
        vec![Example { title: "What a function calls", arguments, text: None }]
    }
}

pub(crate) struct BodyQuestion<'a> {
    pub name: &'a str,
    pub wanted: BodyNames,
    /// The definitions that are known from earlier questions.
    pub known: KnownDefinitions,
    pub wait_ms: Option<u64>,
}

/// Finds and verifies callees.
pub(crate) async fn judged_callees(
    questions: &Questions,
    cx: &Context,
    asked: &BodyQuestion<'_>,
) -> Result<(Scope, Callees, Judgement), ToolError> {
    let until = due(cx, asked.wait_ms, Instant::now());
    let (name, wanted) = (asked.name.to_owned(), asked.wanted);
    let search = move |scope: &Scope| Ok((scope.clone(), bodies(scope, &name, wanted)?));
    let (scope, bodies) = searched(questions, cx, None, search).await?;
    let call = Call { pool: &questions.pool, cx, scope: &scope, until };
    let (found, mut judged, texts) = judge(&call, bodies, &asked.known).await;
    check_texts(questions, cx, &texts, &mut judged).await?;
    Ok((scope, found, judged))
}

fn output(args: &Args, scope: &Scope, found: &Callees, judged: &Judgement, since: Instant) -> Output {
    let most = most_results(args.max_results);
    let mut wanted: Vec<&Callee> = found.callees.iter().filter(|one| args.external || !one.is_external()).collect();
    let external_left_out = found.callees.len() - wanted.len();
    let verdicts = found.callees.iter().flat_map(|one| vec![one.verdict; one.sites.len()]);
    let head = Head::judged(verdicts, judged).searched(scope, found.files, &found.skipped, since);
    let said = head.first_line(wanted.len(), "callee", "");
    let external = match external_left_out {
        0 => String::new(),
        count => format!(" · {count} more that this project does not define (external)"),
    };
    wanted.sort_by_key(|one| matches!(one.verdict, Verdict::Undecided(_)));
    let mut text = vec![format!("{said}{external}{}", head.at())];
    text.extend(found.definitions.iter().map(|one| format!("defined: {}", one.describe())));
    let is_mixed = found.callees.iter().any(|one| matches!(one.verdict, Verdict::Confirmed | Verdict::Earlier));
    text.extend(wanted.iter().take(most).map(|one| line(one, is_mixed)));
    if wanted.len() > most {
        let next = json!({"name": args.name, "external": args.external, "max_results": wanted.len()});
        text.push(format!("{} more: find_callees {next}", wanted.len() - most));
    }
    Output {
        definitions: found.definitions.iter().map(DefinitionOut::new).collect(),
        callees: wanted.iter().take(most).map(|one| called(found, one)).collect(),
        total: wanted.len(),
        external_left_out,
        truncated: wanted.len() > most,
        head: head.with_reasons(),
        text,
    }
}

/// The file, the offset and the kind of a declaration.
type DeclarationKey<'a> = (&'a Path, usize, Kind);

/// Returns the name of a callee, and the place of its only definition or of the macro that makes it.
fn target(callee: &Callee) -> (&str, Option<DeclarationKey<'_>>) {
    match (&callee.definitions[..], &callee.made_at) {
        ([one], _) => (one.label.as_str(), Some((&*one.path, one.line, one.kind))),
        (_, made_at) => (callee.name.as_str(), made_at.as_ref().map(|(path, line, kind)| (&**path, *line, *kind))),
    }
}

fn called(found: &Callees, callee: &Callee) -> CalleeView {
    let (name, place) = target(callee);
    let only = callee.definitions.first().filter(|_| callee.definitions.len() == 1);
    CalleeView {
        name: name.to_owned(),
        kind: place.map(|(.., kind)| kind.word()),
        file: place.map(|(path, ..)| display_path(path)),
        line: place.map(|(_, line, _)| line),
        external: callee.is_external(),
        via: match callee {
            _ if callee.is_value || callee.is_local => Some("value"),
            _ if only.is_some_and(|one| one.is_signature && one.kind == Kind::Method) => Some("interface"),
            _ => None,
        },
        verdict: callee.verdict,
        definitions: match only {
            Some(_) => Vec::new(),
            None => callee.definitions.iter().take(MAX_DEFINITIONS).map(DefinitionOut::new).collect(),
        },
        places: callee.sites.iter().map(|site| (site.line, site.column)).collect(),
        caller_file: callee.sites.first().filter(|_| found.definitions.len() > 1).map(|site| display_path(&site.path)),
    }
}

/// Formats a callee: `  Shape::area  method src/geo.rs:4  at 12, 14`.
fn line(callee: &Callee, is_mixed: bool) -> String {
    let mut lines: Vec<String> = callee.sites.iter().map(|site| site.line.to_string()).collect();
    lines.dedup();
    let via = if callee.is_value { " as a value" } else { "" };
    let doubt = match callee.verdict {
        Verdict::Undecided(_) if is_mixed => " unverified",
        Verdict::Earlier => " verified earlier",
        _ => "",
    };
    let at = format!("{via}{doubt} at {}", lines.join(", "));
    let (name, place) = target(callee);
    match (&callee.definitions[..], place) {
        ([], _) if callee.is_local => format!("  {name}  a local {at}"),
        (_, Some((path, line, kind))) => format!("  {name}  {} {}:{line} {at}", kind.word(), display_path(path)),
        ([], None) => format!("  {name}  not defined in this project {at}"),
        (several, None) => {
            let place = |one: &Definition| format!("{} {}:{}", one.label, display_path(&one.path), one.line);
            let named: Vec<String> = several.iter().take(TEXT_DEFINITIONS).map(place).collect();
            let more = several.len().saturating_sub(TEXT_DEFINITIONS);
            let more = if more > 0 { format!(" or {more} more") } else { String::new() };
            format!("  {name}  {}{more} {at}", named.join(" or "))
        }
    }
}
