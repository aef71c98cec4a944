//! The compiler's diagnostics: a code, a place, a message, and where possible hints and a fix. The codes are listed in
//! [`code`].

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

/// A range of bytes in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The end, exclusive.
    pub end: u32,
}

impl Span {
    /// A span; texts larger than 4 GiB are rejected earlier.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The length in bytes.
    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// From the start of one span to the end of another.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }

    /// The text of the span; empty if the span belongs to another source.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted, but something in it is probably a mistake.
    Warning,
}

/// The step of the compiler that a code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Characters and grammar.
    Parse,
    /// Names: modules, functions, types, fields of machines.
    Resolve,
    /// Types, lengths, classes.
    Types,
    /// Refinements and preconditions.
    Refinement,
    /// Matches that leave something out.
    Exhaustive,
    /// State machines.
    Fsm,
    /// Code generation for a valid program.
    Compile,
}

impl Stage {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Parse => "parse",
            Stage::Resolve => "resolve",
            Stage::Types => "types",
            Stage::Refinement => "refinement",
            Stage::Exhaustive => "exhaustive",
            Stage::Fsm => "fsm",
            Stage::Compile => "compile",
        }
    }
}

/// A diagnostic's number, printed as `C0123`. The hundreds are the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u16);

impl Code {
    /// The stage that reports it.
    pub fn stage(self) -> Stage {
        match self.0 / 100 {
            0 | 1 => Stage::Parse,
            2 => Stage::Resolve,
            3 => Stage::Types,
            4 => Stage::Refinement,
            5 => Stage::Exhaustive,
            6 => Stage::Fsm,
            _ => Stage::Compile,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "C{:04}", self.0)
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: Code = Code($number);)*

        /// All codes with their meanings, in order.
        pub const ALL: &[(Code, &str)] = &[$((Code($number), concat!($($doc),*))),*];
    };
}

pub mod code {
    use super::Code;

    /// The code for a refuted condition, and the code for an unproved one.
    #[derive(Debug, Clone, Copy)]
    pub struct Pair(pub Code, pub Code);

    codes! {
        /// A character that is not part of the language.
        CHARACTER = 1;
        /// A string, atom, character list or interpolation without its end.
        UNTERMINATED = 2;
        /// A malformed number.
        NUMBER = 3;
        /// The text is larger than the compiler takes.
        TOO_LARGE = 4;
        /// How many more there are than are told.
        TOO_MANY = 5;
        /// A name that is longer than names can be.
        LONG_NAME = 6;
        /// A module that takes more work to check than a module may.
        TOO_MUCH = 7;
        /// Something else was expected here.
        EXPECTED = 101;
        /// A block without its `end`.
        MISSING_END = 102;
        /// An `end` that closes nothing.
        STRAY_END = 103;
        /// Something that stands outside a module.
        OUTSIDE_MODULE = 104;
        /// Nested deeper than the compiler takes.
        TOO_DEEP = 105;
        /// Syntax of another language, or of another time.
        FOREIGN = 106;
        /// A module that is not found.
        UNKNOWN_MODULE = 201;
        /// A name that is not defined.
        UNKNOWN_NAME = 202;
        /// A type that is not defined.
        UNKNOWN_TYPE = 203;
        /// A constructor that is not defined.
        UNKNOWN_CONSTRUCTOR = 204;
        /// An export of something that is not there.
        UNKNOWN_EXPORT = 205;
        /// Defined twice.
        DUPLICATE = 206;
        /// A class that is not defined.
        UNKNOWN_CLASS = 207;
        /// A record that is not defined.
        UNKNOWN_RECORD = 208;
        /// A name that means two things.
        AMBIGUOUS = 209;
        /// A module name that would hide one of the Erlang system's.
        RESERVED_MODULE = 210;
        /// Modules that import each other.
        IMPORT_CYCLE = 211;
        /// A redefinition of a type or a class of the library.
        ANEW = 212;
        /// Two types do not fit.
        MISMATCH = 301;
        /// Wrong number of arguments.
        ARITY = 302;
        /// A field that the record does not have.
        UNKNOWN_FIELD = 303;
        /// A field that is missing at construction.
        MISSING_FIELD = 304;
        /// An instance that is missing or incomplete.
        INSTANCE = 305;
        /// A parameter without a type.
        NEEDS_TYPE = 306;
        /// A guard that does what guards cannot.
        GUARD = 307;
        /// Lengths that do not agree.
        LENGTH = 308;
        /// A type that is written wrongly.
        TYPE_FORM = 309;
        /// An operator that does not work on this type.
        OPERATOR = 311;
        /// A type that refers to itself without end.
        INFINITE_TYPE = 312;
        /// A type with more parts than a type may have.
        LARGE_TYPE = 313;
        /// An unused value.
        UNUSED = 316;
        /// A value that does not fit its refinement.
        REFUTED = 401;
        /// A refinement that could not be proved.
        UNPROVED = 402;
        /// A divisor that may be zero.
        DIVISOR = 403;
        /// A precondition that does not hold or could not be proved.
        PRECONDITION = 404;
        /// A match that leaves values out.
        NOT_EXHAUSTIVE = 501;
        /// A clause that is never reached.
        UNREACHABLE = 502;
        /// A match too large to be sure about.
        TOO_COMPLEX = 503;
        /// A variable that looks like a constructor.
        CAPITAL = 504;
        /// A state that is not declared.
        UNKNOWN_STATE = 601;
        /// A state that is never reached.
        UNREACHABLE_STATE = 602;
        /// A state without an exit that is not terminal.
        DEADLOCK = 603;
        /// Two transitions that can both fire.
        NONDETERMINISM = 604;
        /// A transition that never fires.
        DEAD_TRANSITION = 605;
        /// A state from which no terminal state is reached.
        NO_TERMINAL = 606;
        /// A machine that is written wrongly.
        FSM_FORM = 607;
        /// A timeout that cannot work.
        TIMEOUT = 608;
        /// Something that a BEAM file cannot hold.
        CODEGEN = 701;
    }
}

