//! Checks classes and instances: defaults, methods, and the functions that build dictionaries.

use std::collections::HashMap;
use std::sync::Arc;

use super::body::{Binding, Body, Local};
use super::exprs::{short, tree};
use super::functions::Checker;
use crate::diagnostic::{Diagnostic, code};
use crate::ir::tree::{CheckedFunction, Tree, TreeKind, VarId};
use crate::ir::ty::{Len, Ty};
use crate::resolve::interface::{ClassInfo, InstanceInfo, Signature};
use crate::resolve::written_types::Reader;
use crate::syntax::ast::{Class, Def, Instance, Name};

use super::subtype::instantiate;

impl Checker<'_> {
    /// The defaults of a class: functions that take its dictionary as their first parameter.
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

    /// An instance: one function for each method, and one that builds the dictionary.
    pub(super) fn instance(&self, info: &InstanceInfo, instance: &Instance, ty: &Ty) {
        let Some(class) = self.scope.class_by_full(&info.class).cloned() else { return };
        let say = |error: Diagnostic| self.errors.borrow_mut().push(error);
        for (at, method) in instance.methods.iter().enumerate() {
            if instance.methods[..at].iter().any(|other| other.name.name == method.name.name) {
                let message = format!("the method `{}` is there twice", method.name.name);
                say(Diagnostic::error(code::DUPLICATE, method.name.span, message));
            }
            if let Some(constraint) = method.constraints.first() {
                let message = "the class says what a method needs; an instance cannot ask for more";
                say(Diagnostic::error(code::INSTANCE, constraint.span, message));
            }
            let known = class.methods.iter().any(|one| one.name == method.name.name);
            if !known {
                let message = format!("`{}` is not a method of `{}`", method.name.name, short(&class.full));
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
            let hole = body.request_dictionary(above.clone(), ty.clone(), span);
            elements.push(tree(TreeKind::Dict(hole), span));
        }
        let value = tree(TreeKind::Tuple(elements), span);
        let function = CheckedFunction { name: info.function.clone(), params: given, variables: 0, body: value, span };
        self.finish(body, function);
    }
}

/// The name of an instance's method on the BEAM. No name in a program contains a `$`, so it is unique.
fn method_name(instance: &str, method: &str) -> Name {
    Name::from(format!("{instance}${method}"))
}

/// The name of a class's default on the BEAM.
pub(crate) fn default_name(class: &str, method: &str) -> Name {
    Name::from(format!("{}$default${method}", short(class)))
}

