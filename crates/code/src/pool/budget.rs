//! Memory budget of the servers: which server is stopped when they exceed it or when it is idle.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::Duration;

use super::Servers;
use crate::server::{Order, Server, State};

/// Cost of a server.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    /// Resident memory of all its processes in bytes.
    pub memory: u64,
    /// Number of questions in progress.
    pub asking: usize,
    /// Time since the last question ended, or since the start.
    pub idle: Duration,
    pub is_ready: bool,
}

/// Action for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Stop it until the next question.
    Park,
    /// Stop it although it is in use, until there is memory. Otherwise it would be restarted immediately.
    Hold,
    OverBudget,
}

/// A server that is idle for this long is stopped.
pub(super) const IDLE: Duration = Duration::from_secs(15 * 60);

/// Returns the number of the server to stop next, and how; `None` if all may stay.
pub(super) fn next(costs: &[Cost], budget: u64) -> Option<(usize, Verdict)> {
    if let Some(alone) = costs.iter().position(|cost| cost.memory > budget) {
        return Some((alone, Verdict::OverBudget));
    }
    let total: u64 = costs.iter().map(|cost| cost.memory).sum();
    let least_used = |of: &dyn Fn(&Cost) -> bool| {
        let numbers = (0..costs.len()).filter(|number| of(&costs[*number]));
        numbers.max_by_key(|number| costs[*number].idle)
    };
    if total > budget {
        if let Some(idle) = least_used(&|cost| cost.asking == 0) {
            return Some((idle, Verdict::Park));
        }
        // The most recently started loading server loses the least work.
        let loading = (0..costs.len()).filter(|number| !costs[*number].is_ready);
        let last = loading.min_by_key(|number| costs[*number].idle);
        return last.or_else(|| least_used(&|_| true)).map(|number| (number, Verdict::Hold));
    }
    least_used(&|cost| cost.asking == 0 && cost.idle >= IDLE).map(|number| (number, Verdict::Park))
}

/// Returns the idle servers to stop, by number, so that a held one can start; `None` while it must wait. A server that
/// is loading for a caller may need all of the remaining memory.
pub(super) fn room(costs: &[Cost], need: u64, budget: u64) -> Option<Vec<usize>> {
    if costs.iter().any(|cost| cost.asking > 0 && !cost.is_ready) {
        return None;
    }
    let mut idle: Vec<usize> = (0..costs.len()).filter(|number| costs[*number].asking == 0).collect();
    idle.sort_by_key(|number| costs[*number].idle);
    let mut total: u64 = costs.iter().map(|cost| cost.memory).sum();
    let mut ended = Vec::new();
    while total + need > budget && ended.len() < costs.len() {
        let least_used = idle.pop()?;
        total -= costs[least_used].memory;
        ended.push(least_used);
    }
    Some(ended)
}

/// Returns the default budget: two fifths of the machine's memory, at most 4 GiB.
pub(super) fn default_budget() -> u64 {
    const MOST: u64 = 4 << 30;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or(MOST, |kib| (kib * 1024 / 5 * 2).min(MOST))
}

