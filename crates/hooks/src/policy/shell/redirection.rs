//! Reads redirections and here-documents: the files that a command opens, and the text that it gets.

use std::ops::Range;

use tree_sitter::Node;

use super::Simple;
use super::grammar::{is_statement, is_word};
use super::quoting::Mode;
use super::tree::{Context, Reader, UNREADABLE};
use super::word::Word;

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
        let inner = Context { input: simple.input.clone(), is_piped: context.is_piped && simple.input.is_none() };
        match body {
            Some(body) if matches!(body.kind(), "command" | "declaration_command" | "unset_command") => {
                // Its further words stand after a redirection.
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
        let mut targets = self.words(node, words.remove(0), Mode::Word);
        let is_descriptor =
            |word: &Word| word.text().is_some_and(|text| text == "-" || text.chars().all(|c| c.is_ascii_digit()));
        match operator {
            "<<<" => simple.input = targets.pop(),
            "<" => {
                simple.is_piped |= targets.iter().any(Word::has_hole);
                simple.reads.append(&mut targets);
            }
            ">&" | "<&" if targets.iter().all(is_descriptor) => {}
            "<&" => simple.reads.append(&mut targets),
            _ => simple.writes.append(&mut targets),
        }
        words
    }

    /// Reads a here-document. Its line may go on with words, redirections and further commands.
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
        let delimiter: String = raw.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        let strip =
            |line: &str| if operator == "<<-" { line.trim_start_matches('\t').to_owned() } else { line.to_owned() };
        let begin = self.text[..body.unwrap_or(end).start_byte()].rfind('\n').map_or(0, |at| at + 1);
        let rest = self.text.get(begin..).unwrap_or_default();
        let mut length = 0;
        let mut content = String::new();
        for line in rest.split_inclusive('\n') {
            let plain = strip(line.strip_suffix('\n').unwrap_or(line));
            if plain == delimiter {
                break;
            }
            content.push_str(&strip(line));
            length += line.len();
        }
        // A shell ends it at the first such line, which must be where the grammar does.
        let is_where_expected =
            self.text.get(begin + length..end.end_byte()).is_some_and(|line| strip(line) == delimiter);
        let is_next_line = self.text.get(start.end_byte()..begin).is_some_and(|line| line.matches('\n').count() == 1);
        if !is_where_expected || !is_next_line || raw.contains(['$', '`']) {
            self.script.set_opaque(UNREADABLE);
        }
        simple.input = Some(match body {
            Some(body) if raw == delimiter => {
                self.words(body, begin..begin + length, Mode::HereDocument).pop().unwrap_or_default()
            }
            _ => Word::known(&content),
        });
        words
    }
}
