//! The impact of a change: the uses of the changed definitions, rated by the rubric, and the tests that reach them.
//!
//! [`search`] finds the uses, [`pointer`] describes them, and [`entries`] resolves the definitions that change.

mod entries;
mod pointer;
mod search;

use std::collections::BTreeMap;
use std::time::Instant;

use code::facts::{MentionLine, Symbol};
use code::tools::Questions;
use code::{Class, Kind, Language};
use mcp::tool::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use self::pointer::{Evidence, Pointer};
use self::search::{Search, SearchResult};
use crate::lookups::{Head, Lookups, Names, Unresolved, proof_time};
use crate::position::Position;
use crate::prove::{Compiling, Order, Proof};
use crate::query;
use crate::rubric::Change;
use crate::select::{Choice, DecisionReport, RATE_EDGE};
use crate::sources::{Sources, caller};
use crate::test_command;
use crate::walk::{Stopped, Walk};

/// What breaks if a definition changes: each use with its risk and evidence, the tests that reach it with the command that runs them, and texts that mention it beyond the code. A risk of 5 is an error of the compiler; `verified` means that a language server resolved the use.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
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
pub(crate) enum Depth {
    Low,
    #[default]
    Medium,
    High,
}

impl Depth {
    fn nodes(self) -> usize {
        match self {
            Depth::Low => 10,
            Depth::Medium => 30,
            Depth::High => 100,
        }
    }

    /// Returns how to see the uses beyond this limit.
    fn advice(self) -> &'static str {
        match self {
            Depth::Low | Depth::Medium => "raise `depth`",
            Depth::High => "ask about one folder with `path`",
        }
    }
}

/// The impact.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Impact {
    pub head: Head,
    pub summary: String,
    pub change: &'static str,
    /// The definitions that change.
    pub entries: Vec<ChangedDefinition>,
    /// By risk, the highest first.
    pub pointers: Vec<Pointer>,
    /// Tests that reach the change, the changed and the nearest ones first.
    pub tests: Vec<ReachingTest>,
    /// Mentions that no language server follows: comments, texts, configuration, other languages.
    pub beyond: Vec<Mention>,
    pub unresolved: Vec<Unresolved>,
    pub nodes_visited: usize,
    pub stopped: Stopped,
    #[serde(flatten)]
    pub selected: DecisionReport,
    /// The ratings of all pointers, if they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_examples: Option<Vec<Value>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ChangedDefinition {
    pub name: String,
    pub kind: &'static str,
    pub location: String,
}

/// A test that reaches the change.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ReachingTest {
    pub name: String,
    pub location: String,
    /// How many definitions are between the test and the change.
    pub distance: usize,
    pub command: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Mention {
    pub location: String,
    pub text: String,
}

/// The steps from the change after which the walk follows no more uses.
const MAX_DEPTH: usize = 5;
/// The maximum numbers of tests and of mentions.
const MOST_TESTS: usize = 100;
const MOST_BEYOND: usize = 50;

