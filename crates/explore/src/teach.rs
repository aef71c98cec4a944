//! The reading list: the definitions to read for a topic, from its seeds along types and calls.

use std::collections::BTreeMap;

use code::facts::{Certainty, KnownDefinitions, Need, Symbol};
use code::tools::Questions;
use mcp::tool::{Context, ToolError};

use crate::lookups::{Head, Lookups, Unresolved};
use crate::position::Position;
use crate::select::decision::{Candidate, Decision, Relation, Selection};
use crate::select::{DecisionReport, Selector};
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
    pub selected: DecisionReport,
    pub head: Head,
}

/// The maximum number of definitions and names that a list adds to its units.
const MOST_NEXT: usize = 10;
const MOST_EXTERNAL: usize = 50;
/// The maximum number of candidates of a decision, the best by the rules. The others keep their scores.
const MOST_CANDIDATES: usize = 40;

/// Walks from the seeds and returns the list.
pub(crate) async fn reading_list(
    questions: &Questions,
    cx: &Context,
    request: &Request,
    mut selector: Selector,
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
    let mut known: BTreeMap<Position, (Symbol, String)> = BTreeMap::new();
    let entries: Vec<Position> = seeds.iter().map(Position::of_symbol).collect();
    known.extend(seeds.into_iter().map(|seed| (Position::of_symbol(&seed), (seed, "a seed".to_owned()))));
    let known_names = KnownDefinitions::default();
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
            match lookups.limit(questions.needs(cx, &symbol, &known_names, lookups.wait_ms())).await {
                Some(Ok(found)) => {
                    lookups.add(found.basis);
                    external.extend(found.external);
                    let is_followed =
                        |need: &Need| if need.is_type { request.follow.types } else { request.follow.calls };
                    let to = |need: &Need| Position::of_symbol(&need.symbol);
                    let needs: Vec<Need> =
                        found.needs.into_iter().filter(|need| is_followed(need) && to(need) != node).collect();
                    let selection = selection(&request.topic, &symbol, walk.depth(&node), &needs);
                    let scores = decide(&mut selector, selection, &lookups).await;
                    for (need, score) in needs.into_iter().zip(scores) {
                        edges.push(Edge { to: to(&need), score });
                        let why = reason(&symbol, &need);
                        known.entry(to(&need)).or_insert((need.symbol, why));
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
        lookups.doubt("the time limit was reached; raise `wait_ms`");
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
    let selected = selector.finish().await?;
    Ok(ReadingList { units, order, external, unresolved, next, stopped, selected, head: lookups.into_head() })
}

/// Returns the score of each candidate; `None` for those that a model dropped.
async fn decide(selector: &mut Selector, selection: Selection, lookups: &Lookups) -> Vec<Option<i32>> {
    let mut scores = selection.scores(None);
    if selector.room() == 0 || scores.is_empty() {
        return scores;
    }
    let best: Vec<String> =
        selection.ranked().into_iter().take(MOST_CANDIDATES).map(|(one, _)| one.name.clone()).collect();
    let is_asked = |one: &Candidate| best.contains(&one.name);
    let mut asked = selection.clone();
    asked.candidates.retain(is_asked);
    let verdicts = selector.decide(vec![Decision::SelectSymbols(asked.clone())], || lookups.left()).await;
    let places: Vec<usize> = (0..scores.len()).filter(|at| is_asked(&selection.candidates[*at])).collect();
    for (place, score) in places.into_iter().zip(asked.scores(verdicts[0].as_ref())) {
        scores[place] = score;
    }
    scores
}

/// Returns the facts for the decision about a definition's neighbours.
fn selection(topic: &str, from: &Symbol, depth: usize, needs: &[Need]) -> Selection {
    let location = |symbol: &Symbol| format!("{}:{}", symbol.file, symbol.line);
    let candidate = |need: &Need| {
        let symbol = &need.symbol;
        let is_unique = needs.iter().filter(|other| other.symbol.label == symbol.label).count() == 1;
        let place = format!("{}:{}:{}", symbol.file, symbol.line, symbol.column);
        Candidate {
            name: if is_unique { symbol.label.clone() } else { format!("{} ({place})", symbol.label) },
            location: location(symbol),
            kind: symbol.kind.word().to_owned(),
            signature: symbol.signature.clone(),
            relation: relation(from, need),
            verified: need.certainty == Certainty::Verified,
        }
    };
    Selection {
        topic: topic.to_owned(),
        symbol: from.label.clone(),
        location: location(from),
        signature: from.signature.clone(),
        doc: from.doc.clone(),
        depth,
        candidates: needs.iter().map(candidate).collect(),
    }
}

fn relation(from: &Symbol, need: &Need) -> Relation {
    if !need.is_type {
        Relation::Call
    } else if from.kind.is_type() {
        Relation::Field
    } else if is_in_signature(from, need) {
        Relation::Signature
    } else {
        Relation::Body
    }
}

fn is_in_signature(from: &Symbol, need: &Need) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    from.signature.split(|c| !is_of_name(c)).any(|word| word == need.symbol.name)
}

fn reason(from: &Symbol, need: &Need) -> String {
    let what = match relation(from, need) {
        Relation::Call => "called by",
        Relation::Field => "a type in",
        Relation::Signature => "in the signature of",
        Relation::Body => "a type in the body of",
    };
    let doubt = if need.certainty == Certainty::Verified { "" } else { ", by syntax only" };
    format!("{what} {} ({}:{}{doubt})", from.label, from.file, need.line)
}
