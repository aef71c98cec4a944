//! Parses types.

use super::Parser;
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// `A | B => C`
    pub(super) fn type_expr(&mut self) {
        self.deeper(|p| {
            let start = p.checkpoint();
            p.type_primary();
            if p.is(K::Pipe) {
                p.node_at(start, K::TyUnion, |p| {
                    while p.eat(K::Pipe) {
                        p.type_primary();
                    }
                });
            }
            if p.is(K::FatArrow) {
                p.node_at(start, K::TyArrow, |p| {
                    p.bump();
                    p.type_expr();
                });
            }
            0
        });
    }

    fn type_primary(&mut self) {
        match self.peek() {
            K::Ident => self.node(K::TyName, |p| {
                p.bump();
                while p.is(K::Dot) && p.nth(1) == K::Ident {
                    p.bump();
                    p.bump();
                }
                // On the next line it begins something else.
                if p.is(K::LParen) && !p.first_of_line(0) {
                    p.type_args();
                }
            }),
            K::FnKw => self.node(K::TyFn, |p| {
                p.bump();
                p.listed(K::LParen, K::RParen, |p| p.type_expr());
                p.expect(K::Arrow);
                p.type_expr();
            }),
            K::LParen => self.node(K::TyParen, |p| {
                p.bump();
                p.type_expr();
                if p.is(K::Comma) {
                    if let Some(error) = p.expected(")") {
                        error
                            .hints
                            .push("a function of two arguments is `fn(A, B) -> C`; a pair is `{A, B}`".to_owned());
                    }
                    p.skip_until(|p| p.is(K::RParen));
                }
                p.expect(K::RParen);
            }),
            K::LBrace if self.nth(1) == K::Ident && self.nth(2) == K::Colon => self.node(K::TyRefined, |p| {
                p.bump();
                p.bump();
                p.bump();
                p.type_primary();
                p.expect(K::Pipe);
                p.operators();
                p.expect(K::RBrace);
            }),
            K::LBrace => self.node(K::TyTuple, |p| p.listed(K::LBrace, K::RBrace, |p| p.type_expr())),
            _ => {
                self.expected("a type");
            }
        }
    }

    /// `(Int, n + 1)`
    pub(super) fn type_args(&mut self) {
        self.node(K::TyArgs, |p| {
            p.listed(K::LParen, K::RParen, |p| {
                if p.starts_length() {
                    p.node(K::TyLen, |p| p.operators());
                } else {
                    let start = p.checkpoint();
                    p.type_expr();
                    // The bound of a type's parameter: `type Vec(T, n: Nat) = …`.
                    if p.is(K::Colon) {
                        p.node_at(start, K::TypeParam, |p| {
                            p.bump();
                            p.type_expr();
                        });
                    }
                }
            });
        });
    }

    /// True if a type's argument is a number: a literal or arithmetic over names.
    fn starts_length(&self) -> bool {
        let operator = |ahead| matches!(self.nth(ahead), K::Plus | K::Minus | K::Star | K::Slash | K::Percent);
        match self.peek() {
            K::Int | K::Float | K::Minus => true,
            K::Ident => operator(1),
            K::LParen => matches!(self.nth(1), K::Int | K::LParen) || (self.nth(1) == K::Ident && operator(2)),
            _ => false,
        }
    }
}