/// A safe replacement of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The effect, in a few words.
    pub title: String,
    /// The replaced text.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

/// A message of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    pub code: Code,
    pub span: Span,
    /// The fault, in one sentence without a full stop.
    pub message: String,
    /// A label for the place, if the message does not describe it.
    pub label: Option<String>,
    /// Other relevant places, with labels.
    pub related: Vec<(Span, String)>,
    /// Advice on how to correct it.
    pub hints: Vec<String>,
    /// The proposed replacement.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            span,
            message: shortened(message.into()),
            label: None,
            related: Vec::new(),
            hints: Vec::new(),
            fix: None,
        }
    }

    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Sets the label of the place.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = Some(label.into());
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hints.push(shortened(hint.into()));
        self
    }

    /// Points to another place.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// Proposes a replacement.
    pub fn fix(mut self, title: impl Into<String>, span: Span, replacement: impl Into<String>) -> Diagnostic {
        self.fix = Some(Fix { title: title.into(), span, replacement: replacement.into() });
        self
    }

    /// True if the program is rejected because of this diagnostic.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// One line: `3:7 error C0101 …`, with hints.
    pub fn line(&self, lines: &Lines) -> String {
        let (line, column) = lines.line_column(self.span.start);
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut text = format!("{line}:{column} {severity} {}: {}", self.code, self.message);
        for hint in &self.hints {
            text.push_str("; ");
            text.push_str(hint);
        }
        text
    }
}

/// The maximal length of a message in bytes: it may quote arbitrary source text.
const LONGEST: usize = 2_000;

fn shortened(mut message: String) -> String {
    if message.len() > LONGEST {
        let tail = message.split_off(floor(&message, (message.len() - 200) as u32));
        message.truncate(floor(&message, (LONGEST - 200) as u32));
        message.push_str(" … ");
        message.push_str(&tail);
    }
    message
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, at: u32) -> usize {
    let mut at = (at as usize).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The starts of the lines of a text.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<u32>,
    /// The last requested position and its column: positions are requested in order, and a line may be long.
    last: Cell<(u32, usize)>,
}

impl<'a> Lines<'a> {
    /// Scans a text for line starts.
    pub fn new(text: &'a str) -> Lines<'a> {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        Lines { text, starts: std::iter::once(0).chain(breaks).collect(), last: Cell::new((0, 1)) }
    }

    /// Line and column of a byte, from 1; columns count characters.
    pub fn line_column(&self, at: u32) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        let end = floor(self.text, at) as u32;
        // A byte order mark is invisible, so it does not count as a column.
        let mark = if line == 0 && self.text.starts_with('\u{feff}') { 3.min(end) } else { 0 };
        let start = self.starts[line] + mark;
        let (known, column) = self.last.get();
        let (from, before) = if (start..=end).contains(&known) { (known, column) } else { (start, 1) };
        let column = before + self.text[from as usize..end.max(from) as usize].chars().count();
        self.last.set((end, column));
        (line + 1, column)
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The line of a byte, without its end.
    pub(crate) fn line_range(&self, at: u32) -> Range<usize> {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| *next as usize - 1);
        self.starts[line] as usize..end
    }

    /// The nearest character boundary at or before a byte.
    pub(crate) fn floor(&self, at: u32) -> usize {
        floor(self.text, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_right_in_whatever_order_they_are_asked_for() {
        let text = "až\n\nžžž c\n";
        let lines = Lines::new(text);
        let slow = |at: usize| {
            let before = &text[..at];
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
        };
        let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for first in &places {
            for second in &places {
                assert_eq!(lines.line_column(*first as u32), slow(*first));
                assert_eq!(lines.line_column(*second as u32), slow(*second));
            }
        }
        assert_eq!(lines.line_column(2), (1, 2), "inside of a character");
    }
}
