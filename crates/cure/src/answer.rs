//! The size of an answer: a model reads all of it, so it holds at most [`MOST_BYTES`], and names what it omits.

use serde::Serialize;

/// Maximum size of an answer, as text and as JSON, in bytes.
pub(crate) const MOST_BYTES: usize = 50_000;

/// Space reserved for titles, totals and hints.
const FRAME: usize = 2_000;

/// How many bytes an answer still has room for.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// The room of an empty answer.
    pub(crate) fn new() -> Room {
        Room(MOST_BYTES - FRAME)
    }

    /// How many bytes are left.
    pub(crate) fn remaining_bytes(&self) -> usize {
        self.0
    }

    /// Takes a share out of the remaining room.
    pub(crate) fn share(&mut self, bytes: usize) -> Room {
        let bytes = bytes.min(self.0);
        self.0 -= bytes;
        Room(bytes)
    }

    /// Gives the unused part of a share back to this room.
    pub(crate) fn rest(&mut self, of: Room) {
        self.0 += of.0;
    }

    /// Takes the item in, if it fits.
    pub(crate) fn takes<T: Serialize>(&mut self, item: &T) -> bool {
        let bytes = size(item) + 1;
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
        }
        fits
    }

    /// True if all of these fit.
    pub(crate) fn holds<T: Serialize>(&self, all: &[T]) -> bool {
        all.iter().map(|item| size(item) + 1).sum::<usize>() <= self.0
    }

    /// The first of these, as long as they fit.
    pub(crate) fn first<T: Serialize>(&mut self, mut all: Vec<T>) -> Vec<T> {
        let fit = all.iter().take_while(|item| self.takes(item)).count();
        all.truncate(fit);
        all
    }

    /// The beginning of a text, as much as fits, and whether that is all of it.
    pub(crate) fn beginning(&mut self, mut text: String) -> (String, bool) {
        let mut cut = None;
        for (at, letter) in text.char_indices() {
            let bytes = written(letter);
            if bytes > self.0 {
                cut = Some(at);
                break;
            }
            self.0 -= bytes;
        }
        text.truncate(cut.unwrap_or(text.len()));
        (text, cut.is_none())
    }
}

/// The size of an item as JSON.
fn size<T: Serialize>(item: &T) -> usize {
    serde_json::to_vec(item).map_or(usize::MAX / 2, |json| json.len())
}

/// The size of a character in a JSON string.
fn written(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\t' | '\r' | '\u{8}' | '\u{c}' => 2,
        letter if letter < ' ' => 6,
        letter => letter.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_in_is_paid_for() {
        let mut room = Room::new();
        let mut half = room.share(10);
        assert_eq!(half.first(vec!["abc", "abc", "a"]), ["abc"]);
        assert_eq!(half.beginning("\n\nž".to_owned()), ("\n\n".to_owned(), false));
        room.rest(half);
        assert!(!room.takes(&"x".repeat(MOST_BYTES)) && room.takes(&"x".repeat(MOST_BYTES - FRAME - 20)));
        let all: String = (0..=u8::MAX).map(char::from).collect();
        assert_eq!(all.chars().map(written).sum::<usize>() + 2, size(&all));
    }
}
