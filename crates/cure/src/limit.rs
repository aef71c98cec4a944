//! Limits on the diagnostics of one text: ten thousand errors help no reader, and would need megabytes.

use crate::diagnostic::{Diagnostic, Severity, Span, code};

/// The maximal number of diagnostics that are reported for one text.
pub(crate) const MOST: usize = 1_000;

/// Diagnostics as they are found; those beyond the bound are counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errors {
    kept: Vec<Diagnostic>,
    more: usize,
}

impl Errors {
    /// Adds a diagnostic and returns it for changes, if it is kept.
    pub(crate) fn push(&mut self, error: Diagnostic) -> Option<&mut Diagnostic> {
        if self.kept.len() >= MOST {
            self.more += 1;
            return None;
        }
        self.kept.push(error);
        self.kept.last_mut()
    }

    /// The number of diagnostics, including those beyond the bound.
    pub(crate) fn count(&self) -> usize {
        self.kept.len() + self.more
    }

    /// Keeps only the diagnostics for which `keep` is true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Diagnostic) -> bool) {
        self.kept.retain(keep);
    }

    /// Adds other diagnostics of the same text.
    pub(crate) fn with(mut self, others: Errors) -> Errors {
        self.kept.extend(others.kept);
        self.more += others.more;
        self
    }

    /// The diagnostics in source order, cut to the bound; the last one then counts the rest.
    pub(crate) fn in_order(self) -> Vec<Diagnostic> {
        let Errors { mut kept, more } = self;
        kept.sort_by_key(|error| error.span);
        cut(kept, more)
    }
}

/// Cuts sorted diagnostics to the bound; the last one then counts the rest.
pub(crate) fn bounded(all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    cut(all, 0)
}

fn cut(mut all: Vec<Diagnostic>, more: usize) -> Vec<Diagnostic> {
    let rest = all.split_off(all.len().min(MOST));
    let more = more + rest.len();
    let last = all.last().map_or(Span::default(), |one| one.span);
    if more > 0 {
        // If an error is among those left out, the text is still rejected.
        let severity = rest.iter().map(|one| one.severity).min().unwrap_or(Severity::Error);
        let span = rest.first().map_or(last, |one| one.span);
        let closing = Diagnostic::error(code::TOO_MANY, span, format!("{more} more are not told"));
        all.push(Diagnostic { severity, ..closing }.hint("mend the first ones, then check again"));
    }
    all
}

/// How many errors and warnings a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub errors: usize,
    pub warnings: usize,
}

/// Counts the diagnostics of a text, and those that the closing one stands for.
pub(crate) fn counted(diagnostics: &[Diagnostic]) -> Count {
    let mut count = Count { errors: 0, warnings: 0 };
    for one in diagnostics {
        let times =
            if closes(one) { one.message.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(1) } else { 1 };
        *(if one.is_error() { &mut count.errors } else { &mut count.warnings }) += times;
    }
    count
}

/// True if a diagnostic only counts those that are left out.
pub(crate) fn closes(one: &Diagnostic) -> bool {
    one.code == code::TOO_MANY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Lines;
    use crate::{NoSources, compile, syntax};

    fn last(diagnostics: &[Diagnostic], text: &str) -> String {
        format!("{}: {}", diagnostics.len(), diagnostics.last().unwrap().line(&Lines::new(text)))
    }

    #[test]
    fn a_thousand_are_told_and_the_others_counted() {
        let broken = |count: usize| {
            let items: String = (0..count).map(|at| format!("  def f{at}(: Int): Int = 1\n")).collect();
            format!("module T do\n{items}end\n")
        };
        let text = broken(1_000);
        let said = syntax::parse(&text).diagnostics;
        assert_eq!(last(&said, &text), "1000: 1001:12 error C0101: expected a name, found `:`");
        let text = broken(5_000);
        let said = syntax::parse(&text).diagnostics;
        let closing = "4000 more are not told; mend the first ones, then check again";
        assert_eq!(last(&said, &text), format!("1001: 1001:12 error C0005: {closing}"));
        let strange = "$ a ".repeat(3_000);
        let said = syntax::parse(&strange).diagnostics;
        assert!(last(&said, &strange).contains("C0005: 2001 more"), "{}", last(&said, &strange));

        let items: String = (0..1_500).map(|at| format!("  def f{at}(): Int = \"x\"\n")).collect();
        let text = format!("module T do\n{items}end\n");
        let compiled = compile(&text, &NoSources);
        assert!(!compiled.is_ok());
        assert!(last(&compiled.diagnostics, &text).contains("1001: 1002:"));
        assert!(last(&compiled.diagnostics, &text).contains("error C0005: 500 more"));
        assert_eq!(counted(&compiled.diagnostics), Count { errors: 1_500, warnings: 0 });
    }

    /// If only warnings are left out, the program is accepted.
    #[test]
    fn what_closes_is_as_bad_as_what_it_stands_for() {
        let one = |at: u32| Diagnostic::warning(code::UNREACHABLE, Span { start: at, end: at }, "never");
        let all = bounded((0..1_200).map(one).collect());
        assert!(all.iter().all(|one| !one.is_error()) && all.len() == 1_001);
        let mut with_error: Vec<_> = (0..1_200).map(one).collect();
        with_error[1_100].severity = Severity::Error;
        assert!(bounded(with_error).last().unwrap().is_error());
        assert_eq!(bounded((0..1_000).map(one).collect()).len(), 1_000);
    }
}
