//! `scout`: what breaks if a definition changes.

use std::path::Path;
use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use project::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Names, Sources, available, check_count, selector};
use crate::lookups::{Head, Unresolved, head_line};
use crate::rubric::Change;
use crate::scout::{Evidence, Impact, Pointer, ReachingTest, Request, impact};
use crate::select::{Choice, ModelUse, RATE_EDGE};
use crate::test_command;

/// What breaks if a definition changes: each use with its risk and evidence, the tests that reach it with the command that runs them, and texts that mention it beyond the code. A risk of 5 is an error of the compiler; `verified` means that a language server resolved the use.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The question, such as `What breaks if I add a variant to Shape?` (default empty, with `symbols` or `diff`).
    #[serde(default)]
    pub query: String,
    /// The definitions that change, as a list or as text with commas (default those that the query names). All definitions of a name count.
    #[serde(default)]
    pub symbols: Names,
    /// The changed definitions of a diff instead: `working` (not committed), `staged` or `BASE..HEAD`.
    pub diff: Option<String>,
    /// The maximum number of uses: low (10), medium (30, the default) or high (100).
    #[serde(default)]
    pub depth: Depth,
    /// The change (default the one in the query, otherwise the usual one for the definition).
    pub change: Option<Change>,
    /// Look for uses only in this file or folder.
    pub path: Option<String>,
    /// Compile the change in a copy of the worktree; the errors are the places with the evidence `proved` (default false). For one definition in Haskell, Rust or TypeScript. It may take minutes.
    #[serde(default)]
    pub prove: bool,
    /// Who rates the relevance of uses: auto (a model where the project has one, else rules; the default), rules or model. The risk never depends on a model.
    #[serde(default)]
    pub selector: Choice,
    /// Record each rating for `hob explore export` (default false).
    #[serde(default)]
    pub record: bool,
    /// The time limit in ms, at most 50000 (default 10000). A proof has 300000 by default.
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Depth {
    Low,
    #[default]
    Medium,
    High,
}

