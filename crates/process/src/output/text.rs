//! Makes output readable: removes escape sequences, folds floods of equal lines, and cuts long output in the middle,
//! with totals.
//!
//! Pure functions; the log itself keeps everything as printed.

use std::borrow::Cow;

use super::excerpt_text::Tidied;

/// The options for showing output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Maximum bytes of text, not counting the notes on omissions.
    pub max_bytes: usize,
    /// Maximum bytes of a line; a longer one is cut, with a note.
    pub max_line: usize,
    /// True to remove escape sequences (colours, cursor movements).
    pub strip: bool,
    /// The number of equal lines from which they become one line and a count; a redrawn line is then shown in its last
    /// state. 0 folds nothing.
    pub fold: usize,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { max_bytes: 12_000, max_line: 2048, strip: true, fold: 4 }
    }
}

/// Output prepared for display.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The text, with notes in place of omitted parts.
    pub text: String,
    /// Bytes of output in all, as printed.
    pub total: u64,
    /// Bytes of output that the text stands for, including folded and stripped ones.
    pub shown: u64,
    /// Bytes omitted from the middle, or from long lines. For folded lines, the bytes of the folded text count.
    pub omitted: u64,
    /// The number of lines removed by folding.
    pub folded: u64,
    /// True if there were bytes of invalid UTF-8, shown as replacement characters.
    pub lossy: bool,
}

/// Returns the beginning (60 %) and the end (40 %) of the bytes, cut at line ends where there are any nearby, otherwise
/// at characters.
pub fn excerpt(bytes: &[u8], shape: &Shape) -> Excerpt {
    let all = Tidied::new(bytes, shape);
    let mut shown = Excerpt { total: bytes.len() as u64, folded: all.folded, lossy: all.lossy, ..Excerpt::default() };
    if all.text.len() <= shape.max_bytes {
        shown.omitted = all.cut().min(shown.total);
        shown.text = all.text;
    } else {
        let head = all.head(shape.max_bytes * 3 / 5);
        let tail = all.tail(head, shape.max_bytes - shape.max_bytes * 3 / 5);
        // Counted in printed bytes, if known: stripping and folding omit nothing.
        let out = all.printed(head..tail);
        shown.omitted = (out + all.cut_in(0..head) + all.cut_in(tail..all.text.len())).min(shown.total);
        shown.text = join(&all.text[..head], &all.text[tail..], out, Some(lines_in(&all.text[head..tail])));
    }
    shown.shown = shown.total - shown.omitted;
    shown.text = Tidied::presentable(shown.text);
    shown
}

/// Like [`excerpt`], for output of `total` bytes of which only the beginning and the end are available.
pub fn excerpt_of_parts(head: &[u8], tail: &[u8], total: u64, shape: &Shape) -> Excerpt {
    // Neither part may begin or end within a character, which would look like broken output.
    let head = &head[..whole_characters(head)];
    let tail = &tail[tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count()..];
    let (first, last) = (Tidied::new(head, shape), Tidied::new(tail, shape));
    let front = first.head(shape.max_bytes * 3 / 5);
    let back = last.tail(0, shape.max_bytes - shape.max_bytes * 3 / 5);
    let between = total.saturating_sub((head.len() + tail.len()) as u64);
    let out = between + first.printed(front..first.text.len()) + last.printed(0..back);
    let omitted = (out + first.cut_in(0..front) + last.cut_in(back..last.text.len())).min(total);
    Excerpt {
        text: Tidied::presentable(join(&first.text[..front], &last.text[back..], out, None)),
        total,
        shown: total - omitted,
        omitted,
        folded: first.folded + last.folded,
        lossy: first.lossy || last.lossy,
    }
}

