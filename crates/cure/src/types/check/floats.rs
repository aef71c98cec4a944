//! Floats for the solver. Every float has a place in the order of all floats, a whole number, so comparisons of floats are
//! comparisons of whole numbers. Of arithmetic the solver knows what rounding cannot change: signs and directions.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::body::{Body, Term};
use crate::solver::{Formula, Linear, Model, Satisfiability, Sym};
use crate::syntax::SyntaxKind as K;

/// Numbers that a person would choose for an example.
const PLAIN: [f64; 8] = [0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 10.0, 100.0];
/// A counter-example for more floats than this is not made more readable.
const MOST_MADE_PLAIN: usize = 4;

/// The place of a float: greater for greater floats, zero for both zeros.
pub(crate) fn place_of(value: f64) -> i64 {
    let size = (value.to_bits() & !(1 << 63)) as i64;
    if value.is_sign_negative() { -size } else { size }
}

/// The float at a place; `None` beyond the greatest.
pub(super) fn float_at(place: &BigInt) -> Option<f64> {
    let place = place.to_i64()?;
    let size = f64::from_bits(place.unsigned_abs());
    let value = if place < 0 { -size } else { size };
    value.is_finite().then_some(value)
}

pub(super) fn literal(value: f64) -> Term {
    Term::Float(Linear::number(place_of(value)))
}

/// A float as in the source.
pub(super) fn show(value: f64) -> String {
    format!("{value:?}")
}

impl Body<'_> {
    /// `a + b` and the like: computed if both are known, else a value that is the same wherever the same is written.
    pub(super) fn float_arithmetic(&mut self, operator: K, a: &Linear, b: &Linear) -> Term {
        let known = |term: &Linear| term.as_number().and_then(float_at);
        if let (Some(a), Some(b)) = (known(a), known(b)) {
            let value = match operator {
                K::Plus => a + b,
                K::Minus => a - b,
                K::Star => a * b,
                _ => a / b,
            };
            return if value.is_finite() { literal(value) } else { Term::Opaque };
        }
        let (mut a, mut b) = (a, b);
        if matches!(operator, K::Plus | K::Star) && format!("{a:?}") > format!("{b:?}") {
            (a, b) = (b, a);
        }
        let key = format!("float {operator:?} {a:?} {b:?}");
        let is_new = !self.opaque.contains_key(&key);
        let value = Linear::symbol(self.opaque_symbol(&key));
        if is_new {
            let axioms = facts(operator, a, b, &value);
            self.axioms.extend(axioms);
        }
        Term::Float(value)
    }

    /// The counter-example with floats that a person would choose, where those refute the claim too.
    pub(super) fn plainer_model(&self, goal: &Formula, model: Model) -> Model {
        let mut floats: Vec<Sym> = Vec::new();
        goal.symbols(&mut |sym| {
            if self.floats.contains(&sym) && !floats.contains(&sym) {
                floats.push(sym);
            }
        });
        if floats.len() > MOST_MADE_PLAIN {
            return model;
        }
        let mut model = model;
        let mut refuted = vec![goal.clone().not()];
        for sym in floats {
            let value = |place: i64| Formula::eq(&Linear::symbol(sym), &Linear::number(place));
            let found = PLAIN.iter().find_map(|plain| {
                let mut asked = refuted.clone();
                asked.push(value(place_of(*plain)));
                match self.possible(&asked) {
                    Satisfiability::Sat(found) => Some((found, asked)),
                    _ => None,
                }
            });
            if let Some((found, asked)) = found {
                (model, refuted) = (found, asked);
            }
        }
        model
    }
}

