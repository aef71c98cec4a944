//! Rendering of a form: lines of text, scrolled so that the focused element is visible.

use project::span;
use project::visible;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use unicode_width::UnicodeWidthStr;

use super::draft::{Problem, label, yes_or_no};
use super::question::{Attachment, Choice, Field, Kind};
use super::state::{Entry, Focus, State};
use crate::cells::{fit, lines, wrap};
use crate::editor::Editor;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const ALARM: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// Minimum screen width. A narrower screen could not show the answer, so nothing is sent.
const NARROWEST: u16 = 20;

/// The lines of a form, and the position of the cursor.
struct Page {
    width: usize,
    lines: Vec<Line<'static>>,
    /// Lines of the focused element.
    focus: std::ops::Range<usize>,
    cursor: Option<(usize, usize)>,
    /// Line of the option under the cursor.
    row: Option<usize>,
}

/// Draws the form.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    let width = usize::from(area.width).max(10);
    // The title always stays visible.
    let head = head(state, width, area.height);
    let top = head.len() as u16;
    let [body, foot] = [area.height.saturating_sub(top + 2), 2.min(area.height)];
    let page = page(state, width);
    let height = usize::from(body);
    let first = page.first(state.scroll, height);
    state.shown.set((first, height, page.lines.len()));
    let shows_send = state.focus == Focus::Send && page.row.is_some_and(|row| (first..first + height).contains(&row));
    let shows_warning = state.warns_of_refusal && foot > 0;
    state.is_ready.set(state.is_settled && area.width >= NARROWEST && (shows_send || shows_warning));
    let more = (first > 0, page.lines.len() > first + height);
    let part = |y: u16, height: u16| Rect { y: area.y + y, height, ..area }.intersection(area);
    frame.render_widget(Text::from(head), part(0, top));
    frame.render_widget(Text::from_iter(page.lines.iter().skip(first).cloned()), part(top, body));
    frame.render_widget(Text::from_iter(footer(state, width, more)), part(top + body, foot));
    if let Some((line, column)) = page.cursor
        && (first..first + height).contains(&line)
    {
        let at = Position { x: area.x + column as u16, y: area.y + top + (line - first) as u16 };
        frame.set_cursor_position(at);
    }
}

/// Renders the title, in at most a third of the screen, and the warning if the question is dangerous.
fn head(state: &State, width: usize, height: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if state.question.is_dangerous() {
        lines.push(Line::styled("DANGEROUS", ALARM));
    }
    // The title is one line, because a line break could look like its end.
    let title = wrap(&visible(&state.question.title), width);
    let room = usize::from(height / 3).max(1);
    let is_cut = title.len() > room;
    lines.extend(title.into_iter().take(room).map(|line| Line::styled(line, BOLD)));
    if is_cut {
        lines.push(Line::styled("… the title continues below", DIM));
    }
    lines
}

/// Renders two lines, shortened to fit: an error or the keys of the focused element, and the global keys.
fn footer(state: &State, width: usize, more: (bool, bool)) -> [Line<'static>; 2] {
    if !state.takes_keys {
        return [Line::default(), Line::default()];
    }
    let fitting = |ways: &[&str]| {
        let fits = ways.iter().find(|way| way.width() <= width);
        (*fits.or(ways.last()).expect("there is a way to say it")).to_owned()
    };
    let always = fitting(&[
        "Tab next · Ctrl-S to Send · Ctrl-D refuse · Esc leave",
        "Tab · ^S to Send · ^D refuse · Esc",
        "Tab ^S ^D Esc",
    ]);
    let always = Line::styled(always, DIM);
    if state.warns_of_refusal {
        let again = fitting(&["Ctrl-D again refuses to answer.", "^D again refuses"]);
        return [Line::styled(again, ALARM), Line::default()];
    }
    let keys = match state.focus {
        Focus::Send if state.is_settled => "Enter sends",
        Focus::Send => "",
        Focus::Note => "Enter continues",
        Focus::Field(at) => match (&state.question.fields[at], state.question.is_dangerous()) {
            (Field { kind: Kind::Multichoice, .. }, _) => "↑ ↓ and Space choose, Enter continues",
            (Field { kind: Kind::Choice, other: true, .. }, _) => "↑ ↓ and Enter choose, or type another",
            (Field { kind: Kind::Choice, .. }, _) => "↑ ↓ and Enter choose",
            (Field { kind: Kind::Multiline, .. }, _) => "Enter starts a line, Tab continues",
            (Field { kind: Kind::Boolean, .. }, true) => "Type yes or no, then Enter",
            (Field { kind: Kind::Boolean, .. }, false) => "← yes, → no, or type it; then Enter",
            _ => "Enter continues",
        },
    };
    // The field at fault may be out of view.
    if let Some(Problem { field, why }) = &state.problem {
        let named = state.question.fields.iter().find(|known| Some(&known.id) == field.as_ref());
        let named = named.map(|field| format!("{}: ", field.name())).unwrap_or_default();
        return [Line::styled(fit(&format!("{named}{why}"), width), ALARM), always];
    }
    let (more, arrows) = match more {
        (true, true) => ("  ↑↓ more: PgUp, PgDn", "  ↑↓"),
        (true, false) => ("  ↑ more: PgUp", "  ↑"),
        (false, true) => ("  ↓ more: PgDn", "  ↓"),
        (false, false) => ("", ""),
    };
    // The hint that there is more is always shown.
    let first = [format!("{keys}{more}"), more.trim_start().to_owned(), arrows.trim_start().to_owned()];
    let first = first.into_iter().find(|way| way.width() <= width).unwrap_or_default();
    [Line::styled(first, DIM), always]
}

