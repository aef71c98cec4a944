//! Parses modules and their items.

use super::Parser;
use crate::diagnostic::{Fix, Span, code};
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// The whole text: modules.
    pub(super) fn source(&mut self) {
        self.builder.start_node(rowan::SyntaxKind(K::Source as u16));
        let mut complained = false;
        while !self.is(K::Eof) {
            match self.peek() {
                K::ModuleKw => {
                    self.module();
                    complained = false;
                }
                K::EndKw => {
                    self.stray_end();
                }
                kind => {
                    if !complained && self.foreign_language(true) {
                        break;
                    }
                    let span = self.span_of(0);
                    if !complained
                        && let Some(error) = self.error(code::OUTSIDE_MODULE, span, "this is outside a module")
                    {
                        error.hints.push("put it between `module Name do` and `end`".to_owned());
                    }
                    complained = true;
                    if kind.starts_item() {
                        self.item();
                    } else {
                        self.put_aside();
                        while !matches!(self.peek(), K::Eof | K::ModuleKw | K::EndKw) && !self.peek().starts_item() {
                            self.put_aside();
                        }
                    }
                }
            }
        }
        self.trivia();
        self.builder.finish_node();
    }

    fn stray_end(&mut self) {
        let span = self.span_of(0);
        if let Some(error) = self.error(code::STRAY_END, span, "this `end` closes nothing") {
            error.fix = Some(Fix { title: "remove it".to_owned(), span, replacement: String::new() });
            error.hints.push("remove it; `if`, a one-line `def … =` and `let` take no `end`".to_owned());
        }
        self.put_aside();
    }

    fn module(&mut self) {
        self.node(K::Module, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.path();
            p.expect(K::DoKw);
            loop {
                match p.peek() {
                    K::EndKw if p.closes_module(opened) => {
                        p.bump();
                        return;
                    }
                    K::EndKw => p.stray_end(),
                    K::Eof | K::ModuleKw => return p.missing_end("module", opened),
                    kind if kind.starts_item() => p.item(),
                    _ if p.foreign_language(false) => return,
                    _ => {
                        p.expected("a definition");
                        p.skip_until(|_| false);
                    }
                }
            }
        });
    }

    /// True if an `end` here ends the module: only another module or the end of the text follows.
    fn closes_module(&self, opened: Span) -> bool {
        if self.layout.is_some() {
            return self.is_left_of(opened, true);
        }
        matches!(self.nth(1), K::Eof | K::ModuleKw) || !(self.nth(1).starts_item() || self.nth(1) == K::EndKw)
    }

    /// Reports that a block lacks its `end`.
    pub(super) fn missing_end(&mut self, what: &str, opened: Span) {
        let span = self.end_position();
        let said = self.error(code::MISSING_END, span, format!("this `{what}` has no `end`"));
        if let Some(error) = said {
            error.related.push((opened, "it begins here".to_owned()));
            error.hints.push("write `end` here".to_owned());
        }
    }

    /// The `end` of a block.
    pub(super) fn end_of(&mut self, what: &str, opened: Span) {
        if self.is_left_of(opened, false) || !self.eat(K::EndKw) {
            self.missing_end(what, opened);
        }
    }

    fn item(&mut self) {
        match self.peek() {
            K::DefKw => self.def(),
            K::CurifyKw => self.curify(),
            K::ImportKw => self.import(),
            K::ExportKw => self.exports(),
            K::ExportClassesKw => self.node(K::ExportClasses, |p| {
                p.bump();
                p.listed(K::LBracket, K::RBracket, |p| {
                    p.expect(K::Ident);
                });
            }),
            K::RecordKw => self.record(),
            K::TypeKw => self.type_def(),
            K::ClassKw => self.class(),
            K::InstanceKw => self.instance(),
            K::TraitKw => self.trait_def(),
            K::ImplKw => self.impl_def(),
            K::FsmKw => self.fsm(),
            K::DeriveKw => {
                let span = self.span_of(0);
                if let Some(error) =
                    self.error(code::EXPECTED, span, "`derive` stands behind the `end` of a record or a type")
                {
                    error.hints.push("write `record P do … end derive Show, Eq`".to_owned());
                }
                self.put_aside();
                self.skip_until(|_| false);
            }
            _ => self.put_aside(),
        }
    }

    /// `A.B.C`
    pub(super) fn path(&mut self) {
        self.node(K::Path, |p| {
            p.expect(K::Ident);
            while p.is(K::Dot) && p.nth(1) == K::Ident {
                p.bump();
                p.bump();
            }
        });
    }

    /// A name in a list of imports or exports, which may be quoted.
    fn listed_name(&mut self) {
        if self.is(K::QuotedAtom) {
            self.node(K::Name, |p| p.bump());
        } else {
            self.name(true);
        }
    }

    /// A defined name: a word, an atom, or a word that is an operator elsewhere.
    pub(super) fn name(&mut self, operators: bool) {
        self.node(K::Name, |p| match p.peek() {
            K::Ident | K::NotKw | K::AndKw | K::OrKw | K::SendKw | K::SpawnKw | K::ReceiveKw => p.bump(),
            K::LParen if operators && p.nth(1).binding().is_some() && p.nth(2) == K::RParen => {
                p.bump();
                p.bump();
                p.bump();
            }
            K::Atom => p.bump(),
            _ if p.keyword_as_name() => {}
            _ => {
                p.expected("a name");
            }
        });
    }

    fn exports(&mut self) {
        self.node(K::Exports, |p| {
            p.bump();
            p.listed(K::LBracket, K::RBracket, |p| {
                p.node(K::ExportName, |p| {
                    p.listed_name();
                    if p.eat(K::Slash) {
                        p.expect(K::Int);
                    }
                });
            });
        });
    }

    fn import(&mut self) {
        self.node(K::Import, |p| {
            p.bump();
            p.path();
            if p.eat(K::AsKw) {
                p.expect(K::Ident);
            }
            if p.is(K::LBracket) {
                p.listed(K::LBracket, K::RBracket, |p| {
                    p.node(K::ImportName, |p| {
                        p.listed_name();
                        if p.eat(K::Slash) {
                            p.expect(K::Int);
                        }
                        if p.eat(K::AsKw) {
                            p.expect(K::Ident);
                        }
                    });
                });
            }
        });
    }

    fn def(&mut self) {
        self.node(K::Def, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.name(true);
            p.type_params();
            if p.foreign_clauses() {
                return;
            }
            p.params();
            p.signature_rest();
            if p.eat(K::DoKw) {
                p.body();
                p.end_of("do", opened);
            } else if p.eat(K::Eq) {
                p.body();
            } else {
                let said = p.expected("a body: `= expression` or `do … end`");
                if let Some(error) = said {
                    error.hints.push("a function is written `def name(x: Int): Int = x + 1`".to_owned());
                }
                p.skip_until(|p| matches!(p.peek(), K::Eq | K::DoKw));
                if p.eat(K::Eq) {
                    p.body();
                } else if p.eat(K::DoKw) {
                    p.body();
                    p.end_of("do", opened);
                }
            }
        });
    }

    /// Result type, guard and constraints.
    fn signature_rest(&mut self) {
        self.result_type();
        if self.guard() && self.is(K::Arrow) {
            self.return_node();
        }
        if self.is(K::WhereKw) {
            self.where_clause();
        }
    }

    /// The result type, if there is one.
    pub(super) fn result_type(&mut self) {
        if self.foreign_colon() || matches!(self.peek(), K::Colon | K::Arrow) {
            self.return_node();
        }
    }

    fn return_node(&mut self) {
        self.node(K::Return, |p| {
            p.bump();
            p.type_expr();
        });
    }

    /// `when condition`, if there is one. Returns whether there was.
    pub(super) fn guard(&mut self) -> bool {
        let has_guard = self.is(K::WhenKw);
        if has_guard {
            self.node(K::Guard, |p| {
                p.bump();
                p.operators();
            });
        }
        has_guard
    }

    /// The constraints, after the keyword before them.
    pub(super) fn where_clause(&mut self) {
        self.node(K::Where, |p| {
            p.bump();
            p.constraints();
        });
    }

    /// `x :Int` is lexed as a name and an atom. Reports that once.
    pub(super) fn foreign_colon(&mut self) -> bool {
        if !self.is(K::Atom) {
            return false;
        }
        let (span, text) = (self.span_of(0), self.text_of(0));
        let spaced = format!(": {}", &text[1..]);
        if let Some(error) =
            self.error(code::EXPECTED, span, format!("`{text}` is an atom; a type needs a space behind the colon"))
        {
            error.hints.push(format!("write `{spaced}`"));
            error.fix = Some(Fix { title: "put a space".to_owned(), span, replacement: spaced });
        }
        self.put_aside();
        false
    }

    fn constraints(&mut self) {
        loop {
            self.constraint();
            if !self.eat(K::Comma) {
                return;
            }
        }
    }

    pub(super) fn constraint(&mut self) {
        self.node(K::Constraint, Self::applied_name);
    }

    /// A name, with arguments in parentheses if it has any.
    pub(super) fn applied_name(&mut self) {
        self.defined();
        if self.is(K::LParen) {
            self.type_args();
        }
    }

    pub(super) fn type_params(&mut self) {
        if !self.is(K::Lt) {
            return;
        }
        self.node(K::TypeParams, |p| {
            p.listed(K::Lt, K::Gt, |p| {
                p.node(K::TypeParam, |p| {
                    p.expect(K::Ident);
                    if p.eat(K::Colon) {
                        p.bounds();
                    }
                });
            });
        });
    }

    pub(super) fn bounds(&mut self) {
        self.node(K::Bounds, |p| {
            p.expect(K::Ident);
            while p.eat(K::Plus) {
                p.expect(K::Ident);
            }
        });
    }

    pub(super) fn params(&mut self) {
        self.node(K::Params, |p| {
            p.listed(K::LParen, K::RParen, |p| {
                p.node(K::Param, |p| {
                    p.defined();
                    p.foreign_colon();
                    if p.eat(K::Colon) {
                        p.type_expr();
                    }
                });
            });
        });
    }

    fn curify(&mut self) {
        self.node(K::Curify, |p| {
            p.bump();
            p.name(false);
            p.params();
            p.signature_rest();
            p.expect(K::Eq);
            p.node(K::Target, |p| {
                let form = "a target `{module, function, arity}`";
                let fits = p.is(K::LBrace) && p.nth(2) == K::Comma && p.nth(4) == K::Comma && p.nth(5) == K::Int;
                if !fits {
                    p.expected(form);
                    return p.skip_until(|_| false);
                }
                p.bump();
                for _ in 0..2 {
                    if matches!(p.peek(), K::Ident | K::Atom | K::QuotedAtom) {
                        p.bump()
                    } else {
                        p.expected("a name").map_or((), drop)
                    };
                    p.expect(K::Comma);
                }
                p.expect(K::Int);
                p.expect(K::RBrace);
            });
        });
    }

    fn record(&mut self) {
        self.node(K::Record, |p| {
            let opened = p.span_of(0);
            p.bump();
            p.applied_name();
            p.expect(K::DoKw);
            while p.is(K::Ident) || (p.nth(1) == K::Colon && p.names_something(0)) {
                p.node(K::FieldDecl, |p| {
                    p.defined();
                    if !p.foreign_colon() && p.expect(K::Colon) {
                        p.type_expr();
                    } else {
                        p.skip_until(|_| false);
                    }
                });
                p.eat(K::Comma);
            }
            if !p.is(K::EndKw) && !p.is(K::Eof) && !p.peek().starts_item() {
                let default = p.is(K::Eq);
                if let Some(error) = p.expected("a field `name: Type`, or `end`")
                    && default
                {
                    error.hints.push("fields have no defaults; each is given when a record is made".to_owned());
                }
                p.skip_until(|_| false);
            }
            p.end_of("record", opened);
            p.derive();
        });
    }

    fn derive(&mut self) {
        if !self.is(K::DeriveKw) {
            return;
        }
        self.node(K::Derive, |p| {
            p.bump();
            if p.is(K::LBracket) {
                let open = p.span_of(0);
                let close = (1..32).find(|ahead| p.nth(*ahead) == K::RBracket).map(|ahead| p.span_of(ahead));
                let inside = close.map(|close| (open.to(close), &p.text[open.end as usize..close.start as usize]));
                if let Some(error) = p.expected("a class") {
                    error.hints.push("write the classes without brackets: `derive Show, Eq`".to_owned());
                    error.fix = inside.map(|(span, inside)| Fix {
                        title: "remove the brackets".to_owned(),
                        span,
                        replacement: inside.to_owned(),
                    });
                }
                return p.skip_until(|_| false);
            }
            p.expect(K::Ident);
            while p.eat(K::Comma) {
                p.expect(K::Ident);
            }
        });
    }

    fn type_def(&mut self) {
        self.node(K::TypeDef, |p| {
            p.bump();
            p.applied_name();
            p.expect(K::Eq);
            p.type_expr();
            p.guard();
            p.derive();
        });
    }
}
