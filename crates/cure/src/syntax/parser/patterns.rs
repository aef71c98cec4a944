//! Parses patterns.

use super::Parser;
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// True if a pattern can begin here.
    pub(super) fn starts_pattern(&self) -> bool {
        matches!(
            self.peek(),
            K::Ident
                | K::Int
                | K::Float
                | K::Str
                | K::Atom
                | K::QuotedAtom
                | K::TrueKw
                | K::FalseKw
                | K::LBracket
                | K::LVector
                | K::LBrace
                | K::LParen
                | K::Minus
                | K::Charlist
        )
    }

    pub(super) fn pattern(&mut self) {
        self.deeper(|p| {
            p.pattern_here();
            0
        });
    }

    fn pattern_here(&mut self) {
        match self.peek() {
            K::Atom | K::QuotedAtom if self.nth(1) == K::LParen && !self.first_of_line(1) => self.foreign_pattern(),
            K::Int | K::Float | K::Str | K::Atom | K::QuotedAtom | K::TrueKw | K::FalseKw | K::Charlist => {
                self.node(K::PatLiteral, |p| p.bump());
            }
            K::Minus => self.node(K::PatLiteral, |p| {
                p.bump();
                if !matches!(p.peek(), K::Int | K::Float) {
                    p.expected("a number");
                    return;
                }
                p.bump();
            }),
            K::LBracket => self.list_pattern(),
            K::LVector => self.node(K::PatList, |p| p.listed(K::LVector, K::RVector, |p| p.pattern())),
            K::LBrace => self.node(K::PatTuple, |p| p.listed(K::LBrace, K::RBrace, |p| p.pattern())),
            K::LParen if self.nth(1) == K::RParen => self.node(K::PatLiteral, |p| {
                p.bump();
                p.bump();
            }),
            K::LParen => self.node(K::TyParen, |p| {
                p.bump();
                p.pattern();
                p.expect(K::RParen);
            }),
            K::Ident => match self.nth(1) {
                K::LParen => self.node(K::PatCtor, |p| {
                    p.bump();
                    p.listed(K::LParen, K::RParen, |p| p.pattern());
                }),
                K::LBrace => self.node(K::PatRecord, |p| {
                    p.bump();
                    p.listed(K::LBrace, K::RBrace, |p| {
                        p.node(K::PatField, |p| {
                            p.expect(K::Ident);
                            if p.expect(K::Colon) {
                                p.pattern();
                            }
                        });
                    });
                }),
                _ => self.node(K::PatName, |p| p.bump()),
            },
            _ if self.keyword_as_name() => {}
            _ => {
                self.expected("a pattern");
            }
        }
    }

    fn list_pattern(&mut self) {
        self.node(K::PatList, |p| {
            let opened = p.span_of(0);
            p.bump();
            while !matches!(p.peek(), K::RBracket | K::Pipe | K::Eof | K::EndKw | K::Arrow) || p.names_something(0) {
                p.pattern();
                if !p.eat(K::Comma) {
                    break;
                }
            }
            if p.eat(K::Pipe) {
                p.pattern();
            }
            if !p.is(K::RBracket)
                && let Some(error) = p.expected("]")
            {
                error.related.push((opened, "opened here".to_owned()));
            }
            p.eat(K::RBracket);
        });
    }

    /// True if `-1 ->` begins the next clause of a match, and does not subtract from this one's body.
    pub(super) fn next_clause(&self) -> bool {
        self.in_clause
            && self.is(K::Minus)
            && matches!(self.nth(1), K::Int | K::Float)
            && matches!(self.nth(2), K::Arrow | K::WhenKw)
    }
}
