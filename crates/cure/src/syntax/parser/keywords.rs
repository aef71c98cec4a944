//! Recognizes keywords where names stand. One mistake is one error: from then on the keyword is read as a name where it
//! can only be one.

use super::Parser;
use crate::diagnostic::code;
use crate::syntax::kind::SyntaxKind as K;

impl Parser<'_> {
    /// A name that is defined here, or the error that it is a keyword.
    pub(super) fn defined(&mut self) -> bool {
        if self.is(K::Ident) {
            self.bump();
            return true;
        }
        self.keyword_as_name() || self.expect(K::Ident)
    }

    /// Reports and consumes a keyword that stands where a name is defined.
    pub(super) fn keyword_as_name(&mut self) -> bool {
        let is_meant = self.names_something(0) || self.is_misnamed(0);
        if is_meant {
            self.misname();
        }
        is_meant
    }

    /// Reports a keyword as a name, if that was not done before, and consumes it.
    pub(super) fn misname(&mut self) {
        let (kind, word, span) = (self.peek(), self.text_of(0), self.span_of(0));
        if !self.misnamed.contains(&kind) {
            let message = format!("`{word}` is a keyword and cannot be a name");
            if let Some(error) = self.error(code::EXPECTED, span, message) {
                error.hints.push(format!("choose another name, such as `{word}_`"));
            }
            self.misnamed.push(kind);
        }
        self.put_aside();
    }

    /// True if the token `ahead` is a keyword, and what follows it makes it a name.
    pub(super) fn names_something(&self, ahead: usize) -> bool {
        if !self.nth(ahead).is_keyword() || self.first_of_line(ahead + 1) {
            return false;
        }
        // What begins an item or a block is followed by other things than these.
        match self.nth(ahead + 1) {
            K::Colon | K::Eq | K::Comma | K::RParen | K::RBracket | K::RBrace | K::Slash | K::Pipe => true,
            K::LParen => self.is_adjacent(ahead),
            _ => false,
        }
    }

    /// True if the token `ahead` is directly before the next one.
    fn is_adjacent(&self, ahead: usize) -> bool {
        self.span_of(ahead).end == self.span_of(ahead + 1).start
    }

    /// True if the token `ahead` is a keyword that was reported as a name, and is invalid as a keyword here.
    pub(super) fn is_misnamed(&self, ahead: usize) -> bool {
        if self.misnamed.is_empty() {
            return false;
        }
        let kind = self.nth(ahead);
        // Behind a keyword that begins an item stands a name.
        let begins = || {
            let named = matches!(self.nth(ahead + 1), K::Ident | K::LParen | K::LBracket | K::Atom);
            self.first_of_line(ahead) && (named || !kind.starts_item())
        };
        self.misnamed.contains(&kind) && !begins()
    }
}
