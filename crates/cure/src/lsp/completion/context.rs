//! The completion context at a position, determined from the preceding tokens.

use crate::diagnostic::Span;
use crate::syntax::SyntaxKind as K;
use crate::syntax::lexer::lex;

/// Kind of completion at a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// A module in an import, with the span of the typed path.
    Import(Span),
    /// A name that is imported from this module.
    ImportedNames(String),
    /// A name behind the path of a module.
    Path(String),
    /// A field of the value that stands there.
    Field(Span),
    Type,
    Value,
    /// Nothing that could be proposed: a comment, a text, a name that is being given.
    Nothing,
}

/// The completion context, and the typed prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub what: Context,
    pub prefix: Span,
}

/// Returns the completion context at a position.
pub(super) fn at(text: &str, at: u32) -> Typed {
    let mut tokens: Vec<(K, Span)> = Vec::new();
    let mut start = 0;
    let nothing = Span { start: at, end: at };
    for token in lex(text).0 {
        let span = Span { start, end: start + token.len };
        start = span.end;
        if span.start >= at {
            break;
        }
        let inside = span.start < at && at < span.end;
        match token.kind {
            K::Comment if at <= span.end => return Typed { what: Context::Nothing, prefix: nothing },
            K::Str | K::StrOpen | K::StrMid | K::StrClose | K::Charlist if inside => {
                return Typed { what: Context::Nothing, prefix: nothing };
            }
            kind if kind.is_trivia() => {}
            kind => tokens.push((kind, span)),
        }
    }
    let is_word = |kind: K| kind == K::Ident || kind.is_keyword();
    let prefix = match tokens.last() {
        Some((kind, span)) if is_word(*kind) && at <= span.end => Span { start: span.start, end: at },
        _ => nothing,
    };
    if prefix != nothing {
        tokens.pop();
    }
    Typed { what: context(text, &tokens, prefix), prefix }
}

fn context(text: &str, tokens: &[(K, Span)], prefix: Span) -> Context {
    let kind = |back: usize| tokens.iter().rev().nth(back).map_or(K::Eof, |(kind, _)| *kind);
    match kind(0) {
        K::ImportKw => return Context::Import(prefix),
        K::Dot => {
            let path = path(tokens);
            if path < 2 {
                // Behind a bracket: the value of a call.
                return value_before(tokens).map_or(Context::Nothing, Context::Field);
            }
            let first = tokens.len() - path;
            let span = Span { start: tokens[first].1.start, end: tokens[tokens.len() - 1].1.start };
            if first > 0 && tokens[first - 1].0 == K::ImportKw {
                return Context::Import(Span { start: span.start, end: prefix.end });
            }
            return if span.text(text).starts_with(|c: char| c.is_ascii_uppercase()) {
                Context::Path(span.text(text).split_whitespace().collect())
            } else {
                Context::Field(span)
            };
        }
        // A name that is being given.
        K::DefKw | K::LetKw | K::TypeKw | K::RecordKw | K::ModuleKw | K::FsmKw | K::ClassKw | K::TraitKw => {
            return Context::Nothing;
        }
        _ => {}
    }
    let open = enclosing(tokens);
    if let Some(module) = open.and_then(|open| imported(text, tokens, open)) {
        return if kind(0) == K::AsKw { Context::Nothing } else { Context::ImportedNames(module) };
    }
    let in_fields = open.is_some_and(|open| tokens[open].0 == K::LBrace && open > 0 && tokens[open - 1].0 == K::Ident);
    match kind(0) {
        K::Colon if !in_fields => Context::Type,
        K::ColonColon | K::DeriveKw | K::WhereKw | K::InstanceKw | K::ImplKw | K::FatArrow => Context::Type,
        _ => Context::Value,
    }
}

