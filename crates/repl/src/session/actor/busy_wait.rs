//! Awake while an evaluation runs that will soon be over.
//!
//! While a REPL computes for a millisecond or two, everyone else is asleep, and so is the processor that its answer then
//! has to wake: that takes about as long as all the rest of the answer's way. So where one short evaluation follows the
//! other, the next is waited for awake, for as long as that may take. Between two looks everybody else goes first, and
//! where others needed the processor we sleep for a while: who gives way to them gets it back late.

use std::future::pending;
use std::time::{Duration, Instant};

/// How long an evaluation takes at most that is soon over: the smallest that GHCi can do takes one to three milliseconds.
const SOON: Duration = Duration::from_millis(5);

/// What follows an answer within this time follows in a row, as from a script; an agent first thinks.
const IN_A_ROW: Duration = Duration::from_millis(10);

/// Who comes back from giving way later than this has met others who compute. The programs of one evaluation take less.
const CROWDED: Duration = Duration::from_micros(500);

/// How often as long we sleep as usual after that: giving way costs a twentieth at most.
const REST: u32 = 20;

/// Keeps the runtime from going to sleep.
#[derive(Debug)]
pub(super) struct BusyWait {
    /// There is a processor besides the program's.
    able: bool,
    /// This evaluation is waited for awake.
    on: bool,
    /// Since when it runs.
    since: Option<Instant>,
    /// When the last one was over, if that was soon.
    over: Option<Instant>,
    /// Until when we sleep, since others compute.
    rests: Option<Instant>,
}

impl BusyWait {
    pub(super) fn new() -> BusyWait {
        let able = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        BusyWait { able, on: false, since: None, over: None, rests: None }
    }

    /// The program was given code.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        self.since.get_or_insert(now);
        let in_a_row = self.over.is_some_and(|over| now.saturating_duration_since(over) < IN_A_ROW);
        self.on = self.able && in_a_row && self.rests.is_none_or(|until| until <= now);
    }

    /// The evaluation is over.
    pub(super) fn end(&mut self) {
        self.on = false;
        self.over = self.since.take().filter(|since| since.elapsed() < SOON).map(|_| Instant::now());
    }

    /// Never resolves; polled with what is waited for, it has the runtime look again and again. Cancel safe.
    pub(super) async fn keep(&mut self) {
        while self.on {
            let gave_way = Instant::now();
            std::thread::yield_now();
            let away = gave_way.elapsed();
            if away > CROWDED {
                self.rests = Some(Instant::now() + away * REST);
            }
            self.on = away <= CROWDED && self.since.is_some_and(|since| since.elapsed() < SOON);
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

    /// Whether code that is handed over now would be waited for awake.
    fn looks(mut busy_wait: BusyWait) -> bool {
        busy_wait.begin();
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        assert!(pin!(busy_wait.keep()).poll(&mut Context::from_waker(&waker)).is_pending());
        woken.0.load(Ordering::Relaxed)
    }

    /// After an evaluation that was over so long ago.
    fn after(ago: Duration) -> BusyWait {
        let over = Instant::now().checked_sub(ago);
        BusyWait { able: true, on: false, since: None, over, rests: None }
    }

    #[test]
    fn only_what_follows_a_short_one_at_once_is_waited_for_awake() {
        // Later than now, so that it does not matter how long this test takes.
        let just_now = || BusyWait { over: Some(Instant::now() + HOUR), ..after(HOUR) };
        assert!(looks(just_now()));
        assert!(!looks(BusyWait { able: false, ..just_now() }), "there is one processor");
        assert!(!looks(BusyWait { over: None, ..just_now() }), "nobody knows how long it takes");
        assert!(!looks(BusyWait { rests: Some(Instant::now() + HOUR), ..just_now() }), "others compute");
        assert!(!looks(after(IN_A_ROW)), "it came late");
        let mut long = BusyWait { since: Instant::now().checked_sub(SOON), ..just_now() };
        long.end();
        assert!(!looks(long), "the last one was long");
    }

    #[tokio::test]
    async fn a_long_one_is_not_waited_for_awake_to_its_end() {
        let mut busy_wait = BusyWait { on: true, since: Instant::now().checked_sub(SOON), ..after(HOUR) };
        let ended = tokio::time::timeout(Duration::from_millis(20), busy_wait.keep()).await;
        assert!(ended.is_err() && !busy_wait.on);
    }
}
