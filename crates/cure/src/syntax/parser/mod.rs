//! The parser: from tokens to the lossless tree, with every syntax error and local recovery.
//!
//! Owns the machinery (look-ahead, nodes, errors, skipping); the grammar is in the modules below, top-down from
//! [`items`]. A parse never fails: unexpected tokens go into an `Error` node, and the tree still holds every byte.

mod classes;
mod exprs;
mod foreign;
mod fsm;
mod items;
mod keywords;
mod layout;
mod newer_dialect;
mod operators;
mod patterns;
mod records;
#[cfg(test)]
mod tests;
mod types;

use rowan::{Checkpoint, GreenNode, GreenNodeBuilder};

use super::kind::{SyntaxKind as K, SyntaxNode};
use super::lexer::{Token, lex};
use crate::diagnostic::{Code, Diagnostic, Span, code};
use crate::limit::Errors;
use layout::Layout;

/// The maximal size of a text.
pub const MAX_SOURCE: usize = 16 << 20;
/// The maximal nesting of expressions, types and patterns. It allows later stages to recurse over the tree.
pub(crate) const MAX_HEIGHT: u32 = 128;

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Parse {
    green: GreenNode,
    /// Errors in characters and grammar, in source order; at most the first thousand.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parse {
    /// The root of the tree.
    pub fn tree(&self) -> SyntaxNode {
        SyntaxNode::new_root(self.green.clone())
    }
}

/// Parses a text.
pub fn parse(text: &str) -> Parse {
    if text.len() > MAX_SOURCE {
        let message = format!("the text has {} bytes; the compiler takes at most {MAX_SOURCE}", text.len());
        let mut builder = GreenNodeBuilder::new();
        builder.start_node(rowan::SyntaxKind(K::Source as u16));
        builder.finish_node();
        let error = Diagnostic::error(code::TOO_LARGE, Span::new(0, 1), message).hint("split it into modules");
        return Parse { green: builder.finish(), diagnostics: vec![error] };
    }
    let (tokens, errors) = lex(text);
    let (parse, count) = parse_tokens(text, tokens.clone(), errors.clone(), None);
    // Line breaks are not significant, so a missing `end` shows only at the end of the text. The indentation then tells
    // which one was forgotten.
    if parse.diagnostics.iter().any(|error| matches!(error.code, code::MISSING_END | code::STRAY_END)) {
        let (by_layout, fewer) = parse_tokens(text, tokens, errors, Some(Layout::new(text)));
        if fewer <= count {
            return by_layout;
        }
    }
    parse
}

