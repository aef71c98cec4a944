//! Linux: the files in `/proc` stay open.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The clock of several processes and of the children they have reaped.
#[derive(Debug, Default)]
pub(crate) struct CpuClock(Vec<File>);

impl CpuClock {
    pub(crate) fn from_pids(pids: impl IntoIterator<Item = i32>) -> CpuClock {
        // A process that has exited has no file.
        CpuClock(pids.into_iter().filter_map(|pid| File::open(format!("/proc/{pid}/stat")).ok()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the clock's resolution: usually 10 ms.
    pub(crate) fn tick() -> Duration {
        Duration::from_secs(1) / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(0).max(1)
    }

    /// Returns the time so far; `None` if no process is left.
    pub(crate) fn now(&self) -> Option<Duration> {
        let ticks = self.0.iter().filter_map(ticks).reduce(|all, more| all + more)?;
        Some(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)))
    }
}

/// Reads user and system time of a process and of its reaped children: fields 14 to 17 of proc(5).
fn ticks(stat: &File) -> Option<u64> {
    let mut buffer = [0; 1024];
    let read = stat.read_at(&mut buffer, 0).ok()?;
    // The second field is a name in parentheses that may contain any character.
    let name_end = memchr::memrchr(b')', &buffer[..read])?;
    let mut fields = buffer.get(name_end + 2..read)?.split(|byte| *byte == b' ').skip(11);
    (0..4).map(|_| number(fields.next()?)).sum()
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}
