//! The rows of sessions for faces, and the rule for a stuck evaluation.

use std::collections::HashMap;

use parking_lot::Mutex;
use project::dashboard::SessionRow;
use project::journal;

use crate::sessions::Repl;

/// An evaluation is stuck if it printed nothing for this long and uses no processor.
const SILENT: u64 = 5 * 60_000;
/// The shortest time between two looks at the processor time.
const WINDOW: u64 = 2_000;
/// The share of a processor, in percent, below which an evaluation uses none.
const REST: u64 = 5;

/// The rows of a daemon's sessions.
#[derive(Default)]
pub struct SessionRows {
    /// The looks at silent evaluations, by the session's process.
    looks: Mutex<HashMap<u32, CpuLook>>,
}

/// A look at the processor time of a silent evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuLook {
    at: u64,
    /// The time used so far, in milliseconds.
    used: u64,
    /// True if the look before it showed no use.
    is_idle: bool,
}

impl SessionRows {
    /// Returns the rows now.
    pub fn read(&self, repl: &Repl) -> Vec<SessionRow> {
        let now = journal::now();
        let sessions = repl.status_with_output();
        let mut looks = self.looks.lock();
        looks.retain(|pid, _| sessions.iter().any(|(info, _)| info.pid == Some(*pid) && info.current.is_some()));
        let rows = sessions.into_iter().map(|(info, printed)| {
            let running_since = info.evaluating_since().map(journal::time_of);
            let quiet_since = running_since.map(|began| printed.unwrap_or_default().max(began));
            let is_silent = quiet_since.is_some_and(|quiet| quiet + SILENT <= now);
            let is_stuck = is_silent && info.pid.is_some_and(|pid| is_idle(&mut looks, pid, now));
            let name = info.state.name().replace(' ', "_");
            SessionRow {
                id: format!("{}\u{1f}{}", info.worktree.display(), info.name),
                worktree: info.worktree.to_string_lossy().into_owned(),
                profile: info.profile.clone(),
                state: name,
                reason: info.reason.clone(),
                owner: info.owner.clone(),
                since: journal::time_of(info.started()),
                eval: info.current,
                code: if info.current.is_some() { info.code.clone() } else { String::new() },
                running_since,
                queued: info.queue_depth as u64,
                memory_mib: info.memory.map(|bytes| bytes >> 20),
                stuck: is_stuck.then(|| "no output for 5 minutes, and no processor time".to_owned()),
                name: info.name,
                is_server: false,
            }
        });
        rows.collect()
    }
}

/// Returns true if the last two looks at a session's processes show no use of a processor.
fn is_idle(looks: &mut HashMap<u32, CpuLook>, pid: u32, now: u64) -> bool {
    let former = looks.get(&pid).copied();
    if let Some(former) = former.filter(|former| former.at + WINDOW > now) {
        return former.is_idle;
    }
    let look = next_look(former, now, processor_time(pid));
    looks.insert(pid, look);
    look.is_idle
}

fn next_look(former: Option<CpuLook>, now: u64, used: u64) -> CpuLook {
    let is_rest = |former: CpuLook| used.saturating_sub(former.used) * 100 <= (now - former.at) * REST;
    CpuLook { at: now, used, is_idle: former.is_some_and(is_rest) }
}

/// Returns the processor time of the session that a process leads, in milliseconds.
fn processor_time(leader: u32) -> u64 {
    let leader = leader.cast_signed();
    let Some(first) = system::process(leader) else { return 0 };
    let is_member = |process: &system::Process| {
        if first.session == leader { process.session == leader } else { process.group == first.group }
    };
    let members = system::processes().filter_map(system::process).filter(is_member);
    let times = members.filter_map(|process| system::processor_time(process.pid));
    times.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_is_idle_if_two_looks_show_no_use() {
        let first = next_look(None, 10_000, 700);
        assert_eq!(first, CpuLook { at: 10_000, used: 700, is_idle: false });
        assert!(next_look(Some(first), 12_000, 800).is_idle, "100 ms of 2,000");
        assert!(!next_look(Some(first), 12_000, 801).is_idle);
        let mut looks = HashMap::from([(0, first)]);
        assert!(!is_idle(&mut looks, 0, 11_999), "too early for another look");
        assert!(is_idle(&mut looks, 0, 12_000), "there is no such process");
    }

    #[test]
    fn a_busy_process_is_seen() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let began = std::time::Instant::now();
        // The child is in this test's group, whose time only grows.
        while processor_time(child.id()) < 20 {
            assert!(began.elapsed().as_secs() < 60);
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
