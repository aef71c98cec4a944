//! The one timeout of the tests.

use std::time::{Duration, Instant};

/// Returns the timeout for an event that should have happened long before. `HOB_TEST_PATIENCE` multiplies it on slow
/// machines.
pub fn patience() -> Duration {
    let factor = std::env::var("HOB_TEST_PATIENCE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    Duration::from_secs(60).mul_f64(factor.clamp(0.1, 100.0))
}

/// Polls until `ask` returns a value.
///
/// # Panics
/// If there is no value within [`patience`]; `what` names it in the message.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience();
    loop {
        if let Some(value) = ask() {
            return value;
        }
        assert!(Instant::now() < end, "waited {:?} in vain for: {what}", patience());
        std::thread::sleep(Duration::from_millis(5));
    }
}
