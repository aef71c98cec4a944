//! The impact of a change: the uses of the changed definitions, rated by the rubric, and the tests that reach them.

mod pointer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use code::facts::{Certainty, MatchEffect, MatchFacts, MentionLine, Symbol, UseFacts, UseSite};
use code::tools::Questions;
use code::{Class, Language};
use mcp::tool::{Context, ToolError};
use project::Caller;

pub(crate) use self::pointer::{Evidence, Pointer};
use self::pointer::{kind_of_match, kind_of_use};
use crate::lookups::{Head, Lookups, Unresolved, proof_time};
use crate::position::Position;
use crate::prove::{Compiling, Order, Proof};
use crate::query;
use crate::rubric::{Change, UseKind, rate};
use crate::select::decision::{Decision, EdgeFacts, Verdict};
use crate::select::{DecisionReport, Selector};
use crate::walk::{Action, Edge, Event, Stopped, Walk};

/// Lines of a file: the path relative to the root, the first and the last line.
pub type LineRange = (PathBuf, usize, usize);

/// A request for the impact of a change.
#[derive(Debug)]
pub(crate) struct Request {
    pub query: String,
    /// Empty if the query names them.
    pub symbols: Vec<String>,
    /// The changed lines of a diff, whose definitions are the entry points instead.
    pub changed: Option<Vec<LineRange>>,
    /// `None` if the query or the kind of the definition decides.
    pub change: Option<Change>,
    /// The maximum number of visited uses.
    pub nodes: usize,
    pub path: Option<String>,
    /// True to prove the uses that break by compiling the change.
    pub prove: bool,
    pub wait_ms: Option<u64>,
}

/// A test that reaches the change.
#[derive(Debug)]
pub(crate) struct ReachingTest {
    pub name: String,
    pub file: String,
    pub line: usize,
    pub language: Language,
    /// The test function, if any.
    pub symbol: Option<Symbol>,
    /// How many definitions are between the test and the change.
    pub distance: usize,
}

impl ReachingTest {
    fn new(site: &UseSite, symbol: Option<Symbol>, distance: usize) -> ReachingTest {
        let place = ReachingTest {
            name: site.file.clone(),
            file: site.file.clone(),
            line: site.line,
            language: site.language,
            symbol: None,
            distance,
        };
        match symbol {
            Some(symbol) => {
                ReachingTest { name: symbol.label.clone(), line: symbol.line, symbol: Some(symbol), ..place }
            }
            None => place,
        }
    }

    /// Creates the test for a changed definition.
    fn changed(symbol: Symbol) -> ReachingTest {
        let (name, file, language) = (symbol.label.clone(), symbol.file.clone(), symbol.language);
        ReachingTest { name, file, line: symbol.line, language, symbol: Some(symbol), distance: 0 }
    }
}

/// The impact of a change.
#[derive(Debug)]
pub(crate) struct Impact {
    pub change: Change,
    pub entries: Vec<Symbol>,
    /// Sorted by risk, relevance and place.
    pub pointers: Vec<Pointer>,
    /// Sorted by distance and place.
    pub tests: Vec<ReachingTest>,
    pub beyond: Vec<MentionLine>,
    pub unresolved: Vec<Unresolved>,
    pub nodes_visited: usize,
    /// The number of known uses that were not visited.
    pub left: usize,
    pub stopped: Stopped,
    /// The command that proved pointers.
    pub proved_by: Option<&'static str>,
    pub selected: DecisionReport,
    pub head: Head,
}

/// The steps from the change after which the walk follows no more uses.
const MAX_DEPTH: usize = 5;
/// The maximum number of mentions.
const MOST_BEYOND: usize = 50;

/// A node of the walk: a definition that changes, or a use.
enum Node {
    Entry(Symbol),
    Use(Box<Reached>),
}

/// A use, and the way to it.
#[derive(Clone)]
struct Reached {
    site: UseSite,
    kind: UseKind,
    /// The reason of a match's effect.
    how: Option<String>,
    /// The definition whose use this is.
    from: Symbol,
    /// The relevance by a model, otherwise the rubric's.
    relevance: Option<u8>,
}

