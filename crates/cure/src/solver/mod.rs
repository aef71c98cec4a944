//! The solver for refinements: linear integer arithmetic with all of propositional logic, within a budget of steps. It
//! knows nothing of Cure's types.
//!
//! Start at [`satisfiable`]. It solves the conjunction first and splits only those disjunctions that the model it found
//! violates, so that long chains of `!=` stay cheap.

mod linear;
mod omega;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub(crate) use linear::{Formula, Linear, Sym};
pub(crate) use omega::{Model, Satisfiability};
use omega::{System, solve};

use crate::fuel;

/// The maximal amount of work for one question.
pub(crate) const BUDGET: u32 = 200_000;
/// The maximal number of unknowns in one question.
const MAX_SYMBOLS: usize = 200;

/// Decides whether integers exist for which all the formulas hold.
pub(crate) fn satisfiable(formulas: &[Formula], steps: &mut u32) -> Satisfiability {
    if !fuel::spend(64) {
        return Satisfiability::Unknown;
    }
    let mut fresh = 0;
    let mut symbols = HashSet::new();
    for formula in formulas {
        formula.symbols(&mut |sym| {
            fresh = fresh.max(sym.0 + 1);
            symbols.insert(sym);
        });
    }
    // Each elimination is a level of recursion.
    if symbols.len() > MAX_SYMBOLS {
        return Satisfiability::Unknown;
    }
    let mut conjunction = Conjunction::default();
    for formula in formulas {
        if !conjunction.take(formula) {
            return Satisfiability::Unsat;
        }
    }
    conjunction.solve(fresh, steps)
}

/// The facts that can matter for a question: those that share symbols with it, directly or through others.
pub(crate) fn relevant<'a>(facts: impl Iterator<Item = &'a Formula>, goal: &Formula) -> Vec<&'a Formula> {
    let mut known: HashSet<Sym> = HashSet::new();
    goal.symbols(&mut |sym| {
        known.insert(sym);
    });
    let mut open: Vec<(&Formula, Vec<Sym>)> = facts
        .map(|fact| {
            let mut symbols = Vec::new();
            fact.symbols(&mut |sym| symbols.push(sym));
            fuel::spend(8 + 4 * symbols.len());
            (fact, symbols)
        })
        .collect();
    let mut chosen = Vec::new();
    loop {
        let before = chosen.len();
        fuel::spend(8 * open.len());
        open.retain(|(fact, symbols)| {
            // A fact without symbols is true or makes everything true; either way it belongs to every question.
            let linked = symbols.is_empty() || symbols.iter().any(|sym| known.contains(sym));
            if linked {
                known.extend(symbols);
                chosen.push(*fact);
            }
            !linked
        });
        if chosen.len() == before {
            return chosen;
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Conjunction {
    system: System,
    choices: Vec<Vec<Formula>>,
}

impl Conjunction {
    /// Adds a formula. False if that makes it contradictory at once.
    fn take(&mut self, formula: &Formula) -> bool {
        match formula {
            Formula::AtMostZero(term) => self.system.at_most.push(term.clone()),
            Formula::IsZero(term) => self.system.equal.push(term.clone()),
            Formula::And(all) => return all.iter().all(|one| self.take(one)),
            Formula::Or(any) => match &any[..] {
                [] => return false,
                [only] => return self.take(only),
                _ => self.choices.push(any.clone()),
            },
        }
        true
    }

    fn solve(mut self, fresh: u32, steps: &mut u32) -> Satisfiability {
        let model = match solve(self.system.clone(), fresh, steps) {
            Satisfiability::Sat(model) => model,
            other => return other,
        };
        let violated = |any: &Vec<Formula>| !any.iter().any(|one| one.holds(&model));
        let Some(at) = self.choices.iter().position(violated) else { return Satisfiability::Sat(model) };
        let choice = self.choices.swap_remove(at);
        let mut unsure = false;
        for one in &choice {
            let mut branch = self.clone();
            if !branch.take(one) {
                continue;
            }
            match branch.solve(fresh, steps) {
                Satisfiability::Unsat => {}
                Satisfiability::Unknown => unsure = true,
                found => return found,
            }
        }
        if unsure { Satisfiability::Unknown } else { Satisfiability::Unsat }
    }
}
