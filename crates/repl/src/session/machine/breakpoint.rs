//! A REPL that stopped at a breakpoint prints its location at each prompt, after the marker and without a newline. That
//! is not output of the next evaluation, so answers leave it out; the log keeps it.

use super::super::Stream;
use super::super::capture::Capture;
use super::Machine;

/// The state of a breakpoint.
#[derive(Debug, Default)]
pub(super) struct Breakpoint {
    /// The text printed at each prompt while the breakpoint lasts.
    context: Option<Vec<u8>>,
    /// True if a prompt came that no output has followed yet.
    due: bool,
}

impl Breakpoint {
    /// Records a prompt on standard output.
    pub(super) fn prompted(&mut self) {
        self.due = self.context.is_some();
    }
}

impl Machine {
    /// Records that the evaluation stopped at a breakpoint.
    pub(super) fn stopped_at_breakpoint(&mut self, eval: u64) {
        let record = self.records.running(eval);
        let stopped = self.adapter.stopped(&String::from_utf8_lossy(&record.output[0].bytes().0));
        record.notes.push(stopped.note);
        self.breakpoint = Breakpoint { context: stopped.context.map(String::into_bytes), due: true };
        // The text may have arrived before the marker on the other stream that reported the breakpoint.
        let between = self.between[Stream::Stdout as usize].bytes().0;
        let rest = self.without_context(&between);
        if rest.len() < between.len() {
            let mut kept = Capture::new();
            kept.push(rest);
            self.between[Stream::Stdout as usize] = kept;
        }
    }

    /// Removes the text of a prompt at a breakpoint from standard output. If it is missing, the breakpoint is over.
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
