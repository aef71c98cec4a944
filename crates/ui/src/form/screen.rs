//! Terminal of a form: taken over while the form is open, and always restored.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::draft::Draft;
use super::draw::draw;
use super::question::Question;
use super::state::{Key, State, Step};
use super::{Answer, Outcome, Questioner, Refusal};

/// Interval at which the form checks whether the question was closed elsewhere. Keys closer together than this count as
/// pasted, and send nothing.
const LOOK: Duration = Duration::from_millis(50);

/// Shows a question on the terminal, starting from an earlier draft, until the answer is accepted or the person leaves.
///
/// # Errors
/// Fails if the terminal cannot be used.
pub fn fill(question: Question, note: &str, draft: &Draft, questioner: &mut dyn Questioner) -> io::Result<Outcome> {
    let mut state = State::new(question, note, draft);
    let begun = Instant::now();
    let ends = ending_signals()?;
    let mut screen = Screen::take()?;
    state.takes_keys = false;
    screen.terminal.draw(|frame| draw(frame, &state))?;
    // Keys typed before the question was visible are discarded. Hints for keys appear only once those keys work.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    state.takes_keys = true;
    screen.terminal.draw(|frame| draw(frame, &state))?;
    loop {
        if ends.load(Ordering::Relaxed) {
            return Ok(Outcome::Left { draft: state.draft() });
        }
        if let Some(why) = questioner.closed() {
            return Ok(Outcome::Closed { why, typed: state.typed() });
        }
        // The age of the question is shown.
        let open_s = begun.elapsed().as_secs();
        if state.open_s != open_s {
            state.open_s = open_s;
            screen.terminal.draw(|frame| draw(frame, &state))?;
        }
        match wait_for_keys(LOOK)? {
            Readiness::Gone => return Ok(Outcome::Left { draft: state.draft() }),
            // A change of the terminal's size is an event too.
            _ if event::poll(Duration::ZERO)? => {}
            Readiness::Nothing => {
                if !state.is_settled {
                    state.is_settled = true;
                    screen.terminal.draw(|frame| draw(frame, &state))?;
                }
                continue;
            }
            // Events that crossterm has not read yet arrive with the next key.
            Readiness::Keys => {
                std::thread::sleep(LOOK);
                continue;
            }
        }
        questioner.typed();
        // All pending keys are handled before the form is drawn again, so that fast typing does not lag.
        loop {
            let step = match event::read()? {
                Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                    key(pressed).map_or(Step::Stay, |key| state.press(key))
                }
                // A pasted line break is not Enter, so it sends nothing.
                Event::Paste(text) => state.press(Key::Paste(text)),
                _ => Step::Stay,
            };
            match step {
                Step::Stay => {}
                // Keys typed later belong to the shell.
                Step::Leave => return Ok(Outcome::Left { draft: state.draft() }),
                Step::Give(answer) => {
                    if let Some(outcome) = give(&answer, &mut state, questioner) {
                        return Ok(outcome);
                    }
                }
            }
            if matches!(wait_for_keys(Duration::ZERO)?, Readiness::Gone) || !event::poll(Duration::ZERO)? {
                break;
            }
        }
        screen.terminal.draw(|frame| draw(frame, &state))?;
    }
}

/// State of the terminal's input.
enum Readiness {
    Nothing,
    Keys,
    /// The terminal is closed.
    Gone,
}

/// Waits a moment for keys. Reading from a closed terminal through crossterm would block forever.
fn wait_for_keys(long: Duration) -> io::Result<Readiness> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let long = Timespec::try_from(long).expect("a moment is a short time");
    match poll(&mut fds, Some(&long)) {
        Ok(0) | Err(Errno::INTR) => return Ok(Readiness::Nothing),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let is_gone = fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Ok(if is_gone { Readiness::Gone } else { Readiness::Keys })
}

/// Submits an answer. Returns `None` if the form stays open.
fn give(answer: &Answer, state: &mut State, questioner: &mut dyn Questioner) -> Option<Outcome> {
    match questioner.give(answer) {
        Ok(()) => Some(Outcome::Given),
        Err(Refusal::Closed { why }) => Some(Outcome::Closed { why, typed: state.typed() }),
        Err(Refusal::Again { field, why }) => {
            state.refuse(field, why);
            None
        }
    }
}

fn key(pressed: KeyEvent) -> Option<Key> {
    Some(match pressed.code {
        // Escape followed immediately by another key.
        KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace
            if pressed.modifiers.contains(KeyModifiers::ALT) =>
        {
            Key::Escape
        }
        KeyCode::Char(c) if pressed.modifiers.contains(KeyModifiers::CONTROL) => Key::Ctrl(c.to_ascii_lowercase()),
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

/// Returns a flag that is set when a signal asks the program to end, so that the terminal can be restored first.
fn ending_signals() -> io::Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let ends = ends.clone();
        #[expect(unsafe_code, reason = "a signal handler is registered")]
        // SAFETY: the handler only stores into an atomic, which is async-signal-safe.
        unsafe {
            signal_hook_registry::register(signal.as_raw(), move || ends.store(true, Ordering::Relaxed))?;
        }
    }
    Ok(ends)
}

/// The terminal while the form owns it.
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
    // A closed terminal needs no restoring.
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
