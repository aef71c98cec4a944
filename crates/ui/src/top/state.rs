//! The state of `hob top`, and how it changes: [`update`] is a pure function of state and event. Effects are returned as
//! actions.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use project::dashboard::{CallRow, Room, SessionRow, Snapshot};
use serde_json::{Value, json};

use super::writing::{self, Writing};
use crate::editor::Editor;
use crate::letter::Letter;
use crate::rows::{self, Row};
use crate::terminal::Key;

/// The number of lines of output that are kept for the screen.
const LINES: usize = 2_000;

/// An event.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Key(Key),
    /// A new state of the rooms.
    Snapshot(Box<Snapshot>),
    /// The daemon is not reachable.
    Lost(String),
    /// The reason why this process cannot answer for the person, if any.
    Refusal(Option<String>),
    /// The time in milliseconds since 1970.
    Clock(u64),
    /// The result of an action, in a sentence.
    Notice(String),
    /// The message of the person was sent, with a sentence about it.
    Sent(String),
    /// More output of a session, from this cursor on.
    Output {
        session: String,
        text: String,
        cursor: u64,
    },
}

/// An effect of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Stops this process until it is continued.
    Suspend,
    /// Opens the form of a question.
    Answer {
        question: String,
    },
    /// Calls a tool as from a worktree.
    Call {
        worktree: String,
        tool: &'static str,
        arguments: Value,
    },
    /// Stops an open call of an agent.
    StopCall {
        number: u64,
        started: u64,
    },
    /// Sends a message of the person.
    Write(Letter),
    /// Marks messages to the person as read.
    See {
        ids: Vec<String>,
    },
    /// Reads the output of a session from a cursor on.
    Read {
        id: String,
        worktree: String,
        session: String,
        cursor: u64,
    },
}

/// The part of the screen that receives keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    List,
    /// Types the filter of the room.
    Filter,
    Help,
    /// Types the name of a row in any room.
    Go(Editor),
    /// Asks before something is lost. Every key that is not listed means no.
    Confirm {
        question: String,
        answers: Vec<(char, Action)>,
    },
    /// Shows one row.
    Detail(Detail),
    Write(Writing),
}

/// An open row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Detail {
    pub room: Room,
    pub id: String,
    /// The number of lines scrolled up from the end, for output; down from the top, for everything else.
    pub scroll: usize,
    /// The output of a session so far, and the cursor to continue from.
    pub output: String,
    pub cursor: u64,
}

/// The state.
#[derive(Debug)]
pub(super) struct State {
    pub snapshot: Snapshot,
    /// The reason why the daemon is not reachable.
    pub lost: Option<String>,
    pub refusal: Option<String>,
    pub now: u64,
    pub room: Room,
    /// The id of the chosen row of each room.
    pub chosen: HashMap<Room, String>,
    /// Its index when it was last seen, for when it is gone.
    index: HashMap<Room, usize>,
    pub filter: Editor,
    pub mode: Mode,
    pub notice: Option<String>,
    /// The last message of the person that was not sent, or may not have been.
    pub unsent: Option<Letter>,
    /// The messages to the person that were marked as read.
    pub seen: HashSet<String>,
    /// The number of rows that the last frame had room for.
    pub height: Cell<usize>,
}

impl State {
    pub(super) fn new(room: Room) -> State {
        State {
            snapshot: Snapshot::default(),
            lost: Some("connecting".to_owned()),
            refusal: None,
            now: 0,
            room,
            chosen: HashMap::new(),
            index: HashMap::new(),
            filter: Editor::default(),
            mode: Mode::List,
            notice: None,
            unsent: None,
            seen: HashSet::new(),
            height: Cell::new(10),
        }
    }

