//! Walks the tree of a shell's text and collects its simple commands. Known kinds of nodes are listed. Any other kind, an
//! error, or bytes that no node covers make the text opaque.

use std::ops::Range;

use tree_sitter::Node;

use super::evaluation;
use super::grammar::{is_statement, is_word, parse};
use super::quoting::{self, Expansion, Mode};
use super::word::Word;
use super::{Script, Simple};

/// The maximum number of nodes in a tree, and the maximum depth.
const NODES_MAX: usize = 100_000;
const LEVELS_MAX: usize = 200;
/// The maximum number of here-documents and arrays in a text: the grammar looks ahead for their ends.
const LOOK_AHEADS_MAX: usize = 64;

pub(crate) const UNREADABLE: &str = "hob cannot read this shell text";

/// The input and pipe state that commands inherit from the enclosing construct.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) input: Option<Word>,
    pub(super) is_piped: bool,
}

/// Reads a text into a script.
pub(super) fn read(script: &mut Script, text: &str, depth: usize, context: &Context) {
    if ["<<", "=("].iter().any(|mark| text.matches(mark).count() > LOOK_AHEADS_MAX) || text.contains('\0') {
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
    Reader { text, script, depth, level: 0, doubtful_from: None, is_fed: false }.statement(root, context);
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) script: &'a mut Script,
    /// The number of texts that enclose this one.
    pub(super) depth: usize,
    level: usize,
    /// The first directory change on the right side of a list, which may not run.
    doubtful_from: Option<usize>,
    /// True if an enclosing construct redirects the input of the commands.
    is_fed: bool,
}

