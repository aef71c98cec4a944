//! The best-first walk of both tools: a pure function from state and event to the next action. The same events give the
//! same actions, whichever server answers first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The score that each step away from the entry points costs.
const STEP: i32 = 3;

/// A way to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge<K> {
    pub to: K,
    /// The score that it gives the node; `None` for a node that was dropped: this way alone does not lead to a visit.
    pub score: Option<i32>,
}

/// An input of the walk.
#[derive(Debug)]
pub(crate) enum Event<K> {
    /// The entry points.
    Begin(Vec<K>),
    /// The neighbours of a visited node, if any.
    Neighbours { of: K, edges: Vec<Edge<K>> },
    /// The deadline has passed.
    Late,
}

/// The next action of the driver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<K> {
    /// Visit the node and report its neighbours; without `expand`, report an empty list.
    Visit {
        node: K,
        expand: bool,
    },
    End(Stopped),
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Everything in reach was visited.
    Done,
    Budget,
    Time,
}

impl Stopped {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Stopped::Done => "done",
            Stopped::Budget => "budget",
            Stopped::Time => "time",
        }
    }
}

/// The state of a walk.
#[derive(Debug)]
pub(crate) struct Walk<K> {
    budget: usize,
    max_depth: usize,
    nodes: BTreeMap<K, Node<K>>,
    /// The nodes to visit, the best first. Equal scores are ordered by node.
    frontier: BTreeSet<(Reverse<i32>, K)>,
    visited: Vec<K>,
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
    next: Vec<K>,
}

impl<K: Ord + Clone> Walk<K> {
    pub(crate) fn new(budget: usize, max_depth: usize) -> Walk<K> {
        Walk { budget, max_depth, nodes: BTreeMap::new(), frontier: BTreeSet::new(), visited: Vec::new() }
    }

    /// Applies an event and returns the next action.
    pub(crate) fn apply(&mut self, event: Event<K>) -> Action<K> {
        match event {
            Event::Begin(entries) => {
                for entry in entries {
                    self.reach(entry, 0, Some(i32::MAX / 2));
                }
            }
            Event::Neighbours { of, edges } => {
                let depth = self.depth(&of) + 1;
                if let Some(node) = self.nodes.get_mut(&of) {
                    node.next = edges.iter().map(|edge| edge.to.clone()).collect();
                }
                for edge in edges {
                    self.reach(edge.to, depth, edge.score);
                }
            }
            Event::Late => return Action::End(Stopped::Time),
        }
        if self.visited.len() >= self.budget && !self.frontier.is_empty() {
            return Action::End(Stopped::Budget);
        }
        let Some((_, node)) = self.frontier.pop_first() else { return Action::End(Stopped::Done) };
        let depth = self.depth(&node);
        let expand = depth < self.max_depth;
        if let Some(state) = self.nodes.get_mut(&node) {
            state.is_expanded = expand;
            if !std::mem::replace(&mut state.is_visited, true) {
                self.visited.push(node.clone());
            }
        }
        Action::Visit { node, expand }
    }

    /// Returns true if a way with this score from a node could still lead to a visit within the budget.
    pub(crate) fn has_room(&self, from: &K, score: i32) -> bool {
        let rank = rank(score, self.depth(from) + 1);
        let is_new = |node: &K| self.nodes.get(node).is_some_and(|state| !state.is_visited);
        let better = self.frontier.iter().take_while(|(Reverse(other), _)| *other > rank);
        better.filter(|(_, node)| is_new(node)).count() < self.budget.saturating_sub(self.visited.len())
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
                open.extend(node.next.iter().map(|next| (next.clone(), depth + 1, None)));
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

    /// Returns the visited nodes in the order of the visits.
    pub(crate) fn visited(&self) -> &[K] {
        &self.visited
    }

    /// Returns the nodes that were not visited, the best first.
    pub(crate) fn left(&self) -> impl Iterator<Item = &K> {
        let is_new = |node: &&K| self.nodes.get(*node).is_some_and(|state| !state.is_visited);
        self.frontier.iter().map(|(_, node)| node).filter(is_new)
    }

    /// Returns the visited nodes in an order in which each one follows the nodes that it leads to. A cycle is cut where
    /// the walk entered it.
    pub(crate) fn dependencies_first(&self) -> Vec<K> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for root in &self.visited {
            // The number of neighbours that were followed already.
            let mut open = vec![(root, 0)];
            if !seen.insert(root) {
                continue;
            }
            while let Some((node, followed)) = open.pop() {
                let next = self.nodes.get(node).and_then(|state| state.next.get(followed));
                let Some(next) = next else {
                    order.push(node.clone());
                    continue;
                };
                open.push((node, followed + 1));
                let is_visited = self.nodes.get(next).is_some_and(|state| state.is_visited);
                if is_visited && seen.insert(next) {
                    open.push((next, 0));
                }
            }
        }
        order
    }
}

