//! Class and instance heads: their superclasses, and whether they are ambiguous or unsound.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::collect::Collector;
use super::derive;
use super::interface::{ClassInfo, InstanceInfo, Signature};
use super::order::ordered;
use super::scope::Function;
use super::suggest;
use super::written_types::Reader;
use crate::diagnostic::{Span, code};
use crate::ir::ty::{Len, Seq, Ty};
use crate::syntax::ast::*;

impl<'a> Collector<'a, '_> {
    pub(super) fn classes(&mut self) {
        for class in self.in_order() {
            let (full, module) = (self.full(&class.name.name), self.module.name.name.clone());
            let param = match &class.params[..] {
                [param] => {
                    self.not_built_in(param);
                    param.name.clone()
                }
                _ => {
                    self.error(code::TYPE_FORM, class.name.span, "a class has one type parameter")
                        .hints
                        .push(format!("write `typeclass {}(T) do`", class.name.name));
                    continue;
                }
            };
            self.warn_redefined_class(&class.name);
            let supers = self.supers(class, &param);
            let mut methods: Vec<Arc<Signature>> = Vec::new();
            for method in &class.methods {
                let mut signature = self.signature(&[method], Some(&param));
                signature.exported = true;
                if method.result.is_none() {
                    let message = format!("the method `{}` needs a result type", method.name.name);
                    let hint = format!("write `def {}(…): Type`", method.name.name);
                    self.error(code::NEEDS_TYPE, method.name.span, message).hints.push(hint);
                }
                if methods.iter().any(|known| known.name == signature.name) {
                    let message = format!("the method `{}` is there twice", method.name.name);
                    self.error(code::DUPLICATE, method.name.span, message);
                    continue;
                }
                methods.push(Arc::new(signature));
            }
            let arity = self.kind(class, &param, &methods);
            let defaults = class.methods.iter().map(|method| method.body.is_some()).collect();
            let info = Arc::new(ClassInfo { full, module, param, supers, methods, defaults, arity });
            for (at, method) in info.methods.iter().enumerate() {
                let function = Function::Method(info.clone(), at as u32);
                self.scope.add_function(method.name.clone(), method.params.len() as u32, function);
            }
            self.scope.add_class(class.name.name.clone(), info.clone());
            self.out.interface.classes.insert(class.name.name.clone(), info.clone());
            self.out.classes.push((info, class));
        }
    }

    /// The classes of the module, superclasses first.
    fn in_order(&mut self) -> Vec<&'a Class> {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        let mut all: Vec<&'a Class> = Vec::new();
        for item in &self.module.items {
            let Item::Class(class) = item else { continue };
            if let Some(first) = seen.insert(&class.name.name, class.name.span) {
                let message = format!("the class `{}` is defined twice", class.name.name);
                self.error(code::DUPLICATE, class.name.span, message).related.push((first, "first here".to_owned()));
                continue;
            }
            all.push(class);
        }
        let (order, circular) = ordered(
            &all,
            |class| &class.name.name,
            |class, needs| {
                class.supers.iter().for_each(|one| needs(&one.class.name));
            },
        );
        for class in circular.into_iter().map(|at| all[at]) {
            let message = format!("the class `{}` is built upon itself", class.name.name);
            self.error(code::INFINITE_TYPE, class.name.span, message);
        }
        order.into_iter().map(|at| all[at]).collect()
    }

    /// The superclasses of a class, which its parameter must implement.
    fn supers(&mut self, class: &Class, param: &Name) -> Vec<Name> {
        let mut names = Vec::new();
        for constraint in &class.supers {
            let own = match &constraint.args[..] {
                [arg] => matches!(&arg.kind, TypeKind::Name(name, args) if name == param && args.is_empty()),
                _ => false,
            };
            if !own {
                let message = format!(
                    "a class is built upon classes of its own parameter: `when {}({param})`",
                    constraint.class.name
                );
                self.error(code::TYPE_FORM, constraint.span, message);
            }
            match self.scope.class(&constraint.class.name) {
                Some(class) => names.push(class.full.clone()),
                None => self.no_class(&constraint.class),
            }
        }
        names
    }

    /// The number of arguments that the parameter of a class takes: 0 for a class of types.
    fn kind(&mut self, class: &Class, param: &Name, methods: &[Arc<Signature>]) -> usize {
        let mut kind = None;
        for (method, signature) in class.methods.iter().zip(methods) {
            let mut differs = false;
            let types = signature.params.iter().map(|(_, ty)| ty).chain(std::iter::once(&signature.result));
            for ty in types {
                seen_with(ty, param, &mut |count| differs |= *kind.get_or_insert(count) != count);
            }
            if differs {
                let message = format!("`{param}` stands with and without arguments in this class");
                self.error(code::TYPE_FORM, method.name.span, message);
            }
        }
        kind.unwrap_or(0)
    }

    pub(super) fn no_class(&mut self, class: &Ident) {
        let near = || self.scope.nearest_class(&class.name).map(|near| format!("did you mean `{near}`?"));
        let near = suggest::import_of_type(&class.name).or_else(near);
        let error = self.error(code::UNKNOWN_CLASS, class.span, format!("there is no class `{}`", class.name));
        error.hints.extend(near);
    }

    pub(super) fn instances(&mut self) {
        let mut all: Vec<Arc<Instance>> = Vec::new();
        for item in &self.module.items {
            match item {
                Item::Instance(instance) => all.push(Arc::new(instance.clone())),
                Item::Record(record) => all.extend(derive::record(record).into_iter().map(Arc::new)),
                Item::Type(def) if !def.derive.is_empty() => {
                    let of = self.full(&def.name.name);
                    let known = |name| self.out.interface.constructors.get(name).filter(|one| one.of == of).cloned();
                    let constructors: Vec<_> = derive::alternatives(&def.body).filter_map(known).collect();
                    all.extend(derive::sum(def, &constructors).into_iter().map(Arc::new));
                }
                _ => {}
            }
        }
        for instance in all {
            self.instance(instance);
        }
    }

    fn instance(&mut self, instance: Arc<Instance>) {
        let head = &instance.head;
        let Some(class) = self.scope.class(&head.class.name).cloned() else { return self.no_class(&head.class) };
        let [written] = &head.args[..] else {
            self.error(code::INSTANCE, head.span, "an instance is for one type");
            return;
        };
        let mut reader = Reader::new(&*self.scope, self.source, &mut *self.errors);
        reader.implicit = true;
        let ty =
            if class.arity > 0 { reader.constructor(written, class.arity) } else { any_length(&reader.read(written)) };
        let Some((key, args)) = head_of(&ty).filter(|_| !matches!(ty, Ty::Refined(..))) else {
            if !matches!(ty, Ty::Wrong) {
                self.error(code::INSTANCE, head.span, "an instance is for a named type, a list or a tuple")
                    .hints
                    .push("a type with a condition shares the instances of the type it is over".to_owned());
            }
            return;
        };
        let certain_length = matches!(&ty, Ty::Seq(_, _, length) if *length != Len::Unknown);
        if !all_different(&args) || certain_length {
            let message = "an instance is for all arguments of its type: each is a name of its own";
            self.error(code::INSTANCE, head.span, message).hints.push(format!(
                "write `instance {}({}({}))`",
                head.class.name,
                short(&key),
                letters(args.len())
            ));
            return;
        }
        let mut context = Vec::new();
        for constraint in &instance.context {
            let wanted = match &constraint.args[..] {
                [Type { kind: TypeKind::Name(name, args), .. }] if args.is_empty() => Some(name),
                _ => None,
            };
            let at = args.iter().position(|arg| matches!((arg, wanted), (Ty::Param(a), Some(b)) if a == b));
            match (self.scope.class(&constraint.class.name).map(|class| class.full.clone()), at) {
                (None, _) => self.no_class(&constraint.class),
                (_, None) => {
                    self.error(code::INSTANCE, constraint.span, "this condition is not about a parameter of the type");
                }
                (Some(class), Some(at)) => context.push((class, at)),
            }
        }
        let info = Arc::new(InstanceInfo {
            class: class.full.clone(),
            head: key.clone(),
            context,
            module: self.module.name.name.clone(),
            function: self.instance_name(&class, &key),
            span: head.span,
        });
        if let Some(known) = self.scope.add_instance(info.clone()) {
            let message = format!("`{}` has an instance for `{}` already", short(&class.full), short(&key));
            let here = known.module == info.module;
            let error = self.error(code::DUPLICATE, head.span, message);
            if here {
                error.related.push((known.span, "here".to_owned()));
            } else {
                error.hints.push(format!("it stands in `{}`", known.module));
            }
            return;
        }
        self.out.interface.instances.push(info.clone());
        self.out.instances.push((info, instance, rename_parameters(&ty, &class)));
    }

    /// The name of the function that builds an instance's dictionary; unique in a module.
    fn instance_name(&mut self, class: &ClassInfo, key: &str) -> Name {
        let plain = Name::from(format!("{}_{}", short(&class.full), short(key)));
        if self.scope.functions_named(&plain).is_empty() && self.instances.insert(plain.clone()) {
            return plain;
        }
        Name::from(format!("{}_{key}", class.full))
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Calls back with the number of arguments of a parameter at each occurrence.
fn seen_with(ty: &Ty, param: &Name, seen: &mut impl FnMut(usize)) {
    match ty {
        Ty::Param(name) if name == param => seen(0),
        Ty::App(head, args) => {
            if matches!(&**head, Ty::Param(name) if name == param) {
                seen(args.len());
            }
            args.iter().for_each(|arg| seen_with(arg, param, seen));
        }
        Ty::Con(_, parts) | Ty::Tuple(parts) => parts.iter().for_each(|part| seen_with(part, param, seen)),
        Ty::Seq(_, element, _) => seen_with(element, param, seen),
        Ty::Fn(params, result) => {
            params.iter().for_each(|one| seen_with(one, param, seen));
            seen_with(result, param, seen);
        }
        Ty::Refined(base, _) => seen_with(base, param, seen),
        Ty::Param(_) | Ty::Ctor(_) | Ty::Meta(_) | Ty::Any | Ty::Wrong => {}
    }
}

/// `Vector(T, n)` for every n is `Vector(T)`.
fn any_length(ty: &Ty) -> Ty {
    match ty {
        Ty::Seq(seq, element, Len::Named(named)) if named.constant == 0 && matches!(&named.factors[..], [(_, 1)]) => {
            Ty::Seq(*seq, element.clone(), Len::Unknown)
        }
        other => other.clone(),
    }
}

/// `A, B, …`
fn letters(count: usize) -> String {
    ('A'..='Z').take(count).map(String::from).collect::<Vec<_>>().join(", ")
}

/// True if these are distinct type parameters.
fn all_different(args: &[Ty]) -> bool {
    let mut seen = HashSet::new();
    args.iter().all(|arg| matches!(arg, Ty::Param(name) if seen.insert(name.clone())))
}

/// The type of an instance with its parameters renamed apart from the parameters of methods.
fn rename_parameters(ty: &Ty, class: &ClassInfo) -> Ty {
    let clash = |name: &Name| class.methods.iter().any(|method| method.type_params.contains(name));
    ty.map(&mut |part| match part {
        Ty::Param(name) if clash(name) => Some(Ty::Param(Name::from(format!("{name}'")))),
        _ => None,
    })
}

/// The outermost name of a type, by which instances are found, and its arguments.
pub(crate) fn head_of(ty: &Ty) -> Option<(Name, Vec<Ty>)> {
    Some(match ty {
        Ty::Con(name, args) => (name.clone(), args.clone()),
        Ty::Ctor(name) => (name.clone(), Vec::new()),
        Ty::Seq(Seq::List, element, _) => (Name::from("List"), vec![(**element).clone()]),
        Ty::Seq(_, element, _) => (Name::from("Vector"), vec![(**element).clone()]),
        Ty::Tuple(parts) => (Name::from(format!("Tuple{}", parts.len())), parts.clone()),
        _ => return None,
    })
}