/// Walks from the changed definitions and returns the impact. `has_examples` adds training examples to a walk that is not
/// recorded.
pub(crate) async fn impact(
    sources: &Sources,
    cx: &Context,
    request: Request,
    has_examples: bool,
) -> Result<Impact, ToolError> {
    let questions = &*sources.questions()?;
    let changed = entries::diff(sources, cx, &request).await?;
    let by = (request.selector, request.record);
    let selector = sources.selector(cx, RATE_EDGE, by, request.depth.nodes()).await?;
    let mut lookups = Lookups::new(cx, request.wait_ms);
    if let Some(path) = &request.path {
        questions.check_path(cx, path).await?;
    }
    let (mut entries, unresolved) = entries::resolve(questions, cx, &request, changed.as_ref(), &mut lookups).await?;
    let change = request.change.or_else(|| query::change(&request.query)).unwrap_or_else(|| query::usual(&entries[0]));
    // `data Shape = Shape Int` declares a type and its constructor in one line.
    if change == Change::AddVariant && changed.is_none() && entries.iter().any(Symbol::has_variants) {
        entries.retain(|one| one.kind != Kind::Constructor);
    }
    // A changed test is run, but its own uses are not concerned.
    let (changed_tests, entries): (Vec<Symbol>, Vec<Symbol>) =
        entries.into_iter().partition(|one| changed.is_some() && one.is_test);
    let by_place = entries.iter().map(|entry| (Position::of_symbol(entry), entry.clone()));
    let found = SearchResult { entries: by_place.collect(), ..SearchResult::default() };
    let mut search = Search { questions, cx, request: &request, change, lookups, selector, found };
    let budget = request.depth.nodes().saturating_add(entries.len());
    let mut walk = Walk::new(entries.iter().map(Position::of_symbol), budget, MAX_DEPTH);
    while let Some(of) = walk.next_node() {
        let edges = search.neighbours(&walk, &of).await?;
        walk.add(&of, edges);
    }
    let stopped = walk.stopped;
    let Search { mut lookups, selector, found, .. } = search;
    lookups.doubt_if_late(stopped);
    let left = walk.left().count();
    if stopped == Stopped::Budget && left > 0 {
        let advice = request.depth.advice();
        lookups.doubt(format!("{left} more uses were found and not visited; {advice}"));
    }
    let mut beyond = found.mentions;
    for entry in &entries {
        match lookups.limit(questions.mentions(cx, &entry.name, entry.language, MOST_BEYOND)).await {
            Some(found) => beyond.extend(found?),
            None => lookups.doubt("texts beyond the code were not searched in time"),
        }
    }
    // A tour repeats the code.
    beyond.retain(|mention| !mention.file.ends_with(".tour"));
    let mut pointers = Vec::new();
    let mut tests = Tests::new();
    for (number, place) in walk.visited.iter().chain(walk.left()).enumerate() {
        let Some(reached) = found.reached.get(place) else { continue };
        // An entry has depth 0, so its direct uses have depth 1.
        let distance = walk.depth(place).saturating_sub(1);
        if number < walk.visited.len() {
            pointers.push(Pointer::new(change, reached, distance, &entries));
        }
        let site = &reached.site;
        if site.in_test && site.class != Class::Import {
            let function = site.within.as_ref().filter(|one| one.is_test);
            let (name, line) = function.map_or((&site.file, site.line), |test| (&test.label, test.line));
            let test =
                tests.entry((site.file.clone(), name.clone())).or_insert(((distance, true), line, site.language));
            test.0.0 = test.0.0.min(distance);
        }
    }
    tests.extend(changed_tests.into_iter().map(|one| ((one.file, one.label), ((0, false), one.line, one.language))));
    let mut proved_by = None;
    if let Some(compiling) = sources.compiling.as_ref().filter(|_| request.prove) {
        match prove(questions, compiling, cx, &entries, change, request.wait_ms).await {
            Ok(proof) => {
                lookups.prove(&proof);
                proved_by = Some(proof.compiler);
                pointer::add_proof(&mut pointers, proof, &entries[0], &caller(cx)?.worktree);
            }
            Err(problem) => lookups.doubt(format!("not proven: {problem}")),
        }
    }
    pointers.sort_by(|a, b| {
        let order = (b.risk, b.relevance, a.evidence, &a.position);
        order.cmp(&(a.risk, a.relevance, b.evidence, &b.position))
    });
    let selected = selector.finish().await?;
    let mut more = if left > 0 { format!(", {left} more not visited") } else { String::new() };
    let is_script = |one: &Symbol| matches!(one.language, Language::TypeScript | Language::Tsx);
    let has_variants = change == Change::AddVariant && found.without_variants.is_empty();
    if has_variants && proved_by.is_none() && entries.iter().any(is_script) {
        more.push_str("; only `prove` finds types that do not accept the new value");
    }
    let changed_definition = |one: &Symbol| ChangedDefinition {
        name: one.label.clone(),
        kind: one.kind.word(),
        location: Position::of_symbol(one).location(),
    };
    let mention = |one: MentionLine| Mention { location: format!("{}:{}", one.file, one.line), text: one.text };
    Ok(Impact {
        summary: summary(change, &entries, &pointers, proved_by, request.path.as_deref())
            + &more
            + &found.without_variants,
        change: change.word(),
        entries: entries.iter().map(changed_definition).collect(),
        training_examples: (has_examples || selected.run.is_some()).then(|| examples(&request.query, &pointers)),
        nodes_visited: pointers.len(),
        pointers,
        tests: with_commands(cx, tests).await?,
        beyond: beyond.into_iter().take(MOST_BEYOND).map(mention).collect(),
        unresolved,
        stopped,
        selected,
        head: lookups.into_head(),
    })
}

