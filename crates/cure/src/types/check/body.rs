//! State while one function is checked: unsolved types, the solver's symbols and facts, local variables.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::ir::tree::{Dictionary, Tree, VarId};
use crate::ir::ty::{self, Len, Ty, names_in};
use crate::resolve::scope::Scope;
use crate::solver::{Formula, Linear, Sym};
use crate::syntax::ast::Name;

use super::Checker;
use super::text_numbers::Words;
use crate::fuel;
use crate::types::notes::{self, Note};

/// The solver's representation of a value.
#[derive(Debug, Clone)]
pub(super) enum Term {
    Opaque,
    Int(Linear),
    /// A truth value.
    Bool(Formula),
    /// A float, by its place in the order of all floats.
    Float(Linear),
    /// A string or an atom, by the number of its text.
    Word(Linear),
    /// A tuple of such values.
    Tuple(Vec<Term>),
    /// A constructor or a record with such values, by its tag.
    Data(Name, Vec<Term>),
}

/// Prefix of the names bound by a pipe. No name of a program begins with it.
pub(super) const PIPED: &str = "|>";
/// Name of that value in messages.
const BEFORE_PIPE: &str = "the value before `|>`";

/// A checked expression with its type.
#[derive(Debug)]
pub(super) struct Val {
    pub tree: Tree,
    pub ty: Ty,
    pub term: Term,
}

/// A variable in scope.
#[derive(Debug, Clone)]
pub(super) struct Local {
    pub var: VarId,
    pub ty: Ty,
    pub known: Binding,
}

/// Knowledge about a variable.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Term(Term),
    /// Its type was unknown when it was bound; this symbol becomes its term once the type is known.
    Later(Sym),
    /// A function that is written, for all types in the place of these unsolved ones.
    Function(Vec<u32>),
}

/// An unsolved type.
#[derive(Debug, Default)]
struct Meta {
    /// Its solution.
    ty: Option<Ty>,
    /// True if a class is taken at it. An instance is that of the base type, so its solution has neither conditions nor
    /// lengths.
    of_class: bool,
    /// The oldest variable whose solution mentions it; at first itself.
    level: u32,
}

/// A required dictionary.
#[derive(Debug)]
pub(super) struct Constraint {
    pub class: Name,
    pub ty: Ty,
    pub span: Span,
}

pub(super) struct Body<'p> {
    pub checker: &'p Checker<'p>,
    pub scope: &'p Scope,
    pub errors: Vec<Diagnostic>,
    metas: Vec<Meta>,
    /// Where solutions may be forgotten again: the variables that were solved.
    pub trail: Option<Vec<u32>>,
    symbols: Vec<Option<String>>,
    /// Solved and unsolved lengths.
    pub open_lens: HashSet<Sym>,
    pub lens: HashMap<Sym, Linear>,
    /// Facts that hold on the path to the current expression.
    pub facts: Vec<Formula>,
    /// Facts that hold by the definition of symbols.
    pub axioms: Vec<Formula>,
    /// Symbols for products, quotients and conditions that are opaque to the solver.
    pub opaque: HashMap<String, Sym>,
    /// The symbols that stand for floats.
    pub floats: HashSet<Sym>,
    pub words: Words,
    pub locals: Vec<(Name, Local)>,
    pub vars: u32,
    pub wanted: Vec<Constraint>,
    /// The type parameters of the function.
    pub type_params: Vec<Name>,
    /// Variables for length parameters, and whether their value is used.
    pub lengths_used: HashMap<VarId, bool>,
    /// Dictionary parameters of the function: class, type parameter, variable.
    pub given: Vec<(Name, Ty, VarId)>,
    /// The meaning of names in the types of the head.
    pub head_names: HashMap<Name, Linear>,
    /// Values of the symbols for parameters and names.
    values: HashMap<Sym, Term>,
    /// Type parameters that have different names in the body and in the head.
    pub renamed: HashMap<Name, Name>,
    /// Type of `Self` in a method of an instance.
    pub own: Option<Ty>,
    /// In a machine: the variable with the data of the event.
    pub event: Option<VarId>,
    /// The types that an editor wants to know, if one does.
    noted: Option<Vec<(Span, Ty)>>,
}

