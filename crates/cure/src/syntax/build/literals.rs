//! Parses the values of literals.

use num_bigint::BigInt;

use super::token_span;
use crate::syntax::ast::{ExprKind, Ident, Name};
use crate::syntax::kind::{SyntaxKind as K, SyntaxToken};

/// The value of a literal token.
pub(super) fn value(token: &SyntaxToken) -> ExprKind {
    let text = token.text();
    match token.kind() {
        K::Int => ExprKind::Int(int(text)),
        K::Float => ExprKind::Float(float(text)),
        K::Str => ExprKind::Str(unescape(text.trim_matches_once('"', '"'))),
        K::Charlist => ExprKind::Charlist(text.trim_matches_once('‘', '’').to_owned()),
        K::Atom | K::QuotedAtom => ExprKind::Atom(atom(token).name),
        K::TrueKw => ExprKind::Bool(true),
        K::FalseKw => ExprKind::Bool(false),
        _ => ExprKind::Missing,
    }
}

/// The name of an atom, without colon or quotes.
pub(super) fn atom(token: &SyntaxToken) -> Ident {
    let text = token.text();
    let name = match token.kind() {
        K::Atom => &text[1..],
        K::QuotedAtom => text.trim_matches_once('\'', '\''),
        _ => text,
    };
    Ident { name: Name::from(name), span: token_span(token) }
}

/// An integer in source notation.
pub(crate) fn int(text: &str) -> BigInt {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'_').collect();
    let (digits, radix) = match digits.strip_prefix(b"0x").or(digits.strip_prefix(b"0X")) {
        Some(hex) => (hex, 16),
        None => (&digits[..], 10),
    };
    read(digits, radix)
}

/// Parses long integers in halves: digit by digit would take quadratic time.
fn read(digits: &[u8], radix: u32) -> BigInt {
    if digits.len() <= 1_000 {
        return BigInt::parse_bytes(digits, radix).unwrap_or_default();
    }
    let (high, low) = digits.split_at(digits.len() / 2);
    read(high, radix) * BigInt::from(radix).pow(low.len() as u32) + read(low, radix)
}

pub(in crate::syntax) fn float(text: &str) -> f64 {
    text.replace('_', "").parse().unwrap_or(0.0)
}

/// The text of a string piece, without quotes and interpolation marks.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        if next != '\\' {
            plain.push(next);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

/// Strips one delimiter from each side.
pub(super) trait TrimOnce {
    fn trim_matches_once(&self, open: char, close: char) -> &str;
}

impl TrimOnce for str {
    fn trim_matches_once(&self, open: char, close: char) -> &str {
        let rest = self.strip_prefix(open).unwrap_or(self);
        rest.strip_suffix(close).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_read_like_short_ones() {
        let digits: String = (0..5_003).map(|at| char::from(b'0' + (at * at % 7) as u8)).collect();
        assert_eq!(int(&digits), digits.parse().unwrap());
        let hex = format!("0x{}_{}", "F".repeat(1_500), "0a".repeat(700));
        let plain = hex[2..].replace('_', "");
        assert_eq!(int(&hex), BigInt::parse_bytes(plain.as_bytes(), 16).unwrap());
        assert_eq!(int(&"9".repeat(40_000)), BigInt::from(10).pow(40_000) - 1);
    }
}