/// Removes escape sequences: CSI, OSC, DCS and the like, and two-byte ones. Everything else is unchanged.
pub fn strip_escapes(bytes: &[u8]) -> Cow<'_, [u8]> {
    const ESC: u8 = 0x1B;
    if memchr::memchr(ESC, bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(ESC, rest) {
        kept.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let skip = match rest.first() {
            // Parameters and intermediates, then one final byte. Anything else ends a broken sequence and is kept.
            Some(b'[') => {
                let body = rest[1..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
                1 + body + usize::from(rest.get(1 + body).is_some_and(|byte| (0x40..0x7F).contains(byte)))
            }
            // A string up to BEL or ESC \; an unterminated one ends with its line.
            Some(b']' | b'P' | b'X' | b'^' | b'_') => {
                let end = memchr::memchr3(0x07, ESC, b'\n', rest).unwrap_or(rest.len());
                match rest.get(end) {
                    Some(0x07) => end + 1,
                    Some(&ESC) if rest.get(end + 1) == Some(&b'\\') => end + 2,
                    _ => end,
                }
            }
            Some(0x20..=0x2F) => {
                let body = rest.iter().take_while(|byte| (0x20..0x30).contains(*byte)).count();
                (body + 1).min(rest.len())
            }
            Some(0x30..=0x7E) => 1,
            _ => 0,
        };
        rest = &rest[skip..];
    }
    kept.extend_from_slice(rest);
    Cow::Owned(kept)
}

/// Writes out every control character except line feeds and tabs, as in `\\x1b`: for text that is shown whole and was
/// not meant as output.
pub fn written_out(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !hidden(c) => shown.push(c),
            c if c.is_ascii() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

/// Shows each line that carriage returns redraw, such as a progress bar, in its last state and with the number of redraws.
pub fn last_states(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut settled = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let mut states = content.split('\r').filter(|state| !state.trim().is_empty());
        match states.next_back() {
            Some(last) if last.len() < content.len() => {
                settled.push_str(last.trim_end());
                match states.count() as u64 {
                    0 => {}
                    1 => settled.push_str(" [redrawn once]"),
                    more => settled.push_str(&format!(" [redrawn {} times]", grouped(more))),
                }
            }
            _ => settled.push_str(content),
        }
        settled.push_str(&line[content.len()..]);
    }
    Cow::Owned(settled)
}

/// Replaces runs of at least `from` equal lines by one line and a count. Returns the number of removed lines.
pub fn fold_lines(text: &str, from: usize) -> (Cow<'_, str>, u64) {
    if from < 2 {
        return (Cow::Borrowed(text), 0);
    }
    let mut folded = String::new();
    let mut away = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let mut run = 1;
        while lines.next_if_eq(&line).is_some() {
            run += 1;
        }
        if run >= from {
            folded.push_str(line);
            folded.push_str(&format!("[the line above {} more times]\n", grouped(run as u64 - 1)));
            away += run as u64 - 1;
        } else {
            (0..run).for_each(|_| folded.push_str(line));
        }
    }
    if away == 0 { (Cow::Borrowed(text), 0) } else { (Cow::Owned(folded), away) }
}

/// Returns the number of bytes, from the front, that form whole characters. Bytes of invalid UTF-8 count as characters.
pub fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(4) {
        let byte = bytes[bytes.len() - back];
        let needs = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if needs > back { bytes.len() - back } else { bytes.len() };
    }
    bytes.len()
}

/// Returns a count with thousands separators: 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn join(head: &str, tail: &str, bytes: u64, lines: Option<u64>) -> String {
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    let lines = match lines {
        Some(lines) if lines > 1 => format!(", {} lines", grouped(lines)),
        _ => String::new(),
    };
    format!("{head}{gap}[… {} bytes{lines} left out …]\n{tail}", grouped(bytes))
}

