//! Awake while an evaluation runs that will soon be over.
//!
//! While a REPL computes for a millisecond or two, everyone else is asleep, and so is the processor that its answer then
//! has to wake: that takes about as long as all the rest of the answer's way. So after an evaluation that was soon over
//! the next one is waited for awake, for as long as that may take.

use std::future::pending;
use std::time::{Duration, Instant};

use mcp::wire::LookOut;

/// How long an evaluation takes at most that is soon over: the smallest that GHCi can do takes one to three milliseconds.
const SOON: Duration = Duration::from_millis(5);

/// Who comes back from giving way later than this has met others who need the processor.
const CROWDED: Duration = Duration::from_micros(100);

/// Keeps the runtime from going to sleep.
#[derive(Debug)]
pub(super) struct Awake(LookOut);

impl Awake {
    pub(super) fn new() -> Awake {
        // With one processor the program would have to wait for us.
        let alone = std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        Awake(LookOut::new(if alone { Duration::ZERO } else { SOON }, SOON))
    }

    /// The program was given code.
    pub(super) fn begin(&mut self) {
        self.0.begin();
    }

    /// The evaluation is over.
    pub(super) fn end(&mut self) {
        self.0.found();
    }

    /// Never resolves; polled with what is waited for, it has the runtime look again and again. Cancel safe.
    pub(super) async fn keep(&mut self) {
        while self.0.goes_on() {
            let gave_way = Instant::now();
            std::thread::yield_now();
            if gave_way.elapsed() > CROWDED {
                self.0.give_up();
            }
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

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn looks_again(awake: &mut Awake) -> bool {
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        assert!(pin!(awake.keep()).poll(&mut Context::from_waker(&waker)).is_pending());
        woken.0.load(Ordering::Relaxed)
    }

    #[test]
    fn only_what_follows_a_short_one_is_waited_for_awake() {
        let minute = Duration::from_secs(60);
        let mut awake = Awake(LookOut::new(minute, minute));
        awake.begin();
        assert!(!looks_again(&mut awake), "nobody knows how long the first one takes");
        awake.end();
        assert!(!looks_again(&mut awake), "nothing runs");
        awake.begin();
        assert!(looks_again(&mut awake));
        let mut awake = Awake(LookOut::new(Duration::ZERO, minute));
        awake.begin();
        awake.end();
        awake.begin();
        assert!(!looks_again(&mut awake), "the last one was long");
    }

    #[test]
    fn a_long_one_is_not_waited_for_awake_to_its_end() {
        let mut awake = Awake(LookOut::new(Duration::from_secs(60), Duration::ZERO));
        awake.begin();
        awake.end();
        awake.begin();
        assert!(!looks_again(&mut awake));
    }
}
