//! Notifies the user by a program from their own configuration.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use project::visible;

/// The time limit of the program; a window that it opens continues without it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval for checking if it exited.
const LOOK: Duration = Duration::from_millis(100);

/// The maximum number of concurrent programs, for an agent that asks many questions.
const AT_ONCE: usize = 8;
/// The number of running programs.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Starts the program; false if it cannot be started. `failed` is called if it reports a failure.
pub(crate) fn notify(words: &[String], id: &str, title: &str, failed: impl FnOnce() + Send + 'static) -> bool {
    let Some((program, first)) = words.split_first() else { return false };
    if RUNNING.fetch_add(1, Ordering::Relaxed) >= AT_ONCE {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        tracing::warn!(program, question = id, "{AT_ONCE} run, so the user is not notified of this one");
        return false;
    }
    let title = visible(title);
    // A title must not look like an option.
    let title = if title.starts_with('-') { format!(" {title}") } else { title };
    let started = Command::new(program)
        .args(first)
        .args([id, &title])
        .env("HOB_QUESTION", id)
        .env("HOB_TITLE", &title)
        // The checkout is not the working directory, so a relative path finds nothing in it.
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
            tracing::warn!(%error, program, "the notification program cannot be started");
            false
        }
    }
}

/// Waits for the program, and kills it on a timeout. Returns false if it reports a failure. A program that is still
/// running, such as a window, has notified the user.
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
            // It may have just exited.
            is_killed = child.kill().is_ok();
        }
        std::thread::sleep(LOOK);
    }
}
