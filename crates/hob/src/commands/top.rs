//! `hob top`: the rooms of the project on the terminal, live; without a terminal, one frame.

use std::io::IsTerminal;

use clap::Args;
use project::Project;
use project::dashboard::Room;
use ui::top::TopOptions;

use super::{ask, current_project};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// The width of a frame without a terminal.
const WIDTH: u16 = 120;

/// Show who works, who waits for you and what is stuck, and act on it
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The room to begin with: now, agents, sessions, mail, questions, activity, work or nodes (default: now)
    #[arg(value_name = "ROOM", value_parser = room)]
    room: Option<Room>,
    /// Print one frame; the default without a terminal
    #[arg(long)]
    once: bool,
}

fn room(name: &str) -> Result<Room, String> {
    let names = Room::ALL.map(|room| room.name().to_lowercase());
    Room::from_name(name).ok_or_else(|| format!("unknown room; available: {}", names.join(", ")))
}

impl Top {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let (cwd, room) = (current_project::cwd()?, self.room.unwrap_or_default());
        let is_live = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        if self.once || !is_live {
            let width = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(WIDTH, |size| size.ws_col);
            let frame = ui::top::frame(project, room, width.clamp(60, 300)).map_err(Failure::new)?;
            terminal::print(&frame);
            return Ok(Exit::Done);
        }
        let mut answer = |id: &str| ask::answer_in_form(project, id).unwrap_or_else(|failure| failure.message);
        ui::top::run(TopOptions {
            project: project.clone(),
            cwd,
            room,
            is_plain: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            answer: &mut answer,
        })
        .map_err(|error| Failure::new(format_args!("cannot use the terminal: {error}")))?;
        Ok(Exit::Done)
    }
}
