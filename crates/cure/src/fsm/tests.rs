//! Each kind of finding, with a machine that has it and a twin that does not; and random machines checked against an
//! exhaustive search of all paths.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, FindingKind, Graph};
use crate::{NoSources, compile};
use testkit::Random;

/// The findings of the only machine in a text.
fn analyze(text: &str) -> (Graph, Vec<Finding>) {
    let compiled = compile(text, &NoSources);
    assert!(compiled.is_ok(), "{:?}\n{text}", compiled.diagnostics);
    compiled.machines().next().cloned().unwrap_or_else(|| panic!("no machine in {text}"))
}

fn module(machine: &str) -> String {
    format!("module T do\n  record M do\n    n: Int\n  end\n  fsm M{{n: 0}} do\n    {machine}\n  end\nend\n")
}

#[test]
fn every_kind_is_found_and_its_twin_is_clean() {
    let pairs = [
        (FindingKind::Unreachable, "A --> |go| A\n C --> |go| A", "A --> |go| C\n C --> |go| A"),
        (
            FindingKind::Unreachable,
            "A --> |go| C when n > 3 and n < 4\n A --> |to| A\n C --> |go| A",
            "A --> |go| C when n > 3 and n < 5\n A --> |to| A\n C --> |go| A",
        ),
        (FindingKind::Deadlock, "A --> |go| B", "A --> |go| B\n B --> [*]"),
        (
            FindingKind::Deadlock,
            "A --> |go| B\n B --> |go| A when n > 0 and n < 0",
            "A --> |go| B\n B --> |go| A when n > 0",
        ),
        (
            FindingKind::Nondeterminism,
            "A --> |go| A when n > 0\n A --> |go| B when n < 2\n B --> |go| A",
            "A --> |go| A when n > 0\n A --> |go| B when n <= 0\n B --> |go| A",
        ),
        (
            FindingKind::Dead,
            "A --> |go| B\n A --> |go| A when n > 0\n B --> |go| A",
            "A --> |go| B when n <= 0\n A --> |go| A when n > 0\n B --> |go| A",
        ),
        (FindingKind::Dead, "A --> |go| A when n != n\n A --> |to| A", "A --> |go| A when n == n\n A --> |to| A"),
        (
            FindingKind::NoTerminal,
            "A --> |go| B\n A --> |halt| C\n B --> |go| B\n C --> [*]",
            "A --> |go| B\n A --> |halt| C\n B --> |go| A\n C --> [*]",
        ),
    ];
    for (kind, with, without) in pairs {
        let (_, findings) = analyze(&module(with));
        assert!(findings.iter().any(|one| one.kind == kind), "{kind:?} is not found: {with}\n{findings:?}");
        let (_, findings) = analyze(&module(without));
        assert!(findings.is_empty(), "{without}\n{findings:?}");
    }
    let timed = |first: &str, second: &str| {
        format!(
            "module T do\n  fsm M do\n    states: [A, B]\n    initial: A\n    state A do\n      {first}\n      {second}\n    end\n    state B do\n      event(:go) -> A\n    end\n  end\nend\n"
        )
    };
    for (with, without) in [
        (("timeout(0) -> A", "event(:go) -> B"), ("timeout(1) -> A", "event(:go) -> B")),
        (("timeout(100) -> B", "timeout(200) -> B"), ("timeout(200) -> B", "event(:go) -> B")),
    ] {
        let (_, findings) = analyze(&timed(with.0, with.1));
        assert!(findings.iter().any(|one| one.kind == FindingKind::Timeout), "{with:?}\n{findings:?}");
        let (_, findings) = analyze(&timed(without.0, without.1));
        assert!(findings.is_empty(), "{without:?}\n{findings:?}");
    }
}

/// A transition of a random machine; its guard over `n` as text and as its value for each `n`.
struct Edge {
    from: usize,
    event: usize,
    to: usize,
    guard: Option<(String, Vec<bool>)>,
}

/// The tested numbers; all constants in guards are well inside this range.
const RANGE: std::ops::RangeInclusive<i64> = -12..=12;

fn guard(random: &mut Random) -> (String, Vec<bool>) {
    let constant = random.below(9) as i64 - 4;
    let (operator, holds): (&str, fn(i64, i64) -> bool) = [
        ("<", (|a, b| a < b) as fn(i64, i64) -> bool),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
    ][random.below(5)];
    let one = (format!("n {operator} {constant}"), RANGE.map(|n| holds(n, constant)).collect::<Vec<_>>());
    if !random.chance(30) {
        return one;
    }
    let (text, other) = guard(random);
    let both = one.1.iter().zip(&other).map(|(a, b)| *a && *b).collect();
    (format!("{} and {text}", one.0), both)
}

fn edges(random: &mut Random) -> Vec<Edge> {
    let states = 2 + random.below(5);
    let edge = |random: &mut Random| Edge {
        from: random.below(states),
        event: random.below(2),
        to: random.below(states),
        guard: random.chance(40).then(|| guard(random)),
    };
    (0..1 + random.below(9)).map(|_| edge(random)).collect()
}

