//! The signals that a command receives while an evaluation runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};

use super::millis;
use crate::exit::Failure;

/// The signals that this process has received. A second signal of a kind kills it, once [`GRACE`] is over.
#[derive(Clone)]
pub(super) struct Signals {
    interrupt: Arc<AtomicU64>,
    end: Arc<AtomicU64>,
}

/// How long a withdrawal or an interrupt may take before the same signal kills this command. `timeout` signals its child and
/// then its group; if that killed this command at once, queued code would run later.
const GRACE: Duration = Duration::from_secs(2);

impl Signals {
    pub(super) fn listen() -> Result<Signals, Failure> {
        let told = Signals { interrupt: Arc::default(), end: Arc::default() };
        let began = Instant::now();
        for (signal, first) in [(Signal::INT, &told.interrupt), (Signal::TERM, &told.end), (Signal::HUP, &told.end)] {
            // Respect `nohup`.
            if system::is_ignored(signal) {
                continue;
            }
            let first = first.clone();
            let act = move || {
                // Never 0, which means that no signal came.
                let now = millis(began.elapsed()).saturating_add(1);
                let came = first.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst);
                if came.is_err_and(|first| now.saturating_sub(first) > millis(GRACE)) {
                    let _ = kill_process(getpid(), Signal::KILL);
                }
            };
            #[expect(unsafe_code, reason = "a signal's handler may do only what is safe in one")]
            // SAFETY: the handler reads the monotonic clock, stores a number and makes system calls; all of these are async-signal-safe
            // (signal-safety(7)), and nothing in it allocates, locks or panics.
            let registered = unsafe { signal_hook_registry::register(signal.as_raw(), act) };
            registered.map_err(|error| Failure::new(format_args!("cannot listen for signals: {error}")))?;
        }
        Ok(told)
    }

    /// Forgets an earlier Ctrl-C, for the next evaluation.
    pub(super) fn reset(&self) {
        self.interrupt.store(0, Ordering::SeqCst);
    }

    /// True after Ctrl-C.
    pub(super) fn to_interrupt(&self) -> bool {
        self.interrupt.load(Ordering::SeqCst) > 0
    }

    /// True after a kill or a hangup.
    pub(super) fn to_end(&self) -> bool {
        self.end.load(Ordering::SeqCst) > 0
    }
}
