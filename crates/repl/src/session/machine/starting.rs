//! Installs the markers, from the start of the process to its first prompt.

use std::time::Instant;

use super::super::capture::Capture;
use super::super::{SessionEvent, Stream};
use super::resynchronization::{Sync, SyncReason};
use super::{Action, Machine, Phase};
use crate::adapter::{InstallStep, Printed};
use crate::load::LoadRecord;
use crate::result::{Completion, Status};

/// The length at which an unfinished line is logged.
const LONG_LINE: usize = 64 * 1024;

impl Machine {
    pub(super) fn starting_marker(&mut self, number: Option<u64>, now: Instant) {
        let Phase::Starting { unnumbered, .. } = &mut self.phase else { return };
        if number.is_some() {
            if self.sides.iter().all(|side| side.number > 0) {
                self.synchronize_start(now);
            }
            return;
        }
        *unnumbered += 1;
        let count = *unnumbered;
        match self.adapter.unnumbered(&self.nonce, count) {
            InstallStep::Wait => {}
            InstallStep::Write(bytes) => self.write(bytes, None, 0),
            InstallStep::Fallback => {
                self.completion = Completion::Marker;
                self.synchronize_start(now);
            }
        }
    }

    /// Sends the first barrier: after it, nothing more of the install lines is printed.
    fn synchronize_start(&mut self, now: Instant) {
        self.number = self.sides[0].number;
        self.issued = self.number;
        let sync = Sync::new(SyncReason::Start, None, now);
        self.phase = Phase::Syncing(Box::new(sync));
        self.send_barrier(now);
    }

    /// Logs whole lines only, before the first marker: the incomplete rest is the REPL's own prompt.
    pub(super) fn log_lines(&mut self, stream: Stream, bytes: &[u8]) {
        let open = &mut self.unlogged[stream as usize];
        open.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', open).map_or(0, |at| at + 1);
        let whole = if open.len() - whole > LONG_LINE { open.len() } else { whole };
        if whole > 0 {
            let mut bytes: Vec<u8> = open.drain(..whole).collect();
            if stream == Stream::Stderr {
                if self.installing {
                    return;
                }
                if let Some(at) = self.find_installation(&bytes) {
                    self.installing = true;
                    bytes.truncate(at);
                }
            }
            // The REPL's answer to the installation may come before the marker on the other stream.
            let bytes = self.adapter.without_barriers(&bytes, &self.nonce);
            if !bytes.is_empty() {
                self.actions.push(Action::Log { stream, bytes });
            }
        }
    }

    /// Returns the position on standard error where the messages about hob's own lines begin.
    fn find_installation(&self, stderr: &[u8]) -> Option<usize> {
        memchr::memmem::find(stderr, &self.adapter.install_begins(&self.nonce)?)
    }

    /// Removes those messages. If there are no others, they are kept: they may explain why the program exited.
    pub(super) fn trim_errors(&mut self, keep: bool) {
        let (bytes, _) = self.banner[1].bytes();
        let Some(at) = self.find_installation(&bytes) else { return };
        if at > 0 || !keep {
            self.banner[1] = Capture::new();
            self.banner[1].push(&bytes[..at]);
        }
    }

    /// Logs the incomplete rest, for a program that exited before its first prompt.
    pub(super) fn log_rest(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let bytes = std::mem::take(&mut self.unlogged[stream as usize]);
            if !bytes.is_empty() {
                self.actions.push(Action::Log { stream, bytes });
            }
        }
    }

    pub(super) fn started(&mut self, now: Instant) {
        self.trim_banner();
        self.unlogged = Default::default();
        let (stdout, stderr) = (self.banner(Stream::Stdout), self.banner(Stream::Stderr));
        let printed =
            Printed { code: "", stdout: &stdout, stderr: &stderr, payload: &self.payload, interrupting: false };
        let load = self.adapter.classify(printed).load;
        if let Some(load) = load {
            self.publish_load(load);
        }
        self.prompted = true;
        for queued in &self.queue {
            self.records.running(queued.eval).status = Status::Queued;
        }
        self.actions.push(Action::Emit(SessionEvent::Started));
        self.phase = Phase::Idle { since: now };
    }

    /// Removes from the banner the REPL's own prompts, printed before ours was installed, and its answers to the
    /// installation.
    fn trim_banner(&mut self) {
        let (bytes, _) = self.banner[0].bytes();
        let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        self.banner[0] = Capture::new();
        self.banner[0].push(&bytes[..end]);
        self.trim_errors(false);
        let said = self.adapter.without_barriers(&self.banner[1].bytes().0, &self.nonce);
        self.banner[1] = Capture::new();
        self.banner[1].push(&said);
    }

    pub(super) fn publish_load(&mut self, load: LoadRecord) {
        self.cut_load = None;
        self.load = load.continue_from(&self.load);
        self.actions.push(Action::Loaded(self.load.clone()));
    }

    pub(super) fn start_timed_out(&mut self, now: Instant) {
        if self.has_terminal() {
            return self.started(now);
        }
        let limit = super::minutes(self.bounds.start);
        self.stop(format!("it printed no prompt within {limit}"), false);
    }
}
