//! Rendering of `hob top`: a pure function of the state.

use project::dashboard::{Room, Urgency};
use project::span;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use unicode_width::UnicodeWidthStr;

use super::detail;
use super::state::{Mode, State, matches};
use super::writing::Writing;
use crate::cells::{fit, fit_end, lines, pad};
use crate::editor::Editor;
use crate::rows::{self, Column, Row, Tone};

/// The smallest screen.
pub(super) const SMALLEST: (u16, u16) = (60, 16);
/// The number of events below the needs.
const EVENTS: usize = 5;

/// The keys, in as many lines as the smallest screen has.
const HELP: [&str; 13] = [
    "1-8 Tab ← →        another room",
    "↑ ↓ j k PgUp PgDn  another row",
    "Enter              opens the row; a question as its form",
    "Esc                closes, or removes the filter",
    "/                  shows only rows that contain a text",
    "Ctrl-K             goes to any row by a part of its text",
    "i                  interrupts an evaluation",
    "x                  ends a session or cancels a call; asks",
    "e                  shows what happened, with all events",
    "a                  answers a question",
    "w                  writes to the agent, elsewhere to all",
    "r                  replies to a message",
    "q or Ctrl-C        quits; Ctrl-Z suspends",
];

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM);

/// The colours, or none (`NO_COLOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    Plain,
}

impl Palette {
    /// Returns the style of a tone. The colours are the terminal's own, so they fit light and dark ones.
    fn style(self, tone: Tone) -> Style {
        let style = match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => DIM,
            Tone::Good => Style::new().fg(Color::Green),
            Tone::Busy => Style::new().fg(Color::Blue),
            Tone::Waiting => BOLD.fg(Color::Yellow),
            Tone::Alarm => BOLD.fg(Color::Red),
        };
        Style { fg: style.fg.filter(|_| self == Palette::Colours), ..style }
    }
}

/// Draws a frame.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("hob top needs {} × {} characters.", SMALLEST.0, SMALLEST.1);
        return paragraph(frame, area, &[text], 0);
    }
    let width = usize::from(area.width);
    let line = |row: u16| Rect { y: area.y + row, height: 1, ..area };
    frame.render_widget(tabs(state, width, palette), line(0));
    let body = Rect { y: area.y + 1, height: area.height - 3, ..area };
    let mut cursor = None;
    match &state.mode {
        Mode::Help => paragraph(frame, body, &HELP, 0),
        Mode::Detail(open) => {
            let mut all = lines(&detail::text(state, open), width);
            // The first line names the row, and stays.
            let rest = all.split_off(all.len().min(1));
            paragraph(frame, body, &all, 0);
            let body = Rect { y: body.y + 1, height: body.height - 1, ..body };
            let height = usize::from(body.height);
            let most = rest.len().saturating_sub(height);
            state.height.set(height.saturating_sub(1));
            state.most.set(most);
            let first = if open.room == Room::Sessions { most - open.scroll.min(most) } else { open.scroll.min(most) };
            paragraph(frame, body, &rest, first);
        }
        Mode::Write(writing) => cursor = write(frame, body, writing),
        Mode::Go(editor) => {
            let found = matches(state, editor.text());
            let line = |(room, row): &(Room, Row)| format!("{:<10} {}", room.name(), row.line());
            let hint = "Type a part of a row. Enter goes to the first one.".to_owned();
            let lines = found.iter().map(line).chain(found.is_empty().then_some(hint));
            paragraph(frame, body, &lines.collect::<Vec<_>>(), 0);
        }
        _ => table(frame, body, state, palette),
    }
    frame.render_widget(status(state, width, palette), line(area.height - 2));
    let (keys, column) = keys(state, width);
    frame.render_widget(keys, line(area.height - 1));
    let column = column.map(|column| Position { x: area.x + column as u16, y: area.y + area.height - 1 });
    if let Some(position) = column.or(cursor) {
        frame.set_cursor_position(position);
    }
}

