//! Recognizes a text in the newer Cure, whose blocks are indentation: it is another language, and each of its lines would
//! be an error here.

use super::Parser;
use crate::diagnostic::{Diagnostic, code};
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// True if a definition of the newer Cure begins with the token `ahead`.
    fn begins_newer_definition(&self, ahead: usize) -> bool {
        let word = |at: usize| if self.nth(at) == K::Ident { self.text_of(at) } else { "" };
        let capital = |at: usize| word(at).starts_with(|c: char| c.is_ascii_uppercase());
        match (self.nth(ahead), word(ahead)) {
            (K::FnKw, _) => self.nth(ahead + 1) == K::Ident && self.nth(ahead + 2) == K::LParen,
            (_, "local") => self.nth(ahead + 1) == K::FnKw,
            (_, "mod" | "rec" | "proto" | "use" | "actor" | "sup" | "app") => {
                capital(ahead + 1) && !self.first_of_line(ahead + 1)
            }
            _ => false,
        }
    }

    /// If a definition of the newer Cure stands where an item of a module would, says so and passes over the rest of the
    /// text. Outside of modules, such a definition may stand further below.
    pub(super) fn foreign_language(&mut self, outside: bool) -> bool {
        let mut ahead = 0;
        let mut found = self.begins_newer_definition(0);
        while outside && !found && !matches!(self.nth(ahead), K::Eof | K::ModuleKw | K::DefKw) {
            ahead += 1;
            found = self.first_of_line(ahead) && self.begins_newer_definition(ahead);
        }
        if !found {
            return false;
        }
        let message = "this is written in the newer Cure (`mod X`, `fn f(…) -> T`), which hob does not compile: its Cure has \
                       `module X do … end` and `def f(x: Int): Int = …`";
        self.newer.get_or_insert(Diagnostic::error(code::FOREIGN, self.span_of(ahead), message));
        self.node(K::Error, |p| {
            while !p.is(K::Eof) {
                p.bump();
            }
        });
        true
    }
}
