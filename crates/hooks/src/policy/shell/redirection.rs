//! Reads redirections and here-documents: the files that a command opens, and its input text.

use std::ops::Range;

use tree_sitter::Node;

use super::Simple;
use super::grammar::{is_statement, is_word};
use super::programs;
use super::quoting::{Expansion, Mode};
use super::tree::{Context, Reader, UNREADABLE, expansions};
use super::word::Word;

impl Simple {
    /// Sets the command's input text. A second text makes the input unknown.
    fn give(&mut self, text: Option<Word>) {
        self.is_piped |= self.input.is_some();
        self.input = text;
    }
}

impl Reader<'_> {
    /// Reads a command or construct with redirections.
    pub(super) fn redirected(&mut self, node: Node<'_>, context: &Context) {
        let mut simple = Simple::default();
        let (mut words, mut body, mut after) = (Vec::new(), None, Vec::new());
        for child in self.children(node) {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => words.extend(self.redirect(child, &mut simple)),
                "heredoc_redirect" => words.extend(self.here_document(child, &mut simple, &mut after)),
                _ => body = Some(child),
            }
        }
        // Commands of a construct share its input: one may leave the rest to the next.
        let is_fed = simple.input.is_some() || simple.is_piped || !simple.reads.is_empty();
        let inner = if is_fed { Context { input: None, is_piped: true } } else { context.clone() };
        match body {
            Some(body) if matches!(body.kind(), "command" | "declaration_command" | "unset_command") => {
                // Further words may follow a redirection.
                let mut children = Vec::new();
                for child in self.children(body) {
                    match child.kind() {
                        "variable_assignment" => {
                            self.assignment(child);
                            if body.kind() != "command" {
                                children.push(child.byte_range());
                            }
                        }
                        "file_redirect" | "herestring_redirect" => children.extend(self.redirect(child, &mut simple)),
                        "subshell" => self.script.set_opaque(UNREADABLE),
                        _ => children.push(child.byte_range()),
                    }
                }
                children.extend(words);
                self.finish(node, children, context, simple);
            }
            None => self.finish(node, words, context, simple),
            Some(body) => {
                if !words.is_empty() {
                    self.script.set_opaque(UNREADABLE);
                }
                if let Some(text) = &simple.input {
                    self.script.note_text(&text.render());
                }
                self.statement(body, &inner);
                simple.input = None;
                self.script.add(simple, self.depth);
            }
        }
        for (statement, is_piped) in after {
            self.statement(statement, &Context { input: None, is_piped });
        }
    }

    /// Reads a redirection. Returns the words after its file, which belong to the command.
    pub(super) fn redirect(&mut self, node: Node<'_>, simple: &mut Simple) -> Vec<Range<usize>> {
        let mut operator = "";
        let mut words: Vec<Range<usize>> = Vec::new();
        for child in self.children(node) {
            let kind = child.kind();
            if is_word(kind) {
                match words.last_mut() {
                    Some(last) if last.end == child.start_byte() => last.end = child.end_byte(),
                    _ => words.push(child.byte_range()),
                }
            } else if kind != "file_descriptor" {
                operator = kind;
            }
        }
        if operator.ends_with('-') {
            return words;
        }
        if words.is_empty() {
            self.script.set_opaque(UNREADABLE);
            return words;
        }
        let mut targets = self.read_words(node, words.remove(0), Mode::Word);
        let is_descriptor =
            |word: &Word| word.text().is_some_and(|text| text == "-" || text.chars().all(|c| c.is_ascii_digit()));
        match operator {
            "<<<" => simple.give(targets.pop()),
            "<" => {
                simple.is_piped |= targets.iter().any(|word| word.has_hole() || programs::is_input(word));
                simple.reads.append(&mut targets);
            }
            ">&" if targets.iter().all(is_descriptor) => {}
            "<&" if targets.iter().all(is_descriptor) => {
                simple.is_piped |= targets.iter().any(|word| !matches!(word.text(), Some("-" | "0")));
            }
            "<&" => simple.reads.append(&mut targets),
            _ => simple.writes.append(&mut targets),
        }
        words
    }

    /// Reads a here-document. Words, redirections and further commands may follow on its line.
    fn here_document<'t>(
        &mut self,
        node: Node<'t>,
        simple: &mut Simple,
        after: &mut Vec<(Node<'t>, bool)>,
    ) -> Vec<Range<usize>> {
        let mut words = Vec::new();
        let (mut start, mut body, mut end, mut operator, mut is_piped) = (None, None, None, "", false);
        for child in self.children(node) {
            match child.kind() {
                kind @ ("<<" | "<<-") => operator = kind,
                "heredoc_start" => start = Some(child),
                "heredoc_body" => body = Some(child),
                "heredoc_end" => end = Some(child),
                "file_redirect" | "herestring_redirect" => words.extend(self.redirect(child, simple)),
                "pipeline" => {
                    for part in self.children(child) {
                        if part.is_named() {
                            after.push((part, true));
                        }
                    }
                }
                "|" | "|&" => is_piped = true,
                "\n" | "&&" | "||" | "file_descriptor" => {}
                kind if is_statement(kind) => after.push((child, is_piped)),
                kind if is_word(kind) => words.push(child.byte_range()),
                _ => self.script.set_opaque(UNREADABLE),
            }
        }
        let (Some(start), Some(end)) = (start, end) else {
            self.script.set_opaque(UNREADABLE);
            return words;
        };
        let raw = self.source(start).to_owned();
        let delimiter = match raw.chars().next() {
            Some(quote @ ('\'' | '"')) => raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)),
            _ => Some(raw.as_str()),
        };
        let is_quoted = raw.starts_with(['\'', '"']);
        let delimiter = delimiter.filter(|text| !text.contains(['\'', '"', '\\', '$', '`', '\n'])).map(str::to_owned);
        let line = self.text[start.end_byte()..].find('\n').map(|at| start.end_byte() + at);
        let (Some(delimiter), Some(line)) = (delimiter, line) else {
            self.script.set_opaque(UNREADABLE);
            return words;
        };
        let begin = line + 1;
        let (length, content) = body_of(&self.text[begin..], &delimiter, operator == "<<-", is_quoted);
        let lines = begin..begin + length;
        // A shell ends it at the first such line. The grammar must agree.
        let last = self.text.get(lines.end..end.end_byte()).unwrap_or_default();
        let is_where_expected = delimiter == if operator == "<<-" { last.trim_start_matches('\t') } else { last };
        let goes_on = self.text[..line].ends_with('\\');
        let is_across = |range: &Range<usize>| range.start < begin && range.end > begin;
        // The grammar reads the first words of some bodies as words of the command.
        words.retain(|word| !(line <= word.start && word.end <= lines.end));
        if !is_where_expected
            || goes_on
            || body.is_some_and(|body| body.start_byte() < line)
            || words.iter().any(is_across)
        {
            self.script.set_opaque(UNREADABLE);
        }
        simple.give(Some(if is_quoted { Word::literal(&content) } else { self.here_text(node, lines) }));
        words
    }

    /// Reads the text of a here-document with expansions. The grammar does not see backquotes there.
    fn here_text(&mut self, node: Node<'_>, range: Range<usize>) -> Word {
        let mut nodes = Vec::new();
        expansions(node, &range, &mut nodes, 0);
        let mut nodes = nodes.into_iter().peekable();
        let (mut known, mut at) = (Vec::new(), range.start);
        while at < range.end {
            if let Some(node) = nodes.next_if(|node| node.start_byte() <= at) {
                at = at.max(node.end_byte());
                known.push(self.expansion(node));
                continue;
            }
            match self.text.as_bytes()[at] {
                b'\\' => at += 2,
                b'`' => {
                    let length = end_of_backquotes(&self.text[at + 1..range.end]);
                    let end = length.map_or(range.end, |length| at + 2 + length);
                    self.backquotes(at..end);
                    known.push(Expansion { range: at..end, is_list: false, is_pipe: false });
                    while nodes.next_if(|node| node.start_byte() < end).is_some() {}
                    at = end;
                }
                _ => at += 1,
            }
        }
        self.quoted(range, &known, Mode::HereDocument).pop().unwrap_or_default()
    }
}

/// Returns the length of a here-document's body, and its literal text. If the delimiter is unquoted, a shell joins lines at a
/// backslash before it looks for the delimiter.
fn body_of(rest: &str, delimiter: &str, strips_tabs: bool, is_quoted: bool) -> (usize, String) {
    let (mut length, mut read, mut content, mut joined) = (0, 0, String::new(), String::new());
    for line in rest.split_inclusive('\n') {
        read += line.len();
        let plain = line.strip_suffix('\n').unwrap_or(line);
        let is_first = joined.is_empty();
        let plain = if strips_tabs && is_first { plain.trim_start_matches('\t') } else { plain };
        let backslashes = plain.len() - plain.trim_end_matches('\\').len();
        if !is_quoted && backslashes % 2 == 1 {
            joined.push_str(&plain[..plain.len() - 1]);
            continue;
        }
        joined.push_str(plain);
        if joined == delimiter {
            break;
        }
        content.push_str(&joined);
        content.push('\n');
        joined.clear();
        length = read;
    }
    (length, content)
}

/// Returns the position of an unquoted backquote in a text.
fn end_of_backquotes(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'`' && !is_quoted;
        is_quoted = byte == b'\\' && !is_quoted;
        is_end
    })
}