impl Reader<'_> {
    pub(super) fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Reads statements that run in a subshell.
    fn in_subshell(&mut self, node: Node<'_>, context: &Context) {
        let steps = self.script.steps.len();
        self.statement(node, context);
        self.script.steps.truncate(steps);
    }

    pub(super) fn statement(&mut self, node: Node<'_>, context: &Context) {
        if self.level >= LEVELS_MAX {
            return self.script.set_opaque("the shell text is nested too deeply");
        }
        self.level += 1;
        let (steps, commands) = (self.script.steps.len(), self.script.commands.len());
        let was_fed = self.is_fed;
        self.is_fed |= context.is_piped || context.input.is_some();
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
                // A caller may redirect its input.
                self.parts(node, &Context { input: None, is_piped: true });
                // It runs in the directory of each call.
                self.script.move_commands(commands);
            }
            "pipeline" => self.pipeline(node, context),
            "subshell" => {
                self.parts(node, context);
                self.script.steps.truncate(steps);
            }
            "compound_statement" if self.source(node).starts_with("((") => {
                self.script.has_assignments = true;
                self.script.set_evaluates();
                self.region(node);
            }
            "for_statement" | "c_style_for_statement" | "while_statement" => {
                self.script.has_assignments |= node.kind() != "while_statement";
                if node.kind() == "c_style_for_statement" {
                    self.script.set_evaluates();
                }
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
        self.is_fed = was_fed;
        self.level -= 1;
    }

    /// Reads the parts of a construct: statements, words and punctuation.
    fn parts(&mut self, node: Node<'_>, context: &Context) {
        let children = self.children(node);
        for (at, child) in children.iter().enumerate() {
            let kind = child.kind();
            if is_statement(kind) {
                // `a & b`: a background command changes only its own directory.
                let is_background = children.get(at + 1).is_some_and(|next| next.kind() == "&");
                if is_background {
                    self.in_subshell(*child, context);
                } else {
                    self.statement(*child, context);
                }
            } else if kind == "file_redirect" || kind == "herestring_redirect" {
                // The redirections of a function.
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

    /// Reads `a && b`. Within the list, `b` runs in the directory that `a` changed to. After the list, `b` may not have run.
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
    pub(super) fn finish(
        &mut self,
        node: Node<'_>,
        mut ranges: Vec<Range<usize>>,
        context: &Context,
        mut simple: Simple,
    ) {
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                // Words without a blank between them are one word.
                Some(last) if last.end == range.start => last.end = range.end,
                _ => merged.push(range),
            }
        }
        // The grammar reads some assignments as words.
        while let Some(range) =
            merged.first().filter(|range| evaluation::is_assignment(&self.text[range.start..range.end]))
        {
            self.assigned(range.clone());
            self.read_words(node, range.clone(), Mode::Value);
            merged.remove(0);
        }
        let is_declaration = node.kind() == "declaration_command";
        let mut nodes = Vec::new();
        expansions(node, &node.byte_range(), &mut nodes, 0);
        for (at, range) in merged.into_iter().enumerate() {
            let mode = if is_declaration && at > 0 { Mode::Value } else { Mode::Word };
            if is_declaration && self.text.get(range.clone()).is_some_and(|text| text.contains("=(")) {
                let text = &self.text[range];
                if text.starts_with(['\'', '"', '\\', '$']) && evaluation::has_substitution(text) {
                    self.script.set_opaque(evaluation::OPAQUE);
                }
                simple.words.push(Word::hole());
                continue;
            }
            let from = nodes.partition_point(|node| node.start_byte() < range.start);
            let to = nodes.partition_point(|node| node.end_byte() <= range.end);
            simple.words.extend(self.words_of(nodes.get(from..to).unwrap_or_default(), range, mode));
        }
        if simple.input.is_none() && !simple.is_piped {
            simple.input.clone_from(&context.input);
            simple.is_piped = context.is_piped || self.script.is_fed;
        }
        self.script.add(simple, self.depth);
    }

    /// Reads a range of a node as words. Adds the commands of its expansions to the script.
    pub(super) fn read_words(&mut self, node: Node<'_>, range: Range<usize>, mode: Mode) -> Vec<Word> {
        let mut nodes = Vec::new();
        expansions(node, &range, &mut nodes, 0);
        self.words_of(&nodes, range, mode)
    }

    /// Reads a range with these expansions as words.
    fn words_of(&mut self, expansions: &[Node<'_>], range: Range<usize>, mode: Mode) -> Vec<Word> {
        let known: Vec<Expansion> = expansions.iter().map(|node| self.expansion(*node)).collect();
        self.quoted(range, &known, mode)
    }

    /// Reads an expansion and its commands.
    pub(super) fn expansion(&mut self, node: Node<'_>) -> Expansion {
        let text = self.source(node);
        let is_name = matches!(node.kind(), "simple_expansion" | "expansion");
        let is_list = is_name && (text.contains('@') || text.starts_with("${!"));
        if node.kind() == "simple_expansion" && text.contains(char::is_whitespace) {
            self.script.set_opaque(UNREADABLE);
        }
        let is_pipe = node.kind() == "process_substitution";
        self.substitution(node);
        Expansion { range: node.byte_range(), is_list, is_pipe }
    }

    pub(super) fn quoted(&mut self, range: Range<usize>, known: &[Expansion], mode: Mode) -> Vec<Word> {
        let words = quoting::read(self.text, range, known, mode).unwrap_or_else(|_| {
            self.script.set_opaque(UNREADABLE);
            vec![Word::hole()]
        });
        if mode != Mode::HereDocument {
            words.iter().for_each(|word| self.script.note_text(&word.render()));
        }
        words
    }

    /// Reads the commands of an expansion.
    fn substitution(&mut self, node: Node<'_>) {
        let source = self.source(node);
        match node.kind() {
            "command_substitution" if source.starts_with(['`', '$']) && source.ends_with('`') => {
                let begin = node.start_byte() + usize::from(source.starts_with('$'));
                self.backquotes(begin..node.end_byte());
            }
            "command_substitution" | "process_substitution" => {
                let context = Context { input: None, is_piped: self.is_fed || source.starts_with(">(") };
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

    /// Reads the commands in backquotes; the range includes the backquotes.
    pub(super) fn backquotes(&mut self, range: Range<usize>) {
        let text = self.text.get(range.start + 1..range.end.saturating_sub(1)).and_then(quoting::without_backslashes);
        if text.is_none() || self.text.as_bytes().get(range.end - 1) != Some(&b'`') {
            self.script.set_opaque(UNREADABLE);
        }
        let context = Context { input: None, is_piped: self.is_fed };
        self.script.read_apart(&text.unwrap_or_default(), self.depth + 1, &context);
    }

    /// Reads a part that is not a command. Its substitutions run. A substitution that the grammar does not see makes the text
    /// opaque.
    pub(super) fn region(&mut self, node: Node<'_>) {
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
        self.collect_known(node, &mut seen, 0);
        let mut at = node.start_byte();
        let mut seen = seen.into_iter().peekable();
        while at < node.end_byte() {
            if let Some(range) = seen.next_if(|range| range.start <= at) {
                at = at.max(range.end);
                continue;
            }
            let rest = &self.text.as_bytes()[at..node.end_byte()];
            match rest {
                [b'\\', b'`', ..] | [b'\\', b'$', b'(', ..] => {
                    let source = &self.text[node.byte_range()];
                    self.script.note_text(source.strip_prefix("[[").unwrap_or(source));
                    at += 2;
                }
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

    /// Collects the ranges below a node with known substitutions, and reads their commands.
    fn collect_known(&mut self, node: Node<'_>, seen: &mut Vec<Range<usize>>, level: usize) {
        if self.level + level >= LEVELS_MAX {
            return self.script.set_opaque("the shell text is nested too deeply");
        }
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                self.substitution(node);
                seen.push(node.byte_range());
            }
            "raw_string" => {
                self.script.note_quoted(&self.text[node.byte_range()]);
                seen.push(node.byte_range());
            }
            "extglob_pattern" | "regex" if self.source(node).contains([';', '&', '\n']) => {
                self.script.set_opaque(UNREADABLE)
            }
            "ansi_c_string" => {
                if quoting::read(self.text, node.byte_range(), &[], Mode::Word).is_err() {
                    self.script.set_opaque(UNREADABLE);
                }
                self.script.note_quoted(&self.text[node.byte_range()]);
                seen.push(node.byte_range());
            }
            kind => {
                // `$((x=1))` and `${x:=1}` assign.
                let may_assign =
                    matches!(kind, "arithmetic_expansion" | "expansion") && self.source(node).contains('=');
                self.script.has_assignments |= may_assign;
                self.script.expand(kind, &self.text[node.byte_range()]);
                if kind == "arithmetic_expansion" && self.source(node).starts_with("$((") {
                    seen.push(node.start_byte()..node.start_byte() + 3);
                }
                for child in node.children(&mut node.walk()) {
                    self.collect_known(child, seen, level + 1);
                }
            }
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) {
        self.assigned(node.byte_range());
        let after = self.text[node.end_byte()..].chars().next();
        if after.is_some_and(|c| !c.is_whitespace() && !";&|<>),".contains(c)) {
            // A shell reads further than the grammar.
            self.script.set_opaque(UNREADABLE);
        }
        match node.child_by_field_name("value").filter(|value| value.kind() == "array") {
            Some(array) => {
                for child in self.children(array) {
                    if child.is_named() {
                        self.read_words(child, child.byte_range(), Mode::Word);
                    }
                }
                if let Some(name) = node.child_by_field_name("name") {
                    self.region(name);
                }
            }
            None => _ = self.read_words(node, node.byte_range(), Mode::Value),
        }
    }

    fn assigned(&mut self, range: Range<usize>) {
        self.script.has_assignments = true;
        self.script.note_assignment(&self.text[range]);
    }

    /// Reads `[[ … ]]`, or the command `[ … ]`.
    fn test(&mut self, node: Node<'_>) {
        if evaluation::compares(self.source(node)) {
            self.script.set_evaluates();
        }
        let source = self.source(node);
        if source.starts_with("[[") {
            let inner = source.get(2..source.len() - 2).unwrap_or_default();
            if inner.contains(" ]]") || inner.contains("\n]]") {
                self.script.set_opaque(UNREADABLE);
            }
            // Its arithmetic may assign.
            self.script.has_assignments = true;
            return self.region(node);
        }
        let mut words = vec![Word::literal("[")];
        words.extend(self.read_words(node, node.start_byte() + 1..node.end_byte(), Mode::Words));
        self.script.add(Simple { words, ..Simple::default() }, self.depth);
    }
}

/// Collects the outermost expansions of a node within a range.
pub(super) fn expansions<'t>(node: Node<'t>, range: &Range<usize>, found: &mut Vec<Node<'t>>, level: usize) {
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
