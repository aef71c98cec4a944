//! Translates conditions to formulas and passes them to the solver.

use std::collections::HashSet;

use super::body::{Body, Term};
use super::floats;
use super::text_numbers::Word;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::fuel;
use crate::ir::ty::{Pred, names_in};
use crate::solver::{BUDGET, Formula, Linear, Model, Satisfiability, Sym, relevant, satisfiable};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The maximal size, in comparisons, of conditions that the solver looks into.
const MOST_PARTS: usize = 500;

/// The answer to a question.
#[derive(Debug)]
pub(super) enum Proof {
    /// The claim holds.
    Holds,
    /// The claim fails for these values.
    Refuted(Model),
    /// The budget was spent.
    Unknown,
}

/// Maximum number of clauses. Of a match with more, the value is unknown.
pub(super) const MOST_WAYS: usize = 16;

impl Body<'_> {
    /// The value of a match is that of one of its ways, each with the tests that lead to it.
    pub(super) fn one_of(&mut self, value: &Term, ways: &[(Vec<Formula>, Term)]) {
        if ways.len() > MOST_WAYS {
            return;
        }
        let same = |(way, term): &(Vec<Formula>, Term)| {
            let same = match (value, term) {
                (Term::Int(value), Term::Int(term))
                | (Term::Float(value), Term::Float(term))
                | (Term::Word(value), Term::Word(term)) => Formula::eq(value, term),
                _ => return None,
            };
            Some(Formula::And(way.iter().cloned().chain([same]).collect()))
        };
        self.facts.extend(ways.iter().map(same).collect::<Option<Vec<_>>>().map(Formula::Or));
    }

    /// The condition of a refinement for this value.
    pub(super) fn predicate(&mut self, pred: &Pred, value: &Term) -> Formula {
        let mut named: Vec<(&str, Term)> = vec![(&*pred.var, value.clone())];
        if !pred.names.is_empty() {
            names_in(&pred.condition, &mut |name| {
                if let Some((name, term)) = pred.names.get_key_value(name)
                    && !named.iter().any(|(known, _)| *known == &**name)
                {
                    named.push((name, self.bound_term(term)));
                }
            });
        }
        let known = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, term)| term);
        if let Term::Bool(formula) = self.condition(&pred.condition, &|name| known(name).cloned()) {
            return formula;
        }
        // An opaque condition: equal values give equal results, if the values are known.
        let sym = match substitute(&pred.condition, &known) {
            Some(key) => self.opaque_symbol(&key),
            None => self.symbol(None),
        };
        Formula::le(&Linear::number(1), &Linear::symbol(sym))
    }

    pub(super) fn opaque_symbol(&mut self, key: &str) -> crate::solver::Sym {
        if let Some(sym) = self.opaque.get(key) {
            return *sym;
        }
        let sym = self.symbol(None);
        self.opaque.insert(key.to_owned(), sym);
        sym
    }

    /// A written condition, over the meanings of its names.
    pub(super) fn condition(&mut self, expr: &Expr, names: &dyn Fn(&str) -> Option<Term>) -> Term {
        if !fuel::spend(8) {
            return Term::Opaque;
        }
        match &expr.kind {
            ExprKind::Int(value) => Term::Int(Linear::number(value.clone())),
            ExprKind::Float(value) => floats::literal(*value),
            ExprKind::Str(text) => self.word(Word::Text(Name::from(&**text))),
            ExprKind::Atom(name) => self.word(Word::Atom(name.clone())),
            ExprKind::Bool(value) => Term::Bool(Formula::truth(*value)),
            ExprKind::Name(name) => names(name).unwrap_or(Term::Opaque),
            ExprKind::Unary(operator, inner) => {
                let inner = self.condition(inner, names);
                self.unary_term(*operator, &inner)
            }
            ExprKind::Binary(operator, _, left, right) => {
                let (left, right) = (self.condition(left, names), self.condition(right, names));
                self.binary_term(*operator, &left, &right)
            }
            _ => Term::Opaque,
        }
    }

    pub(super) fn unary_term(&mut self, operator: K, inner: &Term) -> Term {
        match (operator, inner) {
            (K::Minus, Term::Int(term)) => Term::Int(term.times(&(-1).into())),
            (K::Minus, Term::Float(term)) => Term::Float(term.times(&(-1).into())),
            (K::Plus, _) => inner.clone(),
            (K::NotKw, Term::Bool(formula)) => Term::Bool(formula.clone().not()),
            _ => Term::Opaque,
        }
    }

    pub(super) fn binary_term(&mut self, operator: K, left: &Term, right: &Term) -> Term {
        match (left, right) {
            (Term::Int(a), Term::Int(b)) => match operator {
                K::Plus => Term::Int(a.add(b)),
                K::Minus => Term::Int(a.sub(b)),
                K::Star => self.product(a, b),
                K::Slash | K::Percent => self.division(operator, a, b),
                _ => compare(operator, a, b),
            },
            (Term::Float(a), Term::Float(b)) => match operator {
                K::Plus | K::Minus | K::Star | K::Slash => self.float_arithmetic(operator, a, b),
                _ => compare(operator, a, b),
            },
            (Term::Word(a), Term::Word(b)) => self.compared_words(operator, a, b),
            (Term::Bool(a), Term::Bool(b)) if a.is_larger_than(MOST_PARTS) || b.is_larger_than(MOST_PARTS) => {
                Term::Opaque
            }
            (Term::Bool(a), Term::Bool(b)) => match operator {
                K::AndKw => Term::Bool(a.clone().and(b.clone())),
                K::OrKw => Term::Bool(a.clone().or(b.clone())),
                K::EqEq => Term::Bool(a.clone().and(b.clone()).or(a.clone().not().and(b.clone().not()))),
                K::NotEq => Term::Bool(a.clone().and(b.clone().not()).or(a.clone().not().and(b.clone()))),
                _ => Term::Opaque,
            },
            // One known side is enough for these operators.
            (Term::Bool(_), _) | (_, Term::Bool(_)) if matches!(operator, K::AndKw | K::OrKw) => {
                let mut side = |term: &Term| match term {
                    Term::Bool(formula) => formula.clone(),
                    _ => {
                        let sym = self.symbol(None);
                        Formula::le(&Linear::number(1), &Linear::symbol(sym))
                    }
                };
                let (a, b) = (side(left), side(right));
                Term::Bool(if operator == K::AndKw { a.and(b) } else { a.or(b) })
            }
            _ => Term::Opaque,
        }
    }

    /// Tries to prove that the formula holds here.
    pub(super) fn prove(&self, goal: &Formula) -> Proof {
        if goal.holds(&Model::new()) && no_symbols(goal) {
            return Proof::Holds;
        }
        match self.possible(&[goal.clone().not()]) {
            Satisfiability::Unsat => Proof::Holds,
            Satisfiability::Sat(_) if self.is_dead() => Proof::Holds,
            Satisfiability::Sat(model) => Proof::Refuted(model),
            Satisfiability::Unknown => Proof::Unknown,
        }
    }

    /// True if this place is unreachable: the facts contradict each other, possibly even without the question.
    fn is_dead(&self) -> bool {
        let facts = self.axioms.iter().chain(&self.facts);
        let all: Vec<_> = facts.map(|formula| formula.map(&|term| self.length(term))).collect();
        matches!(satisfiable(&all, &mut BUDGET.clone()), Satisfiability::Unsat)
    }

    /// Decides whether these formulas are satisfiable here.
    pub(super) fn possible(&self, formulas: &[Formula]) -> Satisfiability {
        let known = |formula: &Formula| formula.map(&|term| self.length(term));
        let goal = Formula::And(formulas.iter().map(known).collect());
        let facts = self.axioms.iter().chain(&self.facts);
        let mut all: Vec<Formula> = if self.lens.is_empty() {
            relevant(facts, &goal).into_iter().cloned().collect()
        } else {
            let facts: Vec<_> = facts.map(known).collect();
            relevant(facts.iter(), &goal).into_iter().cloned().collect()
        };
        all.push(goal);
        match satisfiable(&all, &mut BUDGET.clone()) {
            Satisfiability::Unknown => nearest(&all),
            found => found,
        }
    }

    /// Reports a value that does not fit; the message is built only if it is needed.
    pub(super) fn require(
        &mut self,
        goal: &Formula,
        span: Span,
        refuted: code::Pair,
        what: impl FnOnce(&Self) -> String,
        hint: Option<&str>,
    ) {
        let proof = self.prove(goal);
        if matches!(proof, Proof::Holds) || fuel::is_spent() {
            return;
        }
        let what = what(self);
        let unproved = |what: &str| Diagnostic::error(refuted.1, span, format!("could not prove that {}", claim(what)));
        let error = match proof {
            Proof::Refuted(model) => match self.example(goal, model) {
                Some(example) if example.is_empty() => Diagnostic::error(refuted.0, span, what),
                Some(example) => Diagnostic::error(refuted.0, span, what).hint(format!("not so when {example}")),
                None if hint.is_some() => unproved(&what),
                None => unproved(&what).hint(self.advice(span)),
            },
            Proof::Holds | Proof::Unknown => unproved(&what)
                .hint("the conditions are too many or too involved; say the needed fact in a type or a guard"),
        };
        self.errors.push(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        });
    }

    /// Returns advice about a value with insufficient facts. The solver learns only from operators; each call may
    /// return another value, and a previous test was about another condition.
    fn advice(&self, span: Span) -> String {
        let text = span.text(self.checker.source);
        let test = "with operators in `if`, `match` or a guard, or refine the type that it comes with";
        if text.contains('(') {
            format!(
                "too little is known of this value here; name it with `let`, and test exactly that of the name, {test}"
            )
        } else {
            format!("too little is known of this value here; test exactly that, {test}")
        }
    }

    /// The named values of a counter-example; `None` if a relevant value has no name.
    fn example(&self, goal: &Formula, model: Model) -> Option<String> {
        let goal = goal.map(&|term| self.length(term));
        let mut named = Vec::new();
        let mut hidden = false;
        goal.symbols(&mut |sym| hidden |= self.symbol_name(sym).is_none());
        if hidden {
            return None;
        }
        let model = self.plainer_model(&goal, model);
        goal.symbols(&mut |sym| {
            if let Some(name) = self.symbol_name(sym) {
                let value = self.shown_value(sym, &model);
                let text = format!("{name} = {value}");
                if !named.contains(&text) {
                    named.push(text);
                }
            }
        });
        Some(named.join(", "))
    }

    /// A symbol's value in a counter-example, as in the source.
    fn shown_value(&self, sym: Sym, model: &Model) -> String {
        if self.words.symbols.contains(&sym) {
            return self.show_word(sym, model);
        }
        let value = model.get(&sym).cloned().unwrap_or_default();
        match floats::float_at(&value) {
            Some(float) if self.floats.contains(&sym) => floats::show(float),
            _ => value.to_string(),
        }
    }
}

