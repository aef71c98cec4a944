//! The screen of a program that runs on a terminal, as a person would see it, and the keys that a person would type.

use std::sync::Arc;

use parking_lot::Mutex;
use process::Window;
use vt100::{Callbacks, Parser};

/// The longest title or other text of an escape sequence. The parser would keep an endless one in memory.
const MAX_SEQUENCE: usize = 64 * 1024;
/// The number of bytes after which answers to the program are dropped.
const MAX_ANSWERS: usize = 256;

/// A screen, shared by the task that draws it and the tools that show it.
#[derive(Clone)]
pub struct Screen(Arc<Mutex<State>>);

struct State {
    parser: Parser<Answers>,
    window: Window,
    /// The number of bytes since the last escape.
    since_escape: usize,
}

/// What a screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its rows without blanks at their ends, and without empty rows at its end.
    pub text: String,
    pub window: Window,
    /// The cursor's row and column, counted from 1.
    pub cursor: (u16, u16),
}

/// The answers of the terminal to the program's questions.
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        action: char,
    ) {
        let (row, column) = screen.cursor_position();
        let answer = match (first, params, action) {
            (None, [[6]], 'n') => format!("\x1b[{};{}R", row + 1, column + 1),
            (None, [[5]], 'n') => "\x1b[0n".to_owned(),
            // A VT100 with advanced video.
            (None, [] | [[0]], 'c') => "\x1b[?1;2c".to_owned(),
            _ => return,
        };
        if self.0.len() < MAX_ANSWERS {
            self.0.extend(answer.into_bytes());
        }
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen(..)")
    }
}

impl Screen {
    pub(super) fn new(window: Window) -> Screen {
        let parser = Parser::new_with_callbacks(window.rows, window.columns, 0, Answers(Vec::new()));
        Screen(Arc::new(Mutex::new(State { parser, window, since_escape: 0 })))
    }

    /// Draws output.
    pub(super) fn draw(&self, bytes: &[u8]) {
        let state = &mut *self.0.lock();
        state.parser.process(bytes);
        state.since_escape = match memchr::memrchr(0x1b, bytes) {
            Some(at) => bytes.len() - at,
            None => state.since_escape + bytes.len(),
        };
        if state.since_escape > MAX_SEQUENCE {
            // CAN ends any sequence, and draws nothing.
            state.parser.process(b"\x18");
            state.since_escape = 0;
        }
    }

    /// Takes the answers that the program has asked for.
    pub(super) fn take_answers(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().parser.callbacks_mut().0)
    }

    /// Returns what it shows now.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.0.lock();
        let screen = state.parser.screen();
        let rows: Vec<String> = screen.rows(0, state.window.columns).collect();
        let text: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        let (row, column) = screen.cursor_position();
        Snapshot { text: text.join("\n").trim_end().to_owned(), window: state.window, cursor: (row + 1, column + 1) }
    }

    /// Translates text with names of keys, such as `/word<Enter>`, to what a terminal sends. A newline is Enter.
    pub fn keys(&self, text: &str) -> String {
        translate(text, self.0.lock().parser.screen().application_cursor())
    }
}

fn translate(text: &str, application: bool) -> String {
    let mut typed = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let key = named.and_then(|(name, after)| Some((key(name, application)?, after)));
        if let Some((key, after)) = key {
            typed += &key;
            rest = after;
        } else {
            typed.push(if first == '\n' { '\r' } else { first });
            rest = &rest[first.len_utf8()..];
        }
    }
    typed
}

/// Returns what a key of this name sends. Arrows depend on the mode that the program has set.
fn key(name: &str, application: bool) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let arrow = |letter| Some(format!("\x1b{}{letter}", if application { 'O' } else { '[' }));
    let editing = |number| Some(format!("\x1b[{number}~"));
    let plain = |text: &str| Some(text.to_owned());
    match name.as_str() {
        "enter" => plain("\r"),
        "tab" => plain("\t"),
        "esc" => plain("\x1b"),
        "backspace" => plain("\x7f"),
        "space" => plain(" "),
        "lt" => plain("<"),
        "up" => arrow('A'),
        "down" => arrow('B'),
        "right" => arrow('C'),
        "left" => arrow('D'),
        "home" => arrow('H'),
        "end" => arrow('F'),
        "insert" => editing(2),
        "delete" => editing(3),
        "pageup" => editing(5),
        "pagedown" => editing(6),
        name => {
            if let Some(number) = name.strip_prefix('f').and_then(|number| number.parse::<usize>().ok()) {
                let letters = ["P", "Q", "R", "S"].map(|letter| format!("\x1bO{letter}"));
                let numbers = [15, 17, 18, 19, 20, 21, 23, 24].map(|number| format!("\x1b[{number}~"));
                return letters.into_iter().chain(numbers).nth(number.checked_sub(1)?);
            }
            match name.strip_prefix("c-")?.as_bytes() {
                [letter @ (b'a'..=b'z' | b'@'..=b'_')] => Some(char::from(letter & 0x1f).to_string()),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn screen() -> Screen {
        Screen::new(Window { rows: 5, columns: 20 })
    }

    #[test]
    fn keys_have_names_and_other_text_stays() {
        assert_eq!(
            translate("/ab<Enter>\n<lt>x> a<b<C-c><c-[><F1><f12>", false),
            "/ab\r\r<x> a<b\x03\x1b\x1bOP\x1b[24~"
        );
        assert_eq!(
            (translate("<Up><Home>", false), translate("<Up><Home>", true)),
            ("\x1b[A\x1b[H".into(), "\x1bOA\x1bOH".into())
        );
        assert_eq!(translate("<F0><F13><C-é><Nothing><html>", true), "<F0><F13><C-é><Nothing><html>");
    }

    #[test]
    fn a_screen_shows_rows_and_answers_questions() {
        let screen = screen();
        screen.draw("one  \r\n\x1b[1mtwo\x1b[m ë\x1b[5;1H\x1b[2;4H\x1b[6n\x1b[c\x1b[5n".as_bytes());
        let shown = screen.snapshot();
        assert_eq!((shown.text.as_str(), shown.cursor), ("one\ntwo ë", (2, 4)));
        assert_eq!(screen.take_answers(), b"\x1b[2;4R\x1b[?1;2c\x1b[0n");
        assert_eq!(screen.keys("<Up>"), "\x1b[A");
        screen.draw(b"\x1b[?1h");
        assert_eq!(screen.keys("<Up>"), "\x1bOA");
        // A sequence without an end is cut off.
        screen.draw(b"\x1b[2J\x1b[H\x1b]2;");
        (0..100).for_each(|_| screen.draw(&[b't'; 4096]));
        screen.draw(b"\x1b[2J\x1b[Hend");
        assert_eq!(screen.snapshot().text, "end");
        (0..1000).for_each(|_| screen.draw(b"\x1b[6n"));
        assert!(screen.take_answers().len() < MAX_ANSWERS + 10);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_drawn(parts in prop::collection::vec(prop_oneof![
            any::<Vec<u8>>(),
            "\\PC{0,8}".prop_map(String::into_bytes),
            "\u{1b}(\\[[?>]?[0-9]{0,5}(;[0-9]{0,5}){0,2}[@-~]|[@-Z78=>c]|\\][0-9];[a-z]*\u{7})".prop_map(String::into_bytes),
        ], 0..60)) {
            let screen = screen();
            parts.iter().for_each(|part| screen.draw(part));
            let shown = screen.snapshot();
            prop_assert!(shown.text.lines().count() <= 5 && shown.cursor.0 <= 5);
        }
    }
}
