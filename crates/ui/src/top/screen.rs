//! The loop of `hob top`: keys and news in, frames out. The terminal is restored however it ends.

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use project::journal;
use ratatui::crossterm::event;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::SetTitle;
use rustix::process::Signal;

use super::TopOptions;
use super::draw::{Palette, draw};
use super::link;
use super::state::{Action, Event, State, update};
use crate::terminal::{ENDING, Readiness, Screen, discard_keys, flag_of, read_key, restore_at_panic, wait_for_keys};

/// The time to wait for keys before news are looked at. It bounds the delay from an event to its frame.
const LOOK: Duration = Duration::from_millis(20);
/// The interval of ages on the screen.
const CLOCK: Duration = Duration::from_millis(500);

/// Shows the rooms until the person quits.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub fn run(options: TopOptions<'_>) -> io::Result<()> {
    let TopOptions { project, cwd, room, is_plain, answer } = options;
    let palette = if is_plain { Palette::Plain } else { Palette::Colours };
    let ends = flag_of(&ENDING)?;
    let [stops, continues] = [flag_of(&[Signal::TSTP])?, flag_of(&[Signal::CONT])?];
    restore_at_panic();
    // News wait here while a form is open, and the daemon keeps none for a face that does not ask.
    let (events, news) = sync_channel(1);
    link::watch(project.clone(), cwd, events.clone());
    let actions = link::act(project, events);
    let mut state = State::new(room);
    let mut screen = Screen::take()?;
    let mut titled = usize::MAX;
    let mut clock: Option<Instant> = None;
    let mut is_reading = false;
    loop {
        if ends.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Nobody gave the terminal back before SIGSTOP, and a shell has used it since.
        if continues.swap(false, Ordering::Relaxed) {
            screen.lend(|| ())?;
            (clock, titled) = (None, usize::MAX);
        }
        let mut todo = Vec::new();
        let is_due = clock.is_none_or(|at| at.elapsed() >= CLOCK);
        let mut events: Vec<Event> = news.try_iter().collect();
        if is_due {
            clock = Some(Instant::now());
            events.push(Event::Clock(journal::now()));
        }
        if !events.is_empty() {
            for event in events {
                is_reading &= !matches!(event, Event::Output { .. });
                todo.extend(update(&mut state, event));
            }
            set_title(&state, &mut titled);
            screen.terminal.draw(|frame| draw(frame, &state, palette))?;
        }
        if stops.swap(false, Ordering::Relaxed) {
            todo.push(Action::Suspend);
        }
        match wait_for_keys(LOOK)? {
            Readiness::Gone => return Ok(()),
            Readiness::Nothing | Readiness::Part => {}
            Readiness::Event => {
                // All pending keys are handled before the next frame, unless one needs the terminal.
                while todo.is_empty() && event::poll(Duration::ZERO)? {
                    let pressed = read_key()?.map(Event::Key);
                    todo.extend(pressed.into_iter().flat_map(|event| update(&mut state, event)));
                }
                screen.terminal.draw(|frame| draw(frame, &state, palette))?;
            }
        }
        for action in todo {
            match action {
                Action::Quit => return Ok(()),
                Action::Suspend => {
                    screen.lend(stop_here)?;
                    continues.store(false, Ordering::Relaxed);
                    (clock, titled) = (None, usize::MAX);
                }
                Action::Answer { question } => {
                    let outcome = screen.lend(|| answer(&question))?;
                    // Keys that were typed after the form are not commands here.
                    discard_keys();
                    update(&mut state, Event::Notice(outcome));
                    (clock, titled) = (None, usize::MAX);
                }
                // One read at a time: the answer of a slow one is not asked for again.
                Action::Read { .. } if is_reading => {}
                action => {
                    is_reading |= matches!(action, Action::Read { .. });
                    // The thread lives as long as this loop.
                    let _ = actions.send(action);
                }
            }
        }
    }
}

/// Sets the title of the terminal to the number of open questions.
fn set_title(state: &State, titled: &mut usize) {
    let open = state.snapshot.rooms.questions.len();
    if std::mem::replace(titled, open) != open {
        let title = if open == 0 { "hob".to_owned() } else { format!("({open}) hob") };
        let _ = execute!(io::stdout(), SetTitle(title));
    }
}

/// Stops this process and the others of its job until the shell continues them. SIGSTOP cannot be handled, so it stops a
/// process that handles SIGTSTP.
fn stop_here() {
    let _ = io::stdout().flush();
    let _ = rustix::process::kill_current_process_group(Signal::STOP);
}
