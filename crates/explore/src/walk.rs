//! The best-first walk of both tools: a pure state machine. Its driver asks for the next node and adds the neighbours of this
//! node. The same neighbours give the same nodes, whichever server answers first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

/// The score that each step away from the entry points costs.
const STEP: i32 = 4;

/// A way to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge<K> {
    pub to: K,
    /// The score that it gives the node; `None` for a node that was dropped: this way alone does not lead to a visit.
    pub score: Option<i32>,
    pub order: ReadingOrder,
}

/// When a node is read, compared with the one that leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingOrder {
    /// Before it, also in a cycle.
    First,
    Before,
    After,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Stopped {
    /// Everything in reach was visited.
    Done,
    Budget,
    Time,
}

/// The state of a walk.
#[derive(Debug)]
pub(crate) struct Walk<K> {
    /// The maximum number of visited nodes. It may grow during the walk.
    pub budget: usize,
    max_depth: usize,
    nodes: BTreeMap<K, Node<K>>,
    /// The nodes to visit, the best first. Equal scores are ordered by node.
    frontier: BTreeSet<(Reverse<i32>, K)>,
    /// In the order of the visits.
    pub visited: Vec<K>,
    pub stopped: Stopped,
}

#[derive(Debug)]
struct Node<K> {
    /// The length of the shortest known way from an entry point.
    depth: usize,
    /// The best score of the ways to it.
    score: i32,
    is_visited: bool,
    /// True if its neighbours were asked for.
    is_expanded: bool,
    next: Vec<(K, ReadingOrder)>,
}

impl<K: Ord + Clone> Walk<K> {
    pub(crate) fn new(entries: impl IntoIterator<Item = K>, budget: usize, max_depth: usize) -> Walk<K> {
        let (nodes, frontier, visited) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let mut walk = Walk { budget, max_depth, nodes, frontier, visited, stopped: Stopped::Done };
        for entry in entries {
            walk.reach(entry, 0, Some(i32::MAX / 2));
        }
        walk
    }

    /// Visits nodes until one whose neighbours must be added. Returns `None` at the end of the walk.
    pub(crate) fn next_node(&mut self) -> Option<K> {
        while self.stopped == Stopped::Done {
            if self.visited.len() >= self.budget && !self.frontier.is_empty() {
                self.stopped = Stopped::Budget;
                break;
            }
            let (_, node) = self.frontier.pop_first()?;
            let is_expanded = self.depth(&node) < self.max_depth;
            if let Some(state) = self.nodes.get_mut(&node) {
                state.is_expanded = is_expanded;
                if !std::mem::replace(&mut state.is_visited, true) {
                    self.visited.push(node.clone());
                }
            }
            if is_expanded {
                return Some(node);
            }
        }
        None
    }

    /// Adds the neighbours of a node; `None` ends the walk, because they were not found before the deadline.
    pub(crate) fn add(&mut self, of: &K, edges: Option<Vec<Edge<K>>>) {
        let Some(edges) = edges else {
            self.stopped = Stopped::Time;
            return;
        };
        let depth = self.depth(of) + 1;
        if let Some(node) = self.nodes.get_mut(of) {
            node.next = edges.iter().map(|edge| (edge.to.clone(), edge.order)).collect();
        }
        for edge in edges {
            self.reach(edge.to, depth, edge.score);
        }
    }

    /// Returns true if a way with this score from a node could still lead to a visit within the budget.
    pub(crate) fn has_room(&self, from: &K, score: i32) -> bool {
        let rank = rank(score, self.depth(from) + 1);
        let better = self.frontier.iter().take_while(|(Reverse(other), _)| *other > rank);
        let better = better.filter(|(_, node)| !self.is_visited(node)).count();
        better < self.budget.saturating_sub(self.visited.len())
    }

