//! The cost of calls, one line per attempt in `.hob/nodes/usage.jsonl`, and the daily budget for tokens that leave this machine.
//! Both survive a restart of the daemon.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::outcome::{Class, Tokens};

/// The setting of the daily budget.
pub const SETTING: &str = "nodes.tokens_per_day";
/// The file size in bytes after which the file is rotated. One old file is kept.
const FILE_MAX: u64 = 4 * 1024 * 1024;
const DAY: u64 = 24 * 60 * 60;

/// An attempt at a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// The time in seconds since 1970.
    pub at: u64,
    pub node: String,
    pub hash: String,
    pub model: String,
    pub class: Class,
    /// `null` if the server does not report them.
    pub tokens: Option<Tokens>,
    /// In the currency of the model's price; `null` if the price or the tokens are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The tokens that count towards the budget; an estimate if unknown.
    pub counted: u64,
    /// True if the prompt left this machine.
    pub leaves: bool,
}

/// The usage of a project.
#[derive(Debug)]
pub struct Usage {
    path: PathBuf,
    per_day: u64,
    /// The current day and its tokens so far; `None` before the first use.
    today: Mutex<Option<(u64, u64)>>,
    /// The current time in seconds since 1970.
    now: fn() -> u64,
}

impl Usage {
    /// Creates the usage. The file is read on first use.
    pub fn new(path: PathBuf, per_day: u64) -> Usage {
        Usage::at(path, per_day, now)
    }

    /// Creates the usage with another clock.
    #[doc(hidden)]
    pub fn at(path: PathBuf, per_day: u64, now: fn() -> u64) -> Usage {
        Usage { path, per_day, today: Mutex::default(), now }
    }

    /// Returns an error if the budget does not allow an attempt that leaves this machine.
    pub(crate) fn allows(&self, estimate: u64) -> Result<(), String> {
        let spent = self.spent_today();
        if spent.saturating_add(estimate) <= self.per_day {
            return Ok(());
        }
        Err(format!(
            "this attempt needs about {estimate} tokens and {spent} left the machine today; {SETTING} allows {} (per \
             UTC day)",
            self.per_day
        ))
    }

    /// Returns the daily token budget.
    pub fn per_day(&self) -> u64 {
        self.per_day
    }

    /// Returns the tokens that left this machine today.
    pub fn spent_today(&self) -> u64 {
        let day = (self.now)() / DAY;
        let mut today = self.today.lock();
        match *today {
            Some((of, spent)) if of == day => spent,
            _ => {
                let all = read_all(&self.path).unwrap_or_default();
                let of_today = all.iter().filter(|spent| spent.leaves && spent.at / DAY == day);
                let spent = of_today.fold(0, |sum: u64, spent| sum.saturating_add(spent.counted));
                *today = Some((day, spent));
                spent
            }
        }
    }

    /// Records an attempt. If it cannot be written, it still counts until the daemon exits.
    pub(crate) fn note(&self, mut spent: Spent) {
        spent.at = (self.now)();
        self.spent_today();
        if let (true, Some((_, today))) = (spent.leaves, self.today.lock().as_mut()) {
            *today = today.saturating_add(spent.counted);
        }
        if let Err(error) = self.append(&spent) {
            tracing::warn!(%error, "the usage of nodes could not be written");
        }
    }

    fn append(&self, spent: &Spent) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        if std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > FILE_MAX) {
            std::fs::rename(&self.path, rotated_path(&self.path))?;
        }
        let mut options = OpenOptions::new();
        let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = options.append(true).create(true).mode(0o600).custom_flags(nofollow).open(&self.path)?;
        file.write_all(format!("{}\n", serde_json::to_string(spent)?).as_bytes())
    }
}

/// Reads all recorded attempts, the oldest first.
///
/// # Errors
/// If a file cannot be read.
pub fn read_all(path: &Path) -> io::Result<Vec<Spent>> {
    let mut all = Vec::new();
    for path in [rotated_path(path), path.to_owned()] {
        let bytes = project::private::read(&path, 2 * FILE_MAX)?.unwrap_or_default();
        // A line truncated by a crash is skipped.
        all.extend(String::from_utf8_lossy(&bytes).lines().filter_map(|line| serde_json::from_str(line).ok()));
    }
    Ok(all)
}

fn rotated_path(path: &Path) -> PathBuf {
    path.with_extension("old.jsonl")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_day_s_budget_outlives_the_daemon_and_ends_with_the_day() {
        static NOW: AtomicU64 = AtomicU64::new(20_000 * DAY + 5);
        let place = tempfile::tempdir().expect("a directory");
        let open = || Usage::at(place.path().join("nodes/usage.jsonl"), 1_000, || NOW.load(Ordering::Relaxed));
        let spent = |counted, leaves| Spent {
            at: 0,
            node: "n".to_owned(),
            hash: "h".to_owned(),
            model: "m".to_owned(),
            class: Class::Done,
            tokens: None,
            cost: None,
            counted,
            leaves,
        };
        let usage = open();
        usage.note(spent(700, true));
        usage.note(spent(5_000, false));
        assert_eq!((usage.spent_today(), usage.allows(300)), (700, Ok(())));
        // After a restart.
        let usage = open();
        assert_eq!(
            usage.allows(301).unwrap_err(),
            "this attempt needs about 301 tokens and 700 left the machine today; nodes.tokens_per_day allows 1000 \
             (per UTC day)"
        );
        NOW.fetch_add(DAY, Ordering::Relaxed);
        assert_eq!(usage.allows(1_000), Ok(()));
        assert_eq!(read_all(&place.path().join("nodes/usage.jsonl")).expect("read").len(), 2);
    }
}