/// Draws a message that is written: two lines about it, then the text. Returns the cursor.
fn write(frame: &mut Frame<'_>, area: Rect, writing: &Writing) -> Option<Position> {
    let width = usize::from(area.width);
    let answer = if writing.letter.reply_to.is_some() { ", an answer" } else { "" };
    let head = format!("Priority {}{answer}. Agents read it as your own word.", writing.letter.priority);
    let (line, at) = input("To: ", &writing.to, width);
    paragraph(frame, area, &[head, line, String::new()], 0);
    let area = Rect { y: area.y + 3, height: area.height.saturating_sub(3), ..area };
    let text = &writing.text;
    let (rows, (row, column)) = text.rows(width.saturating_sub(1));
    let first = (row + 1).saturating_sub(usize::from(area.height));
    paragraph(frame, area, &rows, first);
    Some(match writing.is_at_recipients {
        true => Position { x: area.x + at as u16, y: area.y - 2 },
        false => Position { x: area.x + column as u16, y: area.y + (row - first) as u16 },
    })
}

fn paragraph(frame: &mut Frame<'_>, area: Rect, lines: &[impl AsRef<str>], first: usize) {
    let shown = lines.iter().skip(first).take(usize::from(area.height));
    frame.render_widget(Text::from_iter(shown.map(|line| fit(line.as_ref(), usize::from(area.width)))), area);
}

/// Renders the rooms with the number of their rows. Where they do not fit, the names are shortened.
fn tabs(state: &State, width: usize, palette: Palette) -> Line<'static> {
    let rooms = &state.snapshot.rooms;
    let count = |room: Room| rows::count(rooms, room);
    let label = |room: Room, letters: usize, counts: bool| {
        let name: String = room.name().chars().take(if room == state.room { 20 } else { letters }).collect();
        match count(room) {
            count if counts && count > 0 => format!(" {name} {count} "),
            _ => format!(" {name} "),
        }
    };
    let ways = [(20, true), (20, false), (5, true), (4, false)];
    let labels = ways.map(|(letters, counts)| Room::ALL.map(|room| label(room, letters, counts)));
    let fits = labels.iter().find(|labels| labels.iter().map(|label| label.width()).sum::<usize>() <= width);
    let labels = fits.unwrap_or(&labels[3]);
    let style = |room: Room| match room {
        room if room == state.room => BOLD.add_modifier(Modifier::REVERSED),
        Room::Now if rooms.now.iter().any(|need| need.urgency <= Urgency::High) => palette.style(Tone::Waiting),
        room if count(room) == 0 => DIM,
        _ => Style::new(),
    };
    Line::from(
        Room::ALL.iter().zip(labels).map(|(room, label)| Span::styled(label.clone(), style(*room))).collect::<Vec<_>>(),
    )
}

fn table(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let width = usize::from(area.width);
    let events = if state.room == Room::Now { EVENTS as u16 + 2 } else { 0 };
    let list = Rect { height: area.height - events, ..area };
    let rows = state.rows();
    let height = usize::from(list.height).saturating_sub(1);
    state.height.set(height);
    let titled = rows::columns(state.room);
    let columns = layout(&titled, width);
    let cell = |text: &str, width: usize, style: Style| Span::styled(pad(&fit(text, width), width + 1), style);
    let head = columns.iter().map(|&(at, width)| cell(titled[at].title, width, DIM));
    let chosen = state.chosen_index(&rows);
    let first = (chosen + 1).saturating_sub(height);
    let lines = rows.iter().enumerate().skip(first).take(height).map(|(index, row)| {
        let mark = if index == chosen { CHOSEN } else { Style::new() };
        let cells = columns.iter().map(|&(at, width)| (&row.cells[at], width));
        Line::from_iter(cells.map(|(shown, width)| cell(&shown.text, width, palette.style(shown.tone).patch(mark))))
    });
    frame.render_widget(Text::from_iter([Line::from_iter(head)].into_iter().chain(lines)), list);
    if rows.is_empty() {
        let text = if state.filter.text().is_empty() { state.room.when_empty() } else { "No row matches the filter." };
        paragraph(frame, Rect { y: area.y + 1, height: 1, ..area }, &[text], 0);
    }
    if state.room == Room::Now {
        let title = Rect { y: list.bottom() + 1, height: 1, ..area };
        frame.render_widget(Line::styled("lately (e shows all)", DIM), title);
        let age = |at: u64| pad(&span(state.now.saturating_sub(at) / 1000), 7);
        let lately = state.snapshot.rooms.events.iter().map(|event| format!("{} {}", age(event.at), event.text));
        let lines: Vec<String> = lately.take(EVENTS).collect();
        paragraph(frame, Rect { y: title.bottom(), height: EVENTS as u16, ..area }, &lines, 0);
    }
}