fn page(state: &State, width: usize) -> Page {
    let mut page = Page { width, lines: Vec::new(), focus: 0..0, cursor: None, row: None };
    let question = &state.question;
    let agent = question.agent.as_deref().map(|agent| format!("{} in ", visible(agent))).unwrap_or_default();
    let urgent = if question.urgent { ", urgent" } else { "" };
    let (age, left) = (span(question.age_s + state.open_s), span(question.left_s.saturating_sub(state.open_s)));
    let (id, worktree) = (&question.question, visible(&question.worktree));
    page.text("", &format!("{id}  {age} ago, {left} left{urgent}, from {agent}{worktree}"), DIM);
    if question.title.chars().count() > width {
        page.text("", &visible(&question.title), BOLD);
    }
    page.text("│ ", &question.message, Style::new());
    question.attachments.iter().for_each(|attachment| page.attachment(attachment));
    let is_at = |problem: &Problem, field: &Field| problem.field.as_ref() == Some(&field.id);
    let asked = || question.fields.iter().enumerate().filter(|(at, _)| state.is_asked(*at));
    for (at, field) in asked() {
        let has_focus = state.focus == Focus::Field(at);
        page.element(has_focus, |page| {
            page.field(state, field, &state.entries[at], has_focus);
            if let Some(problem) = state.problem.as_ref().filter(|problem| is_at(problem, field)) {
                page.text("  ", &problem.why, ALARM);
            }
        });
    }
    let has_focus = state.focus == Focus::Note;
    page.element(has_focus, |page| {
        let style = if has_focus { BOLD } else { DIM };
        page.lines.push(Line::styled(format!("{}Note (optional)", marker(has_focus)), style));
        if has_focus || !state.note.text().is_empty() {
            page.editor(&state.note, has_focus);
        }
    });
    page.element(state.focus == Focus::Send, |page| {
        let is_shown = |problem: &&Problem| asked().any(|(_, field)| is_at(problem, field));
        if let Some(problem) = state.problem.as_ref().filter(|problem| !is_shown(problem)) {
            page.text("", &problem.why, ALARM);
        }
        let asked: Vec<&Field> = asked().map(|(_, field)| field).filter(|field| field.kind != Kind::Note).collect();
        page.send(state, &asked);
    });
    page
}

impl Page {
    /// Returns the first visible line: the chosen one, or one that keeps the focused element visible, its beginning
    /// rather than its end, and always the row under the cursor.
    fn first(&self, chosen: Option<usize>, height: usize) -> usize {
        if let Some(first) = chosen {
            return first.min(self.lines.len().saturating_sub(height));
        }
        let first = self.focus.end.saturating_sub(height).min(self.focus.start);
        let row = self.row.or(self.cursor.map(|(line, _)| line)).unwrap_or(first);
        first.max((row + 1).saturating_sub(height))
    }

    /// Renders an element that can have the focus, below an empty line.
    fn element(&mut self, has_focus: bool, render: impl FnOnce(&mut Page)) {
        self.lines.push(Line::default());
        let begin = self.lines.len();
        render(self);
        if has_focus {
            self.focus = begin..self.lines.len();
        }
    }

    /// Renders the Send button and, if it has the focus, the whole answer.
    fn send(&mut self, state: &State, asked: &[&Field]) {
        let has_focus = state.focus == Focus::Send;
        let values = state.values();
        let shown = |field: &Field| {
            values.get(&field.id).map_or_else(|| "nothing".to_owned(), |value| visible(&label(field, value)))
        };
        let label = match asked {
            _ if !has_focus => "Send".to_owned(),
            [only] => format!("Send: {}", shown(only)),
            several => {
                self.text("", "These are your answers:", DIM);
                for field in several {
                    let line = format!("  {}: {}", visible(field.name()), shown(field));
                    self.lines.push(Line::raw(fit(&line, self.width)));
                }
                "Send".to_owned()
            }
        };
        let style = if has_focus { BOLD.add_modifier(Modifier::REVERSED) } else { Style::new() };
        let label = fit(&label, self.width.saturating_sub(6));
        self.row = self.row.or(has_focus.then_some(self.lines.len()));
        self.lines.push(Line::from(vec![Span::raw(marker(has_focus)), Span::styled(format!("[ {label} ]"), style)]));
    }

