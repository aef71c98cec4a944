//! Adaptive busy wait for short evaluations.
//!
//! While a REPL computes for a millisecond or two, the daemon and its processor go to sleep; waking takes about as long
//! as the rest of the answer's path. So if short evaluations follow one another, the actor waits for the next one
//! without sleeping. Between two polls other threads go first. If they needed the processor, busy waiting stops for a
//! while: a processor that was yielded to a computation comes back late.

use std::future::pending;
use std::time::{Duration, Instant};

/// The limit for a short evaluation: the smallest in GHCi takes one to three milliseconds.
const SOON: Duration = Duration::from_millis(5);

/// Code that follows an answer within this time comes from a script, not from an agent.
const IN_A_ROW: Duration = Duration::from_millis(10);

/// A longer yield met other computations. The programs of one evaluation take less.
const CROWDED: Duration = Duration::from_micros(500);

/// The pause of busy waiting after such a yield, as a multiple of its length: yielding costs 1/20 at most.
const BACK_OFF: u32 = 20;

/// Keeps the runtime from going to sleep.
#[derive(Debug)]
pub(super) struct BusyWait {
    /// True if there is a processor besides the program's.
    can_spin: bool,
    /// True if this evaluation is waited for without sleeping.
    spinning: bool,
    /// The start of the current evaluation.
    begun: Option<Instant>,
    /// The end of the last evaluation, if it was short.
    last_ended: Option<Instant>,
    /// The end of the pause in which others compute.
    off_until: Option<Instant>,
}

impl BusyWait {
    pub(super) fn new() -> BusyWait {
        let can_spin = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        BusyWait { can_spin, spinning: false, begun: None, last_ended: None, off_until: None }
    }

    /// Records that code was handed to the program.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        self.begun.get_or_insert(now);
        let in_a_row = self.last_ended.is_some_and(|last_ended| now.saturating_duration_since(last_ended) < IN_A_ROW);
        self.spinning = self.can_spin && in_a_row && self.off_until.is_none_or(|until| until <= now);
    }

    /// Records that the evaluation has ended.
    pub(super) fn end(&mut self) {
        self.spinning = false;
        self.last_ended = self.begun.take().filter(|begun| begun.elapsed() < SOON).map(|_| Instant::now());
    }

    /// Never resolves. Polled along with other futures, it makes the runtime poll them again at once. Cancel safe.
    pub(super) async fn spin(&mut self) {
        while self.spinning {
            let gave_way = Instant::now();
            std::thread::yield_now();
            let away = gave_way.elapsed();
            if away > CROWDED {
                self.off_until = Some(Instant::now() + away * BACK_OFF);
            }
            self.spinning = away <= CROWDED && self.begun.is_some_and(|begun| begun.elapsed() < SOON);
            tokio::task::yield_now().await;
        }
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the actor would busy-wait for code that is sent now.
    fn would_spin(mut busy_wait: BusyWait) -> bool {
        busy_wait.begin();
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        assert!(pin!(busy_wait.spin()).poll(&mut Context::from_waker(&waker)).is_pending());
        woken.0.load(Ordering::Relaxed)
    }

    /// Returns the state `ago` after a short evaluation.
    fn after(ago: Duration) -> BusyWait {
        let last_ended = Instant::now().checked_sub(ago);
        BusyWait { can_spin: true, spinning: false, begun: None, last_ended, off_until: None }
    }

    #[test]
    fn only_what_follows_a_short_one_at_once_is_waited_for_awake() {
        // This is later than now, so the duration of this test does not matter.
        let just_now = || BusyWait { last_ended: Some(Instant::now() + HOUR), ..after(HOUR) };
        assert!(would_spin(just_now()));
        assert!(!would_spin(BusyWait { can_spin: false, ..just_now() }), "there is one processor");
        assert!(!would_spin(BusyWait { last_ended: None, ..just_now() }), "nobody knows how long it takes");
        assert!(!would_spin(BusyWait { off_until: Some(Instant::now() + HOUR), ..just_now() }), "others compute");
        assert!(!would_spin(after(IN_A_ROW)), "it came late");
        let mut long = BusyWait { begun: Instant::now().checked_sub(SOON), ..just_now() };
        long.end();
        assert!(!would_spin(long), "the last one was long");
    }

    #[tokio::test]
    async fn a_long_one_is_not_waited_for_awake_to_its_end() {
        let mut busy_wait = BusyWait { spinning: true, begun: Instant::now().checked_sub(SOON), ..after(HOUR) };
        let ended = tokio::time::timeout(Duration::from_millis(20), busy_wait.spin()).await;
        assert!(ended.is_err() && !busy_wait.spinning);
    }
}
