//! Checks functions, methods and constructors that are used as values.

use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::exprs::tree;
use crate::diagnostic::{Span, code};
use crate::ir::tree::TreeKind;
use crate::ir::ty::{Len, Ty, names_in};
use crate::resolve::interface::{ClassInfo, Signature};
use crate::resolve::scope::Function;
use crate::syntax::ast::{Expr, ExprKind, Ident, Name, Param};

impl Body<'_> {
    /// `A.f` or `A.Red`; if a function of this arity is expected and `A` has one, the name refers to it.
    pub(super) fn qualified_value(&mut self, whole: &Expr, module: &Name, function: &Ident, arity: Option<u32>) -> Val {
        let span = whole.span;
        if let Some(constructor) = self.constructor_in(module, function) {
            return match constructor.fields.len() {
                0 => self.construct_as(&constructor, &[], None, span),
                fields => self.constructor_value(whole.clone(), fields),
            };
        }
        let there = |arity: &u32| {
            self.interface(module).is_some_and(|one| one.functions.contains_key(&(function.name.clone(), *arity)))
        };
        let arity = arity.filter(there);
        match self.module_function(module, function, arity, span) {
            Some(found) => self.value_of(&found, span),
            None => self.wrong(span),
        }
    }

    /// A function, method or constructor as a value, by name.
    pub(super) fn function_value(&mut self, name: &Name, arity: Option<u32>, span: Span) -> Val {
        if let Some(constructor) = self.scope.constructor(name).cloned()
            && !constructor.fields.is_empty()
        {
            return self.constructor_value(Expr { kind: ExprKind::Name(name.clone()), span }, constructor.fields.len());
        }
        if let Some((arity, function)) = arity.and_then(|arity| Some((arity, self.scope.function(name, arity)?))) {
            return if self.one_is_meant(name, arity, span) { self.value_of(function, span) } else { self.wrong(span) };
        }
        match self.scope.functions_named(name) {
            [] => self.unknown_name(name, arity, span),
            [(arity, _)] if !self.one_is_meant(name, *arity, span) => self.wrong(span),
            [(_, function)] => self.value_of(function, span),
            several => {
                self.ambiguous(name, several.iter().map(|(arity, _)| *arity), span);
                self.wrong(span)
            }
        }
    }

    pub(super) fn ambiguous(&mut self, name: &str, arities: impl Iterator<Item = u32>, span: Span) {
        let arities: Vec<_> = arities.map(|arity| format!("{name}/{arity}")).collect();
        let message = format!("`{name}` could be {}", arities.join(" or "));
        let hint = "write a function that calls the one you mean: `fn(x) -> … end`".to_owned();
        self.error(code::AMBIGUOUS, span, message).hints.push(hint);
    }

    /// `Circle` as a function: `fn(x) -> Circle(x) end`.
    pub(super) fn constructor_value(&mut self, constructor: Expr, fields: usize) -> Val {
        let span = constructor.span;
        let ident = |at: usize| Ident { name: Name::from(format!("field {at}")), span };
        let params = (0..fields).map(|at| Param { name: ident(at), ty: None }).collect();
        let arg = |at: usize| Expr { kind: ExprKind::Name(ident(at).name), span };
        let call = ExprKind::Call(Box::new(constructor), (0..fields).map(arg).collect());
        let body = Expr { kind: call, span };
        self.infer(&Expr { kind: ExprKind::Lambda(params, Box::new(body)), span })
    }

    pub(super) fn value_of(&mut self, function: &Function, span: Span) -> Val {
        let (signature, class): (Arc<Signature>, Option<(Arc<ClassInfo>, u32)>) = match function {
            Function::Plain(signature) => (signature.clone(), None),
            Function::Method(class, at) => (class.methods[*at as usize].clone(), Some((class.clone(), *at))),
        };
        let result = self.checker.result_of(&signature);
        if signature.precondition.is_some() || needs_names(&signature, &result) {
            let message =
                format!("`{}` has conditions on its arguments that a function value cannot carry", signature.name);
            let hint = "wrap it: `fn(x) -> … end`, where the conditions can be proved".to_owned();
            self.error(code::PRECONDITION, span, message).hints.push(hint);
            return self.wrong(span);
        }
        let class_ty = class.as_ref().map(|_| self.meta());
        let ready = match (&class, &class_ty) {
            (Some((class, _)), Some(ty)) => self.make_use(&signature, Some((&class.param, ty.clone()))),
            _ => self.make_use(&signature, None),
        };
        let dictionaries = self.dictionaries_of(&signature, &ready.types, span);
        let arity = signature.params.len() as u32;
        let kind = match (class, class_ty) {
            (Some((class, at)), Some(ty)) => {
                let hole = self.request_dictionary(class.full.clone(), ty, span);
                if dictionaries.is_empty() {
                    TreeKind::MethodValue(hole, at)
                } else {
                    // The method's other dictionaries come first: `fn(x) -> method(dictionaries…, x) end`.
                    let params: Vec<_> = (0..arity).map(|_| self.fresh_var()).collect();
                    let own = params.iter().map(|var| tree(TreeKind::Var(*var), span));
                    let args = dictionaries.into_iter().chain(own).collect();
                    TreeKind::Lambda(params, Box::new(tree(TreeKind::Method(hole, at, args), span)))
                }
            }
            _ if signature.module == self.checker.module => {
                TreeKind::LocalValue(signature.name.clone(), arity, dictionaries)
            }
            _ => TreeKind::RemoteValue(signature.module.clone(), signature.name.clone(), arity, dictionaries),
        };
        let ty = Ty::Fn(ready.params.into_iter().map(|(_, ty)| ty).collect(), Arc::new(ready.result));
        Val { tree: tree(kind, span), ty, term: Term::Opaque }
    }
}

/// True if a signature's types mention its parameters or lengths.
fn needs_names(signature: &Signature, result: &Ty) -> bool {
    let mut speaks = |part: &Ty| match part {
        Ty::Refined(_, pred) => {
            let mut other = false;
            names_in(&pred.condition, &mut |name| other |= *name != *pred.var);
            other
        }
        Ty::Seq(_, _, Len::Named(length)) => !length.factors.is_empty(),
        _ => false,
    };
    let types = signature.params.iter().map(|(_, ty)| ty);
    !signature.len_params.is_empty() || types.chain(std::iter::once(result)).any(|ty| ty.any(&mut speaks))
}
