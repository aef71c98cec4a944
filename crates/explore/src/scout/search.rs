//! The uses behind a definition that changes or is reached.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use code::Class;
use code::facts::{Certainty, MatchSite, MentionLine, Symbol};
use code::tools::Questions;
use mcp::tool::{Context, ToolError};

use super::Request;
use super::pointer::{Reached, kind_of_match, kind_of_use};
use crate::lookups::Lookups;
use crate::position::Position;
use crate::rubric::{self, Change};
use crate::select::Selector;
use crate::select::decision::{Decision, EdgeFacts, Verdict};
use crate::walk::{Edge, ReadingOrder, Walk};

/// The state of a search.
pub(super) struct Search<'a> {
    pub questions: &'a Questions,
    pub cx: &'a Context,
    pub request: &'a Request,
    pub change: Change,
    pub lookups: Lookups,
    pub selector: Selector,
    pub found: SearchResult,
}

/// The definitions and uses of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    /// The definitions that change.
    pub entries: BTreeMap<Position, Symbol>,
    /// The known uses.
    pub reached: BTreeMap<Position, Reached>,
    /// The definitions whose uses were searched, with the ways to them.
    pub followed: BTreeMap<Position, Vec<Edge<Position>>>,
    /// Comments and strings that mention a changed definition.
    pub mentions: BTreeSet<MentionLine>,
    /// A clause for each definition that cannot get a new variant.
    pub without_variants: String,
}

impl Search<'_> {
    /// Returns the uses behind a node; `None` if they were not found in time.
    pub(super) async fn neighbours(
        &mut self,
        walk: &Walk<Position>,
        node: &Position,
    ) -> Result<Option<Vec<Edge<Position>>>, ToolError> {
        let depth = walk.depth(node);
        let entry = self.found.entries.get(node);
        // A test has no further uses.
        let site = self.found.reached.get(node).map(|reached| &reached.site);
        let around = || site?.within.as_ref().filter(|within| !within.is_test);
        // The uses of a definition are not looked up if better ones fill the budget.
        let is_worth_it = entry.is_some() || walk.has_room(node, self.best_score(depth));
        let Some(symbol) = entry.or_else(around).filter(|_| is_worth_it).cloned() else { return Ok(Some(Vec::new())) };
        let place = Position::of_symbol(&symbol);
        if let Some(edges) = self.found.followed.get(&place) {
            return Ok(Some(edges.clone()));
        }
        let is_entry = entry.is_some();
        let (mut found, mut has_matches) = (Vec::new(), false);
        if is_entry && self.change == Change::AddVariant {
            let Some(matches) = self.matches(&symbol).await? else { return Ok(None) };
            has_matches = !matches.is_empty();
            found.extend(matches.into_iter().filter_map(|one| {
                let kind = kind_of_match(one.effect)?;
                let matched = Some((one.last_line, one.how));
                Some(Reached { site: one.site, kind, matched, from: symbol.clone(), relevance: None })
            }));
        }
        let path = self.request.path.as_deref();
        let uses = self.questions.uses(self.cx, &symbol, path, is_entry, self.lookups.wait_ms());
        let Some(uses) = self.lookups.facts(&symbol, uses).await? else { return Ok(None) };
        // A definition at a distance decides nothing about the completeness of the direct uses.
        if is_entry {
            self.lookups.add(uses.basis);
        }
        for site in uses.sites {
            if site.class == Class::Mention || site.certainty == Certainty::Mention {
                if is_entry {
                    self.found.mentions.insert(MentionLine { file: site.file, line: site.line, text: site.text });
                }
                continue;
            }
            // The patterns of a type are its matches.
            let is_matched = has_matches && site.class == Class::Pattern;
            let Some(kind) = kind_of_use(&site).filter(|_| !is_matched) else { continue };
            let kind = if is_entry { kind } else { rubric::INDIRECT };
            found.push(Reached { site, kind, matched: None, from: symbol.clone(), relevance: None });
        }
        self.rate(&mut found, depth).await;
        let mut edges = Vec::new();
        for reached in found {
            let to = Position::of_use(&reached.site);
            edges.push(Edge { to: to.clone(), score: Some(self.score(&reached, depth)), order: ReadingOrder::Before });
            if !self.found.entries.contains_key(&to) {
                self.found.reached.entry(to).or_insert(reached);
            }
        }
        self.found.followed.insert(place, edges.clone());
        Ok(Some(edges))
    }

    /// Returns the matches of a type that may get another variant; `None` if they were not found in time.
    async fn matches(&mut self, symbol: &Symbol) -> Result<Option<Vec<MatchSite>>, ToolError> {
        let path = self.request.path.as_deref();
        let matches = self.questions.matches(self.cx, symbol, None, path, self.lookups.wait_ms());
        let found = match symbol.has_variants() {
            true => self.lookups.limit(matches).await.transpose(),
            false => Err(ToolError::user("only types have variants")),
        };
        match found {
            Ok(found) => Ok(found.map(|found| {
                self.lookups.add(found.basis);
                found.sites
            })),
            // Also the alias of another type.
            Err(ToolError::User { .. }) => {
                let clause = format!("; {} {} has no variants", symbol.kind.word(), symbol.label);
                self.found.without_variants.push_str(&clause);
                Ok(Some(Vec::new()))
            }
            Err(error) => Err(error),
        }
    }

    fn score(&self, reached: &Reached, depth: usize) -> i32 {
        let relevance = reached.relevance.unwrap_or_else(|| reached.kind.relevance(self.change, depth));
        let verified = i32::from(reached.site.certainty == Certainty::Verified);
        2 * i32::from(relevance) + 2 * i32::from(reached.kind.risk(self.change)) + verified
    }

    /// Returns the maximum score of a use through a definition at this depth.
    fn best_score(&self, depth: usize) -> i32 {
        let kind = rubric::INDIRECT;
        let relevance = if self.selector.room() > 0 { 5 } else { kind.relevance(self.change, depth) };
        2 * i32::from(relevance) + 2 * i32::from(kind.risk(self.change)) + 1
    }

    /// Sets the relevance of the best new uses by the model. It changes their order, and nothing that a compiler or a language
    /// server found.
    async fn rate(&mut self, found: &mut [Reached], depth: usize) {
        let room = self.selector.room();
        if room == 0 {
            return;
        }
        let is_new = |one: &Reached| !self.found.reached.contains_key(&Position::of_use(&one.site));
        let mut best: Vec<usize> = (0..found.len()).filter(|at| is_new(&found[*at])).collect();
        best.sort_by_key(|at| Reverse(self.score(&found[*at], depth)));
        best.truncate(room);
        let decision = |at: &usize| {
            let Reached { site, kind, from, .. } = &found[*at];
            Decision::RateEdge(EdgeFacts {
                query: self.request.query.clone(),
                change: self.change,
                symbol: from.label.clone(),
                location: Position::of_use(site).location(),
                hover: from.signature.clone(),
                snippet: site.text.clone(),
                kind: kind.name.to_owned(),
                depth,
            })
        };
        let decisions = best.iter().map(decision).collect();
        let verdicts = self.selector.decide(decisions, || self.lookups.left()).await;
        for (at, verdict) in best.into_iter().zip(verdicts) {
            if let Some(Verdict::Rated { relevance, .. }) = verdict {
                found[at].relevance = Some(relevance);
            }
        }
    }
}
