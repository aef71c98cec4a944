//! The reading list: the definitions to read for a topic, from its seeds along types and calls.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use code::facts::{Certainty, KnownDefinitions, Need, NeedKind, Symbol};
use code::tools::Questions;
use code::{Class, Kind, Language};
use mcp::tool::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lookups::{Head, Lookups, Unresolved, clean_names, none_defined};
use crate::position::Position;
use crate::select::decision::{Candidate, Decision, Relation, Selection, count_topic_words};
use crate::select::{Choice, DecisionReport, SELECT_SYMBOLS, Selector};
use crate::sources::Sources;
use crate::walk::{Edge, ReadingOrder, Stopped, Walk};

/// What to read to understand a topic: the seeds, then the types and functions that they need, each with its signature and documentation, in an order in which every definition follows those that it needs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// The topic. Definitions with its words in their names come first.
    pub topic: String,
    /// The definitions to start from: `Shape`, `Shape::area`, `src/geo.rs:41`. All definitions of a name count.
    pub seeds: Vec<String>,
    /// The maximum number of definitions, 1 to 200 (default 20).
    pub budget: Option<i64>,
    /// The names to follow (default both).
    #[serde(default)]
    pub follow: Vec<FollowedNames>,
    /// The maximum number of steps from a seed, 0 to 20 (default 5).
    pub max_depth: Option<i64>,
    /// Look for the seeds only in this file or folder.
    pub path: Option<String>,
    /// Who selects the definitions: auto (a model where the project has one, else rules; the default), rules or model. A model may order and drop definitions, never add one.
    #[serde(default)]
    pub selector: Choice,
    /// Record each selection for `hob explore export` (default false).
    #[serde(default)]
    pub record: bool,
    /// The time limit in ms, at most 50000 (default 10000).
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum FollowedNames {
    Types,
    Calls,
}

/// The reading list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadingList {
    pub head: Head,
    pub title: String,
    pub topic: String,
    /// The seeds.
    pub core: Vec<Unit>,
    /// One or two steps from a seed.
    pub prereqs: Vec<Unit>,
    /// Three or more steps from a seed.
    pub support: Vec<Unit>,
    /// The places of all units, each one after the units that it needs.
    pub order: Vec<String>,
    /// The indices of the units in this order.
    #[serde(skip)]
    pub reading_order: Vec<usize>,
    /// Names that the project does not define.
    pub external: Vec<String>,
    pub unresolved: Vec<Unresolved>,
    /// The best definitions that the budget left out.
    pub next: Vec<String>,
    /// The number of definitions that were found and left out.
    pub left_out: usize,
    pub stopped: Stopped,
    #[serde(flatten)]
    pub selected: DecisionReport,
}

/// A definition to read.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Unit {
    pub symbol: UnitSymbol,
    pub depth: usize,
    pub why: String,
    /// The names and lines of the parts after its beginning that matter: methods of a type, functions in a function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct UnitSymbol {
    pub name: String,
    pub kind: &'static str,
    pub location: DeclarationLines,
    pub signature: String,
    pub doc_comment: Option<String>,
    /// The line of the name.
    pub text: String,
}

/// A declaration in a file, with lines counted from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct DeclarationLines {
    pub file: String,
    /// The line of the name.
    pub line: usize,
    pub start_line: usize,
    pub end_line: usize,
    /// The last line of what a class begins with: its fields and its constructor. Otherwise the last line.
    pub beginning_end: usize,
}

const BUDGET: i64 = 20;
const BUDGETS: RangeInclusive<i64> = 1..=200;
const DEPTH: i64 = 5;
const DEPTHS: RangeInclusive<i64> = 0..=20;
/// The maximum number of callers of a seed that are listed, and of those that it may have: a function with more is read without
/// them.
const MOST_CALLERS: usize = 3;
const FEW_CALLERS: usize = 8;
/// The time limit for the callers of a seed, in milliseconds.
const CALLERS_WAIT: u64 = 3000;
/// The maximum number of methods of a class that are listed because of the topic.
const MOST_METHODS: usize = 3;
/// The maximum number of definitions and names that a list adds to its units.
const MOST_NEXT: usize = 10;
const MOST_EXTERNAL: usize = 50;

