//! Tells the person of something by a program of their own configuration.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use project::visible;

/// How long the program may take; a window that it opens goes on without it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is looked whether it ended.
const LOOK: Duration = Duration::from_millis(100);

/// The most of them at once: an agent that asks very much starts no more.
const AT_ONCE: usize = 8;
/// How many run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Starts the program; false if it cannot be started. `failed` is called when it says that it failed.
pub(crate) fn notify(words: &[String], id: &str, title: &str, failed: impl FnOnce() + Send + 'static) -> bool {
    let Some((program, first)) = words.split_first() else { return false };
    if RUNNING.fetch_add(1, Ordering::Relaxed) >= AT_ONCE {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        tracing::warn!(program, question = id, "{AT_ONCE} run, so the person is not told of this one");
        return false;
    }
    let title = visible(title);
    // No title reads as an option.
    let title = if title.starts_with('-') { format!(" {title}") } else { title };
    let started = Command::new(program)
        .args(first)
        .args([id, &title])
        .env("HOB_QUESTION", id)
        .env("HOB_TITLE", &title)
        // Not the checkout: nothing of it is found by a relative path.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(child) => {
            std::thread::spawn(move || {
                let is_told = end(child);
                RUNNING.fetch_sub(1, Ordering::Relaxed);
                if !is_told {
                    failed();
                }
            });
            true
        }
        Err(error) => {
            RUNNING.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%error, program, "what is to tell the person cannot be started");
            false
        }
    }
}

/// Waits for the program, and ends it when it takes too long. False if it says that it failed; one that goes on, such as a
/// window, told the person.
fn end(mut child: Child) -> bool {
    let begun = Instant::now();
    let mut is_killed = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return is_killed || status.success(),
            Ok(None) => {}
            Err(_) => return true,
        }
        if begun.elapsed() > PATIENCE {
            // It may have ended just now.
            is_killed = child.kill().is_ok();
        }
        std::thread::sleep(LOOK);
    }
}
