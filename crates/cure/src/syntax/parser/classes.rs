//! Parses classes and instances, in both notations.

use super::Parser;
use crate::diagnostic::{Span, code};
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

    /// Parses the rest of a class or an instance after its head: its context, and its methods up to `end`.
    fn class_body(&mut self, what: &str, opened: Span) {
        self.class_context();
        if self.is(K::LBrace) {
            if let Some(error) = self.expected(K::DoKw.describe()) {
                error.hints.push(format!("the methods of `{what}` stand between `do` and `end`"));
            }
            self.bump();
            self.methods(K::RBrace);
            self.expect(K::RBrace);
            return;
        }
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
                    let when = p.span_of(0);
                    let is_when = p.is(K::WhenKw);
                    if !(is_when && p.nth(1) != K::Ident) {
                        p.class_context();
                    }
                    if is_when && !(p.is(K::Eq) || p.is(close) || matches!(p.peek(), K::DefKw | K::TypeKw)) {
                        p.guarded_method(when);
                    }
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

    /// Where a method has a guard, as functions have, says so once.
    fn guarded_method(&mut self, when: Span) {
        let message = "a method has no guard: whoever calls it knows the class alone";
        if let Some(error) = self.error(code::EXPECTED, when, message) {
            let hint =
                "say it in the class, as the type of the parameter: `by: {n: Int | n != 0}`; or test it in the body";
            error.hints.push(hint.to_owned());
        }
        self.skip_until(|p| p.is(K::Eq));
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
            let opened = p.span_of(0);
            p.bump();
            p.expect(K::Ident);
            p.type_params();
            if p.eat(K::Colon) {
                p.bounds();
            }
            p.braces("a trait", "trait X { def name(self): String }", opened);
        });
    }

    /// The methods of a trait or an `impl`, in braces. Who writes `do … end`, as everywhere else, is told once.
    fn braces(&mut self, what: &str, form: &str, opened: Span) {
        let found = self.peek();
        if !self.eat(K::LBrace)
            && let Some(error) = self.expected(K::LBrace.describe())
        {
            error.hints.push(match found {
                K::LParen => "a trait is over `Self`; a class over `T` is `typeclass X(T) do … end`".to_owned(),
                _ => format!("the methods of {what} stand in braces: `{form}`"),
            });
        }
        if found == K::LParen {
            self.skip_until(|p| matches!(p.peek(), K::LBrace | K::DoKw));
            self.eat(K::LBrace);
        }
        if self.eat(K::DoKw) {
            self.methods(K::EndKw);
            self.end_of(form.split(' ').next().unwrap_or(what), opened);
            return;
        }
        self.methods(K::RBrace);
        self.expect(K::RBrace);
    }

    pub(super) fn impl_def(&mut self) {
        self.node(K::Impl, |p| {
            let opened = p.span_of(0);
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
            p.braces("an `impl`", "impl X for T { def name(self): String = … }", opened);
        });
    }
}
