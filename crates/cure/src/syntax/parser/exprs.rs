//! Parses expressions and bodies. Each function returns the height of its tree; `operators.rs` has the operators between
//! values.

use rowan::Checkpoint;

use super::{MAX_HEIGHT, Parser};
use crate::diagnostic::{Fix, Span, code};
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// Statements until the block ends.
    pub(super) fn body(&mut self) -> u32 {
        self.node(K::Body, |p| p.statements())
    }

    fn statements(&mut self) -> u32 {
        if self.at_block_end() {
            self.expected("an expression");
            return 1;
        }
        let mut height = 0;
        while !self.at_block_end() {
            let before = self.at;
            if self.first_of_line(0) && self.foreign_language(false) {
                break;
            }
            if self.is(K::LetKw) {
                height = height.max(self.let_stmt());
            } else {
                height = height.max(self.operators());
            }
            if self.at == before {
                self.expected("an expression");
                self.skip_until(|_| false);
                if self.at == before {
                    break;
                }
            }
            self.eat(K::Comma);
        }
        height + 1
    }

    fn at_block_end(&self) -> bool {
        let ends = matches!(self.peek(), K::Eof | K::EndKw | K::ElseKw | K::RBrace) || self.peek().starts_item();
        ends && !self.is_misnamed(0)
    }

    fn let_stmt(&mut self) -> u32 {
        self.node(K::LetStmt, |p| {
            p.bump();
            p.pattern();
            if p.eat(K::Colon) {
                p.type_expr();
            }
            p.expect(K::Eq);
            let height = p.deeper(|p| p.expr());
            p.eat(K::InKw);
            height
        })
    }

    /// An expression; preceded by `let`s, it becomes a block.
    pub(super) fn expr(&mut self) -> u32 {
        if !self.is(K::LetKw) {
            return self.operators();
        }
        self.node(K::BlockExpr, |p| {
            let mut height = 0;
            while p.is(K::LetKw) {
                height = height.max(p.let_stmt());
                p.eat(K::Comma);
            }
            height.max(p.operators()) + 1
        })
    }

    /// A value with calls and fields behind it.
    pub(super) fn postfix(&mut self) -> u32 {
        let start = self.checkpoint();
        let height = self.operand();
        if self.at_foreign_call() { height.max(self.foreign_call(start)) } else { height }
    }

    pub(super) fn operand(&mut self) -> u32 {
        let start = self.checkpoint();
        let mut height = self.primary();
        loop {
            if height >= MAX_HEIGHT {
                self.too_deep();
                return height;
            }
            match self.peek() {
                K::Dot if self.nth(1) == K::Ident => {
                    self.node_at(start, K::FieldExpr, |p| {
                        p.bump();
                        p.bump();
                    });
                    if self.is(K::LParen) && !self.first_of_line(0) {
                        height = height.max(self.call(start));
                    }
                }
                K::Dot if self.nth(1).is_keyword() && !self.first_of_line(1) => {
                    self.put_aside();
                    self.misname();
                }
                K::LParen if self.is_called_result() => height = height.max(self.call(start)),
                _ => return height,
            }
            height += 1;
        }
    }

    /// `f(x)(y)` calls the result of `f(x)`; a parenthesis on the next line begins a new expression.
    fn is_called_result(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| self.tokens[self.significant[at] as usize].kind);
        before == Some(K::RParen) && !self.first_of_line(0)
    }

    fn call(&mut self, start: Checkpoint) -> u32 {
        self.node_at(start, K::CallExpr, |p| p.args())
    }

    pub(super) fn args(&mut self) -> u32 {
        let mut height = 0;
        self.node(K::Args, |p| {
            p.listed(K::LParen, K::RParen, |p| {
                let arg = p.deeper(|p| p.expr());
                height = height.max(arg);
            });
        });
        height
    }

    fn many(&mut self, kind: K, open: K, close: K) -> u32 {
        let mut height = 0;
        self.node(kind, |p| {
            p.listed(open, close, |p| {
                let one = p.deeper(|p| p.expr());
                height = height.max(one);
            });
        });
        height
    }

    fn primary(&mut self) -> u32 {
        match self.peek() {
            _ if self.is_misnamed(0) => {
                self.put_aside();
                if self.is(K::LParen) && !self.first_of_line(0) { self.args() } else { 1 }
            }
            K::Int | K::Float | K::Str | K::Charlist | K::Atom | K::QuotedAtom | K::TrueKw | K::FalseKw => {
                self.node(K::Literal, |p| p.bump());
                1
            }
            K::StrOpen => self.interpolation(),
            K::LParen if self.nth(1) == K::RParen => {
                self.node(K::UnitExpr, |p| {
                    p.bump();
                    p.bump();
                });
                1
            }
            K::LParen => self.node(K::ParenExpr, |p| {
                let opened = p.span_of(0);
                p.bump();
                let height = p.deeper(|p| p.expr());
                if !p.eat(K::RParen) {
                    if let Some(error) = p.expected(")") {
                        error.related.push((opened, "opened here".to_owned()));
                    }
                    p.skip_until(|p| p.is(K::RParen));
                    p.eat(K::RParen);
                }
                height
            }),
            K::LBracket => self.list(),
            K::LVector => self.many(K::VectorExpr, K::LVector, K::RVector),
            K::LBrace => self.many(K::TupleExpr, K::LBrace, K::RBrace),
            K::FnKw => self.lambda(),
            K::MatchKw => self.match_expr(),
            K::IfKw if self.at_foreign_if() => self.foreign_if(),
            K::IfKw => self.if_expr(),
            K::Ident if self.at_foreign_case() => self.foreign_case(),
            K::LetKw => self.deeper(|p| p.expr()),
            K::Ident if self.nth(1) == K::LBrace && self.is_record_literal() => self.record_literal(),
            K::Ident => {
                let start = self.checkpoint();
                self.node(K::NameExpr, |p| p.bump());
                if self.is(K::LParen) && !self.first_of_line(0) { self.call(start) } else { 1 }
            }
            K::SendKw | K::SpawnKw | K::ReceiveKw | K::ProcessKw => {
                let (span, word) = (self.span_of(0), self.text_of(0));
                if let Some(error) =
                    self.error(code::FOREIGN, span, format!("`{word}` is a reserved word without a meaning yet"))
                {
                    error
                        .hints
                        .push("send to a named process with `message |-> :name`; run machines with Std.Fsm".to_owned());
                }
                self.put_aside();
                if self.is(K::LParen) {
                    return self.args();
                }
                1
            }
            _ => {
                self.expected("an expression");
                let stops = matches!(
                    self.peek(),
                    K::Eof
                        | K::EndKw
                        | K::RParen
                        | K::RBracket
                        | K::RBrace
                        | K::RVector
                        | K::Comma
                        | K::Arrow
                        | K::DoKw
                        | K::ThenKw
                        | K::ElseKw
                        | K::WhenKw
                        | K::Eq
                        | K::Pipe
                        | K::StrMid
                        | K::StrClose
                        | K::InKw
                );
                if !stops && !self.peek().starts_item() && !self.first_of_line(0) {
                    self.put_aside();
                }
                1
            }
        }
    }

    fn interpolation(&mut self) -> u32 {
        self.node(K::Interpolation, |p| {
            let mut height = 0;
            p.bump();
            loop {
                let part = p.deeper(|p| p.expr());
                height = height.max(part);
                match p.peek() {
                    K::StrMid => p.bump(),
                    K::StrClose => {
                        p.bump();
                        return height;
                    }
                    _ => {
                        p.expected("a `}` that closes the interpolation");
                        p.skip_until(|p| matches!(p.peek(), K::StrMid | K::StrClose));
                        if !matches!(p.peek(), K::StrMid | K::StrClose) {
                            return height;
                        }
                    }
                }
            }
        })
    }

    fn list(&mut self) -> u32 {
        self.node(K::ListExpr, |p| {
            let opened = p.span_of(0);
            let mut height = 0;
            p.bump();
            while !matches!(p.peek(), K::RBracket | K::Pipe | K::Eof | K::EndKw) && !p.peek().starts_item() {
                let before = p.at;
                let one = p.deeper(|p| p.expr());
                height = height.max(one);
                if !p.eat(K::Comma) || p.at == before {
                    break;
                }
            }
            if p.eat(K::Pipe) {
                let rest = p.deeper(|p| p.expr());
                height = height.max(rest);
            }
            if !p.eat(K::RBracket) {
                if let Some(error) = p.expected("a `,` or `]`") {
                    error.related.push((opened, "opened here".to_owned()));
                }
                p.skip_until(|p| p.is(K::RBracket));
                p.eat(K::RBracket);
            }
            height
        })
    }

    fn lambda(&mut self) -> u32 {
        self.node(K::LambdaExpr, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.node(K::Params, |p| {
                p.listed(K::LParen, K::RParen, |p| {
                    p.node(K::Param, |p| {
                        let opens = matches!(p.peek(), K::LBrace | K::LBracket | K::LVector);
                        if opens || (p.is(K::Ident) && matches!(p.nth(1), K::LParen | K::LBrace)) {
                            p.pattern();
                        } else {
                            p.defined();
                        }
                        if p.eat(K::Colon) {
                            p.type_expr();
                        }
                    });
                });
            });
            p.expect(K::Arrow);
            let height = p.deeper(|p| p.body());
            p.end_of("fn", opened);
            height
        })
    }

    fn match_expr(&mut self) -> u32 {
        self.node(K::MatchExpr, |p| {
            let opened = p.span_of(0);
            p.bump();
            let height = p.deeper(|p| p.expr());
            if !p.eat(K::DoKw) {
                p.expected("do");
                p.skip_until(|p| p.is(K::DoKw));
                p.eat(K::DoKw);
            }
            p.clauses(opened, height)
        })
    }

    /// Clauses, and the `end` of their match.
    pub(super) fn clauses(&mut self, opened: Span, mut height: u32) -> u32 {
        while !matches!(self.peek(), K::Eof | K::EndKw) && !self.peek().starts_item() {
            let before = self.at;
            let clause = self.clause();
            height = height.max(clause);
            if self.at == before {
                break;
            }
        }
        self.end_of("match", opened);
        height
    }

    fn clause(&mut self) -> u32 {
        if !self.starts_pattern() {
            self.expected("a clause `pattern -> expression`, or `end`");
            self.skip_until(|_| false);
            return 1;
        }
        let outside = self.in_clause;
        let height = self.node(K::Clause, |p| {
            p.eat(K::Pipe);
            let pattern = p.span_of(0);
            p.pattern();
            let pattern = pattern.to(p.end_position());
            if p.is(K::WhenKw) {
                p.in_clause = false;
                p.guard();
            }
            if !p.is(K::Arrow) {
                let (found, next_line) = (p.span_of(0), p.first_of_line(0));
                let arrow = p.is(K::FatArrow) || p.is(K::Eq) || p.is(K::Colon);
                let said = if next_line {
                    p.error(code::EXPECTED, pattern, "this is read as the pattern of a clause, but no `->` follows")
                } else {
                    p.expected("->")
                };
                if let Some(error) = said {
                    error.hints.push(
                        "a clause is `pattern -> expression` with one expression; several need `let` before the last"
                            .to_owned(),
                    );
                    if arrow && !next_line {
                        let title = "write `->`".to_owned();
                        error.fix = Some(Fix { title, span: found, replacement: "->".to_owned() });
                    }
                }
                if arrow && !next_line {
                    p.put_aside();
                    return p.deeper(|p| p.expr());
                }
                if next_line && p.starts_pattern() {
                    return 1;
                }
                p.skip_until(|p| p.is(K::Arrow));
            }
            p.in_clause = true;
            if p.eat(K::Arrow) { p.deeper(|p| p.expr()) } else { 1 }
        });
        self.in_clause = outside;
        height
    }

    fn if_expr(&mut self) -> u32 {
        self.node(K::IfExpr, |p| {
            p.bump();
            let condition = p.deeper(|p| p.expr());
            if !p.eat(K::ThenKw) {
                if let Some(error) = p.expected("then") {
                    error.hints.push("a choice is `if condition then a else b`, without `end`".to_owned());
                }
                p.skip_until(|p| p.is(K::ThenKw));
                if !p.eat(K::ThenKw) {
                    return 1;
                }
            }
            let first = p.deeper(|p| p.expr());
            if !p.eat(K::ElseKw) {
                if let Some(error) = p.expected("else") {
                    error.hints.push("every `if` has an `else`".to_owned());
                }
                return 1;
            }
            let second = p.deeper(|p| p.expr());
            condition.max(first).max(second)
        })
    }
}