/// Keeps the servers within their budget until none is left. Memory is measured.
pub(super) async fn keep_within(servers: Weak<Servers>, budget: u64, every: Duration) {
    // Servers held for lack of memory, with the amount each is known to need.
    let mut held: VecDeque<(Server, u64)> = VecDeque::new();
    loop {
        tokio::time::sleep(every).await;
        let Some(servers) = servers.upgrade() else { return };
        let all: Vec<Server> = {
            let mut servers = servers.lock();
            // The next server to start checks whether this task is running.
            servers.is_kept = !servers.all.is_empty();
            servers.all.values().cloned().collect()
        };
        if all.is_empty() {
            return;
        }
        drop(servers);
        let measured = tokio::task::spawn_blocking(move || {
            let up = all.into_iter().filter_map(|server| Some((server.group()?, server)));
            up.map(|(group, server)| (process::probe::memory(&group).resident, server)).collect::<Vec<_>>()
        });
        let Ok(mut up) = measured.await else { continue };
        let mut costs: Vec<Cost> = up.iter().map(|(memory, server)| server.cost(*memory)).collect();
        while let Some((number, verdict)) = next(&costs, budget) {
            let (memory, server) = up.remove(number);
            costs.remove(number);
            let order = match verdict {
                Verdict::Park => Order::Park,
                Verdict::Hold => Order::Hold,
                Verdict::OverBudget => Order::OverBudget,
            };
            server.order(order).await;
            if verdict == Verdict::Hold {
                held.push_back((server, memory));
            }
        }
        // Servers without waiting questions may start with the next one. Of the others, the longest waiting is first.
        let (waiting, left) = held.into_iter().partition(|(server, _)| server.in_use().0 > 0);
        held = waiting;
        for (server, _) in Vec::from(left) {
            server.order(Order::Release).await;
        }
        if let Some(ended) = held.front().and_then(|(_, need)| room(&costs, *need, budget)) {
            for number in ended {
                up[number].1.order(Order::Park).await;
            }
            if let Some((server, _)) = held.pop_front() {
                server.order(Order::Wake).await;
            }
        }
    }
}

impl Server {
    /// Returns the current cost.
    fn cost(&self, memory: u64) -> Cost {
        let (asking, idle) = self.in_use();
        Cost { memory, asking, idle, is_ready: self.snapshot().state == State::Ready }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(memory: u64, asking: usize, idle: u64, is_ready: bool) -> Cost {
        Cost { memory, asking, idle: Duration::from_secs(idle), is_ready }
    }

    #[test]
    fn one_that_is_held_waits_for_those_that_load_and_takes_the_place_of_idle_ones() {
        let check = |costs: &[Cost], wanted: Option<&[usize]>| {
            assert_eq!(room(costs, 30, 100).as_deref(), wanted, "{costs:?}");
        };
        check(&[cost(20, 1, 9, false)], None);
        check(&[cost(20, 1, 9, true)], Some(&[]));
        check(&[cost(80, 1, 9, true)], None);
        check(&[cost(80, 0, 9, false)], Some(&[0]));
        check(&[cost(40, 0, 9, true), cost(40, 0, 20, true)], Some(&[1]));
        check(&[cost(60, 1, 9, true), cost(40, 0, 1, true)], Some(&[1]));
        check(&[cost(80, 1, 9, true), cost(10, 0, 1, true)], None);
        check(&[], Some(&[]));
        // A server that needs more than the budget is detected when it runs alone.
        assert_eq!(room(&[cost(1, 0, 0, true)], 200, 100), Some(vec![0]));
    }

    #[test]
    fn the_least_recently_used_idle_one_goes_first() {
        let check =
            |costs: &[Cost], wanted: Option<(usize, Verdict)>| assert_eq!(next(costs, 100), wanted, "{costs:?}");
        check(&[cost(60, 0, 9, true), cost(40, 0, 20, true)], None);
        check(&[cost(60, 0, 9, true), cost(50, 0, 20, true)], Some((1, Verdict::Park)));
        check(&[cost(60, 0, 9, true), cost(50, 1, 20, true)], Some((0, Verdict::Park)));
        // All are in use: the one that began to load last is stopped.
        check(&[cost(60, 1, 9, true), cost(30, 1, 20, false), cost(30, 1, 2, false)], Some((2, Verdict::Hold)));
        check(&[cost(60, 1, 9, true), cost(50, 1, 20, true)], Some((1, Verdict::Hold)));
        check(&[cost(30, 0, 9, true), cost(101, 1, 0, true)], Some((1, Verdict::OverBudget)));
        check(&[cost(3, 0, 899, true), cost(1, 0, 900, true), cost(1, 1, 9000, true)], Some((1, Verdict::Park)));
        check(&[], None);
    }

    #[test]
    fn the_default_is_a_part_of_this_machine() {
        assert!((256 << 20..=4 << 30).contains(&default_budget()));
    }
}