impl<'p> Body<'p> {
    pub(super) fn new(checker: &'p Checker<'p>) -> Body<'p> {
        Body {
            checker,
            scope: &checker.scope,
            errors: Vec::new(),
            metas: Vec::new(),
            trail: None,
            symbols: Vec::new(),
            open_lens: HashSet::new(),
            lens: HashMap::new(),
            facts: Vec::new(),
            axioms: Vec::new(),
            opaque: HashMap::new(),
            floats: HashSet::new(),
            words: Words::default(),
            locals: Vec::new(),
            vars: 0,
            wanted: Vec::new(),
            type_params: Vec::new(),
            lengths_used: HashMap::new(),
            given: Vec::new(),
            head_names: HashMap::new(),
            values: HashMap::new(),
            renamed: HashMap::new(),
            own: None,
            event: None,
            noted: notes::is_active(checker.source).then(Vec::new),
        }
    }

    pub(super) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.errors.push(Diagnostic::error(code, span, message));
        self.errors.last_mut().expect("one was pushed")
    }

    /// Notes the type of an expression or of a variable, if an editor wants to know.
    pub(super) fn note(&mut self, span: Span, ty: &Ty) {
        if let Some(noted) = &mut self.noted {
            noted.push((span, ty.clone()));
        }
    }

    /// Passes on the notes when all types are known.
    pub(super) fn hand_on_notes(&mut self) {
        let noted = self.noted.take().unwrap_or_default();
        notes::add(noted.into_iter().map(|(span, ty)| Note { span, ty: self.show(&ty) }));
    }

    pub(super) fn fresh_var(&mut self) -> VarId {
        self.vars += 1;
        self.vars - 1
    }

    pub(super) fn meta(&mut self) -> Ty {
        let level = self.metas.len() as u32;
        self.metas.push(Meta { level, ..Meta::default() });
        Ty::Meta(level)
    }

    /// The number of type variables, by which those are known that are made later.
    pub(super) fn count_metas(&self) -> u32 {
        self.metas.len() as u32
    }

    pub(super) fn bind_meta(&mut self, meta: u32, ty: Ty) {
        let ty = if self.is_of_class(meta) { self.for_class(&ty) } else { ty };
        let level = self.metas[meta as usize].level;
        ty.any(&mut |part| {
            if let Ty::Meta(inner) = part {
                let inner = &mut self.metas[*inner as usize];
                inner.level = inner.level.min(level);
            }
            false
        });
        if let Some(trail) = &mut self.trail {
            trail.push(meta);
        }
        self.metas[meta as usize].ty = Some(ty);
    }

    /// Makes the last variable, a function that was written since `first`, one for all types: each use of it may have others
    /// in the place of what nothing else speaks of. A class of such a type would need a dictionary for each use.
    pub(super) fn generalize(&mut self, first: u32) {
        let Some(ty) = self.locals.last().map(|(_, local)| self.resolved(&local.ty)) else { return };
        let wanted: Vec<Ty> = self.wanted.iter().map(|wanted| self.resolved(&wanted.ty)).collect();
        let mut open: Vec<u32> = Vec::new();
        ty.any(&mut |part| {
            if let Ty::Meta(meta) = part
                && self.is_newer(*meta, first)
                && !self.is_of_class(*meta)
                && !open.contains(meta)
                && !wanted.iter().any(|ty| ty.any(&mut |part| matches!(part, Ty::Meta(other) if other == meta)))
            {
                open.push(*meta);
            }
            false
        });
        if !open.is_empty()
            && let Some((_, local)) = self.locals.last_mut()
        {
            local.ty = ty;
            local.known = Binding::Function(open);
        }
    }

    /// A type with other unsolved types in the place of these.
    pub(super) fn fresh(&mut self, ty: &Ty, metas: &[u32]) -> Ty {
        let fresh: Vec<Ty> = metas.iter().map(|_| self.meta()).collect();
        ty.map(&mut |part| match part {
            Ty::Meta(meta) => metas.iter().position(|known| known == meta).map(|at| fresh[at].clone()),
            _ => None,
        })
    }

    /// The variable that a type is, through all variables that are solved by another one.
    pub(super) fn root(&self, ty: &Ty) -> Option<u32> {
        let Ty::Meta(meta) = ty else { return None };
        let mut meta = *meta;
        while let Some(Ty::Meta(next)) = &self.metas[meta as usize].ty {
            meta = *next;
        }
        Some(meta)
    }

    /// True if nothing older than `first` speaks of a variable.
    pub(super) fn is_newer(&self, meta: u32, first: u32) -> bool {
        self.metas[meta as usize].level >= first
    }

    /// Another solution for a solved variable; returns the one before.
    pub(super) fn rebind(&mut self, meta: u32, ty: Ty) -> Option<Ty> {
        let solved = self.metas[meta as usize].ty.as_mut()?;
        Some(std::mem::replace(solved, ty))
    }

    /// Forgets the solutions of variables.
    pub(super) fn unbind(&mut self, metas: &[u32]) {
        metas.iter().for_each(|meta| self.metas[*meta as usize].ty = None);
    }

    pub(super) fn is_of_class(&self, meta: u32) -> bool {
        self.metas[meta as usize].of_class
    }

    /// Returns the type whose instance is used for values of this type: the base type at every level. Unsolved parts
    /// will also become base types.
    pub(super) fn for_class(&mut self, ty: &Ty) -> Ty {
        let ty = self.resolved(&self.widened(ty));
        ty.any(&mut |part| {
            if let Ty::Meta(meta) = part {
                self.metas[*meta as usize].of_class = true;
            }
            false
        });
        ty
    }

    pub(super) fn symbol(&mut self, name: Option<&str>) -> Sym {
        let name = name.map(|name| if name.starts_with(PIPED) { BEFORE_PIPE } else { name });
        self.symbols.push(name.map(str::to_owned));
        Sym(self.symbols.len() as u32 - 1)
    }

    pub(super) fn symbol_name(&self, sym: Sym) -> Option<&str> {
        self.symbols.get(sym.0 as usize)?.as_deref()
    }

    /// Names a symbol for messages, if it has no name of the program.
    pub(super) fn name_symbol(&mut self, sym: Sym, name: &str) {
        if let Some(known) = self.symbols.get_mut(sym.0 as usize)
            && known.as_ref().is_none_or(|known| known == BEFORE_PIPE)
        {
            *known = Some(name.to_owned());
        }
    }

    /// Records which value a parameter's symbol stands for.
    pub(super) fn record_value(&mut self, sym: Sym, value: &Term) {
        if let Term::Int(term) = value {
            if term.as_symbol() == Some(sym) {
                return;
            }
            self.axioms.push(Formula::eq(&Linear::symbol(sym), term));
        }
        self.values.insert(sym, value.clone());
    }

    /// The term for a number in a type; a parameter's symbol may be bound to another term.
    pub(super) fn bound_term(&self, term: &Linear) -> Term {
        match term.as_symbol().and_then(|sym| self.values.get(&sym)) {
            None | Some(Term::Int(_)) => Term::Int(term.clone()),
            Some(other) => other.clone(),
        }
    }

    /// True if a type mentions values that are newer than `first` and not determined by older values.
    pub(super) fn speaks_of_later(&self, ty: &Ty, first: usize) -> bool {
        self.resolved(ty).any(&mut |part| match part {
            Ty::Seq(_, _, Len::Term(length)) => self.is_later(length, first),
            Ty::Refined(_, pred) => {
                let mut later = false;
                names_in(&pred.condition, &mut |name| {
                    later |= *name != *pred.var
                        && pred.names.get(name).is_some_and(|term| self.is_later(&self.length(term), first));
                });
                later
            }
            _ => false,
        })
    }

    fn is_later(&self, term: &Linear, first: usize) -> bool {
        let later = |sym: &Sym| {
            sym.0 as usize >= first
                && match self.values.get(sym) {
                    Some(Term::Int(term) | Term::Float(term) | Term::Word(term)) => self.is_later(term, first),
                    _ => true,
                }
        };
        term.factors.keys().any(later)
    }

    /// The number of symbols.
    pub(super) fn count(&self) -> usize {
        self.symbols.len()
    }

    /// A symbol for a length, which is never negative.
    pub(super) fn length_symbol(&mut self, name: Option<&str>) -> Linear {
        let length = Linear::symbol(self.symbol(name));
        self.axioms.push(Formula::le(&Linear::number(0), &length));
        length
    }

    /// Resolves the outermost layer of a type, if it is known.
    pub(super) fn shallow(&self, ty: &Ty) -> Ty {
        let mut ty = ty;
        while let Ty::Meta(meta) = ty
            && let Some(known) = &self.metas[*meta as usize].ty
        {
            ty = known;
        }
        match ty {
            Ty::App(head, args) => Ty::applied(self.shallow(head), args.clone()),
            other => other.clone(),
        }
    }

    /// The outermost layer without refinements.
    pub(super) fn base(&self, ty: &Ty) -> Ty {
        match self.shallow(ty) {
            Ty::Refined(base, _) => self.base(&base),
            other => other,
        }
    }

    /// Resolves all known parts of a type.
    pub(super) fn resolved(&self, ty: &Ty) -> Ty {
        ty.map(&mut |part| match part {
            Ty::Meta(meta) => self.metas[*meta as usize].ty.as_ref().map(|known| self.resolved(known)),
            Ty::Seq(seq, element, Len::Term(term)) => {
                Some(Ty::Seq(*seq, Arc::new(self.resolved(element)), Len::Term(self.length(term))))
            }
            _ => None,
        })
    }

    /// Resolves all known parts of a length.
    pub(super) fn length(&self, term: &Linear) -> Linear {
        let mut term = term.clone();
        while let Some((sym, known)) = term.factors.keys().find_map(|sym| Some((*sym, self.lens.get(sym)?))) {
            term = term.substitute(sym, known);
        }
        term
    }

    pub(super) fn show(&self, ty: &Ty) -> String {
        ty::show(&self.resolved(ty), &|sym| self.symbol_name(sym).unwrap_or("_").to_owned())
    }

    pub(super) fn show_both(&self, one: &Ty, other: &Ty) -> (String, String) {
        let name = |sym| self.symbol_name(sym).unwrap_or("_").to_owned();
        ty::show_both(&self.resolved(one), &self.resolved(other), &name)
    }

    /// True if a resolved type exceeds the size limit for types.
    pub(super) fn is_large(&self, ty: &Ty) -> bool {
        ty.is_large(&|meta| self.metas[meta as usize].ty.as_ref())
    }

    pub(super) fn local(&self, name: &str) -> Option<&Local> {
        let found = self.locals.iter().rposition(|(known, _)| **known == *name);
        fuel::spend((self.locals.len() - found.unwrap_or(0)) / 8);
        found.map(|at| &self.locals[at].1)
    }

    /// The facts that follow from a value's type; conditions of its refinements are added to `facts`.
    pub(super) fn term_of(&mut self, ty: &Ty, name: Option<&str>, facts: &mut Vec<Formula>) -> Term {
        let sym = self.symbol(name);
        self.term_at(ty, sym, facts)
    }

    pub(super) fn term_at(&mut self, ty: &Ty, sym: Sym, facts: &mut Vec<Formula>) -> Term {
        let linear = Linear::symbol(sym);
        let term = match self.base(ty) {
            base if base.is_con("Int") => Term::Int(linear),
            base if base.is_con("Bool") => {
                facts.push(Formula::le(&Linear::number(0), &linear).and(Formula::le(&linear, &Linear::number(1))));
                Term::Bool(Formula::le(&Linear::number(1), &linear))
            }
            base if base.is_con("Float") => {
                self.floats.insert(sym);
                Term::Float(linear)
            }
            base if base.is_con("String") || base.is_con("Atom") => {
                self.words.symbols.insert(sym);
                if base.is_con("Atom") {
                    self.words.atoms.insert(sym);
                }
                Term::Word(linear)
            }
            _ => Term::Opaque,
        };
        let mut layer = self.shallow(ty);
        while let Ty::Refined(base, pred) = layer {
            let formula = self.predicate(&pred, &term);
            facts.push(formula);
            layer = self.shallow(&base);
        }
        term
    }

    /// The type of a variable: an unspecified length gets a name, so that all uses agree on it.
    pub(super) fn opened(&mut self, ty: &Ty) -> Ty {
        match self.shallow(ty) {
            Ty::Seq(seq, element, Len::Unknown) => {
                let length = self.length_symbol(None);
                Ty::Seq(seq, element, Len::Term(length))
            }
            other => other,
        }
    }

    /// Brings a variable into scope.
    pub(super) fn bind(&mut self, name: &Name, ty: &Ty, known: Option<Term>) -> VarId {
        let var = self.fresh_var();
        let ty = self.opened(ty);
        let known = match known {
            Some(Term::Opaque) | None if matches!(ty, Ty::Meta(_)) => Binding::Later(self.symbol(Some(name))),
            None => {
                let mut facts = Vec::new();
                let term = self.term_of(&ty, Some(name), &mut facts);
                self.facts.extend(facts);
                Binding::Term(term)
            }
            Some(term) => Binding::Term(term),
        };
        self.locals.push((name.clone(), Local { var, ty, known }));
        var
    }
}

/// A checked function's dictionaries, by hole.
pub(crate) type Dictionaries = Vec<Option<Dictionary>>;