/// Tests by file and name (the file's name for code that a runner cannot run by its name), with distance, whether the diff leaves the test as it
/// was, line and language.
type Tests = BTreeMap<(String, String), ((usize, bool), usize, Language)>;

/// Returns the tests with the commands that run them, the changed and the nearest ones first.
async fn with_commands(cx: &Context, tests: Tests) -> Result<Vec<ReachingTest>, ToolError> {
    let root = caller(cx)?.worktree.to_path_buf();
    let all = move || {
        let with_command = |((file, name), ((distance, _), line, language)): ((String, String), _)| {
            let command = test_command::command(&root, &file, language, Some(&*name).filter(|name| *name != file));
            ReachingTest { location: format!("{file}:{line}"), name, distance, command }
        };
        let mut tests: Vec<_> = tests.into_iter().collect();
        tests.sort_by_key(|(_, (rank, ..))| *rank);
        tests.truncate(MOST_TESTS);
        tests.into_iter().map(with_command).collect()
    };
    tokio::task::spawn_blocking(all).await.map_err(ToolError::internal)
}

/// Compiles the change.
async fn prove(
    questions: &Questions,
    compiling: &Compiling,
    cx: &Context,
    entries: &[Symbol],
    change: Change,
    wait_ms: Option<u64>,
) -> Result<Proof, String> {
    let [entry] = entries else {
        return Err("a proof needs exactly one definition; name it as `file:line:column`".to_owned());
    };
    let caller = caller(cx).map_err(|error| error.to_string())?;
    let until = Instant::now() + proof_time(cx, wait_ms);
    let root = caller.worktree.canonicalize().map_err(|error| error.to_string())?;
    compiling.prove(&Order { questions, cx, root: &root, env: &caller.env, until }, entry, change).await
}

/// Returns an example for each pointer, in the form of Tidepool's control server.
fn examples(query: &str, pointers: &[Pointer]) -> Vec<Value> {
    let example = |one: &Pointer| {
        let confidence = match one.evidence {
            Evidence::Proved => 5,
            Evidence::Verified => 4,
            Evidence::Possible => 2,
        };
        // The uses of the same definition. hob does not rate the complexity.
        let breadth = pointers.iter().filter(|other| other.from == one.from).count();
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
    pointers.iter().map(example).collect()
}

fn summary(
    change: Change,
    entries: &[Symbol],
    pointers: &[Pointer],
    proved_by: Option<&'static str>,
    path: Option<&str>,
) -> String {
    if entries.is_empty() {
        return "only tests changed".to_owned();
    }
    let names: Vec<&str> = entries.iter().map(|one| one.label.as_str()).collect();
    let asked = format!("{} of {}", change.word(), names.join(", "));
    // A proof has the errors of the whole project.
    let path = path.filter(|_| proved_by.is_none());
    let place = path.map(|path| format!(" in {}", project::visible(path))).unwrap_or_default();
    if pointers.is_empty() {
        return format!("{asked}: no uses{place}");
    }
    let breaks = pointers.iter().filter(|one| one.risk == 5);
    let count = |evidence| breaks.clone().filter(|one| one.evidence == evidence).count();
    let evidence = match (breaks.clone().count(), count(Evidence::Verified), proved_by) {
        (0, _, None) => String::new(),
        (_, _, Some(compiler)) => format!(" ({} proved by {compiler})", count(Evidence::Proved)),
        (_, 0, None) => " (by syntax only)".to_owned(),
        (_, verified, None) => format!(" ({verified} verified)"),
    };
    format!("{asked}: {} of {} uses{place} break{evidence}", breaks.count(), pointers.len())
}
