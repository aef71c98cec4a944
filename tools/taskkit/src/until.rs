//! Polling of foreign state, such as files and other processes.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long tasks wait for an event that should happen soon.
const PATIENCE: Duration = Duration::from_secs(120);

/// Polls until `look` returns a value. Fails after two minutes; `what` names the value in the error.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = look()? {
            return Ok(value);
        }
        if Instant::now() > deadline {
            bail!("waited {PATIENCE:?} for {what}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
