//! Recognizes syntax of other languages and of earlier versions of Cure, and parses it with its intended meaning, so
//! that one mistake is one error.

use rowan::Checkpoint;

use super::Parser;
use crate::diagnostic::{Diagnostic, Fix, Span, code};
use crate::syntax::kind::SyntaxKind as K;

/// The maximal number of tokens in a line that are searched for a foreign form.
const LOOK: usize = 64;

impl Parser<'_> {
    /// True if `case … of` begins here.
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

    /// True if an `if` is written like a function call: `if(x, 1, 2)`.
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

    /// True if the parenthesis opened after `if` closes before a token that cannot continue a condition.
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

    /// True if a name or an atom ends here and another value follows on the same line: `g x`, `'Some'(42)`.
    pub(super) fn at_foreign_call(&self) -> bool {
        let Some(before) = self.at.checked_sub(1) else { return false };
        let before = self.tokens[self.significant[before] as usize].kind;
        let takes = match before {
            K::Ident => self.begins_value() && !self.is(K::LParen),
            K::Atom | K::QuotedAtom => self.begins_value(),
            _ => false,
        };
        takes && !self.is_word("of") && !self.begins_assignment() && !self.begins_clause()
    }

    /// True if the next token, on this line, can only begin a value. A brace may also begin the actions of a machine.
    fn begins_value(&self) -> bool {
        let begins = matches!(
            self.peek(),
            K::Ident
                | K::Int
                | K::Float
                | K::Str
                | K::StrOpen
                | K::Charlist
                | K::Atom
                | K::QuotedAtom
                | K::TrueKw
                | K::FalseKw
                | K::LParen
                | K::LBracket
                | K::LVector
                | K::FnKw
        );
        begins && !self.first_of_line(0)
    }

    /// True if `n =` or `data.n =` follows, the next action of a machine.
    fn begins_assignment(&self) -> bool {
        self.is(K::Ident) && (self.nth(1) == K::Eq || (self.nth(1) == K::Dot && self.nth(3) == K::Eq))
    }

    /// True if `pattern ->` or `pattern when` follows, the next clause of a match.
    fn begins_clause(&self) -> bool {
        if !self.in_clause {
            return false;
        }
        let mut open = 0;
        for ahead in 0..LOOK {
            match self.nth(ahead) {
                K::Arrow | K::WhenKw if open == 0 => return true,
                K::LParen | K::LBracket | K::LBrace | K::LVector => open += 1,
                K::RParen | K::RBracket | K::RBrace | K::RVector if open == 0 => return false,
                K::RParen | K::RBracket | K::RBrace | K::RVector => open -= 1,
                K::Eof | K::EndKw => return false,
                _ => {}
            }
            if open == 0 && self.first_of_line(ahead + 1) {
                return false;
            }
        }
        false
    }

    /// The values behind a name or an atom, as the arguments that they were meant to be.
    pub(super) fn foreign_call(&mut self, start: Checkpoint) -> u32 {
        let index = self.significant[self.at - 1] as usize;
        let callee = Span { start: self.starts[index], end: self.starts[index + 1] };
        let (is_name, parenthesis) = (self.tokens[index].kind == K::Ident, self.is(K::LParen));
        let (blamed, first) = (self.blamed == Some(self.at), self.span_of(0));
        let mut values = Vec::new();
        let mut height = 0;
        self.node_at(start, K::CallExpr, |p| {
            p.node(K::Args, |p| {
                while p.begins_value() && !p.begins_assignment() && !p.begins_clause() {
                    let from = p.span_of(0);
                    height = height.max(p.deeper(|p| p.operand()));
                    values.push(from.to(p.end_position()).text(p.text));
                    if parenthesis {
                        break;
                    }
                }
            });
        });
        if !blamed {
            let mut error = side_by_side(callee.text(self.text), is_name, parenthesis, &values.join(", "));
            error.span = first;
            if let Some(fix) = &mut error.fix {
                fix.span = if fix.replacement.contains(['(', '{']) { callee.to(self.end_position()) } else { callee };
            }
            self.errors.push(error);
        }
        height + 1
    }

    /// A pattern `'Some'(x)`, which is a constructor's.
    pub(super) fn foreign_pattern(&mut self) {
        let (callee, blamed) = (self.span_of(0), self.blamed == Some(self.at));
        self.node(K::PatCtor, |p| {
            p.bump();
            let from = p.span_of(0);
            p.listed(K::LParen, K::RParen, |p| p.pattern());
            if !blamed {
                let values = from.to(p.end_position()).text(p.text);
                let mut error = side_by_side(callee.text(p.text), false, true, values);
                error.span = callee;
                if let Some(fix) = &mut error.fix {
                    fix.span = if fix.replacement.contains('{') { callee.to(p.end_position()) } else { callee };
                }
                p.errors.push(error);
            }
        });
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

/// The longest arguments that a message repeats.
const LONGEST: usize = 200;

/// Returns a replacement for a name or an atom followed by values. The caller sets the positions of the error and its
/// fix.
fn side_by_side(callee: &str, is_name: bool, parenthesis: bool, values: &str) -> Diagnostic {
    let bare = callee.trim_start_matches(':').trim_matches('\'');
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '?');
    let callable = !bare.starts_with(|c: char| c.is_ascii_digit()) && !bare.is_empty() && bare.chars().all(is_word);
    let inner = values.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(values);
    let short = values.len() <= LONGEST;
    let shown = if short { inner } else { "…" };
    let apart = "a new statement begins on a new line, or behind a comma";
    let (message, hint, replacement) = if is_name {
        let call = format!("{callee}({shown})");
        let message = format!("two values side by side: the arguments of `{callee}` stand in parentheses");
        (message, format!("write `{call}`; {apart}"), call)
    } else if parenthesis && callable {
        let hint = format!("a constructor or a function is called by its name: `{bare}({shown})`");
        (format!("`{callee}` is an atom, and an atom is not called"), hint, bare.to_owned())
    } else {
        let tuple = format!("{{{callee}, {shown}}}");
        let message = format!("two values side by side: the atom `{callee}` takes none");
        (message, format!("write a tuple: `{tuple}`; {apart}"), tuple)
    };
    let error = Diagnostic::error(code::FOREIGN, Span::default(), message).hint(hint);
    if short { error.fix(format!("write `{replacement}`"), Span::default(), replacement) } else { error }
}