    /// Returns the rows of the open room that pass the filter.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = rows::rows(&self.snapshot.rooms, self.room, self.now);
        rows.retain(|row| row.has(self.filter.text()));
        rows
    }

    /// Returns the index of the chosen row among these.
    pub(super) fn chosen_index(&self, rows: &[Row]) -> usize {
        let index = self.index.get(&self.room).copied().unwrap_or_default();
        // At the top, the list follows new calls and more urgent needs.
        if matches!(self.room, Room::Now | Room::Activity) && index == 0 {
            return 0;
        }
        let by_id = self.chosen.get(&self.room).and_then(|id| rows.iter().position(|row| row.id == *id));
        by_id.unwrap_or_else(|| index.min(rows.len().saturating_sub(1)))
    }

    fn choose(&mut self, rows: &[Row], index: usize) {
        let index = index.min(rows.len().saturating_sub(1));
        if let Some(row) = rows.get(index) {
            self.chosen.insert(self.room, row.id.clone());
            self.index.insert(self.room, index);
        }
    }

    /// Returns the room and the id of the chosen row; for a need, those of the row that it is about.
    pub(super) fn target(&self) -> Option<(Room, String)> {
        if let Mode::Detail(detail) = &self.mode {
            return Some((detail.room, detail.id.clone()));
        }
        let rows = self.rows();
        let id = rows.get(self.chosen_index(&rows))?.id.clone();
        match self.room {
            Room::Now => {
                let need = self.snapshot.rooms.now.iter().find(|need| need.id == id)?;
                Some((need.room, id))
            }
            room => Some((room, id)),
        }
    }
}

/// Changes the state by an event, and returns the effects.
pub(super) fn update(state: &mut State, event: Event) -> Vec<Action> {
    match event {
        Event::Snapshot(snapshot) => {
            state.snapshot = *snapshot;
            state.lost = None;
            let rows = state.rows();
            let index = state.chosen_index(&rows);
            state.choose(&rows, index);
            let mut actions = follow_output(state);
            actions.extend(writing::see(state));
            actions
        }
        Event::Lost(why) => {
            state.lost = Some(why);
            Vec::new()
        }
        Event::Refusal(refusal) => {
            state.refusal = refusal;
            Vec::new()
        }
        Event::Clock(now) => {
            state.now = now;
            follow_output(state)
        }
        Event::Notice(notice) => {
            state.notice = Some(notice);
            Vec::new()
        }
        Event::Sent(notice) => {
            (state.notice, state.unsent) = (Some(notice), None);
            Vec::new()
        }
        Event::Output { session, text, cursor } => {
            if let Mode::Detail(detail) = &mut state.mode
                && detail.id == session
                && cursor >= detail.cursor
            {
                detail.output.push_str(&text);
                detail.cursor = cursor;
                let lines = detail.output.lines().count();
                if lines > LINES {
                    let cut = detail.output.match_indices('\n').nth(lines - LINES - 1).map_or(0, |(at, _)| at + 1);
                    detail.output.drain(..cut);
                }
            }
            Vec::new()
        }
        Event::Key(key) => {
            state.notice = None;
            press(state, key)
        }
    }
}

/// Reads more output while a session is open.
fn follow_output(state: &State) -> Vec<Action> {
    let Mode::Detail(Detail { room: Room::Sessions, id, cursor, .. }) = &state.mode else { return Vec::new() };
    let session = rows::session(&state.snapshot.rooms, id);
    let Some(session) = session.filter(|session| state.lost.is_none() && !session.is_server) else {
        return Vec::new();
    };
    let (worktree, name) = (session.worktree.clone(), session.name.clone());
    vec![Action::Read { id: id.clone(), worktree, session: name, cursor: *cursor }]
}

fn press(state: &mut State, key: Key) -> Vec<Action> {
    match key {
        Key::Ctrl('c') => return vec![Action::Quit],
        Key::Ctrl('z') => return vec![Action::Suspend],
        Key::Ctrl('k') if !matches!(state.mode, Mode::Write(_)) => {
            state.mode = Mode::Go(Editor::default());
            return Vec::new();
        }
        _ => {}
    }
    match std::mem::replace(&mut state.mode, Mode::List) {
        Mode::List => press_list(state, key),
        Mode::Help => Vec::new(),
        Mode::Filter => press_filter(state, key),
        Mode::Go(editor) => press_go(state, editor, key),
        Mode::Confirm { answers, .. } => {
            answers.into_iter().filter(|(letter, _)| key == Key::Char(*letter)).map(|(_, action)| action).collect()
        }
        Mode::Detail(detail) => press_detail(state, detail, key),
        Mode::Write(writing) => writing::press(state, writing, key),
    }
}

