//! Products, quotients and remainders of whole numbers for the solver. By a number they are linear; of two unknown numbers
//! it knows the linear facts: signs, and which of them is greater.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};

use super::body::{Body, Term};
use crate::solver::{Formula, Linear};
use crate::syntax::SyntaxKind as K;

/// The maximal size in bits of numbers that the solver follows.
const MOST_BITS: u64 = 400_000;

impl Body<'_> {
    pub(super) fn product(&mut self, a: &Linear, b: &Linear) -> Term {
        if a.bits() + b.bits() > MOST_BITS {
            return Term::Int(Linear::symbol(self.symbol(None)));
        }
        match (a.as_number(), b.as_number()) {
            (Some(number), _) => Term::Int(b.times(number)),
            (_, Some(number)) => Term::Int(a.times(number)),
            _ => Term::Int(self.product_of_unknown(a, b)),
        }
    }

    fn product_of_unknown(&mut self, a: &Linear, b: &Linear) -> Linear {
        let (a, b) = if format!("{a:?}") <= format!("{b:?}") { (a, b) } else { (b, a) };
        let key = format!("{a:?} * {b:?}");
        let known = self.opaque.contains_key(&key);
        let product = Linear::symbol(self.opaque_symbol(&key));
        if !known {
            self.axioms.push(of_product(a, b, &product));
        }
        product
    }

    /// `a / b` and `a % b` truncate: `a = b * q + r` with `|r| < |b|` and the sign of `a`.
    pub(super) fn division(&mut self, operator: K, a: &Linear, b: &Linear) -> Term {
        if let (Some(a), Some(b)) = (a.as_number(), b.as_number())
            && !b.is_zero()
        {
            return Term::Int(Linear::number(if operator == K::Slash { a / b } else { a % b }));
        }
        let (quotient, rest) = (format!("{a:?} / {b:?}"), format!("{a:?} % {b:?}"));
        let known = self.opaque.contains_key(&quotient);
        let (q, r) = (Linear::symbol(self.opaque_symbol(&quotient)), Linear::symbol(self.opaque_symbol(&rest)));
        if !known {
            match b.as_number() {
                Some(number) if number.is_zero() => {}
                Some(number) => self.axioms.push(by_number(a, number, &q, &r)),
                None => {
                    self.axioms.push(by_unknown(a, b, &q, &r));
                    let product = self.product_of_unknown(&q, b);
                    let whole = Formula::eq(a, &product.add(&r));
                    self.axioms.push(Formula::eq(b, &Linear::number(0)).or(whole));
                }
            }
        }
        Term::Int(if operator == K::Slash { q } else { r })
    }
}

/// Returns facts about a product: its sign, and that it is not smaller than its factors.
fn of_product(a: &Linear, b: &Linear, product: &Linear) -> Formula {
    let (zero, one) = (Linear::number(0), Linear::number(1));
    let minus = |term: &Linear| term.times(&BigInt::from(-1));
    // Both are at least one, up to the signs.
    let signed = |a: &Linear, b: &Linear, product: &Linear| {
        let least = a.add(b).sub(&one);
        Formula::And(vec![Formula::le(&one, a), Formula::le(&one, b), Formula::le(&least, product)])
    };
    let nothing = |factor: &Linear| Formula::eq(factor, &zero).and(Formula::eq(product, &zero));
    Formula::Or(vec![
        signed(a, b, product),
        signed(&minus(a), &minus(b), product),
        signed(&minus(a), b, &minus(product)),
        signed(a, &minus(b), &minus(product)),
        nothing(a),
        nothing(b),
    ])
}

/// Returns facts about quotient and remainder by a number.
fn by_number(a: &Linear, number: &BigInt, q: &Linear, r: &Linear) -> Formula {
    let zero = Linear::number(0);
    let size = Linear::number(number.abs());
    let above = Formula::le(&zero, a).and(Formula::le(&zero, r)).and(Formula::lt(r, &size));
    let below = Formula::lt(a, &zero).and(Formula::le(r, &zero)).and(Formula::lt(&zero.sub(&size), r));
    Formula::eq(a, &q.times(number).add(r)).and(above.or(below))
}

/// Returns facts about quotient and remainder by an unknown nonzero number.
fn by_unknown(a: &Linear, b: &Linear, q: &Linear, r: &Linear) -> Formula {
    let (zero, one) = (Linear::number(0), Linear::number(1));
    let minus = |term: &Linear| term.times(&BigInt::from(-1));
    // Both are not negative, up to the signs.
    let signed = |a: &Linear, b: &Linear, q: &Linear, r: &Linear, least: &Linear| {
        let less = Formula::And(vec![Formula::lt(a, b), Formula::eq(q, &zero), Formula::eq(r, a)]);
        let more = Formula::And(vec![Formula::le(b, a), Formula::le(&one, q), Formula::le(r, &a.sub(b))]);
        let halved = Formula::le(b, &one).or(Formula::le(&q.add(q), a));
        Formula::And(vec![
            Formula::le(least, a),
            Formula::le(&one, b),
            Formula::le(&zero, r),
            Formula::lt(r, b),
            Formula::le(&zero, q),
            Formula::le(q, a),
            less.or(more),
            halved,
        ])
    };
    Formula::Or(vec![
        Formula::eq(b, &zero),
        signed(a, b, q, r, &zero),
        signed(&minus(a), b, &minus(q), &minus(r), &one),
        signed(a, &minus(b), &minus(q), r, &zero),
        signed(&minus(a), &minus(b), q, &minus(r), &one),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Model;

    #[test]
    fn what_is_said_of_numbers_holds() {
        let number = |value: i64| Linear::number(value);
        for a in -12..=12_i64 {
            for b in -12..=12_i64 {
                assert!(of_product(&number(a), &number(b), &number(a * b)).holds(&Model::new()), "{a} * {b}");
                if b != 0 {
                    let (q, r) = (number(a / b), number(a % b));
                    assert!(by_unknown(&number(a), &number(b), &q, &r).holds(&Model::new()), "{a} / {b}");
                    assert!(by_number(&number(a), &b.into(), &q, &r).holds(&Model::new()), "{a} / {b}");
                }
            }
        }
    }
}
