//! A module's definitions: from its syntax to its interface, with everything that is wrong in heads and types.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::interface::{ClassInfo, Constructor, InstanceInfo, Interface, Signature, TypeInfo, TypeInfoKind};
use super::scope::{Function, Scope};
use super::written::Reader;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::syntax::ast::*;
use crate::types::derive;
use crate::types::ty::Ty;

/// All clauses of a function.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// What callers see.
    pub signature: Arc<Signature>,
    /// Its clauses.
    pub clauses: Vec<&'a Def>,
    /// Whether its result type is not written.
    pub inferred: bool,
}

/// A module's definitions, collected.
#[derive(Debug, Default)]
pub(crate) struct Collected<'a> {
    /// What it offers.
    pub interface: Interface,
    /// Its functions.
    pub groups: Vec<Group<'a>>,
    /// Its instances, written and derived.
    pub instances: Vec<(Arc<InstanceInfo>, Arc<Instance>, Ty)>,
    /// Its classes.
    pub classes: Vec<(Arc<ClassInfo>, &'a Class)>,
    /// Its functions of Erlang.
    pub foreign: Vec<(Arc<Signature>, &'a Curify)>,
    /// Its machines.
    pub machines: Vec<&'a Fsm>,
}

/// Collects the definitions of a module into its scope and its interface.
pub(crate) fn collect<'a>(
    module: &'a Module,
    source: &str,
    scope: &mut Scope,
    errors: &mut Vec<Diagnostic>,
) -> Collected<'a> {
    let mut collector = Collector { module, source, scope, errors, out: Collected::default() };
    collector.out.interface.module = Some(module.name.name.clone());
    collector.types();
    collector.classes();
    collector.functions();
    collector.instances();
    collector.exports();
    collector.out
}

pub(super) struct Collector<'a, 'b> {
    pub(super) module: &'a Module,
    pub(super) source: &'b str,
    pub(super) scope: &'b mut Scope,
    pub(super) errors: &'b mut Vec<Diagnostic>,
    pub(super) out: Collected<'a>,
}