fn lines_in(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::super::excerpt_text::{decoded, printed};
    use super::*;

    fn check(bytes: &[u8], max_bytes: usize, expected: Expect) {
        let shape = Shape { max_bytes, max_line: 40, ..Shape::default() };
        let shown = excerpt(bytes, &shape);
        let facts = format!(
            "\n-- total {}, shown {}, omitted {}, folded {}, lossy {}\n",
            shown.total, shown.shown, shown.omitted, shown.folded, shown.lossy
        );
        expected.assert_eq(&(shown.text + &facts));
    }

    #[test]
    fn little_is_shown_whole() {
        check(
            b"one\ntwo\n",
            100,
            expect![[r#"
            one
            two

            -- total 8, shown 8, omitted 0, folded 0, lossy false
        "#]],
        );
        check(
            b"",
            100,
            expect![[r#"

            -- total 0, shown 0, omitted 0, folded 0, lossy false
        "#]],
        );
    }

    #[test]
    fn much_is_cut_at_lines() {
        let lines: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        check(
            lines.as_bytes(),
            50,
            expect![[r#"
                line 1
                line 2
                line 3
                line 4
                [… 747 bytes, 94 lines left out …]
                line 99
                line 100

                -- total 792, shown 45, omitted 747, folded 0, lossy false
            "#]],
        );
    }

    #[test]
    fn a_long_line_a_broken_character_and_colours() {
        check(
            "é".repeat(50).as_bytes(),
            100,
            expect![[r#"
                éééééééééééééééééééé[… 60 more bytes in this line]
                -- total 100, shown 40, omitted 60, folded 0, lossy false
            "#]],
        );
        check(
            b"a\xffb",
            100,
            expect![[r#"
                a�b
                -- total 3, shown 3, omitted 0, folded 0, lossy true
            "#]],
        );
        check(
            b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b(Bplain\x1b",
            100,
            expect![[r#"
            red plain
            -- total 34, shown 34, omitted 0, folded 0, lossy false
        "#]],
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_counted_as_they_were_printed() {
        check(
            &[b"head\n".as_slice(), &[0xFF; 100], b"\ntail\n"].concat(),
            100,
            expect![[r#"
            head
            �������������[… 87 more bytes in this line]
            tail

            -- total 111, shown 24, omitted 87, folded 0, lossy true
        "#]],
        );
        let shape = Shape { max_bytes: 30, max_line: 10_000, ..Shape::default() };
        let shown = excerpt(&[0xFF; 1000], &shape);
        assert_eq!((shown.total, shown.shown, shown.omitted), (1000, 10, 990), "ten are shown: {}", shown.text);
        let parts = excerpt_of_parts(&[0xFF; 100], &[0xE2, 0x82, b'a', 0xE2, 0x82, b'b'], 5000, &shape);
        assert_eq!((parts.total, parts.shown + parts.omitted), (5000, 5000));
        assert!(
            parts.text.starts_with(&"\u{FFFD}".repeat(6)) && parts.text.ends_with("\n\u{FFFD}a\u{FFFD}b"),
            "{parts:?}"
        );
        assert_eq!(parts.shown, 6 + 6);
        // One broken character of two bytes counts as two.
        assert_eq!(printed(&decoded(&[b'x', 0xE2, 0x82, b'y', 0xFF])), 5);
    }

    #[test]
    fn a_redrawn_line_is_shown_in_its_last_state() {
        let bar: String = (0..=1000).map(|step| format!("\r{step:4} |{:10}|", "#".repeat(step / 100))).collect();
        assert_eq!(
            last_states(&format!("start\r\n{bar}\nend")),
            "start\r\n1000 |##########| [redrawn 1,000 times]\nend"
        );
        assert_eq!(last_states("one\rtwo   \r\n\ronce\n"), "two [redrawn once]\r\nonce\n");
        assert_eq!(last_states("\r\r\n\r"), "\r\r\n\r");
        let shown = excerpt(bar.as_bytes(), &Shape::default());
        assert_eq!((shown.total, shown.omitted), (bar.len() as u64, 0), "{}", shown.text);
    }

    #[test]
    fn floods_are_folded() {
        let flood = "start\n".to_owned() + &"same\n".repeat(5000) + "end";
        check(
            flood.as_bytes(),
            100,
            expect![[r#"
            start
            same
            [the line above 4,999 more times]
            end
            -- total 25009, shown 25009, omitted 0, folded 4999, lossy false
        "#]],
        );
    }

    #[test]
    fn parts_are_joined_with_the_right_total() {
        let shape = Shape { max_bytes: 20, ..Shape::default() };
        let shown = excerpt_of_parts(b"first\nsecond\nthird \xc3", b"\xa9 x\nlast\n", 1_000_000, &shape);
        expect![[r#"
            first
            [… 999,986 bytes left out …]
             x
            last
        "#]]
        .assert_eq(&shown.text);
        assert_eq!(shown.total, shown.shown + shown.omitted);
    }

    #[test]
    fn notes_on_long_lines_are_not_counted_as_printed() {
        let lines: String = (0..20).map(|number| format!("{}\n", number.to_string().repeat(100))).collect();
        check(
            lines.as_bytes(),
            200,
            expect![[r#"
            0000000000000000000000000000000000000000[… 60 more bytes in this line]
            [… 2,718 bytes, 18 lines left out …]
            1919191919191919191919191919191919191919[… 160 more bytes in this line]

            -- total 3020, shown 82, omitted 2938, folded 0, lossy false
        "#]],
        );
        // A single line, of which only parts are known.
        let shape = Shape { max_bytes: 100, max_line: 200, ..Shape::default() };
        let shown = excerpt_of_parts(&[b'z'; 1000], &[b'z'; 1000], 10_000, &shape);
        let z = shown.text.matches('z').count() as u64;
        assert_eq!((shown.shown, shown.omitted), (z, 10_000 - z), "{}", shown.text);
    }

    proptest! {
        #[test]
        fn what_is_shown_and_what_is_left_out_are_counted_exactly(
            text in "[AB\n]{0,600}",
            max_bytes in 0usize..400,
            max_line in 1usize..60,
            split in 0usize..600,
        ) {
            let shape = Shape { max_bytes, max_line, fold: 0, ..Shape::default() };
            let split = split.min(text.len());
            let parts = excerpt_of_parts(&text.as_bytes()[..split], &text.as_bytes()[split..], text.len() as u64, &shape);
            for shown in [excerpt(text.as_bytes(), &shape), parts] {
                let content = shown.text.matches(['A', 'B', '\n']).count() as u64;
                // The note has its own line; a line break before it belongs to the note where a line was cut.
                let own = shown.text.matches("left out …]\n").count() as u64;
                prop_assert!((shown.shown + own..=shown.shown + 2 * own).contains(&content), "{shown:?}");
                prop_assert_eq!(shown.shown + shown.omitted, text.len() as u64);
            }
        }

        #[test]
        fn any_bytes_are_cut_without_panic_and_within_bounds(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            max_bytes in 0usize..200,
            max_line in 1usize..100,
        ) {
            let shape = Shape { max_bytes, max_line, ..Shape::default() };
            let shown = excerpt(&bytes, &shape);
            prop_assert!(shown.text.len() <= max_bytes + 80);
            prop_assert_eq!(shown.shown + shown.omitted, bytes.len() as u64);
            prop_assert!(whole_characters(&bytes) + 3 >= bytes.len());
            let split = bytes.len() / 2;
            excerpt_of_parts(&bytes[..split], &bytes[split..], bytes.len() as u64 + 10, &shape);
        }

        #[test]
        fn text_without_escapes_is_not_touched(text in "[^\u{1b}]*") {
            prop_assert_eq!(strip_escapes(text.as_bytes()), text.as_bytes());
        }
    }
}
