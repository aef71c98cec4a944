//! The terminal while a face owns it: taken over, read key by key, and always restored.

use std::io::{self, Stdout};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::Duration;

use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use unicode_width::UnicodeWidthStr;

/// A key, or a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Paste(String),
    Ctrl(char),
    Enter,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Backspace,
    Delete,
    Escape,
}

/// State of the terminal's input.
pub(crate) enum Readiness {
    Nothing,
    /// The beginning of a key, which crossterm reads with the next one.
    Part,
    /// A key, or a change of the terminal's size.
    Event,
    /// The terminal is closed.
    Gone,
}

/// Waits a moment for keys.
pub(crate) fn wait_for_keys(long: Duration) -> io::Result<Readiness> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let most = Timespec::try_from(long).expect("a moment is a short time");
    let is_silent = match poll(&mut fds, Some(&most)) {
        Ok(0) | Err(Errno::INTR) => true,
        Ok(_) => false,
        Err(error) => return Err(error.into()),
    };
    if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Ok(Readiness::Gone);
    }
    if event::poll(Duration::ZERO)? {
        return Ok(Readiness::Event);
    }
    if is_silent {
        return Ok(Readiness::Nothing);
    }
    std::thread::sleep(long);
    Ok(Readiness::Part)
}

/// Reads a pending event; `None` if it is no key that a face uses. A pasted line break is not Enter.
pub(crate) fn read_key() -> io::Result<Option<Key>> {
    Ok(match event::read()? {
        Event::Key(pressed) if pressed.kind != KeyEventKind::Release => key(pressed),
        Event::Paste(text) => Some(Key::Paste(text)),
        _ => None,
    })
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

/// The signals that end the program, so that the terminal can be restored first.
pub(crate) const ENDING: [Signal; 6] =
    [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Returns a flag that each of these signals sets.
pub(crate) fn flag_of(signals: &[Signal]) -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register(signal.as_raw(), flag.clone())?;
    }
    Ok(flag)
}

/// The terminal, until dropped.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn take() -> io::Result<Screen> {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| drop(std::thread::spawn(end_with_terminal)));
        let mut screen = Screen { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))? };
        screen.begin()?;
        Ok(screen)
    }

    fn begin(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        // The new one draws every cell.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Gives the terminal back while something else uses it.
    pub(crate) fn lend<T>(&mut self, meanwhile: impl FnOnce() -> T) -> io::Result<T> {
        self.end();
        let outcome = meanwhile();
        self.begin()?;
        Ok(outcome)
    }

    fn end(&mut self) {
        let _ = self.terminal.show_cursor();
        give_back();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.end();
    }
}

/// Discards the keys that were typed so far.
pub(crate) fn discard_keys() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Draws a screen of this size, and returns its lines without trailing spaces.
pub(crate) fn draw_lines((width, height): (u16, u16), draw: impl FnOnce(&mut Frame<'_>)) -> Vec<String> {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(draw);
    let line = |cells: &[Cell]| {
        let mut covered = 0;
        // A wide symbol covers the cells behind it.
        let symbols = cells.iter().map(Cell::symbol).filter(|symbol| {
            let is_covered = covered > 0;
            covered = if is_covered { covered - 1 } else { symbol.width().saturating_sub(1) };
            !is_covered
        });
        symbols.collect::<String>().trim_end().to_owned()
    };
    terminal.backend().buffer().content().chunks(usize::from(width)).map(line).collect()
}

/// Ends the process a second after its terminal closes, if it has not ended by then. Crossterm reads a closed terminal in
/// an endless loop, and the terminal can close after [`wait_for_keys`] and before that read.
fn end_with_terminal() {
    let stdin = io::stdin();
    // Without events only a closed terminal ends the wait.
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    while matches!(poll(&mut fds, None), Err(Errno::INTR)) {}
    std::thread::sleep(Duration::from_secs(1));
    std::process::exit(1);
}

/// Restores the terminal before the message of a panic is printed.
pub(crate) fn restore_at_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        before(panic);
    }));
}

fn give_back() {
    // A closed terminal needs no restoring.
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
