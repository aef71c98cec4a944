//! Matches in the arguments of Rust macros, which the grammar leaves as tokens. Bracketed groups are parsed as code, or
//! else each part separately. Tokens that do not parse are reported as unread.

use std::ops::Range;
use std::time::Instant;

use syntax::{Language, parse};
use tree_sitter::{Node, Point};

use super::pattern::{Arm, Match, Otherwise};
use super::source::{Source, children};
use super::{descend, rust};

const MAX_DEPTH: usize = 12;

pub(super) struct Reader<'a> {
    source: Source<'a>,
    /// Sorted offsets of constructor names.
    starts: &'a [usize],
    until: Instant,
    pub(super) found: Vec<Match>,
    /// Offsets of names in tokens that do not parse.
    pub(super) unread: Vec<usize>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: Source<'a>, starts: &'a [usize], until: Instant) -> Reader<'a> {
        Reader { source, starts, until, found: Vec::new(), unread: Vec::new() }
    }

    /// Reads the tree of the whole file.
    pub(super) fn file(&mut self, root: Node<'_>) {
        descend(&mut root.walk(), self.starts, &mut |node| self.node(0, node));
    }

    fn node(&mut self, depth: usize, node: Node<'_>) {
        match node.kind() {
            "macro_invocation" => self.invocation(depth, node),
            // `select! { Shape::Dot = next() => … }`: a pattern without the `let` of a statement.
            "assignment_expression" if depth > 0 => {
                let left = node.child_by_field_name("left").map(|left| self.starts_in(&left.byte_range()));
                self.unread.extend_from_slice(left.unwrap_or_default());
            }
            _ => self.found.extend(rust::read(self.source, node)),
        }
    }

    fn starts_in(&self, range: &Range<usize>) -> &'a [usize] {
        let at = |end: usize| self.starts.partition_point(|start| *start < end);
        &self.starts[at(range.start)..at(range.end).max(at(range.start))]
    }

    fn invocation(&mut self, depth: usize, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("macro").map(|name| self.source.node_text(name)) else { return };
        let Some(tokens) = children(node).into_iter().find(|child| child.kind() == "token_tree") else { return };
        let form = match () {
            () if name.ends_with("assert_matches") => "assert_matches!",
            () if name.ends_with("matches") => "matches!",
            () => return self.tokens(tokens, depth),
        };
        let inner = inner(tokens);
        let mut cursor = tokens.walk();
        let commas = tokens.children(&mut cursor).filter(|token| token.kind() == ",");
        let mut commas = commas.map(|comma| comma.byte_range());
        let Some(first) = commas.next() else { return };
        let end = if form == "matches!" { commas.last() } else { commas.next() };
        // A comma within the pattern is inside brackets. `matches!` permits a trailing comma.
        let is_end =
            |comma: &Range<usize>| form != "matches!" || self.source.text[comma.end..inner.end].trim_ascii().is_empty();
        let end = end.filter(is_end).map_or(inner.end, |comma| comma.start);
        let pattern = first.end..end;
        self.piece(inner.start..first.start, depth);
        self.piece(end..inner.end, depth);
        let otherwise = match form {
            "matches!" => Otherwise::Absorbs("it is false then"),
            _ => Otherwise::Breaks("run-time failure: the assertion"),
        };
        match self.pattern(pattern.clone(), depth) {
            Some(arms) => self.found.push(Match { bytes: node.byte_range(), form, arms, otherwise }),
            None => self.unread.extend_from_slice(self.starts_in(&pattern)),
        }
    }

    /// Reads the pattern of `matches!` and its condition.
    fn pattern(&mut self, place: Range<usize>, depth: usize) -> Option<Vec<Arm>> {
        let mut arms = None;
        let is_read = self.parsed("match x{", place, "=>1}", depth, |reader, depth, node| {
            // The added text is not a match of the file.
            if arms.is_none() && node.kind() == "match_expression" {
                arms = rust::matched(reader.source, node).map(|one| one.arms);
            } else if !matches!(node.kind(), "source_file" | "expression_statement") {
                reader.node(depth, node);
            }
        });
        arms.filter(|_| is_read)
    }

    /// Reads the text between commas as an expression, or reports it as unread.
    fn piece(&mut self, place: Range<usize>, depth: usize) {
        // The comma that ends the previous part is skipped.
        let from = place.start + usize::from(self.source.text[place.clone()].starts_with(b","));
        let place = from..place.end;
        if !self.parsed("(", place.clone(), ");", depth, Reader::node) {
            self.unread.extend_from_slice(self.starts_in(&place));
        }
    }

    /// Reads the tokens of a macro: a list, a block, or pieces between separators.
    fn tokens(&mut self, tokens: Node<'_>, depth: usize) {
        if self.parsed("", tokens.byte_range(), ";", depth, Reader::node) {
            return;
        }
        let inner = inner(tokens);
        let mut cursor = tokens.walk();
        let (mut from, mut held) = (inner.start, Vec::new());
        for token in tokens.children(&mut cursor) {
            match token.kind() {
                "," | ";" | ":" | "=>" => {
                    self.segment(from..token.start_byte(), &held, token.kind() == "=>", depth);
                    held.clear();
                    from = token.end_byte();
                }
                _ => held.push(token),
            }
        }
        self.segment(from..inner.end, &held, false, depth);
    }

    fn segment(&mut self, place: Range<usize>, held: &[Node<'_>], is_pattern: bool, depth: usize) {
        // `next(), if is_open => …`: the condition of a branch.
        let condition = held.first().filter(|first| first.kind() == "if").map(Node::end_byte);
        let is_pattern = is_pattern && condition.is_none();
        let place = condition.unwrap_or(place.start)..place.end;
        if !is_pattern && self.parsed("(", place.clone(), ");", depth, Reader::node) {
            return;
        }
        // Blocks are code in any case, but braces after a name may be the fields of a pattern.
        let mut blocks = Vec::new();
        for (before, token) in std::iter::once(None).chain(held.iter().map(Some)).zip(held) {
            let is_block = token.kind() == "token_tree" && self.source.node_text(*token).starts_with('{');
            let is_after_name = before.is_some_and(|before| before.kind() == "identifier");
            // A block before a pattern is the body of the previous branch.
            if is_block && !is_after_name && (!is_pattern || before.is_none()) {
                self.tokens(*token, depth + 1);
                blocks.push(token.byte_range());
            }
        }
        let is_outside = |start: &&usize| !blocks.iter().any(|block| block.contains(start));
        self.unread.extend(self.starts_in(&place).iter().filter(is_outside));
    }

    /// Parses a part of the file with added text around it, and visits its nodes. Returns true if it parses, or is irrelevant.
    fn parsed(
        &mut self,
        before: &str,
        place: Range<usize>,
        after: &str,
        depth: usize,
        mut visit: impl FnMut(&mut Self, usize, Node<'_>),
    ) -> bool {
        let starts = self.starts_in(&place);
        if starts.is_empty() {
            return true;
        }
        if depth >= MAX_DEPTH {
            return false;
        }
        let text = [before.as_bytes(), &self.source.text[place.clone()], after.as_bytes()].concat();
        let Some(tree) = parse(Language::Rust, &text, self.until) else { return false };
        // The nodes have the offsets of the file.
        let root = tree.root_node_with_offset(place.start.saturating_sub(before.len()), Point::new(0, 0));
        if root.has_error() {
            return false;
        }
        descend(&mut root.walk(), starts, &mut |node| visit(self, depth + 1, node));
        true
    }
}

/// Returns the range within the brackets of tokens.
fn inner(tokens: Node<'_>) -> Range<usize> {
    let whole = tokens.byte_range();
    whole.start + 1..(whole.end - 1).max(whole.start + 1)
}
