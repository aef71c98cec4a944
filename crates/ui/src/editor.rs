//! A text editor with a cursor that moves by grapheme clusters.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::terminal::Key;

/// Maximum length of a typed text in bytes. The daemon has its own limit for answers.
const LONGEST: usize = 256 * 1024;

/// An edited text, single-line or multi-line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// Byte offset of the cursor.
    at: usize,
    pub(crate) is_multiline: bool,
}

impl Editor {
    pub(crate) fn new(text: &str, is_multiline: bool) -> Editor {
        let mut editor = Editor { is_multiline, ..Editor::default() };
        editor.insert(text);
        editor
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Inserts typed or pasted text. Drops control characters; a single-line editor turns line breaks into spaces.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let kept: String = text
            .chars()
            .filter_map(|c| match c {
                '\n' if self.is_multiline => Some('\n'),
                '\n' => Some(' '),
                '\t' => Some(if self.is_multiline { '\t' } else { ' ' }),
                c if c.is_control() => None,
                c => Some(c),
            })
            .collect();
        if self.text.len() + kept.len() <= LONGEST {
            self.text.insert_str(self.at, &kept);
            self.at += kept.len();
        }
    }

    /// Deletes from a place before the cursor to the cursor.
    fn delete_from(&mut self, from: usize) {
        self.text.replace_range(from..self.at, "");
        self.at = from;
    }

    /// Returns the beginning of the word before the cursor.
    fn word_start(&self) -> usize {
        let head = &self.text[..self.at];
        let space = head.trim_end().rfind(char::is_whitespace);
        space.map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8))
    }

    /// Moves one line up. Returns false on the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        let before = self.text[..start].strip_suffix('\n');
        let line = before.map(|before| before.rfind('\n').map_or(0, |at| at + 1));
        line.is_some_and(|line| self.move_to_line(line))
    }

    /// Moves one line down. Returns false on the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.line_end();
        end < self.text.len() && self.move_to_line(end + 1)
    }

    /// Moves to the line that begins at an offset, and there to the same column or to the end.
    fn move_to_line(&mut self, line: usize) -> bool {
        let column = self.text[self.line_start()..self.at].graphemes(true).count();
        self.at = line;
        let end = self.line_end();
        self.at = self.text[line..end].grapheme_indices(true).nth(column).map_or(end, |(at, _)| line + at);
        true
    }

    /// Handles a key, except for the keys that move between rows.
    pub(crate) fn press(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text),
            Key::Enter => self.insert("\n"),
            Key::Backspace => self.delete_from(self.before()),
            Key::Delete => self.text.replace_range(self.at..self.after(), ""),
            Key::Left => self.at = self.before(),
            Key::Right => self.at = self.after(),
            Key::Home | Key::Ctrl('a') => self.at = self.line_start(),
            Key::End | Key::Ctrl('e') => self.at = self.line_end(),
            Key::Ctrl('w') => self.delete_from(self.word_start()),
            Key::Ctrl('u') => self.delete_from(self.line_start()),
            _ => {}
        }
    }

    /// Returns the text in rows, and row and column of the cursor. Rows break wherever they are full, so that the position is
    /// exact.
    pub(crate) fn rows(&self, width: usize) -> (Vec<String>, (usize, usize)) {
        let (mut row, mut used, mut cursor) = (String::new(), 0, (0, 0));
        let mut rows = Vec::new();
        for (at, cluster) in self.text.grapheme_indices(true).chain([(self.text.len(), "")]) {
            let drawn = if cluster == "\t" { "    " } else { cluster };
            if used + drawn.width() > width {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            if at == self.at {
                cursor = (rows.len(), used);
            }
            if cluster == "\n" {
                rows.push(std::mem::take(&mut row));
                used = 0;
            } else {
                row.push_str(drawn);
                used += drawn.width();
            }
        }
        rows.push(row);
        (rows, cursor)
    }

    fn before(&self) -> usize {
        self.text[..self.at].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.at + self.text[self.at..].graphemes(true).next().map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |at| self.at + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_edited_by_what_a_person_sees_as_one_character() {
        let mut editor = Editor::new("naïve e\u{301}👩‍👩‍👧", false);
        editor.press(Key::Backspace);
        assert_eq!(editor.text(), "naïve e\u{301}");
        editor.press(Key::Left);
        editor.insert("x");
        assert_eq!(editor.text(), "naïve xe\u{301}");
        editor.press(Key::Delete);
        assert_eq!(editor.text(), "naïve x");
        editor.press(Key::Ctrl('w'));
        assert_eq!(editor.text(), "naïve ");
        editor.insert("two\nlines\u{1b}[2J");
        assert_eq!(editor.text(), "naïve two lines[2J");
        editor.press(Key::Home);
        editor.press(Key::Delete);
        editor.press(Key::End);
        editor.press(Key::Ctrl('u'));
        assert_eq!((editor.text(), editor.at()), ("", 0));
        editor.press(Key::Backspace);
        editor.press(Key::Delete);
    }

    #[test]
    fn lines_are_walked_up_and_down() {
        let mut editor = Editor::new("first\r\nä\nlast one", true);
        assert!(editor.up());
        editor.insert("!");
        assert_eq!(editor.text(), "first\nä!\nlast one");
        assert!(editor.up());
        assert!(!editor.up());
        editor.insert("|");
        assert_eq!(editor.text(), "fi|rst\nä!\nlast one");
        assert!(editor.down() && editor.down() && !editor.down());
        editor.insert("|");
        assert_eq!(editor.text(), "fi|rst\nä!\nla|st one");
    }
}