fn press_list(state: &mut State, key: Key) -> Vec<Action> {
    let rows = state.rows();
    let at = state.chosen_index(&rows);
    let page = state.height.get().max(1);
    match key {
        Key::Char('q') => return vec![Action::Quit],
        Key::Char('?') => state.mode = Mode::Help,
        Key::Char('/') => state.mode = Mode::Filter,
        Key::Escape => state.filter = Editor::default(),
        Key::Char(digit @ '1'..='8') => state.room = room_of(digit),
        Key::Tab | Key::Right => state.room = neighbour(state.room, 1),
        Key::BackTab | Key::Left => state.room = neighbour(state.room, Room::ALL.len() - 1),
        Key::Up | Key::Char('k') => state.choose(&rows, at.saturating_sub(1)),
        Key::Down | Key::Char('j') => state.choose(&rows, at + 1),
        Key::PageUp => state.choose(&rows, at.saturating_sub(page)),
        Key::PageDown => state.choose(&rows, at + page),
        Key::Home => state.choose(&rows, 0),
        Key::End => state.choose(&rows, usize::MAX),
        Key::Enter => return open(state),
        key => return act(state, &key),
    }
    Vec::new()
}

fn room_of(digit: char) -> Room {
    Room::ALL[digit as usize - '1' as usize]
}

fn neighbour(room: Room, by: usize) -> Room {
    let at = Room::ALL.iter().position(|other| *other == room).unwrap_or_default();
    Room::ALL[(at + by) % Room::ALL.len()]
}

/// Opens the chosen row: a question as its form, everything else as a page.
fn open(state: &mut State) -> Vec<Action> {
    match state.target() {
        Some((Room::Questions, question)) => answer(state, question),
        Some((Room::Now, setting)) => {
            state.notice = Some(format!("`hob trust` in a shell shows {setting} and grants it"));
            Vec::new()
        }
        None => Vec::new(),
        Some((room, id)) => {
            state.mode = Mode::Detail(Detail { room, id, ..Detail::default() });
            let mut actions = follow_output(state);
            actions.extend(writing::see(state));
            actions
        }
    }
}

fn answer(state: &mut State, question: String) -> Vec<Action> {
    match &state.refusal {
        Some(why) => {
            state.notice = Some(why.clone());
            Vec::new()
        }
        None => vec![Action::Answer { question }],
    }
}

/// Acts on the chosen or open row.
fn act(state: &mut State, key: &Key) -> Vec<Action> {
    if let Key::Char(letter @ ('w' | 'r')) = key {
        return writing::write(state, *letter == 'r');
    }
    if *key == Key::Char('e') {
        state.mode = Mode::Detail(Detail { room: Room::Now, ..Detail::default() });
        return Vec::new();
    }
    let Some((room, id)) = state.target() else { return Vec::new() };
    match (key, room) {
        (Key::Char('a'), Room::Questions) => return answer(state, id),
        (Key::Char('x'), Room::Activity | Room::Agents) => stop_call(state, room, &id),
        (Key::Char('i'), _) => match session_of(state, room, &id) {
            Some(session) => return vec![on_session(session, "repl_interrupt")],
            None => state.notice = Some("no evaluation is running here".to_owned()),
        },
        (Key::Char('x'), _) => match session_of(state, room, &id) {
            Some(session) => {
                let name = &session.name;
                let question = format!("End {name}? Its definitions are lost. y ends it, r restarts it");
                let answers = [('y', "repl_stop"), ('r', "repl_restart")];
                let answers = answers.map(|(letter, tool)| (letter, on_session(session, tool))).to_vec();
                state.mode = Mode::Confirm { question, answers };
            }
            None => state.notice = Some("no session here".to_owned()),
        },
        _ => {}
    }
    Vec::new()
}

fn on_session(session: &SessionRow, tool: &'static str) -> Action {
    let mut arguments = json!({"session": session.name});
    if tool == "repl_interrupt" {
        arguments["eval"] = session.eval.into();
    }
    Action::Call { worktree: session.worktree.clone(), tool, arguments }
}