/// The impact.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    head: Head,
    summary: String,
    change: &'static str,
    /// The definitions that change.
    entries: Vec<EntryView>,
    /// By risk, the highest first.
    pointers: Vec<Pointer>,
    /// Tests that reach the change, the nearest first.
    tests: Vec<TestView>,
    /// Mentions that no language server follows: comments, texts, configuration, other languages.
    beyond: Vec<BeyondView>,
    unresolved: Vec<Unresolved>,
    nodes_visited: usize,
    /// done, budget or time.
    stopped: &'static str,
    /// Who rated the relevance: rules or model.
    selector: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelUse>,
    /// The name of the recorded run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The ratings of all pointers, if they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_examples: Option<Vec<Value>>,
    #[serde(skip)]
    text: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct EntryView {
    name: String,
    kind: &'static str,
    location: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct TestView {
    name: String,
    location: String,
    /// How many definitions are between the test and the change.
    distance: usize,
    command: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct BeyondView {
    location: String,
    text: String,
}

pub(super) struct Scout<const JSON: bool>(pub(super) Arc<Sources>);

/// The maximum length of a query, in bytes.
const MAX_QUERY: usize = 2000;

impl<const JSON: bool> Tool for Scout<JSON> {
    const NAME: &'static str = "scout";
    const TITLE: &'static str = "What breaks";
    const EFFECT: Effect = Effect::READ.open_world();
    type Args = Args;
    type Output = Output;

    async fn call(&self, cx: Context, args: Args) -> Result<Output, ToolError> {
        let symbols = args.symbols.into_list();
        check_count(&symbols, "symbols")?;
        if args.query.trim().is_empty() && symbols.is_empty() && args.diff.is_none() {
            let hint = "Ask a question, such as `What breaks if I add a variant to Shape?`, or name `symbols`.";
            return Err(ToolError::user("the query is empty").hint(hint));
        }
        if args.query.len() > MAX_QUERY {
            return Err(ToolError::user(format!(
                "the query is too long; the limit is {MAX_QUERY} bytes, got {}",
                args.query.len()
            )));
        }
        let caller = cx.caller::<Caller>().ok_or_else(|| ToolError::internal("a call without a caller"))?;
        let changed = match &args.diff {
            Some(_) if !symbols.is_empty() => {
                return Err(ToolError::user("`symbols` and `diff` exclude each other").hint("Leave out one of them."));
            }
            Some(diff) => Some((self.0.diff)(caller, diff).await.map_err(ToolError::user)?),
            None => None,
        };
        let request = Request {
            query: args.query,
            symbols,
            changed,
            change: args.change,
            nodes: match args.depth {
                Depth::Low => 10,
                Depth::Medium => 30,
                Depth::High => 100,
            },
            path: args.path,
            prove: args.prove,
            wait_ms: args.wait_ms,
        };
        let questions = available(&self.0)?;
        let root = caller.worktree.to_path_buf();
        let by = (args.selector, args.record);
        let selector = selector(&self.0, &cx, (Self::NAME, RATE_EDGE), by, request.nodes).await?;
        let impact = impact(&questions, self.0.compiling.as_ref(), &cx, &request, selector).await?;
        let has_examples = JSON || impact.selected.run.is_some();
        let render = move || output(&root, &request.query, impact, has_examples);
        tokio::task::spawn_blocking(render).await.map_err(ToolError::internal)
    }

    fn text(output: &Output) -> String {
        if JSON {
            return serde_json::to_string(output).unwrap_or_default();
        }
        output.text.join("\n")
    }

    fn examples() -> Vec<Example> {
        let arguments = json!({"query": "What breaks if I add a variant to Shape?", "depth": "low"});
        vec![Example { title: "One more variant", arguments, text: None }]
    }
}

/// The maximum number of tests and mentions in the text.
const MOST_LINES: usize = 10;

fn output(root: &Path, query: &str, impact: Impact, has_examples: bool) -> Output {
    let summary = summary(&impact);
    let training_examples = has_examples.then(|| examples(query, &impact));
    let mut text = vec![summary.clone(), head_line(&impact.head)];
    text.extend(impact.selected.lines());
    let entry = |one: &code::facts::Symbol| EntryView {
        name: one.label.clone(),
        kind: one.kind.word(),
        location: format!("{}:{}", one.file, one.line),
    };
    let entries: Vec<EntryView> = impact.entries.iter().map(entry).collect();
    text.extend(entries.iter().map(|one| format!("changes: {} {} {}", one.location, one.kind, one.name)));
    text.extend(impact.unresolved.iter().map(|one| format!("unresolved: {}: {}", one.name, one.problem)));
    text.extend(impact.pointers.iter().flat_map(lines));
    let tests: Vec<TestView> = impact.tests.iter().map(|test| test_view(root, test)).collect();
    if !tests.is_empty() {
        text.push(format!("tests that reach it, the nearest first ({}):", tests.len()));
    }
    for test in tests.iter().take(MOST_LINES) {
        let command = test.command.as_deref().map(|command| format!("  {command}")).unwrap_or_default();
        text.push(format!("  {} {}{command}", test.location, test.name));
    }
    if !impact.beyond.is_empty() {
        text.push(format!("mentions beyond the code ({}):", impact.beyond.len()));
    }
    text.extend(impact.beyond.iter().take(MOST_LINES).map(|one| format!("  {}:{} {}", one.file, one.line, one.text)));
    Output {
        summary,
        change: impact.change.word(),
        entries,
        pointers: impact.pointers,
        tests,
        beyond: impact
            .beyond
            .into_iter()
            .map(|one| BeyondView { location: format!("{}:{}", one.file, one.line), text: one.text })
            .collect(),
        unresolved: impact.unresolved,
        nodes_visited: impact.nodes_visited,
        stopped: impact.stopped.word(),
        selector: impact.selected.word(),
        model: impact.selected.model,
        run: impact.selected.run,
        training_examples,
        head: impact.head,
        text,
    }
}

/// Returns an example for each pointer, in the form of Tidepool's control server.
fn examples(query: &str, impact: &Impact) -> Vec<Value> {
    let example = |one: &Pointer| {
        let confidence = match one.evidence {
            Evidence::Proved => 5,
            Evidence::Verified => 4,
            Evidence::Possible => 2,
        };
        // The uses of the same definition. hob does not rate the complexity.
        let breadth = impact.pointers.iter().filter(|other| other.from == one.from).count();
        json!({
            "query": {"query": query, "tags": []},
            "node": {
                "location": one.position.location(), "hover": one.hover, "codeSnippet": one.text,
                "depth": one.distance, "breadth": breadth,
            },
            "rubric": {
                "relevance": one.relevance, "risk": one.risk, "complexity": 3, "confidence": confidence, "tags": one.tags,
            },
        })
    };
    impact.pointers.iter().map(example).collect()
}

fn summary(impact: &Impact) -> String {
    let names: Vec<&str> = impact.entries.iter().map(|one| one.label.as_str()).collect();
    let breaks = impact.pointers.iter().filter(|one| one.risk == 5);
    let count = |evidence| breaks.clone().filter(|one| one.evidence == evidence).count();
    let evidence = match impact.proved_by {
        Some(compiler) => format!("{} proved by {compiler}", count(Evidence::Proved)),
        None => format!("{} verified", count(Evidence::Verified)),
    };
    let more = if impact.left > 0 { format!(", {} more not visited", impact.left) } else { String::new() };
    // A new variant concerns only types that have variants.
    let others = impact.entries.iter().filter(|one| impact.change == Change::AddVariant && !one.has_variants());
    let others: Vec<String> =
        others.map(|one| format!("; {} {} has no variants", one.kind.word(), one.label)).collect();
    format!(
        "{} of {}: {} of {} uses break ({evidence}){more}{}",
        impact.change.word(),
        names.join(", "),
        breaks.count(),
        impact.pointers.len(),
        others.concat(),
    )
}

/// Formats a pointer: `5 src/main.rs:9 match in side: …  [Exhaustive] verified`, and its action.
fn lines(one: &Pointer) -> Vec<String> {
    let tags: Vec<String> = one.tags.iter().map(|tag| format!("{tag:?}")).collect();
    let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(" ")) };
    let doubt = match one.evidence {
        Evidence::Proved => ", proved",
        Evidence::Verified => "",
        Evidence::Possible => ", by syntax only",
    };
    let first = format!("risk {} {} {}{tags} ({}{doubt})", one.risk, one.position.location(), one.what, one.why);
    let action = one.action.map(|action| format!("  → {action}: {}", one.text));
    [Some(first), action].into_iter().flatten().collect()
}

fn test_view(root: &Path, test: &ReachingTest) -> TestView {
    TestView {
        name: test.name.clone(),
        location: format!("{}:{}", test.file, test.line),
        distance: test.distance,
        command: test_command::command(root, &test.file, test.language, test.symbol.as_ref()),
    }
}