/// Walks every acyclic path; returns the fewest steps to each state.
fn walk(
    at: usize,
    steps: usize,
    seen: &mut Vec<usize>,
    next: &BTreeMap<usize, BTreeSet<usize>>,
    best: &mut BTreeMap<usize, usize>,
) {
    let known = best.entry(at).or_insert(steps);
    *known = (*known).min(steps);
    seen.push(at);
    for to in next.get(&at).into_iter().flatten() {
        if !seen.contains(to) {
            walk(*to, steps + 1, seen, next, best);
        }
    }
    seen.pop();
}

#[test]
fn a_thousand_random_machines_are_as_a_search_of_every_path_says() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let edges = edges(&mut random);
        let terminal: BTreeSet<usize> = (0..random.below(2)).map(|_| edges[random.below(edges.len())].to).collect();
        let mut text = String::new();
        for edge in &edges {
            let guard = edge.guard.as_ref().map_or_else(String::new, |(guard, _)| format!(" when {guard}"));
            text.push_str(&format!("S{} --> |e{}| S{}{guard}\n    ", edge.from, edge.event, edge.to));
        }
        terminal.iter().for_each(|state| text.push_str(&format!("S{state} --> [*]\n    ")));
        let text = module(&text);
        let (graph, findings) = analyze(&text);
        let of = |kind: FindingKind| findings.iter().filter(move |one| one.kind == kind);

        // A transition fires for some n that no earlier one of its event accepts.
        let all: Vec<bool> = RANGE.map(|_| true).collect();
        let holds = |edge: &Edge| edge.guard.as_ref().map_or_else(|| all.clone(), |(_, holds)| holds.clone());
        let fires = |at: usize| {
            let earlier = edges[..at].iter().filter(|one| one.from == edges[at].from && one.event == edges[at].event);
            let taken: Vec<Vec<bool>> = earlier.map(&holds).collect();
            holds(&edges[at]).iter().enumerate().any(|(n, holds)| *holds && !taken.iter().any(|taken| taken[n]))
        };
        let live: Vec<usize> = (0..edges.len()).filter(|at| fires(*at)).collect();
        let dead = of(FindingKind::Dead).count();
        assert_eq!(dead, edges.len() - live.len(), "dead transitions\n{text}\n{findings:?}");
        let overlap = (0..edges.len()).flat_map(|at| (0..at).map(move |before| (before, at))).filter(|(before, at)| {
            let (one, other) = (&edges[*before], &edges[*at]);
            let same = one.from == other.from && one.event == other.event && live.contains(at);
            same && holds(one).iter().zip(holds(other)).any(|(a, b)| *a && b)
        });
        assert_eq!(of(FindingKind::Nondeterminism).count(), overlap.count(), "overlap\n{text}\n{findings:?}");

        let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        live.iter().for_each(|at| {
            next.entry(edges[*at].from).or_default().insert(edges[*at].to);
        });
        let mut best = BTreeMap::new();
        walk(edges[0].from, 0, &mut Vec::new(), &next, &mut best);
        let states: BTreeSet<usize> = edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        assert_eq!(of(FindingKind::Unreachable).count(), states.len() - best.len(), "reached\n{text}\n{findings:?}");
        let stuck = best.keys().filter(|state| !next.contains_key(state) && !terminal.contains(state));
        assert_eq!(of(FindingKind::Deadlock).count(), stuck.count(), "stuck\n{text}\n{findings:?}");
        let endless = best.keys().filter(|state| {
            let mut from = BTreeMap::new();
            walk(**state, 0, &mut Vec::new(), &next, &mut from);
            !terminal.is_empty() && !from.keys().any(|reached| terminal.contains(reached))
        });
        assert_eq!(of(FindingKind::NoTerminal).count(), endless.count(), "ends\n{text}\n{findings:?}");

        // Every reported path exists, and none is shorter.
        for finding in findings.iter().filter(|one| !one.path.is_empty()) {
            let number = |state: &String| state[1..].parse::<usize>().expect("states are numbered");
            let way: Vec<usize> = finding.path.iter().step_by(2).map(number).collect();
            assert_eq!(finding.path[0], graph.initial);
            for (step, (pair, arrow)) in way.windows(2).zip(finding.path.iter().skip(1).step_by(2)).enumerate() {
                let fits = |at: &&usize| {
                    let edge = &edges[**at];
                    edge.from == pair[0] && edge.to == pair[1] && *arrow == format!("--e{}-->", edge.event)
                };
                assert!(live.iter().any(|at| fits(&at)), "step {step} of {:?}\n{text}", finding.path);
            }
            let last = way[way.len() - 1];
            assert_eq!(Some(&(way.len() - 1)), best.get(&last), "{:?} is not the shortest\n{text}", finding.path);
        }
        findings.iter().for_each(|one| *counts.entry(one.kind.name()).or_default() += 1);
    }
    println!("{counts:?}");
    assert!(counts.len() >= 5 && counts.values().all(|count| *count > 50), "every kind is met often: {counts:?}");
}
