//! Resource usage of a process, from `/proc`.

use anyhow::{Context, Result};

/// A process's memory in MiB.
pub(super) struct Memory {
    pub(super) anonymous: f64,
    pub(super) resident: f64,
}

impl Memory {
    pub(super) fn read(pid: u32) -> Result<Self> {
        Ok(Self { anonymous: status_field(pid, "RssAnon:")?, resident: status_field(pid, "VmRSS:")? })
    }

    /// Maximum resident memory so far.
    pub(super) fn peak(pid: u32) -> Result<f64> {
        status_field(pid, "VmHWM:")
    }
}

fn status_field(pid: u32, name: &str) -> Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("process {pid} is gone"))?;
    let line = text.lines().find(|line| line.starts_with(name)).with_context(|| format!("no {name} of {pid}"))?;
    let kib: f64 = line.split_whitespace().nth(1).unwrap_or_default().parse().context("no number")?;
    Ok(kib / 1024.0)
}

/// Returns the processor time used by a process in ms.
pub(super) fn processor_ms(pid: u32) -> Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/stat")).with_context(|| format!("process {pid} is gone"))?;
    // The name, in parentheses, may contain anything. After it stand the state and 10 numbers, then the times in user
    // and kernel mode (proc(5)), in ticks of 10 ms.
    let rest = text.rsplit(')').next().unwrap_or_default();
    let times = rest.split_whitespace().skip(11).take(2).map(|word| word.parse::<u64>().unwrap_or_default());
    Ok(times.sum::<u64>() as f64 * 10.0)
}
