//! Heads of functions: of definitions, of Erlang functions, and of functions that machines add.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::collect::{Collector, Group};
use super::interface::{Interface, Signature, TypeInfoKind};
use super::scope::Function;
use super::written_types::Reader;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::ir::ty::{Ty, show_both};
use crate::syntax::ast::*;

impl<'a> Collector<'a, '_> {
    /// The head of a function from its clauses. `class_param` is a type parameter that already exists.
    pub(super) fn signature(&mut self, clauses: &[&Def], class_param: Option<&Name>) -> Signature {
        let first = clauses[0];
        first.type_params.iter().for_each(|(param, _)| {
            self.not_built_in(param);
        });
        let mut params: Vec<Name> = class_param.into_iter().cloned().collect();
        let own = params.len();
        params.extend(first.type_params.iter().map(|(param, _)| param.name.clone()));
        let (scope, source, errors) = (&*self.scope, self.source, &mut *self.errors);
        let mut reader = Reader::new(scope, source, errors);
        (reader.params, reader.implicit) = (params, true);
        reader.values = first.params.iter().map(|param| param.name.name.clone()).collect();
        let mut types = Vec::new();
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for param in &first.params {
            let before = *seen.entry(&param.name.name).or_insert(param.name.span);
            if before != param.name.span && &*param.name.name != "_" {
                let message = format!("the parameter `{}` is there twice", param.name.name);
                let error = Diagnostic::error(code::DUPLICATE, param.name.span, message);
                reader.errors.push(error.related(before, "first here"));
            }
            let ty = match &param.ty {
                Some(ty) => reader.read(ty),
                None => {
                    let message = format!("the parameter `{}` needs a type", param.name.name);
                    let hint = format!("write `{}: Int`, or the type that it has", param.name.name);
                    reader.errors.push(Diagnostic::error(code::NEEDS_TYPE, param.name.span, message).hint(hint));
                    Ty::Wrong
                }
            };
            types.push((param.name.name.clone(), ty));
        }
        let result = first.result.as_ref().map_or(Ty::Wrong, |ty| reader.read(ty));
        let precondition = match (clauses, &first.guard) {
            ([only], Some(guard)) if only.body.is_some() => Some(Arc::new(guard.clone())),
            _ => None,
        };
        let mut constraints = Vec::new();
        for constraint in &first.constraints {
            for arg in &constraint.args {
                constraints.push((constraint.class.clone(), reader.subject_of_class(arg)));
            }
        }
        reader.finish(false);
        let Reader { params, lengths, errors, .. } = reader;
        let by_name: HashMap<&Name, &Ty> = types.iter().map(|(name, ty)| (name, ty)).collect();
        for (name, span) in &lengths {
            let number = |ty: &Ty| matches!(ty, Ty::Wrong) || ty.unrefined().is_con("Int");
            if by_name.get(name).is_some_and(|ty| !number(ty)) {
                let message = format!("`{name}` counts as a length here, so it has to be a number: `{name}: Nat`");
                errors.push(Diagnostic::error(code::TYPE_FORM, *span, message));
            }
        }
        let lengths = lengths.into_iter().map(|(name, _)| name);
        let len_params = lengths.filter(|name| !by_name.contains_key(name)).collect();
        for (param, bounds) in &first.type_params {
            constraints.extend(bounds.iter().map(|class| (class.clone(), Ty::Param(param.name.clone()))));
        }
        let mut known = Vec::new();
        for (class, ty) in constraints {
            match self.scope.class(&class.name) {
                Some(found) => known.push((found.full.clone(), ty)),
                None => self.no_class(&class),
            }
        }
        Signature {
            module: self.module.name.name.clone(),
            name: first.name.name.clone(),
            type_params: params[own..].to_vec(),
            len_params,
            params: types,
            result,
            precondition,
            constraints: known,
            exported: self.module.exports.is_none(),
            span: first.name.span,
        }
    }

    pub(super) fn functions(&mut self) {
        let mut order: Vec<(Name, u32)> = Vec::new();
        let mut clauses: HashMap<(Name, u32), Vec<&'a Def>> = HashMap::new();
        for item in &self.module.items {
            match item {
                Item::Def(def) => {
                    let key = (def.name.name.clone(), def.params.len() as u32);
                    let all = clauses.entry(key.clone()).or_default();
                    if all.is_empty() {
                        order.push(key);
                    }
                    all.push(def);
                }
                Item::Curify(foreign) => self.foreign(foreign),
                Item::Fsm(fsm) => self.machine(fsm),
                _ => {}
            }
        }
        for key in order {
            let clauses = clauses.remove(&key).unwrap_or_default();
            let signature = Arc::new(self.signature(&clauses, None));
            for clause in &clauses[1..] {
                self.same_head(&signature, clause);
            }
            if !self.add_once(signature.clone()) {
                continue;
            }
            let inferred = clauses[0].result.is_none();
            self.out.groups.push(Group { signature, clauses, inferred });
        }
    }

    /// Checks that the clauses of a function agree in their types.
    fn same_head(&mut self, first: &Signature, clause: &Def) {
        let head = self.signature(&[clause], None);
        let texts = |one: &Ty, other: &Ty| show_both(one, other, &|_| "_".to_owned());
        for ((param, (_, ty)), (_, wanted)) in clause.params.iter().zip(&head.params).zip(&first.params) {
            let (found, wanted) = texts(ty, wanted);
            if found != wanted && !matches!(ty, Ty::Wrong) {
                let message = format!("the first clause of `{}` says {wanted} here, this one {found}", first.name);
                let error = self.error(code::MISMATCH, param.name.span, message);
                error.related.push((first.span, "the first clause".to_owned()));
                error
                    .hints
                    .push("the clauses of a function have the same types; give the other one another name".to_owned());
            }
        }
        let (found, wanted) = texts(&head.result, &first.result);
        if found != wanted
            && let Some(result) = &clause.result
        {
            let message = format!("the first clause of `{}` returns {wanted}, this one {found}", first.name);
            self.error(code::MISMATCH, result.span, message);
        }
    }

    /// Registers a function; reports a duplicate of the same name and arity.
    fn add_once(&mut self, signature: Arc<Signature>) -> bool {
        let key = (signature.name.clone(), signature.params.len() as u32);
        if let Some(known) = self.out.interface.functions.get(&key) {
            let known = known.span;
            let message = format!("`{}/{}` is defined twice", key.0, key.1);
            self.error(code::DUPLICATE, signature.span, message).related.push((known, "first here".to_owned()));
            return false;
        }
        self.scope.add_function(key.0.clone(), key.1, Function::Plain(signature.clone()));
        self.out.interface.functions.insert(key, signature);
        true
    }

    fn foreign(&mut self, foreign: &'a Curify) {
        let head = &foreign.head;
        let mut signature = self.signature(&[head], None);
        signature.precondition = head.guard.as_ref().map(|guard| Arc::new(guard.clone()));
        if head.result.is_none() {
            self.error(code::NEEDS_TYPE, head.name.span, "a function of Erlang needs a result type");
        }
        if foreign.arity as usize != head.params.len() {
            let message = format!("the target takes {} argument(s), the head has {}", foreign.arity, head.params.len());
            self.error(code::ARITY, foreign.target, message);
        }
        let signature = Arc::new(signature);
        self.add_once(signature.clone());
        self.out.foreign.push((signature, foreign));
    }

    /// Registers the functions that a machine adds to its module.
    fn machine(&mut self, fsm: &'a Fsm) {
        let names = [("spawn", 0), ("spawn", 1), ("send", 2), ("state", 1), ("stop", 1), ("definition", 0)];
        for (suffix, arity) in names {
            let params: Vec<_> = (0..arity).map(|at| (Name::from(format!("a{at}")), Ty::Any)).collect();
            let payload = if suffix == "spawn" && arity == 1 { self.payload_type(fsm) } else { None };
            let params = match payload {
                Some(ty) => vec![(Name::from("data"), ty)],
                None => params,
            };
            let fits = self.add_once(Arc::new(Signature {
                module: self.module.name.name.clone(),
                name: Name::from(format!("{}_{suffix}", fsm.name.name)),
                type_params: Vec::new(),
                len_params: Vec::new(),
                params,
                result: Ty::Any,
                precondition: None,
                constraints: Vec::new(),
                exported: true,
                span: fsm.name.span,
            }));
            if !fits {
                // A second machine of the same name: its functions already exist.
                return;
            }
        }
        self.out.interface.machines.push(fsm.name.name.clone());
        self.out.machines.push(fsm);
    }

    /// The argument that starts a machine with data: its record.
    fn payload_type(&self, fsm: &Fsm) -> Option<Ty> {
        fsm.payload.as_ref()?;
        let info = self.scope.ty(&fsm.name.name)?;
        let plain = info.params.is_empty() && matches!(info.kind, TypeInfoKind::Record(_));
        plain.then(|| Ty::Con(info.full.clone(), Vec::new()))
    }

    /// Marks the exported functions; without an export list, everything is exported.
    pub(super) fn exports(&mut self) {
        let Some(exports) = &self.module.exports else { return };
        let Interface { functions, constructors, types, classes, .. } = &mut self.out.interface;
        let methods: HashSet<Name> =
            classes.values().flat_map(|class| &class.methods).map(|method| method.name.clone()).collect();
        let mut known: HashMap<Name, Vec<u32>> = HashMap::new();
        functions.keys().for_each(|(name, arity)| known.entry(name.clone()).or_default().push(*arity));
        let mut unknown = Vec::new();
        for export in exports {
            let name = &export.name.name;
            let mut found = constructors.contains_key(name) || types.contains_key(name) || classes.contains_key(name);
            found |= methods.contains(name);
            let arities = known.get(name).map_or(&[][..], |arities| arities);
            for arity in arities.iter().filter(|arity| export.arity.is_none_or(|wanted| wanted == **arity)) {
                if let Some(signature) = functions.get_mut(&(name.clone(), *arity)) {
                    Arc::make_mut(signature).exported = true;
                    found = true;
                }
            }
            if !found {
                unknown.push((export, arities.iter().min().copied()));
            }
        }
        for (export, arity) in unknown {
            let name = &export.name.name;
            let what = export.arity.map_or_else(|| name.to_string(), |arity| format!("{name}/{arity}"));
            let message = format!("`{what}` is exported, but not defined");
            let error = self.error(code::UNKNOWN_EXPORT, export.name.span, message);
            if let Some(arity) = arity {
                error.hints.push(format!("there is `{name}/{arity}`"));
            }
        }
    }
}
