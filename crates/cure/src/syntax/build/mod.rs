//! Builds the abstract syntax from the lossless tree. A tree with errors gives a partial result, with `Missing` in the
//! gaps.

pub(crate) mod exprs;
mod items;
pub(super) mod literals;

use rowan::NodeOrToken;

use super::ast::{Ident, Module, Name};
use super::kind::{SyntaxKind as K, SyntaxNode, SyntaxToken};
use crate::diagnostic::Span;

/// The modules of a text.
pub fn modules(tree: &SyntaxNode) -> Vec<Module> {
    tree.children().filter(|node| node.kind() == K::Module).map(|node| items::module(&node)).collect()
}

fn span(node: &SyntaxNode) -> Span {
    let range = node.text_range();
    Span { start: range.start().into(), end: range.end().into() }
}

fn token_span(token: &SyntaxToken) -> Span {
    let range = token.text_range();
    Span { start: range.start().into(), end: range.end().into() }
}

fn ident(token: &SyntaxToken) -> Ident {
    Ident { name: Name::from(token.text()), span: token_span(token) }
}

/// The direct tokens of a node, without white space.
fn tokens(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> {
    node.children_with_tokens().filter_map(NodeOrToken::into_token).filter(|token| !token.kind().is_trivia())
}

fn token(node: &SyntaxNode, kind: K) -> Option<SyntaxToken> {
    tokens(node).find(|token| token.kind() == kind)
}

fn child(node: &SyntaxNode, kind: K) -> Option<SyntaxNode> {
    node.children().find(|child| child.kind() == kind)
}

fn children(node: &SyntaxNode, kind: K) -> impl Iterator<Item = SyntaxNode> {
    node.children().filter(move |child| child.kind() == kind)
}

/// The first name of a node; empty if it is missing.
fn first_ident(node: &SyntaxNode) -> Ident {
    token(node, K::Ident).map_or_else(|| missing(node), |token| ident(&token))
}

fn missing(node: &SyntaxNode) -> Ident {
    let start = span(node).start;
    Ident { name: Name::from(""), span: Span { start, end: start } }
}
