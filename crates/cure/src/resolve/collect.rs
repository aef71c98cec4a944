//! Collects a module's definitions from its syntax into its interface, and reports the errors in heads and types.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::interface::{ClassInfo, Constructor, InstanceInfo, Interface, Signature, TypeInfo, TypeInfoKind};
use super::order::ordered;
use super::scope::Scope;
use super::written_types::{BUILT_IN, Reader, counts};
use crate::diagnostic::{Diagnostic, Span, code};
use crate::ir::ty::Ty;
use crate::syntax::ast::*;

/// All clauses of a function.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// The signature that callers see.
    pub signature: Arc<Signature>,
    pub clauses: Vec<&'a Def>,
    pub inferred: bool,
}

/// The collected definitions of a module.
#[derive(Debug, Default)]
pub(crate) struct Collected<'a> {
    /// The module's interface.
    pub interface: Interface,
    pub groups: Vec<Group<'a>>,
    /// Its instances, written and derived.
    pub instances: Vec<(Arc<InstanceInfo>, Arc<Instance>, Ty)>,
    pub classes: Vec<(Arc<ClassInfo>, &'a Class)>,
    /// Its Erlang functions.
    pub foreign: Vec<(Arc<Signature>, &'a Curify)>,
    pub machines: Vec<&'a Fsm>,
}

/// Collects the definitions of a module into its scope and its interface.
pub(crate) fn collect<'a>(
    module: &'a Module,
    source: &str,
    scope: &mut Scope,
    errors: &mut Vec<Diagnostic>,
) -> Collected<'a> {
    let mut collector =
        Collector { module, source, scope, errors, out: Collected::default(), instances: HashSet::new() };
    collector.out.interface.module = Some(module.name.name.clone());
    collector.scope.own = Some(module.name.name.clone());
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
    /// Collects the functions that build the dictionaries of instances.
    pub(super) instances: HashSet<Name>,
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

    pub(super) fn full(&self, name: &str) -> Name {
        Name::from(format!("{}.{name}", self.module.name.name))
    }

    fn read(&mut self, params: &[Name], ty: &Type) -> Ty {
        let params = params.to_vec();
        let mut reader = Reader::new(&*self.scope, self.source, &mut *self.errors);
        reader.params = params;
        let read = reader.read(ty);
        reader.finish(true);
        self.plain(read, ty.span)
    }

    /// A type's own parameters are types, not type constructors.
    fn plain(&mut self, ty: Ty, span: Span) -> Ty {
        if !ty.any(&mut |part| matches!(part, Ty::App(..))) {
            return ty;
        }
        let message = "the parameter of a type takes no arguments itself";
        self.error(code::TYPE_FORM, span, message)
            .hints
            .push("classes and functions can be over type constructors: `def f(x: F(A)): F(B)`".to_owned());
        Ty::Wrong
    }

    fn types(&mut self) {
        let mut seen: HashMap<Name, Span> = HashMap::new();
        let mut aliases: Vec<&'a TypeDef> = Vec::new();
        let own = own_types(self.module);
        let defs =
            self.module.items.iter().filter_map(|item| if let Item::Type(def) = item { Some(def) } else { None });
        let sums: HashSet<Span> = defs.filter(|def| self.is_sum(def, &own)).map(|def| def.name.span).collect();
        for item in &self.module.items {
            let (name, params) = match item {
                Item::Record(record) => (&record.name, &record.params),
                Item::Type(def) => (&def.name, &def.params),
                _ => continue,
            };
            params.iter().for_each(|param| {
                self.not_built_in(param);
            });
            if !self.not_built_in(name) {
                continue;
            }
            if let Some(first) = seen.insert(name.name.clone(), name.span) {
                let message = format!("the type `{}` is defined twice", name.name);
                let error = self.error(code::DUPLICATE, name.span, message);
                error.related.push((first, "first here".to_owned()));
                continue;
            }
            let def = if let Item::Type(def) = item { Some(def) } else { None };
            self.warn_redefined_type(name, def);
            if let Item::Type(def) = item
                && !sums.contains(&def.name.span)
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
        self.aliases(&aliases);
        for item in &self.module.items {
            match item {
                Item::Record(record) if !is_reserved(&record.name) => self.record(record),
                Item::Type(def) if sums.contains(&def.name.span) && !is_reserved(&def.name) => self.sum(def),
                _ => {}
            }
        }
        self.variance();
    }

    /// True if the name is not that of a built-in type. Redefining `Int` would confuse every reader.
    pub(super) fn not_built_in(&mut self, name: &Ident) -> bool {
        let free = !is_reserved(name);
        if !free {
            let message = format!("`{}` is a type of the language and cannot be defined anew", name.name);
            let hint = format!("choose another name, such as `My{}`", name.name);
            self.error(code::DUPLICATE, name.span, message).hints.push(hint);
        }
        free
    }

    /// True if a definition makes a new type: it has several constructors, or one that is not a type. `own` counts the
    /// types of the module by name.
    fn is_sum(&self, def: &TypeDef, own: &HashMap<&Name, usize>) -> bool {
        match &def.body.kind {
            TypeKind::Union(_) => true,
            TypeKind::Name(name, _) => {
                // The definition itself is not counted.
                let itself = usize::from(*name == def.name.name);
                let own = own.get(name).is_some_and(|count| *count > itself);
                let param = def.params.iter().any(|param| param.name == *name);
                let imported = *name != def.name.name && self.scope.ty(name).is_some();
                !(own || param || imported || BUILT_IN.contains(&&**name))
            }
            _ => false,
        }
    }

    /// Aliases in dependency order.
    fn aliases(&mut self, all: &[&'a TypeDef]) {
        let (order, circular) = ordered(all, |def| &def.name.name, |def, needs| mentioned(&def.body, needs));
        for def in circular.into_iter().map(|at| all[at]) {
            let message = format!("the type `{}` is defined by itself", def.name.name);
            let error = self.error(code::INFINITE_TYPE, def.name.span, message);
            let hint = "a type that contains itself needs a constructor: `type Tree = Leaf | Node(Tree, Tree)`";
            error.hints.push(hint.to_owned());
            let (full, kind) = (def.name.name.clone(), TypeInfoKind::Alias(Ty::Wrong));
            let info = TypeInfo { full, params: Vec::new(), kind, covariant: true };
            self.scope.add_type(def.name.name.clone(), Arc::new(info));
        }
        for at in order {
            self.add_alias(all[at]);
        }
    }

    fn add_alias(&mut self, def: &'a TypeDef) {
        let params: Vec<Name> = def.params.iter().map(|param| param.name.clone()).collect();
        let mut ty = self.alias(def, &params);
        for class in &def.derive {
            let message = "an alias derives nothing: it is another name for a type that has its own instances";
            self.error(code::INSTANCE, class.span, message);
        }
        // Messages show the type by the name of the alias.
        if let (Ty::Refined(base, pred), true) = (&ty, params.is_empty()) {
            let pred = crate::ir::ty::Pred {
                var: pred.var.clone(),
                condition: pred.condition.clone(),
                names: HashMap::new(),
                text: def.name.name.to_string(),
            };
            ty = Ty::Refined(base.clone(), Arc::new(pred));
        }
        let info = TypeInfo { full: self.full(&def.name.name), params, kind: TypeInfoKind::Alias(ty), covariant: true };
        self.publish(&def.name.name, info);
    }

    /// The type of an alias. Its parameters may be types and numbers; a condition after it applies to its value.
    fn alias(&mut self, def: &'a TypeDef, params: &[Name]) -> Ty {
        let mut reader = Reader::new(&*self.scope, self.source, &mut *self.errors);
        (reader.params, reader.values) = (params.to_vec(), params.to_vec());
        let mut ty = reader.read(&def.body);
        if let Some(guard) = &def.guard {
            match Reader::subject(guard) {
                Some(var) => {
                    reader.condition(guard, &var, &ty);
                    let pred = reader.predicate(var, guard, def.span);
                    ty = Ty::Refined(Arc::new(ty), pred);
                }
                None => {
                    let message = "the condition behind a type has one name, which stands for the value";
                    let error = Diagnostic::error(code::TYPE_FORM, guard.span, message);
                    reader.errors.push(error.hint("write it into the type: `{x: Int | x > 0 and x < limit}`"));
                }
            }
        }
        reader.finish(true);
        for param in &def.params {
            if counts(&ty, &param.name) && ty.any(&mut |part| matches!(part, Ty::Param(name) if *name == param.name)) {
                let message = format!("`{}` is a type here and a number there", param.name);
                self.error(code::TYPE_FORM, param.span, message);
            }
        }
        self.plain(ty, def.body.span)
    }

    fn publish(&mut self, name: &Name, info: TypeInfo) {
        let info = Arc::new(info);
        self.scope.add_type(name.clone(), info.clone());
        self.out.interface.types.insert(name.clone(), info);
    }

    fn record(&mut self, record: &'a Record) {
        let params: Vec<Name> = record.params.iter().map(|param| param.name.clone()).collect();
        let mut fields: Vec<(Name, Ty)> = Vec::new();
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for (name, ty) in &record.fields {
            if let Some(first) = seen.get(&name.name).copied() {
                let error = self.error(code::DUPLICATE, name.span, format!("the field `{}` is there twice", name.name));
                error.related.push((first, "first here".to_owned()));
                continue;
            }
            seen.insert(&name.name, name.span);
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
        let mut tags: HashMap<Name, Name> = HashMap::new();
        for alternative in alternatives {
            let TypeKind::Name(name, args) = &alternative.kind else {
                let hint = "name each alternative: `type T = A(Int) | B`".to_owned();
                self.error(code::TYPE_FORM, alternative.span, "this is not a constructor").hints.push(hint);
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
            match tags.entry(constructor.tag.clone()) {
                Entry::Occupied(other) if other.get() != name => {
                    let (other, tag) = (other.get(), &constructor.tag);
                    let message = format!("`{other}` and `{name}` are the same at run time: both are marked `{tag}`");
                    self.error(code::DUPLICATE, alternative.span, message);
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    free.insert(name.clone());
                }
            }
            if self.out.interface.constructors.insert(name.clone(), constructor.clone()).is_some() {
                self.error(code::DUPLICATE, alternative.span, format!("the constructor `{name}` is defined twice"));
            }
            self.scope.add_constructor(name.clone(), constructor.clone());
            constructors.push(constructor);
        }
        if let Some(guard) = &def.guard {
            let hint = "put the condition on a field: `type T = Some({n: Int | n > 0})`".to_owned();
            let message = "a condition is over a number or another plain value, not over constructors";
            self.error(code::TYPE_FORM, guard.span, message).hints.push(hint);
        }
        self.publish(
            &def.name.name,
            TypeInfo { full: of, params, kind: TypeInfoKind::Sum(constructors), covariant: true },
        );
    }

    /// Marks the types of this module that contain functions, directly or through other types.
    fn variance(&mut self) {
        let full = |name: &Name| self.full(name);
        let mut open: Vec<Name> = Vec::new();
        let mut holders: HashMap<Name, Vec<Name>> = HashMap::new();
        for (name, info) in &self.out.interface.types {
            let mut holds = |ty: &Ty| {
                ty.any(&mut |part| match part {
                    Ty::Fn(..) => true,
                    Ty::Con(inner, _) => {
                        holders.entry(inner.clone()).or_default().push(name.clone());
                        self.scope.type_by_full(inner).is_some_and(|info| !info.covariant)
                    }
                    _ => false,
                })
            };
            let found = match &info.kind {
                TypeInfoKind::Alias(_) => false,
                TypeInfoKind::Sum(all) => all.iter().any(|one| one.fields.iter().any(&mut holds)),
                TypeInfoKind::Record(fields) => fields.iter().any(|(_, ty)| holds(ty)),
            };
            if found {
                open.push(name.clone());
            }
        }
        let mut marked: HashSet<Name> = HashSet::new();
        while let Some(name) = open.pop() {
            if marked.insert(name.clone()) {
                open.extend(holders.remove(&full(&name)).unwrap_or_default());
            }
        }
        for name in marked {
            if let Some(info) = self.out.interface.types.get(&name).cloned() {
                self.publish(&name, TypeInfo { covariant: false, ..(*info).clone() });
            }
        }
    }
}

/// True if a name is that of a type which everyone takes for the one of the language. `Nat`, `Pos` and `Pair` have often been
/// defined by a program itself.
fn is_reserved(name: &Ident) -> bool {
    let free = ["Nat", "Pos", "Pair", "Charlist"];
    BUILT_IN.contains(&&*name.name) && !free.contains(&&*name.name)
}

/// Calls back with the names in a written type.
fn mentioned<'t>(ty: &'t Type, seen: &mut dyn FnMut(&'t Name)) {
    match &ty.kind {
        TypeKind::Name(name, args) => {
            seen(name);
            args.iter().for_each(|arg| mentioned(arg, seen));
        }
        TypeKind::Fn(params, result) => {
            params.iter().for_each(|param| mentioned(param, seen));
            mentioned(result, seen);
        }
        TypeKind::Union(all) | TypeKind::Tuple(all) => all.iter().for_each(|one| mentioned(one, seen)),
        TypeKind::Refined(_, base, _) => mentioned(base, seen),
        TypeKind::Len(_) | TypeKind::Missing => {}
    }
}

/// The number of definitions of each type in a module.
fn own_types(module: &Module) -> HashMap<&Name, usize> {
    let mut own = HashMap::new();
    for item in &module.items {
        let name = match item {
            Item::Record(record) => &record.name.name,
            Item::Type(def) => &def.name.name,
            _ => continue,
        };
        *own.entry(name).or_insert(0) += 1;
    }
    own
}

/// The atom that marks the values of a constructor.
pub(crate) fn tag(name: &str) -> Name {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
    Name::from(format!("{first}{}", letters.as_str()))
}
