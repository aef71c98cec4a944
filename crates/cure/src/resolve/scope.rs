//! Scope of a module: its own definitions come first, then names imported one by one, then names of whole imported
//! modules, then the prelude.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::interface::{ClassInfo, Constructor, InstanceInfo, Interface, Signature, TypeInfo};
use crate::syntax::ast::Name;

/// The meaning of a function's name.
#[derive(Debug, Clone)]
pub(crate) enum Function {
    /// An ordinary function.
    Plain(Arc<Signature>),
    /// The method of a class.
    Method(Arc<ClassInfo>, u32),
}

impl Function {
    /// Its head.
    pub(crate) fn signature(&self) -> &Arc<Signature> {
        match self {
            Function::Plain(signature) => signature,
            Function::Method(class, at) => &class.methods[*at as usize],
        }
    }

    /// The module that defines it.
    pub(crate) fn module(&self) -> &Name {
        match self {
            Function::Plain(signature) => &signature.module,
            Function::Method(class, _) => &class.module,
        }
    }
}

/// The names in scope in a module.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The current module.
    pub own: Option<Name>,
    /// Other modules by the names that refer to them: their own names and aliases.
    pub modules: HashMap<Name, Arc<Interface>>,
    /// Functions by name, in ascending order of arity.
    functions: HashMap<Name, Vec<(u32, Function)>>,
    /// Ambiguous functions, provided by two modules that are imported whole, with these modules.
    offered_twice: HashMap<(Name, u32), (Name, Name)>,
    types: HashMap<Name, Arc<TypeInfo>>,
    types_by_full: HashMap<Name, Arc<TypeInfo>>,
    constructors: HashMap<Name, Arc<Constructor>>,
    classes: HashMap<Name, Arc<ClassInfo>>,
    classes_by_full: HashMap<Name, Arc<ClassInfo>>,
    instances: HashMap<(Name, Name), Arc<InstanceInfo>>,
    /// Names imported from missing modules: the import was reported, so uses are not.
    pub missing: HashSet<Name>,
    /// The number of names that have been compared with unknown names.
    compared: Cell<usize>,
}

/// The maximal number of names that are compared for a suggestion.
const MOST_COMPARED: usize = 300_000;

impl Scope {
    /// Adds a function; it hides an earlier one of the same name and arity.
    pub(crate) fn add_function(&mut self, name: Name, arity: u32, function: Function) {
        self.offered_twice.remove(&(name.clone(), arity));
        let named = self.functions.entry(name).or_default();
        match named.binary_search_by_key(&arity, |(arity, _)| *arity) {
            Ok(at) => named[at].1 = function,
            Err(at) => named.insert(at, (arity, function)),
        }
    }

    /// Adds a function of a module that is imported whole.
    pub(crate) fn offer_function(&mut self, name: Name, arity: u32, function: Function) {
        let other = self.function(&name, arity).map(|known| known.module().clone());
        let (here, key) = (function.module().clone(), (name.clone(), arity));
        self.add_function(name, arity, function);
        if let Some(other) = other.filter(|other| *other != here) {
            self.offered_twice.insert(key, (other, here));
        }
    }

    /// The two modules that provide an ambiguous function.
    pub(crate) fn offered_twice(&self, name: &Name, arity: u32) -> Option<&(Name, Name)> {
        if self.offered_twice.is_empty() {
            return None;
        }
        self.offered_twice.get(&(name.clone(), arity))
    }

    pub(crate) fn add_type(&mut self, name: Name, info: Arc<TypeInfo>) {
        self.know_type(info.clone());
        self.types.insert(name, info);
    }

    /// Adds a type by its full name only: its values occur here, but its short name is not in scope.
    pub(crate) fn know_type(&mut self, info: Arc<TypeInfo>) {
        self.types_by_full.insert(info.full.clone(), info);
    }

    pub(crate) fn add_constructor(&mut self, name: Name, constructor: Arc<Constructor>) {
        self.constructors.insert(name, constructor);
    }

    pub(crate) fn add_class(&mut self, name: Name, class: Arc<ClassInfo>) {
        self.know_class(class.clone());
        self.classes.insert(name, class);
    }

    pub(crate) fn know_class(&mut self, class: Arc<ClassInfo>) {
        self.classes_by_full.insert(class.full.clone(), class);
    }

    /// Adds an instance; returns the previous one for the same class and type.
    pub(crate) fn add_instance(&mut self, instance: Arc<InstanceInfo>) -> Option<Arc<InstanceInfo>> {
        self.instances.insert((instance.class.clone(), instance.head.clone()), instance)
    }

