//! Recognizes syntax of other languages and of earlier versions of Cure, and parses it with its intended meaning, so
//! that one mistake is one error.

use super::Parser;
use crate::diagnostic::{Fix, code};
use crate::syntax::kind::SyntaxKind as K;

/// The maximal number of tokens in a line that are searched for a foreign form.
const LOOK: usize = 64;

impl Parser<'_> {
    /// Whether `case … of` begins here.
    pub(super) fn at_foreign_case(&self) -> bool {
        let here = (1..LOOK).take_while(|ahead| !self.first_of_line(*ahead) && self.nth(*ahead) != K::Eof);
        self.is_word("case") && here.into_iter().any(|ahead| self.nth(ahead) == K::Ident && self.text_of(ahead) == "of")
    }

    /// `case n of … end`, which is a match.
    pub(super) fn foreign_case(&mut self) -> u32 {
        self.node(K::MatchExpr, |p| {
            let opened = p.span_of(0);
            if let Some(error) = p.error(code::FOREIGN, opened, "there is no `case … of`") {
                error.hints.push("write `match n do … end`".to_owned());
            }
            p.put_aside();
            let height = p.deeper(|p| p.expr());
            if p.is_word("of") {
                p.put_aside();
            }
            p.clauses(opened, height)
        })
    }

    /// Whether an `if` is written like a function call: `if(x, 1, 2)`.
    pub(super) fn at_foreign_if(&self) -> bool {
        let mut open = 0;
        for ahead in 1..LOOK {
            match self.nth(ahead) {
                K::LParen | K::LBracket | K::LBrace | K::LVector => open += 1,
                K::RParen | K::RBracket | K::RBrace | K::RVector => open -= 1,
                K::Comma if open == 1 && self.is_call(ahead) => return true,
                K::Eof => return false,
                _ => {}
            }
            if open <= 0 {
                return false;
            }
        }
        false
    }

    /// Whether the parenthesis opened after `if` closes before a token that cannot continue a condition.
    fn is_call(&self, from: usize) -> bool {
        let mut open = 1;
        for ahead in from..from + LOOK {
            match self.nth(ahead) {
                K::LParen | K::LBracket | K::LBrace | K::LVector => open += 1,
                K::RParen | K::RBracket | K::RBrace | K::RVector => open -= 1,
                K::Eof => return false,
                _ => {}
            }
            if open == 0 {
                let next = self.nth(ahead + 1);
                return next != K::ThenKw && next != K::Dot && next.binding().is_none();
            }
        }
        false
    }

    pub(super) fn foreign_if(&mut self) -> u32 {
        let span = self.span_of(0);
        if let Some(error) = self.error(code::FOREIGN, span, "`if` is not called like a function") {
            error.hints.push("a choice is `if condition then a else b`, without `end`".to_owned());
        }
        self.put_aside();
        self.args()
    }

    /// `||` instead of `or`.
    pub(super) fn foreign_or(&mut self) -> bool {
        let (one, two) = (self.span_of(0), self.span_of(1));
        if !(self.is(K::Pipe) && self.nth(1) == K::Pipe && one.end == two.start) {
            return false;
        }
        let span = one.to(two);
        if let Some(error) = self.error(code::FOREIGN, span, "`||` has no meaning here") {
            error.hints.push("write `or`".to_owned());
            error.fix = Some(Fix { title: "write `or`".to_owned(), span, replacement: "or".to_owned() });
        }
        self.node(K::Error, |p| {
            p.bump();
            p.bump();
        });
        self.deeper(|p| p.operators());
        true
    }

    /// Clauses of a function after its name, marked with `|`.
    pub(super) fn foreign_clauses(&mut self) -> bool {
        if !self.is(K::Pipe) {
            return false;
        }
        let span = self.span_of(0);
        if let Some(error) = self.error(code::FOREIGN, span, "the clauses of a function are not marked with `|`") {
            let hint = "write a `def` for each: `def f(x: Int): Int when x > 0 = …`, then `def f(x: Int): Int = …`";
            error.hints.push(hint.to_owned());
        }
        self.node(K::Error, |p| {
            while !matches!(p.peek(), K::Eof | K::EndKw) && !p.peek().starts_item() {
                p.bump();
            }
        });
        true
    }
}
