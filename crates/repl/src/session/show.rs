//! Converts an evaluation's record to the result for agents, within its byte limit.

use std::time::Instant;

use process::output::text::{Excerpt, Shape, excerpt, excerpt_of_parts, grouped};

use super::RawOutput;
use super::capture::{Capture, Part};
use super::machine::EvalRecord;
use crate::result::{Behind, Between, ByteCounts, Completion, EvalResult, Starting, Truncated};
use crate::text;

/// The limit per stream for the output between two evaluations, in bytes.
const BETWEEN: usize = 2_000;

/// The inputs of a result besides the evaluation's record.
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
    /// The amount of each stream that its reader received before.
    pub(super) since: Option<[u64; 2]>,
}

/// Returns the result in its present state.
pub(super) fn result(record: &EvalRecord, frame: &Frame<'_>, now: Instant) -> EvalResult {
    // An incomplete character at the end is shown once it is complete.
    let part = |side: usize| {
        let (capture, since) = (&record.output[side], frame.since.unwrap_or_default()[side]);
        let part = capture.part(since);
        if record.status.is_final() { part } else { part.until(capture.whole_length().saturating_sub(since)) }
    };
    let (out, err) = (part(0), part(1));
    // Errors matter: standard error may take half, and each stream gets the space that the other leaves.
    let small = |part: &Part<'_>| usize::try_from(part.total).unwrap_or(usize::MAX);
    let err_room = small(&err).min(frame.max_bytes / 2).max(frame.max_bytes.saturating_sub(small(&out)));
    let out_room = frame.max_bytes.saturating_sub(small(&err).min(err_room));
    let (out, err) = (show(&out, out_room), show(&err, err_room));
    let mut notes = [record.notes.as_slice(), &record.verdict.notes].concat();
    if out.lossy || err.lossy {
        notes.push("Some bytes are not UTF-8 and are shown as \u{FFFD}; the log keeps them as they are.".to_owned());
    }
    let shown = |excerpt: &Excerpt, side: usize| {
        // The oldest bytes, which the reader already received, are dropped first.
        let dropped = frame.dropped[side].saturating_sub(frame.since.unwrap_or_default()[side]);
        ByteCounts { total: excerpt.total, shown: excerpt.shown, dropped }
    };
    let truncated =
        (out.omitted + err.omitted > 0).then(|| Truncated { stdout: shown(&out, 0), stderr: shown(&err, 1) });
    let between = match frame.since {
        None => record.between.each_ref().map(|between| show(&between.part(0), BETWEEN).text),
        Some(_) => Default::default(),
    };
    let [stdout, stderr] = between;
    let between = Between { stdout, stderr };
    let mut within = |what: &str, text: &str| {
        let shape = Shape { max_bytes: frame.max_bytes, max_line: usize::MAX, strip: false, fold: 0 };
        let cut = excerpt(text.as_bytes(), &shape);
        if cut.omitted > 0 {
            notes.push(format!(
                "{} of {} bytes of the {what} are shown; repl_wait {{\"eval\": {}, \"max_bytes\": {}}} shows it whole.",
                grouped(cut.shown),
                grouped(cut.total),
                frame.eval,
                cut.total
            ));
        }
        cut.text
    };
    let value = record.verdict.value.as_deref().map(|value| within("value", value));
    let exception = record.verdict.exception.as_deref().map(|exception| within("exception", exception));
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
        exception,
        duration_ms: (ran.as_secs_f64() * 1e5).round() / 100.0,
        cpu_ms: record.cpu.map(|cpu| u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX)),
        truncated,
        given_before: frame.since.map(|[out, err]| out + err).filter(|given| *given > 0),
        cursor: frame.cursor,
        between: (between != Between::default()).then_some(between),
        queue_depth: frame.queue_depth,
        code: (!record.status.is_final()).then(|| text::headline(&record.code)),
        behind: frame.behind.clone(),
        starting: frame.starting.clone(),
        uninterruptible: frame.uninterruptible,
        notes,
        pictures: record.verdict.pictures.clone(),
    }
}

/// Returns the bytes exactly as printed.
pub(super) fn raw(record: &EvalRecord) -> RawOutput {
    let [(stdout, cut), (stderr, also)] = record.output.each_ref().map(Capture::bytes);
    RawOutput { stdout, stderr, truncated: cut || also }
}

fn show(part: &Part<'_>, max_bytes: usize) -> Excerpt {
    let shape = Shape { max_bytes, ..Shape::default() };
    match part.missing() {
        0 if part.tail.is_empty() => excerpt(part.head, &shape),
        0 => excerpt(&[part.head, &part.tail].concat(), &shape),
        _ => excerpt_of_parts(part.head, &part.tail, part.total, &shape),
    }
}
