//! The Omega test (W. Pugh, 1991): whether integers satisfy a system of linear equalities and inequalities, and which.
//! Complete: real shadow, dark shadow, then splinters. The budget bounds the work.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use super::linear::{Linear, Sym};
use crate::fuel;

/// Values of symbols.
pub(crate) type Model = BTreeMap<Sym, BigInt>;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Satisfiability {
    /// Satisfiable, for example with these values.
    Sat(Model),
    Unsat,
    /// The budget was spent first.
    Unknown,
}

/// Equalities (`term == 0`) and inequalities (`term <= 0`).
#[derive(Debug, Clone, Default)]
pub(super) struct System {
    pub equal: Vec<Linear>,
    pub at_most: Vec<Linear>,
}

/// Solves a system. `fresh` exceeds every symbol in it; `steps` counts down.
pub(super) fn solve(mut system: System, fresh: u32, steps: &mut u32) -> Satisfiability {
    let mut fresh = fresh;
    // Substitutions, resolved backwards once the other symbols have values.
    let mut replaced: Vec<(Sym, Linear)> = Vec::new();
    while let Some(mut term) = system.equal.pop() {
        let size: usize = system.equal.iter().chain(&system.at_most).map(parts).sum();
        if !spend(steps, 1 + size / SMALL, size) {
            return Satisfiability::Unknown;
        }
        let gcd = term.gcd();
        if gcd.is_zero() {
            if term.constant.is_zero() {
                continue;
            }
            return Satisfiability::Unsat;
        }
        if !term.constant.is_multiple_of(&gcd) {
            return Satisfiability::Unsat;
        }
        if !gcd.is_one() {
            term.constant /= &gcd;
            term.factors.iter_mut().for_each(|(_, factor)| *factor /= &gcd);
        }
        let (sym, factor) = smallest(&term);
        let (value, again) = if factor.abs().is_one() {
            let mut rest = term.clone();
            rest.factors.remove(&sym);
            (rest.times(&-factor), None)
        } else {
            (reduced(&term, sym, &factor, Sym(fresh)), Some(term.clone()))
        };
        fresh += u32::from(again.is_some());
        for other in system.equal.iter_mut().chain(&mut system.at_most) {
            *other = other.substitute(sym, &value);
        }
        system.equal.extend(again.map(|term| term.substitute(sym, &value)));
        replaced.push((sym, value));
    }
    match inequalities(system.at_most, fresh, steps) {
        Satisfiability::Sat(mut model) => {
            for (sym, value) in replaced.into_iter().rev() {
                let value = value.value(&model);
                model.insert(sym, value);
            }
            Satisfiability::Sat(model)
        }
        other => other,
    }
}

/// Charges a cost to the question's steps, and the visited parts of terms to the text's fuel.
fn spend(steps: &mut u32, cost: usize, parts: usize) -> bool {
    let more = fuel::spend(PART.saturating_mul(2 + parts));
    let cost = u32::try_from(cost).unwrap_or(u32::MAX);
    *steps = steps.saturating_sub(cost);
    more && *steps > 0
}

/// The fuel for a part of a term.
const PART: usize = 24;
/// How many parts of a term cost as much as one step.
const SMALL: usize = 64;

/// The size of a term: symbols, plus the words of their factors.
fn parts(term: &Linear) -> usize {
    let words = |number: &BigInt| number.bits() as usize / 64;
    term.factors.values().map(|factor| 1 + words(factor)).sum::<usize>() + 1 + words(&term.constant)
}

fn smallest(term: &Linear) -> (Sym, BigInt) {
    let found = term.factors.iter().min_by_key(|(_, factor)| factor.abs());
    found.map(|(sym, factor)| (*sym, factor.clone())).expect("the term has factors")
}

/// Pugh's step for an equality without a factor of one: a new symbol whose equality has smaller factors.
fn reduced(term: &Linear, sym: Sym, factor: &BigInt, fresh: Sym) -> Linear {
    let modulus = factor.abs() + 1;
    let sign = factor.signum();
    let balanced = |value: &BigInt| {
        let rest = value.mod_floor(&modulus);
        if &rest * 2 < modulus { rest } else { rest - &modulus }
    };
    let mut value = Linear::number(&sign * balanced(&term.constant));
    for (other, times) in &term.factors {
        if *other != sym {
            value = value.plus(&(&sign * balanced(times)), &Linear::symbol(*other));
        }
    }
    value.plus(&(-sign * modulus), &Linear::symbol(fresh))
}

/// Divides by the greatest common divisor of the factors; over integers the constant may be rounded up.
fn tighten(term: &mut Linear) {
    let gcd = term.gcd();
    if gcd > BigInt::one() {
        term.factors.iter_mut().for_each(|(_, factor)| *factor /= &gcd);
        term.constant = -(-&term.constant).div_floor(&gcd);
    }
}

