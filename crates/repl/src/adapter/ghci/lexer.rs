//! A lexer for Haskell, complete enough to cut code: the ends of comments, strings and quotations, operators and names,
//! and each token's line and column (Haskell 2010 Report, chapter 2 and section 10.3, and GHC's extensions). The lexer
//! rejects nothing: invalid Haskell goes to GHC, which reports it.
//!
//! Extensions change the lexical syntax, and the enabled ones are unknown here. Where two readings differ, the lexer
//! takes the one that is valid for the whole text: `[x|x<-xs]` is a list, `[sql|select 1|]` a quotation.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A variable or a keyword, optionally qualified.
    Name,
    /// A constructor, type or module.
    Constructor,
    /// An operator, including reserved ones.
    Operator,
    Open,
    Close,
    Comma,
    Semicolon,
    Backquote,
    /// A number, a character, a string, or a quotation of another language.
    Literal,
    Pragma,
    /// Text that begins no token.
    Other,
}

/// One token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// From 1; a tab advances to the next multiple of eight.
    pub(super) column: usize,
    /// True if the token is the first on its line.
    pub(super) first: bool,
    /// True if white space, a comment or an opening bracket precedes the token, and something else follows: the
    /// position of prefix operators, `!x`, `$(x)`, `-1`.
    pub(super) prefix: bool,
    /// True if it contains a line `:}`, which GHCi would take for the end of a block.
    pub(super) raw: bool,
}

