//! The mode in which the person writes a message. Only Ctrl-S sends it.

use project::dashboard::Room;

use super::state::{Action, Detail, Mode, State};
use crate::editor::Editor;
use crate::letter::{EVERYONE, Letter, PRIORITIES};
use crate::rows;
use crate::terminal::Key;

/// A message in its editors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Writing {
    pub to: Editor,
    pub text: Editor,
    pub priority: String,
    reply_to: Option<String>,
    /// True while the recipients have the keyboard.
    pub is_at_recipients: bool,
    /// The open row to return to.
    back: Option<Detail>,
}

impl Writing {
    fn new(letter: &Letter, back: Option<Detail>) -> Writing {
        Writing {
            to: Editor::new(&letter.to, false),
            text: Editor::new(&letter.text, true),
            priority: letter.priority.clone(),
            reply_to: letter.reply_to.clone(),
            is_at_recipients: letter.to.is_empty(),
            back,
        }
    }

    fn letter(&self) -> Letter {
        Letter {
            to: self.to.text().to_owned(),
            text: self.text.text().to_owned(),
            priority: self.priority.clone(),
            reply_to: self.reply_to.clone(),
        }
    }

    /// Returns true if it is an answer in a thread.
    pub(super) fn is_answer(&self) -> bool {
        self.reply_to.is_some()
    }
}

/// Begins a message: an answer to the chosen one, or a new one to the chosen agent, else to all agents. A message that
/// was left or not sent continues.
pub(super) fn write(state: &mut State, is_answer: bool) -> Vec<Action> {
    if let Some(why) = &state.refusal {
        state.notice = Some(why.clone());
        return Vec::new();
    }
    let rooms = &state.snapshot.rooms;
    let letter = match (is_answer, state.target()) {
        (true, Some((Room::Mail, id))) => rooms.mail.iter().find(|message| message.id == id).map(Letter::answer),
        (true, _) => None,
        (false, Some((Room::Agents, id))) => {
            let agent = rows::agent(rooms, &id).filter(|agent| agent.has_mailbox);
            Some(Letter::new(agent.map_or(EVERYONE, |agent| &agent.name)))
        }
        (false, _) => Some(Letter::new(EVERYONE)),
    };
    let Some(letter) = letter else {
        state.notice = Some("only messages can be answered".to_owned());
        return Vec::new();
    };
    let is_same = |unsent: &Letter| unsent.reply_to == letter.reply_to && (!is_answer || unsent.to == letter.to);
    let letter = state.unsent.clone().filter(is_same).unwrap_or(letter);
    let back = match std::mem::replace(&mut state.mode, Mode::List) {
        Mode::Detail(detail) => Some(detail),
        _ => None,
    };
    state.mode = Mode::Write(Writing::new(&letter, back));
    Vec::new()
}

/// Handles a key.
pub(super) fn press(state: &mut State, mut writing: Writing, key: Key) -> Vec<Action> {
    let editor = if writing.is_at_recipients { &mut writing.to } else { &mut writing.text };
    match key {
        Key::Escape => {
            state.unsent = Some(writing.letter()).filter(|letter| !letter.text.trim().is_empty());
            if state.unsent.is_some() {
                state.notice = Some("not sent; the same key opens the message again".to_owned());
            }
            state.mode = writing.back.map_or(Mode::List, Mode::Detail);
            return Vec::new();
        }
        Key::Ctrl('s') => {
            let letter = writing.letter();
            match letter.params() {
                Ok(_) => {
                    state.unsent = Some(letter.clone());
                    state.mode = writing.back.map_or(Mode::List, Mode::Detail);
                    return vec![Action::Write(letter)];
                }
                Err(why) => state.notice = Some(why.to_owned()),
            }
        }
        Key::Ctrl('p') => {
            let at = PRIORITIES.iter().position(|priority| *priority == writing.priority).unwrap_or_default();
            writing.priority = PRIORITIES[(at + 1) % PRIORITIES.len()].to_owned();
        }
        Key::Tab | Key::BackTab => writing.is_at_recipients = !writing.is_at_recipients,
        Key::Enter if writing.is_at_recipients => writing.is_at_recipients = false,
        Key::Up => _ = editor.up(),
        Key::Down => _ = editor.down(),
        key => editor.press(key),
    }
    state.mode = Mode::Write(writing);
    Vec::new()
}

/// Marks the messages to the person in the open conversation as read.
pub(super) fn see(state: &mut State) -> Vec<Action> {
    let Mode::Detail(Detail { room: Room::Mail, id, .. }) = &state.mode else { return Vec::new() };
    if state.refusal.is_some() {
        return Vec::new();
    }
    let mail = &state.snapshot.rooms.mail;
    let Some(opened) = mail.iter().find(|message| message.id == *id) else { return Vec::new() };
    let unread = mail.iter().filter(|message| message.thread == opened.thread && message.is_unread_by_user());
    let ids: Vec<String> =
        unread.map(|message| message.id.clone()).filter(|id| state.seen.insert(id.clone())).collect();
    if ids.is_empty() { Vec::new() } else { vec![Action::See { ids }] }
}
