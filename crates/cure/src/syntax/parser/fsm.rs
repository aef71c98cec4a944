//! Parses state machines, in both forms.

use super::Parser;
use crate::diagnostic::{Fix, code};
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    pub(super) fn fsm(&mut self) {
        self.node(K::Fsm, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.expect(K::Ident);
            if p.is(K::LBrace) {
                p.node(K::Payload, |p| {
                    p.listed(K::LBrace, K::RBrace, |p| {
                        p.node(K::PayloadField, |p| {
                            p.expect(K::Ident);
                            if p.expect(K::Colon) {
                                p.operators();
                            }
                        });
                    });
                });
            }
            p.expect(K::DoKw);
            while !matches!(p.peek(), K::Eof | K::EndKw) && !p.peek().starts_item() {
                let before = p.at;
                p.machine_line();
                if p.at == before {
                    break;
                }
            }
            p.end_of("fsm", opened);
        });
    }

    fn machine_line(&mut self) {
        let colon = self.nth(1) == K::Colon;
        match self.peek() {
            K::Ident if colon && self.is_word("states") => self.state_list(K::States),
            K::Ident if colon && self.is_word("terminal") => self.state_list(K::Terminal),
            K::Ident if colon && self.is_word("initial") => self.node(K::Initial, |p| {
                p.bump();
                p.bump();
                if p.is(K::Atom) {
                    p.atom_for_state();
                } else {
                    p.expect(K::Ident);
                }
            }),
            K::Ident if self.nth(1) == K::Ident && self.is_word("state") => self.state(),
            K::Ident if self.nth(1) == K::LongArrow => self.edge(),
            _ => {
                if self.is(K::Atom) {
                    self.atom_for_state();
                } else {
                    self.expected(
                        "a line of a machine: `states: […]`, `initial: A`, `state A do … end` or `A --> |event| B`",
                    );
                }
                self.skip_until(|_| false);
            }
        }
    }

    fn atom_for_state(&mut self) {
        let (span, text) = (self.span_of(0), self.text_of(0));
        if let Some(error) =
            self.error(code::EXPECTED, span, format!("`{text}` is an atom; states are written as names"))
        {
            let bare = &text[1..];
            let name = format!("{}{}", bare[..1].to_uppercase(), &bare[1..]);
            error.hints.push(format!("write `{name}`"));
            error.fix = Some(Fix { title: "write it as a name".to_owned(), span, replacement: name });
        }
        self.put_aside();
    }

    fn state_list(&mut self, kind: K) {
        self.node(kind, |p| {
            p.bump();
            p.bump();
            p.listed(K::LBracket, K::RBracket, |p| {
                p.expect(K::Ident);
            });
        });
    }

    fn state(&mut self) {
        self.node(K::State, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.bump();
            p.expect(K::DoKw);
            while p.is_word("event") || p.is_word("timeout") {
                p.transition();
            }
            if !matches!(p.peek(), K::Eof | K::EndKw) && !p.peek().starts_item() && !p.is_word("state") {
                p.expected("a transition `event(:name) -> State` or `timeout(1000) -> State`, or `end`");
                p.skip_until(|_| false);
                while p.is_word("event") || p.is_word("timeout") {
                    p.transition();
                }
            }
            p.end_of("state", opened);
        });
    }

    fn transition(&mut self) {
        self.node(K::Transition, |p| {
            p.bump();
            p.expect(K::LParen);
            p.operators();
            p.expect(K::RParen);
            p.guard();
            p.expect(K::Arrow);
            p.expect(K::Ident);
            if p.is(K::DoKw) {
                let opened = p.span_of(0);
                p.bump();
                p.actions(K::EndKw);
                p.end_of("do", opened);
            }
        });
    }

    fn edge(&mut self) {
        self.node(K::Edge, |p| {
            p.bump();
            p.bump();
            if p.is(K::LBracket) {
                // `A --> [*]` makes A terminal.
                p.bump();
                p.expect(K::Star);
                p.expect(K::RBracket);
                return;
            }
            p.expect(K::Pipe);
            if matches!(p.peek(), K::Atom | K::QuotedAtom) {
                p.bump();
            } else {
                p.expect(K::Ident);
            }
            if !p.expect(K::Pipe) {
                p.skip_until(|p| p.is(K::Pipe));
                p.eat(K::Pipe);
            }
            p.expect(K::Ident);
            p.guard();
            if p.is(K::LBrace) {
                p.bump();
                p.actions(K::RBrace);
                p.expect(K::RBrace);
            }
        });
    }

    /// Assignments to payload fields.
    fn actions(&mut self, close: K) {
        self.node(K::ActionBlock, |p| {
            let braces = close == K::EndKw && p.eat(K::LBrace);
            let close = if braces { K::RBrace } else { close };
            while !matches!(p.peek(), K::Eof | K::EndKw | K::RBrace) && !p.peek().starts_item() {
                p.node(K::Assign, |p| {
                    p.expect(K::Ident);
                    if p.eat(K::Dot) {
                        p.expect(K::Ident);
                    }
                    if !p.expect(K::Eq) {
                        return p.skip_until(|p| matches!(p.peek(), K::Semicolon | K::RBrace));
                    }
                    p.operators();
                });
                p.eat(K::Semicolon);
                p.eat(K::Comma);
            }
            if braces && !p.eat(close) {
                p.expected(close.describe());
            }
        });
    }
}
