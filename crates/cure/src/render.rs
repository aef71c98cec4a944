//! Diagnostics for people, with the source lines they point at. Output is bounded: an excessively long line is named
//! and not drawn, and a distant position is given by its line number.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Lines, Span, Stage};

/// The maximal length of a drawn line, in bytes.
const WIDEST: usize = 2_000;
/// The maximal size of the drawn text, in bytes.
const MOST: usize = 16_000;

impl Diagnostic {
    /// The diagnostic for people, with the source lines it refers to; in colours for a terminal.
    pub fn render(&self, origin: &str, lines: &Lines, color: bool) -> String {
        let level = match self.code.stage() {
            _ if self.is_error() => Level::ERROR,
            // A program with one runs, and no check of it succeeds.
            Stage::Fsm => Level::WARNING.with_name("fault"),
            _ => Level::WARNING,
        };
        let id = self.code.to_string();
        let title = level.primary_title(self.message.as_str()).id(id.as_str());
        let mut window = Window::select_window(self.span, lines);
        let mut far = Vec::new();
        for (span, label) in &self.related {
            if !window.widen(*span, lines) {
                let (line, column) = lines.line_column(span.start);
                far.push(format!("{label}: {origin}:{line}:{column}"));
            }
        }
        let mut group = match window.text(lines) {
            Some(source) => {
                let mut primary = AnnotationKind::Primary.span(window.part(self.span, lines));
                if let Some(label) = &self.label {
                    primary = primary.label(label.as_str());
                }
                let near = self.related.iter().filter(|(span, _)| window.holds(*span));
                let context = near
                    .map(|(span, label)| AnnotationKind::Context.span(window.part(*span, lines)).label(label.as_str()));
                let snippet = Snippet::source(source).line_start(window.line(lines)).path(origin);
                Group::with_title(title).element(snippet.annotation(primary).annotations(context))
            }
            None => {
                let (line, column) = lines.line_column(self.span.start);
                Group::with_title(title).element(Origin::path(origin).line(line).char_column(column))
            }
        };
        for place in &far {
            group = group.element(Level::NOTE.message(place.as_str()));
        }
        for hint in &self.hints {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// The lines that are drawn, as bytes of the text.
struct Window(Range<usize>);

impl Window {
    /// The lines of a span; only the first if the span is too long.
    fn select_window(span: Span, lines: &Lines) -> Window {
        let first = lines.line_range(span.start);
        let last = lines.line_range(span.end.max(span.start));
        let whole = first.start..last.end.max(first.end);
        Window(if whole.len() <= MOST { whole } else { first })
    }

    /// Adds the lines of another span, unless the window would become too large.
    fn widen(&mut self, span: Span, lines: &Lines) -> bool {
        let other = Window::select_window(span, lines).0;
        let both = self.0.start.min(other.start)..self.0.end.max(other.end);
        let fits = both.len() <= MOST;
        if fits {
            self.0 = both;
        }
        fits
    }

    fn holds(&self, span: Span) -> bool {
        self.0.start <= span.start as usize && span.start as usize <= self.0.end
    }

    /// The drawn text, unless one of its lines is too long.
    fn text<'t>(&self, lines: &Lines<'t>) -> Option<&'t str> {
        let text = lines.text().get(self.0.clone())?;
        text.lines().all(|line| line.len() <= WIDEST).then_some(text)
    }

    fn line(&self, lines: &Lines) -> usize {
        lines.line_column(self.0.start as u32).0
    }

    /// A span relative to the drawn text, on character boundaries.
    fn part(&self, span: Span, lines: &Lines) -> Range<usize> {
        let place = |at: u32| lines.floor(at).clamp(self.0.start, self.0.end) - self.0.start;
        place(span.start)..place(span.end).max(place(span.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;
    use expect_test::expect;

    fn draw(text: &str, span: Span, related: Option<Span>) -> String {
        let mut error = Diagnostic::error(code::EXPECTED, span, "wrong").label("here").hint("mend it");
        if let Some(span) = related {
            error = error.related(span, "opened here");
        }
        error.render("a.cure", &Lines::new(text), false)
    }

    #[test]
    fn the_lines_it_speaks_of_are_drawn() {
        let text = "one\ntwo (\nthree\nfour ž)\nfive\n";
        let at = |word: &str| {
            let start = text.find(word).unwrap();
            Span::new(start, start + word.len())
        };
        expect![[r#"
            error[C0101]: wrong
             --> a.cure:4:7
              |
            2 | two (
              |     - opened here
            3 | three
            4 | four ž)
              |       ^ here
              |
              = help: mend it"#]]
        .assert_eq(&draw(text, at(")"), Some(at("("))));
        let end = text.len() as u32;
        assert!(
            draw(text, Span { start: end, end }, None).contains("a.cure:6:1"),
            "{}",
            draw(text, Span { start: end, end }, None)
        );
        assert!(draw("", Span { start: 0, end: 1 }, None).contains("a.cure:1:1"));
    }

    #[test]
    fn what_is_long_or_far_is_told_by_its_place() {
        let far = format!("(\n{}) ž\n", "line\n".repeat(10_000));
        let at = far.find(')').unwrap();
        expect![[r#"
            error[C0101]: wrong
                 --> a.cure:10002:1
                  |
            10002 | ) ž
                  | ^ here
                  |
                  = note: opened here: a.cure:1:1
                  = help: mend it"#]]
        .assert_eq(&draw(&far, Span::new(at, at + 1), Some(Span { start: 0, end: 1 })));
        let wide = "ž".repeat(100_000);
        expect![[r#"
            error[C0101]: wrong
            --> a.cure:1:50001
             = help: mend it"#]]
        .assert_eq(&draw(&wide, Span { start: 100_000, end: 100_002 }, None));
        // Only the beginning of a span that covers everything is drawn.
        assert!(draw(&far, Span::new(0, far.len()), None).starts_with("error[C0101]: wrong\n --> a.cure:1:1\n"));
    }
}