/// Returns the columns that fit, by index, with their widths.
fn layout(columns: &[Column], width: usize) -> Vec<(usize, usize)> {
    let mut chosen: Vec<usize> = (0..columns.len()).collect();
    let needs = |chosen: &[usize]| chosen.iter().map(|at| columns[*at].width + 1).sum::<usize>().saturating_sub(1);
    while needs(&chosen) > width {
        let last = chosen.iter().copied().filter(|at| columns[*at].rank > 0).max_by_key(|at| columns[*at].rank);
        let Some(last) = last else { break };
        chosen.retain(|at| *at != last);
    }
    let left = width.saturating_sub(needs(&chosen));
    let width = |at: usize| columns[at].width + if columns[at].is_wide { left } else { 0 };
    chosen.into_iter().map(|at| (at, width(at))).collect()
}

/// Renders the line above the keys: a notice, or the state of the whole.
fn status(state: &State, width: usize, palette: Palette) -> Line<'static> {
    if let Some(notice) = &state.notice {
        return Line::styled(fit(notice, width), palette.style(Tone::Waiting));
    }
    if let Some(why) = &state.lost {
        let text = format!("not connected, so these rows are outdated: {why}");
        return Line::styled(fit(&text, width), palette.style(Tone::Alarm));
    }
    let filter = match state.filter.text() {
        "" => String::new(),
        text => format!(" · filter: {text}"),
    };
    Line::styled(fit(&format!("{}{filter}", state.snapshot.rooms.line()), width), DIM)
}

/// Renders the keys that work now, and the column of the cursor where text is typed.
fn keys(state: &State, width: usize) -> (Line<'static>, Option<usize>) {
    let typed = |label: &str, editor: &Editor| {
        let (line, column) = input(label, editor, width);
        (Line::raw(line), Some(column))
    };
    let keys = match &state.mode {
        Mode::Filter => return typed("filter: ", &state.filter),
        Mode::Go(editor) => return typed("go to: ", editor),
        Mode::Confirm { question, .. } => return (Line::styled(fit(question, width), BOLD), None),
        Mode::Help => "any key goes back".to_owned(),
        Mode::Write(_) => "^S sends · Tab recipients or text · ^P priority · Esc leaves".to_owned(),
        Mode::Detail(open) => format!("Esc back · 1-8 rooms · ↑↓ PgUp PgDn scroll{}", acts(open.room)),
        Mode::List => {
            let acts = acts(state.target().map_or(state.room, |(room, _)| room));
            format!("Enter opens{acts} · ? keys · q quits · 1-8 rooms · / filter · ^K go")
        }
    };
    (Line::styled(fit(&keys, width), DIM), None)
}

fn acts(room: Room) -> &'static str {
    match room {
        Room::Agents => " · w write · i interrupt · x cancel call",
        Room::Mail => " · w write · r reply",
        Room::Sessions => " · i interrupt · x end or restart",
        Room::Questions => " · a answer",
        Room::Activity => " · x cancel",
        Room::Now => " · e events",
        Room::Work | Room::Nodes => "",
    }
}

/// Returns a line with a label and an edited text, and the column of the cursor. The end of a long text is shown.
fn input(label: &str, editor: &Editor, width: usize) -> (String, usize) {
    let (before, after) = editor.text().split_at(editor.at());
    let room = width.saturating_sub(label.width() + 1);
    let before = fit_end(before, room);
    let after = fit(after, room.saturating_sub(before.width()));
    (format!("{label}{before}{after}"), label.width() + before.width())
}
