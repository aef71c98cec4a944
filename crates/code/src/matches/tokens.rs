//! Matches in the arguments of Rust macros, which the grammar leaves as tokens. Bracketed groups are parsed as code, or
//! else each part separately. Tokens that do not parse are reported as unread.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::Node;

use super::pattern::{Arm, Match, Otherwise, Pattern};
use super::{Text, children, descend, rust};
use crate::syntax::{Language, parse};

/// Maximum nesting of macros that are parsed.
const MAX_DEPTH: usize = 12;

/// State of reading a file.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    /// Sorted offsets of constructor names.
    starts: &'a [usize],
    until: Instant,
    pub(super) found: Vec<Match>,
    /// Offsets of names in tokens that do not parse.
    pub(super) unread: Vec<usize>,
}

/// A part of the file that was parsed separately, with added text around it.
struct Part<'a> {
    text: Text<'a>,
    /// Offset of the part in the file, and number of bytes added before it.
    at: usize,
    before: usize,
    depth: usize,
}

impl Part<'_> {
    /// Converts an offset of the part into one of the file.
    fn in_file(&self, at: usize) -> usize {
        (at + self.at).saturating_sub(self.before)
    }

    fn range(&self, node: Node<'_>) -> Range<usize> {
        self.in_file(node.start_byte())..self.in_file(node.end_byte())
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8], starts: &'a [usize], until: Instant) -> Reader<'a> {
        Reader { text, starts, until, found: Vec::new(), unread: Vec::new() }
    }

    /// Reads the tree of the whole file.
    pub(super) fn file(&mut self, root: Node<'_>) {
        let (starts, text) = (self.starts, Text { bytes: self.text });
        let part = Part { text, at: 0, before: 0, depth: 0 };
        descend(&mut root.walk(), starts, &mut |node| self.node(&part, node));
    }

    fn node(&mut self, part: &Part<'_>, node: Node<'_>) {
        match node.kind() {
            "macro_invocation" => self.invocation(part, node),
            // `select! { Shape::Dot = next() => … }`: a pattern without the `let` of a statement.
            "assignment_expression" if part.depth > 0 => {
                let left = node.child_by_field_name("left").map(|left| part.range(left));
                let starts = left.map(|left| self.starts_in(&left)).unwrap_or_default();
                self.unread.extend_from_slice(starts);
            }
            _ => self.found.extend(rust::read(part.text, node).map(|one| moved(one, part))),
        }
    }

    fn starts_in(&self, range: &Range<usize>) -> &'a [usize] {
        let at = |end: usize| self.starts.partition_point(|start| *start < end);
        &self.starts[at(range.start)..at(range.end).max(at(range.start))]
    }

    fn invocation(&mut self, part: &Part<'_>, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("macro").map(|name| part.text.node_text(name)) else { return };
        let Some(tokens) = children(node).into_iter().find(|child| child.kind() == "token_tree") else { return };
        let form = match () {
            () if name.ends_with("assert_matches") => "assert_matches!",
            () if name.ends_with("matches") => "matches!",
            () => return self.tokens(part, tokens, part.depth),
        };
        let inner = inner(part, tokens);
        let mut cursor = tokens.walk();
        let commas = tokens.children(&mut cursor).filter(|token| token.kind() == ",");
        let mut commas = commas.map(|comma| part.range(comma));
        let Some(first) = commas.next() else { return };
        let end = if form == "matches!" { commas.last() } else { commas.next() };
        // A comma within the pattern is inside brackets. `matches!` permits a trailing comma.
        let is_end =
            |comma: &Range<usize>| form != "matches!" || self.text[comma.end..inner.end].trim_ascii().is_empty();
        let end = end.filter(is_end).map_or(inner.end, |comma| comma.start);
        let pattern = first.end..end;
        self.piece(inner.start..first.start, part.depth);
        self.piece(end..inner.end, part.depth);
        let otherwise = match form {
            "matches!" => Otherwise::Absorbs("it is false then"),
            _ => Otherwise::Breaks("run-time failure: the assertion"),
        };
        let bytes = part.range(node);
        self.pattern(pattern, part.depth, |arms| Match { bytes, form, arms, otherwise });
    }

    /// Reads the pattern of `matches!` and its condition.
    fn pattern(&mut self, place: Range<usize>, depth: usize, of: impl FnOnce(Vec<Arm>) -> Match) {
        let mut arms = None;
        let is_read = self.parsed("match x{", place.clone(), "=>1}", depth, |reader, part, node| {
            // The added text is not a match of the file.
            if arms.is_none() && node.kind() == "match_expression" {
                arms = rust::read(part.text, node).map(|one| moved(one, part).arms);
            } else if !matches!(node.kind(), "source_file" | "expression_statement") {
                reader.node(part, node);
            }
        });
        match arms.filter(|_| is_read) {
            Some(arms) => self.found.push(of(arms)),
            None => self.unread.extend_from_slice(self.starts_in(&place)),
        }
    }

    /// Reads the text between commas as an expression, or reports it as unread.
    fn piece(&mut self, place: Range<usize>, depth: usize) {
        // The comma that ends the previous part is skipped.
        let from = place.start + usize::from(self.text[place.clone()].starts_with(b","));
        let place = from..place.end;
        if !self.parsed("(", place.clone(), ");", depth, Reader::node) {
            self.unread.extend_from_slice(self.starts_in(&place));
        }
    }

    /// Reads the tokens of a macro: a list, a block, or pieces between separators.
    fn tokens(&mut self, part: &Part<'_>, tokens: Node<'_>, depth: usize) {
        if self.parsed("", part.range(tokens), ";", depth, Reader::node) {
            return;
        }
        let inner = inner(part, tokens);
        let mut cursor = tokens.walk();
        let (mut from, mut held) = (inner.start, Vec::new());
        for token in tokens.children(&mut cursor) {
            match token.kind() {
                "," | ";" | ":" | "=>" => {
                    let place = part.range(token);
                    self.segment(part, from..place.start, &held, token.kind() == "=>", depth);
                    held.clear();
                    from = place.end;
                }
                _ => held.push(token),
            }
        }
        self.segment(part, from..inner.end, &held, false, depth);
    }

    fn segment(&mut self, part: &Part<'_>, place: Range<usize>, held: &[Node<'_>], is_pattern: bool, depth: usize) {
        // `next(), if is_open => …`: the condition of a branch.
        let condition = held.first().filter(|first| first.kind() == "if").map(|word| part.range(*word).end);
        let is_pattern = is_pattern && condition.is_none();
        let place = condition.unwrap_or(place.start)..place.end;
        if !is_pattern && self.parsed("(", place.clone(), ");", depth, Reader::node) {
            return;
        }
        // Blocks are code in any case, but braces after a name may be the fields of a pattern.
        let mut blocks = Vec::new();
        for (before, token) in std::iter::once(None).chain(held.iter().map(Some)).zip(held) {
            let is_block = token.kind() == "token_tree" && part.text.node_text(*token).starts_with('{');
            let is_after_name = before.is_some_and(|before| before.kind() == "identifier");
            // A block before a pattern is the body of the previous branch.
            if is_block && !is_after_name && (!is_pattern || before.is_none()) {
                self.tokens(part, *token, depth + 1);
                blocks.push(part.range(*token));
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
        mut visit: impl FnMut(&mut Self, &Part<'_>, Node<'_>),
    ) -> bool {
        let starts = self.starts_in(&place);
        if starts.is_empty() {
            return true;
        }
        if depth >= MAX_DEPTH {
            return false;
        }
        let text = [before.as_bytes(), &self.text[place.clone()], after.as_bytes()].concat();
        let Some(tree) = parse(Language::Rust, &text, self.until) else { return false };
        if tree.root_node().has_error() {
            return false;
        }
        let starts: Vec<usize> = starts.iter().map(|start| start - place.start + before.len()).collect();
        let part = Part { text: Text { bytes: &text }, at: place.start, before: before.len(), depth: depth + 1 };
        descend(&mut tree.walk(), &starts, &mut |node| visit(self, &part, node));
        true
    }
}

/// Returns the range within the brackets of tokens, in the file.
fn inner(part: &Part<'_>, tokens: Node<'_>) -> Range<usize> {
    let whole = part.range(tokens);
    whole.start + 1..(whole.end - 1).max(whole.start + 1)
}

/// Converts a match of a part into one of the file.
fn moved(one: Match, part: &Part<'_>) -> Match {
    let arms = one.arms.into_iter().map(|arm| Arm { pattern: moved_pattern(arm.pattern, part), ..arm });
    Match { bytes: part.in_file(one.bytes.start)..part.in_file(one.bytes.end), arms: arms.collect(), ..one }
}

fn moved_pattern(pattern: Pattern, part: &Part<'_>) -> Pattern {
    match pattern {
        Pattern::Any | Pattern::Other => pattern,
        Pattern::Either(all) => Pattern::Either(all.into_iter().map(|one| moved_pattern(one, part)).collect()),
        Pattern::Of { name, qualifier, at, parts } => {
            let parts = parts.into_iter().map(|(label, inner)| (label, moved_pattern(inner, part))).collect();
            Pattern::Of { name, qualifier, at: part.in_file(at), parts }
        }
    }
}
