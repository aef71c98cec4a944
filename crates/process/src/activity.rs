//! Activity of a session that should be idle: the processor time its threads want, and its processes younger than a
//! given age.
//!
//! A thread that waits for a processor counts like one that runs: on a busy machine even an endless loop gets little.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::group::Group;
use crate::procfs::Member;

/// The idle threshold: a thread that ran for less than one part in `REST_PART` of the window is idle, regardless of its
/// time in the run queue.
const REST_PART: u64 = 20;

/// The result of two observations of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Activity {
    /// The number of processors the session's threads wanted: 0.0 is idle, 1.0 a thread that never pauses, even if it
    /// got little time.
    pub wanted: f64,
    /// The number of processors they got.
    pub had: f64,
    /// The living processes below the given age except the group's leader, each with the short name of its program.
    pub young: Vec<(i32, String)>,
}

impl Activity {
    /// Observes twice, `window` apart. A process is young if it started within the last `age`. Empty if the session has
    /// ended.
    pub async fn observe(group: &Group, window: Duration, age: Duration) -> Activity {
        let begun = Instant::now();
        let before = sample(group).await;
        tokio::time::sleep(window).await;
        let (Some(before), Some(after)) = (before, sample(group).await) else { return Activity::default() };
        let passed = u64::try_from((after.at - before.at).as_nanos()).unwrap_or(u64::MAX).max(1);
        let (mut wanted, mut had) = (0, 0);
        for (thread, now) in after.times {
            // All the time of a new thread belongs to this window.
            let then = before.times.get(&thread).copied().unwrap_or_default();
            let (ran, queued) = (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1));
            had += ran;
            wanted += if ran >= passed / REST_PART { ran + queued } else { ran };
        }
        let young = system::start_time_ago(age + begun.elapsed());
        // Start times are coarse, and the leader may have started just before: it is the session itself.
        let young = after.members.into_iter().filter(|member| member.start >= young && member.pid != group.pid());
        Activity {
            wanted: wanted as f64 / passed as f64,
            had: had as f64 / passed as f64,
            young: young.map(|member| (member.pid, member.name)).collect(),
        }
    }
}

struct Sample {
    at: Instant,
    /// The times of each thread.
    times: HashMap<(i32, u64), (u64, u64)>,
    members: Vec<Member>,
}

async fn sample(group: &Group) -> Option<Sample> {
    let group = group.clone();
    let look = move || {
        let members = group.near_members();
        let at = Instant::now();
        let times = members.iter().flat_map(|member| {
            let times = system::thread_times(member.pid).flatten();
            times.map(move |time| ((member.pid, time.thread), (time.ran, time.queued)))
        });
        let times = times.collect();
        (!members.is_empty()).then_some(Sample { at, times, members })
    };
    tokio::task::spawn_blocking(look).await.ok()?
}