/// Returns the condition as a claim for messages, which begin with the error.
fn claim(what: &str) -> String {
    what.replacen(" does not hold", " holds", 1)
        .replacen(" may be zero", " is never zero", 1)
        .replacen("does not fit", "fits", 1)
        .trim_end_matches(": it is too short")
        .to_owned()
}

/// A condition with its values substituted; `None` if they are not known.
fn substitute<'v>(expr: &Expr, known: &dyn Fn(&str) -> Option<&'v Term>) -> Option<String> {
    Some(match &expr.kind {
        ExprKind::Name(name) => identity(known(name)?)?,
        ExprKind::Unary(operator, inner) => format!("{operator:?} {}", substitute(inner, known)?),
        ExprKind::Binary(operator, _, left, right) => {
            format!("({} {operator:?} {})", substitute(left, known)?, substitute(right, known)?)
        }
        literal => format!("{literal:?}"),
    })
}

/// The head that distinguishes a value, if known.
fn identity(term: &Term) -> Option<String> {
    match term {
        Term::Opaque => None,
        Term::Int(_) | Term::Bool(_) | Term::Float(_) | Term::Word(_) => Some(format!("{term:?}")),
        Term::Tuple(parts) | Term::Data(_, parts) => {
            let parts = parts.iter().map(identity).collect::<Option<Vec<_>>>()?;
            let tag = if let Term::Data(tag, _) = term { &**tag } else { "" };
            Some(format!("{tag}({})", parts.join(", ")))
        }
    }
}