/// Walks from the changed definitions and returns the impact.
pub(crate) async fn impact(
    questions: &Questions,
    compiling: Option<&Compiling>,
    cx: &Context,
    request: &Request,
    selector: Selector,
) -> Result<Impact, ToolError> {
    let mut lookups = Lookups::new(cx, request.wait_ms);
    if let Some(path) = &request.path {
        questions.check_path(cx, path).await?;
    }
    let (entries, unresolved) = entries(questions, cx, request, &mut lookups).await?;
    let change = request.change.or_else(|| query::change(&request.query)).unwrap_or_else(|| query::usual(&entries[0]));
    let mut search = Search {
        questions,
        cx,
        change,
        query: &request.query,
        path: request.path.as_deref(),
        selector,
        nodes: BTreeMap::new(),
        followed: BTreeMap::new(),
        mentions: BTreeSet::new(),
    };
    // A changed test is run, but its own uses are not concerned.
    let (changed_tests, entries): (Vec<Symbol>, Vec<Symbol>) = match request.changed {
        Some(_) => entries.into_iter().partition(|one| one.in_test),
        None => (Vec::new(), entries),
    };
    let places: Vec<Position> = entries.iter().map(Position::of_symbol).collect();
    for entry in &entries {
        search.nodes.insert(Position::of_symbol(entry), Node::Entry(entry.clone()));
    }
    let mut walk = Walk::new(request.nodes.saturating_add(places.len()), MAX_DEPTH);
    let mut event = Event::Begin(places.clone());
    let stopped = loop {
        let (node, expand) = match walk.apply(event) {
            Action::End(stopped) => break stopped,
            Action::Visit { node, expand } => (node, expand),
        };
        if lookups.is_late() {
            event = Event::Late;
            continue;
        }
        let depth = walk.depth(&node);
        // The uses of a definition are not looked up if better ones fill the budget.
        let edges = if expand && (depth == 0 || walk.has_room(&node, search.best_score(depth))) {
            search.neighbours(&node, depth, &mut lookups).await?
        } else {
            Some(Vec::new())
        };
        event = match edges {
            Some(edges) => Event::Neighbours { of: node, edges },
            None => Event::Late,
        };
    };
    if stopped == Stopped::Time {
        lookups.doubt("the time limit was reached; raise `wait_ms`");
    }
    let left = walk.left().count();
    if left > 0 {
        lookups.doubt(format!("{left} more uses were found and not visited; raise `depth`"));
    }
    let mut beyond: Vec<MentionLine> = search.mentions.into_iter().collect();
    for entry in &entries {
        match lookups.limit(questions.mentions(cx, &entry.name, entry.language, MOST_BEYOND)).await {
            Some(found) => beyond.extend(found?),
            None => lookups.doubt("texts beyond the code were not searched in time"),
        }
    }
    // A tour repeats the code.
    beyond.retain(|mention| !mention.file.ends_with(".tour"));
    beyond.sort();
    beyond.dedup();
    beyond.truncate(MOST_BEYOND);
    let (mut pointers, mut tests): (Vec<Pointer>, BTreeMap<(String, String), ReachingTest>) = Default::default();
    for place in walk.visited() {
        let Some(Node::Use(reached)) = search.nodes.get(place) else { continue };
        // An entry has depth 0, so its direct uses have depth 1.
        let distance = walk.depth(place).saturating_sub(1);
        pointers.push(Pointer::new(change, reached.kind, reached, distance, &entries));
        if reached.site.in_test && reached.site.class != Class::Import {
            let symbol = reached.site.within.clone();
            let test = ReachingTest::new(&reached.site, symbol, distance);
            let known = tests.entry((test.file.clone(), test.name.clone())).or_insert(test);
            known.distance = known.distance.min(distance);
        }
    }
    for symbol in changed_tests {
        let test = ReachingTest::changed(symbol);
        tests.insert((test.file.clone(), test.name.clone()), test);
    }
    let mut proved_by = None;
    if let Some(compiling) = compiling.filter(|_| request.prove) {
        match prove(questions, compiling, cx, &entries, change, request.wait_ms).await {
            Ok(proof) => {
                lookups.prove(&proof);
                proved_by = Some(proof.compiler);
                pointer::add_proof(&mut pointers, proof, &entries[0]);
            }
            Err(problem) => lookups.doubt(format!("not proven: {problem}")),
        }
    }
    pointers.sort_by(|a, b| {
        let order = (b.risk, b.relevance, a.evidence, &a.position);
        order.cmp(&(a.risk, a.relevance, b.evidence, &b.position))
    });
    let mut tests: Vec<ReachingTest> = tests.into_values().collect();
    tests.sort_by_key(|test| test.distance);
    Ok(Impact {
        change,
        nodes_visited: pointers.len(),
        entries,
        pointers,
        tests,
        beyond,
        unresolved,
        left,
        stopped,
        proved_by,
        selected: search.selector.finish().await?,
        head: lookups.into_head(),
    })
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
        return Err("a proof needs exactly one definition; name it as `file:line`".to_owned());
    };
    let caller = cx.caller::<Caller>().ok_or("a call without a caller")?;
    let until = Instant::now() + proof_time(cx, wait_ms);
    let root = caller.worktree.canonicalize().map_err(|error| error.to_string())?;
    compiling.prove(&Order { questions, cx, root: &root, env: &caller.env, until }, entry, change).await
}

