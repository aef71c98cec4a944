//! Checks calls of functions, methods, constructors and function values.

use std::collections::HashMap;
use std::sync::Arc;

use super::body::{Body, Term, Val};
use super::exprs::tree;
use super::subtype::instantiate;
use super::value_conditions::Flow;
use crate::diagnostic::{Span, code};
use crate::ir::tree::{Tree, TreeKind};
use crate::ir::ty::{Len, Ty};
use crate::resolve::interface::{Constructor, Interface, Signature};
use crate::resolve::scope::Function;
use crate::solver::{Formula, Linear, Sym};
use crate::syntax::ast::*;

/// True if the value is a choice between several, possibly behind `let`s.
pub(super) fn is_choice(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::If(..) | ExprKind::Match(..) | ExprKind::Block(_))
}

/// A signature instantiated for one use.
pub(super) struct Use {
    pub(super) params: Vec<(Name, Ty)>,
    pub(super) result: Ty,
    pub(super) types: HashMap<Name, Ty>,
    /// Parameters that stand for numbers in types.
    pub(super) symbols: HashMap<Name, Sym>,
    pub(super) lengths: Vec<Sym>,
}

impl<'p> Body<'p> {
    pub(super) fn call(&mut self, callee: &Expr, args: &[Expr], hint: Option<&Ty>, span: Span) -> Val {
        match &callee.kind {
            ExprKind::Name(name) if self.local(name).is_none() => self.call_named(name, args, hint, callee.span, span),
            ExprKind::Field(..) => match self.qualified(callee) {
                Some((module, function)) => self.call_qualified(&module, &function, args, hint, span),
                None => self.apply(callee, args, span),
            },
            _ => self.apply(callee, args, span),
        }
    }

    pub(super) fn call_named(&mut self, name: &Name, args: &[Expr], hint: Option<&Ty>, at: Span, span: Span) -> Val {
        if let Some(val) = self.natural(name, args, span) {
            return val;
        }
        if let Some(function) = self.scope.function(name, args.len() as u32) {
            if !self.one_is_meant(name, args.len() as u32, at) {
                self.infer_all(args);
                return self.wrong(span);
            }
            return self.call_function(function, args, hint, span);
        }
        if self.scope.constructor(name).is_some() {
            return self.construct(name, args, hint, span);
        }
        self.infer_all(args);
        let named = self.scope.functions_named(name);
        if named.is_empty() {
            return self.unknown_name(name, Some(args.len() as u32), at);
        }
        let wanted: Vec<_> = named.iter().map(|(arity, _)| arity.to_string()).collect();
        let message = format!("`{name}` takes {} argument(s), not {}", wanted.join(" or "), args.len());
        let heads: Vec<_> = named.iter().map(|(_, function)| self.head_of(function)).collect();
        self.error(code::ARITY, span, message).hints.push(format!("it is `{}`", heads.join("` or `")));
        self.wrong(span)
    }

    /// True if the name is unambiguous; reports an ambiguous one.
    pub(super) fn one_is_meant(&mut self, name: &Name, arity: u32, at: Span) -> bool {
        let Some((one, other)) = self.scope.offered_twice(name, arity).cloned() else { return true };
        let message = format!("`{name}` is in `{one}` and in `{other}`, both of which are imported whole");
        let hint = format!(
            "write `{other}.{name}`, or import the one you mean by its name: `import {other} [{name}/{arity}]`"
        );
        self.error(code::AMBIGUOUS, at, message).hints.push(hint);
        false
    }

    /// The head of a function, for messages.
    fn head_of(&self, function: &Function) -> String {
        let signature = function.signature();
        let params = signature.params.iter().map(|(name, ty)| format!("{name}: {}", self.show(ty)));
        format!("{}({})", signature.name, params.collect::<Vec<_>>().join(", "))
    }

    pub(super) fn infer_all(&mut self, args: &[Expr]) {
        for arg in args {
            self.infer(arg);
        }
    }