    /// Records a way to a node. A shorter way corrects its depth and the depths of all nodes behind it.
    fn reach(&mut self, to: K, depth: usize, score: Option<i32>) {
        let mut open = vec![(to, depth, score)];
        while let Some((to, depth, score)) = open.pop() {
            let Some(node) = self.nodes.get_mut(&to) else {
                let Some(score) = score else { continue };
                self.frontier.insert((Reverse(rank(score, depth)), to.clone()));
                self.nodes.insert(to, Node { depth, score, is_visited: false, is_expanded: false, next: Vec::new() });
                continue;
            };
            let before = (Reverse(rank(node.score, node.depth)), to.clone());
            let is_shorter = depth < node.depth;
            node.score = node.score.max(score.unwrap_or(i32::MIN));
            node.depth = node.depth.min(depth);
            let after = (Reverse(rank(node.score, node.depth)), to);
            if is_shorter {
                open.extend(node.next.iter().map(|(next, _)| (next.clone(), depth + 1, None)));
            }
            // A node at the maximum depth was visited without its neighbours. A shorter way leads to them.
            if !node.is_visited || !node.is_expanded && node.depth < self.max_depth {
                self.frontier.remove(&before);
                self.frontier.insert(after);
            }
        }
    }

    /// Returns the length of the shortest known way to a node.
    pub(crate) fn depth(&self, node: &K) -> usize {
        self.nodes.get(node).map_or(0, |node| node.depth)
    }

    fn is_visited(&self, node: &K) -> bool {
        self.nodes.get(node).is_some_and(|state| state.is_visited)
    }

    /// Returns the nodes that were not visited, the best first.
    pub(crate) fn left(&self) -> impl Iterator<Item = &K> {
        self.frontier.iter().map(|(_, node)| node).filter(|node| !self.is_visited(node))
    }

    /// Returns the visited nodes in an order in which each one follows the nodes that it needs. A cycle is cut where
    /// the walk entered it.
    pub(crate) fn dependencies_first(&self) -> Vec<K> {
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        self.visited.iter().for_each(|root| self.add_dependencies(root, &mut order, &mut seen));
        order
    }

    /// Adds a node after those behind it. The depth of the recursion is at most the budget of the walk.
    fn add_dependencies<'a>(&'a self, node: &'a K, order: &mut Vec<K>, seen: &mut BTreeSet<&'a K>) {
        let Some(state) = self.nodes.get(node).filter(|state| state.is_visited && seen.insert(node)) else { return };
        let is_first = |next: &K| {
            self.nodes.get(next).is_some_and(|next| next.next.contains(&(node.clone(), ReadingOrder::First)))
        };
        let needed = state.next.iter().filter(|(next, order)| *order != ReadingOrder::After && !is_first(next));
        needed.for_each(|(next, _)| self.add_dependencies(next, order, seen));
        order.push(node.clone());
    }
}