impl Token<'_> {
    pub(super) fn is(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && self.text == text
    }

    /// Returns the word after `{-#`, in capitals.
    pub(super) fn pragma(&self) -> Option<String> {
        let inside = self.text.strip_prefix("{-#").filter(|_| self.kind == Kind::Pragma)?;
        let word = inside.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        Some(word.to_ascii_uppercase())
    }

    /// Returns the text after that word.
    pub(super) fn pragma_text(&self) -> &str {
        let inside = self.text.strip_prefix("{-#").and_then(|text| text.strip_suffix("#-}")).unwrap_or_default();
        inside.trim().split_once(char::is_whitespace).map_or("", |(_, text)| text.trim())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    code: &'a str,
    at: usize,
    /// Where the current line begins.
    line: usize,
    /// True if the current line already holds a token.
    in_line: bool,
    /// Open quotation brackets of Template Haskell, which `|]` closes.
    quotes: Vec<usize>,
    brackets: usize,
    /// True if an infix operator may directly follow the last token.
    after_value: bool,
    /// True if a comment was never closed.
    unterminated: bool,
    /// The positions of the next `|]` and `#-}`, or the end of the text. Each is searched for once.
    closes: [Option<usize>; 2],
    /// The position for which the column was last computed, and the result.
    counted: (usize, usize),
    /// True if this lexer only looks ahead: then a name after a bracket begins no quotation.
    ahead: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(code: &'a str) -> Lexer<'a> {
        Lexer {
            code,
            at: 0,
            line: 0,
            in_line: false,
            quotes: Vec::new(),
            brackets: 0,
            after_value: false,
            unterminated: false,
            closes: [None; 2],
            counted: (0, 1),
            ahead: false,
        }
    }

    /// Returns the distance to the next `|]` (0) or `#-}` (1).
    fn until(&mut self, which: usize) -> Option<usize> {
        let known = self.closes[which].filter(|&at| at >= self.at);
        let at = known.unwrap_or_else(|| {
            let found = memchr::memmem::find(self.rest().as_bytes(), [&b"|]"[..], b"#-}"][which]);
            found.map_or(self.code.len(), |found| self.at + found)
        });
        self.closes[which] = Some(at);
        (at < self.code.len()).then_some(at - self.at)
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn rest_of_line(&self) -> &'a str {
        let rest = &self.code[self.at..];
        &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())]
    }

    /// Returns true if the next token would be the first on its line.
    pub(super) fn at_line_start(&self) -> bool {
        !self.in_line
    }

    /// Returns true if a comment reached the end of the code.
    pub(super) fn is_unterminated(&self) -> bool {
        self.unterminated
    }

    pub(super) fn skip_line(&mut self) {
        self.at += self.rest_of_line().len();
        self.advance(1);
    }

    /// Returns the current column. It counts from the position of the last request, since lines may be long.
    pub(super) fn column(&mut self) -> usize {
        let (at, column) = self.counted;
        let (from, column) = if at >= self.line { (at, column) } else { (self.line, 1) };
        let step = |column: usize, c| if c == '\t' { column.div_ceil(8) * 8 + 1 } else { column + 1 };
        self.counted = (self.at, self.code[from..self.at].chars().fold(column, step));
        self.counted.1
    }

    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    /// Advances by some bytes, across line ends.
    fn advance(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.code.len());
        if let Some(newline) = memchr::memrchr(b'\n', &self.code.as_bytes()[self.at..end]) {
            self.line = self.at + newline + 1;
            self.in_line = false;
        }
        self.at = end;
    }

    /// Skips white space and the next comment, if any, and returns the start of the comment; `None` before a token and
    /// at the end.
    pub(super) fn comment(&mut self) -> Option<usize> {
        self.skip_space();
        let begun = self.at;
        let length = if let Some(dashes) = self.line_comment() {
            dashes
        } else if self.rest().starts_with("{-") && self.pragma_length().is_none() {
            self.nested_comment()
        } else {
            return None;
        };
        // A token that follows a comment on its line is still the first token of that line.
        self.advance(length);
        self.after_value = false;
        Some(begun)
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        if length > 0 {
            self.after_value = false;
        }
        self.advance(length);
    }

    /// Recognises a line comment: two or more dashes that are not part of another operator.
    fn line_comment(&self) -> Option<usize> {
        let run = operator(self.rest());
        (run.len() >= 2 && run.bytes().all(|byte| byte == b'-')).then(|| self.rest_of_line().len())
    }

    fn nested_comment(&mut self) -> usize {
        let bytes = self.rest().as_bytes();
        let (mut depth, mut at) = (0, 0);
        while at < bytes.len() {
            match &bytes[at..] {
                [b'{', b'-', ..] => (depth, at) = (depth + 1, at + 2),
                [b'-', b'}', ..] => (depth, at) = (depth - 1, at + 2),
                _ => at += 1,
            }
            if depth == 0 {
                return at;
            }
        }
        self.unterminated = true;
        at
    }

    /// Returns the length of a pragma, ignoring `#-}` inside strings.
    fn pragma_length(&mut self) -> Option<usize> {
        let rest = self.rest();
        let inside = rest.strip_prefix("{-#")?;
        let word = inside.trim_start();
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        self.until(1)?;
        let bytes = rest.as_bytes();
        let mut at = 3;
        while at < bytes.len() {
            match &bytes[at..] {
                [b'#', b'-', b'}', ..] => return Some(at + 3),
                // An unclosed quote begins no string.
                [b'"', ..] => {
                    at += string(&rest[at..]).filter(|length| !rest[at..at + length].contains('\n')).unwrap_or(1)
                }
                _ => at += 1,
            }
        }
        None
    }

    /// Returns the next token. Comments before it were skipped.
    pub(super) fn token(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let next = rest.chars().next()?;
        let (start, column, first, glued) = (self.at, self.column(), !self.in_line, self.after_value);
        let (kind, length) = self.measure(next);
        let text = &rest[..length];
        let after = rest[length..].chars().next();
        let prefix = !glued && after.is_some_and(|c| !c.is_whitespace());
        self.in_line = true;
        self.advance(length);
        // A multi-line token is now on its last line.
        self.in_line = true;
        self.after_value = !matches!(kind, Kind::Open | Kind::Comma | Kind::Semicolon | Kind::Operator);
        let raw = kind == Kind::Literal && text.lines().any(|line| line.trim() == ":}");
        Some(Token { kind, text, start, end: start + length, column, first, prefix, raw })
    }

    /// Returns the kind and length of the token here.
    fn measure(&mut self, next: char) -> (Kind, usize) {
        let rest = self.rest();
        match next {
            '(' | '⟦' | '⦇' => self.open(next.len_utf8()),
            '{' => match self.pragma_length() {
                Some(length) => (Kind::Pragma, length),
                None => self.open(1),
            },
            '[' => self.square(),
            ')' | ']' | '}' | '⟧' | '⦈' => self.close(next.len_utf8()),
            ',' => (Kind::Comma, 1),
            ';' => (Kind::Semicolon, 1),
            '`' => (Kind::Backquote, 1),
            '"' => (
                Kind::Literal,
                text_block(rest).or_else(|| string(rest)).map_or_else(|| self.rest_of_line().len(), hashes(rest)),
            ),
            '\'' => match character(rest) {
                Some(length) => (Kind::Literal, hashes(rest)(length)),
                // Template Haskell's names, and promotion.
                None if rest.starts_with("''") => (Kind::Other, 2),
                None => (Kind::Other, 1),
            },
            c if c.is_ascii_digit() => (Kind::Literal, hashes(rest)(number(rest))),
            c if is_name_start(c) => name(rest),
            c if is_symbol(c) => self.operator(),
            c => (Kind::Other, c.len_utf8()),
        }
    }

    fn open(&mut self, length: usize) -> (Kind, usize) {
        self.brackets += 1;
        (Kind::Open, length)
    }

    fn close(&mut self, length: usize) -> (Kind, usize) {
        self.brackets = self.brackets.saturating_sub(1);
        while self.quotes.last().is_some_and(|&depth| depth > self.brackets) {
            self.quotes.pop();
        }
        (Kind::Close, length)
    }

    /// Measures a list, a Haskell quotation, or a quotation of another language.
    fn square(&mut self) -> (Kind, usize) {
        let rest = self.rest();
        let name = rest[1..].find(|c: char| !(is_name(c) || c == '.')).map_or("", |end| &rest[1..1 + end]);
        if !rest[1 + name.len()..].starts_with('|') {
            return self.open(1);
        }
        let bars = if rest[2 + name.len()..].starts_with('|') { 2 } else { 1 };
        let haskell = matches!(name, "" | "e" | "d" | "t" | "p");
        if !name.is_empty() && !name.starts_with(|c: char| c.is_lowercase() || c == '_' || name.contains('.')) {
            return self.open(1);
        }
        let Some(end) = self.until(0) else { return self.open(1) };
        if !name.is_empty() && (self.ahead || is_list(&rest[1..], end - 1)) {
            return self.open(1);
        }
        if haskell {
            let opened = self.open(1 + name.len() + if name.is_empty() { bars } else { 1 });
            self.quotes.push(self.brackets);
            return opened;
        }
        (Kind::Literal, end + 2)
    }

    fn operator(&mut self) -> (Kind, usize) {
        let rest = self.rest();
        let run = operator(rest);
        // `|]` and `||]` close a quotation, the longer match first.
        if self.quotes.last() == Some(&self.brackets) && rest[run.len()..].starts_with(']') && matches!(run, "|" | "||")
        {
            self.quotes.pop();
            return self.close(run.len() + 1);
        }
        (Kind::Operator, run.len())
    }
}