/// How many tokens the path before the last dot has, with that dot: `A`, `.`, `B`, `.`.
fn path(tokens: &[(K, Span)]) -> usize {
    let mut count = 0;
    for (at, (kind, _)) in tokens.iter().rev().enumerate() {
        let expected = if at % 2 == 0 { K::Dot } else { K::Ident };
        if *kind != expected {
            break;
        }
        count += 1;
    }
    count - count % 2
}

/// The call or the parenthesis that ends before the last dot.
fn value_before(tokens: &[(K, Span)]) -> Option<Span> {
    let (dot, before) = tokens.split_last()?;
    if before.last()?.0 != K::RParen {
        return None;
    }
    let mut depth = 0;
    let open = before.iter().rposition(|(kind, _)| {
        depth += match kind {
            K::RParen => 1,
            K::LParen => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let mut first = open;
    while first > 0 && matches!(before[first - 1].0, K::Ident | K::Dot) {
        first -= 1;
    }
    let _ = dot;
    Some(Span { start: before[first].1.start, end: before.last()?.1.end })
}

/// The last bracket that is open.
fn enclosing(tokens: &[(K, Span)]) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().rposition(|(kind, _)| {
        match kind {
            K::RParen | K::RBracket | K::RBrace => depth += 1,
            K::LParen | K::LBracket | K::LBrace => depth -= 1,
            _ => {}
        }
        depth < 0
    })
}

/// The module of an import, if the bracket is that of its names.
fn imported(text: &str, tokens: &[(K, Span)], open: usize) -> Option<String> {
    if tokens[open].0 != K::LBracket {
        return None;
    }
    let before = &tokens[..open];
    let start = before.iter().rposition(|(kind, _)| !matches!(kind, K::Ident | K::Dot | K::AsKw))?;
    if before[start].0 != K::ImportKw {
        return None;
    }
    let path = before[start + 1..].iter().take_while(|(kind, _)| matches!(kind, K::Ident | K::Dot));
    Some(path.map(|(_, span)| span.text(text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_is_typed_is_told_by_the_tokens_before_it() {
        let all: String = [
            "module T do\n  import ‸",
            "module T do\n  import Std.Li‸",
            "module T do\n  import Std.List [ma‸",
            "module T do\n  import Std.List [map/2, fi‸lter/2]",
            "module T do\n  import Std.List [map/2 as ‸",
            "module T do\n  def f(x: ‸",
            "module T do\n  def f(x: In‸",
            "module T do\n  def f(x: Int): Int = P{a: ‸",
            "module T do\n  def f(x: Int): Int = x + ‸",
            "module T do\n  def f(x: Int): Int = x.‸",
            "module T do\n  def f(x: Int): Int = x.a.nam‸",
            "module T do\n  def f(x: Int): Int = f(x).‸",
            "module T do\n  def f(x: Int): Int = Std.List.m‸",
            "module T do\n  def ‸",
            "module T do\n  # a comm‸ent",
            "module T do\n  def f(): String = \"a te‸xt\"",
            "module T do\n  def f(): String = \"a #{x‸}\"",
            "",
        ]
        .iter()
        .map(|text| {
            let place = text.find('‸').unwrap_or(0);
            let text = text.replace('‸', "");
            let Typed { what, prefix } = at(&text, place as u32);
            format!("{what:?} {:?}\n", prefix.text(&text))
        })
        .collect();
        expect![[r#"
            Import(Span { start: 21, end: 21 }) ""
            Import(Span { start: 21, end: 27 }) "Li"
            ImportedNames("Std.List") "ma"
            ImportedNames("Std.List") "fi"
            Nothing ""
            Type ""
            Type "In"
            Value ""
            Value ""
            Field(Span { start: 35, end: 36 }) ""
            Field(Span { start: 35, end: 38 }) "nam"
            Field(Span { start: 35, end: 39 }) ""
            Path("Std.List") "m"
            Nothing ""
            Nothing ""
            Nothing ""
            Value "x"
            Value ""
        "#]]
        .assert_eq(&all);
    }
}