/// Walks from the seeds and returns the list.
pub(crate) async fn reading_list(sources: &Sources, cx: &Context, request: Request) -> Result<ReadingList, ToolError> {
    let seeds = clean_names(&request.seeds, "seeds")?;
    if seeds.is_empty() {
        return Err(ToolError::user("`seeds` is empty").hint("Name a definition to start from, such as `Shape`."));
    }
    let budget = within(request.budget.unwrap_or(BUDGET), BUDGETS, "budget")?;
    let max_depth = within(request.max_depth.unwrap_or(DEPTH), DEPTHS, "max_depth")?;
    let questions = &*sources.questions()?;
    let by = (request.selector, request.record);
    let selector = sources.selector(cx, SELECT_SYMBOLS, by, budget).await?;
    let mut lookups = Lookups::new(cx, request.wait_ms);
    let path = request.path.as_deref();
    if let Some(path) = path {
        questions.check_path(cx, path).await?;
    }
    let (seeds, unresolved) = lookups.resolve(questions, cx, &seeds, path).await?;
    if seeds.is_empty() {
        return Err(none_defined("seed", &unresolved));
    }
    let known = worth_reading(seeds)
        .into_iter()
        .map(|seed| (Position::of_symbol(&seed), (seed, "a seed".to_owned())))
        .collect();
    let (names, external) = (questions.known_definitions(cx).await?, BTreeSet::new());
    let mut search = Search {
        questions,
        cx,
        request: &request,
        lookups,
        selector,
        known,
        names,
        external,
        only_callers: BTreeSet::new(),
    };
    let mut walk = Walk::new(search.known.keys().cloned(), budget, max_depth);
    while let Some(of) = walk.next_node() {
        let edges = search.neighbours(&of, walk.depth(&of)).await?;
        walk.add(&of, edges);
        // The parts of a unit cost nothing.
        walk.budget = budget + walk.visited.iter().filter(|place| search.is_part(place, &walk)).count();
    }
    let stopped = walk.stopped;
    search.lookups.doubt_if_late(stopped);
    let (mut parts, units): (Vec<&Position>, Vec<&Position>) =
        walk.visited.iter().partition(|place| search.is_part(place, &walk));
    parts.sort();
    let mut places: Vec<(usize, &Position)> = units.iter().map(|place| (walk.depth(place), *place)).collect();
    places.sort();
    let mut order = walk.dependencies_first();
    order.retain(|place| units.contains(&place));
    let left: Vec<&Position> = walk.left().filter(|place| !search.is_part(place, &walk)).collect();
    let Search { known, lookups, external, selector, .. } = search;
    let next = |(symbol, _): &(Symbol, String)| format!("{} {}:{}", symbol.label, symbol.file, symbol.line);
    let unit = |(depth, place): &(usize, &Position)| {
        let (symbol, why) = known.get(place)?.clone();
        let inner = parts.iter().filter_map(|part| known.get(part)).map(|(part, _)| part);
        let inner: Vec<&Symbol> = inner.filter(|part| contains(&symbol, part)).collect();
        let is_within = |part: &Symbol| inner.iter().any(|outer| contains(outer, part));
        let listed = inner.iter().filter(|part| part.lines.0 > symbol.beginning_end && !is_within(part));
        let parts = listed.map(|part| format!("{} {}-{}", part.name, part.lines.0, part.lines.1)).collect();
        Some(Unit { symbol: UnitSymbol::new(symbol), depth: *depth, why, parts })
    };
    let (core, others): (Vec<Unit>, Vec<Unit>) = places.iter().filter_map(unit).partition(|unit| unit.depth == 0);
    let (prereqs, support) = others.into_iter().partition(|unit| unit.depth <= 2);
    Ok(ReadingList {
        title: format!("Reading list: {}", request.topic),
        core,
        prereqs,
        support,
        reading_order: order.iter().filter_map(|at| places.iter().position(|(_, place)| *place == at)).collect(),
        order: order.iter().map(Position::location).collect(),
        external: external.into_iter().take(MOST_EXTERNAL).collect(),
        unresolved,
        left_out: left.len(),
        next: left.into_iter().take(MOST_NEXT).filter_map(|place| known.get(place)).map(next).collect(),
        stopped,
        selected: selector.finish().await?,
        head: lookups.into_head(),
        topic: request.topic,
    })
}

