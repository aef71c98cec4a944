//! Reads the raw text of a word: quotes, escapes, braces and globs. The grammar gives the positions of expansions. A character
//! that cannot occur in a word shows that the grammar and a shell disagree, and is an error.

use std::ops::Range;

use super::word::{Part, Word};

/// The maximum number of words from one brace expansion.
const BRACES_MAX: usize = 64;

/// The kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A word of a command, in which braces are expanded.
    Word,
    /// The value of an assignment.
    Value,
    /// Several words, separated by blanks.
    Words,
    /// The text of a here-document, in which quotes are text.
    HereDocument,
}

/// An expansion in a word.
#[derive(Debug, Clone)]
pub(super) struct Expansion {
    pub(super) range: Range<usize>,
    /// True if it makes several words even in quotes: `"$@"`.
    pub(super) is_list: bool,
    /// True if it is the name of a pipe: `<(…)`.
    pub(super) is_pipe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Plain(char),
    Quoted(char),
    /// An empty quoted text, which also makes a word.
    Empty,
    Hole(bool),
    Pipe,
}

/// The error for a text that is not a word.
pub(super) struct NotAWord;

/// Reads the words in a range of a text: one word, or several after brace expansion.
pub(super) fn read(
    text: &str,
    range: Range<usize>,
    expansions: &[Expansion],
    mode: Mode,
) -> Result<Vec<Word>, NotAWord> {
    let pieces = pieces(text, range, expansions, mode)?;
    if mode != Mode::Word || !pieces.contains(&Piece::Plain('{')) {
        return Ok(vec![word(&pieces)]);
    }
    let mut words = Vec::new();
    let braces = pieces.iter().filter(|piece| **piece == Piece::Plain('{')).count();
    if braces <= BRACES_MAX && expand(&pieces, &mut words, 0) {
        return Ok(words.iter().map(|pieces| word(pieces)).collect());
    }
    // Too many words, or a range: the words are known only at run time.
    let open = pieces.iter().position(|piece| *piece == Piece::Plain('{')).unwrap_or(0);
    let close = pieces.iter().rposition(|piece| *piece == Piece::Plain('}')).unwrap_or(pieces.len() - 1);
    let mut known = pieces[..open].to_vec();
    known.push(Piece::Hole(true));
    known.extend_from_slice(&pieces[close + 1..]);
    Ok(vec![word(&known)])
}

/// Returns true if a `$` before this character begins an expansion.
fn begins_expansion(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphanumeric() || "_({[@*#?!$-`".contains(c))
}

fn pieces(text: &str, range: Range<usize>, expansions: &[Expansion], mode: Mode) -> Result<Vec<Piece>, NotAWord> {
    let mut pieces = Vec::new();
    let mut expansions = expansions.iter().peekable();
    let mut at = range.start;
    let mut is_in_quotes = mode == Mode::HereDocument;
    let peek = |at: usize| text.get(at..range.end).and_then(|rest| rest.chars().next());
    while let Some(c) = peek(at) {
        if let Some(expansion) = expansions.next_if(|expansion| expansion.range.start == at) {
            pieces.push(if expansion.is_pipe { Piece::Pipe } else { Piece::Hole(!is_in_quotes || expansion.is_list) });
            at = expansion.range.end;
            continue;
        }
        if expansions.peek().is_some_and(|expansion| expansion.range.start < at) {
            return Err(NotAWord);
        }
        let next = peek(at + c.len_utf8());
        at += c.len_utf8();
        match c {
            '"' if mode != Mode::HereDocument => {
                is_in_quotes = !is_in_quotes;
                pieces.push(Piece::Empty);
            }
            '\\' => match next {
                Some('\n') => at += 1,
                Some(c) if !is_in_quotes || "$`\\".contains(c) || c == '"' && mode != Mode::HereDocument => {
                    at += c.len_utf8();
                    pieces.push(Piece::Quoted(c));
                }
                _ => pieces.push(Piece::Quoted('\\')),
            },
            '`' => return Err(NotAWord),
            '$' if !is_in_quotes && next == Some('\'') => at = ansi(text, at + 1, range.end, &mut pieces)?,
            '$' if !is_in_quotes && next == Some('"') => {}
            '$' if begins_expansion(next) => return Err(NotAWord),
            c if is_in_quotes => pieces.push(Piece::Quoted(c)),
            '\'' => {
                let length = text.get(at..range.end).and_then(|rest| rest.find('\'')).ok_or(NotAWord)?;
                pieces.push(Piece::Empty);
                pieces.extend(text[at..at + length].chars().map(Piece::Quoted));
                at += length + 1;
            }
            ' ' | '\t' if mode == Mode::Words => pieces.push(Piece::Quoted(c)),
            c if c.is_whitespace() || ";&|<>()".contains(c) => return Err(NotAWord),
            c => pieces.push(Piece::Plain(c)),
        }
    }
    if is_in_quotes && mode != Mode::HereDocument || expansions.next().is_some() {
        return Err(NotAWord);
    }
    Ok(pieces)
}