impl<'a> Collector<'a, '_> {
    pub(super) fn error(
        &mut self,
        code: crate::diagnostic::Code,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.errors.push(Diagnostic::error(code, span, message));
        self.errors.last_mut().expect("one was pushed")
    }

    fn full(&self, name: &str) -> Name {
        Name::from(format!("{}.{name}", self.module.name.name))
    }

    fn read(&mut self, params: &[Name], ty: &Type) -> Ty {
        let params = params.to_vec();
        let (scope, source, errors) = (&*self.scope, self.source, &mut *self.errors);
        Reader { scope, source, errors, params, lengths: Vec::new(), implicit: false }.read(ty)
    }

    fn types(&mut self) {
        let mut seen: HashMap<Name, Span> = HashMap::new();
        let mut aliases: Vec<&'a TypeDef> = Vec::new();
        for item in &self.module.items {
            let (name, params) = match item {
                Item::Record(record) => (&record.name, &record.params),
                Item::Type(def) => (&def.name, &def.params),
                _ => continue,
            };
            if let Some(first) = seen.insert(name.name.clone(), name.span) {
                let message = format!("the type `{}` is defined twice", name.name);
                let error = self.error(code::DUPLICATE, name.span, message);
                error.related.push((first, "first here".to_owned()));
                continue;
            }
            if let Item::Type(def) = item
                && !self.is_sum(def)
            {
                aliases.push(def);
                continue;
            }
            let info = TypeInfo {
                full: self.full(&name.name),
                params: params.iter().map(|param| param.name.clone()).collect(),
                kind: TypeInfoKind::Sum(Vec::new()),
                covariant: true,
            };
            self.scope.add_type(name.name.clone(), Arc::new(info));
        }
        self.aliases(aliases);
        for item in &self.module.items {
            match item {
                Item::Record(record) => self.record(record),
                Item::Type(def) if self.is_sum(def) => self.sum(def),
                _ => {}
            }
        }
        self.variance();
    }

    /// Whether a definition makes a new type: it has several constructors, or one that is no type.
    fn is_sum(&self, def: &TypeDef) -> bool {
        match &def.body.kind {
            TypeKind::Union(_) => true,
            TypeKind::Name(name, _) => {
                let builtin = [
                    "Int", "Float", "String", "Bool", "Atom", "Unit", "Any", "Nat", "Pos", "Charlist", "List",
                    "Vector", "Pair",
                ];
                let own = self.module.items.iter().any(|item| match item {
                    Item::Record(record) => record.name.name == *name,
                    Item::Type(other) => other.name.name == *name && *name != def.name.name,
                    _ => false,
                });
                let param = def.params.iter().any(|param| param.name == *name);
                let imported = *name != def.name.name && self.scope.ty(name).is_some();
                !(own || param || imported || builtin.contains(&&**name))
            }
            _ => false,
        }
    }

    /// Aliases in the order of their dependence.
    fn aliases(&mut self, mut open: Vec<&'a TypeDef>) {
        while !open.is_empty() {
            let names: HashSet<&str> = open.iter().map(|def| &*def.name.name).collect();
            let ready = |def: &&TypeDef| !mentions(&def.body, &names);
            let Some(at) = open.iter().position(ready) else {
                for def in open {
                    let message = format!("the type `{}` is defined by itself", def.name.name);
                    let error = self.error(code::INFINITE_TYPE, def.name.span, message);
                    error.hints.push(
                        "a type that contains itself needs a constructor: `type Tree = Leaf | Node(Tree, Tree)`"
                            .to_owned(),
                    );
                    let info = TypeInfo {
                        full: def.name.name.clone(),
                        params: Vec::new(),
                        kind: TypeInfoKind::Alias(Ty::Wrong),
                        covariant: true,
                    };
                    self.scope.add_type(def.name.name.clone(), Arc::new(info));
                }
                return;
            };
            let def = open.remove(at);
            let params: Vec<Name> = def.params.iter().map(|param| param.name.clone()).collect();
            let mut ty = self.read(&params, &def.body);
            if let Some(guard) = &def.guard {
                self.error(code::NOT_YET, guard.span, "a condition behind a type is not there yet")
                    .hints
                    .push("write it into the type: `{x: Int | x > 0}`".to_owned());
            }
            for class in &def.derive {
                let message = "an alias derives nothing: it is another name for a type that has its own instances";
                self.error(code::INSTANCE, class.span, message);
            }
            // The name of an alias is how its type is written in messages.
            if let (Ty::Refined(base, pred), true) = (&ty, params.is_empty()) {
                let pred = crate::types::ty::Pred {
                    var: pred.var.clone(),
                    condition: pred.condition.clone(),
                    names: HashMap::new(),
                    text: def.name.name.to_string(),
                };
                ty = Ty::Refined(base.clone(), Arc::new(pred));
            }
            let info =
                TypeInfo { full: self.full(&def.name.name), params, kind: TypeInfoKind::Alias(ty), covariant: true };
            self.publish(&def.name.name, info);
        }
    }

    fn publish(&mut self, name: &Name, info: TypeInfo) {
        let info = Arc::new(info);
        self.scope.add_type(name.clone(), info.clone());
        self.out.interface.types.insert(name.clone(), info);
    }

    fn record(&mut self, record: &'a Record) {
        let params: Vec<Name> = record.params.iter().map(|param| param.name.clone()).collect();
        let mut fields: Vec<(Name, Ty)> = Vec::new();
        for (name, ty) in &record.fields {
            if fields.iter().any(|(known, _)| *known == name.name) {
                self.error(code::DUPLICATE, name.span, format!("the field `{}` is there twice", name.name));
                continue;
            }
            let ty = self.read(&params, ty);
            fields.push((name.name.clone(), ty));
        }
        let kind = TypeInfoKind::Record(fields);
        self.publish(&record.name.name, TypeInfo { full: self.full(&record.name.name), params, kind, covariant: true });
    }

    fn sum(&mut self, def: &'a TypeDef) {
        let params: Vec<Name> = def.params.iter().map(|param| param.name.clone()).collect();
        let of = self.full(&def.name.name);
        let alternatives = match &def.body.kind {
            TypeKind::Union(all) => &all[..],
            _ => std::slice::from_ref(&def.body),
        };
        let mut constructors = Vec::new();
        for alternative in alternatives {
            let TypeKind::Name(name, args) = &alternative.kind else {
                let hint = "name each alternative: `type T = A(Int) | B`".to_owned();
                self.error(code::TYPE_FORM, alternative.span, "this is no constructor").hints.push(hint);
                continue;
            };
            let fields = args.iter().map(|arg| self.read(&params, arg)).collect();
            let constructor = Arc::new(Constructor {
                name: name.clone(),
                tag: tag(name),
                of: of.clone(),
                params: params.clone(),
                fields,
            });
            if self.out.interface.constructors.insert(name.clone(), constructor.clone()).is_some() {
                self.error(code::DUPLICATE, alternative.span, format!("the constructor `{name}` is defined twice"));
            }
            self.scope.add_constructor(name.clone(), constructor.clone());
            constructors.push(constructor);
        }
        if let Some(guard) = &def.guard {
            self.error(code::NOT_YET, guard.span, "a condition on a type with constructors is not there yet");
        }
        self.publish(
            &def.name.name,
            TypeInfo { full: of, params, kind: TypeInfoKind::Sum(constructors), covariant: true },
        );
    }

    /// Marks the types of this module that hold functions.
    fn variance(&mut self) {
        loop {
            let holds = |ty: &Ty| {
                let mut found = false;
                ty.map(&mut |part| {
                    found |= match part {
                        Ty::Fn(..) => true,
                        Ty::Con(name, _) => self.scope.type_by_full(name).is_some_and(|info| !info.covariant),
                        _ => false,
                    };
                    None
                });
                found
            };
            let inside = |info: &TypeInfo| match &info.kind {
                TypeInfoKind::Alias(_) => false,
                TypeInfoKind::Sum(all) => all.iter().any(|one| one.fields.iter().any(holds)),
                TypeInfoKind::Record(fields) => fields.iter().any(|(_, ty)| holds(ty)),
            };
            let types = self.out.interface.types.iter();
            let changed: Vec<_> = types
                .filter(|(_, info)| info.covariant && inside(info))
                .map(|(name, info)| (name.clone(), info.clone()))
                .collect();
            if changed.is_empty() {
                return;
            }
            for (name, info) in changed {
                self.publish(&name, TypeInfo { covariant: false, ..(*info).clone() });
            }
        }
    }

    fn classes(&mut self) {
        for item in &self.module.items {
            let Item::Class(class) = item else { continue };
            let (full, module) = (self.full(&class.name.name), self.module.name.name.clone());
            let param = match &class.params[..] {
                [param] => param.name.clone(),
                _ => {
                    self.error(code::TYPE_FORM, class.name.span, "a class has one type parameter")
                        .hints
                        .push(format!("write `typeclass {}(T) do`", class.name.name));
                    continue;
                }
            };
            let supers = self.class_names(&class.supers);
            let mut info =
                ClassInfo { full, module, param: param.clone(), supers, methods: Vec::new(), defaults: Vec::new() };
            for method in &class.methods {
                let mut signature = self.signature(&[method], Some(&param));
                signature.exported = true;
                info.methods.push(Arc::new(signature));
                info.defaults.push(method.body.is_some());
            }
            let info = Arc::new(info);
            for (at, method) in info.methods.iter().enumerate() {
                let function = Function::Method(info.clone(), at as u32);
                self.scope.add_function(method.name.clone(), method.params.len() as u32, function);
            }
            self.scope.add_class(class.name.name.clone(), info.clone());
            self.out.interface.classes.insert(class.name.name.clone(), info.clone());
            self.out.classes.push((info, class));
        }
    }

    fn class_names(&mut self, constraints: &[Constraint]) -> Vec<Name> {
        let mut names = Vec::new();
        for constraint in constraints {
            match self.scope.class(&constraint.class.name) {
                Some(class) => names.push(class.full.clone()),
                None => self.no_class(&constraint.class),
            }
        }
        names
    }

    pub(super) fn no_class(&mut self, class: &Ident) {
        self.error(code::UNKNOWN_CLASS, class.span, format!("there is no class `{}`", class.name));
    }

    fn instances(&mut self) {
        let mut all: Vec<Arc<Instance>> = Vec::new();
        for item in &self.module.items {
            match item {
                Item::Instance(instance) => all.push(Arc::new(instance.clone())),
                Item::Record(record) => all.extend(derive::record(record).into_iter().map(Arc::new)),
                Item::Type(def) => {
                    let made: Vec<_> = self
                        .out
                        .interface
                        .constructors
                        .values()
                        .filter(|found| *found.of == *self.full(&def.name.name))
                        .cloned()
                        .collect();
                    let mut order = made;
                    order.sort_by_key(|constructor| derive::position(&def.body, &constructor.name));
                    all.extend(derive::sum(def, &order).into_iter().map(Arc::new));
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
        let (scope, source, errors) = (&*self.scope, self.source, &mut *self.errors);
        let mut reader = Reader { scope, source, errors, params: Vec::new(), lengths: Vec::new(), implicit: true };
        let ty = reader.read(written);
        let Some((key, args)) = head_of(&ty) else {
            if !matches!(ty, Ty::Wrong) {
                self.error(code::INSTANCE, head.span, "an instance is for a named type, a list or a tuple")
                    .hints
                    .push("an alias with a refinement shares the instances of its base".to_owned());
            }
            return;
        };
        let mut context = Vec::new();
        for constraint in &instance.context {
            let param = constraint.args.first().map(|arg| self.read_in(arg, &ty));
            let at = args.iter().position(|arg| matches!((arg, &param), (Ty::Param(a), Some(Ty::Param(b))) if a == b));
            match (self.scope.class(&constraint.class.name).map(|class| class.full.clone()), at) {
                (None, _) => self.no_class(&constraint.class),
                (_, None) => {
                    self.error(code::INSTANCE, constraint.span, "this condition is not about a parameter of the type");
                }
                (Some(class), Some(at)) => context.push((class, at)),
            }
        }
        let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let info = Arc::new(InstanceInfo {
            class: class.full.clone(),
            head: key.clone(),
            context,
            module: self.module.name.name.clone(),
            function: Name::from(format!("{}_{}", short(&class.full), short(&key))),
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
        self.out.instances.push((info, instance, ty));
    }

    /// Reads a type over the parameters that another one has.
    fn read_in(&mut self, written: &Type, ty: &Ty) -> Ty {
        let mut params = Vec::new();
        ty.map(&mut |part| {
            if let Ty::Param(name) = part {
                params.push(name.clone());
            }
            None
        });
        self.read(&params, written)
    }
}

/// Whether a written type names one of these.
fn mentions(ty: &Type, names: &HashSet<&str>) -> bool {
    match &ty.kind {
        TypeKind::Name(name, args) => names.contains(&**name) || args.iter().any(|arg| mentions(arg, names)),
        TypeKind::Fn(params, result) => params.iter().any(|param| mentions(param, names)) || mentions(result, names),
        TypeKind::Union(all) | TypeKind::Tuple(all) => all.iter().any(|one| mentions(one, names)),
        TypeKind::Refined(_, base, _) => mentions(base, names),
        TypeKind::Len(_) | TypeKind::Missing => false,
    }
}

/// The atom that marks the values of a constructor.
pub(crate) fn tag(name: &str) -> Name {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
    Name::from(format!("{first}{}", letters.as_str()))
}

/// The outermost name of a type, by which instances are found, and its arguments.
pub(crate) fn head_of(ty: &Ty) -> Option<(Name, Vec<Ty>)> {
    Some(match ty {
        Ty::Con(name, args) => (name.clone(), args.clone()),
        Ty::Seq(crate::types::ty::Seq::List, element, _) => (Name::from("List"), vec![(**element).clone()]),
        Ty::Seq(_, element, _) => (Name::from("Vector"), vec![(**element).clone()]),
        Ty::Tuple(parts) => (Name::from(format!("Tuple{}", parts.len())), parts.clone()),
        Ty::Refined(base, _) => return head_of(base),
        _ => return None,
    })
}
