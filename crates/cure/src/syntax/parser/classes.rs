//! Parses classes and instances, in both notations.

use super::Parser;
use crate::diagnostic::Span;
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    pub(super) fn class(&mut self) {
        self.node(K::Class, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.applied_name();
            p.class_body("typeclass", opened);
        });
    }

    /// What follows the head of a class or an instance: its context, and its methods up to `end`.
    fn class_body(&mut self, what: &str, opened: Span) {
        self.class_context();
        self.expect(K::DoKw);
        self.methods(K::EndKw);
        self.end_of(what, opened);
    }

    fn class_context(&mut self) {
        if self.is(K::WhenKw) || self.is(K::WhereKw) {
            self.where_clause();
        }
    }

    fn methods(&mut self, close: K) {
        loop {
            match self.peek() {
                K::DefKw => self.node(K::Method, |p| {
                    p.bump();
                    p.name(true);
                    p.type_params();
                    p.params();
                    p.result_type();
                    p.class_context();
                    if p.eat(K::Eq) {
                        p.body();
                    }
                }),
                K::TypeKw => self.node(K::AssocType, |p| {
                    p.bump();
                    p.expect(K::Ident);
                    if p.eat(K::Colon) {
                        p.bounds();
                    }
                    if p.eat(K::Eq) {
                        p.type_expr();
                    }
                }),
                kind if kind == close || matches!(kind, K::Eof | K::EndKw) || kind.starts_item() => return,
                _ => {
                    self.expected("a method `def name(…): Type`");
                    let before = self.at;
                    self.skip_until(|p| p.is(close));
                    if self.at == before {
                        return;
                    }
                }
            }
        }
    }

    pub(super) fn instance(&mut self) {
        self.node(K::Instance, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.constraint();
            p.class_body("instance", opened);
        });
    }

    pub(super) fn trait_def(&mut self) {
        self.node(K::Trait, |p| {
            p.bump();
            p.expect(K::Ident);
            p.type_params();
            if p.eat(K::Colon) {
                p.bounds();
            }
            p.expect(K::LBrace);
            p.methods(K::RBrace);
            p.expect(K::RBrace);
        });
    }

    pub(super) fn impl_def(&mut self) {
        self.node(K::Impl, |p| {
            p.bump();
            p.type_params();
            p.expect(K::Ident);
            if p.is_word("for") {
                p.bump();
            } else {
                p.expected("for");
            }
            p.type_expr();
            p.class_context();
            p.expect(K::LBrace);
            p.methods(K::RBrace);
            p.expect(K::RBrace);
        });
    }
}