/// Resolves the named symbols, or the names in the query.
async fn entries(
    questions: &Questions,
    cx: &Context,
    request: &Request,
    lookups: &mut Lookups,
) -> Result<(Vec<Symbol>, Vec<Unresolved>), ToolError> {
    if let Some(changed) = &request.changed {
        return Ok((changed_definitions(questions, cx, changed, lookups).await?, Vec::new()));
    }
    if !request.symbols.is_empty() {
        let (found, unresolved) = lookups.resolve(questions, cx, &request.symbols, None).await?;
        if found.is_empty() {
            let problems: Vec<&str> = unresolved.iter().map(|one| without_outline(&one.problem)).collect();
            return Err(ToolError::user(format!("no symbol is defined here: {}", problems.join("; "))));
        }
        return Ok((found, unresolved));
    }
    let groups = query::names(&request.query);
    let mut problems = Vec::new();
    for names in groups {
        let (found, unresolved) = lookups.resolve(questions, cx, &names, None).await?;
        if !found.is_empty() {
            // The other words of the question were never names.
            return Ok((found, Vec::new()));
        }
        // A name with too many definitions is meant, so the other words are not names.
        let is_ambiguous = unresolved.iter().any(|one| one.problem.contains(code::AMBIGUOUS));
        problems.extend(unresolved.into_iter().map(|one| one.problem));
        if is_ambiguous {
            break;
        }
    }
    let hint = "Name the definitions in `symbols`, such as `Shape` or `src/geo.rs:12`.";
    let problem = match &problems[..] {
        [] => "the query names no definition".to_owned(),
        problems => {
            let problems: Vec<&str> = problems.iter().map(|problem| without_outline(problem)).collect();
            format!("the query names no definition: {}", problems.join("; "))
        }
    };
    Err(ToolError::user(problem).hint(hint))
}

/// Removes the advice to list a file: the words of a question are rarely names in one file.
fn without_outline(problem: &str) -> &str {
    problem.strip_suffix(code::OUTLINE_ADVICE).unwrap_or(problem)
}

/// The maximum numbers of changed lines and of changed definitions that are looked up.
const MOST_LINES: usize = 5000;
const MOST_ENTRIES: usize = 30;

/// Returns the definitions around changed lines.
async fn changed_definitions(
    questions: &Questions,
    cx: &Context,
    changed: &[LineRange],
    lookups: &mut Lookups,
) -> Result<Vec<Symbol>, ToolError> {
    let each = changed.iter().flat_map(|(path, first, last)| (*first..=*last).map(move |line| (path.clone(), line)));
    let lines: Vec<(PathBuf, usize)> = each.take(MOST_LINES).collect();
    if lines.len() == MOST_LINES {
        lookups.doubt(format!("only the first {MOST_LINES} changed lines were looked up"));
    }
    let late = || ToolError::user("the changed definitions were not found in time").hint("Raise `wait_ms`.");
    let mut found = lookups.limit(questions.enclosing_symbols(cx, lines)).await.ok_or_else(late)??;
    if found.is_empty() {
        return Err(ToolError::user("the diff changes no definition").hint("Name definitions in `symbols`."));
    }
    if found.len() > MOST_ENTRIES {
        lookups.doubt(format!("{} definitions changed; only the first {MOST_ENTRIES} were followed", found.len()));
        found.truncate(MOST_ENTRIES);
    }
    Ok(found)
}

/// The state of a search.
struct Search<'a> {
    questions: &'a Questions,
    cx: &'a Context,
    change: Change,
    query: &'a str,
    path: Option<&'a str>,
    selector: Selector,
    nodes: BTreeMap<Position, Node>,
    /// The definitions whose uses were searched, with the ways to them.
    followed: BTreeMap<Position, Vec<Edge<Position>>>,
    /// Comments and strings that mention a changed definition.
    mentions: BTreeSet<MentionLine>,
}

