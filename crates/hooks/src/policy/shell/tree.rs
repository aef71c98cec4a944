//! Walks the tree of a shell's text and collects its simple commands. The kinds of nodes that are read are listed; any other
//! kind, an error, and bytes that no node covers make the text opaque.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::quoting::{self, Expansion, Mode};
use super::word::Word;
use super::{Script, Simple};

/// The most nodes of a tree, and levels of it.
const NODES_MAX: usize = 100_000;
const LEVELS_MAX: usize = 200;
/// The most steps of the parser. Ordinary texts take a few.
const PROGRESS_MAX: usize = 20_000;
/// The most here-documents of a text: the grammar keeps those that are open in a small buffer.
const HERE_DOCUMENTS_MAX: usize = 64;

const UNREADABLE: &str = "hob cannot read this shell text";

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Parses a text, unless it takes too long.
fn parse(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        if parser.is_none() {
            let mut new = Parser::new();
            new.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *parser = Some(new);
        }
        let parser = parser.as_mut()?;
        let mut steps = 0;
        let mut progress = |_: &ParseState| {
            steps += 1;
            if steps > PROGRESS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree =
            parser.parse_with_options(&mut |at, _| text.as_bytes().get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// What commands get from the construct around them.
#[derive(Debug, Clone, Default)]
struct Context {
    input: Option<Word>,
    is_piped: bool,
}

/// Reads a text into a script.
pub(super) fn read(script: &mut Script, text: &str, depth: usize) {
    if text.matches("<<").count() > HERE_DOCUMENTS_MAX || text.contains('\0') {
        return script.set_opaque(UNREADABLE);
    }
    let Some(tree) = parse(text) else { return script.set_opaque(UNREADABLE) };
    let root = tree.root_node();
    if root.descendant_count() > NODES_MAX {
        return script.set_opaque("the shell text is too large");
    }
    if root.has_error() {
        script.set_opaque(UNREADABLE);
    }
    Reader { text, script, depth, level: 0, doubtful_from: None }.statement(root, &Context::default());
}

struct Reader<'a> {
    text: &'a str,
    script: &'a mut Script,
    depth: usize,
    level: usize,
    /// The first change of directory on the right side of a list, which may not run.
    doubtful_from: Option<usize>,
}

fn is_statement(kind: &str) -> bool {
    kind.ends_with("_statement")
        || kind.ends_with("_command")
        || matches!(
            kind,
            "pipeline"
                | "list"
                | "subshell"
                | "command"
                | "function_definition"
                | "variable_assignment"
                | "variable_assignments"
                | "do_group"
                | "elif_clause"
                | "else_clause"
                | "case_item"
                | "ERROR"
        )
}

fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "number"
            | "concatenation"
            | "expansion"
            | "simple_expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "extglob_pattern"
            | "regex"
            | "variable_name"
            | "$"
    )
}

