//! Hostile text made safe for a cell: nothing in it moves the cursor, turns the reading direction, or is wider than its
//! column.

use project::visible::escaped;
use unicode_segmentation::UnicodeSegmentation;
use unicode_truncate::UnicodeTruncateStr;
use unicode_width::UnicodeWidthStr;

/// Returns a text on one line of at most this width, cut with a mark.
pub(crate) fn fit(text: &str, width: usize) -> String {
    // Characters without a width count too, so that a huge text costs little.
    let safe = one_line(text.chars().take(8 * width + 64));
    if safe.width() <= width {
        return safe;
    }
    if width == 0 { String::new() } else { safe.unicode_truncate(width - 1).0.to_owned() + "…" }
}

/// Returns the end of a text on one line of at most this width.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    one_line(text.chars()).unicode_truncate_start(width).0.to_owned()
}

fn one_line(text: impl Iterator<Item = char>) -> String {
    escaped(&text.map(|c| if c.is_ascii_whitespace() { ' ' } else { c }).collect::<String>())
}

/// Returns a text of exactly this width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let mut cell = fit(text, width);
    cell.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
    cell
}

/// Breaks a text into safe lines of at most this width, between words where possible.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let safe = text.lines().map(|line| escaped(&line.replace('\t', "    ")));
    safe.flat_map(|line| wrap(&line, width.max(2))).collect()
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
