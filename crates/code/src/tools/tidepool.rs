//! `find_callers` and the fields of types in the format of Tidepool's control server: flat, with every field present.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use syntax::Class;

use super::find_callers::{Args, callers, shown_lines};
use super::uses::{Uses, use_kind};
use super::{DefinitionOut, Questions, display_path, doubt};
use crate::answer::{Candidates, Site};
use crate::completeness::Head;
use crate::definition::Definition;
use crate::judgement::Verdict;
use crate::resolved_type::ResolvedType;

/// The callers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    head: Head,
    name: String,
    /// Null if there are several definitions or no known one.
    definition_file: Option<String>,
    definition_line: Option<usize>,
    call_sites: Vec<CallSite>,
    /// The number of other places with the name: imports, signatures, comments …
    filtered_count: usize,
    truncated: bool,
    /// The answer as a sentence; null if it is complete.
    warning: Option<String>,
    definitions: Vec<DefinitionOut>,
    /// The number of callers, listed or not.
    total: usize,
}

/// A place.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct CallSite {
    /// call or value.
    #[serde(rename = "use")]
    used_as: &'static str,
    file: String,
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    class: Class,
    /// The line.
    context: String,
    context_before: Vec<String>,
    context_after: Vec<String>,
    /// direct, value, interface, implicit or macro.
    via: &'static str,
    verdict: Verdict,
    /// The declarations around it.
    enclosing: Option<String>,
    in_test: bool,
    /// The definition that it means, as path:line.
    definition: Option<String>,
}

/// The additional fields of Tidepool's results about types.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct OfType {
    /// Null if several types have the name.
    pub file: Option<String>,
    pub line: Option<usize>,
    pub raw_definition: String,
    /// Why the answer is not complete.
    pub warning: Option<String>,
}

impl OfType {
    pub(super) fn new(types: &[ResolvedType], head: &Head) -> OfType {
        let only = match types {
            [one] => Some(&one.definition),
            _ => None,
        };
        OfType {
            file: only.map(|one| display_path(&one.path)),
            line: only.map(|one| one.line),
            raw_definition: types.iter().map(|one| one.raw.as_str()).collect::<Vec<_>>().join("\n\n"),
            warning: doubt(head),
        }
    }
}

pub(super) struct FindCallers(pub(super) Arc<Questions>);

impl Tool for FindCallers {
    const NAME: &'static str = "find_callers";
    const TITLE: &'static str = "Find callers";
    const EFFECT: Effect = Effect::READ;
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let shown_lines = shown_lines(args.context_lines.or(Some(1)), args.max_results);
        let answered = callers(&self.0, &cx, &args, shown_lines).await?;
        let mut uses = Uses::new(&answered, args.refuted, ("find_callers", "caller", &args.name));
        let most = shown_lines.most;
        let found = &answered.found;
        let is_listed =
            |site: &&Site| answered.classes.contains(&site.class) && (args.refuted || site.verdict != Verdict::Refuted);
        let (definition_file, definition_line) = match &found.definitions[..] {
            [one] => (Some(display_path(&one.path)), Some(one.line)),
            _ => (None, None),
        };
        Ok(Output {
            name: found.question.name.clone(),
            definition_file,
            definition_line,
            call_sites: found.sites.iter().filter(is_listed).take(most).map(|site| call_site(found, site)).collect(),
            filtered_count: uses.filtered_count(),
            truncated: uses.total > most,
            warning: (!uses.head.is_complete).then(|| uses.text.swap_remove(0)),
            definitions: uses.definitions,
            total: uses.total,
            head: uses.head,
        })
    }
}

fn call_site(found: &Candidates, site: &Site) -> CallSite {
    let meant = site.meant.and_then(|number| found.definitions.get(number));
    let visible = |lines: &[String]| lines.iter().map(|line| project::visible::escaped(line)).collect();
    let is_value = site.class == Class::Value;
    CallSite {
        used_as: if is_value { "value" } else { "call" },
        file: display_path(&site.path),
        line: site.line,
        column: site.column,
        class: site.class,
        context: project::visible::escaped(&site.text),
        context_before: visible(&site.before),
        context_after: visible(&site.after),
        via: use_kind(found, site, meant).unwrap_or(if is_value { "value" } else { "direct" }),
        verdict: site.verdict,
        enclosing: (!site.enclosing.is_empty()).then(|| site.enclosing.clone()),
        in_test: site.in_test,
        definition: meant.map(|one: &Definition| format!("{}:{}", display_path(&one.path), one.line)),
    }
}