fn rank(score: i32, depth: usize) -> i32 {
    score.saturating_sub(STEP.saturating_mul(i32::try_from(depth).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A graph: the neighbours of each node with their scores.
    type Graph<K> = BTreeMap<K, Vec<(K, i32)>>;

    fn edge<K>(to: K, score: Option<i32>) -> Edge<K> {
        Edge { to, score, order: ReadingOrder::Before }
    }

    /// Walks from a node. The driver adds the neighbours from first to last, or the other way around.
    fn walked<K: Ord + Copy>(
        graph: &Graph<K>,
        entry: K,
        (budget, depth): (usize, usize),
        is_reversed: bool,
    ) -> Walk<K> {
        let mut walk = Walk::new([entry], budget, depth);
        while let Some(node) = walk.next_node() {
            let all = graph.get(&node).into_iter().flatten();
            let mut edges: Vec<Edge<K>> = all.map(|(to, score)| edge(*to, Some(*score))).collect();
            if is_reversed {
                edges.reverse();
            }
            walk.add(&node, Some(edges));
        }
        walk
    }

    #[test]
    fn the_best_node_is_next_and_the_budget_leaves_the_rest() {
        let graph = Graph::from([("a", vec![("low", 1), ("high", 9), ("equal", 1)]), ("high", vec![("deep", 9)])]);
        let walk = walked(&graph, "a", (10, 5), false);
        assert_eq!(walk.visited, ["a", "high", "deep", "equal", "low"]);
        assert_eq!(walk.stopped, Stopped::Done);
        let walk = walked(&graph, "a", (3, 5), false);
        assert_eq!((walk.visited.len(), walk.stopped), (3, Stopped::Budget));
        assert_eq!(walk.left().collect::<Vec<_>>(), [&"equal", &"low"]);
    }

    #[test]
    fn a_dropped_node_is_not_visited_and_stays_a_dependency() {
        let mut walk = Walk::new(["a"], 9, 9);
        assert_eq!(walk.next_node(), Some("a"));
        walk.add(&"a", Some(vec![edge("b", None), edge("c", Some(1))]));
        assert_eq!(walk.next_node(), Some("c"));
        // Another way leads to it.
        walk.add(&"c", Some(vec![edge("b", Some(1))]));
        assert_eq!(walk.next_node(), Some("b"));
        assert_eq!(walk.dependencies_first(), ["b", "c", "a"]);
        // A late walk keeps its nodes.
        walk.add(&"b", None);
        assert_eq!((walk.next_node(), walk.stopped), (None, Stopped::Time));
        assert_eq!(walk.visited, ["a", "c", "b"]);
    }

    #[test]
    fn a_base_is_read_before_the_class_that_it_leads_to() {
        let mut walk = Walk::new(["base"], 9, 9);
        let way = |to, order| Some(vec![Edge { to, score: Some(1), order }]);
        for (from, edges) in [("base", way("class", ReadingOrder::Before)), ("class", way("base", ReadingOrder::First))]
        {
            assert_eq!(walk.next_node(), Some(from));
            walk.add(&from, edges);
        }
        assert_eq!(walk.dependencies_first(), ["base", "class"]);
    }

    /// Returns the distances of all nodes within a number of steps of the first one.
    fn distances(graph: &Graph<usize>, steps: usize) -> BTreeMap<usize, usize> {
        let mut found = BTreeMap::from([(0, 0)]);
        for step in 1..=steps {
            let last: Vec<usize> = found.iter().filter(|(_, at)| **at == step - 1).map(|(node, _)| *node).collect();
            for (to, _) in last.iter().filter_map(|node| graph.get(node)).flatten() {
                found.entry(*to).or_insert(step);
            }
        }
        found
    }

    proptest! {
        /// The predecessor gave a node the depth at which it was seen first, which may be longer than the shortest way.
        #[test]
        fn a_walk_visits_all_nodes_in_reach_once(
            edges in proptest::collection::vec((0usize..8, 0usize..8, -40i32..40), 0..24),
            depth in 0usize..6,
            budget in 1usize..14,
        ) {
            let mut graph: Graph<usize> = BTreeMap::new();
            for (from, to, score) in edges {
                graph.entry(from).or_default().push((to, score));
            }
            let walk = walked(&graph, 0, (usize::MAX, depth), false);
            let visited: BTreeMap<usize, usize> = walk.visited.iter().map(|node| (*node, walk.depth(node))).collect();
            prop_assert_eq!(&visited, &distances(&graph, depth));
            prop_assert_eq!(visited.len(), walk.visited.len());
            let mut order = walk.dependencies_first();
            order.sort_unstable();
            prop_assert_eq!(order, visited.into_keys().collect::<Vec<_>>());
            // A budget cuts the same walk, and the order of the edges in an answer changes nothing.
            let limited = walked(&graph, 0, (budget, depth), false);
            prop_assert_eq!(&limited.visited[..], &walk.visited[..budget.min(walk.visited.len())]);
            let reversed = walked(&graph, 0, (budget, depth), true);
            prop_assert_eq!(limited.visited, reversed.visited);
        }
    }
}