/// Returns true if the text after a bracket closes as a list, either before the first `|]` (at `bar`) or because that
/// `|]` closes another bracket.
fn is_list(inside: &str, bar: usize) -> bool {
    let mut lexer = Lexer { brackets: 1, ahead: true, ..Lexer::new(inside) };
    let mut quoted = false;
    for _ in 0..LOOK_AHEAD {
        while lexer.comment().is_some() {}
        let Some(token) = lexer.token() else { return false };
        quoted |= token.kind == Kind::Close && token.text.ends_with("|]");
        if lexer.brackets == 0 {
            // `[x|x<-xs] ++ [|a|]`, but not `[sql|a]b|]`.
            return quoted || token.end <= bar && inside[token.end..bar].contains('[');
        }
        if token.start > bar && !quoted {
            return false;
        }
    }
    false
}

/// The number of tokens read to decide if a bracket opens a list.
const LOOK_AHEAD: usize = 100;

fn is_name_start(c: char) -> bool {
    use GeneralCategory as G;
    c == '_'
        || if c.is_ascii() {
            c.is_ascii_alphabetic()
        } else {
            matches!(
                get_general_category(c),
                G::UppercaseLetter | G::TitlecaseLetter | G::LowercaseLetter | G::OtherLetter
            )
        }
}

