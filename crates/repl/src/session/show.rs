//! A remembered evaluation → the result that agents see, within its budget of bytes.

use std::time::Instant;

use process::output::text::{Excerpt, Shape, excerpt, excerpt_of_parts, grouped};

use super::RawOutput;
use super::capture::Capture;
use super::machine::EvalRecord;
use crate::result::{Behind, Between, Completion, EvalResult, Shown, Starting, Truncated};
use crate::text;

/// Bytes shown per stream of the output between two evaluations.
const BETWEEN: usize = 2_000;

/// What a result needs besides the evaluation's record.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    pub(super) session: &'a str,
    pub(super) eval: u64,
    pub(super) completion: Completion,
    pub(super) queue_depth: usize,
    pub(super) behind: Option<Behind>,
    pub(super) starting: Option<Starting>,
    pub(super) uninterruptible: bool,
    pub(super) cursor: u64,
    /// Bytes of this evaluation that the log no longer has, per stream.
    pub(super) dropped: [u64; 2],
    pub(super) max_bytes: usize,
}

/// The result in its present state.
pub(super) fn result(record: &EvalRecord, frame: &Frame<'_>, now: Instant) -> EvalResult {
    let [out, err] = &record.output;
    // Errors matter: standard error may take half, and each stream gets what the other leaves.
    let small = |capture: &Capture| usize::try_from(capture.total()).unwrap_or(usize::MAX);
    let err_room = small(err).min(frame.max_bytes / 2).max(frame.max_bytes.saturating_sub(small(out)));
    let out_room = frame.max_bytes.saturating_sub(small(err).min(err_room));
    let (out, err) = (show(out, out_room), show(err, err_room));
    let mut notes = record.notes.clone();
    if out.lossy || err.lossy {
        notes.push("Some bytes are not UTF-8 and are shown as \u{FFFD}; the log keeps them as they are.".to_owned());
    }
    let shown = |excerpt: &Excerpt, dropped| Shown { total: excerpt.total, shown: excerpt.shown, dropped };
    let truncated = (out.omitted + err.omitted > 0)
        .then(|| Truncated { stdout: shown(&out, frame.dropped[0]), stderr: shown(&err, frame.dropped[1]) });
    let between =
        Between { stdout: show(&record.between[0], BETWEEN).text, stderr: show(&record.between[1], BETWEEN).text };
    let value = record.verdict.value.as_deref().map(|value| {
        let shape = Shape { max_bytes: frame.max_bytes, max_line: usize::MAX, strip: false, fold: 0 };
        let cut = excerpt(value.as_bytes(), &shape);
        if cut.omitted > 0 {
            notes.push(format!(
                "{} of {} bytes of the value are shown; repl_wait {{\"eval\": {}, \"max_bytes\": {}}} shows it whole.",
                grouped(cut.shown),
                grouped(cut.total),
                frame.eval,
                cut.total
            ));
        }
        cut.text
    });
    let ran = record.started.map(|started| record.ended.unwrap_or(now) - started).unwrap_or_default();
    EvalResult {
        session: frame.session.to_owned(),
        eval: frame.eval,
        status: record.status,
        completion: frame.completion,
        stdout: out.text,
        stderr: err.text,
        value,
        type_: record.verdict.type_.clone(),
        diagnostics: record.verdict.diagnostics.clone(),
        exception: record.verdict.exception.clone(),
        duration_ms: (ran.as_secs_f64() * 1e5).round() / 100.0,
        cpu_ms: record.cpu.map(|cpu| u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX)),
        truncated,
        cursor: frame.cursor,
        between: (between != Between::default()).then_some(between),
        queue_depth: frame.queue_depth,
        code: (!record.status.is_final()).then(|| text::headline(&record.code)),
        behind: frame.behind.clone(),
        starting: frame.starting.clone(),
        uninterruptible: frame.uninterruptible,
        notes,
    }
}

/// The bytes exactly as printed.
pub(super) fn raw(record: &EvalRecord) -> RawOutput {
    let [(stdout, cut), (stderr, also)] = record.output.each_ref().map(Capture::bytes);
    RawOutput { stdout, stderr, truncated: cut || also }
}

fn show(capture: &Capture, max_bytes: usize) -> Excerpt {
    let shape = Shape { max_bytes, ..Shape::default() };
    match capture.ends() {
        (head, tail, 0) if tail.is_empty() => excerpt(head, &shape),
        (_, _, 0) => excerpt(&capture.bytes().0, &shape),
        (head, tail, _) => excerpt_of_parts(head, &tail, capture.total(), &shape),
    }
}
