//! Hostile text made safe for a cell: nothing in it moves the cursor, turns the reading direction, or is wider than its
//! column.

use project::visible::push_visible;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of characters of a text that are looked at: a cell is much narrower.
const LOOKED_AT: usize = 2_000;

/// Returns a text on one line of at most this width, cut with a mark.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut safe = String::new();
    let mut before = ' ';
    for c in text.chars().take(LOOKED_AT) {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            c => push_visible(&mut safe, before, c),
        }
        before = c;
        if safe.len() > 8 * width + 64 {
            break;
        }
    }
    if safe.width() <= width {
        return safe;
    }
    let mut cut = String::new();
    let mut used = 0;
    for cluster in safe.graphemes(true) {
        used += cluster.width();
        if used + 1 > width {
            break;
        }
        cut.push_str(cluster);
    }
    if width == 0 { String::new() } else { cut + "…" }
}

/// Returns a text of exactly this width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let mut cell = fit(text, width);
    cell.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
    cell
}

/// Breaks a text into safe lines of at most this width, between words where possible.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut safe = String::new();
        let mut before = ' ';
        for c in line.trim_end_matches('\r').chars() {
            match c {
                '\t' => safe.push_str("    "),
                c => push_visible(&mut safe, before, c),
            }
            before = c;
        }
        lines.extend(wrap(&safe, width.max(2)));
    }
    lines
}

/// Wraps a line to at most `room` columns, between words where possible.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_word_bounds() {
        let width = word.width();
        if used + width > room && used > 0 {
            lines.push(String::new());
            used = 0;
            if word.trim().is_empty() {
                continue;
            }
        }
        for cluster in word.graphemes(true) {
            if used + cluster.width() > room && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            used += cluster.width();
            lines.last_mut().expect("there is a line").push_str(cluster);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_in_its_cell() {
        let long = "x".repeat(1 << 20);
        let hostile = [
            "\u{1b}]52;c;aGk=\u{7}",
            "\u{202e}desrever",
            "a\nb\r\tc",
            "漢字漢字漢字漢字",
            &long,
            "e\u{301}\u{301}",
            "🏳\u{fe0f}\u{200d}🌈",
            "",
        ];
        for text in hostile {
            for width in 0..12 {
                let cell = pad(text, width);
                assert_eq!(cell.width(), width, "{text:.20?} at {width}: {cell:?}");
                assert!(!cell.chars().any(|c| c.is_control() || project::visible::is_hidden(c)), "{cell:?}");
            }
            for line in lines(text, 10) {
                assert!(line.width() <= 10 && !line.chars().any(char::is_control), "{line:?}");
            }
        }
        assert_eq!(fit("\u{1b}[2J", 20), "\\x1b[2J");
        assert_eq!((fit("abcdef", 4), pad("ab", 4)), ("abc…".to_owned(), "ab  ".to_owned()));
        assert_eq!(lines("one two\n\nthree", 4), ["one ", "two", "", "thre", "e"]);
    }
}