impl Search<'_> {
    /// Returns the uses behind a node; `None` if they were not found in time.
    async fn neighbours(
        &mut self,
        node: &Position,
        depth: usize,
        lookups: &mut Lookups,
    ) -> Result<Option<Vec<Edge<Position>>>, ToolError> {
        let (symbol, is_entry) = match &self.nodes[node] {
            Node::Entry(symbol) => (symbol.clone(), true),
            Node::Use(reached) => match followed(&reached.site) {
                Some(within) => (within.clone(), false),
                None => return Ok(Some(Vec::new())),
            },
        };
        let place = Position::of_symbol(&symbol);
        if let Some(edges) = self.followed.get(&place) {
            return Ok(Some(edges.clone()));
        }
        let mut found = Vec::new();
        let mut has_matches = false;
        if is_entry && self.change == Change::AddVariant && symbol.has_variants() {
            let Some(matches) = self.matches(&symbol, lookups).await? else { return Ok(None) };
            has_matches = !matches.sites.is_empty();
            lookups.add(matches.basis);
            found.extend(matches.sites.into_iter().filter(|one| one.effect != MatchEffect::Unaffected).map(|one| {
                let kind = kind_of_match(one.effect);
                Reached { site: one.site, kind, how: Some(one.how), from: symbol.clone(), relevance: None }
            }));
        }
        let Some(uses) = self.uses(&symbol, lookups).await? else { return Ok(None) };
        // A definition at a distance decides nothing about the completeness of the direct uses.
        if is_entry {
            lookups.add(uses.basis);
        }
        for site in uses.sites {
            if site.class == Class::Mention || site.certainty == Certainty::Mention {
                if is_entry {
                    self.mentions.insert(MentionLine { file: site.file, line: site.line, text: site.text });
                }
                continue;
            }
            // The patterns of a type are its matches.
            let is_matched = has_matches && site.class == Class::Pattern;
            let Some(kind) = kind_of_use(&site).filter(|_| !is_matched) else { continue };
            let kind = if is_entry { kind } else { UseKind::Indirect };
            found.push(Reached { site, kind, how: None, from: symbol.clone(), relevance: None });
        }
        self.rate(&mut found, depth, lookups).await;
        let mut edges = Vec::new();
        for reached in found {
            let to = Position::of_use(&reached.site);
            edges.push(Edge { to: to.clone(), score: Some(self.score(&reached, depth)) });
            self.nodes.entry(to).or_insert_with(|| Node::Use(Box::new(reached)));
        }
        self.followed.insert(place, edges.clone());
        Ok(Some(edges))
    }

    fn score(&self, reached: &Reached, depth: usize) -> i32 {
        let rating = rate(self.change, reached.kind, depth);
        let relevance = reached.relevance.unwrap_or(rating.relevance);
        let verified = i32::from(reached.site.certainty == Certainty::Verified);
        2 * i32::from(relevance) + 2 * i32::from(rating.risk) + verified
    }

    /// Returns the maximum score of a use through a definition at this depth.
    fn best_score(&self, depth: usize) -> i32 {
        let rating = rate(self.change, UseKind::Indirect, depth);
        let relevance = if self.selector.room() > 0 { 5 } else { rating.relevance };
        2 * i32::from(relevance) + 2 * i32::from(rating.risk) + 1
    }

    /// Sets the relevance of the best new uses by the model. It changes their order, and nothing that a compiler or a language
    /// server found.
    async fn rate(&mut self, found: &mut [Reached], depth: usize, lookups: &Lookups) {
        let room = self.selector.room();
        if room == 0 {
            return;
        }
        let is_new = |one: &Reached| !self.nodes.contains_key(&Position::of_use(&one.site));
        let mut best: Vec<usize> = (0..found.len()).filter(|at| is_new(&found[*at])).collect();
        best.sort_by_key(|at| std::cmp::Reverse(self.score(&found[*at], depth)));
        best.truncate(room);
        let decision = |at: &usize| {
            let Reached { site, kind, from, .. } = &found[*at];
            Decision::RateEdge(EdgeFacts {
                query: self.query.to_owned(),
                change: self.change,
                symbol: from.label.clone(),
                location: Position::of_use(site).location(),
                hover: from.signature.clone(),
                snippet: site.text.clone(),
                kind: kind.name().to_owned(),
                depth,
            })
        };
        let decisions = best.iter().map(decision).collect();
        let verdicts = self.selector.decide(decisions, || lookups.left()).await;
        for (at, verdict) in best.into_iter().zip(verdicts) {
            if let Some(Verdict::Rated { relevance, .. }) = verdict {
                found[at].relevance = Some(relevance);
            }
        }
    }

    async fn uses(&self, symbol: &Symbol, lookups: &mut Lookups) -> Result<Option<UseFacts>, ToolError> {
        let uses = lookups.limit(self.questions.uses(self.cx, symbol, self.path, lookups.wait_ms())).await;
        match uses {
            Some(Err(ToolError::User { message, .. })) => {
                lookups.doubt(format!("{}: {message}", symbol.label));
                Ok(Some(UseFacts::default()))
            }
            uses => uses.transpose(),
        }
    }

    async fn matches(&self, symbol: &Symbol, lookups: &mut Lookups) -> Result<Option<MatchFacts>, ToolError> {
        let matches = lookups.limit(self.questions.matches(self.cx, symbol, None, self.path, lookups.wait_ms())).await;
        match matches {
            Some(Err(ToolError::User { message, .. })) => {
                lookups.doubt(message);
                Ok(Some(MatchFacts::default()))
            }
            matches => matches.transpose(),
        }
    }
}

/// Returns the definition around a use whose own uses the walk follows next. A test has no further uses.
fn followed(site: &UseSite) -> Option<&Symbol> {
    site.within.as_ref().filter(|within| !site.in_test && !within.in_test)
}
