//! The formatter: indentation follows the tree, tokens are separated by at most one space, and the author's line breaks
//! stay.
//!
//! It changes white space only, so the meaning stays the same; formatting twice changes nothing more. A text with
//! syntax errors is left alone.

use std::collections::HashMap;

use super::kind::{SyntaxKind as K, SyntaxNode, SyntaxToken};
use super::lexer::lex;
use super::parser::parse;
use crate::diagnostic::Diagnostic;

/// The formatted text, or the syntax errors.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(text);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(parsed.diagnostics);
    }
    let formatted = lay_out(&parsed.tree());
    // White space matters only between tokens that would join. If the tokens differ afterwards, the text stays
    // unchanged.
    Ok(if same_tokens(text, &formatted) { formatted } else { text.to_owned() })
}

fn same_tokens(before: &str, after: &str) -> bool {
    let words = |text: &str| {
        let mut at = 0;
        let mut words = Vec::new();
        for token in lex(text).0 {
            let word = &text[at..at + token.len as usize];
            at += token.len as usize;
            if token.kind != K::Whitespace {
                words.push((token.kind, word.trim_end().to_owned()));
            }
        }
        words
    };
    words(before) == words(after)
}

fn lay_out(tree: &SyntaxNode) -> String {
    let mut out = String::new();
    let mut indents: HashMap<u32, usize> = HashMap::new();
    let mut before: Option<SyntaxToken> = None;
    let mut breaks = 0;
    let mut indent = 0;
    for element in tree.descendants_with_tokens() {
        let Some(token) = element.into_token() else { continue };
        if token.kind() == K::Whitespace {
            breaks = token.text().matches('\n').count();
            continue;
        }
        let start = u32::from(token.text_range().start());
        match &before {
            None => indent = 0,
            Some(last) => {
                if breaks == 0 && (forced(&token) || last.kind() == K::Comment) {
                    breaks = 1;
                }
                if breaks > 0 {
                    let opens = matches!(last.kind(), K::DoKw);
                    out.push_str(if breaks > 1 && !opens && token.kind() != K::EndKw { "\n\n" } else { "\n" });
                    indent = depth(&token, &indents);
                    out.extend(std::iter::repeat_n("  ", indent));
                } else if spaced(last, &token) {
                    out.push(' ');
                }
            }
        }
        indents.insert(start, indent);
        out.push_str(token.text().trim_end_matches([' ', '\t', '\r']));
        before = Some(token);
        breaks = 0;
    }
    if before.is_some() {
        out.push('\n');
    }
    out
}

/// True if this token always begins a new line.
fn forced(token: &SyntaxToken) -> bool {
    let Some(parent) = token.parent() else { return false };
    let first = parent.first_token().as_ref() == Some(token);
    let inside = parent.parent().map(|outer| outer.kind());
    match parent.kind() {
        K::Module => first || token.kind() == K::EndKw,
        K::Import | K::Exports | K::ExportClasses => first && inside == Some(K::Module),
        kind => is_definition(kind) && first && inside == Some(K::Module),
    }
}

/// True if it is a node that defines something in a module.
fn is_definition(kind: K) -> bool {
    matches!(kind, K::Def | K::Curify | K::Record | K::TypeDef | K::Class | K::Instance | K::Trait | K::Impl | K::Fsm)
}

/// The depth of a line that begins with this token: one more than the line on which the enclosing node begins.
fn depth(token: &SyntaxToken, indents: &HashMap<u32, usize>) -> usize {
    let start = token.text_range().start();
    let around = token.parent_ancestors().find(|node| {
        let begins = node.text_range().start();
        begins < start && indents_inside(node.kind())
    });
    let Some(around) = around else { return 0 };
    let base = indents.get(&u32::from(around.text_range().start())).copied().unwrap_or(0);
    let closes = token.parent().as_ref() == Some(&around)
        && matches!(token.kind(), K::EndKw | K::RParen | K::RBracket | K::RBrace | K::RVector | K::ThenKw | K::ElseKw);
    base + usize::from(!closes)
}

fn indents_inside(kind: K) -> bool {
    let is_block = matches!(
        kind,
        K::Module
            | K::Method
            | K::State
            | K::Transition
            | K::Edge
            | K::Exports
            | K::Import
            | K::Params
            | K::Args
            | K::TyArgs
            | K::ListExpr
            | K::VectorExpr
            | K::TupleExpr
            | K::RecordExpr
            | K::UpdateExpr
            | K::ParenExpr
            | K::LambdaExpr
            | K::MatchExpr
            | K::Clause
            | K::IfExpr
            | K::LetStmt
            | K::TyTuple
            | K::TyParen
            | K::TyFn
            | K::PatList
            | K::PatTuple
            | K::PatCtor
            | K::PatRecord
            | K::States
            | K::Terminal
            | K::ExportClasses
    );
    is_block || is_definition(kind)
}

