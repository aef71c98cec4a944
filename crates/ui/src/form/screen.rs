//! The terminal of a form: taken over while the form is filled in, and given back however that ends.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

use rustix::process::Signal;

use super::draw::draw;
use super::question::Question;
use super::state::{Key, State, Step};
use super::{Answer, Outcome, Questioner, Refusal};

/// How often is looked whether the question was closed elsewhere.
const LOOK: Duration = Duration::from_millis(50);

/// Shows a question on the terminal and has it filled in, until the answer was taken or the person leaves.
///
/// # Errors
/// When the terminal cannot be used.
pub fn fill(question: Question, note: &str, questioner: &mut dyn Questioner) -> io::Result<Outcome> {
    let mut state = State::new(question, note);
    let ends = ending_signals()?;
    let mut screen = Screen::take()?;
    screen.terminal.draw(|frame| draw(frame, &state))?;
    // What was typed before the question was seen answers nothing.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    loop {
        if ends.load(Ordering::Relaxed) {
            return Ok(Outcome::Left);
        }
        if let Some(why) = questioner.closed() {
            return Ok(Outcome::Closed { why });
        }
        match event::poll(LOOK) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        questioner.typed();
        let step = match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                key(pressed).map_or(Step::Stay, |key| state.press(key))
            }
            // A pasted break is no Enter: nothing is sent by it.
            Event::Paste(text) => state.press(Key::Paste(text)),
            _ => Step::Stay,
        };
        match step {
            Step::Stay => {}
            Step::Leave => return Ok(Outcome::Left),
            Step::Give(answer) => {
                if let Some(outcome) = give(&answer, &mut state, questioner) {
                    return Ok(outcome);
                }
            }
        }
        screen.terminal.draw(|frame| draw(frame, &state))?;
    }
}

/// `None` if the form stays.
fn give(answer: &Answer, state: &mut State, questioner: &mut dyn Questioner) -> Option<Outcome> {
    match questioner.give(answer) {
        Ok(()) => Some(Outcome::Given),
        Err(Refusal::Closed { why }) => Some(Outcome::Closed { why }),
        Err(Refusal::Again { field, why }) => {
            state.refuse(field, why);
            None
        }
    }
}

fn key(pressed: KeyEvent) -> Option<Key> {
    Some(match pressed.code {
        KeyCode::Char(c) if pressed.modifiers.contains(KeyModifiers::CONTROL) => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(_) if pressed.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

/// Turns true when a signal asks the program to end: the terminal is given back first.
fn ending_signals() -> io::Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let ends = ends.clone();
        #[expect(unsafe_code, reason = "a signal handler is registered")]
        // SAFETY: the handler does nothing but to store into an atomic, which is async-signal-safe.
        unsafe {
            signal_hook_registry::register(signal.as_raw(), move || ends.store(true, Ordering::Relaxed))?;
        }
    }
    Ok(ends)
}

/// The terminal while it is ours.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn take() -> io::Result<Screen> {
        enable_raw_mode()?;
        let taken = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste);
        let terminal = taken.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match terminal {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        give_back();
    }
}

fn give_back() {
    // A terminal that is gone needs nothing back.
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
