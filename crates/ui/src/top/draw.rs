//! Rendering of `hob top`: a pure function of the state.

use project::dashboard::{Room, Urgency};
use project::span;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::detail;
use super::state::{Mode, State, matches};
use super::writing::Writing;
use crate::cells::{fit, lines, pad};
use crate::editor::Editor;
use crate::rows::{self, Column, Row, Tone};

/// The smallest screen.
pub(super) const SMALLEST: (u16, u16) = (60, 16);
/// The number of events below the needs.
const EVENTS: usize = 5;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The colours, or none (`NO_COLOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    Plain,
}

impl Palette {
    /// Returns the style of a tone. The colours are the terminal's own, so they fit light and dark ones.
    fn style(self, tone: Tone) -> Style {
        let colour = |colour: Color, plain: Style| match self {
            Palette::Colours => Style::new().fg(colour),
            Palette::Plain => plain,
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => DIM,
            Tone::Good => colour(Color::Green, Style::new()),
            Tone::Busy => colour(Color::Blue, Style::new()),
            Tone::Waiting => colour(Color::Yellow, BOLD).add_modifier(Modifier::BOLD),
            Tone::Alarm => colour(Color::Red, BOLD).add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws a frame.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("hob top needs {} × {} characters.", SMALLEST.0, SMALLEST.1);
        return frame.render_widget(
            Line::raw(fit(&text, usize::from(area.width))),
            Rect { height: area.height.min(1), ..area },
        );
    }
    let width = usize::from(area.width);
    let line = |row: u16| Rect { y: area.y + row, height: 1, ..area };
    frame.render_widget(tabs(state, width, palette), line(0));
    let body = Rect { y: area.y + 1, height: area.height - 3, ..area };
    let mut cursor = None;
    match &state.mode {
        Mode::Help => paragraph(frame, body, &help(), 0),
        Mode::Detail(open) => {
            let text = detail::text(state, open);
            let height = usize::from(body.height);
            state.height.set(height.saturating_sub(1));
            let all = lines(&text, width);
            let most = all.len().saturating_sub(height);
            let first = if open.room == Room::Sessions { most - open.scroll.min(most) } else { open.scroll.min(most) };
            paragraph(frame, body, &all, first);
        }
        Mode::Write(writing) => cursor = write(frame, body, writing),
        Mode::Go(editor) => {
            let found = matches(state, editor.text());
            let line = |(room, row): &(Room, Row)| format!("{:<10} {}", room.name(), row.line());
            paragraph(frame, body, &found.iter().map(line).collect::<Vec<_>>(), 0);
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
    let answer = if writing.is_answer() { ", an answer" } else { "" };
    let head = format!("Priority {}{answer}. Agents read it as your own word.", writing.priority);
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

fn paragraph(frame: &mut Frame<'_>, area: Rect, lines: &[String], first: usize) {
    for (row, line) in lines.iter().skip(first).take(usize::from(area.height)).enumerate() {
        let at = Rect { y: area.y + row as u16, height: 1, ..area };
        frame.render_widget(Line::raw(fit(line, usize::from(area.width))), at);
    }
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
    let line = |row: usize| Rect { y: area.y + row as u16, height: 1, ..area };
    let rows = state.rows();
    let events = if state.room == Room::Now { EVENTS + 2 } else { 0 };
    let height = usize::from(area.height).saturating_sub(1 + events).max(1);
    state.height.set(height);
    let titled = rows::columns(state.room);
    let columns = layout(&titled, width);
    let head = columns.iter().map(|(at, width)| pad(titled[*at].title, *width));
    frame.render_widget(Line::styled(head.collect::<Vec<_>>().join(" "), DIM), line(0));
    if rows.is_empty() {
        let text = if state.filter.text().is_empty() { state.room.when_empty() } else { "No row matches the filter." };
        frame.render_widget(Line::raw(fit(text, width)), line(1));
    }
    let chosen = state.chosen_index(&rows);
    let first = (chosen + 1).saturating_sub(height);
    for (index, row) in rows.iter().enumerate().skip(first).take(height) {
        let is_chosen = index == chosen;
        let mut spans = Vec::new();
        for (at, width) in &columns {
            let cell = row.cells.get(*at).cloned().unwrap_or_default();
            let style = palette.style(cell.tone);
            let style =
                if is_chosen { style.add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM) } else { style };
            spans.push(Span::styled(pad(&cell.text, *width), style));
            spans.push(Span::styled(
                " ",
                if is_chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() },
            ));
        }
        spans.pop();
        frame.render_widget(Line::from(spans), line(1 + index - first));
    }
    if state.room == Room::Now {
        let top = usize::from(area.height).saturating_sub(EVENTS + 1);
        frame.render_widget(Line::styled("lately (e shows all)", DIM), line(top));
        for (index, event) in state.snapshot.rooms.events.iter().take(EVENTS).enumerate() {
            let age = span(state.now.saturating_sub(event.at) / 1000);
            let text = format!("{} {}", pad(&age, 7), fit(&event.text, width.saturating_sub(8)));
            frame.render_widget(Line::raw(text), line(top + 1 + index));
        }
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
    match &state.mode {
        Mode::Filter => typed("filter: ", &state.filter),
        Mode::Go(editor) => typed("go to: ", editor),
        Mode::Confirm { question, .. } => (Line::styled(fit(question, width), BOLD), None),
        Mode::Help => (Line::styled("any key goes back", DIM), None),
        Mode::Write(_) => {
            let keys = "^S sends · Tab recipients or text · ^P priority · Esc leaves";
            (Line::styled(fit(keys, width), DIM), None)
        }
        Mode::Detail(detail) => {
            let acts = acts(detail.room);
            (Line::styled(fit(&format!("Esc back · 1-8 rooms · ↑↓ PgUp PgDn scroll{acts}"), width), DIM), None)
        }
        Mode::List => {
            let room = match state.room {
                Room::Now => {
                    state.snapshot.rooms.now.get(state.chosen_index(&state.rows())).map_or(Room::Now, |need| need.room)
                }
                room => room,
            };
            let acts = acts(room);
            let line = format!("Enter opens{acts} · 1-8 rooms · / filter · ^K go · ? keys · q quits");
            (Line::styled(fit(&line, width), DIM), None)
        }
    }
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

/// Returns the end of a text that fits.
fn fit_end(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |(_, cluster): &(usize, &str)| {
        used += fit(cluster, width + 1).width();
        used <= width
    };
    let at = text.grapheme_indices(true).rev().take_while(fits).last().map_or(text.len(), |(at, _)| at);
    fit(&text[at..], width)
}

fn help() -> Vec<String> {
    let keys = [
        "1-8, Tab, ← →    another room",
        "↑ ↓ j k PgUp PgDn  another row",
        "Enter            opens the row; a question opens as its form",
        "Esc              closes, or removes the filter",
        "/                shows only rows that contain a text",
        "Ctrl-K           goes to any row by a part of its text",
        "i                interrupts the evaluation of a session",
        "x, then y or r   ends or restarts a session",
        "x, then y        cancels an open call, on a call or an agent",
        "e                shows what happened, with all events",
        "a                answers a question",
        "w                writes to the chosen agent, elsewhere to all agents",
        "r                replies to a message",
        "Ctrl-Z           suspends; `fg` continues",
        "q, Ctrl-C        quits",
    ];
    keys.map(str::to_owned).to_vec()
}
