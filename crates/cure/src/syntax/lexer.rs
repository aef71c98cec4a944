//! The lexer. Every byte belongs to exactly one token, so the tree is lossless; invalid text becomes `Unknown` with a
//! diagnostic.

use super::build::literals;
use super::kind::{KEYWORDS, PUNCTUATION, SyntaxKind as K};
use crate::diagnostic::{Diagnostic, Span, code};
use crate::limit::Errors;

/// A token: its kind and its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: K,
    /// Its length in bytes.
    pub len: u32,
}

/// The tokens of a text and their errors.
pub(crate) fn lex(text: &str) -> (Vec<Token>, Errors) {
    let mut ends: Vec<usize> = Vec::new();
    loop {
        let (tokens, errors, unclosed) = lex_with(text, &ends);
        // An unmatched quote inverts everything behind it. The first string that spans lines is the likely culprit: it
        // is assumed to end with its line, so that the rest of the text keeps its meaning.
        match unclosed.filter(|at| ends.len() < MOST_UNCLOSED && !ends.contains(at)) {
            Some(at) => ends.push(at),
            None => return (tokens, errors),
        }
    }
}

/// The maximal length of a name in bytes, which is that of an Erlang atom.
pub(crate) const LONGEST_NAME: usize = 255;
/// The maximal length of an integer literal in bytes. Computed integers may be longer.
const MOST_DIGITS: usize = 100_000;
/// The maximal number of unterminated strings that are repaired.
const MOST_UNCLOSED: usize = 8;

/// The tokens, given the strings that end with their line; and the start of the unterminated string, if there is one.
fn lex_with(text: &str, ends: &[usize]) -> (Vec<Token>, Errors, Option<usize>) {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::with_capacity(text.len() / 3),
        errors: Errors::default(),
        open: Vec::new(),
        ends,
        spanning: None,
        unclosed: None,
    };
    while lexer.at < text.len() {
        let start = lexer.at;
        let kind = lexer.token();
        debug_assert!(lexer.at > start, "the lexer moves on");
        lexer.tokens.push(Token { kind, len: (lexer.at - start) as u32 });
    }
    for open in std::mem::take(&mut lexer.open) {
        let message = "this interpolation is never closed";
        let error = Diagnostic::error(code::UNTERMINATED, Span::new(open.at, open.at + 2), message);
        lexer.errors.push(error.hint("close it with `}` and the string with `\"`"));
        lexer.unclosed.get_or_insert(open.string);
    }
    let unclosed = lexer.unclosed.map(|at| lexer.spanning.map_or(at, |spanning| spanning.min(at)));
    (lexer.tokens, lexer.errors, unclosed)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
    errors: Errors,
    /// The open interpolations, innermost last.
    open: Vec<Open>,
    /// The starts of strings that end with their line.
    ends: &'t [usize],
    /// The start of the first string that spans lines.
    spanning: Option<usize>,
    /// The start of the first unterminated string.
    unclosed: Option<usize>,
}

