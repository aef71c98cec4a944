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
    /// A key of the person.
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
    Output { session: String, text: String, cursor: u64 },
}

/// An effect of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Ends the program.
    Quit,
    /// Stops this process until it is continued.
    Suspend,
    /// Opens the form of a question.
    Answer { question: String },
    /// Calls a tool as from a worktree.
    Call { worktree: String, tool: &'static str, arguments: Value },
    /// Stops an open call of an agent.
    StopCall { number: u64, started: u64 },
    /// Sends a message of the person.
    Write(Letter),
    /// Marks messages to the person as read.
    See { ids: Vec<String> },
    /// Reads the output of a session from a cursor on.
    Read { id: String, worktree: String, session: String, cursor: u64 },
}

/// The part of the screen that receives keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
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
#[derive(Debug, Default)]
pub(super) struct State {
    pub snapshot: Snapshot,
    /// The reason why the daemon is not reachable.
    pub lost: Option<String>,
    pub refusal: Option<String>,
    pub now: u64,
    pub room: Room,
    /// The chosen row of each room: its id, and its index when it was last seen, for when it is gone.
    pub chosen: HashMap<Room, (String, usize)>,
    pub filter: Editor,
    pub mode: Mode,
    pub notice: Option<String>,
    /// The last message of the person that was not sent, or may not have been.
    pub unsent: Option<Letter>,
    /// The messages to the person that were marked as read.
    pub seen: HashSet<String>,
    /// The effects of the present event.
    pub todo: Vec<Action>,
    /// The number of rows that the last frame had room for.
    pub height: Cell<usize>,
    /// The number of lines by which the last frame could be scrolled.
    pub most: Cell<usize>,
}

impl State {
    pub(super) fn new(room: Room) -> State {
        State { lost: Some("connecting".to_owned()), room, ..State::default() }
    }

    /// Returns the rows of the open room that pass the filter.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = rows::rows(&self.snapshot.rooms, self.room, self.now);
        rows.retain(|row| row.has(self.filter.text()));
        rows
    }

    /// Returns the index of the chosen row among these.
    pub(super) fn chosen_index(&self, rows: &[Row]) -> usize {
        let Some((id, index)) = self.chosen.get(&self.room) else { return 0 };
        // At the top, the list follows new calls and more urgent needs.
        if matches!(self.room, Room::Now | Room::Activity) && *index == 0 {
            return 0;
        }
        let by_id = rows.iter().position(|row| row.id == *id);
        by_id.unwrap_or_else(|| rows.len().saturating_sub(1).min(*index))
    }

    fn choose(&mut self, rows: &[Row], index: usize) {
        let index = index.min(rows.len().saturating_sub(1));
        if let Some(row) = rows.get(index) {
            self.chosen.insert(self.room, (row.id.clone(), index));
        }
    }

    /// Returns the room and the id of the open or chosen row; for a need, those of the row that it is about.
    pub(super) fn target(&self) -> Option<(Room, String)> {
        if let Mode::Detail(detail) = &self.mode {
            return Some((detail.room, detail.id.clone()));
        }
        let rows = self.rows();
        let id = rows.get(self.chosen_index(&rows))?.id.clone();
        let need = || self.snapshot.rooms.now.iter().find(|need| need.id == id);
        let room = if self.room == Room::Now { need()?.room } else { self.room };
        Some((room, id))
    }

    /// Shows a sentence until the next key.
    pub(super) fn tell(&mut self, notice: &str) {
        self.notice = Some(notice.to_owned());
    }

    /// Returns true if this process may act for the person. Shows the reason otherwise.
    pub(super) fn may_act(&mut self) -> bool {
        if self.refusal.is_some() {
            self.notice.clone_from(&self.refusal);
        }
        self.refusal.is_none()
    }
}

/// Changes the state by an event, and returns the effects.
pub(super) fn update(state: &mut State, event: Event) -> Vec<Action> {
    match event {
        Event::Snapshot(snapshot) => {
            (state.snapshot, state.lost) = (*snapshot, None);
            let rows = state.rows();
            let index = state.chosen_index(&rows);
            state.choose(&rows, index);
            follow(state);
        }
        Event::Lost(why) => state.lost = Some(why),
        Event::Refusal(refusal) => state.refusal = refusal,
        Event::Clock(now) => {
            state.now = now;
            follow(state);
        }
        Event::Notice(notice) => state.notice = Some(notice),
        Event::Sent(notice) => (state.notice, state.unsent) = (Some(notice), None),
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
        }
        Event::Key(key) => {
            state.notice = None;
            press(state, key);
        }
    }
    std::mem::take(&mut state.todo)
}

/// Reads more output of an open session, and marks an open conversation as read.
fn follow(state: &mut State) {
    let Mode::Detail(Detail { room, id, cursor, .. }) = &state.mode else { return };
    match rows::session(&state.snapshot.rooms, id) {
        Some(session) if *room == Room::Sessions && state.lost.is_none() && !session.is_server => {
            let (worktree, name) = (session.worktree.clone(), session.name.clone());
            state.todo.push(Action::Read { id: id.clone(), worktree, session: name, cursor: *cursor });
        }
        _ => writing::see(state),
    }
}

fn press(state: &mut State, key: Key) {
    match key {
        Key::Ctrl('c') => return state.todo.push(Action::Quit),
        Key::Ctrl('z') => return state.todo.push(Action::Suspend),
        Key::Ctrl('k') if !matches!(state.mode, Mode::Write(_)) => return state.mode = Mode::Go(Editor::default()),
        _ => {}
    }
    match std::mem::take(&mut state.mode) {
        Mode::List => press_list(state, key),
        Mode::Help => {}
        Mode::Filter => press_filter(state, key),
        Mode::Go(editor) => press_go(state, editor, key),
        Mode::Confirm { answers, .. } => {
            let chosen = answers.into_iter().find(|(letter, _)| key == Key::Char(*letter));
            state.todo.extend(chosen.map(|(_, action)| action));
        }
        Mode::Detail(detail) => press_detail(state, detail, key),
        Mode::Write(writing) => writing::press(state, writing, key),
    }
}

