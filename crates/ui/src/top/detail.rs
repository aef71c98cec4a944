//! The text of an open row.

use project::dashboard::Room;
use project::span;

use super::state::{Detail, State};
use crate::rows;

/// Returns everything about the row, in lines. Texts of agents are escaped when they are drawn.
pub(super) fn text(state: &State, open: &Detail) -> String {
    let rooms = &state.snapshot.rooms;
    let ago = |at: u64| format!("{} ago", span(state.now.saturating_sub(at) / 1000));
    let mut text = Vec::new();
    match open.room {
        Room::Now => {
            text.push("what happened, newest first".to_owned());
            text.extend(rooms.events.iter().map(|event| format!("{:<12} {}", ago(event.at), event.text)));
        }
        Room::Sessions => {
            let Some(session) = rows::session(rooms, &open.id) else { return gone() };
            text.push(format!("{} · {} · {}", session.name, session.profile, session.state.replace('_', " ")));
            text.extend(session.reason.iter().cloned());
            text.push(open.output.clone());
        }
        Room::Mail => {
            let Some(message) = rooms.mail.iter().find(|message| message.id == open.id) else { return gone() };
            text.push("conversation, oldest message first".to_owned());
            for message in rows::conversation(rooms, &message.thread) {
                let to = rows::recipients(message);
                text.push(format!("{} to {to}, {}, {}", message.from, message.priority, ago(message.sent)));
                text.extend(message.text.lines().map(|line| format!("│ {line}")));
                text.push(String::new());
            }
        }
        room => {
            let all = rows::rows(rooms, room, state.now);
            let Some(row) = all.iter().find(|row| row.id == open.id) else { return gone() };
            let columns = rows::columns(room);
            let named = columns.iter().zip(&row.cells).filter(|(_, cell)| !cell.text.is_empty());
            text.extend(named.map(|(column, cell)| format!("{:<12} {}", column.title, cell.text)));
            text.extend((room == Room::Work).then(|| format!("\n`hob brief` in {} has more.", open.id)));
            if room == Room::Agents {
                let of_agent = rows::of_agent(rooms, &open.id);
                for room in [Room::Questions, Room::Sessions, Room::Activity, Room::Mail] {
                    let rows = rows::rows(&of_agent, room, state.now);
                    text.extend((!rows.is_empty()).then(|| format!("\n{}", room.name())));
                    text.extend(rows.iter().map(rows::Row::line));
                }
            }
        }
    }
    text.join("\n")
}

fn gone() -> String {
    "This row no longer exists. Esc goes back.".to_owned()
}
