//! The positions in a scrutinee, shared by all clauses of a match.

use std::collections::HashMap;

use super::body::{Body, Term};
use super::exhaustive::Path;
use crate::ir::ty::{Len, Ty};
use crate::solver::{Formula, Linear, Sym};
use crate::syntax::ast::Name;

impl Body<'_> {
    /// Records the knowledge about a position that a pattern examines.
    pub(super) fn record_position(&mut self, path: &Path, ty: &Ty, term: &Term, places: &mut Places) {
        let known = match (self.base(ty), term) {
            (Ty::Seq(_, _, Len::Term(length)), _) => PlaceTerm::Length(self.length(&length)),
            (_, Term::Int(term)) => PlaceTerm::Int(term.clone()),
            (_, Term::Bool(formula)) => PlaceTerm::Bool(formula.clone()),
            (_, Term::Float(term)) => PlaceTerm::Float(term.clone()),
            (_, Term::Word(term)) => PlaceTerm::Word(term.clone()),
            // A value of type Any has the tags of atoms and tuples, too.
            (Ty::Con(..), Term::Data(tag, fields)) => PlaceTerm::Tag(tag.clone(), fields.len()),
            _ => PlaceTerm::Opaque,
        };
        let place = PlaceValue { ty: self.resolved(ty), term: known };
        places.seen.insert(path.clone(), place);
    }
}

/// A position in a scrutinee.
#[derive(Debug, Clone)]
pub(crate) struct PlaceValue {
    pub ty: Ty,
    pub term: PlaceTerm,
}

/// The solver's facts about a position.
#[derive(Debug, Clone)]
pub(crate) enum PlaceTerm {
    Opaque,
    Int(Linear),
    Bool(Formula),
    Float(Linear),
    Word(Linear),
    Length(Linear),
    /// The tag of a constructor that is known, and the number of its fields.
    Tag(Name, usize),
}

/// State that all clauses of a match share.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(super) known: HashMap<Path, (Ty, Term, Vec<Formula>)>,
    /// For exhaustiveness: the type of each position.
    pub seen: HashMap<Path, PlaceValue>,
    /// For each position with constructors: the number of the one that it has.
    pub(super) tags: HashMap<Path, Sym>,
    /// The numbers of the texts that patterns name, by the literal.
    pub words: HashMap<String, Linear>,
    /// Facts from the types of the numbers and texts inside; they hold wherever those numbers exist.
    pub conditions: Vec<(Path, Formula)>,
}

impl Places {
    /// True if facts that hold here mention a position.
    pub(super) fn mentions_position(&self, body: &Body<'_>) -> bool {
        let mut symbols = std::collections::HashSet::new();
        let mut involved = false;
        for place in self.seen.values() {
            let mut take = |term: &Linear| {
                // A compound term relates the position to others, and a number is known.
                involved |= term.as_symbol().is_none();
                symbols.extend(term.factors.keys().copied());
            };
            match &place.term {
                PlaceTerm::Opaque | PlaceTerm::Tag(..) => {}
                PlaceTerm::Int(term) | PlaceTerm::Float(term) | PlaceTerm::Word(term) => take(term),
                PlaceTerm::Length(_) => involved = true,
                PlaceTerm::Bool(formula) => {
                    involved |= !matches!(formula, Formula::AtMostZero(_));
                    formula.symbols(&mut |sym| {
                        symbols.insert(sym);
                    });
                }
            }
        }
        let mut found = involved;
        for fact in body.axioms.iter().chain(&body.facts) {
            fact.symbols(&mut |sym| found |= symbols.contains(&sym));
        }
        found
    }
}
