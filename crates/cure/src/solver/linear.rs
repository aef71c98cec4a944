//! Linear terms over integer symbols, and formulas over them.

use std::collections::BTreeMap;

use litemap::LiteMap;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// An unknown integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sym(pub u32);

/// `constant + Σ factor · symbol`
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Linear {
    /// The factors, all nonzero. Nearly every term has one or two, and a checker keeps many terms: a sorted vector takes a
    /// tenth of the memory of a tree's node.
    pub factors: LiteMap<Sym, BigInt>,
    pub constant: BigInt,
}

impl Linear {
    pub(crate) fn number(value: impl Into<BigInt>) -> Linear {
        Linear { factors: LiteMap::new(), constant: value.into() }
    }

    pub(crate) fn symbol(sym: Sym) -> Linear {
        Linear { factors: LiteMap::from_iter([(sym, BigInt::one())]), constant: BigInt::zero() }
    }

    /// The number, if the term is constant.
    pub(crate) fn as_number(&self) -> Option<&BigInt> {
        self.factors.is_empty().then_some(&self.constant)
    }

    /// The symbol, if the term is a single symbol.
    pub(crate) fn as_symbol(&self) -> Option<Sym> {
        let (sym, factor) = self.factors.first()?;
        (self.factors.len() == 1 && factor.is_one() && self.constant.is_zero()).then_some(*sym)
    }

    /// `self + factor · other`
    pub(crate) fn plus(&self, factor: &BigInt, other: &Linear) -> Linear {
        let mut sum = self.clone();
        sum.constant += factor * &other.constant;
        for (sym, times) in &other.factors {
            let times = factor * times;
            match sum.factors.get_mut(sym) {
                Some(known) => {
                    *known += times;
                    if known.is_zero() {
                        sum.factors.remove(sym);
                    }
                }
                None if times.is_zero() => {}
                None => drop(sum.factors.insert(*sym, times)),
            }
        }
        sum
    }

    pub(crate) fn add(&self, other: &Linear) -> Linear {
        self.plus(&BigInt::one(), other)
    }

    pub(crate) fn sub(&self, other: &Linear) -> Linear {
        self.plus(&-BigInt::one(), other)
    }

    pub(crate) fn times(&self, factor: &BigInt) -> Linear {
        Linear::default().plus(factor, self)
    }

    /// Substitutes a term for a symbol.
    pub(crate) fn substitute(&self, sym: Sym, term: &Linear) -> Linear {
        match self.factors.get(&sym) {
            None => self.clone(),
            Some(factor) => {
                let factor = factor.clone();
                let mut rest = self.clone();
                rest.factors.remove(&sym);
                rest.plus(&factor, term)
            }
        }
    }

    /// Its value under this assignment of symbols; missing symbols are zero.
    pub(crate) fn value(&self, model: &BTreeMap<Sym, BigInt>) -> BigInt {
        let zero = BigInt::zero();
        self.factors
            .iter()
            .fold(self.constant.clone(), |sum, (sym, factor)| sum + factor * model.get(sym).unwrap_or(&zero))
    }

    /// The size of its largest number, in bits.
    pub(crate) fn bits(&self) -> u64 {
        self.factors.values().map(BigInt::bits).max().unwrap_or(0).max(self.constant.bits())
    }

    /// The greatest common divisor of the factors.
    pub(super) fn gcd(&self) -> BigInt {
        self.factors.values().fold(BigInt::zero(), |gcd, factor| gcd.gcd(factor))
    }
}

/// A statement about integers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Formula {
    /// `term <= 0`
    AtMostZero(Linear),
    /// `term == 0`
    IsZero(Linear),
    /// A conjunction; the empty one is true.
    And(Vec<Formula>),
    /// A disjunction; the empty one is false.
    Or(Vec<Formula>),
}

impl Formula {
    pub(crate) fn truth(value: bool) -> Formula {
        if value { Formula::And(Vec::new()) } else { Formula::Or(Vec::new()) }
    }

    /// `a <= b`
    pub(crate) fn le(a: &Linear, b: &Linear) -> Formula {
        Formula::AtMostZero(a.sub(b))
    }

    /// `a < b`, over integers.
    pub(crate) fn lt(a: &Linear, b: &Linear) -> Formula {
        Formula::AtMostZero(a.sub(b).add(&Linear::number(1)))
    }

    pub(crate) fn eq(a: &Linear, b: &Linear) -> Formula {
        Formula::IsZero(a.sub(b))
    }

    pub(crate) fn ne(a: &Linear, b: &Linear) -> Formula {
        Formula::eq(a, b).not()
    }

    pub(crate) fn and(self, other: Formula) -> Formula {
        match (self, other) {
            (Formula::And(mut all), Formula::And(more)) => {
                all.extend(more);
                Formula::And(all)
            }
            (Formula::And(mut all), one) | (one, Formula::And(mut all)) => {
                all.push(one);
                Formula::And(all)
            }
            (one, two) => Formula::And(vec![one, two]),
        }
    }

    pub(crate) fn or(self, other: Formula) -> Formula {
        Formula::Or(vec![self, other])
    }

    pub(crate) fn not(self) -> Formula {
        let one = Linear::number(1);
        match self {
            // not (t <= 0) is t >= 1, that is 1 - t <= 0.
            Formula::AtMostZero(term) => Formula::AtMostZero(one.sub(&term)),
            Formula::IsZero(term) => {
                let above = Formula::AtMostZero(one.sub(&term));
                Formula::Or(vec![Formula::AtMostZero(term.add(&one)), above])
            }
            Formula::And(all) => Formula::Or(all.into_iter().map(Formula::not).collect()),
            Formula::Or(any) => Formula::And(any.into_iter().map(Formula::not).collect()),
        }
    }

    /// True if it has more comparisons than this.
    pub(crate) fn is_larger_than(&self, most: usize) -> bool {
        fn count(formula: &Formula, left: &mut usize) -> bool {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            match formula {
                Formula::And(parts) | Formula::Or(parts) => parts.iter().all(|part| count(part, left)),
                Formula::AtMostZero(_) | Formula::IsZero(_) => true,
            }
        }
        !count(self, &mut most.clone())
    }

    /// True if it is true under this assignment of symbols.
    pub(crate) fn holds(&self, model: &BTreeMap<Sym, BigInt>) -> bool {
        match self {
            Formula::AtMostZero(term) => !term.value(model).is_positive(),
            Formula::IsZero(term) => term.value(model).is_zero(),
            Formula::And(all) => all.iter().all(|one| one.holds(model)),
            Formula::Or(any) => any.iter().any(|one| one.holds(model)),
        }
    }

    /// Calls the closure with every symbol in it.
    pub(crate) fn symbols(&self, seen: &mut impl FnMut(Sym)) {
        match self {
            Formula::AtMostZero(term) | Formula::IsZero(term) => term.factors.keys().for_each(|sym| seen(*sym)),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|part| part.symbols(seen)),
        }
    }

    /// Substitutes other terms.
    pub(crate) fn map(&self, change: &impl Fn(&Linear) -> Linear) -> Formula {
        match self {
            Formula::AtMostZero(term) => Formula::AtMostZero(change(term)),
            Formula::IsZero(term) => Formula::IsZero(change(term)),
            Formula::And(parts) => Formula::And(parts.iter().map(|part| part.map(change)).collect()),
            Formula::Or(parts) => Formula::Or(parts.iter().map(|part| part.map(change)).collect()),
        }
    }
}
