//! Classes and instances: defaults, methods, and the functions that make dictionaries.

use std::collections::HashMap;
use std::sync::Arc;

use super::body::{Body, Known, Local};
use super::exprs::{short, tree};
use super::functions::Program;
use crate::diagnostic::{Diagnostic, code};
use crate::resolve::interface::{ClassInfo, InstanceInfo, Signature};
use crate::syntax::ast::{Class, Def, Instance, Name};
use crate::types::tree::{CheckedFunction, Tree, TreeKind, VarId};
use crate::types::ty::Ty;

use super::subtype::instantiate;

impl Program<'_> {
    /// The defaults of a class: functions that take its dictionary first.
    pub(super) fn defaults(&self, class: &ClassInfo, written: &Class) {
        for (at, method) in written.methods.iter().enumerate() {
            let (Some(value), Some(signature)) = (&method.body, class.methods.get(at)) else { continue };
            let mut body = Body::new(self);
            let own = body.fresh_var();
            body.given.push((class.full.clone(), Ty::Param(class.param.clone()), own));
            let (params, value) = body.method(signature, None, method, value);
            let name = default_name(&class.full, &signature.name);
            let params = std::iter::once(own).chain(params).collect();
            self.finish(body, CheckedFunction { name, params, variables: 0, body: value, span: method.span });
        }
    }

    /// An instance: a function for each method, and one that makes the dictionary.
    pub(super) fn instance(&self, info: &InstanceInfo, instance: &Instance, ty: &Ty) {
        let Some(class) = self.scope.class_by_full(&info.class).cloned() else { return };
        let say = |error: Diagnostic| self.errors.borrow_mut().push(error);
        for method in &instance.methods {
            let known = class.methods.iter().any(|one| one.name == method.name.name);
            if !known {
                let message = format!("`{}` is no method of `{}`", method.name.name, short(&class.full));
                say(Diagnostic::error(code::INSTANCE, method.name.span, message));
            }
        }
        let params = context_types(info, ty);
        for signature in &class.methods {
            let written = instance.methods.iter().find(|method| method.name.name == signature.name);
            if let Some((method, value)) = written.and_then(|method| Some((method, method.body.as_ref()?))) {
                if method.params.len() != signature.params.len() {
                    let message =
                        format!("`{}` takes {} argument(s) in its class", signature.name, signature.params.len());
                    say(Diagnostic::error(code::ARITY, method.name.span, message));
                    continue;
                }
                let mut body = Body::new(self);
                let dictionaries = body.context(&params);
                let (vars, value) = body.method(signature, Some((&class.param, ty)), method, value);
                let name = method_name(&info.function, &signature.name);
                let all = dictionaries.into_iter().chain(vars).collect();
                self.finish(body, CheckedFunction { name, params: all, variables: 0, body: value, span: method.span });
            }
        }
        self.dictionary_function(info, &class, instance, ty);
    }

    fn dictionary_function(&self, info: &InstanceInfo, class: &Arc<ClassInfo>, instance: &Instance, ty: &Ty) {
        let span = instance.head.span;
        let mut body = Body::new(self);
        let params = context_types(info, ty);
        let given = body.context(&params);
        let vars = |vars: &[VarId]| vars.iter().map(|var| tree(TreeKind::Var(*var), span)).collect::<Vec<_>>();
        let mut elements = Vec::new();
        let mut missing = Vec::new();
        for (at, signature) in class.methods.iter().enumerate() {
            let written =
                instance.methods.iter().any(|method| method.name.name == signature.name && method.body.is_some());
            let arity = signature.constraints.len() + signature.params.len();
            let own: Vec<VarId> = (0..arity).map(|_| body.fresh_var()).collect();
            let args: Vec<Tree> = vars(&own);
            let call = if written {
                let all = vars(&given).into_iter().chain(args).collect();
                TreeKind::Local(method_name(&info.function, &signature.name), all)
            } else if class.defaults.get(at) == Some(&true) {
                let this = tree(TreeKind::Local(info.function.clone(), vars(&given)), span);
                let all = std::iter::once(this).chain(args).collect();
                let name = default_name(&class.full, &signature.name);
                if class.module == self.module {
                    TreeKind::Local(name, all)
                } else {
                    TreeKind::Remote(class.module.clone(), name, all)
                }
            } else {
                missing.push(format!("`{}`", signature.name));
                continue;
            };
            elements.push(tree(TreeKind::Lambda(own, Box::new(tree(call, span))), span));
        }
        if !missing.is_empty() {
            let message = format!("this instance of `{}` needs {} too", short(&class.full), missing.join(", "));
            self.errors.borrow_mut().push(Diagnostic::error(code::INSTANCE, span, message));
            return;
        }
        for above in &class.supers {
            let hole = body.want(above.clone(), ty.clone(), span);
            elements.push(tree(TreeKind::Dict(hole), span));
        }
        let value = tree(TreeKind::Tuple(elements), span);
        let function = CheckedFunction { name: info.function.clone(), params: given, variables: 0, body: value, span };
        self.finish(body, function);
    }
}