fn is_name(c: char) -> bool {
    use GeneralCategory as G;
    is_name_start(c)
        || c == '\''
        || c.is_ascii_digit()
        || !c.is_ascii()
            && matches!(
                get_general_category(c),
                G::NonspacingMark | G::ModifierLetter | G::DecimalNumber | G::OtherNumber
            )
}

/// Returns true for the characters of GHC's `$symbol`.
fn is_symbol(c: char) -> bool {
    use GeneralCategory as G;
    if c.is_ascii() {
        b"!#$%&*+./<=>?@\\^|-~:".contains(&(c as u8))
    } else {
        matches!(
            get_general_category(c),
            G::MathSymbol
                | G::CurrencySymbol
                | G::ModifierSymbol
                | G::OtherSymbol
                | G::ConnectorPunctuation
                | G::DashPunctuation
                | G::OtherPunctuation
        )
    }
}

fn operator(text: &str) -> &str {
    &text[..text.find(|c| !is_symbol(c)).unwrap_or(text.len())]
}

/// Measures a name with its qualification: `x'`, `Data.Map.insert`, `M.+`, `M.do`.
fn name(text: &str) -> (Kind, usize) {
    let word = |text: &str| text.find(|c| !is_name(c)).unwrap_or(text.len());
    let mut end = 0;
    loop {
        let length = word(&text[end..]);
        let part = &text[end..end + length];
        end += length;
        if !part.starts_with(|c: char| c.is_uppercase() || get_general_category(c) == GeneralCategory::TitlecaseLetter)
        {
            return (Kind::Name, hashes(text)(end));
        }
        let rest = &text[end..];
        match rest.strip_prefix('.').and_then(|rest| rest.chars().next()) {
            Some(next) if is_name_start(next) => end += 1,
            // `[False ..]` needs its blank; `M..` is the qualified dot.
            Some(next) if is_symbol(next) => return (Kind::Operator, end + operator(rest).len()),
            _ => return (Kind::Constructor, hashes(text)(end)),
        }
    }
}

/// Counts the `#` of MagicHash: one directly after a name or literal belongs to it unless an operand follows.
fn hashes(text: &str) -> impl Fn(usize) -> usize {
    move |end| {
        let rest = &text[end..];
        let run = rest.len() - rest.trim_start_matches('#').len();
        let after = rest[run..].chars().next();
        let operand = after.is_some_and(|c| is_name(c) || is_symbol(c) || matches!(c, '(' | '[' | '"'));
        if operand { end } else { end + run }
    }
}

fn number(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let mut end = digits(text);
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if let Some(fraction) = text[end..].strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        end += 1 + digits(fraction);
    }
    let exponent = if hexadecimal { ['p', 'P'] } else { ['e', 'E'] };
    if text[..end].ends_with(exponent) {
        let sign = text[end..].strip_prefix(['+', '-']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        end += sign.map_or(0, |rest| 1 + digits(rest));
    }
    end
}

/// Returns the length of a string, including gaps over several lines; `None` if it is not closed where it must be.
fn string(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' => {
                let gap = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                match bytes.get(at + 1 + gap) {
                    Some(b'\\') if gap > 0 => at += gap + 2,
                    _ if gap > 0 => return None,
                    _ => at += 2,
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Measures `"""…"""`, in GHC since 9.12.
fn text_block(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("\"\"\"")?;
    inside.find("\"\"\"").map(|end| end + 6)
}

/// Returns the length of a character literal, if the quote begins one.
fn character(text: &str) -> Option<usize> {
    let inside = &text[1..];
    let end = match inside.chars().next()? {
        '\'' | '\n' => return None,
        '\\' => {
            let escape = inside[1..].chars().next()?.len_utf8();
            let rest = &inside[1 + escape..];
            1 + escape + rest.find('\'').filter(|&end| end <= 8 && !rest[..end].contains(char::is_whitespace))?
        }
        c => c.len_utf8(),
    };
    inside[end..].starts_with('\'').then_some(end + 2)
}