    pub(crate) fn function(&self, name: &str, arity: u32) -> Option<&Function> {
        let named = self.functions_named(name);
        let at = named.binary_search_by_key(&arity, |(arity, _)| *arity).ok()?;
        Some(&named[at].1)
    }

    /// All functions of a name, whatever their arity, for messages and for functions as values.
    pub(crate) fn functions_named(&self, name: &str) -> &[(u32, Function)] {
        self.functions.get(name).map_or(&[], |named| named)
    }

    pub(crate) fn ty(&self, name: &str) -> Option<&Arc<TypeInfo>> {
        self.types.get(name).or_else(|| {
            let (module, short) = name.rsplit_once('.')?;
            match self.modules.get(module) {
                Some(interface) => interface.types.get(short),
                None => self.types_by_full.get(name).filter(|_| self.own.as_deref() == Some(module)),
            }
        })
    }

    pub(crate) fn type_by_full(&self, full: &str) -> Option<&Arc<TypeInfo>> {
        self.types_by_full.get(full)
    }

    pub(crate) fn constructor(&self, name: &str) -> Option<&Arc<Constructor>> {
        self.constructors.get(name)
    }

    pub(crate) fn class(&self, name: &str) -> Option<&Arc<ClassInfo>> {
        self.classes.get(name)
    }

    pub(crate) fn class_by_full(&self, full: &str) -> Option<&Arc<ClassInfo>> {
        self.classes_by_full.get(full)
    }

    pub(crate) fn instance(&self, class: &Name, head: &Name) -> Option<&Arc<InstanceInfo>> {
        self.instances.get(&(class.clone(), head.clone()))
    }

    pub(crate) fn instances_of(&self, class: &str) -> Vec<Name> {
        let mut heads: Vec<_> =
            self.instances.keys().filter(|(of, _)| &**of == class).map(|(_, head)| head.clone()).collect();
        heads.sort();
        heads
    }

    /// The module of the class whose method has this name, if this module has an instance of it: then that method is meant.
    pub(crate) fn own_method(&self, name: &str) -> Option<Name> {
        let own = self.own.as_ref()?;
        let mine = self.instances.values().filter(|instance| instance.module == *own);
        let mut classes = mine.filter_map(|instance| self.classes_by_full.get(&instance.class));
        let class = classes.find(|class| class.methods.iter().any(|method| *method.name == *name))?;
        Some(class.module.clone())
    }

    /// The most similar candidate, if it is similar enough, for a hint.
    pub(crate) fn most_similar<'a>(&self, name: &str, mut candidates: impl Iterator<Item = &'a str>) -> Option<String> {
        let mut left = MOST_COMPARED.saturating_sub(self.compared.get());
        let counted = std::iter::from_fn(|| {
            left = left.checked_sub(1)?;
            candidates.next()
        });
        let found = nearest(name, counted);
        self.compared.set(MOST_COMPARED - left);
        found.filter(|_| left > 0)
    }

    /// The most similar known name, for a hint.
    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        let names = self.functions.keys().chain(self.constructors.keys());
        self.most_similar(name, names.map(|name| &**name))
    }

    /// The most similar known constructor, for a hint.
    pub(crate) fn nearest_constructor(&self, name: &str) -> Option<String> {
        self.most_similar(name, self.constructors.keys().map(|name| &**name))
    }

    /// The most similar known class, for a hint.
    pub(crate) fn nearest_class(&self, name: &str) -> Option<String> {
        self.most_similar(name, self.classes.keys().map(|name| &**name))
    }

    /// The most similar known type, for a hint.
    pub(crate) fn nearest_type(&self, name: &str) -> Option<String> {
        let builtin = ["Int", "Float", "String", "Bool", "Atom", "Unit", "Nat", "Pos", "Any", "List", "Vector", "Pair"];
        self.most_similar(name, self.types.keys().map(|name| &**name).chain(builtin))
    }
}

/// The most similar candidate, if it is similar enough.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    // The distance is at least the difference of the lengths; one letter may differ by three bytes.
    let close = candidates.filter(|other| name.len().abs_diff(other.len()) <= 3 * limit);
    let near = close.map(|other| (strsim::osa_distance(name, other), other));
    near.filter(|(far, _)| (1..=limit).contains(far)).min().map(|(_, other)| other.to_owned())
}
