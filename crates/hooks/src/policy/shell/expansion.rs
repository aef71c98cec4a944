//! Reads one word: quotes, escapes, and expansions. What is substituted is a hole; a command that is substituted is read
//! as the commands that it is.

use super::reader::Reader;
use super::word::Word;

/// How far the end of alternatives in braces is looked for.
const BRACES_MAX: usize = 1000;

impl Reader<'_> {
    /// Reads a word up to a blank or an operator. Empty if there is none.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | ')' => break,
                '(' => {
                    let before = word.start().chars().last();
                    let is_list = word.parts.len() == 1 && before == Some('=');
                    let is_pattern = before.is_some_and(|c| "?*+@!".contains(c)) && word.is_glob_or_prefix();
                    if !is_list && !is_pattern {
                        break;
                    }
                    self.at += 1;
                    self.skip_list();
                    word.push_hole(true);
                }
                '\\' => {
                    self.at += 1;
                    match self.peek(0) {
                        Some('\n') => self.at += 1,
                        Some(c) => {
                            self.at += 1;
                            word.is_quoted = true;
                            word.push(c);
                        }
                        None => word.push('\\'),
                    }
                }
                '\'' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.single(&mut word);
                }
                '"' => {
                    self.at += 1;
                    word.is_quoted = true;
                    let inner = self.in_quotes(Some('"'));
                    append(&mut word, inner);
                }
                '$' if self.peek(1) == Some('\'') => {
                    self.at += 2;
                    word.is_quoted = true;
                    self.ansi(&mut word);
                }
                '$' if self.peek(1) == Some('"') => self.at += 1,
                '$' => self.dollar(&mut word, true),
                '`' => {
                    self.backquotes();
                    word.push_hole(true);
                }
                '{' if self.is_braces() => {
                    self.skip_braces();
                    word.push_hole(true);
                }
                '*' | '?' | '[' => {
                    self.at += 1;
                    word.is_glob = true;
                    word.push(c);
                }
                c => {
                    self.at += 1;
                    word.push(c);
                }
            }
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        // An empty text is a word too.
        if word.parts.is_empty() {
            word.parts.push(super::Part::Text(String::new()));
        }
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.push(c);
        }
        self.script.is_opaque("a quote is not closed");
    }

    /// Reads up to the closing quote, or to the end without one.
    pub(super) fn in_quotes(&mut self, close: Option<char>) -> Word {
        let mut word = Word::default();
        word.parts.push(super::Part::Text(String::new()));
        while let Some(c) = self.peek(0) {
            match c {
                c if Some(c) == close => {
                    self.at += 1;
                    return word;
                }
                '\\' => {
                    self.at += 1;
                    match self.peek(0) {
                        Some('\n') => self.at += 1,
                        Some(c) if "$`\"\\".contains(c) => {
                            self.at += 1;
                            word.push(c);
                        }
                        _ => word.push('\\'),
                    }
                }
                '$' => self.dollar(&mut word, false),
                '`' => {
                    self.backquotes();
                    word.push_hole(false);
                }
                c => {
                    self.at += 1;
                    word.push(c);
                }
            }
        }
        if close.is_some() {
            self.script.is_opaque("a quote is not closed");
        }
        word
    }

    /// An expansion that begins with `$`.
    fn dollar(&mut self, word: &mut Word, several: bool) {
        if self.depth >= super::DEPTH_MAX {
            return self.too_deep();
        }
        self.depth += 1;
        self.expansion(word, several);
        self.depth -= 1;
    }

    fn expansion(&mut self, word: &mut Word, several: bool) {
        self.at += 1;
        match self.peek(0) {
            Some('(') if self.peek(1) == Some('(') => {
                self.at += 2;
                self.arithmetic();
                word.push_hole(several);
            }
            Some('(') => {
                self.at += 1;
                self.nested(true);
                word.push_hole(several);
            }
            Some('{') => {
                self.at += 1;
                self.in_braces();
                word.push_hole(several);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                word.push_hole(several);
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.at += 1;
                // `"$@"` is several words.
                word.push_hole(several || c == '@');
            }
            _ => word.push('$'),
        }
    }

    /// `${…}`, whose words may substitute commands.
    fn in_braces(&mut self) {
        let mut open = 1;
        while let Some(c) = self.peek(0) {
            match c {
                '}' => {
                    self.at += 1;
                    open -= 1;
                    if open == 0 {
                        return;
                    }
                }
                '{' => {
                    self.at += 1;
                    open += 1;
                }
                _ => self.inner(c),
            }
        }
        self.script.is_opaque("a brace is not closed");
    }

    /// `((…))` or `$((…))`. As it may also be nested parentheses, its commands are looked for too.
    pub(super) fn arithmetic(&mut self) {
        let begin = self.at;
        let mut open = 2;
        while let Some(c) = self.peek(0) {
            match c {
                '(' => {
                    self.at += 1;
                    open += 1;
                }
                ')' => {
                    self.at += 1;
                    open -= 1;
                    if open == 0 {
                        let is_arithmetic = self.text.get(self.at.wrapping_sub(2)) == Some(&')');
                        if is_arithmetic {
                            return;
                        }
                        // Each time, the rest is read once more.
                        self.script.read_again += 1;
                        if self.script.read_again > super::AGAIN_MAX {
                            return self.too_deep();
                        }
                        self.at = begin - 1;
                        return self.nested(true);
                    }
                }
                _ => self.inner(c),
            }
        }
        self.script.is_opaque("a parenthesis is not closed");
    }

    /// A list of words in parentheses, which are no commands.
    fn skip_list(&mut self) {
        let mut open = 1;
        while let Some(c) = self.peek(0) {
            match c {
                '(' => {
                    self.at += 1;
                    open += 1;
                }
                ')' => {
                    self.at += 1;
                    open -= 1;
                    if open == 0 {
                        return;
                    }
                }
                _ => self.inner(c),
            }
        }
        self.script.is_opaque("a parenthesis is not closed");
    }

    /// One step within something that is no command: quotes are passed over whole, and substitutions are read.
    fn inner(&mut self, c: char) {
        let mut passed = Word::default();
        match c {
            '\\' => self.at += 2,
            '\'' => {
                self.at += 1;
                self.single(&mut passed);
            }
            '"' => {
                self.at += 1;
                self.in_quotes(Some('"'));
            }
            '$' if self.peek(1) == Some('\'') => {
                self.at += 2;
                self.ansi(&mut passed);
            }
            '$' => self.dollar(&mut passed, false),
            '`' => self.backquotes(),
            _ => self.at += 1,
        }
    }

    /// `` `…` ``: in it, a backslash quotes only itself, `$` and the mark.
    fn backquotes(&mut self) {
        self.at += 1;
        let mut text = String::new();
        let mut is_closed = false;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '`' => {
                    is_closed = true;
                    break;
                }
                '\\' if matches!(self.peek(0), Some('`' | '\\' | '$')) => {
                    text.extend(self.peek(0));
                    self.at += 1;
                }
                c => text.push(c),
            }
        }
        if !is_closed {
            self.script.is_opaque("a quote is not closed");
        }
        self.script.read(&text, self.depth + 1);
    }

    /// `$'…'`, with the escapes of C.
    fn ansi(&mut self, word: &mut Word) {
        if word.parts.is_empty() {
            word.parts.push(super::Part::Text(String::new()));
        }
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            if c != '\\' {
                word.push(c);
                continue;
            }
            let Some(c) = self.peek(0) else { break };
            self.at += 1;
            let number = match c {
                'x' => self.digits(16, 2),
                'u' => self.digits(16, 4),
                'U' => self.digits(16, 8),
                '0'..='7' => {
                    self.at -= 1;
                    self.digits(8, 3)
                }
                'c' => {
                    let control = self.peek(0).map_or(0, |c| u32::from(c) & 0x1f);
                    self.at += 1;
                    Some(control)
                }
                _ => {
                    let plain = match c {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'a' => '\x07',
                        'b' => '\x08',
                        'e' | 'E' => '\x1b',
                        'f' => '\x0c',
                        'v' => '\x0b',
                        c => c,
                    };
                    word.push(plain);
                    continue;
                }
            };
            match number.and_then(char::from_u32) {
                // A byte that alone is no character: what the word is in the end only running could tell.
                Some(c) if (c as u32) < 0x80 || matches!(number, Some(256..)) => word.push(c),
                _ => word.push_hole(false),
            }
        }
        self.script.is_opaque("a quote is not closed");
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let begin = self.at;
        while self.at - begin < most && self.peek(0).is_some_and(|c| c.is_digit(radix)) {
            self.at += 1;
        }
        let text: String = self.text[begin..self.at].iter().collect();
        u32::from_str_radix(&text, radix).ok()
    }

    /// Whether alternatives or a range in braces begin here.
    fn is_braces(&self) -> bool {
        let mut open = 0;
        let mut has_choice = false;
        for ahead in 0..BRACES_MAX {
            match self.peek(ahead) {
                Some('{') => open += 1,
                Some('}') => {
                    open -= 1;
                    if open == 0 {
                        return has_choice;
                    }
                }
                Some(',') => has_choice = true,
                Some('.') if self.peek(ahead + 1) == Some('.') => has_choice = true,
                Some(c) if c.is_whitespace() || ";&|<>()".contains(c) => return false,
                None => return false,
                _ => {}
            }
        }
        has_choice
    }

    fn skip_braces(&mut self) {
        let mut open = 0;
        while let Some(c) = self.peek(0) {
            match c {
                '{' => {
                    open += 1;
                    self.at += 1;
                }
                '}' => {
                    open -= 1;
                    self.at += 1;
                    if open == 0 {
                        return;
                    }
                }
                _ => self.inner(c),
            }
        }
    }
}

impl Word {
    /// Whether a parenthesis after it makes a pattern for names.
    fn is_glob_or_prefix(&self) -> bool {
        !self.is_quoted
    }
}

fn append(word: &mut Word, inner: Word) {
    for part in inner.parts {
        match (word.parts.last_mut(), part) {
            (Some(super::Part::Text(before)), super::Part::Text(text)) => before.push_str(&text),
            (_, part) => word.parts.push(part),
        }
    }
}
