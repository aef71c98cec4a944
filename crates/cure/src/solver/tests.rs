//! The solver against exhaustive search, and questions that rational arithmetic answers wrongly.

use num_bigint::BigInt;

use super::*;
use testkit::Random;

fn factor(random: &mut Random) -> BigInt {
    BigInt::from(random.below(9) as i64 - 4)
}

fn term(random: &mut Random) -> Linear {
    let mut term = Linear::number(random.below(21) as i64 - 10);
    for sym in 0..3 {
        term = term.plus(&factor(random), &Linear::symbol(Sym(sym)));
    }
    term
}

fn formula(random: &mut Random, depth: u32) -> Formula {
    match random.below(if depth == 0 { 2 } else { 4 }) {
        0 => Formula::AtMostZero(term(random)),
        1 => Formula::IsZero(term(random)),
        2 => formula(random, depth - 1).and(formula(random, depth - 1)),
        _ => formula(random, depth - 1).or(formula(random, depth - 1).not()),
    }
}

#[test]
fn agrees_with_exhaustive_search_in_a_box() {
    const SIDE: i64 = 3;
    let mut random = Random::new(1);
    let (mut sat, mut unsat) = (0, 0);
    for _ in 0..800 {
        let mut formulas: Vec<_> = (0..4).map(|_| formula(&mut random, 2)).collect();
        for sym in 0..3 {
            let sym = Linear::symbol(Sym(sym));
            formulas.push(Formula::le(&sym, &Linear::number(SIDE)));
            formulas.push(Formula::le(&Linear::number(-SIDE), &sym));
        }
        let side = -SIDE..=SIDE;
        let exists = side.clone().any(|a| {
            side.clone().any(|b| {
                side.clone().any(|c| {
                    let values = [a, b, c].into_iter().enumerate();
                    let model: Model = values.map(|(at, value)| (Sym(at as u32), BigInt::from(value))).collect();
                    formulas.iter().all(|formula| formula.holds(&model))
                })
            })
        });
        match satisfiable(&formulas, &mut BUDGET.clone()) {
            Satisfiability::Sat(model) => {
                assert!(formulas.iter().all(|formula| formula.holds(&model)), "{formulas:?} with {model:?}");
                assert!(exists);
                sat += 1;
            }
            Satisfiability::Unsat => {
                assert!(!exists, "{formulas:?} has a solution");
                unsat += 1;
            }
            Satisfiability::Unknown => panic!("spent the budget on {formulas:?}"),
        }
    }
    assert!(sat > 50 && unsat > 50, "both kinds are met: {sat} and {unsat}");
}

#[test]
fn knows_that_integers_have_gaps() {
    let (x, y) = (Linear::symbol(Sym(0)), Linear::symbol(Sym(1)));
    let number = |value: i64| Linear::number(value);
    let odd = Formula::eq(&x.times(&2.into()), &y.times(&2.into()).add(&number(1)));
    assert_eq!(satisfiable(&[odd], &mut BUDGET.clone()), Satisfiability::Unsat);
    let between = [Formula::lt(&number(0), &x.times(&3.into())), Formula::lt(&x.times(&3.into()), &number(3))];
    assert_eq!(satisfiable(&between, &mut BUDGET.clone()), Satisfiability::Unsat);
    // Pugh's example: a rational solution, no integer one.
    let inner = x.times(&11.into()).add(&y.times(&13.into()));
    let other = x.times(&7.into()).sub(&y.times(&9.into()));
    let pugh = [
        Formula::le(&number(27), &inner),
        Formula::le(&inner, &number(45)),
        Formula::le(&number(-10), &other),
        Formula::le(&other, &number(4)),
    ];
    assert_eq!(satisfiable(&pugh, &mut BUDGET.clone()), Satisfiability::Unsat);
    let equal = Formula::eq(&x.times(&7.into()).add(&y.times(&12.into())), &number(31));
    assert!(matches!(satisfiable(&[equal], &mut BUDGET.clone()), Satisfiability::Sat(_)));
}