fn press_list(state: &mut State, key: Key) {
    let rows = state.rows();
    let at = state.chosen_index(&rows);
    let page = state.height.get().max(1);
    match key {
        Key::Char('q') => state.todo.push(Action::Quit),
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
        Key::Enter => open(state),
        key => act(state, &key),
    }
}

fn room_of(digit: char) -> Room {
    Room::ALL[digit as usize - '1' as usize]
}

fn neighbour(room: Room, by: usize) -> Room {
    let at = Room::ALL.iter().position(|other| *other == room).unwrap_or_default();
    Room::ALL[(at + by) % Room::ALL.len()]
}

/// Opens the chosen row: a question as its form, everything else as a page.
fn open(state: &mut State) {
    match state.target() {
        Some((Room::Questions, question)) => answer(state, question),
        Some((Room::Now, setting)) => state.tell(&format!("`hob trust` in a shell shows {setting} and grants it")),
        None => {}
        Some((room, id)) => {
            state.mode = Mode::Detail(Detail { room, id, ..Detail::default() });
            follow(state);
        }
    }
}

fn answer(state: &mut State, question: String) {
    if state.may_act() {
        state.todo.push(Action::Answer { question });
    }
}

/// Acts on the chosen or open row.
fn act(state: &mut State, key: &Key) {
    match key {
        Key::Char(letter @ ('w' | 'r')) => return writing::write(state, *letter == 'r'),
        Key::Char('e') => return state.mode = Mode::Detail(Detail { room: Room::Now, ..Detail::default() }),
        _ => {}
    }
    let Some((room, id)) = state.target() else { return };
    let session = session_of(state, room, &id);
    match (key, room) {
        (Key::Char('a'), Room::Questions) => answer(state, id),
        (Key::Char('x'), Room::Activity | Room::Agents) => stop_call(state, room, &id),
        (Key::Char('i'), _) => match session.map(|session| on_session(session, "repl_interrupt")) {
            Some(interrupt) => state.todo.push(interrupt),
            None => state.tell("no evaluation is running here"),
        },
        (Key::Char('x'), _) => match session {
            Some(session) => {
                let question = format!("End {}? Its definitions are lost. y ends it, r restarts it", session.name);
                let answers = [('y', "repl_stop"), ('r', "repl_restart")];
                let answers = answers.map(|(letter, tool)| (letter, on_session(session, tool))).to_vec();
                state.mode = Mode::Confirm { question, answers };
            }
            None => state.tell("no session here"),
        },
        _ => {}
    }
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
    if !state.may_act() {
        return;
    }
    let is_it = |call: &&CallRow| if room == Room::Agents { call.agent == id } else { rows::call_id(call) == id };
    let mut open = state.snapshot.rooms.activity.iter().filter(|call| call.outcome.is_none());
    match open.find(is_it) {
        Some(CallRow { number, started, agent, tool, .. }) => {
            let question = format!("Cancel the {tool} of {agent}? It gets an error that says so. y cancels it");
            let answers = vec![('y', Action::StopCall { number: *number, started: *started })];
            state.mode = Mode::Confirm { question, answers };
        }
        None => state.tell("no open call here"),
    }
}

/// Returns the session of a row: the row itself, or the one that the agent's evaluation runs in.
fn session_of<'a>(state: &'a State, room: Room, id: &str) -> Option<&'a SessionRow> {
    let rooms = &state.snapshot.rooms;
    match room {
        Room::Sessions => rows::session(rooms, id).filter(|session| !session.is_server),
        Room::Agents => {
            let agent = rows::agent(rooms, id)?;
            let is_there = |session: &&SessionRow| session.worktree == agent.worktree;
            let mut running = rooms.sessions.iter().filter(|session| session.running_since.is_some()).filter(is_there);
            running.next().filter(|_| running.next().is_none())
        }
        _ => None,
    }
}

fn press_filter(state: &mut State, key: Key) {
    match key {
        Key::Enter => return,
        Key::Escape => return state.filter = Editor::default(),
        key => state.filter.press(key),
    }
    state.mode = Mode::Filter;
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

fn press_go(state: &mut State, mut editor: Editor, key: Key) {
    match key {
        Key::Escape => return,
        Key::Enter => {
            if let Some((room, row)) = matches(state, editor.text()).into_iter().next() {
                (state.room, state.filter) = (room, Editor::default());
                // The id decides, also in the room of calls.
                state.chosen.insert(room, (row.id, 1));
            }
            return;
        }
        key => editor.press(key),
    }
    state.mode = Mode::Go(editor);
}

fn press_detail(state: &mut State, mut detail: Detail, key: Key) {
    let page = state.height.get().max(1).cast_signed();
    let down = match key {
        Key::Escape | Key::Char('q') | Key::Left => return,
        Key::Char(digit @ '1'..='8') => return state.room = room_of(digit),
        Key::Up | Key::Char('k') => -1,
        Key::Down | Key::Char('j') => 1,
        Key::PageUp => -page,
        Key::PageDown => page,
        Key::Home => isize::MIN + 1,
        Key::End => isize::MAX,
        key => {
            state.mode = Mode::Detail(detail);
            return act(state, &key);
        }
    };
    // Output is read from its end, everything else from its top.
    let by = if detail.room == Room::Sessions { -down } else { down };
    detail.scroll = detail.scroll.min(state.most.get()).saturating_add_signed(by);
    state.mode = Mode::Detail(detail);
}