/// Returns facts about a sum, difference, product or quotient that hold for every rounding.
fn facts(operator: K, a: &Linear, b: &Linear, value: &Linear) -> Vec<Formula> {
    let zero = &Linear::number(0);
    let when = |condition: Formula, then: Formula| condition.not().or(then);
    match operator {
        K::Plus => vec![
            when(Formula::le(zero, a), Formula::le(b, value)),
            when(Formula::le(zero, b), Formula::le(a, value)),
            when(Formula::le(a, zero), Formula::le(value, b)),
            when(Formula::le(b, zero), Formula::le(value, a)),
        ],
        K::Minus => vec![
            when(Formula::le(zero, b), Formula::le(value, a)),
            when(Formula::le(b, zero), Formula::le(a, value)),
            // The difference of different floats is never rounded to zero.
            when(Formula::lt(b, a), Formula::lt(zero, value)),
            when(Formula::lt(a, b), Formula::lt(value, zero)),
            when(Formula::eq(a, b), Formula::eq(value, zero)),
        ],
        _ => {
            let same = Formula::le(zero, a).and(Formula::le(zero, b));
            let same = same.or(Formula::le(a, zero).and(Formula::le(b, zero)));
            let other = Formula::le(zero, a).and(Formula::le(b, zero));
            let other = other.or(Formula::le(a, zero).and(Formula::le(zero, b)));
            let mut all = vec![when(same, Formula::le(zero, value)), when(other, Formula::le(value, zero))];
            match operator {
                K::Star => {
                    all.extend(scaled(a, b, value, Scaled::Product));
                    all.extend(scaled(b, a, value, Scaled::Product));
                }
                _ => all.extend(scaled(a, b, value, Scaled::Quotient)),
            }
            all
        }
    }
}

/// The operation that scales a value by a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scaled {
    Product,
    Quotient,
}

/// Returns facts about a value multiplied or divided by a known number: it is not smaller, or not greater, than before.
/// For example, twice a nonzero value is nonzero.
fn scaled(of: &Linear, by: &Linear, value: &Linear, how: Scaled) -> Vec<Formula> {
    let Some(factor) = by.as_number().and_then(float_at).filter(|factor| *factor != 0.0) else { return Vec::new() };
    let zero = &Linear::number(0);
    let minus = |term: &Linear| term.times(&BigInt::from(-1));
    // With the sign of `of`.
    let value = if factor < 0.0 { minus(value) } else { value.clone() };
    let grows = match how {
        Scaled::Product => factor.abs() >= 1.0,
        Scaled::Quotient => factor.abs() <= 1.0,
    };
    let (above, below) = if grows {
        (Formula::le(of, &value), Formula::le(&value, of))
    } else {
        (Formula::le(&value, of), Formula::le(of, &value))
    };
    vec![Formula::lt(of, zero).or(above), Formula::lt(zero, of).or(below)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: [f64; 14] = [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.5e-308,
        0.1,
        -0.1,
        0.30000000000000004,
        1.0,
        -1.0,
        1e17,
        -1e17,
        f64::MAX,
        f64::MIN,
    ];

    #[test]
    fn places_are_in_the_order_of_floats() {
        for a in SOME {
            assert_eq!(float_at(&place_of(a).into()), Some(a));
            assert_eq!(place_of(-a), -place_of(a));
            for b in SOME {
                assert_eq!(a.partial_cmp(&b), Some(place_of(a).cmp(&place_of(b))), "{a} and {b}");
            }
        }
        assert_eq!(float_at(&(place_of(f64::MAX) + 1).into()), None);
    }

    #[test]
    fn what_is_said_of_arithmetic_holds() {
        for a in SOME {
            for b in SOME {
                for (operator, value) in [(K::Plus, a + b), (K::Minus, a - b), (K::Star, a * b), (K::Slash, a / b)] {
                    // Such a value is an error in Erlang.
                    if !value.is_finite() {
                        continue;
                    }
                    let [x, y, z] = [a, b, value].map(|value| Linear::number(place_of(value)));
                    for fact in facts(operator, &x, &y, &z) {
                        assert!(fact.holds(&Model::new()), "{a} {operator:?} {b} is {value}");
                    }
                }
            }
        }
    }
}