fn within(value: i64, range: RangeInclusive<i64>, argument: &str) -> Result<usize, ToolError> {
    let number = usize::try_from(value).ok().filter(|_| range.contains(&value));
    let (least, most) = range.into_inner();
    number.ok_or_else(|| ToolError::user(format!("`{argument}` must be between {least} and {most}")))
}

/// Returns true if a definition is inside of another one.
fn contains(outer: &Symbol, inner: &Symbol) -> bool {
    let (start, end) = outer.lines;
    let is_inside = start <= inner.lines.0 && inner.lines.1 <= end && inner.lines != outer.lines;
    is_inside && outer.file == inner.file
}

impl UnitSymbol {
    fn new(symbol: Symbol) -> UnitSymbol {
        let (start_line, end_line) = symbol.lines;
        let beginning_end = symbol.beginning_end;
        let is_known = !symbol.signature.is_empty();
        UnitSymbol {
            name: symbol.label,
            kind: symbol.kind.word(),
            location: DeclarationLines { file: symbol.file, line: symbol.line, start_line, end_line, beginning_end },
            signature: if is_known { symbol.signature } else { symbol.text.trim().to_owned() },
            doc_comment: symbol.doc,
            text: symbol.text,
        }
    }
}

fn is_script(one: &Symbol) -> bool {
    matches!(one.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
}

/// Returns true for JavaScript and type declarations that TypeScript was compiled to: one of `all` is the source.
fn is_compiled<'a>(one: &Symbol, mut all: impl Iterator<Item = &'a Symbol>) -> bool {
    let is_source =
        |one: &Symbol| is_script(one) && one.language != Language::JavaScript && !one.file.ends_with(".d.ts");
    is_script(one) && !is_source(one) && all.any(|other| is_source(other) && other.name == one.name)
}

/// Returns the seeds that are worth reading: no overloads that only declare another one's types, nothing that TypeScript was
/// compiled to, and neither fields nor tests with the name of another definition.
fn worth_reading(mut seeds: Vec<Symbol>) -> Vec<Symbol> {
    let all = seeds.clone();
    let is_overload = |one: &Symbol| {
        let is_later = |other: &Symbol| (&other.file, &other.label) == (&one.file, &one.label) && other.line > one.line;
        (is_script(one) || one.signature.contains("overload")) && all.iter().any(is_later)
    };
    let is_minor = |one: &Symbol| one.in_test || one.kind == Kind::Field;
    let is_beside = |one: &Symbol| all.iter().any(|other| other.name == one.name && !is_minor(other));
    seeds.retain(|one| !(is_overload(one) || is_compiled(one, all.iter()) || is_minor(one) && is_beside(one)));
    seeds
}

/// The state of a search.
struct Search<'a> {
    questions: &'a Questions,
    cx: &'a Context,
    request: &'a Request,
    lookups: Lookups,
    selector: Selector,
    /// The known definitions, with the reasons why they are listed.
    known: BTreeMap<Position, (Symbol, String)>,
    /// The definitions of the names that were looked up.
    names: KnownDefinitions,
    external: BTreeSet<String>,
    /// The callers of seeds that have no other one.
    only_callers: BTreeSet<Position>,
}