    /// The interface of a module; the current module may call itself by name.
    pub(super) fn interface(&self, module: &Name) -> Option<&'p Interface> {
        if *module == self.checker.module {
            return Some(&self.checker.collected.interface);
        }
        self.scope.modules.get(module).map(|interface| &**interface)
    }

    pub(super) fn module_function(
        &mut self,
        module: &Name,
        function: &Ident,
        arity: Option<u32>,
        span: Span,
    ) -> Option<Function> {
        let Some(interface) = self.interface(module) else {
            let error = self.error(code::UNKNOWN_MODULE, span, format!("there is no module `{module}`"));
            error.hints.push("modules are found by their declared name".to_owned());
            return None;
        };
        let name = &function.name;
        let open = |one: &&Arc<Signature>| one.exported || one.module == self.checker.module;
        let plain = match arity {
            Some(arity) => interface.functions.get(&(name.clone(), arity)).filter(open),
            None => {
                let all = interface.functions.values().filter(|one| one.name == *name && open(one));
                let mut all: Vec<_> = all.map(|one| (one.params.len() as u32, one)).collect();
                all.sort_by_key(|(arity, _)| *arity);
                if all.len() > 1 {
                    self.ambiguous(&format!("{module}.{name}"), all.iter().map(|(arity, _)| *arity), span);
                    return None;
                }
                all.pop().map(|(_, one)| one)
            }
        };
        if let Some(signature) = plain {
            return Some(Function::Plain(signature.clone()));
        }
        for class in interface.classes.values() {
            let found = class.methods.iter().position(|method| {
                method.name == *name && arity.is_none_or(|arity| arity as usize == method.params.len())
            });
            if let Some(at) = found {
                return Some(Function::Method(class.clone(), at as u32));
            }
        }
        let others = interface.functions.values().filter(|one| one.name == *name && open(one));
        let mut others: Vec<_> = others.map(|one| one.params.len()).collect();
        others.sort_unstable();
        let private = interface.functions.keys().any(|(known, _)| known == name);
        match arity {
            Some(arity) if !others.is_empty() => {
                let others: Vec<_> = others.iter().map(ToString::to_string).collect();
                let message = format!("`{module}.{name}` takes {} argument(s), not {arity}", others.join(" or "));
                self.error(code::ARITY, span, message);
            }
            _ if private => {
                self.error(code::UNKNOWN_NAME, function.span, format!("`{name}` is private to `{module}`"));
            }
            _ => {
                let near = self.scope.most_similar(name, interface.functions.keys().map(|(name, _)| &**name));
                let error =
                    self.error(code::UNKNOWN_NAME, function.span, format!("`{module}` has no function `{name}`"));
                error.hints.extend(near.map(|near| format!("did you mean `{near}`?")));
            }
        }
        None
    }

    /// The functions, methods and constructors of a module that have this name: how many arguments each takes, and its
    /// result.
    pub(super) fn functions_of(&self, module: &Name, function: &Ident) -> Vec<(usize, Option<Ty>)> {
        let Some(interface) = self.interface(module) else { return Vec::new() };
        let methods = interface.classes.values().flat_map(|class| &class.methods);
        let all = methods.chain(interface.functions.values()).filter(|one| one.name == function.name);
        let constructor = self.constructor_in(module, function).map(|one| (one.fields.len(), None));
        all.map(|one| (one.params.len(), Some(one.result.clone()))).chain(constructor).collect()
    }

    /// `A.Red` where `A` has this constructor.
    pub(super) fn constructor_in(&self, module: &Name, name: &Ident) -> Option<Arc<Constructor>> {
        self.interface(module)?.constructors.get(&name.name).cloned()
    }

    fn call_qualified(&mut self, module: &Name, function: &Ident, args: &[Expr], hint: Option<&Ty>, span: Span) -> Val {
        if let Some(constructor) = self.constructor_in(module, function) {
            return self.construct_as(&constructor, args, hint, span);
        }
        match self.module_function(module, function, Some(args.len() as u32), span) {
            Some(found) => self.call_function(&found, args, hint, span),
            None => {
                self.infer_all(args);
                self.wrong(span)
            }
        }
    }

    /// A call of a value.
    fn apply(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Val {
        if let ExprKind::Lambda(params, body) = &callee.kind
            && params.len() == args.len()
        {
            return self.applied(params, body, args, span);
        }
        let function = self.infer(callee);
        let ty = self.base(&function.ty);
        let (params, result) = match ty {
            Ty::Fn(params, result) => (params, (*result).clone()),
            Ty::Meta(meta) => {
                let params: Vec<_> = args.iter().map(|_| self.meta()).collect();
                let result = self.meta();
                self.bind_meta(meta, Ty::Fn(params.clone(), Arc::new(result.clone())));
                (params, result)
            }
            Ty::Wrong => {
                self.infer_all(args);
                return self.wrong(span);
            }
            other => {
                let message = format!("this is called, but it is not a function: {}", self.show(&other));
                self.error(code::MISMATCH, callee.span, message);
                self.infer_all(args);
                return self.wrong(span);
            }
        };
        if params.len() != args.len() {
            let message = format!("this function takes {} argument(s), not {}", params.len(), args.len());
            self.error(code::ARITY, span, message);
            self.infer_all(args);
            return self.wrong(span);
        }
        let args: Vec<_> = args.iter().zip(&params).map(|(arg, ty)| self.check(arg, ty).tree).collect();
        let kind = TreeKind::Apply(Box::new(function.tree), args);
        self.returned(kind, result, span)
    }

    /// The value of a call: only its type is known.
    fn returned(&mut self, kind: TreeKind, result: Ty, span: Span) -> Val {
        let result = self.opened(&result);
        let mut facts = Vec::new();
        let term = self.term_of(&result, None, &mut facts);
        self.facts.extend(facts);
        if let Ty::Seq(_, _, Len::Term(length)) = self.base(&result) {
            self.facts.push(Formula::le(&Linear::number(0), &length));
        }
        Val { tree: tree(kind, span), ty: result, term }
    }

    pub(super) fn make_use(&mut self, signature: &Signature, class: Option<(&Name, Ty)>) -> Use {
        let mut types: HashMap<Name, Ty> = HashMap::new();
        for param in &signature.type_params {
            types.insert(param.clone(), self.meta());
        }
        if let Some((param, ty)) = class {
            types.insert(param.clone(), self.for_class(&ty));
        }
        for (_, ty) in &signature.constraints {
            // Marks its unsolved parts.
            self.for_class(&instantiate(ty, &types, &HashMap::new()));
        }
        let mut names = HashMap::new();
        let mut lengths = Vec::new();
        for name in &signature.len_params {
            let sym = self.symbol(None);
            self.open_lens.insert(sym);
            lengths.push(sym);
            names.insert(name.clone(), Linear::symbol(sym));
        }
        let mut symbols = HashMap::new();
        for (name, _) in signature.params.iter().filter(|(name, _)| &**name != "_") {
            let sym = self.symbol(None);
            // Nothing is known about the argument until it has been checked.
            self.record_value(sym, &Term::Opaque);
            symbols.insert(name.clone(), sym);
            names.insert(name.clone(), Linear::symbol(sym));
        }
        let ready = |ty: &Ty| instantiate(ty, &types, &names);
        let result = self.checker.result_of(signature);
        let params = signature.params.iter().map(|(name, ty)| (name.clone(), ready(ty))).collect();
        Use { params, result: ready(&result), types, symbols, lengths }
    }

    pub(super) fn call_function(&mut self, function: &Function, args: &[Expr], hint: Option<&Ty>, span: Span) -> Val {
        let (signature, class) = match function {
            Function::Plain(signature) => (signature.clone(), None),
            Function::Method(class, at) => (class.methods[*at as usize].clone(), Some((class.clone(), *at))),
        };
        let first = self.count_metas();
        let class_ty = class.as_ref().map(|_| self.meta());
        let ready = match (&class, &class_ty) {
            (Some((class, _)), Some(ty)) => self.make_use(&signature, Some((&class.param, ty.clone()))),
            _ => self.make_use(&signature, None),
        };
        if let Some(hint) = hint {
            self.expect_result(&ready.result, hint);
        }
        let trees = self.arguments(&signature, &ready, args, first, span);
        let dictionaries = self.dictionaries_of(&signature, &ready.types, span);
        let kind = match (class, class_ty) {
            (Some((class, at)), Some(ty)) => {
                let hole = self.request_dictionary(class.full.clone(), ty, span);
                TreeKind::Method(hole, at, dictionaries.into_iter().chain(trees).collect())
            }
            _ => {
                let args = dictionaries.into_iter().chain(trees).collect();
                if signature.module == self.checker.module {
                    TreeKind::Local(signature.name.clone(), args)
                } else {
                    TreeKind::Remote(signature.module.clone(), signature.name.clone(), args)
                }
            }
        };
        self.returned(kind, ready.result, span)
    }

    /// Checks the arguments of a call: types first, then refinements and the precondition.
    fn arguments(&mut self, signature: &Signature, ready: &Use, args: &[Expr], metas: u32, span: Span) -> Vec<Tree> {
        let errors = self.errors.len();
        let generic = !signature.type_params.is_empty();
        let mut flows: Vec<Flow> = Vec::new();
        let mut fixed = Vec::new();
        if generic {
            self.flows_in(&ready.result, false, &mut fixed);
        }
        let mut trees: Vec<Option<Tree>> = vec![None; args.len()];
        let mut vals: Vec<(Ty, Term)> = vec![(Ty::Wrong, Term::Opaque); args.len()];
        // Functions are checked last, when the other arguments have determined their parameter types.
        let late = |arg: &Expr| matches!(arg.kind, ExprKind::Lambda(..));
        let order = (0..args.len()).filter(|at| !late(&args[*at])).chain((0..args.len()).filter(|at| late(&args[*at])));
        let order: Vec<_> = order.collect();
        for (place, at) in order.iter().copied().enumerate() {
            let (name, ty) = &ready.params[at];
            let base = match self.shallow(ty) {
                // Each branch of a choice is checked separately: nothing would be known about their common value.
                Ty::Refined(base, pred) if is_choice(&args[at]) && pred.is_closed() => Ty::Refined(base, pred),
                Ty::Refined(..) => self.base(ty),
                other => other,
            };
            // A function's parameters are known before it is checked; its result is not.
            if generic && !flows.is_empty() && matches!(base, Ty::Fn(..)) && self.errors.len() == errors {
                let mut fixed = fixed.clone();
                order[place..].iter().for_each(|at| self.flows_in(&ready.params[*at].1, true, &mut fixed));
                self.keep(metas, &flows, &fixed);
            }
            let val = self.check(&args[at], &base);
            if generic {
                let into = if let Ty::Refined(base, _) = ty { base } else { ty };
                flows.extend(Flow::new(self, &val, &args[at], into));
            }
            if let Some(sym) = ready.symbols.get(name) {
                self.record_value(*sym, &val.term);
            }
            trees[at] = Some(val.tree);
            vals[at] = (val.ty, val.term);
        }
        if generic && self.errors.len() == errors {
            self.keep(metas, &flows, &fixed);
        }
        for (at, (_, ty)) in ready.params.iter().enumerate() {
            if matches!(self.shallow(ty), Ty::Refined(..)) {
                let (actual, term) = vals[at].clone();
                let outcome = self.subtype(&actual, ty, &term, args[at].span);
                self.explain(outcome, &actual, ty, args[at].span);
            }
        }
        for sym in &ready.lengths {
            let length = self.length(&Linear::symbol(*sym));
            if length.factors.keys().all(|sym| !self.open_lens.contains(sym)) {
                let goal = Formula::le(&Linear::number(0), &length);
                let name = &signature.name;
                let what =
                    |_: &Self| format!("the length of an argument of `{name}` does not fit the type: it is too short");
                self.require(&goal, span, code::Pair(code::LENGTH, code::LENGTH), what, None);
            } else {
                // The length is unknown but fixed.
                self.open_lens.remove(sym);
                self.axioms.push(Formula::le(&Linear::number(0), &Linear::symbol(*sym)));
            }
        }
        if let Some(condition) = &signature.precondition {
            let mut terms: HashMap<&str, Term> = HashMap::new();
            for ((name, _), (_, term)) in ready.params.iter().zip(&vals) {
                terms.insert(name, term.clone());
            }
            for (name, sym) in signature.len_params.iter().zip(&ready.lengths) {
                terms.insert(name, Term::Int(Linear::symbol(*sym)));
            }
            let goal = self.condition(condition, &|name| terms.get(name).cloned());
            let goal = self.truth(&goal);
            let what = |_: &Self| format!("the precondition of `{}` does not hold", signature.name);
            let hint = "its guard is a condition that callers must prove; test the value with `if` before the call";
            let pair = code::Pair(code::PRECONDITION, code::PRECONDITION);
            self.require(&goal, span, pair, what, Some(hint));
        }
        trees.into_iter().map(|found| found.unwrap_or_else(|| self.wrong(span).tree)).collect()
    }

    pub(super) fn dictionaries_of(
        &mut self,
        signature: &Signature,
        types: &HashMap<Name, Ty>,
        span: Span,
    ) -> Vec<Tree> {
        let empty = HashMap::new();
        let constraints = signature.constraints.iter();
        constraints
            .map(|(class, ty)| {
                let hole = self.request_dictionary(class.clone(), instantiate(ty, types, &empty), span);
                tree(TreeKind::Dict(hole), span)
            })
            .collect()
    }

    /// Unifies the result of a call with an expected type as a hint: binds metavariables and never fails.
    pub(super) fn expect_result(&mut self, result: &Ty, expected: &Ty) {
        let (result, expected) = (self.shallow(result), self.shallow(expected));
        match (&result, &expected) {
            (Ty::Meta(_), Ty::Any | Ty::Wrong) => {}
            (Ty::Meta(meta), _) => {
                let known = self.resolved(&expected);
                // A length that is not known yet will be that of the result, not the other way around.
                let known = known.map(&mut |part| match part {
                    Ty::Seq(seq, element, Len::Term(length))
                        if length.factors.keys().any(|sym| self.open_lens.contains(sym)) =>
                    {
                        Some(Ty::Seq(*seq, element.clone(), Len::Unknown))
                    }
                    _ => None,
                });
                if !known.any(&mut |part| matches!(part, Ty::Meta(_))) {
                    self.bind_meta(*meta, known);
                }
            }
            (Ty::App(_, args), _) => {
                if let (Some((head, args)), Some((wanted, want))) =
                    (result.split_constructor(args.len()), self.base(&expected).split_constructor(args.len()))
                {
                    self.expect_result(&head, &wanted);
                    for (arg, want) in args.iter().zip(&want) {
                        self.expect_result(arg, want);
                    }
                }
            }
            (Ty::Con(one, args), Ty::Con(other, wanted)) if one == other => {
                for (arg, want) in args.iter().zip(wanted) {
                    self.expect_result(arg, want);
                }
            }
            (Ty::Seq(one, element, _), Ty::Seq(other, wanted, _)) if one == other => {
                self.expect_result(element, wanted)
            }
            (Ty::Tuple(parts), Ty::Tuple(wanted)) if parts.len() == wanted.len() => {
                for (part, want) in parts.iter().zip(wanted) {
                    self.expect_result(part, want);
                }
            }
            (_, Ty::Refined(base, _)) if !matches!(result, Ty::Refined(..)) => {
                self.expect_result(&result, &base.clone())
            }
            _ => {}
        }
    }
}