/// The constraints of an instance: classes and types.
fn context_types(info: &InstanceInfo, ty: &Ty) -> Vec<(Name, Ty)> {
    let args = crate::resolve::classes::head_of(ty).map(|(_, args)| args).unwrap_or_default();
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

    /// Checks a method's body against the head in its class.
    fn method(
        &mut self,
        signature: &Signature,
        class: Option<(&Name, &Ty)>,
        method: &Def,
        value: &crate::syntax::ast::Expr,
    ) -> (Vec<VarId>, Tree) {
        let head = self.head(signature, class);
        if class.is_none() {
            // In a default, the parameter of the class is a separate one.
            let own =
                self.given.iter().filter_map(|(_, ty, _)| if let Ty::Param(name) = ty { Some(name) } else { None });
            let own: Vec<Name> = own.filter(|name| !self.type_params.contains(name)).cloned().collect();
            self.type_params.extend(own);
        }
        if let Some((_, ty)) = class {
            self.same_types(signature, class, method, ty);
        }
        for (at, param) in method.params.iter().enumerate() {
            self.report_duplicate(&param.name, method.params[..at].iter().map(|other| &other.name));
            let local = Local {
                var: head.params[at],
                ty: head.types[at].clone(),
                known: Binding::Term(head.terms[at].clone()),
            };
            self.locals.push((param.name.name.clone(), local));
        }
        let val = self.check(value, &head.result);
        let value = self.with_lengths(&head, val.tree, method.span);
        let vars = head.dictionaries.iter().chain(&head.params).copied().collect();
        (vars, value)
    }

    /// The types written in an instance's method must equal those of the class, up to the names of parameters.
    fn same_types(&mut self, signature: &Signature, class: Option<(&Name, &Ty)>, method: &Def, own: &Ty) {
        let mut same = Same { own: HashMap::new(), renamed: HashMap::new() };
        own.any(&mut |part| {
            if let Ty::Param(name) = part {
                // Parameters that were named apart from those of methods end with a mark that no name has.
                same.own.insert(Name::from(name.trim_end_matches('\'')), name.clone());
            }
            false
        });
        let class: HashMap<Name, Ty> = class.into_iter().map(|(name, ty)| (name.clone(), ty.clone())).collect();
        let types = signature.params.iter().map(|(_, ty)| ty);
        let written = method.params.iter().zip(types).filter_map(|(param, ty)| Some((param.ty.as_ref()?, ty)));
        let all: Vec<_> = written.chain(method.result.as_ref().map(|written| (written, &signature.result))).collect();
        let mut errors = Vec::new();
        let mut reader = Reader::new(self.scope, self.checker.source, &mut errors);
        // As it is written: the marks come back where the names of the body are resolved.
        let plain = own.map(&mut |part| match part {
            Ty::Param(name) => Some(Ty::Param(Name::from(name.trim_end_matches('\'')))),
            _ => None,
        });
        (self.own, reader.own) = (Some(plain.clone()), Some(plain));
        (reader.params, reader.implicit) = (same.own.keys().cloned().collect(), true);
        reader.values = method.params.iter().map(|param| param.name.name.clone()).collect();
        let mut read = Vec::new();
        for (written, ty) in all {
            read.push((reader.read(written), instantiate(ty, &class, &HashMap::new()), written.span));
        }
        reader.finish(false);
        self.errors.extend(errors);
        for (found, wanted, span) in read {
            if !same.types(&found, &wanted) {
                let (found, wanted) = (self.show(&found), self.show(&wanted));
                let message = format!("the class says {wanted} for `{}`, this is {found}", signature.name);
                let error = self.error(code::MISMATCH, span, message);
                if found == wanted {
                    error.hints.push("the parameter of the method is another one than that of the instance; give it a name of its own".to_owned());
                }
            }
        }
        self.type_params.extend(same.own.values().cloned());
        self.renamed = same.own.into_iter().chain(same.renamed).collect();
    }
}

/// Compares the types in an instance with those in its class.
struct Same {
    /// The instance's own parameters: the written name and the resolved one.
    own: HashMap<Name, Name>,
    /// Parameters of methods: the written name and the name in the class.
    renamed: HashMap<Name, Name>,
}

impl Same {
    fn types(&mut self, found: &Ty, wanted: &Ty) -> bool {
        match (found, wanted) {
            (Ty::Wrong, _) | (_, Ty::Wrong) | (Ty::Any, Ty::Any) => true,
            (Ty::Param(one), Ty::Param(other)) => match self.own.get(one) {
                Some(own) => own == other,
                None => {
                    let taken = self.renamed.iter().any(|(from, to)| to == other && from != one);
                    !taken && self.renamed.entry(one.clone()).or_insert_with(|| other.clone()) == other
                }
            },
            (Ty::Con(one, args), Ty::Con(other, wanted)) => one == other && self.all(args, wanted),
            (Ty::Seq(one, element, length), Ty::Seq(other, wanted, other_length)) => {
                let said = |length: &Len| matches!(length, Len::Unknown);
                one == other && said(length) == said(other_length) && self.types(element, wanted)
            }
            (Ty::Tuple(parts), Ty::Tuple(wanted)) => self.all(parts, wanted),
            (Ty::Fn(params, result), Ty::Fn(wanted, value)) => self.all(params, wanted) && self.types(result, value),
            (Ty::App(head, args), Ty::App(other, wanted)) => self.types(head, other) && self.all(args, wanted),
            (Ty::Refined(base, one), Ty::Refined(wanted, other)) => one.text == other.text && self.types(base, wanted),
            (Ty::Ctor(one), Ty::Ctor(other)) => one == other,
            _ => false,
        }
    }

    fn all(&mut self, found: &[Ty], wanted: &[Ty]) -> bool {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| self.types(found, wanted))
    }
}