/// True if two tokens of one line are separated by a space.
fn spaced(left: &SyntaxToken, right: &SyntaxToken) -> bool {
    let (a, b) = (left.kind(), right.kind());
    let parent = |token: &SyntaxToken| token.parent().map_or(K::Error, |node| node.kind());
    let (pa, pb) = (parent(left), parent(right));
    if b == K::Comment || a == K::Comment {
        return true;
    }
    if matches!(a, K::StrOpen | K::StrMid) || matches!(b, K::StrMid | K::StrClose) {
        return false;
    }
    if matches!(b, K::Comma | K::Semicolon | K::Colon | K::RParen | K::RBracket | K::RVector) {
        return false;
    }
    if matches!(a, K::LParen | K::LBracket | K::LVector) || a == K::Dot || b == K::Dot {
        return false;
    }
    // The braces of traits and implementations contain definitions; all others contain values.
    let block = |kind| matches!(kind, K::Trait | K::Impl);
    if (a == K::LBrace && !block(pa)) || (b == K::RBrace && !block(pb)) {
        return false;
    }
    match b {
        K::LParen if pa == K::UnaryExpr => a == K::NotKw,
        K::LParen => !matches!(pb, K::Args | K::Params | K::TyArgs | K::PatCtor | K::Transition) && pb != K::TyFn,
        K::LBrace => !matches!(pb, K::RecordExpr | K::UpdateExpr | K::PatRecord | K::Payload),
        _ if pa == K::UnaryExpr && matches!(a, K::Minus | K::Plus) => matches!(b, K::Minus | K::Plus),
        _ if pa == K::PatLiteral && a == K::Minus => false,
        K::Slash => !matches!(pb, K::ExportName | K::ImportName),
        K::Lt if pb == K::TypeParams => false,
        K::Gt if pb == K::TypeParams => false,
        K::Pipe if pb == K::Edge => a == K::LongArrow,
        _ => match a {
            K::Slash => !matches!(pa, K::ExportName | K::ImportName),
            K::Lt if pa == K::TypeParams => false,
            // The first bar of `|event|` opens it, the second closes it.
            K::Pipe if pa == K::Edge => !opens_event(left),
            _ => true,
        },
    }
}

fn opens_event(bar: &SyntaxToken) -> bool {
    let mut before = bar.prev_token();
    while let Some(token) = &before {
        if !token.kind().is_trivia() {
            return token.kind() == K::LongArrow;
        }
        before = token.prev_token();
    }
    false
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn lays_out_what_was_thrown_together() {
        let text = "module T do\nexport [main/0 ,f/1]   # all\n\n\n\n  def f( x: Int ) : Int=\nmatch x do\n0->1\n# the rest\n_ when x>0 and   x<9 ->\n-x+ -(- 2)\nend def main(): Int = f(3) \n record P do a: Int b : List( Int ,n+1) end derive Show,Eq\n fsm P{a:0,b:[]} do\nA-->|go|B when a>0 {a=1;}\nB --> [ * ]\nend\ndef g(p: P): String = \"a#{ p . a }b\"\nend";
        let once = format(text).unwrap();
        expect![[r#"
            module T do
              export [main/0, f/1] # all

              def f(x: Int): Int =
                match x do
                  0 -> 1
                  # the rest
                  _ when x > 0 and x < 9 ->
                    -x + -(-2)
                end
              def main(): Int = f(3)
              record P do a: Int b: List(Int, n + 1) end derive Show, Eq
              fsm P{a: 0, b: []} do
                A --> |go| B when a > 0 {a = 1;}
                B --> [*]
              end
              def g(p: P): String = "a#{p.a}b"
            end
        "#]]
        .assert_eq(&once);
        assert_eq!(format(&once).unwrap(), once);
    }

    #[test]
    fn is_idempotent_and_keeps_the_tokens_of_every_program() {
        let table = include_str!("../../tests/data/programs.tsv");
        let programs =
            table.lines().skip(1).filter_map(|line| line.split('\t').nth(3)).map(|text| text.replace("\\n", "\n"));
        let std = crate::standard::names().filter_map(crate::standard::source).map(str::to_owned);
        let mut formatted = 0;
        for text in programs.chain(std) {
            let Ok(once) = format(&text) else { continue };
            assert!(same_tokens(&text, &once), "{text}");
            assert_eq!(format(&once).unwrap(), once);
            formatted += 1;
        }
        assert!(formatted > 110, "only {formatted} programs could be formatted");
    }

    #[test]
    fn the_standard_library_is_formatted() {
        for name in crate::standard::names() {
            let text = crate::standard::source(name).unwrap();
            assert_eq!(format(text).unwrap(), text, "{name}");
        }
    }
}
