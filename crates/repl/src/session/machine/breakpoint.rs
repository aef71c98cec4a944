//! A REPL that stopped at a breakpoint prints its place at each prompt, after the marker and without a newline. That is
//! not output of the next evaluation, so answers leave it out; the log keeps it.

use super::super::Stream;
use super::super::capture::Capture;
use super::Machine;

/// What is known of a breakpoint.
#[derive(Debug, Default)]
pub(super) struct Breakpoint {
    /// What is printed at each prompt while the breakpoint lasts.
    context: Option<Vec<u8>>,
    /// True if a prompt came that no output has followed yet.
    due: bool,
}

impl Breakpoint {
    /// Call when a prompt came on standard output.
    pub(super) fn prompted(&mut self) {
        self.due = self.context.is_some();
    }
}

impl Machine {
    /// The evaluation stopped at a breakpoint.
    pub(super) fn stopped_at_breakpoint(&mut self, eval: u64) {
        let record = self.records.running(eval);
        let stopped = self.adapter.stopped(&String::from_utf8_lossy(&record.output[0].bytes().0));
        record.notes.push(stopped.note);
        self.breakpoint = Breakpoint { context: stopped.context.map(String::into_bytes), due: true };
        // The text may have come before the marker on the other stream that reported the breakpoint.
        let between = self.between[Stream::Stdout as usize].bytes().0;
        let rest = self.without_context(&between);
        if rest.len() < between.len() {
            let mut kept = Capture::new();
            kept.push(rest);
            self.between[Stream::Stdout as usize] = kept;
        }
    }

    /// Standard output without what a prompt at a breakpoint adds. Where that is missing, the breakpoint is over.
    pub(super) fn without_context<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if bytes.is_empty() || !std::mem::take(&mut self.breakpoint.due) {
            return bytes;
        }
        match self.breakpoint.context.as_ref().and_then(|context| bytes.strip_prefix(context.as_slice())) {
            Some(rest) => rest,
            None => {
                self.breakpoint.context = None;
                bytes
            }
        }
    }
}
