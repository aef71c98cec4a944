//! The reading list: the definitions to read for a topic, from its seeds along types and calls.

use std::collections::BTreeMap;

use code::facts::{Certainty, Need, Symbol};
use code::tools::Questions;
use mcp::tool::{Context, ToolError};

use crate::lookups::{Head, Lookups, Unresolved};
use crate::position::Position;
use crate::walk::{Action, Edge, Event, Stopped, Walk};

/// Which names of a definition the walk follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Follow {
    pub types: bool,
    pub calls: bool,
}

/// A request for a reading list.
#[derive(Debug)]
pub(crate) struct Request {
    pub topic: String,
    pub seeds: Vec<String>,
    pub budget: usize,
    pub max_depth: usize,
    pub follow: Follow,
    pub path: Option<String>,
    pub wait_ms: Option<u64>,
}

/// A definition of the list.
#[derive(Debug)]
pub(crate) struct Unit {
    pub symbol: Symbol,
    pub depth: usize,
    pub why: String,
}

/// A reading list.
#[derive(Debug)]
pub(crate) struct ReadingList {
    /// Sorted by depth and place.
    pub units: Vec<Unit>,
    /// The indices of the units, each one after the units that it needs.
    pub order: Vec<usize>,
    pub external: Vec<String>,
    pub unresolved: Vec<Unresolved>,
    /// The best definitions that the budget left out.
    pub next: Vec<Symbol>,
    pub stopped: Stopped,
    pub head: Head,
}

/// The scores of names: a type in a signature or a type's declaration, a called function, a type in a body.
const SIGNATURE: i32 = 8;
const CALL: i32 = 5;
const BODY: i32 = 4;
/// The additional scores of a verified name, and of one that has a word of the topic.
const VERIFIED: i32 = 1;
const ON_TOPIC: i32 = 3;
/// The maximum number of definitions and names that a list adds to its units.
const MOST_NEXT: usize = 10;
const MOST_EXTERNAL: usize = 50;

/// Walks from the seeds and returns the list.
pub(crate) async fn reading_list(
    questions: &Questions,
    cx: &Context,
    request: &Request,
) -> Result<ReadingList, ToolError> {
    let mut lookups = Lookups::new(cx, request.wait_ms);
    if let Some(path) = &request.path {
        questions.check_path(cx, path).await?;
    }
    let (seeds, unresolved) = lookups.resolve(questions, cx, &request.seeds, request.path.as_deref()).await?;
    if seeds.is_empty() {
        let problems: Vec<&str> = unresolved.iter().map(|one| one.problem.as_str()).collect();
        return Err(ToolError::user(format!("no seed is defined here: {}", problems.join("; "))));
    }
    let topic: Vec<String> = split_words(&request.topic).collect();
    let mut known: BTreeMap<Position, (Symbol, String)> = BTreeMap::new();
    let entries: Vec<Position> = seeds.iter().map(Position::of_symbol).collect();
    known.extend(seeds.into_iter().map(|seed| (Position::of_symbol(&seed), (seed, "a seed".to_owned()))));
    let mut external: Vec<String> = Vec::new();
    let mut walk = Walk::new(request.budget, request.max_depth);
    let mut event = Event::Begin(entries);
    let stopped = loop {
        let (node, expand) = match walk.apply(event) {
            Action::End(stopped) => break stopped,
            Action::Visit { node, expand } => (node, expand),
        };
        let mut edges = Vec::new();
        if expand && let Some((symbol, _)) = known.get(&node).cloned() {
            if lookups.is_late() {
                event = Event::Late;
                continue;
            }
            match lookups.limit(questions.needs(cx, &symbol, lookups.wait_ms())).await {
                Some(Ok(found)) => {
                    lookups.add(found.basis);
                    external.extend(found.external);
                    for need in found.needs {
                        let is_followed = if need.is_type { request.follow.types } else { request.follow.calls };
                        let to = Position::of_symbol(&need.symbol);
                        if !is_followed || to == node {
                            continue;
                        }
                        let score = score(&symbol, &need, &topic);
                        let why = reason(&symbol, &need);
                        known.entry(to.clone()).or_insert((need.symbol, why));
                        edges.push(Edge { to, score });
                    }
                }
                Some(Err(ToolError::User { message, .. })) => lookups.doubt(format!("{}: {message}", symbol.label)),
                Some(Err(error)) => return Err(error),
                None => {
                    event = Event::Late;
                    continue;
                }
            }
        }
        event = Event::Neighbours { of: node, edges };
    };
    if stopped == Stopped::Time {
        lookups.doubt("the time was over; raise `wait_ms`");
    }
    external.sort();
    external.dedup();
    external.truncate(MOST_EXTERNAL);
    let next = walk.left().take(MOST_NEXT).filter_map(|place| known.get(place)).map(|(symbol, _)| symbol.clone());
    let next = next.collect();
    let mut places: Vec<(usize, &Position)> = walk.visited().iter().map(|place| (walk.depth(place), place)).collect();
    places.sort();
    let order = walk.dependencies_first();
    let order = order.iter().filter_map(|place| places.iter().position(|(_, one)| *one == place)).collect();
    let unit = |(depth, place): &(usize, &Position)| {
        let (symbol, why) = known.get(place)?;
        Some(Unit { symbol: symbol.clone(), depth: *depth, why: why.clone() })
    };
    let units = places.iter().filter_map(unit).collect();
    Ok(ReadingList { units, order, external, unresolved, next, stopped, head: lookups.into_head() })
}

fn score(from: &Symbol, need: &Need, topic: &[String]) -> i32 {
    let base = if !need.is_type {
        CALL
    } else if from.kind.is_type() || is_in_signature(from, need) {
        SIGNATURE
    } else {
        BODY
    };
    let verified = if need.certainty == Certainty::Verified { VERIFIED } else { 0 };
    let name: Vec<String> = split_words(&need.symbol.label).collect();
    let on_topic = if name.iter().any(|word| topic.contains(word)) { ON_TOPIC } else { 0 };
    base + verified + on_topic
}

fn is_in_signature(from: &Symbol, need: &Need) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    from.signature.split(|c| !is_of_name(c)).any(|word| word == need.symbol.name)
}

fn reason(from: &Symbol, need: &Need) -> String {
    let what = if !need.is_type {
        "called by"
    } else if from.kind.is_type() {
        "a type in"
    } else if is_in_signature(from, need) {
        "in the signature of"
    } else {
        "a type in the body of"
    };
    let doubt = if need.certainty == Certainty::Verified { "" } else { ", by syntax only" };
    format!("{what} {} ({}:{}{doubt})", from.label, from.file, need.line)
}

/// Returns the words of a text in lower case; `ShapeKind` and `shape_kind` are two words.
fn split_words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            split.push(' ');
        }
        split.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    // Shorter words are rarely specific.
    let words: Vec<String> = split.split(' ').filter(|word| word.len() > 2).map(str::to_lowercase).collect();
    words.into_iter()
}