/// Asks whether an open call is to be stopped: that of the row, or the latest one of the agent.
fn stop_call(state: &mut State, room: Room, id: &str) {
    if let Some(why) = &state.refusal {
        state.notice = Some(why.clone());
        return;
    }
    let is_it = |call: &&CallRow| if room == Room::Agents { call.agent == id } else { rows::call_id(call) == id };
    let mut open = state.snapshot.rooms.activity.iter().filter(|call| call.outcome.is_none());
    match open.find(is_it) {
        Some(CallRow { number, started, agent, tool, .. }) => {
            state.mode = Mode::Confirm {
                question: format!("Cancel the {tool} of {agent}? It gets an error that says so. y cancels it"),
                answers: vec![('y', Action::StopCall { number: *number, started: *started })],
            };
        }
        None => state.notice = Some("no open call here".to_owned()),
    }
}

/// Returns the session of a row: the row itself, or the one that the agent's evaluation runs in.
fn session_of<'a>(state: &'a State, room: Room, id: &str) -> Option<&'a SessionRow> {
    let rooms = &state.snapshot.rooms;
    match room {
        Room::Sessions => rows::session(rooms, id).filter(|session| !session.is_server),
        Room::Agents => {
            let agent = rows::agent(rooms, id)?;
            let mut running = rooms.sessions.iter().filter(|session| session.running_since.is_some());
            let only = running.find(|session| session.worktree == agent.worktree)?;
            running.all(|session| session.worktree != agent.worktree).then_some(only)
        }
        _ => None,
    }
}

fn press_filter(state: &mut State, key: Key) -> Vec<Action> {
    match key {
        Key::Enter => return Vec::new(),
        Key::Escape => {
            state.filter = Editor::default();
            return Vec::new();
        }
        key => state.filter.press(key),
    }
    state.mode = Mode::Filter;
    Vec::new()
}

/// Returns the rows of all rooms that hold a text, each with its room; those that begin with it come first.
pub(super) fn matches(state: &State, text: &str) -> Vec<(Room, Row)> {
    let rooms = Room::ALL.into_iter().filter(|room| *room != Room::Now);
    let all = rooms
        .flat_map(|room| rows::rows(&state.snapshot.rooms, room, state.now).into_iter().map(move |row| (room, row)));
    let mut found: Vec<(Room, Row)> = all.filter(|(_, row)| !text.is_empty() && row.has(text)).collect();
    let text = text.to_lowercase();
    found.sort_by_key(|(_, row)| !row.cells[0].text.to_lowercase().starts_with(&text));
    found.truncate(50);
    found
}

fn press_go(state: &mut State, mut editor: Editor, key: Key) -> Vec<Action> {
    match key {
        Key::Escape => return Vec::new(),
        Key::Enter => {
            if let Some((room, row)) = matches(state, editor.text()).into_iter().next() {
                state.room = room;
                state.filter = Editor::default();
                state.chosen.insert(room, row.id);
                // The id decides, also in the room of calls.
                state.index.insert(room, 1);
            }
            return Vec::new();
        }
        key => editor.press(key),
    }
    state.mode = Mode::Go(editor);
    Vec::new()
}

fn press_detail(state: &mut State, mut detail: Detail, key: Key) -> Vec<Action> {
    let page = state.height.get().max(1);
    // Output is read from its end, everything else from its top.
    let is_output = detail.room == Room::Sessions;
    let (up, down) = (
        |by: usize, scroll: usize| if is_output { scroll.saturating_add(by) } else { scroll.saturating_sub(by) },
        |by: usize, scroll: usize| if is_output { scroll.saturating_sub(by) } else { scroll.saturating_add(by) },
    );
    match key {
        Key::Escape | Key::Char('q') | Key::Left => return Vec::new(),
        Key::Char(digit @ '1'..='8') => {
            state.room = room_of(digit);
            return Vec::new();
        }
        Key::Up | Key::Char('k') => detail.scroll = up(1, detail.scroll),
        Key::Down | Key::Char('j') => detail.scroll = down(1, detail.scroll),
        Key::PageUp => detail.scroll = up(page, detail.scroll),
        Key::PageDown => detail.scroll = down(page, detail.scroll),
        Key::Home => detail.scroll = if is_output { LINES } else { 0 },
        Key::End => detail.scroll = if is_output { 0 } else { LINES },
        key => {
            state.mode = Mode::Detail(detail);
            return act(state, &key);
        }
    }
    state.mode = Mode::Detail(detail);
    Vec::new()
}
