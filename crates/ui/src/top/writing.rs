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
    /// The message without what is in the editors.
    pub letter: Letter,
    /// True while the recipients have the keyboard.
    pub is_at_recipients: bool,
    /// The mode to return to: the list, or an open row.
    back: Box<Mode>,
}

impl Writing {
    fn new(letter: Letter, back: Mode) -> Writing {
        Writing {
            to: Editor::new(&letter.to, false),
            text: Editor::new(&letter.text, true),
            is_at_recipients: letter.to.is_empty(),
            letter,
            back: Box::new(back),
        }
    }

    fn letter(&self) -> Letter {
        Letter { to: self.to.text().to_owned(), text: self.text.text().to_owned(), ..self.letter.clone() }
    }
}

/// Begins a message: an answer to the chosen one, or a new one to the chosen agent, else to all agents. A message that
/// was left or not sent continues.
pub(super) fn write(state: &mut State, is_answer: bool) {
    if !state.may_act() {
        return;
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
    let Some(letter) = letter else { return state.tell("only messages can be answered") };
    let is_same = |unsent: &Letter| unsent.reply_to == letter.reply_to && (!is_answer || unsent.to == letter.to);
    let letter = state.unsent.clone().filter(is_same).unwrap_or(letter);
    let back = std::mem::take(&mut state.mode);
    state.mode = Mode::Write(Writing::new(letter, back));
}

/// Handles a key.
pub(super) fn press(state: &mut State, mut writing: Writing, key: Key) {
    let editor = if writing.is_at_recipients { &mut writing.to } else { &mut writing.text };
    match key {
        Key::Escape => {
            state.unsent = Some(writing.letter()).filter(|letter| !letter.text.trim().is_empty());
            if state.unsent.is_some() {
                state.tell("not sent; the same key opens the message again");
            }
            return state.mode = *writing.back;
        }
        Key::Ctrl('s') => {
            let letter = writing.letter();
            match letter.params() {
                Ok(_) => {
                    state.unsent = Some(letter.clone());
                    state.todo.push(Action::Write(letter));
                    return state.mode = *writing.back;
                }
                Err(why) => state.tell(why),
            }
        }
        Key::Ctrl('p') => {
            let at = PRIORITIES.iter().position(|priority| *priority == writing.letter.priority).unwrap_or_default();
            writing.letter.priority = PRIORITIES[(at + 1) % PRIORITIES.len()].to_owned();
        }
        Key::Tab | Key::BackTab => writing.is_at_recipients = !writing.is_at_recipients,
        Key::Enter if writing.is_at_recipients => writing.is_at_recipients = false,
        Key::Up => _ = editor.up(),
        Key::Down => _ = editor.down(),
        key => editor.press(key),
    }
    state.mode = Mode::Write(writing);
}

/// Marks the messages to the person in the open conversation as read.
pub(super) fn see(state: &mut State) {
    let Mode::Detail(Detail { room: Room::Mail, id, .. }) = &state.mode else { return };
    let mail = &state.snapshot.rooms.mail;
    let Some(opened) = mail.iter().find(|message| message.id == *id).filter(|_| state.refusal.is_none()) else {
        return;
    };
    let unread = mail.iter().filter(|message| message.thread == opened.thread && message.is_unread_by_user());
    let ids: Vec<String> =
        unread.map(|message| message.id.clone()).filter(|id| state.seen.insert(id.clone())).collect();
    if !ids.is_empty() {
        state.todo.push(Action::See { ids });
    }
}