/// The tree and the number of errors.
fn parse_tokens(text: &str, tokens: Vec<Token>, errors: Errors, layout: Option<Layout>) -> (Parse, usize) {
    let mut parser = Parser::new(text, tokens);
    parser.layout = layout;
    parser.source();
    let Parser { errors: found, builder, newer, .. } = parser;
    if let Some(error) = newer {
        return (Parse { green: builder.finish(), diagnostics: vec![error] }, 1);
    }
    let mut errors = errors.with(found);
    if let Some(deep) = parser.too_deep {
        // Skipped tokens may leave brackets open in their line.
        let end = text[deep as usize..].find('\n').map_or(text.len() as u32, |at| deep + at as u32);
        errors.retain(|error| error.code != code::EXPECTED || error.span.start < deep || error.span.start > end);
    }
    let count = errors.count();
    (Parse { green: builder.finish(), diagnostics: errors.in_order() }, count)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// The start of each token, and the end of the text.
    starts: Vec<u32>,
    /// The tokens that are not trivia, as indices.
    significant: Vec<u32>,
    /// The next token, as an index into `significant`.
    at: usize,
    /// The number of tokens in the tree so far.
    emitted: usize,
    builder: GreenNodeBuilder<'static>,
    errors: Errors,
    /// The position of the error about deep nesting.
    too_deep: Option<u32>,
    /// The token of the last error: each token gets at most one error.
    blamed: Option<usize>,
    depth: u32,
    /// Where layout is significant: an `end` left of the line that opened a block does not close it.
    layout: Option<Layout>,
    /// True if the current expression is the body of a clause, after which another clause may begin.
    in_clause: bool,
    /// The keywords that were reported as names: their uses are no further errors.
    misnamed: Vec<K>,
    /// The error about a text in the newer Cure, of which nothing else is said.
    newer: Option<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: Vec<Token>) -> Parser<'a> {
        let mut starts = Vec::with_capacity(tokens.len() + 1);
        let mut significant = Vec::with_capacity(tokens.len());
        let mut start = 0;
        for (index, token) in tokens.iter().enumerate() {
            starts.push(start);
            start += token.len;
            if !token.kind.is_trivia() {
                significant.push(index as u32);
            }
        }
        starts.push(start);
        let builder = GreenNodeBuilder::new();
        Parser {
            text,
            tokens,
            starts,
            significant,
            at: 0,
            emitted: 0,
            builder,
            errors: Errors::default(),
            too_deep: None,
            blamed: None,
            depth: 0,
            layout: None,
            in_clause: false,
            misnamed: Vec::new(),
            newer: None,
        }
    }

    /// The kind of the token `ahead` of the next one.
    fn nth(&self, ahead: usize) -> K {
        self.significant.get(self.at + ahead).map_or(K::Eof, |index| self.tokens[*index as usize].kind)
    }

    fn peek(&self) -> K {
        self.nth(0)
    }

    fn is(&self, kind: K) -> bool {
        self.nth(0) == kind
    }

    /// True if the next token is this contextual keyword.
    fn is_word(&self, word: &str) -> bool {
        self.is(K::Ident) && self.text_of(0) == word
    }

    fn text_of(&self, ahead: usize) -> &'a str {
        let span = self.span_of(ahead);
        &self.text[span.start as usize..span.end as usize]
    }

    /// The position of a token ahead; at the end of the text, the position after the last token.
    fn span_of(&self, ahead: usize) -> Span {
        match self.significant.get(self.at + ahead) {
            Some(index) => Span { start: self.starts[*index as usize], end: self.starts[*index as usize + 1] },
            None => {
                let end = self.significant.last().map_or(0, |index| self.starts[*index as usize + 1]);
                Span { start: end, end }
            }
        }
    }

    /// The position directly after the last token.
    fn end_position(&self) -> Span {
        let Some(last) = self.at.checked_sub(1) else { return Span::default() };
        let end = self.starts[self.significant[last] as usize + 1];
        Span { start: end, end }
    }

    /// True if the token `ahead` is the first of its line.
    fn first_of_line(&self, ahead: usize) -> bool {
        let Some(before) = (self.at + ahead).checked_sub(1) else { return true };
        // Behind the end of the text is nothing that could begin a line.
        let Some(before) = self.significant.get(before) else { return false };
        let start = self.starts[*before as usize + 1] as usize;
        self.text[start..self.span_of(ahead).start as usize].contains('\n')
    }

    /// Where layout is significant: whether the next token begins a line, left of the line that holds `opened` (or at
    /// the same indentation).
    fn is_left_of(&self, opened: Span, or_as_far: bool) -> bool {
        let Some(layout) = self.layout.as_ref().filter(|_| self.first_of_line(0)) else { return false };
        let (here, there) = (layout.indent(self.span_of(0).start), layout.indent(opened.start));
        here < there || (or_as_far && here == there)
    }

    fn trivia(&mut self) {
        let until = self.significant.get(self.at).map_or(self.tokens.len(), |index| *index as usize);
        while self.emitted < until {
            self.emit();
        }
    }

    fn emit(&mut self) {
        let (start, end) = (self.starts[self.emitted] as usize, self.starts[self.emitted + 1] as usize);
        let kind = self.tokens[self.emitted].kind;
        self.builder.token(rowan::SyntaxKind(kind as u16), &self.text[start..end]);
        self.emitted += 1;
    }

    /// Adds the next token to the tree.
    fn bump(&mut self) {
        self.trivia();
        if self.at < self.significant.len() {
            self.emit();
            self.at += 1;
        }
    }

    fn eat(&mut self, kind: K) -> bool {
        let found = self.is(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Consumes the token or reports that it is missing.
    fn expect(&mut self, kind: K) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(kind.describe());
        }
        found
    }

    fn checkpoint(&mut self) -> Checkpoint {
        self.trivia();
        self.builder.checkpoint()
    }

    /// Wraps the result of the closure in a node.
    fn node<T>(&mut self, kind: K, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.trivia();
        self.builder.start_node(rowan::SyntaxKind(kind as u16));
        let value = inside(self);
        self.builder.finish_node();
        value
    }

    /// A node around everything parsed since the checkpoint and by the closure.
    fn node_at<T>(&mut self, checkpoint: Checkpoint, kind: K, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.builder.start_node_at(checkpoint, rowan::SyntaxKind(kind as u16));
        let value = inside(self);
        self.builder.finish_node();
        value
    }

    /// Reports an error and returns it so that hints can be added, unless this token already has one.
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> Option<&mut Diagnostic> {
        if self.blamed == Some(self.at) {
            return None;
        }
        self.blamed = Some(self.at);
        self.errors.push(Diagnostic::error(code, span, message))
    }

    /// Reports that something else was expected at the next token.
    fn expected(&mut self, what: &str) -> Option<&mut Diagnostic> {
        let found = match self.peek() {
            // The lexer has already reported it.
            K::Unknown => {
                self.blamed = Some(self.at);
                return None;
            }
            K::Eof => "the text ends".to_owned(),
            K::Ident | K::Int | K::Float | K::Atom => format!("found `{}`", self.text_of(0)),
            kind => match kind.text() {
                Some(text) => format!("found `{text}`"),
                None => format!("found {}", kind.describe()),
            },
        };
        let what = if what.starts_with("a ") || what.starts_with("an ") || what.starts_with("the ") {
            what.to_owned()
        } else {
            format!("`{what}`")
        };
        // A missing token is reported after the last token, a wrong one at the next token.
        let span = if self.first_of_line(0) || self.is(K::Eof) { self.end_position() } else { self.span_of(0) };
        self.error(code::EXPECTED, span, format!("expected {what}, {found}"))
    }

    /// Skips tokens until the test holds, or until a line, a block or an item ends.
    fn skip_until(&mut self, stop: impl Fn(&Self) -> bool) {
        let mut skipped = false;
        let done = |p: &Self| matches!(p.peek(), K::Eof | K::EndKw) || p.peek().starts_item() || stop(p);
        while !(done(self) || skipped && self.first_of_line(0)) {
            if !skipped {
                self.trivia();
                self.builder.start_node(rowan::SyntaxKind(K::Error as u16));
                skipped = true;
            }
            self.bump();
        }
        if skipped {
            self.builder.finish_node();
        }
    }

    /// Skips one misplaced token.
    fn put_aside(&mut self) {
        self.node(K::Error, |p| p.bump());
    }

    /// A comma-separated list in brackets.
    fn listed(&mut self, open: K, close: K, mut thing: impl FnMut(&mut Self)) {
        let opened = self.span_of(0);
        if !self.expect(open) {
            return;
        }
        loop {
            if self.eat(close) {
                return;
            }
            let ends = matches!(self.peek(), K::Eof | K::EndKw | K::DoKw) || self.peek().starts_item();
            if ends && !self.is_misnamed(0) && !self.names_something(0) {
                break;
            }
            let before = self.at;
            thing(self);
            if self.eat(K::Comma) || self.is(close) {
                continue;
            }
            let divides = close == K::RVector && self.is(K::Pipe);
            if let Some(error) = self.expected(&format!("a `,` or `{}`", close.describe()))
                && divides
            {
                error.hints.push("a vector is taken apart and put together as a list is: `[first | rest]`".to_owned());
            }
            // The next line begins something new, unless the list ends there.
            if self.first_of_line(0) && !self.on_this_line(close) {
                return;
            }
            self.skip_until(|p| matches!(p.peek(), K::Comma | K::Eq | K::DoKw) || p.is(close));
            if !self.eat(K::Comma) && !self.is(close) && (self.at == before || self.first_of_line(0)) {
                break;
            }
            if matches!(self.peek(), K::Eq | K::DoKw) {
                return;
            }
        }
        if let Some(error) = self.expected(close.describe()) {
            error.related.push((opened, "opened here".to_owned()));
        }
    }

    /// True if a token of this kind follows before the end of the next token's line, within the look-ahead limit.
    fn on_this_line(&self, kind: K) -> bool {
        const FAR: usize = 1_000;
        for ahead in 0..FAR {
            match self.nth(ahead) {
                K::Eof => return false,
                found if found == kind => return true,
                _ if self.first_of_line(ahead + 1) => return false,
                _ => {}
            }
        }
        false
    }

    /// Runs the closure one level deeper, or reports excessive nesting and skips the rest of the line.
    fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> u32) -> u32 {
        if self.depth >= MAX_HEIGHT {
            self.too_deep();
            self.put_aside();
            return 1;
        }
        self.depth += 1;
        let height = inside(self) + 1;
        self.depth -= 1;
        height
    }

    fn too_deep(&mut self) {
        if self.too_deep.is_some() {
            return;
        }
        let message = format!("nested more than {MAX_HEIGHT} deep");
        let span = self.span_of(0);
        self.too_deep = Some(span.start);
        self.errors.push(Diagnostic::error(code::TOO_DEEP, span, message).hint("name the parts with `let`"));
    }
}