fn rank(score: i32, depth: usize) -> i32 {
    score.saturating_sub(STEP.saturating_mul(i32::try_from(depth).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A graph: the neighbours of each node with their scores.
    type Graph = BTreeMap<&'static str, Vec<(&'static str, i32)>>;

    fn walked(graph: &Graph, entries: &[&'static str], budget: usize, depth: usize) -> (Walk<&'static str>, Stopped) {
        let mut walk = Walk::new(budget, depth);
        let mut event = Event::Begin(entries.to_vec());
        loop {
            match walk.apply(event) {
                Action::End(stopped) => return (walk, stopped),
                Action::Visit { node, expand } => {
                    let all = graph.get(node).filter(|_| expand).into_iter().flatten();
                    let edges = all.map(|(to, score)| Edge { to: *to, score: Some(*score) }).collect();
                    event = Event::Neighbours { of: node, edges };
                }
            }
        }
    }

    #[test]
    fn the_best_node_is_next() {
        let graph = Graph::from([("a", vec![("low", 1), ("high", 9)]), ("high", vec![("deep", 9)])]);
        let (walk, stopped) = walked(&graph, &["a"], 10, 5);
        assert_eq!(walk.visited(), ["a", "high", "deep", "low"]);
        assert_eq!(stopped, Stopped::Done);
    }

    /// The predecessor gave a node the depth at which it was seen first.
    #[test]
    fn a_shorter_way_corrects_the_depth_of_all_nodes_behind_it() {
        // `c` is reached by way of `b` first, because `b` has the better score.
        let graph = Graph::from([
            ("a", vec![("b", 50), ("late", -50)]),
            ("b", vec![("b2", 50)]),
            ("b2", vec![("c", 50)]),
            ("c", vec![("d", 50)]),
            ("late", vec![("c", 1)]),
        ]);
        let (walk, _) = walked(&graph, &["a"], 10, 9);
        assert_eq!(walk.visited(), ["a", "b", "b2", "c", "d", "late"]);
        assert_eq!((walk.depth(&"c"), walk.depth(&"d")), (2, 3));
        // At the maximum depth, `c` has no neighbours until the shorter way to it is found.
        let (walk, _) = walked(&graph, &["a"], 10, 3);
        assert_eq!(walk.visited(), ["a", "b", "b2", "c", "late", "d"]);
    }

    #[test]
    fn budget_and_depth_limit_the_walk() {
        let graph = Graph::from([("a", vec![("b", 1)]), ("b", vec![("c", 1)]), ("c", vec![("d", 1)])]);
        let (walk, stopped) = walked(&graph, &["a"], 2, 5);
        assert_eq!((walk.visited(), stopped), (&["a", "b"][..], Stopped::Budget));
        assert_eq!(walk.left().collect::<Vec<_>>(), [&"c"]);
        let (walk, stopped) = walked(&graph, &["a"], 9, 1);
        assert_eq!((walk.visited(), stopped), (&["a", "b"][..], Stopped::Done));
    }

    #[test]
    fn a_cycle_ends_and_dependencies_come_first() {
        let graph =
            Graph::from([("a", vec![("b", 1), ("c", 1)]), ("b", vec![("c", 1)]), ("c", vec![("a", 1), ("c", 1)])]);
        let (walk, stopped) = walked(&graph, &["a"], 9, 9);
        assert_eq!(stopped, Stopped::Done);
        assert_eq!(walk.dependencies_first(), ["c", "b", "a"]);
    }

    #[test]
    fn equal_scores_are_ordered_by_node() {
        let graph = Graph::from([("a", vec![("z", 1), ("b", 1), ("m", 1)])]);
        assert_eq!(walked(&graph, &["a"], 9, 9).0.visited(), ["a", "b", "m", "z"]);
    }

    #[test]
    fn a_dropped_node_is_not_visited_and_stays_a_dependency() {
        let mut walk = Walk::new(9, 9);
        walk.apply(Event::Begin(vec!["a"]));
        let edges = vec![Edge { to: "b", score: None }, Edge { to: "c", score: Some(1) }];
        assert_eq!(walk.apply(Event::Neighbours { of: "a", edges }), Action::Visit { node: "c", expand: true });
        // Another way leads to it.
        let edges = vec![Edge { to: "b", score: Some(1) }];
        assert_eq!(walk.apply(Event::Neighbours { of: "c", edges }), Action::Visit { node: "b", expand: true });
        assert_eq!(walk.dependencies_first(), ["b", "c", "a"]);
    }

    #[test]
    fn a_late_walk_keeps_its_nodes() {
        let mut walk = Walk::new(9, 9);
        assert_eq!(walk.apply(Event::Begin(vec!["a"])), Action::Visit { node: "a", expand: true });
        assert_eq!(walk.apply(Event::Late), Action::End(Stopped::Time));
        assert_eq!(walk.visited(), ["a"]);
    }

    /// Returns the distances of all nodes within a number of steps of the first one.
    fn distances(graph: &BTreeMap<usize, Vec<(usize, i32)>>, steps: usize) -> BTreeMap<usize, usize> {
        let mut found = BTreeMap::from([(0, 0)]);
        for step in 1..=steps {
            let last: Vec<usize> = found.iter().filter(|(_, at)| **at == step - 1).map(|(node, _)| *node).collect();
            for (to, _) in last.iter().filter_map(|node| graph.get(node)).flatten() {
                found.entry(*to).or_insert(step);
            }
        }
        found
    }

    /// Walks from node 0. The driver reports the neighbours from first to last, or the other way around.
    fn walk_numbers(
        graph: &BTreeMap<usize, Vec<(usize, i32)>>,
        budget: usize,
        depth: usize,
        is_reversed: bool,
    ) -> Walk<usize> {
        let mut walk = Walk::new(budget, depth);
        let mut event = Event::Begin(vec![0]);
        while let Action::Visit { node, expand } = walk.apply(event) {
            let all = graph.get(&node).filter(|_| expand).into_iter().flatten();
            let mut edges: Vec<Edge<usize>> = all.map(|(to, score)| Edge { to: *to, score: Some(*score) }).collect();
            if is_reversed {
                edges.reverse();
            }
            event = Event::Neighbours { of: node, edges };
        }
        walk
    }

    proptest! {
        #[test]
        fn a_walk_visits_all_nodes_in_reach_once(
            edges in proptest::collection::vec((0usize..8, 0usize..8, -40i32..40), 0..24),
            depth in 0usize..6,
            budget in 1usize..14,
        ) {
            let mut graph: BTreeMap<usize, Vec<(usize, i32)>> = BTreeMap::new();
            for (from, to, score) in edges {
                graph.entry(from).or_default().push((to, score));
            }
            let walk = walk_numbers(&graph, usize::MAX, depth, false);
            let visited: BTreeMap<usize, usize> = walk.visited().iter().map(|node| (*node, walk.depth(node))).collect();
            prop_assert_eq!(&visited, &distances(&graph, depth));
            prop_assert_eq!(visited.len(), walk.visited().len());
            let mut order = walk.dependencies_first();
            order.sort_unstable();
            prop_assert_eq!(order, visited.into_keys().collect::<Vec<_>>());
            // A budget cuts the same walk, and the order of the edges in an answer changes nothing.
            let limited = walk_numbers(&graph, budget, depth, false);
            prop_assert_eq!(limited.visited(), &walk.visited()[..budget.min(walk.visited().len())]);
            let reversed = walk_numbers(&graph, budget, depth, true);
            prop_assert_eq!(limited.visited(), reversed.visited());
        }
    }
}
