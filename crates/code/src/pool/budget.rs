//! Memory budget of the servers: which server is stopped when they exceed it or when it is idle.

use std::sync::Weak;
use std::time::Duration;

use lsp::server::{Order, Server};

use super::Servers;

#[derive(Debug, Clone)]
pub(super) struct Cost {
    /// Resident memory of all its processes in bytes.
    pub memory: u64,
    /// Number of questions in progress.
    pub asking: usize,
    /// Time since the last question ended, or since the start.
    pub idle: Duration,
}

/// A server that is idle for this long is stopped.
pub(super) const IDLE: Duration = Duration::from_secs(15 * 60);

/// Returns the number of the server to stop next, and whether it alone exceeds the budget; `None` if all may stay. A server in
/// use stays, because the question would start it again.
pub(super) fn next(costs: &[Cost], budget: u64) -> Option<(usize, bool)> {
    if let Some(alone) = costs.iter().position(|cost| cost.memory > budget) {
        return Some((alone, true));
    }
    let are_over = costs.iter().map(|cost| cost.memory).sum::<u64>() > budget;
    let may_stop = |number: &usize| costs[*number].asking == 0 && (are_over || costs[*number].idle >= IDLE);
    let least_used = (0..costs.len()).filter(may_stop).max_by_key(|number| costs[*number].idle);
    least_used.map(|number| (number, false))
}

/// Returns the default budget: two fifths of the machine's memory, at most 8 GiB, because rust-analyzer needs more than 4
/// for a workspace of 300,000 lines.
pub(super) fn default_budget() -> u64 {
    const MOST: u64 = 8 << 30;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    let total = kib.map(|kib| kib * 1024).or_else(system::total_memory);
    total.map_or(MOST, |total| (total / 5 * 2).min(MOST))
}

/// Keeps the servers within their budget until none is left. Memory is measured.
pub(super) async fn keep_within(servers: Weak<Servers>, budget: u64, every: Duration) {
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
        let cost = |(memory, server): &(u64, Server)| {
            let (asking, idle) = server.in_use();
            Cost { memory: *memory, asking, idle }
        };
        let mut costs: Vec<Cost> = up.iter().map(cost).collect();
        while let Some((number, is_over)) = next(&costs, budget) {
            costs.remove(number);
            let (_, server) = up.remove(number);
            server.order(if is_over { Order::OverBudget } else { Order::Park }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_idle_one_goes_first() {
        let cost = |memory, asking, idle| Cost { memory, asking, idle: Duration::from_secs(idle) };
        let check = |costs: &[Cost], wanted: Option<(usize, bool)>| assert_eq!(next(costs, 100), wanted, "{costs:?}");
        check(&[cost(60, 0, 9), cost(40, 0, 20)], None);
        check(&[cost(60, 0, 9), cost(50, 0, 20)], Some((1, false)));
        check(&[cost(60, 0, 9), cost(50, 1, 20)], Some((0, false)));
        check(&[cost(60, 1, 9), cost(50, 1, 20)], None);
        check(&[cost(30, 0, 9), cost(101, 1, 0)], Some((1, true)));
        check(&[cost(3, 0, 899), cost(1, 0, 900), cost(1, 1, 9000)], Some((1, false)));
        check(&[], None);
    }

    #[test]
    fn the_default_is_a_part_of_this_machine() {
        assert!((256 << 20..=8 << 30).contains(&default_budget()));
    }
}
