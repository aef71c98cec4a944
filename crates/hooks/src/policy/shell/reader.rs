//! Reads a shell's text into simple commands: operators, reserved words, redirections, here-documents. What stands inside
//! of words is read by `expansion`.

use super::word::Word;
use super::{Script, Simple};

/// Words that stand before a command and are none.
const RESERVED: &[&str] =
    &["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "time", "coproc", "esac"];

pub(super) struct Reader<'a> {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) script: &'a mut Script,
    /// Here-documents whose texts begin at the next line: the delimiter, whether tabs are left out, and whether the text
    /// stands as it is.
    heredocs: Vec<Heredoc>,
}

struct Heredoc {
    delimiter: String,
    strips_tabs: bool,
    is_literal: bool,
}

/// What the commands of one level look like so far.
#[derive(Default)]
struct Level {
    words: Vec<Word>,
    writes: Vec<Word>,
    input: Option<Word>,
    is_piped: bool,
    /// Where in a `case` we are.
    cases: Vec<bool>,
    /// The commands whose here-documents are still to come.
    waiting: Vec<Simple>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &str, depth: usize, script: &'a mut Script) -> Reader<'a> {
        Reader { text: text.chars().collect(), at: 0, depth, script, heredocs: Vec::new() }
    }

    /// Reads the whole text.
    pub(super) fn read(&mut self) {
        self.list(false);
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Reads commands up to the end, or to the parenthesis that closes this level.
    pub(super) fn list(&mut self, is_in_parentheses: bool) {
        let mut level = Level::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => self.comment(),
                '\n' => {
                    self.at += 1;
                    self.end(&mut level);
                    self.here_documents(&mut level);
                }
                '&' if self.peek(1) == Some('>') => self.redirection(&mut level),
                ';' | '&' | '|' => self.operator(&mut level),
                '<' | '>' => self.redirection(&mut level),
                ')' => {
                    self.at += 1;
                    if level.cases.last() == Some(&true) {
                        // The pattern of a case is no command.
                        level.words.clear();
                        level.cases.pop();
                        level.cases.push(false);
                        continue;
                    }
                    self.end(&mut level);
                    if is_in_parentheses {
                        self.flush(&mut level);
                        return;
                    }
                    self.script.is_opaque("a parenthesis closes that none opens");
                }
                '(' => self.parenthesis(&mut level),
                _ => self.command_word(&mut level),
            }
        }
        self.end(&mut level);
        self.flush(&mut level);
        if is_in_parentheses {
            self.script.is_opaque("a parenthesis is not closed");
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn operator(&mut self, level: &mut Level) {
        let c = self.peek(0);
        let is_pipe = c == Some('|') && self.peek(1) != Some('|');
        let ends_case = c == Some(';') && matches!(self.peek(1), Some(';' | '&'));
        if level.cases.last() == Some(&true) && c == Some('|') {
            // Alternatives of a pattern.
            level.words.clear();
            self.at += 1;
            return;
        }
        self.at += if matches!((c, self.peek(1)), (Some(a), Some(b)) if a == b || (a, b) == ('|', '&') || (a, b) == (';', '&'))
        {
            2
        } else {
            1
        };
        self.end(level);
        level.is_piped = is_pipe;
        if ends_case {
            if self.peek(0) == Some('&') {
                self.at += 1;
            }
            if let Some(is_pattern) = level.cases.last_mut() {
                *is_pattern = true;
            }
        }
    }

    fn parenthesis(&mut self, level: &mut Level) {
        if level.cases.last() == Some(&true) && level.words.is_empty() {
            self.at += 1;
        } else if level.words.is_empty() && self.peek(1) == Some('(') {
            self.at += 2;
            self.arithmetic();
        } else if level.words.is_empty() {
            self.at += 1;
            self.nested(true);
        } else if self.rest_is_empty_parentheses() {
            // A function begins: its name is no command.
            level.words.clear();
        } else {
            self.at += 1;
            self.script.is_opaque("a parenthesis stands where a shell expects none");
        }
    }

    fn rest_is_empty_parentheses(&mut self) -> bool {
        let mut ahead = 1;
        while matches!(self.peek(ahead), Some(' ' | '\t')) {
            ahead += 1;
        }
        let is_empty = self.peek(ahead) == Some(')');
        if is_empty {
            self.at += ahead + 1;
        }
        is_empty
    }

    /// Reads a level of its own.
    pub(super) fn nested(&mut self, is_in_parentheses: bool) {
        if self.depth >= super::DEPTH_MAX {
            return self.too_deep();
        }
        self.depth += 1;
        self.list(is_in_parentheses);
        self.depth -= 1;
    }

    /// Gives up.
    pub(super) fn too_deep(&mut self) {
        self.script.is_opaque("it is nested deeper than what is looked at");
        self.at = self.text.len();
    }

    fn command_word(&mut self, level: &mut Level) {
        let before = self.at;
        let word = self.word();
        if self.at == before {
            // Never without progress.
            self.at += 1;
            return;
        }
        let plain = if word.is_quoted { None } else { word.text() };
        let is_first = level.words.is_empty();
        match plain {
            // A descriptor before a redirection.
            Some(text) if matches!(self.peek(0), Some('<' | '>')) && text.chars().all(|c| c.is_ascii_digit()) => {}
            Some("[[") if is_first => self.condition(),
            Some("function") if is_first => {
                self.blanks();
                self.word();
                self.blanks();
                if self.peek(0) == Some('(') {
                    self.rest_is_empty_parentheses();
                }
            }
            Some("esac") if is_first => _ = level.cases.pop(),
            Some(text) if is_first && RESERVED.contains(&text) => {}
            Some("in") if level.words.len() == 2 && level.words[0].text() == Some("case") => {
                level.words.clear();
                level.cases.push(true);
            }
            _ if is_first && is_assignment(&word) => {}
            _ => level.words.push(word),
        }
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(' ' | '\t' | '\r'), _) => self.at += 1,
                (Some('\\'), Some('\n')) => self.at += 2,
                _ => return,
            }
        }
    }

    /// `[[ … ]]`: its operators are no shell's, but what is substituted in it runs.
    fn condition(&mut self) {
        while let Some(c) = self.peek(0) {
            if " \t\r\n&|<>();".contains(c) {
                self.at += 1;
                continue;
            }
            let before = self.at;
            if self.word().text() == Some("]]") {
                return;
            }
            self.at = self.at.max(before + 1);
        }
        self.script.is_opaque("a condition is not closed");
    }

    fn redirection(&mut self, level: &mut Level) {
        let rest: String = self.text[self.at..].iter().take(3).collect();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.at += 2;
            self.nested(true);
            return level.words.push(Word::hole());
        }
        let operators = ["&>>", "<<<", "<<-", "&>", "<<", ">>", ">|", "<>", ">&", "<&", ">", "<"];
        let Some(operator) = operators.into_iter().find(|operator| rest.starts_with(operator)) else {
            self.at += 1;
            return;
        };
        self.at += operator.len();
        self.blanks();
        let target = self.word();
        match operator {
            "<<<" => level.input = Some(target),
            "<<" | "<<-" => {
                let delimiter = target.shown();
                let (strips_tabs, is_literal) = (operator == "<<-", target.is_quoted);
                self.heredocs.push(Heredoc { delimiter, strips_tabs, is_literal });
                // Until its text is read.
                level.input = Some(Word::hole());
            }
            "<" | "<&" => {}
            // A descriptor.
            ">&" if target.text().is_some_and(|text| text == "-" || text.chars().all(|c| c.is_ascii_digit())) => {}
            _ => level.writes.push(target),
        }
    }

    /// Ends the command that was being read. One that has a here-document waits for its text.
    fn end(&mut self, level: &mut Level) {
        let simple = Simple {
            words: std::mem::take(&mut level.words),
            writes: std::mem::take(&mut level.writes),
            input: level.input.take(),
            is_piped: std::mem::take(&mut level.is_piped),
        };
        if simple.words.is_empty() && simple.writes.is_empty() {
            return;
        }
        match self.heredocs.is_empty() {
            true => self.script.add(simple, self.depth),
            false => level.waiting.push(simple),
        }
    }

    fn flush(&mut self, level: &mut Level) {
        for simple in level.waiting.drain(..) {
            self.script.add(simple, self.depth);
        }
    }

    /// Reads the texts that the lines before announced.
    fn here_documents(&mut self, level: &mut Level) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut text = String::new();
            loop {
                if self.at >= self.text.len() {
                    break;
                }
                let end = self.text[self.at..].iter().position(|c| *c == '\n').map_or(self.text.len(), |n| self.at + n);
                let line: String = self.text[self.at..end].iter().collect();
                self.at = (end + 1).min(self.text.len());
                let line = if heredoc.strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line == heredoc.delimiter {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            let word = match heredoc.is_literal {
                true => Word::known(&text),
                false => self.expanded(&text),
            };
            let takes = level.waiting.iter_mut().find(|simple| simple.input == Some(Word::hole()));
            if let Some(simple) = takes {
                simple.input = Some(word);
            }
        }
        self.flush(level);
    }

    /// The text of a here-document whose substitutions are made: they run.
    fn expanded(&mut self, text: &str) -> Word {
        if self.depth >= super::DEPTH_MAX {
            self.too_deep();
            return Word::hole();
        }
        let mut inner = Reader::new(text, self.depth + 1, self.script);
        inner.in_quotes(None)
    }
}

/// `NAME=`, `NAME+=` or `NAME[…]=` at the beginning of a command.
fn is_assignment(word: &Word) -> bool {
    let start = word.start();
    let Some((name, _)) = start.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
