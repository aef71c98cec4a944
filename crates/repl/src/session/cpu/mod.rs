//! Processor time of a session's processes, cheap enough to read at the start and the end of every evaluation. The actor's
//! memory measurement determines the processes.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(super) use linux::CpuClock;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub(super) use macos::CpuClock;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_runs_while_we_compute() {
        let clock = CpuClock::from_pids([std::process::id().cast_signed()]);
        let begun = clock.now().expect("our own file");
        let mut rounds = 0u64;
        while clock.now().expect("our own file") < begun + Duration::from_millis(50) {
            rounds = std::hint::black_box(rounds + 1);
        }
        assert_eq!(CpuClock::from_pids([-1]).now(), None);
    }
}
