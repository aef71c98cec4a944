//! Parses record construction and update.

use super::Parser;
use crate::diagnostic::{Fix, code};
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// `P{a: 1}` and `P{p | a: 1}` are records; `x {1, 2}` is a name and, as the next statement, a tuple.
    pub(super) fn is_record_literal(&self) -> bool {
        let record = match self.nth(2) {
            K::RBrace => !self.first_of_line(1),
            K::Ident => matches!(self.nth(3), K::Colon | K::Pipe) || (self.nth(3) == K::Atom && !self.first_of_line(1)),
            _ => false,
        };
        record || self.is_update()
    }

    /// True if these braces contain a bar outside nested braces. A tuple contains none.
    fn is_update(&self) -> bool {
        const FAR: usize = 200;
        let mut depth = 0;
        for ahead in 2..FAR {
            match self.nth(ahead) {
                K::Pipe if depth == 0 => {
                    return self.nth(ahead + 1) == K::Ident && matches!(self.nth(ahead + 2), K::Colon | K::Atom);
                }
                K::LParen | K::LBracket | K::LBrace | K::LVector | K::StrOpen | K::FnKw | K::DoKw => depth += 1,
                K::RParen | K::RBracket | K::RBrace | K::RVector | K::StrClose | K::EndKw if depth > 0 => depth -= 1,
                K::RParen | K::RBracket | K::RBrace | K::RVector | K::EndKw | K::Eof => return false,
                K::Arrow | K::Eq | K::Semicolon if depth == 0 => return false,
                kind if kind.starts_item() => return false,
                _ => {}
            }
        }
        false
    }

    pub(super) fn record_literal(&mut self) -> u32 {
        let kind = if self.is_update() { K::UpdateExpr } else { K::RecordExpr };
        let mut height = 0;
        self.node(kind, |p| {
            p.bump();
            if kind == K::UpdateExpr {
                p.bump();
                height = p.deeper(|p| p.expr());
                p.expect(K::Pipe);
                loop {
                    height = height.max(p.field_init());
                    if !p.eat(K::Comma) {
                        break;
                    }
                }
                p.expect(K::RBrace);
            } else {
                p.listed(K::LBrace, K::RBrace, |p| height = height.max(p.field_init()));
            }
        });
        height
    }

    fn field_init(&mut self) -> u32 {
        self.node(K::FieldInit, |p| {
            p.expect(K::Ident);
            if p.is(K::Atom) {
                let (span, text) = (p.span_of(0), p.text_of(0));
                let spaced = format!(": {}", &text[1..]);
                if let Some(error) = p.error(
                    code::EXPECTED,
                    span,
                    format!("`{text}` is an atom; a field needs a space behind the colon"),
                ) {
                    error.hints.push(format!("write `{spaced}`"));
                    error.fix = Some(Fix { title: "put a space".to_owned(), span, replacement: spaced });
                }
                p.put_aside();
                return 1;
            }
            if !p.expect(K::Colon) {
                return 1;
            }
            p.deeper(|p| p.expr())
        })
    }
}