struct Open {
    /// The position of its `#{`.
    at: usize,
    /// The start of its string.
    string: usize,
    /// The number of open braces inside.
    braces: u32,
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len());
    }

    fn token(&mut self) -> K {
        match self.byte(0) {
            // A byte order mark, which some editors write at the start of a text, says nothing.
            0xEF if self.at == 0 && self.text.starts_with('\u{feff}') => {
                self.at = '\u{feff}'.len_utf8();
                K::Whitespace
            }
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => {
                self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0c));
                K::Whitespace
            }
            b'#' => {
                self.skip(|byte| byte != b'\n');
                K::Comment
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'"' => {
                self.at += 1;
                if self.ends.contains(&(self.at - 1)) {
                    self.cut()
                } else {
                    self.string(self.at - 1, self.at - 1, K::Str, K::StrOpen)
                }
            }
            b'\'' => self.quoted_atom(),
            b':' if matches!(self.byte(1), b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let start = self.at;
                self.at += 1;
                self.skip(is_word);
                self.named(start + 1, self.at);
                K::Atom
            }
            b'{' => {
                if let Some(open) = self.open.last_mut() {
                    open.braces += 1;
                }
                self.at += 1;
                K::LBrace
            }
            b'}' => {
                self.at += 1;
                match self.open.last_mut() {
                    Some(open) if open.braces > 0 => open.braces -= 1,
                    Some(open) => {
                        let (start, string) = (open.at, open.string);
                        self.open.pop();
                        return self.string(start, string, K::StrClose, K::StrMid);
                    }
                    None => {}
                }
                K::RBrace
            }
            _ => self.punctuation(),
        }
    }

    fn word(&mut self) -> K {
        let start = self.at;
        self.skip(is_word);
        self.named(start, self.at);
        let word = &self.text[start..self.at];
        KEYWORDS.iter().find(|(text, _)| *text == word).map_or(K::Ident, |(_, kind)| *kind)
    }

    /// A name that is also valid in Erlang.
    fn named(&mut self, start: usize, end: usize) {
        if end - start > LONGEST_NAME {
            let message = format!("this name has {} bytes; names have at most {LONGEST_NAME}", end - start);
            self.errors.push(Diagnostic::error(code::LONG_NAME, Span::new(start, start + LONGEST_NAME), message));
        }
    }

    fn number(&mut self) -> K {
        let start = self.at;
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') && self.byte(2).is_ascii_hexdigit() {
            self.at += 2;
            self.skip(|byte| byte.is_ascii_hexdigit() || byte == b'_');
            return self.number_end(start, K::Int);
        }
        let digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        self.skip(digit);
        if self.byte(0) != b'.' || !self.byte(1).is_ascii_digit() {
            return self.number_end(start, K::Int);
        }
        self.at += 1;
        self.skip(digit);
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if matches!(self.byte(0), b'e' | b'E') && self.byte(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.skip(digit);
        }
        self.number_end(start, K::Float)
    }

    /// A number must not run into a name: `12ab` is one error, not two tokens.
    fn number_end(&mut self, start: usize, kind: K) -> K {
        if !is_word(self.byte(0)) {
            self.bounded(start, kind);
            return kind;
        }
        self.skip(is_word);
        let error = Diagnostic::error(code::NUMBER, Span::new(start, self.at), "this is neither a number nor a name");
        self.errors.push(error.hint("numbers are written 42, 1_000, 0xFF, 1.5 or 1.5e3"));
        K::Unknown
    }

    /// Reports a number outside the limits.
    fn bounded(&mut self, start: usize, kind: K) {
        let text = &self.text[start..self.at];
        let wrong = match kind {
            K::Float if !literals::float(text).is_finite() => "this is more than a float can be, 1.79e308".to_owned(),
            K::Int if text.len() > MOST_DIGITS => {
                let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
                format!("this number has {digits} digits; a number that is written has at most {MOST_DIGITS}")
            }
            _ => return,
        };
        let span = Span::new(start, self.at.min(start + 100));
        self.errors.push(Diagnostic::error(code::NUMBER, span, wrong));
    }

    /// The rest of a string, or of the piece after an interpolation. `start` is the position to report if it is
    /// unterminated.
    fn string(&mut self, start: usize, string: usize, whole: K, before_interpolation: K) -> K {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.spanning.get_or_insert(string);
                    self.at += 1;
                }
                b'"' => {
                    self.at += 1;
                    // A name directly after a multi-line string is implausible: the quote there opens the next string.
                    if self.spanning == Some(string) && is_word(self.byte(0)) {
                        self.unclosed.get_or_insert(string);
                    }
                    return whole;
                }
                b'\\' => {
                    let step = self.text[self.at + 1..].chars().next().map_or(0, char::len_utf8);
                    self.at += 1 + step;
                }
                b'#' if self.byte(1) == b'{' => {
                    self.open.push(Open { at: self.at, string, braces: 0 });
                    self.at += 2;
                    return before_interpolation;
                }
                0 if self.at >= self.text.len() => {
                    self.unclosed.get_or_insert(string);
                    self.never_closed(start);
                    return whole;
                }
                _ => self.at += 1,
            }
        }
    }

    /// An unterminated string: it extends to the end of the line.
    fn cut(&mut self) -> K {
        let start = self.at - 1;
        self.skip(|byte| byte != b'\n');
        if self.text[start..self.at].contains("#{") {
            let message = "this string is never closed, or an interpolation in it";
            let error = Diagnostic::error(code::UNTERMINATED, Span::new(start, start + 1), message);
            self.errors.push(error.hint("close the interpolation with `}` and the string with `\"`"));
        } else {
            self.never_closed(start);
        }
        K::Str
    }

    fn never_closed(&mut self, start: usize) {
        let error = Diagnostic::error(code::UNTERMINATED, Span::new(start, start + 1), "this string is never closed");
        self.errors.push(error.hint("close it with `\"`; a quote inside is written `\\\"`"));
    }

    fn quoted_atom(&mut self) -> K {
        let start = self.at;
        self.at += 1;
        self.skip(|byte| byte != b'\'');
        if self.at >= self.text.len() {
            let span = Span::new(start, start + 1);
            self.errors.push(Diagnostic::error(code::UNTERMINATED, span, "this quoted atom is never closed"));
        } else {
            self.named(start + 1, self.at);
            self.at += 1;
        }
        K::QuotedAtom
    }

    fn punctuation(&mut self) -> K {
        let rest = &self.text[self.at..];
        if rest.starts_with('‘') {
            let end = rest.find('’');
            if end.is_none() {
                let span = Span::new(self.at, self.at + '‘'.len_utf8());
                self.errors.push(Diagnostic::error(code::UNTERMINATED, span, "this character list is never closed"));
            }
            self.at += end.map_or(rest.len(), |end| end + '’'.len_utf8());
            return K::Charlist;
        }
        if let Some((text, kind)) = PUNCTUATION.iter().find(|(text, _)| rest.starts_with(text)) {
            self.at += text.len();
            return *kind;
        }
        let unknown = rest.chars().next().expect("there is text left");
        let start = self.at;
        self.at += unknown.len_utf8();
        if unknown == '&' && self.byte(0) == b'&' {
            self.at += 1;
            let span = Span::new(start, self.at);
            let error = Diagnostic::error(code::CHARACTER, span, "`&&` has no meaning here").hint("write `and`");
            self.errors.push(error.fix("write `and`", span, "and"));
            return K::Unknown;
        }
        // One error for a whole run of invalid characters, so that foreign text does not hide other errors.
        while let Some(next) = self.text[self.at..].chars().next() {
            let foreign = !next.is_ascii() || (next.is_ascii_control() && !next.is_ascii_whitespace());
            if !foreign {
                break;
            }
            if matches!(next, '‘' | '‹' | '›') {
                break;
            }
            self.at += next.len_utf8();
        }
        let message = format!("{unknown:?} has no meaning here");
        let hint = match unknown {
            '“' | '”' => Some("strings stand in straight quotes: \"…\""),
            '’' => Some("a character list begins with ‘"),
            '&' => Some("the operators are `and` and `or`"),
            '!' => Some("negation is written `not`, inequality `!=`"),
            '@' | '$' | '~' | '^' | '`' | '?' | '\\' => None,
            _ => Some("names are made of letters a to z, digits, `_` and `?`; other letters stand in strings only"),
        };
        let span = Span::new(start, self.at);
        let mut error = Diagnostic::error(code::CHARACTER, span, message);
        if unknown == '!' && span.end == span.start + 1 {
            error = error.fix("write `not`", span, "not ");
        }
        self.errors.push(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        });
        K::Unknown
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'?'
}
