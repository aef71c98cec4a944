//! Rendering of a form: lines of text, scrolled so that the focused element is visible.

use project::span;
use project::visible::{escaped, visible};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::draft::{label, yes_or_no};
use super::question::{Attachment, Field, Kind};
use super::state::{Entry, Focus, Options, State};
use crate::cells::{fit, wrap};
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
    let line_at = |row: u16| Rect { y: area.y + row, height: 1, ..area };
    for (row, line) in head.iter().enumerate() {
        frame.render_widget(line, line_at(row as u16));
    }
    for (row, line) in page.lines.iter().skip(first).take(height).enumerate() {
        frame.render_widget(line, line_at(top + row as u16));
    }
    let more = (first > 0, page.lines.len() > first + height);
    for (row, line) in footer(state, width, more).into_iter().take(usize::from(foot)).enumerate() {
        frame.render_widget(line, line_at(top + body + row as u16));
    }
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
        Focus::Field(at) => match &state.entries[at] {
            Entry::Options(options) if options.are_many => "↑ ↓ and Space choose, Enter continues",
            Entry::Options(options) if options.other.is_some() => "↑ ↓ and Enter choose, or type another",
            Entry::Options(_) => "↑ ↓ and Enter choose",
            Entry::Text(editor) if editor.is_multiline => "Enter starts a line, Tab continues",
            Entry::Text(_) if state.question.fields[at].kind == Kind::Boolean && state.question.is_dangerous() => {
                "Type yes or no, then Enter"
            }
            Entry::Text(_) if state.question.fields[at].kind == Kind::Boolean => "← yes, → no, or type it; then Enter",
            _ => "Enter continues",
        },
    };
    // The field at fault may be out of view.
    if let Some((field, why)) = &state.problem {
        let named = field.as_ref().and_then(|id| state.question.fields.iter().find(|field| field.id == *id));
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
    page.text(
        "",
        &format!("{}  {age} ago, {left} left{urgent}, from {agent}{}", question.question, visible(&question.worktree)),
        DIM,
    );
    if question.title.chars().count() > width {
        page.text("", &visible(&question.title), BOLD);
    }
    for line in escaped(&question.message).lines() {
        page.text("│ ", line, Style::new());
    }
    question.attachments.iter().for_each(|attachment| page.attachment(attachment));
    let complaint = |at: Option<&Field>| {
        let (field, why) = state.problem.as_ref()?;
        (field.as_ref() == at.map(|field| &field.id)).then(|| why.clone())
    };
    for (at, field) in question.fields.iter().enumerate().filter(|(at, _)| state.is_asked(*at)) {
        page.lines.push(Line::default());
        let begin = page.lines.len();
        let has_focus = state.focus == Focus::Field(at);
        page.name(field, has_focus);
        match &state.entries[at] {
            Entry::Nothing => {}
            Entry::Text(editor) => {
                let is_choice = field.kind == Kind::Boolean && !question.is_dangerous();
                let word = yes_or_no(editor.text());
                if is_choice {
                    let mark = |on: bool| if word == Some(on) { "(•)" } else { "( )" };
                    page.lines.push(Line::raw(format!("  {} yes   {} no", mark(true), mark(false))));
                }
                // A word that is neither yes nor no is shown as typed.
                if !is_choice || (word.is_none() && !editor.text().is_empty()) {
                    page.editor(editor, has_focus);
                }
            }
            Entry::Options(options) => page.options(field, options, has_focus),
        }
        if let Some(why) = complaint(Some(field)) {
            page.text("  ", &why, ALARM);
        }
        if has_focus {
            page.focus = begin..page.lines.len();
        }
    }
    page.lines.push(Line::default());
    let begin = page.lines.len();
    let has_focus = state.focus == Focus::Note;
    page.lines.push(Line::styled(format!("{}Note (optional)", marker(has_focus)), if has_focus { BOLD } else { DIM }));
    if has_focus || !state.note.text().is_empty() {
        page.editor(&state.note, has_focus);
    }
    if has_focus {
        page.focus = begin..page.lines.len();
    }
    page.lines.push(Line::default());
    let at_fault =
        |id: &String| question.fields.iter().enumerate().any(|(at, field)| field.id == *id && state.is_asked(at));
    if let Some((field, why)) = &state.problem
        && !field.as_ref().is_some_and(at_fault)
    {
        page.text("", why, ALARM);
    }
    page.send(state);
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

    /// Renders the Send button and, if it has the focus, the whole answer.
    fn send(&mut self, state: &State) {
        let has_focus = state.focus == Focus::Send;
        let begin = self.lines.len();
        let values = state.values();
        let shown = |field: &Field| {
            values.get(&field.id).map_or_else(|| "nothing".to_owned(), |value| visible(&label(field, value)))
        };
        let fields = state.question.fields.iter().enumerate();
        let asked = fields.filter(|(at, field)| state.is_asked(*at) && field.kind != Kind::Note);
        let asked: Vec<&Field> = asked.map(|(_, field)| field).collect();
        let label = match asked.as_slice() {
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
        self.lines.push(Line::from(vec![Span::raw(marker(has_focus)), Span::styled(format!("[ {label} ]"), style)]));
        if has_focus {
            self.focus = begin..self.lines.len();
            self.row = Some(self.lines.len() - 1);
        }
    }

    /// Renders a text in lines that fit, each with the same prefix.
    fn text(&mut self, mark: &'static str, text: &str, style: Style) {
        let room = self.width.saturating_sub(mark.width()).max(1);
        for line in wrap(text, room) {
            self.lines.push(Line::from(vec![Span::styled(mark, DIM), Span::styled(line, style)]));
        }
    }

    fn name(&mut self, field: &Field, has_focus: bool) {
        let required = if field.required && field.kind != Kind::Boolean { " *" } else { "" };
        let hint = match field.kind {
            Kind::Date => " (YYYY-MM-DD)",
            Kind::Integer => " (a whole number)",
            Kind::Number => " (a number)",
            _ => "",
        };
        let name = format!("{}{required}{hint}", visible(field.name()));
        self.text(marker(has_focus), &name, if has_focus { BOLD } else { Style::new() });
        for line in escaped(&field.help).lines() {
            self.text("  ", line, DIM);
        }
    }

    fn options(&mut self, field: &Field, options: &Options, has_focus: bool) {
        let marks = if options.are_many { ["[ ]", "[x]"] } else { ["( )", "(•)"] };
        let row_style = |row: usize| if has_focus && options.row == row { BOLD } else { Style::new() };
        for (row, (option, chosen)) in field.options.iter().zip(&options.chosen).enumerate() {
            let at = if has_focus && options.row == row { "›" } else { " " };
            if has_focus && options.row == row {
                self.row = Some(self.lines.len());
            }
            let line = format!("{at} {} {}", marks[usize::from(*chosen)], visible(option.name()));
            self.text("", &line, row_style(row));
            for line in escaped(&option.help).lines() {
                self.text("      ", line, DIM);
            }
        }
        if let Some(other) = &options.other {
            let row = options.chosen.len();
            let at = if has_focus && options.row == row { "›" } else { " " };
            let mark = marks[usize::from(!other.text().trim().is_empty())];
            self.lines.push(Line::styled(format!("{at} {mark} another:"), row_style(row)));
            if !other.text().is_empty() || (has_focus && options.row == row) {
                self.editor(other, has_focus && options.row == row);
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
        let (label, kind) = (visible(&attachment.label), visible(&attachment.kind));
        if let Some(file) = &attachment.file {
            self.text("", &format!("{kind}: {label}: {}", visible(file)), DIM);
        } else {
            self.text("", &format!("{kind}: {label}"), DIM);
            for line in escaped(&attachment.text).lines() {
                let style = match (&*attachment.kind, line.as_bytes().first()) {
                    ("diff", Some(b'+')) => Style::new().fg(Color::Green),
                    ("diff", Some(b'-')) => Style::new().fg(Color::Red),
                    _ => Style::new(),
                };
                self.text("│ ", line, style);
            }
        }
    }
}

fn marker(has_focus: bool) -> &'static str {
    if has_focus { "▸ " } else { "  " }
}