/// The name of an instance's method on the BEAM.
fn method_name(instance: &str, method: &str) -> Name {
    Name::from(format!("{instance}_{method}"))
}

/// The name of a class's default on the BEAM.
fn default_name(class: &str, method: &str) -> Name {
    Name::from(format!("{}_default_{method}", short(class)))
}

/// The classes and types that an instance is given.
fn context_types(info: &InstanceInfo, ty: &Ty) -> Vec<(Name, Ty)> {
    let args = crate::resolve::collect::head_of(ty).map(|(_, args)| args).unwrap_or_default();
    info.context.iter().filter_map(|(class, at)| Some((class.clone(), args.get(*at)?.clone()))).collect()
}

impl Body<'_> {
    fn context(&mut self, given: &[(Name, Ty)]) -> Vec<VarId> {
        let mut vars = Vec::new();
        for (class, ty) in given {
            let var = self.fresh_var();
            self.given.push((class.clone(), ty.clone(), var));
            vars.push(var);
        }
        vars
    }

    /// A method's body against the head that its class says.
    fn method(
        &mut self,
        signature: &Signature,
        class: Option<(&Name, &Ty)>,
        method: &Def,
        value: &crate::syntax::ast::Expr,
    ) -> (Vec<VarId>, Tree) {
        let head = self.head(signature, class);
        if let Some((_, ty)) = class {
            self.same_types(signature, class, method, ty);
        }
        for (at, param) in method.params.iter().enumerate() {
            let local =
                Local { var: head.params[at], ty: head.types[at].clone(), known: Known::Term(head.terms[at].clone()) };
            self.locals.push((param.name.name.clone(), local));
        }
        let val = self.check(value, &head.result);
        let value = self.with_lengths(&head, val.tree, method.span);
        let vars = head.dictionaries.iter().chain(&head.params).copied().collect();
        (vars, value)
    }

    /// The types that a method of an instance writes are those that its class says.
    fn same_types(&mut self, signature: &Signature, class: Option<(&Name, &Ty)>, method: &Def, own: &Ty) {
        own.map(&mut |part| {
            if let Ty::Param(name) = part {
                self.type_params.push(name.clone());
            }
            None
        });
        let class: HashMap<Name, Ty> = class.into_iter().map(|(name, ty)| (name.clone(), ty.clone())).collect();
        let types = signature.params.iter().map(|(_, ty)| ty);
        let written = method.params.iter().zip(types).filter_map(|(param, ty)| Some((param.ty.as_ref()?, ty)));
        let all: Vec<_> = written.chain(method.result.as_ref().map(|written| (written, &signature.result))).collect();
        for (written, ty) in all {
            let read = self.written(written);
            let ty = instantiate(ty, &class, &HashMap::new());
            let (found, wanted) = (self.show(&read), self.show(&ty));
            if found != wanted && !matches!(read, Ty::Wrong) {
                let message = format!("the class says {wanted} for `{}`, this is {found}", signature.name);
                self.error(code::MISMATCH, written.span, message);
            }
        }
    }
}