impl Search<'_> {
    /// Returns true for a visited definition that is read as a part of another one. A seed is not.
    fn is_part(&self, place: &Position, walk: &Walk<Position>) -> bool {
        let Some((inner, _)) = self.known.get(place).filter(|_| walk.depth(place) > 0) else { return false };
        let outer = walk.visited.iter().filter_map(|other| self.known.get(other));
        outer.into_iter().any(|(outer, _)| contains(outer, inner))
    }

    /// Returns the functions that call a definition, if they are few.
    async fn callers(&mut self, of: &Symbol) -> Vec<Need> {
        let wait_ms = self.lookups.wait_ms().min(CALLERS_WAIT);
        let uses = self.lookups.limit(self.questions.uses(self.cx, of, None, false, wait_ms)).await;
        let uses = uses.and_then(Result::ok).filter(|uses| !uses.basis.ask_again);
        if uses.is_none() {
            self.lookups.doubt(format!("the callers of {} were not found in time", of.label));
        }
        let mut callers: Vec<Need> = Vec::new();
        for site in uses.unwrap_or_default().sites {
            let Some(symbol) = site.within.filter(|one| !site.in_test && !contains(of, one) && one != of) else {
                continue;
            };
            if matches!(site.class, Class::Call | Class::Construct | Class::Value)
                && callers.iter().all(|known| known.symbol != symbol)
            {
                callers.push(Need { symbol, kind: NeedKind::Caller, certainty: site.certainty, line: site.line });
            }
        }
        if callers.len() > FEW_CALLERS {
            return Vec::new();
        }
        callers.sort_by_key(|one| one.symbol.file != of.file);
        callers.truncate(MOST_CALLERS);
        callers
    }

    /// Returns the definitions that one needs; `None` if they were not found in time.
    async fn neighbours(&mut self, node: &Position, depth: usize) -> Result<Option<Vec<Edge<Position>>>, ToolError> {
        let Some((symbol, why)) = self.known.get(node).cloned() else { return Ok(Some(Vec::new())) };
        let needs = self.questions.needs(self.cx, &symbol, depth == 0, &self.names, self.lookups.wait_ms());
        let Some(found) = self.lookups.facts(&symbol, needs).await? else { return Ok(None) };
        self.lookups.add(found.basis);
        self.external.extend(found.external);
        let follow = &self.request.follow;
        let is_followed = |need: &Need| {
            let names = match need.kind {
                NeedKind::Type | NeedKind::Container => FollowedNames::Types,
                _ => FollowedNames::Calls,
            };
            follow.is_empty() || follow.contains(&names)
        };
        let to = |need: &Need| Position::of_symbol(&need.symbol);
        let mut needs: Vec<Need> = found.needs;
        if depth == 0 || self.only_callers.contains(node) {
            let callers = self.callers(&symbol).await;
            if let [only] = &callers[..]
                && depth == 0
            {
                self.only_callers.insert(to(only));
            }
            needs.extend(callers);
        }
        let all: Vec<Symbol> = needs.iter().map(|need| need.symbol.clone()).collect();
        let is_worth_it = |one: &Symbol| (symbol.in_test || !one.in_test) && !is_compiled(one, all.iter());
        needs.retain(|need| is_followed(need) && to(need) != *node && is_worth_it(&need.symbol));
        // Of the methods of a class, those that the topic names.
        let words = |need: &Need| count_topic_words(&need.symbol.name, &self.request.topic);
        let methods = needs.extract_if(.., |need| need.kind == NeedKind::Method);
        let mut methods: Vec<Need> = methods.filter(|need| words(need) > 0).collect();
        methods.sort_by_key(|need| Reverse(words(need)));
        needs.extend(methods.into_iter().take(MOST_METHODS));
        // A base class is read first, and types before functions.
        needs.sort_by_key(|need| relation(&symbol, need));
        let selection = selection(&self.request.topic, &symbol, depth, &needs);
        let mut verdict = None;
        if self.selector.room() > 0 && !needs.is_empty() {
            let decisions = vec![Decision::SelectSymbols(selection.clone())];
            verdict = self.selector.decide(decisions, || self.lookups.left()).await.remove(0);
        }
        let mut edges = Vec::new();
        for (need, score) in needs.into_iter().zip(selection.scores(verdict.as_ref())) {
            let order = match relation(&symbol, &need) {
                Relation::Base => ReadingOrder::First,
                Relation::Override | Relation::Caller => ReadingOrder::After,
                _ => ReadingOrder::Before,
            };
            edges.push(Edge { to: to(&need), score, order });
            let why = reason(&symbol, &why, &need);
            self.known.entry(to(&need)).or_insert((need.symbol, why));
        }
        Ok(Some(edges))
    }
}

