//! Checks expressions: bidirectional, inferring where no type is expected and checking where one is.

use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::floats;
use super::literals::characters;
use super::text_numbers::Word;
use super::value_conditions::Flow;
use crate::diagnostic::{Span, code};
use crate::fuel;
use crate::ir::form::{Literal, Operation};
use crate::ir::tree::{Shape, Tree, TreeKind};
use crate::ir::ty::{Len, MOST_PARTS, Seq, Ty};
use crate::solver::{Formula, Linear};
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::*;

pub(super) fn tree(kind: TreeKind, span: Span) -> Tree {
    Tree { kind, span }
}

impl Body<'_> {
    /// The tree for an invalid expression.
    pub(super) fn wrong(&self, span: Span) -> Val {
        Val { tree: tree(TreeKind::Literal(Literal::atom("wrong")), span), ty: Ty::Wrong, term: Term::Opaque }
    }

    pub(super) fn check(&mut self, expr: &Expr, expected: &Ty) -> Val {
        if fuel::is_spent() {
            return self.too_much(expr.span);
        }
        let wanted = self.shallow(expected);
        let base = self.base(&wanted);
        // A refinement of the whole is checked after its parts.
        let plain = !matches!(wanted, Ty::Refined(..));
        match (&expr.kind, &base) {
            (ExprKind::Block(statements), _) => self.block(statements, Some(&wanted), expr.span),
            (ExprKind::Match(scrutinee, clauses), _) => self.match_expr(scrutinee, clauses, Some(&wanted), expr.span),
            (ExprKind::If(condition, then, otherwise), _) => {
                self.choice(condition, then, otherwise, Some(&wanted), expr.span)
            }
            (ExprKind::Lambda(params, body), Ty::Fn(types, result)) if plain && params.len() == types.len() => {
                let (types, result) = (types.clone(), (**result).clone());
                self.lambda(params, body, Some((&types, &result)), expr.span)
            }
            // The expected type decides between list and vector.
            (ExprKind::List(elements, rest), Ty::Seq(seq, element, _)) => {
                // A choice after the first elements needs the expected length.
                let val = if rest.is_none() && self.says_nothing(expected, element, expr) {
                    self.inferred_list(*seq, elements, None, expr.span)
                } else {
                    self.list(elements, rest.as_deref(), &base, expr.span)
                };
                self.coerce(val, &wanted, expr.span)
            }
            // The elements' values matter only if their type is more specific than Int.
            (ExprKind::Charlist(text), Ty::Seq(seq, element, _))
                if *seq == Seq::Vector || matches!(self.shallow(element), Ty::Refined(..)) =>
            {
                let code = |c: char| Expr { kind: ExprKind::Int(u32::from(c).into()), span: expr.span };
                let val = self.list(&text.chars().map(code).collect::<Vec<_>>(), None, &base, expr.span);
                self.coerce(val, &wanted, expr.span)
            }
            (ExprKind::Vector(elements), Ty::Seq(Seq::Vector, element, _)) => {
                let val = if self.says_nothing(expected, element, expr) {
                    self.inferred_list(Seq::Vector, elements, None, expr.span)
                } else {
                    self.list(elements, None, &base, expr.span)
                };
                self.coerce(val, &wanted, expr.span)
            }
            (
                ExprKind::Binary(operator @ (K::PlusPlus | K::MinusMinus), _, left, right),
                Ty::Seq(Seq::List, element, _),
            ) if !self.is_own_operator(*operator) && !self.says_nothing(expected, element, expr) => {
                let val = self.joined(*operator, left, right, Some(element), expr.span);
                self.coerce(val, &wanted, expr.span)
            }
            (ExprKind::Tuple(parts), Ty::Tuple(types)) if plain && parts.len() == types.len() => {
                let vals = parts.iter().zip(types).map(|(part, ty)| self.check(part, ty)).collect();
                self.tuple(vals, expr.span)
            }
            (ExprKind::Name(name), Ty::Fn(params, _)) if self.local(name).is_none() => {
                let val = self.function_value(name, Some(params.len() as u32), expr.span);
                self.coerce(val, &wanted, expr.span)
            }
            (ExprKind::Field(..), Ty::Fn(params, _)) if self.qualified(expr).is_some() => {
                let arity = Some(params.len() as u32);
                let val = match self.qualified(expr) {
                    Some((module, function)) => self.qualified_value(expr, &module, &function, arity),
                    None => self.wrong(expr.span),
                };
                self.coerce(val, &wanted, expr.span)
            }
            (ExprKind::Call(..), _) => {
                let val = self.infer_with(expr, Some(&wanted));
                let (errors, through_class) = (self.errors.len(), is_through_class(&val.tree));
                let val = self.coerce(val, &wanted, expr.span);
                let error = self.errors[errors..].first_mut().filter(|error| error.code != code::MISMATCH);
                if through_class && let Some(error) = error {
                    let hint = "what a class gives back is of the base type: its conditions and lengths are lost";
                    error.hints.push(hint.to_owned());
                }
                val
            }
            (ExprKind::Chain(operator, at, operands), _) => match self.chain(*operator, *at, operands) {
                Some(whole) => self.check(&whole, &wanted),
                None => self.wrong(expr.span),
            },
            (ExprKind::Name(_) | ExprKind::Record(..), _) => {
                let mut val = self.infer_with(expr, Some(&wanted));
                if self.event.is_some() && base.is_con("Int") {
                    val = self.event_number(val);
                }
                self.coerce(val, &wanted, expr.span)
            }
            _ => {
                let val = self.infer(expr);
                self.coerce(val, &wanted, expr.span)
            }
        }
    }

    pub(super) fn infer(&mut self, expr: &Expr) -> Val {
        self.infer_with(expr, None)
    }

    /// Like `infer`, with an expected type as a hint for metavariables.
    fn infer_with(&mut self, expr: &Expr, hint: Option<&Ty>) -> Val {
        if !fuel::spend(8) {
            return self.too_much(expr.span);
        }
        let val = self.inferred(expr, hint);
        self.note(expr.span, &val.ty);
        if !self.is_large(&val.ty) {
            return val;
        }
        // Reported once per function: types built on this one grow as well.
        if !self.errors.iter().any(|error| error.code == code::LARGE_TYPE) {
            let message = format!("the type of this has more than {MOST_PARTS} parts");
            let error = self.error(code::LARGE_TYPE, expr.span, message);
            error.hints.push("a record is one part, whatever it holds".to_owned());
        }
        self.wrong(expr.span)
    }

    /// Returns the tree of an expression that exceeds the limits. Reports this once.
    fn too_much(&mut self, span: Span) -> Val {
        if !self.checker.spent.replace(true) {
            self.errors.push(fuel::too_much(span));
        }
        self.wrong(span)
    }

    fn inferred(&mut self, expr: &Expr, hint: Option<&Ty>) -> Val {
        let span = expr.span;
        let literal =
            |literal: Literal, ty: Ty, term: Term| Val { tree: tree(TreeKind::Literal(literal), span), ty, term };
        match &expr.kind {
            ExprKind::Int(value) => {
                literal(Literal::Int(value.clone()), Ty::int(), Term::Int(Linear::number(value.clone())))
            }
            ExprKind::Float(value) => literal(Literal::Float(*value), Ty::float(), floats::literal(*value)),
            ExprKind::Str(text) => {
                let term = self.word(Word::Text(Name::from(&**text)));
                literal(Literal::string(text), Ty::string(), term)
            }
            ExprKind::Charlist(text) => {
                let codes: Vec<_> = text.chars().map(|c| Literal::Int(u32::from(c).into())).collect();
                let length = Len::Term(Linear::number(codes.len()));
                let element = Arc::new(characters(text));
                literal(Literal::List(codes), Ty::Seq(Seq::List, element, length), Term::Opaque)
            }
            ExprKind::Atom(name) => {
                let term = self.word(Word::Atom(name.clone()));
                literal(Literal::Atom(name.clone()), Ty::atom(), term)
            }
            ExprKind::Bool(value) => literal(
                Literal::atom(if *value { "true" } else { "false" }),
                Ty::bool(),
                Term::Bool(Formula::truth(*value)),
            ),
            ExprKind::Unit => literal(Literal::atom("unit"), Ty::unit(), Term::Opaque),
            ExprKind::Interpolation(pieces) => self.interpolation(pieces, span),
            ExprKind::Name(name) => self.name(name, hint, span),
            ExprKind::Call(callee, args) => self.call(callee, args, hint, span),
            ExprKind::Field(base, field) => self.field(expr, base, field),
            ExprKind::List(elements, rest) => {
                let seq = if rest.as_ref().is_some_and(|rest| self.is_vector(rest)) { Seq::Vector } else { Seq::List };
                self.inferred_list(seq, elements, rest.as_deref(), span)
            }
            ExprKind::Vector(elements) => self.inferred_list(Seq::Vector, elements, None, span),
            ExprKind::Tuple(parts) => {
                let vals = parts.iter().map(|part| self.infer(part)).collect();
                self.tuple(vals, span)
            }
            ExprKind::Record(name, fields) => self.record(name, fields, hint, span),
            ExprKind::Update(name, base, fields) => self.update(name, base, fields, span),
            ExprKind::Unary(operator, inner) => self.unary(*operator, inner, span),
            ExprKind::Binary(operator, at, left, right) => self.binary(*operator, *at, left, right, span),
            ExprKind::Chain(operator, at, operands) => match self.chain(*operator, *at, operands) {
                Some(whole) => self.infer(&whole),
                None => self.wrong(span),
            },
            ExprKind::As(inner, ty) => {
                let ty = self.written(ty);
                let val = self.check(inner, &ty);
                let term = match val.term {
                    // From here on the type's facts hold, even for values that were known before.
                    Term::Opaque => self.known_of(&ty),
                    known => known,
                };
                Val { ty, term, ..val }
            }
            ExprKind::Lambda(params, body) => self.lambda(params, body, None, span),
            ExprKind::Block(statements) => self.block(statements, None, span),
            ExprKind::Match(scrutinee, clauses) => self.match_expr(scrutinee, clauses, None, span),
            ExprKind::If(condition, then, otherwise) => self.choice(condition, then, otherwise, None, span),
            ExprKind::Missing => self.wrong(span),
        }
    }

    /// The refinement holds for a value that was checked against it: as the common value of branches, each with its own
    /// facts, or as a field.
    pub(super) fn both_fit(&mut self, expected: &Ty, term: &Term) {
        let mut layer = self.shallow(expected);
        while let Ty::Refined(base, pred) = layer {
            let formula = self.predicate(&pred, term);
            self.facts.push(formula);
            layer = self.shallow(&base);
        }
    }

    /// The facts that follow from a value's type alone.
    fn known_of(&mut self, ty: &Ty) -> Term {
        let mut facts = Vec::new();
        let term = self.term_of(ty, None, &mut facts);
        self.facts.extend(facts);
        term
    }

    fn tuple(&mut self, vals: Vec<Val>, span: Span) -> Val {
        let (mut trees, mut types, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for val in vals {
            trees.push(val.tree);
            types.push(val.ty);
            terms.push(val.term);
        }
        Val { tree: tree(TreeKind::Tuple(trees), span), ty: Ty::Tuple(types), term: Term::Tuple(terms) }
    }

    fn interpolation(&mut self, pieces: &[Piece], span: Span) -> Val {
        let (mut parts, mut terms) = (Vec::new(), Vec::new());
        for piece in pieces {
            let (part, term) = match piece {
                Piece::Text(text) => {
                    let term = self.word(Word::Text(Name::from(&**text)));
                    (tree(TreeKind::Literal(Literal::string(text)), span), term)
                }
                Piece::Value(value) => {
                    let val = self.infer(value);
                    if self.base(&val.ty).is_con("String") || matches!(val.ty, Ty::Wrong) {
                        (val.tree, val.term)
                    } else {
                        (self.show_value(val, value.span), Term::Opaque)
                    }
                }
            };
            parts.push(part);
            terms.push(term);
        }
        let parts = tree(TreeKind::List(parts, None), span);
        let term = self.joined_words(&terms.iter().collect::<Vec<_>>());
        Val { tree: tree(TreeKind::Operation(Operation::Join, vec![parts]), span), ty: Ty::string(), term }
    }

    fn show_value(&mut self, val: Val, span: Span) -> Tree {
        let Some(show) = self.scope.class_by_full("Std.Show.Show") else {
            self.error(code::UNKNOWN_CLASS, span, "interpolation needs the class `Show` of Std.Show");
            return val.tree;
        };
        let class = show.full.clone();
        let hole = self.request_dictionary(class, val.ty, span);
        tree(TreeKind::Method(hole, 0, vec![val.tree]), span)
    }

    fn lambda(&mut self, params: &[Param], body: &Expr, expected: Option<(&[Ty], &Ty)>, span: Span) -> Val {
        let (locals, facts, first) = (self.locals.len(), self.facts.len(), self.count());
        let mut vars = Vec::new();
        let mut types = Vec::new();
        for (at, param) in params.iter().enumerate() {
            self.report_duplicate(&param.name, params[..at].iter().map(|other| &other.name));
            let given = expected.map(|(types, _)| types[at].clone());
            let ty = match (&param.ty, given) {
                (Some(written), given) => {
                    let ty = self.written(written);
                    if let Some(given) = given {
                        let outcome = self.subtype(&given, &ty, &Term::Opaque, param.name.span);
                        self.explain(outcome, &given, &ty, param.name.span);
                    }
                    ty
                }
                (None, Some(given)) => given,
                (None, None) => self.meta(),
            };
            self.note(param.name.span, &ty);
            vars.push(self.bind(&param.name.name, &ty, None));
            types.push(ty);
        }
        let result = expected.map_or_else(|| self.meta(), |(_, result)| result.clone());
        let body = self.check(body, &result);
        self.locals.truncate(locals);
        self.facts.truncate(facts);
        let kind = TreeKind::Lambda(vars, Box::new(body.tree));
        // The body's own type is more precise than the expected one.
        let exact = Ty::Fn(types.clone(), Arc::new(body.ty));
        if !self.speaks_of_later(&exact, first) {
            return Val { tree: tree(kind, span), ty: exact, term: Term::Opaque };
        }
        let ty = Ty::Fn(types, Arc::new(result));
        // It is called more than once, with different values each time.
        if self.speaks_of_later(&ty, first) {
            let message = format!("the type of this function speaks of values inside of it: {}", self.show(&ty));
            let hint = "its lengths and conditions are over what is known outside; write the types of its parameters";
            self.error(code::NEEDS_TYPE, span, message).hints.push(hint.to_owned());
        }
        Val { tree: tree(kind, span), ty, term: Term::Opaque }
    }

    fn block(&mut self, statements: &[Stmt], expected: Option<&Ty>, span: Span) -> Val {
        let locals = self.locals.len();
        let mut lets = Vec::new();
        let mut last = None;
        for (at, statement) in statements.iter().enumerate() {
            match statement {
                Stmt::Let(pattern, ty, value) => {
                    let first = self.count_metas();
                    let is_function = ty.is_none()
                        && matches!((&pattern.kind, &value.kind), (PatternKind::Name(_), ExprKind::Lambda(..)));
                    let val = match ty {
                        Some(ty) => {
                            let ty = self.written(ty);
                            let val = self.check(value, &ty);
                            Val { ty, ..val }
                        }
                        None => self.infer(value),
                    };
                    let shape = self.let_pattern(pattern, &val);
                    if is_function && matches!(shape, Shape::Bind(_)) {
                        self.generalize(first);
                    }
                    lets.push((shape, val.tree));
                }
                Stmt::Expr(value) if at + 1 == statements.len() => {
                    last = Some(match expected {
                        Some(expected) => self.check(value, expected),
                        None => self.infer(value),
                    });
                }
                Stmt::Expr(value) => {
                    let val = self.infer(value);
                    self.unused(value, &val);
                    lets.push((Shape::Any, val.tree));
                }
            }
        }
        self.locals.truncate(locals);
        let Some(last) = last else {
            self.error(code::EXPECTED, span, "a block ends with an expression, not with `let`");
            return self.wrong(span);
        };
        Val { tree: tree(TreeKind::Block(lets, Box::new(last.tree)), span), ty: last.ty, term: last.term }
    }

    fn choice(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr, expected: Option<&Ty>, span: Span) -> Val {
        let (errors, metas) = (self.errors.len(), self.count_metas());
        let own = expected.is_none();
        let expected = &expected.cloned().unwrap_or_else(|| self.meta());
        let test = self.check(condition, &Ty::bool());
        let formula = self.truth(&test.term);
        let facts = self.facts.len();
        self.facts.push(formula.clone());
        let first = self.check(then, expected);
        self.facts.truncate(facts);
        self.facts.push(formula.clone().not());
        let second = self.check(otherwise, expected);
        self.facts.truncate(facts);
        if own && self.errors.len() == errors {
            // Their values are known only on their ways.
            let flow = |val: &Val, expr: &Expr| {
                let flow = Flow::new(self, val, expr, expected)?;
                Some(Flow { term: Term::Opaque, ..flow })
            };
            let flows: Vec<_> = [flow(&first, then), flow(&second, otherwise)].into_iter().flatten().collect();
            self.keep(metas, &flows, &[]);
        }
        let term = match (&first.term, &second.term) {
            (Term::Int(a), Term::Int(b)) | (Term::Float(a), Term::Float(b)) | (Term::Word(a), Term::Word(b)) => {
                let term = self.term_of(&first.ty, None, &mut Vec::new());
                if let Term::Int(value) | Term::Float(value) | Term::Word(value) = &term {
                    let one = formula.clone().and(Formula::eq(value, a));
                    self.facts.push(one.or(formula.not().and(Formula::eq(value, b))));
                }
                term
            }
            _ => self.known_of(expected),
        };
        self.both_fit(expected, &term);
        let kind = TreeKind::If(Box::new(test.tree), Box::new(first.tree), Box::new(second.tree));
        Val { tree: tree(kind, span), ty: expected.clone(), term }
    }

    /// A condition as a formula; an unknown formula where nothing is known.
    pub(super) fn truth(&mut self, term: &Term) -> Formula {
        match term {
            Term::Bool(formula) => formula.clone(),
            _ => Formula::le(&Linear::number(1), &Linear::symbol(self.symbol(None))),
        }
    }

    /// `A.B.f` where `A` is not a variable: a module and a function.
    pub(super) fn qualified(&self, expr: &Expr) -> Option<(Name, Ident)> {
        let ExprKind::Field(base, function) = &expr.kind else { return None };
        let mut parts = Vec::new();
        let mut part = &**base;
        loop {
            match &part.kind {
                ExprKind::Field(inner, name) => {
                    parts.push(&*name.name);
                    part = inner;
                }
                ExprKind::Name(name)
                    if self.local(name).is_none() && name.starts_with(|c: char| c.is_ascii_uppercase()) =>
                {
                    parts.push(name);
                    break;
                }
                _ => return None,
            }
        }
        parts.reverse();
        Some((Name::from(parts.join(".")), function.clone()))
    }

    fn unary(&mut self, operator: K, inner: &Expr, span: Span) -> Val {
        if operator == K::NotKw {
            let val = self.check(inner, &Ty::bool());
            let term = self.unary_term(operator, &val.term);
            return Val { tree: tree(TreeKind::Operation(Operation::Not, vec![val.tree]), span), ty: Ty::bool(), term };
        }
        let val = self.infer(inner);
        let base = self.numeric(&val, inner.span);
        let term = self.unary_term(operator, &val.term);
        let kind = match (&val.tree.kind, operator) {
            (_, K::Plus) => val.tree.kind,
            (TreeKind::Literal(Literal::Int(value)), _) => TreeKind::Literal(Literal::Int(-value)),
            (TreeKind::Literal(Literal::Float(value)), _) => TreeKind::Literal(Literal::Float(-value)),
            _ => TreeKind::Operation(Operation::Negate, vec![val.tree]),
        };
        Val { tree: tree(kind, span), ty: base, term }
    }
}

impl Body<'_> {
    /// Reports a duplicate parameter.
    pub(super) fn report_duplicate<'a>(&mut self, name: &Ident, mut before: impl Iterator<Item = &'a Ident>) {
        if &*name.name != "_"
            && let Some(first) = before.find(|other| other.name == name.name)
        {
            let first = first.span;
            let error = self.error(code::DUPLICATE, name.span, format!("the parameter `{}` is there twice", name.name));
            error.related.push((first, "first here".to_owned()));
        }
    }
}

/// True if a call is one of a method, or of a function that asks for an instance.
fn is_through_class(call: &Tree) -> bool {
    match &call.kind {
        TreeKind::Method(..) => true,
        TreeKind::Local(_, args) | TreeKind::Remote(_, _, args) => {
            args.first().is_some_and(|arg| matches!(arg.kind, TreeKind::Dict(_)))
        }
        _ => false,
    }
}

/// The name without its module.
pub(super) fn short(full: &str) -> Name {
    Name::from(full.rsplit('.').next().unwrap_or(full))
}