    /// Renders a text in lines that fit, each with the same prefix.
    fn text(&mut self, mark: &'static str, text: &str, style: Style) {
        for line in lines(text, self.width.saturating_sub(mark.width())) {
            self.lines.push(Line::from(vec![Span::styled(mark, DIM), Span::styled(line, style)]));
        }
    }

    fn field(&mut self, state: &State, field: &Field, entry: &Entry, has_focus: bool) {
        let required = if field.required && field.kind != Kind::Boolean { " *" } else { "" };
        let hint = match field.kind {
            Kind::Date => " (YYYY-MM-DD)",
            Kind::Integer => " (a whole number)",
            Kind::Number => " (a number)",
            _ => "",
        };
        let name = format!("{}{required}{hint}", visible(field.name()));
        self.text(marker(has_focus), &name, if has_focus { BOLD } else { Style::new() });
        self.text("  ", &field.help, DIM);
        match field.kind {
            Kind::Note => {}
            Kind::Choice | Kind::Multichoice => self.options(field, entry, has_focus),
            Kind::Boolean if !state.question.is_dangerous() => {
                let word = yes_or_no(entry.text.text());
                let mark = |on: bool| if word == Some(on) { "(•)" } else { "( )" };
                self.lines.push(Line::raw(format!("  {} yes   {} no", mark(true), mark(false))));
                // A word that is neither yes nor no is shown as typed.
                if word.is_none() && !entry.text.text().is_empty() {
                    self.editor(&entry.text, has_focus);
                }
            }
            _ => self.editor(&entry.text, has_focus),
        }
    }

    fn options(&mut self, field: &Field, entry: &Entry, has_focus: bool) {
        let marks = if field.kind == Kind::Multichoice { ["[ ]", "[x]"] } else { ["( )", "(•)"] };
        let other = field.other.then_some("another:");
        let names = field.options.iter().map(Choice::name).chain(other);
        for (row, name) in names.enumerate() {
            let (option, is_here) = (field.options.get(row), has_focus && entry.row == row);
            let is_chosen = match option {
                Some(option) => entry.chosen.contains(&option.id),
                None => !entry.text.text().trim().is_empty(),
            };
            if is_here && option.is_some() {
                self.row = Some(self.lines.len());
            }
            let (at, mark) = (if is_here { "›" } else { " " }, marks[usize::from(is_chosen)]);
            let style = if is_here { BOLD } else { Style::new() };
            self.text("", &format!("{at} {mark} {}", visible(name)), style);
            match option {
                Some(option) => self.text("      ", &option.help, DIM),
                None if is_here || !entry.text.text().is_empty() => self.editor(&entry.text, is_here),
                None => {}
            }
        }
    }

    /// Renders an edited text. Lines break wherever they are full, so that the cursor's position is exact.
    fn editor(&mut self, editor: &Editor, has_focus: bool) {
        const MARK: &str = "  ▏";
        let room = self.width.saturating_sub(MARK.width() + 1).max(1);
        let (rows, (row, column)) = editor.rows(room);
        if has_focus {
            self.cursor = Some((self.lines.len() + row, MARK.width() + column));
        }
        for row in rows {
            self.lines.push(Line::from(vec![Span::styled(MARK, DIM), Span::raw(visible(&row))]));
        }
    }

    fn attachment(&mut self, attachment: &Attachment) {
        self.lines.push(Line::default());
        let file = attachment.file.as_ref().map(|file| format!(": {}", visible(file))).unwrap_or_default();
        let (label, kind) = (visible(&attachment.label), visible(&attachment.kind));
        self.text("", &format!("{kind}: {label}{file}"), DIM);
        for line in attachment.text.lines().filter(|_| attachment.file.is_none()) {
            let style = match (&*attachment.kind, line.as_bytes().first()) {
                ("diff", Some(b'+')) => Style::new().fg(Color::Green),
                ("diff", Some(b'-')) => Style::new().fg(Color::Red),
                _ => Style::new(),
            };
            self.text("│ ", line, style);
        }
    }
}

fn marker(has_focus: bool) -> &'static str {
    if has_focus { "▸ " } else { "  " }
}