fn inequalities(mut terms: Vec<Linear>, fresh: u32, steps: &mut u32) -> Satisfiability {
    terms.iter_mut().for_each(tighten);
    let mut strongest: BTreeMap<Vec<(Sym, BigInt)>, BigInt> = BTreeMap::new();
    for term in terms {
        if term.factors.is_empty() {
            if term.constant.is_positive() {
                return Satisfiability::Unsat;
            }
            continue;
        }
        let constant = strongest.entry(term.factors.into_tuple_vec()).or_insert_with(|| term.constant.clone());
        if *constant < term.constant {
            *constant = term.constant;
        }
    }
    let terms: Vec<_> = strongest
        .into_iter()
        .map(|(factors, constant)| Linear { factors: factors.into_iter().collect(), constant })
        .collect();
    let size: usize = terms.iter().map(parts).sum();
    if !spend(steps, terms.len() + 1 + size / SMALL, size) {
        return Satisfiability::Unknown;
    }
    let Some(sym) = choose(&terms) else { return Satisfiability::Sat(Model::new()) };
    let (mut lower, mut upper, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for term in &terms {
        match term.factors.get(&sym) {
            None => rest.push(term.clone()),
            Some(factor) if factor.is_positive() => upper.push(term.clone()),
            Some(_) => lower.push(term.clone()),
        }
    }
    let (pairs, each) = (lower.len() * upper.len(), size / terms.len().max(1));
    if !spend(steps, pairs.saturating_mul(1 + each / SMALL), pairs.saturating_mul(2 * each)) {
        return Satisfiability::Unknown;
    }
    let one = |terms: &[Linear]| terms.iter().all(|term| term.factors[&sym].abs().is_one());
    let exact = one(&lower) || one(&upper);
    let shadow = |dark: bool| {
        let mut terms = rest.clone();
        for low in &lower {
            for high in &upper {
                let (a, b) = (&high.factors[&sym], -&low.factors[&sym]);
                let mut term = high.times(&b).plus(a, low);
                if dark {
                    term.constant += (a - 1) * (&b - 1);
                }
                terms.push(term);
            }
        }
        terms
    };
    match inequalities(shadow(!exact), fresh, steps) {
        Satisfiability::Sat(model) => return Satisfiability::Sat(with_value(sym, &lower, &upper, model)),
        Satisfiability::Unknown => return Satisfiability::Unknown,
        Satisfiability::Unsat if exact => return Satisfiability::Unsat,
        Satisfiability::Unsat => {}
    }
    match inequalities(shadow(false), fresh, steps) {
        Satisfiability::Unsat => return Satisfiability::Unsat,
        Satisfiability::Unknown => return Satisfiability::Unknown,
        Satisfiability::Sat(_) => {}
    }
    // Between the shadows: a solution lies close to a lower bound, if there is one.
    let widest = upper.iter().map(|term| &term.factors[&sym]).max().cloned().unwrap_or_default();
    for low in &lower {
        let b = -&low.factors[&sym];
        let mut offset = BigInt::zero();
        let most = (&widest * &b - &widest - &b).div_floor(&widest);
        while offset <= most {
            if !spend(steps, terms.len(), size) {
                return Satisfiability::Unknown;
            }
            let mut equal = low.clone();
            equal.constant += &offset;
            match solve(System { equal: vec![equal], at_most: terms.clone() }, fresh, steps) {
                Satisfiability::Unsat => {}
                other => return other,
            }
            offset += 1;
        }
    }
    Satisfiability::Unsat
}

/// The symbol that is cheapest to eliminate, exactly if possible.
fn choose(terms: &[Linear]) -> Option<Sym> {
    let mut counts: BTreeMap<Sym, (usize, usize, bool, bool)> = BTreeMap::new();
    for term in terms {
        for (sym, factor) in &term.factors {
            let (lower, upper, lower_ones, upper_ones) = counts.entry(*sym).or_insert((0, 0, true, true));
            if factor.is_positive() {
                *upper += 1;
                *upper_ones &= factor.is_one();
            } else {
                *lower += 1;
                *lower_ones &= (-factor).is_one();
            }
        }
    }
    let cost = |(lower, upper, lower_ones, upper_ones): &(usize, usize, bool, bool)| {
        let inexact = *lower > 0 && *upper > 0 && !lower_ones && !upper_ones;
        (inexact, lower * upper)
    };
    counts.iter().min_by_key(|(_, count)| cost(count)).map(|(sym, _)| *sym)
}

/// A value between the bounds, as close to zero as possible: counter-examples should be readable.
fn with_value(sym: Sym, lower: &[Linear], upper: &[Linear], mut model: Model) -> Model {
    model.remove(&sym);
    let bound = |term: &Linear| {
        let factor = &term.factors[&sym];
        let mut rest = term.clone();
        rest.factors.remove(&sym);
        (factor.clone(), rest.value(&model))
    };
    // b·x >= β, so x >= ceil(β / b); here the term is -b·x + β <= 0.
    let least = lower.iter().map(bound).map(|(factor, rest)| -(-rest).div_floor(&-factor)).max();
    let most = upper.iter().map(bound).map(|(factor, rest)| (-rest).div_floor(&factor)).min();
    let value = match (least, most) {
        (Some(least), _) if least.is_positive() => least,
        (_, Some(most)) if most.is_negative() => most,
        _ => BigInt::zero(),
    };
    model.insert(sym, value);
    model
}
