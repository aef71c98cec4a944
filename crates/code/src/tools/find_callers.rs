//! `find_callers`: who calls a function or passes it on.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::uses::{Use, Uses, head_line, lines, rest_line};
use super::{DefinitionOut, MOST_DEFINITIONS, Questions, defined, shown};
use super::{Question, answer};
use crate::answer::{Found, Shown, Site};
use crate::definition::Definition;
use crate::head::Head;
use crate::judgement::Verdict;
use crate::syntax::{Class, Kind, SCRIPTS, family};

/// Who calls a function or passes it as a value, without imports, signatures, comments and strings. Says how sure it is. In a project that the user trusts, a language server may run its build scripts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// `area`, `Shape::area`, `src/geo.rs:area`, `src/geo.rs:41`.
    pub name: String,
    /// Both if none.
    #[serde(default)]
    pub uses: Vec<UsedAs>,
    /// Look only there.
    pub path: Option<String>,
    /// 1.
    pub context_lines: Option<usize>,
    /// 50.
    pub max_results: Option<usize>,
    /// Also those that mean something else.
    #[schemars(extend("x-unlisted" = true))]
    #[serde(default)]
    pub refuted: bool,
    /// For a judge that is not ready: 10000.
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum UsedAs {
    Call,
    Value,
}

/// The callers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    name: String,
    /// Null if there are several definitions, or none that is known.
    definition_file: Option<String>,
    definition_line: Option<usize>,
    call_sites: Vec<CallSite>,
    /// How many other places have the name: imports, signatures, comments …
    filtered_count: usize,
    truncated: bool,
    /// The head in a sentence; null if the answer is final.
    warning: Option<String>,
    definitions: Vec<DefinitionOut>,
    callers: Vec<Calling>,
    /// Of calls and values, shown or not.
    total: usize,
    #[serde(skip)]
    text: Vec<String>,
}

/// A use with the word that this tool has for its class.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct CallSite {
    #[serde(rename = "use")]
    used_as: &'static str,
    #[serde(flatten)]
    site: Use,
}

/// A declaration that calls.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Calling {
    name: Option<String>,
    file: String,
    /// Of its first call.
    line: usize,
    calls: usize,
    values: usize,
}

pub(super) struct FindCallers<const JSON: bool>(pub(super) Arc<Questions>);

/// What is shown if the call says nothing.
const CONTEXT_LINES: usize = 1;
const MAX_RESULTS: usize = 50;
/// The most of each.
const MOST_CONTEXT: usize = 20;
const MOST_RESULTS: usize = 5000;

/// What is shown of sites, within bounds.
pub(super) fn shown_lines(context_lines: Option<usize>, max_results: Option<usize>) -> Shown {
    Shown {
        context_lines: context_lines.unwrap_or(CONTEXT_LINES).min(MOST_CONTEXT),
        most: max_results.unwrap_or(MAX_RESULTS).min(MOST_RESULTS),
    }
}

impl<const JSON: bool> Tool for FindCallers<JSON> {
    const NAME: &'static str = "find_callers";
    const TITLE: &'static str = "Find callers";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let lines_of = shown_lines(args.context_lines, args.max_results);
        let asked = Question { name: &args.name, path: args.path.as_deref(), shown: lines_of, wait_ms: args.wait_ms };
        let answered = answer(&self.0, &cx, &asked, |found| classes(found, &args.uses)).await?;
        let found = &answered.found;
        let wanted = classes(found, &args.uses);
        let uses = Uses::of(&answered, &wanted, lines_of.most, args.refuted);
        let head = head_line(&uses, &wanted, "no callers");
        let mut callers: BTreeMap<(String, String), Calling> = BTreeMap::new();
        let is_caller = |site: &&Site| wanted.contains(&site.class) && site.verdict != Verdict::Refuted;
        for site in found.sites.iter().filter(is_caller) {
            let key = (shown(&site.path), site.enclosing.clone());
            let calling = callers.entry(key.clone()).or_insert_with(|| Calling {
                name: (!key.1.is_empty()).then(|| key.1.clone()),
                file: key.0.clone(),
                line: site.line,
                calls: 0,
                values: 0,
            });
            match site.class {
                Class::Value => calling.values += 1,
                _ => calling.calls += 1,
            }
        }
        let mut text = vec![head.clone()];
        text.extend(defined(found));
        text.extend(lines(&uses.shown, args.context_lines.is_some_and(|lines| lines > 0)));
        text.extend(rest_line("find_callers", &args.name, &uses.rest, uses.total));
        let definition = match &found.definitions[..] {
            [one] => Some((shown(&one.path), one.line)),
            _ => None,
        };
        Ok(output(definition, found, uses, head, callers, text))
    }

    fn text(output: &Output) -> String {
        if JSON {
            return serde_json::to_string(output).unwrap_or_default();
        }
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "Calls alone", arguments: json!({"name": "Shape::area", "uses": ["call"]}), text: None }]
    }
}

/// The classes that count as calling.
fn classes(found: &Found, uses: &[UsedAs]) -> Vec<Class> {
    // A constructor is called by constructing; a type that is no function likewise.
    let name = &found.question.name;
    // Functions and variables of JavaScript may be constructed too.
    let is_constructed = |one: &Definition| {
        one.kind == Kind::Constructor
            || one.kind.is_type()
            || one.is_constructor(name)
            || family(one.language) == SCRIPTS && matches!(one.kind, Kind::Function | Kind::Variable)
    };
    let constructs = found.definitions.iter().any(is_constructed);
    let is_wanted = |wanted: UsedAs| uses.is_empty() || uses.contains(&wanted);
    let mut classes = Vec::new();
    if is_wanted(UsedAs::Call) {
        classes.push(Class::Call);
    }
    if is_wanted(UsedAs::Value) {
        classes.push(Class::Value);
    }
    if constructs && is_wanted(UsedAs::Call) {
        classes.push(Class::Construct);
    }
    classes
}

fn output(
    definition: Option<(String, usize)>,
    found: &Found,
    uses: Uses,
    head: String,
    callers: BTreeMap<(String, String), Calling>,
    text: Vec<String>,
) -> Output {
    let (definition_file, definition_line) = definition.unzip();
    let all: usize = uses.counts.values().sum();
    Output {
        name: found.question.name.clone(),
        definition_file,
        definition_line,
        filtered_count: all + uses.head.refuted - uses.total + uses.elsewhere,
        truncated: uses.truncated,
        warning: (!uses.head.is_final).then_some(head),
        definitions: found.definitions.iter().take(MOST_DEFINITIONS).map(DefinitionOut::of).collect(),
        callers: callers.into_values().take(MOST_RESULTS).collect(),
        total: uses.total,
        call_sites: uses
            .shown
            .into_iter()
            .map(|site| CallSite { used_as: if site.class == Class::Value { "value" } else { "call" }, site })
            .collect(),
        head: uses.head,
        text,
    }
}
