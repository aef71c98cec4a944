//! Classifies a piece of code by its tokens. Before the first `=`, `|`, `<-` or keyword outside of brackets there is
//! only a left-hand side; these tokens tell a declaration from a statement.

use super::lexer::{Kind, Token};

/// The form of a piece, seen alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Command,
    Block,
    Header,
    Import,
    Declaration {
        binds: Vec<String>,
    },
    /// `f, (+) :: Int`: part of a neighbouring declaration, or else an expression.
    Signature {
        names: Vec<String>,
    },
    /// `$(…)`: declarations if next to a declaration, else an expression.
    Splice,
    Statement {
        binds: bool,
    },
}

/// Returns true if more tokens must follow: an operator or a keyword does not end an expression.
pub(super) fn lacks_something(last: &Token<'_>, tokens: &[Token<'_>]) -> bool {
    match last.kind {
        Kind::Operator => {
            // The kind `*` ends a type.
            let typed = tokens.iter().any(|token| token.is(Kind::Operator, "::"));
            !(typed && matches!(last.text, "*" | "★"))
        }
        Kind::Comma => true,
        // It is the second of two.
        Kind::Backquote => true,
        Kind::Name => matches!(last.text, "case" | "if" | "then" | "else" | "in" | "let" | "of") || is_do(last.text),
        _ => false,
    }
}

fn is_do(word: &str) -> bool {
    matches!(word.rsplit('.').next(), Some("do" | "mdo"))
}

/// Returns true if the last token opens a block.
pub(super) fn opens_layout(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [.., backslash, case] if backslash.is(Kind::Operator, "\\") && matches!(case.text, "case" | "cases") => true,
        [.., last] => last.kind == Kind::Name && (matches!(last.text, "of" | "let") || is_do(last.text)),
        [] => false,
    }
}

/// Classifies a piece.
pub(super) fn form(tokens: &[Token<'_>]) -> Form {
    let meaningful: Vec<Token<'_>> = tokens.iter().filter(|token| token.kind != Kind::Pragma).copied().collect();
    let Some(first) = meaningful.first() else { return Form::Declaration { binds: Vec::new() } };
    let second = meaningful.get(1);
    if first.kind == Kind::Name {
        match first.text {
            "import" => return Form::Import,
            "module" => {
                let open = meaningful.last().is_some_and(|last| last.is(Kind::Name, "where"));
                return if open { Form::Header } else { Form::Block };
            }
            "data" | "type" | "newtype" | "class" | "instance" | "deriving" | "infix" | "infixl" | "infixr"
            | "default" => {
                return Form::Declaration { binds: Vec::new() };
            }
            "foreign" => {
                let binds = meaningful.iter().take_while(|token| token.text != "::").last();
                return Form::Declaration { binds: binds.map(|name| name.text.to_owned()).into_iter().collect() };
            }
            // Without the extension, `pattern` is an ordinary name.
            "pattern" if second.is_some_and(|next| next.kind == Kind::Constructor || is_infix_pattern(&meaningful)) => {
                return Form::Declaration { binds: Vec::new() };
            }
            "let" => {
                let binds = !meaningful.iter().any(|token| token.is(Kind::Name, "in"));
                return Form::Statement { binds };
            }
            _ => {}
        }
    }
    let mut depth = 0usize;
    let mut typed = None;
    for (at, token) in meaningful.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Kind::Operator => match token.text {
                "=" | "|" => {
                    let binds = bound(&meaningful[..typed.unwrap_or(at)], &meaningful[at..]);
                    return Form::Declaration { binds };
                }
                "::" | "∷" => typed = typed.or(Some(at)),
                "<-" | "\\" | "-<" | "-<<" => return Form::Statement { binds: false },
                // Inside a type it is a function arrow.
                "->" if typed.is_none() => return Form::Statement { binds: false },
                _ => {}
            },
            Kind::Name
                if is_do(token.text) || matches!(token.text, "let" | "case" | "of" | "if" | "then" | "else" | "in") =>
            {
                return Form::Statement { binds: false };
            }
            // Another declaration begins; the tokens so far were a signature.
            Kind::Semicolon if typed.is_some() => {
                return match form(&meaningful[at + 1..]) {
                    declaration @ Form::Declaration { .. } => declaration,
                    _ => Form::Statement { binds: false },
                };
            }
            _ => {}
        }
    }
    if let Some(names) = typed.and_then(|at| signed(&meaningful[..at])) {
        return Form::Signature { names };
    }
    if first.kind == Kind::Operator && matches!(first.text, "$" | "$$") && first.prefix {
        return Form::Splice;
    }
    Form::Statement { binds: false }
}

/// `pattern x :> y = …`
fn is_infix_pattern(tokens: &[Token<'_>]) -> bool {
    tokens.get(2).is_some_and(|token| {
        token.kind == Kind::Backquote
            || token.kind == Kind::Operator && token.text.starts_with(':') && token.text.len() > 1
    })
}

/// Returns the names before `::`, if there are only names: `f, (+)`.
fn signed(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in tokens.split(|token| token.kind == Kind::Comma) {
        match part {
            [name] if name.kind == Kind::Name && !name.text.contains('.') => names.push(name.text.to_owned()),
            [open, operator, close]
                if open.text == "(" && operator.kind == Kind::Operator && close.kind == Kind::Close =>
            {
                names.push(operator.text.to_owned())
            }
            _ => return None,
        }
    }
    Some(names)
}

/// Returns the names that a binding may bind: the name of a function, or all names in a pattern.
fn bound(left: &[Token<'_>], right: &[Token<'_>]) -> Vec<String> {
    let of = |kind: Kind| left.iter().filter(move |token| token.kind == kind).map(|token| token.text.to_owned());
    let mut names: Vec<String> = match left.first() {
        // `f x y`, but not `x + y` or ``x `op` y``, whose names come from below.
        Some(first) if first.kind == Kind::Name => vec![first.text.to_owned()],
        _ => of(Kind::Name).collect(),
    };
    names.extend(of(Kind::Operator));
    for (at, token) in left.iter().enumerate() {
        if token.kind == Kind::Backquote {
            names.extend(left.get(at + 1).map(|name| name.text.to_owned()));
        }
    }
    // `f 0 = 1; g = 2`
    let mut depth = 0usize;
    for (at, token) in right.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Semicolon if depth == 0 => {
                if let Form::Declaration { binds } = form(&right[at + 1..]) {
                    names.extend(binds);
                }
                break;
            }
            _ => {}
        }
    }
    names
}
