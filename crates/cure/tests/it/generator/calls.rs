//! Makes calls of functions and function values, and functions as values.

use std::rc::Rc;

use super::make::{Maker, Scope};
use super::tree::*;
use super::types::{is_exact, unified, with_param};

impl Maker {
    /// A call of a function of the program.
    pub(super) fn call(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        let mut found: Vec<(usize, Vec<Type>)> = Vec::new();
        for (at, function) in self.program.functions[..scope.functions].iter().enumerate() {
            if function.type_params.is_empty() {
                let fits = function.result == *ty || (*ty == Type::Int && matches!(function.result, Type::Refined(_)));
                if fits {
                    found.push((at, Vec::new()));
                }
            } else if function.wants.is_none() && !is_exact(ty) {
                let of = unified(&function.result, ty);
                found.extend(of.map(|of| (at, vec![of])));
            } else if function.wants.is_some() && function.result == Type::Param("T") {
                if self.is_scored(ty, scope) {
                    found.push((at, vec![ty.clone()]));
                }
            } else if function.wants.is_some() && function.result == *ty {
                found.push((at, vec![Type::Int]));
            }
        }
        if found.is_empty() {
            return None;
        }
        let (at, mut types) = self.random.pick(&found).clone();
        let function = self.program.functions[at].clone();
        match function.wants {
            _ if function.result == Type::Param("T") => {}
            Some("Score") => types = vec![self.scored(scope)?],
            Some(BOTH) if scope.wants == Some(BOTH) && self.random.chance(50) => types = vec![Type::Param("T")],
            Some(BOTH) => types = vec![self.shown_and_scored(scope)?],
            Some("Show") if has_class(scope.wants, "Show") && self.random.chance(50) => types = vec![Type::Param("T")],
            Some(_) => types = vec![self.plain(1)],
            None => {}
        }
        if function.condition {
            return Some(self.guarded_call(at, depth, scope));
        }
        let params: Vec<Type> = match types.first() {
            Some(of) => function.params.iter().map(|(_, ty)| with_param(ty, of)).collect(),
            None => function.params.iter().map(|(_, ty)| ty.clone()).collect(),
        };
        let mut args: Vec<_> = params.iter().map(|ty| self.expr(ty, depth - 1, scope)).collect();
        let word = function.name.starts_with(|c: char| c.is_ascii_alphabetic());
        let first = params.first().filter(|ty| !matches!(ty, Type::Result(..) | Type::Any | Type::Fn(..)));
        if let Some(first) = first
            && function.type_params.is_empty()
            && word
            && self.random.chance(20)
        {
            self.note("pipes into calls");
            args[0] = Expr::As(Box::new(args[0].clone()), first.clone());
            return Some(Expr::Piped(Box::new(Expr::Call(at, types, args))));
        }
        if function.wants.is_some() && function.result == Type::Param("T") {
            args[0] = self.for_class(&params[0], depth, scope);
        } else if function.wants.is_some() {
            // Their types decide the type of the result.
            let first = args.remove(0);
            args.insert(0, Expr::As(Box::new(first), params[0].clone()));
        }
        Some(Expr::Call(at, types, args))
    }

    /// A call of a function with a condition: `b != 0`, or one of a refinement.
    fn guarded_call(&mut self, at: usize, depth: usize, scope: &Scope) -> Expr {
        if let Some(given) = self.program.functions[at].given {
            let ty = Type::Refined(given);
            let arg = self.expr(&ty, depth - 1, scope);
            return Expr::Call(at, Vec::new(), vec![Expr::As(Box::new(arg), ty)]);
        }
        let first = self.expr(&Type::Int, depth - 1, scope);
        if self.random.chance(50) {
            let divisor = Type::Refined([NONZERO, ABOVE][self.random.below(2)]);
            let second = self.expr(&divisor, depth - 1, scope);
            let second = Expr::As(Box::new(second), divisor);
            return Expr::Call(at, Vec::new(), vec![first, second]);
        }
        self.under_test(depth, scope, |divisor, _| Expr::Call(at, Vec::new(), vec![first, divisor]))
    }

    /// An applied function value of this type.
    pub(super) fn applied(&mut self, ty: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        self.note("closures");
        let known: Vec<(String, Type)> = scope
            .vars
            .iter()
            .filter(|(_, known)| matches!(known, Type::Fn(_, result) if **result == *ty))
            .cloned()
            .collect();
        if !known.is_empty() && self.random.chance(80) {
            let (name, function) = self.random.pick(&known).clone();
            let Type::Fn(params, _) = function else { return None };
            let args = params.iter().map(|param| self.expr(param, depth - 1, scope)).collect();
            return Some(Expr::Apply(Box::new(Expr::Var(name)), args));
        }
        let giving: Vec<usize> = (0..scope.functions)
            .filter(|at| {
                let function = &self.program.functions[*at];
                matches!(&function.result, Type::Fn(_, result) if **result == *ty) && !function.condition
            })
            .collect();
        if !giving.is_empty() && self.random.chance(70) {
            self.note("calls of what calls give");
            let at = *self.random.pick(&giving);
            let function = self.program.functions[at].clone();
            let Type::Fn(params, _) = &function.result else { return None };
            let given = function.params.iter().map(|(_, ty)| self.expr(ty, depth - 1, scope)).collect();
            let args = params.iter().map(|ty| self.expr(ty, depth - 1, scope)).collect();
            return Some(Expr::Apply(Box::new(Expr::Call(at, Vec::new(), given)), args));
        }
        let params: Vec<Type> = (0..1 + self.random.below(2)).map(|_| self.ty(1)).collect();
        let args: Vec<Expr> = params.iter().map(|param| self.expr(param, depth - 1, scope)).collect();
        let names: Vec<String> = params.iter().map(|_| self.name("v")).collect();
        let inner = names.iter().zip(&params).fold(scope.clone(), |scope, (name, ty)| scope.with(name, ty));
        let body = self.expr(ty, depth - 1, &inner);
        let written = names.into_iter().zip(params.into_iter().map(Some)).collect();
        let function = Expr::Lambda(written, Rc::new(body));
        if is_exact(ty)
            || matches!(ty, Type::List(_) | Type::Option(_) | Type::Result(..) | Type::Named(..) | Type::Tuple(_))
        {
            // The function is checked before its expected result is known.
            let Expr::Lambda(params, _) = &function else { return None };
            let written = Type::Fn(params.iter().filter_map(|(_, ty)| ty.clone()).collect(), Box::new(ty.clone()));
            let name = self.name("v");
            let call = Expr::Apply(Box::new(Expr::Var(name.clone())), args);
            return Some(Expr::Let(vec![(Pattern::Var(name), Some(written), function)], Box::new(call)));
        }
        Some(Expr::Apply(Box::new(function), args))
    }