/// Reads `$'…'`, with the escapes of C. Returns its end.
fn ansi(text: &str, begin: usize, end: usize, pieces: &mut Vec<Piece>) -> Result<usize, NotAWord> {
    pieces.push(Piece::Empty);
    let chars: Vec<(usize, char)> = text[begin..end].char_indices().collect();
    let mut at = 0;
    while let Some((offset, c)) = chars.get(at) {
        at += 1;
        match c {
            '\'' => return Ok(begin + offset + 1),
            '\\' => {}
            c => {
                pieces.push(Piece::Quoted(*c));
                continue;
            }
        }
        let (_, c) = chars.get(at).ok_or(NotAWord)?;
        let number = |from: usize, radix: u32, most: usize| {
            let digits = chars[from.min(chars.len())..].iter().take(most).take_while(|(_, c)| c.is_digit(radix));
            digits.fold((0_u32, 0), |(value, count), (_, c)| {
                (value.wrapping_mul(radix) | c.to_digit(radix).unwrap_or(0), count + 1)
            })
        };
        at += 1;
        let (value, count) = match c {
            'x' => number(at, 16, 2),
            'u' => number(at, 16, 4),
            'U' => number(at, 16, 8),
            '0'..='7' => {
                at -= 1;
                let (value, count) = number(at, 8, 3);
                (value & 0xff, count)
            }
            'c' => (0, 0),
            c => {
                match c {
                    'n' => pieces.push(Piece::Quoted('\n')),
                    't' => pieces.push(Piece::Quoted('\t')),
                    'r' => pieces.push(Piece::Quoted('\r')),
                    'a' => pieces.push(Piece::Quoted('\x07')),
                    'b' => pieces.push(Piece::Quoted('\x08')),
                    'e' | 'E' => pieces.push(Piece::Quoted('\x1b')),
                    'f' => pieces.push(Piece::Quoted('\x0c')),
                    'v' => pieces.push(Piece::Quoted('\x0b')),
                    '\\' | '\'' | '"' | '?' => pieces.push(Piece::Quoted(*c)),
                    c => pieces.extend([Piece::Quoted('\\'), Piece::Quoted(*c)]),
                }
                continue;
            }
        };
        at += count;
        match char::from_u32(value) {
            Some(c) if value != 0 && !(0x80..=0xff).contains(&value) && count > 0 => pieces.push(Piece::Quoted(c)),
            // A NUL drops the rest of the quote, and a byte that alone is not a character may become part of one.
            _ => {
                pieces.push(Piece::Hole(false));
                let length = end_of_ansi(&text[chars.get(at).ok_or(NotAWord)?.0 + begin..end]).ok_or(NotAWord)?;
                return Ok(begin + chars[at].0 + length + 1);
            }
        }
    }
    Err(NotAWord)
}

/// Returns the end of the quote in the rest of `$'…'`.
fn end_of_ansi(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    rest.bytes().position(|byte| {
        let is_end = byte == b'\'' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Expands the alternatives in braces. Returns true if a shell expands nothing else.
fn expand(pieces: &[Piece], words: &mut Vec<Vec<Piece>>, from: usize) -> bool {
    let Some(open) = (from..pieces.len()).find(|at| pieces[*at] == Piece::Plain('{')) else {
        words.push(pieces.to_vec());
        return words.len() <= BRACES_MAX;
    };
    let (mut depth, mut commas, mut close, mut has_range) = (0, vec![open], None, false);
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        match piece {
            Piece::Plain('{') => depth += 1,
            Piece::Plain('}') => {
                depth -= 1;
                if depth == 0 {
                    close = Some(at);
                    break;
                }
            }
            Piece::Plain(',') if depth == 1 => commas.push(at),
            Piece::Plain('.') if pieces.get(at + 1) == Some(&Piece::Plain('.')) => has_range = true,
            _ => {}
        }
    }
    let Some(close) = close.filter(|_| commas.len() > 1) else {
        // The brace is literal text unless a range makes several words. Text inside it may have alternatives.
        return !(has_range && close.is_some()) && expand(pieces, words, open + 1);
    };
    commas.push(close);
    for bounds in commas.windows(2) {
        let mut one = pieces[..open].to_vec();
        one.extend_from_slice(&pieces[bounds[0] + 1..bounds[1]]);
        one.extend_from_slice(&pieces[close + 1..]);
        if words.len() > BRACES_MAX || one.len() > 4096 || !expand(&one, words, open) {
            return false;
        }
    }
    true
}

fn word(pieces: &[Piece]) -> Word {
    let mut word = Word::default();
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        at += 1;
        match piece {
            Piece::Plain(c @ ('*' | '?')) => word.parts.push(Part::Glob(*c)),
            Piece::Plain('[') => match pieces[at..].iter().position(|piece| *piece == Piece::Plain(']')) {
                Some(length @ 1..) => {
                    word.parts.push(Part::Glob('['));
                    at += length + 1;
                }
                _ => word.push('['),
            },
            Piece::Plain(c) => word.push(*c),
            Piece::Quoted(c) => {
                word.is_quoted = true;
                word.push(*c);
            }
            Piece::Empty => {
                word.is_quoted = true;
                word.push_part(Part::Text(String::new()));
            }
            Piece::Hole(several) => word.parts.push(Part::Hole { several: *several }),
            Piece::Pipe => word.parts.push(Part::Pipe),
        }
    }
    word
}

/// Returns the text in backquotes as a shell reads it: a backslash quotes only itself, `$` and the backquote.
pub(super) fn without_backslashes(inner: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '`' => return None,
            '\\' => match chars.peek() {
                Some('`' | '\\' | '$') => text.extend(chars.next()),
                // In double quotes, a backslash also quotes double quotes.
                Some('"') => return None,
                _ => text.push(c),
            },
            c => text.push(c),
        }
    }
    Some(text)
}
