//! `hob top`: the rooms of a project on a terminal, live. [`run`] shows them until the person quits; [`frame`] returns one
//! frame as text.
//!
//! Modules: `state.rs` (events in, actions out; no terminal access), `writing.rs` (a message of the person), `detail.rs` (the text
//! of an open row), `draw.rs` (rendering), `link.rs` (the daemon), `screen.rs` (the loop).

mod detail;
mod draw;
mod link;
mod screen;
mod state;
mod writing;

use std::path::PathBuf;

use project::dashboard::{NEXT, Room, Snapshot};
use project::{Project, journal};
use serde_json::json;

use crate::feed;
use crate::terminal::draw_lines;

pub use screen::run;

/// The options of `hob top`.
pub struct TopOptions<'a> {
    pub project: Project,
    /// The working directory, which decides the worktree.
    pub cwd: PathBuf,
    /// The room to begin with.
    pub room: Room,
    /// True if colours are not wanted (`NO_COLOR`).
    pub is_plain: bool,
    /// Opens the form of a question on the terminal, which is free meanwhile. Returns the outcome in a sentence.
    pub answer: &'a mut dyn FnMut(&str) -> String,
}

/// Returns one frame of a room as text. It is as high as its rows need.
///
/// # Errors
/// Fails with a sentence if no daemon runs, or if it cannot be asked.
pub fn frame(project: &Project, room: Room, width: u16) -> Result<String, String> {
    let snapshot = feed::request(project, NEXT, json!({}))?;
    let snapshot: Snapshot = serde_json::from_value(snapshot).map_err(|error| error.to_string())?;
    let mut state = state::State::new(room);
    state::update(&mut state, state::Event::Clock(journal::now()));
    state::update(&mut state, state::Event::Snapshot(Box::new(snapshot)));
    let rows = u16::try_from(state.rows().len()).unwrap_or(u16::MAX).min(200);
    let height = (rows + 12).max(draw::SMALLEST.1);
    Ok(picture(&state, width.max(draw::SMALLEST.0), height))
}

/// Draws a state without colours, as lines without trailing spaces. The lines of keys are left out.
fn picture(state: &state::State, width: u16, height: u16) -> String {
    let mut lines = draw_lines((width, height), |frame| draw::draw(frame, state, draw::Palette::Plain));
    lines.pop();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests;