impl Reader<'_> {
    fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The children of a node. The bytes between them must be blanks.
    fn children<'t>(&mut self, node: Node<'t>) -> Vec<Node<'t>> {
        let children: Vec<Node<'t>> = node.children(&mut node.walk()).collect();
        let mut end = node.start_byte();
        for child in &children {
            self.gap(end..child.start_byte());
            end = child.end_byte();
            if child.kind() == "comment" && !self.is_comment(*child) {
                self.script.set_opaque(UNREADABLE);
            }
        }
        self.gap(end..node.end_byte());
        children.into_iter().filter(|child| child.kind() != "comment").collect()
    }

    fn gap(&mut self, range: Range<usize>) {
        let Some(gap) = self.text.get(range.clone()).filter(|gap| !gap.is_empty()) else { return };
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        let without_continuations = gap.replace("\\\n", "");
        // A line that goes on in the middle of a word joins it.
        let before = self.text[..range.start].chars().next_back();
        let after = self.text[range.end..].chars().next();
        let parts = |c: Option<char>| c.is_none_or(|c| is_blank(c) || ";&|<>()".contains(c));
        let is_part_of_word = without_continuations.is_empty() && !parts(before) && !parts(after);
        if is_part_of_word || !without_continuations.chars().all(is_blank) {
            self.script.set_opaque(UNREADABLE);
        }
    }

    /// Whether a shell reads a comment where the grammar does.
    fn is_comment(&self, node: Node<'_>) -> bool {
        let before = self.text[..node.start_byte()].chars().next_back();
        !self.source(node).contains('\n') && before.is_none_or(|c| " \t\n;&|()".contains(c))
    }

    /// Reads statements that run in a shell of their own.
    fn in_subshell(&mut self, node: Node<'_>, context: &Context) {
        let steps = self.script.steps.len();
        self.statement(node, context);
        self.script.steps.truncate(steps);
    }

    fn statement(&mut self, node: Node<'_>, context: &Context) {
        if self.level >= LEVELS_MAX {
            return self.script.set_opaque("the shell text is nested too deeply");
        }
        self.level += 1;
        let (steps, commands) = (self.script.steps.len(), self.script.commands.len());
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => self.command(node, context, Simple::default()),
            "redirected_statement" => self.redirected(node, context),
            "test_command" => self.test(node),
            "variable_assignment" => self.assignment(node),
            "variable_assignments" => {
                for child in self.children(node) {
                    self.assignment(child);
                }
            }
            "function_definition" => {
                self.script.has_functions = true;
                self.parts(node, context);
                // It runs wherever it is called.
                self.script.move_commands(commands);
            }
            "pipeline" => self.pipeline(node, context),
            "subshell" => {
                self.parts(node, context);
                self.script.steps.truncate(steps);
            }
            "compound_statement" if self.source(node).starts_with("((") => self.region(node),
            "for_statement" | "c_style_for_statement" | "while_statement" => {
                self.parts(node, context);
                if self.script.steps.len() > steps {
                    self.script.move_commands(commands);
                }
                self.script.doubt_steps(steps);
            }
            "if_statement" | "case_statement" => {
                self.parts(node, context);
                self.script.doubt_steps(steps);
            }
            "list" => self.list(node, context),
            "program" | "compound_statement" | "negated_command" | "do_group" | "elif_clause" | "else_clause"
            | "case_item" | "ERROR" => self.parts(node, context),
            _ => self.script.set_opaque(UNREADABLE),
        }
        self.level -= 1;
    }

    /// Reads the parts of a construct: statements, words and marks.
    fn parts(&mut self, node: Node<'_>, context: &Context) {
        let children = self.children(node);
        for (at, child) in children.iter().enumerate() {
            let kind = child.kind();
            if is_statement(kind) {
                // `a & b`: what runs in the background changes directories for itself.
                let is_background = children.get(at + 1).is_some_and(|next| next.kind() == "&");
                if is_background {
                    self.in_subshell(*child, context);
                } else {
                    self.statement(*child, context);
                }
            } else if kind == "file_redirect" || kind == "herestring_redirect" {
                // Of a function.
                let mut simple = Simple::default();
                self.redirect(*child, &mut simple);
                self.script.add(simple, self.depth);
            } else if child.is_named() {
                self.region(*child);
                if !is_word(kind) && !kind.ends_with("_expression") {
                    self.script.set_opaque(UNREADABLE);
                }
            }
        }
    }

    /// `a && b`. Within the list, `b` runs in the directory that `a` changed to. After the list, `b` may not have run.
    fn list(&mut self, node: Node<'_>, context: &Context) {
        let sides: Vec<Node<'_>> = self.children(node).into_iter().filter(Node::is_named).collect();
        for (at, side) in sides.into_iter().enumerate() {
            let steps = self.script.steps.len();
            self.statement(side, context);
            if at > 0 && self.script.steps.len() > steps {
                self.doubtful_from = Some(self.doubtful_from.map_or(steps, |from| from.min(steps)));
            }
        }
        if node.parent().is_none_or(|parent| parent.kind() != "list")
            && let Some(from) = self.doubtful_from.take()
        {
            self.script.doubt_steps(from);
        }
    }

    fn pipeline(&mut self, node: Node<'_>, context: &Context) {
        let mut context = context.clone();
        for child in self.children(node) {
            if child.is_named() {
                self.in_subshell(child, &context);
                context = Context { input: None, is_piped: true };
            }
        }
    }

    /// Reads a command whose redirections may have been read already.
    fn command(&mut self, node: Node<'_>, context: &Context, mut simple: Simple) {
        let mut words = Vec::new();
        for child in self.children(node) {
            match child.kind() {
                "variable_assignment" if node.kind() == "command" => self.assignment(child),
                "variable_assignment" => {
                    self.assignment(child);
                    words.push(child.byte_range());
                }
                "command_name" => words.push(child.byte_range()),
                "file_redirect" | "herestring_redirect" => words.extend(self.redirect(child, &mut simple)),
                "subshell" => {
                    // A function without its body, or a call with parentheses.
                    self.script.set_opaque(UNREADABLE);
                    self.statement(child, context);
                }
                kind if is_word(kind) || !child.is_named() => words.push(child.byte_range()),
                _ => self.script.set_opaque(UNREADABLE),
            }
        }
        self.finish(node, words, context, simple);
    }

    /// Adds a command of these words.
    fn finish(&mut self, node: Node<'_>, mut ranges: Vec<Range<usize>>, context: &Context, mut simple: Simple) {
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                // Words without a blank between them are one word.
                Some(last) if last.end == range.start => last.end = range.end,
                _ => merged.push(range),
            }
        }
        let is_declaration = node.kind() == "declaration_command";
        for (at, range) in merged.into_iter().enumerate() {
            let mode = if is_declaration && at > 0 { Mode::Value } else { Mode::Word };
            if is_declaration && self.text.get(range.clone()).is_some_and(|text| text.contains("=(")) {
                simple.words.push(Word::hole());
                continue;
            }
            simple.words.extend(self.words(node, range, mode));
        }
        if simple.input.is_none() && !simple.is_piped {
            simple.input.clone_from(&context.input);
            simple.is_piped = context.is_piped;
        }
        self.script.add(simple, self.depth);
    }

    /// Reads a range of a node as words. What its expansions run is added to the script.
    fn words(&mut self, node: Node<'_>, range: Range<usize>, mode: Mode) -> Vec<Word> {
        let mut nodes = Vec::new();
        expansions(node, &range, &mut nodes, 0);
        let mut known = Vec::new();
        for node in nodes {
            let text = self.source(node);
            let is_list = text.contains('@') && matches!(node.kind(), "simple_expansion" | "expansion");
            known.push(Expansion { range: node.byte_range(), is_list });
            self.substitution(node);
        }
        quoting::read(self.text, range, &known, mode).unwrap_or_else(|_| {
            self.script.set_opaque(UNREADABLE);
            vec![Word::hole()]
        })
    }

    /// Reads what an expansion runs.
    fn substitution(&mut self, node: Node<'_>) {
        let source = self.source(node);
        match node.kind() {
            "command_substitution" if source.starts_with(['`', '$']) && source.ends_with('`') => {
                let inner = source.trim_start_matches('$');
                let inner = inner.get(1..inner.len().max(2) - 1).unwrap_or_default();
                let text = without_backslashes(inner);
                if text.is_none() {
                    self.script.set_opaque(UNREADABLE);
                }
                self.script.read_apart(&text.unwrap_or_default(), self.depth + 1);
            }
            "command_substitution" | "process_substitution" => {
                let context = Context { input: None, is_piped: source.starts_with(">(") };
                if self.level >= LEVELS_MAX {
                    return self.script.set_opaque("the shell text is nested too deeply");
                }
                self.level += 1;
                let steps = self.script.steps.len();
                self.parts(node, &context);
                self.script.steps.truncate(steps);
                self.level -= 1;
            }
            _ => self.region(node),
        }
    }

    /// Reads a part that is not a command. What is substituted in it runs; a substitution that the grammar does not see
    /// makes the text opaque.
    fn region(&mut self, node: Node<'_>) {
        if self.level >= LEVELS_MAX {
            return self.script.set_opaque("the shell text is nested too deeply");
        }
        self.level += 1;
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            self.substitution(node);
            self.level -= 1;
            return;
        }
        let mut seen = Vec::new();
        self.seen(node, &mut seen, 0);
        let mut at = node.start_byte();
        let mut seen = seen.into_iter().peekable();
        while at < node.end_byte() {
            if let Some(range) = seen.next_if(|range| range.start <= at) {
                at = at.max(range.end);
                continue;
            }
            let rest = &self.text.as_bytes()[at..node.end_byte()];
            match rest {
                [b'\\', _, ..] => at += 2,
                [b'`', ..] | [b'$' | b'<' | b'>', b'(', ..] => {
                    self.script.set_opaque(UNREADABLE);
                    break;
                }
                _ => at += 1,
            }
        }
        self.level -= 1;
    }

    /// The ranges below a node in which substitutions are known. What they run is read.
    fn seen(&mut self, node: Node<'_>, seen: &mut Vec<Range<usize>>, level: usize) {
        if self.level + level >= LEVELS_MAX {
            return self.script.set_opaque("the shell text is nested too deeply");
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                self.substitution(node);
                seen.push(node.byte_range());
            }
            "raw_string" => seen.push(node.byte_range()),
            "extglob_pattern" | "regex" if self.source(node).contains([';', '&', '\n']) => {
                self.script.set_opaque(UNREADABLE)
            }
            "ansi_c_string" => {
                if quoting::read(self.text, node.byte_range(), &[], Mode::Word).is_err() {
                    self.script.set_opaque(UNREADABLE);
                }
                seen.push(node.byte_range());
            }
            kind => {
                if kind == "arithmetic_expansion" && self.source(node).starts_with("$((") {
                    seen.push(node.start_byte()..node.start_byte() + 3);
                }
                for child in node.children(&mut node.walk()) {
                    self.seen(child, seen, level + 1);
                }
            }
        }
    }

    fn assignment(&mut self, node: Node<'_>) {
        self.script.has_assignments = true;
        match node.child_by_field_name("value").filter(|value| value.kind() == "array") {
            Some(array) => {
                for child in self.children(array) {
                    if child.is_named() {
                        self.words(child, child.byte_range(), Mode::Word);
                    }
                }
                if let Some(name) = node.child_by_field_name("name") {
                    self.region(name);
                }
            }
            None => _ = self.words(node, node.byte_range(), Mode::Value),
        }
    }

    /// `[[ … ]]`, and `[ … ]`, which is a command.
    fn test(&mut self, node: Node<'_>) {
        let source = self.source(node);
        if source.starts_with("[[") {
            let inner = source.get(2..source.len() - 2).unwrap_or_default();
            if inner.contains(" ]]") || inner.contains("\n]]") {
                self.script.set_opaque(UNREADABLE);
            }
            return self.region(node);
        }
        let mut words = vec![Word::known("[")];
        words.extend(self.words(node, node.start_byte() + 1..node.end_byte(), Mode::Words));
        self.script.add(Simple { words, ..Simple::default() }, self.depth);
    }

    fn redirected(&mut self, node: Node<'_>, context: &Context) {
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
    fn redirect(&mut self, node: Node<'_>, simple: &mut Simple) -> Vec<Range<usize>> {
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

/// The outermost expansions of a node within a range.
fn expansions<'t>(node: Node<'t>, range: &Range<usize>, found: &mut Vec<Node<'t>>, level: usize) {
    if level > LEVELS_MAX {
        return;
    }
    for child in std::iter::once(node).chain(node.children(&mut node.walk())) {
        if child.end_byte() <= range.start || child.start_byte() >= range.end {
            continue;
        }
        let is_inside = child.start_byte() >= range.start && child.end_byte() <= range.end;
        match child.kind() {
            "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "expansion"
            | "simple_expansion"
                if is_inside =>
            {
                if found.last() != Some(&child) {
                    found.push(child);
                }
                if child == node {
                    return;
                }
            }
            _ if child != node => expansions(child, range, found, level + 1),
            _ => {}
        }
    }
}

/// The text in backquotes as a shell reads it: a backslash quotes only itself, `$` and the mark.
fn without_backslashes(inner: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '`' => return None,
            '\\' => match chars.peek() {
                Some('`' | '\\' | '$') => text.extend(chars.next()),
                // In double quotes it also quotes those.
                Some('"') => return None,
                _ => text.push(c),
            },
            c => text.push(c),
        }
    }
    Some(text)
}