    /// A constructor or a method of this type.
    fn other_function(&mut self, params: &[Type], result: &Type, scope: &Scope) -> Option<Expr> {
        let mut found: Vec<Expr> = Vec::new();
        let mut constructor = |name: &str, fields: &[Type]| {
            if fields == params && !params.is_empty() {
                found.push(Expr::ConstructorValue(name.to_owned()));
            }
        };
        match result {
            Type::Option(of) => constructor("Some", std::slice::from_ref(of)),
            Type::Result(of, error) => {
                constructor("Ok", std::slice::from_ref(of));
                constructor("Error", std::slice::from_ref(error));
            }
            Type::Named(at, args) => {
                let data = &self.program.data[*at];
                if let Shape::Sum(all) = &data.shape {
                    for (name, fields) in all {
                        let fields: Vec<Type> = fields
                            .iter()
                            .map(|ty| args.first().map_or_else(|| ty.clone(), |of| with_param(ty, of)))
                            .collect();
                        constructor(name, &fields);
                    }
                }
            }
            _ => {}
        }
        if found.iter().any(|one| matches!(one, Expr::ConstructorValue(_))) {
            self.note("constructors as values");
        }
        if let [of] = params {
            let scored =
                self.program.class.as_ref().is_some_and(|class| class.instances.iter().any(|one| one.of == *of));
            if *result == Type::Int && scored && scope.class {
                self.note("methods as values");
                found.push(Expr::MethodValue(self.random.below(2), of.clone()));
            }
            if *result == Type::Text && matches!(of, Type::Int | Type::Bool | Type::Text | Type::Atom | Type::Ordering)
            {
                self.note("methods as values");
                found.push(Expr::ShowValue(of.clone()));
            }
        }
        (!found.is_empty()).then(|| self.random.pick(&found).clone())
    }

    /// A function of the program as a value, or a lambda.
    pub(crate) fn function_literal(&mut self, params: &[Type], result: &Type, depth: usize, scope: &Scope) -> Expr {
        let fits = |function: &Function| {
            function.type_params.is_empty()
                && !function.condition
                && function.name.starts_with(|c: char| c.is_ascii_alphabetic())
                && function.result == *result
                && function.params.iter().map(|(_, ty)| ty).eq(params.iter())
        };
        let known: Vec<usize> = (0..scope.functions).filter(|at| fits(&self.program.functions[*at])).collect();
        if !known.is_empty() && self.random.chance(50) {
            self.note("functions as values");
            return Expr::FunctionValue(*self.random.pick(&known));
        }
        if self.random.chance(60)
            && let Some(other) = self.other_function(params, result, scope)
        {
            return other;
        }
        self.note("closures");
        if self.random.chance(50)
            && let Some(taking) = self.taking(params, result, depth, scope)
        {
            return taking;
        }
        let names: Vec<String> = params.iter().map(|_| self.name("v")).collect();
        let inner = names.iter().zip(params).fold(scope.clone(), |scope, (name, ty)| scope.with(name, ty));
        let body = self.expr(result, depth, &inner);
        Expr::Lambda(names.into_iter().zip(params.iter().cloned().map(Some)).collect(), Rc::new(body))
    }

    /// A function that takes a parameter apart; `None` if no pattern matches all values of one of them.
    fn taking(&mut self, params: &[Type], result: &Type, depth: usize, scope: &Scope) -> Option<Expr> {
        let (mut inner, mut is_apart) = (scope.clone(), false);
        let mut patterns = Vec::new();
        for of in params {
            let mut whole = if matches!(of, Type::Tuple(_) | Type::Named(..) | Type::Vector(..)) {
                self.cover(of, 2)
            } else {
                Vec::new()
            };
            let pattern = match whole.pop() {
                Some((pattern, bound)) if whole.is_empty() && is_plain(&pattern) => {
                    is_apart = true;
                    inner = bound.iter().fold(inner, |inner, (name, ty)| inner.with(name, ty));
                    pattern
                }
                _ => {
                    let name = self.name("v");
                    inner = inner.with(&name, of);
                    Pattern::Var(name)
                }
            };
            patterns.push((pattern, Some(of.clone())));
        }
        if !is_apart {
            return None;
        }
        self.note("patterns of functions without a name");
        let body = self.expr(result, depth, &inner);
        Some(Expr::Taking(patterns, Rc::new(body)))
    }
}

/// True if a parameter can be written so: a constructor without fields would be its name.
fn is_plain(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Construct(_, fields, _) => !fields.is_empty(),
        Pattern::Tuple(_) | Pattern::List(..) | Pattern::Record(..) => true,
        _ => false,
    }
}
