//! Strings and atoms for the solver: each text has a number, so equality of texts is equality of numbers. The solver
//! knows the order of literals and of tested values.

use std::collections::{HashMap, HashSet};

use num_traits::ToPrimitive;

use super::body::{Body, Term};
use crate::solver::{Formula, Linear, Model, Sym};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::Name;

/// A text: a string, or the name of an atom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Text(Name),
    Atom(Name),
}

/// The literals that have been met in a function, by number.
#[derive(Debug, Default)]
pub(super) struct Words {
    all: Vec<Word>,
    numbers: HashMap<Word, usize>,
    /// The symbols that stand for texts.
    pub symbols: HashSet<Sym>,
    /// Those of them that stand for atoms.
    pub atoms: HashSet<Sym>,
}

impl Words {
    /// Another symbol that stands for a text, or for an atom, as this one does.
    pub(super) fn same_kind(&mut self, sym: Sym, other: Sym) {
        self.symbols.insert(other);
        if self.atoms.contains(&sym) {
            self.atoms.insert(other);
        }
    }
}

impl Body<'_> {
    /// The term of a literal.
    pub(super) fn word(&mut self, word: Word) -> Term {
        let next = self.words.all.len();
        let number = *self.words.numbers.entry(word.clone()).or_insert(next);
        if number == next {
            self.words.all.push(word);
        }
        Term::Word(Linear::number(number))
    }

    /// The string that a term is.
    pub(super) fn known_text(&self, term: &Linear) -> Option<&Name> {
        match self.known_word(term)? {
            Word::Text(text) => Some(text),
            Word::Atom(_) => None,
        }
    }

    fn known_word(&self, term: &Linear) -> Option<&Word> {
        self.words.all.get(term.as_number()?.to_usize()?)
    }

    /// A comparison of two texts.
    pub(super) fn compared_words(&mut self, operator: K, a: &Linear, b: &Linear) -> Term {
        let formula = match operator {
            K::EqEq => Formula::eq(a, b),
            K::NotEq => Formula::ne(a, b),
            K::Lt => self.is_before(a, b),
            K::Gt => self.is_before(b, a),
            K::LtEq => self.is_before(b, a).not(),
            K::GtEq => self.is_before(a, b).not(),
            _ => return Term::Opaque,
        };
        Term::Bool(formula)
    }

    fn is_before(&mut self, a: &Linear, b: &Linear) -> Formula {
        match (self.known_word(a), self.known_word(b)) {
            (Some(Word::Text(a) | Word::Atom(a)), Some(Word::Text(b) | Word::Atom(b))) => Formula::truth(a < b),
            _ if a == b => Formula::truth(false),
            _ => {
                let sym = self.opaque_symbol(&format!("text {a:?} < {b:?}"));
                Formula::le(&Linear::number(1), &Linear::symbol(sym))
            }
        }
    }

    /// Strings one after the other: empty if all of them are.
    pub(super) fn joined_words(&mut self, parts: &[&Term]) -> Term {
        let texts = parts.iter().map(|part| match part {
            Term::Word(term) => match self.known_word(term) {
                Some(Word::Text(text)) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        });
        if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
            return self.word(Word::Text(Name::from(texts.concat())));
        }
        let Term::Word(empty) = self.word(Word::Text(Name::from(""))) else { return Term::Opaque };
        let value = self.symbol(None);
        self.words.symbols.insert(value);
        let value = Linear::symbol(value);
        let filled = parts.iter().filter_map(|part| match part {
            Term::Word(term) => Some(Formula::ne(term, &empty)),
            _ => None,
        });
        let filled: Vec<_> = filled.collect();
        // Where one part is not empty, the whole is not; where all are known to be empty, it is.
        let all_known = filled.len() == parts.len();
        if !filled.is_empty() {
            let filled = Formula::Or(filled);
            self.axioms.push(filled.clone().not().or(Formula::ne(&value, &empty)));
            if all_known {
                self.axioms.push(filled.or(Formula::eq(&value, &empty)));
            }
        }
        Term::Word(value)
    }

    /// A text as in the source: a literal, or one that differs from all literals here.
    pub(super) fn show_word(&self, sym: Sym, model: &Model) -> String {
        let number = model.get(&sym).map_or(Some(0), ToPrimitive::to_usize);
        match number.and_then(|number| self.words.all.get(number)) {
            Some(word) => show(word),
            None => {
                let of = if self.words.atoms.contains(&sym) { Word::Atom } else { Word::Text };
                let others = (1..).map(|length| of(Name::from("x".repeat(length))));
                let mut unknown = others.filter(|word| !self.words.numbers.contains_key(word));
                unknown.next().map_or_else(String::new, |word| show(&word))
            }
        }
    }

    /// The numbers of all literals, by their text in the source.
    pub(super) fn all_words(&self) -> impl Iterator<Item = (String, Linear)> {
        self.words.all.iter().enumerate().map(|(number, word)| (show(word), Linear::number(number)))
    }

    /// The literal that a term is, as in the source.
    pub(super) fn show_known_word(&self, term: &Linear) -> Option<String> {
        self.known_word(term).map(show)
    }
}

fn show(word: &Word) -> String {
    match word {
        Word::Text(text) => format!("{text:?}"),
        Word::Atom(name) => format!(":{name}"),
    }
}
