//! Tells the person of something by a program of their own configuration.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use project::visible;

/// How long the program may take; a window that it opens goes on without it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is looked whether it ended.
const LOOK: Duration = Duration::from_millis(100);

/// Starts the program; false if it cannot be started.
pub(crate) fn notify(words: &[String], id: &str, title: &str) -> bool {
    let Some((program, first)) = words.split_first() else { return false };
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
            std::thread::spawn(move || end(child));
            true
        }
        Err(error) => {
            tracing::warn!(%error, program, "what is to tell the person cannot be started");
            false
        }
    }
}

/// Waits for the program, and ends it when it takes too long.
fn end(mut child: Child) {
    let begun = Instant::now();
    while let Ok(None) = child.try_wait() {
        if begun.elapsed() > PATIENCE {
            // It may have ended just now.
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
}