/// Where the facts are too many, those that share a symbol with the question may be enough.
fn nearest(all: &[Formula]) -> Satisfiability {
    let Some((goal, facts)) = all.split_last() else { return Satisfiability::Unknown };
    let mut asked = HashSet::new();
    goal.symbols(&mut |sym| {
        asked.insert(sym);
    });
    let near = facts.iter().filter(|fact| {
        let mut shares = false;
        fact.symbols(&mut |sym| shares |= asked.contains(&sym));
        shares
    });
    let near: Vec<Formula> = near.chain([goal]).cloned().collect();
    // They help only if they are few.
    if 2 * near.len() > all.len() {
        return Satisfiability::Unknown;
    }
    match satisfiable(&near, &mut (BUDGET / 8)) {
        Satisfiability::Unsat => Satisfiability::Unsat,
        _ => Satisfiability::Unknown,
    }
}

fn no_symbols(formula: &Formula) -> bool {
    let mut none = true;
    formula.symbols(&mut |_| none = false);
    none
}

fn compare(operator: K, a: &Linear, b: &Linear) -> Term {
    Term::Bool(match operator {
        K::Lt => Formula::lt(a, b),
        K::Gt => Formula::lt(b, a),
        K::LtEq => Formula::le(a, b),
        K::GtEq => Formula::le(b, a),
        K::EqEq => Formula::eq(a, b),
        K::NotEq => Formula::ne(a, b),
        _ => return Term::Opaque,
    })
}
