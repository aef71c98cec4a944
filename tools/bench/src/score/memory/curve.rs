//! The memory of the servers over time, and the times at which they were parked.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::Value;

use super::worktree_of;

const EVERY: Duration = Duration::from_millis(250);
/// Maximum number of lines in the drawing.
const LINES: u64 = 60;

/// Memory in MiB by worktree at a moment.
type Sample = (Duration, BTreeMap<&'static str, f64>);

/// A measurement in progress.
pub(super) struct Measuring {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Curve>,
}

#[derive(Debug)]
pub(super) struct Curve {
    /// Time since the epoch.
    pub(super) began_ms: u64,
    samples: Vec<Sample>,
}

/// A server that was parked.
#[derive(Debug)]
pub(super) struct Parking {
    pub(super) at: Duration,
    pub(super) worktree: &'static str,
}

impl Measuring {
    pub(super) fn end(self) -> Curve {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("measuring does not panic")
    }
}

impl Curve {
    /// Measures the processes below a daemon until it is stopped.
    pub(super) fn begin(daemon: u64, scratch: PathBuf) -> Measuring {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = is_over.clone();
        let thread = std::thread::spawn(move || {
            let since = Instant::now();
            let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let mut samples = Vec::new();
            while !told.load(Ordering::Relaxed) {
                samples.push((since.elapsed(), sample(daemon, &scratch)));
                std::thread::sleep(EVERY);
            }
            Curve { began_ms: began.as_millis().try_into().unwrap_or_default(), samples }
        });
        Measuring { is_over, thread }
    }

    fn total((_, by): &Sample) -> f64 {
        by.values().sum()
    }

    pub(super) fn most(&self) -> f64 {
        self.samples.iter().map(Curve::total).fold(0.0, f64::max)
    }

    /// Returns the longest continuous time above a limit in MiB.
    pub(super) fn longest_above(&self, limit: f64) -> Duration {
        let (mut longest, mut since) = (Duration::ZERO, None);
        for sample in &self.samples {
            if Curve::total(sample) <= limit {
                // It dropped again some time after the previous sample.
                if let Some(begin) = since.take() {
                    longest = longest.max(sample.0 - begin);
                }
                continue;
            }
            let begin = *since.get_or_insert(sample.0);
            longest = longest.max(sample.0 - begin);
        }
        longest
    }

    /// Draws a line for each step, with the maximum of each.
    pub(super) fn drawn(&self, worktrees: &[&'static str], budget: f64) -> String {
        const CELL: f64 = 64.0;
        let over = self.samples.last().map_or(0, |(at, _)| at.as_secs());
        let step = (over / LINES).max(1);
        let mut drawn = format!("{:>6}", "s");
        worktrees.iter().for_each(|name| _ = write!(drawn, "{name:>7}"));
        drawn.push_str("    all\n");
        for begin in (0..=over).step_by(step as usize) {
            let of_it = self.samples.iter().filter(|(at, _)| (begin..begin + step).contains(&at.as_secs()));
            let Some((_, most)) = of_it.max_by(|a, b| Curve::total(a).total_cmp(&Curve::total(b))) else { continue };
            let _ = write!(drawn, "{begin:>6}");
            for name in worktrees {
                let _ = write!(drawn, "{:>7.0}", most.get(name).copied().unwrap_or_default());
            }
            let all: f64 = most.values().sum();
            let (cells, limit) = ((all / CELL).round() as usize, (budget / CELL).round() as usize);
            let bar: String = (0..cells.max(limit + 1))
                .map(|at| {
                    if at == limit {
                        '|'
                    } else if at < cells {
                        '#'
                    } else {
                        ' '
                    }
                })
                .collect();
            let _ = writeln!(drawn, "{all:>7.0} {}", bar.trim_end());
        }
        drawn
    }
}

/// Returns the resident memory of all other processes below the daemon, by their worktree.
fn sample(daemon: u64, scratch: &Path) -> BTreeMap<&'static str, f64> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let parents: BTreeMap<u64, u64> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let own = std::fs::read_link(format!("/proc/{daemon}/exe")).ok();
    let mut by = BTreeMap::new();
    for pid in parents.keys() {
        let mut above = *pid;
        while above != daemon && above > 1 {
            above = parents.get(&above).copied().unwrap_or_default();
        }
        // Guardians run the daemon's own program.
        if above != daemon || std::fs::read_link(format!("/proc/{pid}/exe")).ok() == own {
            continue;
        }
        let read = || {
            let place = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
            let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
            let pages: f64 = statm.split(' ').nth(1)?.parse().ok()?;
            Some((worktree_of(scratch, &place)?, pages * 4096.0 / f64::from(1 << 20)))
        };
        if let Some((worktree, mib)) = read() {
            *by.entry(worktree).or_default() += mib;
        }
    }
    by
}

fn parent(pid: u64) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The preceding name, in parentheses, may contain anything (proc(5)).
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Reads the servers that were parked from the journal.
pub(super) fn parkings(journal: &str, scratch: &Path, began_ms: u64) -> Result<Vec<Parking>> {
    let mut parked = Vec::new();
    for line in journal.lines() {
        let entry: Value = serde_json::from_str(line).context("a line of the journal is no JSON")?;
        if entry["record"] != "code_server_ended" || entry["why"] != "parked" {
            continue;
        }
        let at = Duration::from_millis(entry["at_ms"].as_u64().unwrap_or_default().saturating_sub(began_ms));
        let root = entry["root"].as_str().unwrap_or_default();
        parked.push(Parking { at, worktree: worktree_of(scratch, Path::new(root)).unwrap_or("elsewhere") });
    }
    Ok(parked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_counts_until_it_is_below() {
        let curve = |totals: &[f64]| Curve {
            began_ms: 0,
            samples: totals
                .iter()
                .enumerate()
                .map(|(number, total)| (Duration::from_secs(number as u64), BTreeMap::from([("main", *total)])))
                .collect(),
        };
        assert_eq!(curve(&[1.0, 5.0, 5.0, 1.0, 5.0]).longest_above(4.0), Duration::from_secs(2));
        assert_eq!(curve(&[5.0, 5.0, 5.0, 5.0]).longest_above(4.0), Duration::from_secs(3));
        assert_eq!(curve(&[1.0, 4.0]).longest_above(4.0), Duration::ZERO);
        let drawn = curve(&[64.0, 192.0]).drawn(&["main"], 128.0);
        assert_eq!(drawn, "     s   main    all\n     0     64     64 # |\n     1    192    192 ##|\n");
    }
}