/// Returns the facts for the decision about a definition's neighbours.
fn selection(topic: &str, from: &Symbol, depth: usize, needs: &[Need]) -> Selection {
    let candidate = |need: &Need| {
        let symbol = &need.symbol;
        let is_unique = needs.iter().filter(|other| other.symbol.label == symbol.label).count() == 1;
        let place = format!("{}:{}:{}", symbol.file, symbol.line, symbol.column);
        Candidate {
            name: if is_unique { symbol.label.clone() } else { format!("{} ({place})", symbol.label) },
            location: Position::of_symbol(symbol).location(),
            kind: symbol.kind.word().to_owned(),
            signature: symbol.signature.clone(),
            relation: relation(from, need),
            verified: need.certainty == Certainty::Verified,
        }
    };
    Selection {
        topic: topic.to_owned(),
        symbol: from.label.clone(),
        location: Position::of_symbol(from).location(),
        signature: from.signature.clone(),
        doc: from.doc.clone(),
        depth,
        candidates: needs.iter().map(candidate).collect(),
    }
}

fn relation(from: &Symbol, need: &Need) -> Relation {
    match need.kind {
        NeedKind::Call => Relation::Call,
        NeedKind::Container => Relation::Container,
        NeedKind::Method => Relation::Method,
        NeedKind::Override(_) => Relation::Override,
        NeedKind::Caller => Relation::Caller,
        NeedKind::Type if matches!(from.kind, Kind::Class | Kind::Interface) && is_in_signature(from, need) => {
            Relation::Base
        }
        // Most names in a class serve other topics.
        NeedKind::Type if from.kind == Kind::Class => Relation::Body,
        NeedKind::Type if from.kind.is_type() => Relation::Field,
        NeedKind::Type if is_in_signature(from, need) => Relation::Signature,
        NeedKind::Type => Relation::Body,
    }
}

fn is_in_signature(from: &Symbol, need: &Need) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    need.symbol.name != from.name && from.signature.split(|c| !is_of_name(c)).any(|word| word == need.symbol.name)
}

fn reason(from: &Symbol, why: &str, need: &Need) -> String {
    let what = match (relation(from, need), need.kind) {
        (_, NeedKind::Override(1)) => return format!("overrides {}", from.label),
        (_, NeedKind::Override(count)) => return format!("overrides {} (1 of {count})", from.label),
        (Relation::Container, _) if why.starts_with("overrides") => {
            return format!("has the method {}, which {why}", from.label);
        }
        (Relation::Container, _) => return format!("has the method {}", from.label),
        (Relation::Method, _) => return format!("a method of {} with a word of the topic", from.label),
        (Relation::Caller, _) => "calls",
        (Relation::Base, _) => "in the head of",
        (Relation::Field, _) => "a type in",
        (Relation::Signature, _) => "in the signature of",
        (Relation::Body, _) => "a type in",
        _ => "used by",
    };
    let doubt = if need.certainty == Certainty::Verified { "" } else { ", by syntax only" };
    let file = if need.kind == NeedKind::Caller { &need.symbol.file } else { &from.file };
    format!("{what} {} ({file}:{}{doubt})", from.label, need.line)
}
