//! The connections of `hob top` to the daemon: a thread that watches the rooms and connects again after a restart, and a
//! thread that acts, so that neither blocks the keyboard.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread;

use client::Control;
use client::control::ControlError;
use project::Project;
use serde_json::json;

use super::state::{Action, Event};
use crate::feed::{self, call, outcome, request, stop_call};

/// Starts to watch. The thread ends when the receiver is dropped.
pub(super) fn watch(project: Project, cwd: PathBuf, events: SyncSender<Event>) {
    thread::spawn(move || {
        let hello = Control::hello(&project, &cwd);
        let greet = |control: &mut Control| greet(control, &events);
        feed::follow(&project, &hello, greet, |news| {
            let event = news.map_or_else(Event::Lost, |snapshot| Event::Snapshot(Box::new(snapshot)));
            events.send(event).is_ok()
        });
    });
}

/// Reports that a person looks, so that agents that ask wait longer; unless an agent started this process.
fn greet(control: &mut Control, events: &SyncSender<Event>) -> Result<(), ControlError> {
    let answer = control.request("ask/refusal", json!({}), |_, _| {})?;
    let refusal = answer["refusal"].as_str().map(str::to_owned);
    if refusal.is_none() {
        control.request("ask/watch", json!({}), |_, _| {})?;
    }
    // A dropped receiver ends the thread with the next state.
    let _ = events.send(Event::Refusal(refusal));
    Ok(())
}

/// Starts the thread that acts, and returns the way to it.
pub(super) fn act(project: Project, events: SyncSender<Event>) -> Sender<Action> {
    let (actions, todo): (Sender<Action>, Receiver<Action>) = channel();
    thread::spawn(move || {
        for action in todo {
            if let Some(event) = perform(&project, action)
                && events.send(event).is_err()
            {
                return;
            }
        }
    });
    actions
}

fn perform(project: &Project, action: Action) -> Option<Event> {
    Some(match action {
        Action::Call { worktree, tool, arguments } => {
            Event::Notice(outcome(call(project, Path::new(&worktree), tool, arguments)))
        }
        Action::StopCall { number, started } => Event::Notice(stop_call(project, number, started)),
        Action::Write(letter) => match letter.params().map_err(str::to_owned).and_then(|params| {
            let answer = request(project, "mail/write", params)?;
            Ok(answer["content"][0]["text"].as_str().unwrap_or("sent").to_owned())
        }) {
            Ok(text) => Event::Sent(text),
            Err(why) => Event::Notice(format!("not sent: {why}")),
        },
        Action::See { ids } => match request(project, "mail/seen", json!({"ids": ids})) {
            Ok(_) => return None,
            Err(why) => Event::Notice(format!("the message stays unread: {why}")),
        },
        Action::Read { id, worktree, session, cursor } => {
            // Without an answer the next attempt begins at the same place.
            let mut output = feed::output(project, &worktree, &session, cursor).unwrap_or_default();
            if output.has_gap {
                output.text.push_str("\n[left out; `hob call repl_read` reads any part]\n");
            }
            output.text.push_str(output.end.as_deref().unwrap_or_default());
            Event::Output { session: id, text: output.text, cursor: output.cursor }
        }
        Action::Quit | Action::Suspend | Action::Answer { .. } => return None,
    })
}
