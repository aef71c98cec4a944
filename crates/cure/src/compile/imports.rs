//! What an import brings into a module's scope, and the errors in it.

use std::collections::HashMap;
use std::sync::Arc;

use super::load::{Importing, Loader};
use crate::diagnostic::{Diagnostic, code};
use crate::resolve::interface::Interface;
use crate::resolve::scope::{Function, Scope, nearest};
use crate::standard;
use crate::syntax::ast::{self, Name};

impl Loader<'_> {
    pub(super) fn import(&mut self, import: &ast::Import, into: &mut Importing) {
        let name = &import.module.name;
        let Some(loaded) = self.load(name) else {
            let error = self.not_there(import, into);
            into.diagnostics.push(error);
            for one in import.names.iter().flatten() {
                into.scope.missing.insert(one.alias.as_ref().unwrap_or(&one.name).name.clone());
            }
            return;
        };
        if loaded.broken {
            into.broken = true;
            let message = format!("the module `{name}` cannot be read, so what it offers is not known");
            let error = Diagnostic::error(code::UNKNOWN_MODULE, import.module.span, message);
            into.diagnostics.push(error.hint(format!("mend the syntax of `{name}`, or of what it imports, first")));
        }
        into.scope.modules.insert(name.clone(), loaded.interface.clone());
        if let Some(alias) = &import.alias {
            into.scope.modules.insert(alias.name.clone(), loaded.interface.clone());
        }
        into.take(name, &loaded);
        match &import.names {
            _ if loaded.broken => {}
            // Functions are called by the alias; types and constructors can only be imported.
            None if import.alias.is_some() => prelude(&mut into.scope, &loaded.interface),
            None => import_all(&mut into.scope, &loaded.interface),
            Some(names) => {
                let known = by_name(&loaded.interface);
                for one in names {
                    import_one(into, &loaded.interface, &known, one);
                }
            }
        }
    }

    fn not_there(&self, import: &ast::Import, into: &mut Importing) -> Diagnostic {
        let (name, span) = (&import.module.name, import.module.span);
        if self.is_running(name) {
            into.circular = true;
            let message = format!("`{name}` imports this module, which imports it");
            return Diagnostic::error(code::IMPORT_CYCLE, span, message).hint("put what both need into a third module");
        }
        if self.is_deep() {
            into.circular = true;
            let message = format!("`{name}` stands at the end of too long a chain of imports");
            return Diagnostic::error(code::TOO_DEEP, span, message).hint("check the module itself first");
        }
        let error = Diagnostic::error(code::UNKNOWN_MODULE, span, format!("there is no module `{name}`"));
        let library = Some(format!("Std.{name}")).filter(|full| standard::source(full).is_some());
        match library.or_else(|| nearest(name, standard::names())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => {
                error.hint("modules are found by the name they declare, in this project and in the standard library")
            }
        }
    }
}

/// A module's definitions are known by full name wherever the module is used.
pub(super) fn know(scope: &mut Scope, interface: &Interface) {
    interface.types.values().for_each(|info| scope.know_type(info.clone()));
    interface.classes.values().for_each(|info| scope.know_class(info.clone()));
    for instance in &interface.instances {
        scope.add_instance(instance.clone());
    }
}

/// The prelude: types with their constructors, and classes without their methods.
pub(super) fn prelude(scope: &mut Scope, interface: &Arc<Interface>) {
    interface.types.iter().for_each(|(name, info)| scope.add_type(name.clone(), info.clone()));
    interface.constructors.iter().for_each(|(name, one)| scope.add_constructor(name.clone(), one.clone()));
    interface.classes.iter().for_each(|(name, info)| scope.add_class(name.clone(), info.clone()));
    if let Some(module) = &interface.module {
        scope.modules.insert(module.clone(), interface.clone());
    }
}

fn import_all(scope: &mut Scope, interface: &Arc<Interface>) {
    prelude(scope, interface);
    for ((name, arity), signature) in &interface.functions {
        if signature.exported {
            scope.offer_function(name.clone(), *arity, Function::Plain(signature.clone()));
        }
    }
    for class in interface.classes.values() {
        for (at, method) in class.methods.iter().enumerate() {
            let function = Function::Method(class.clone(), at as u32);
            scope.offer_function(method.name.clone(), method.params.len() as u32, function);
        }
    }
}

/// The functions and methods of a module by name, with their arities; private functions are included only for messages.
type ByName<'i> = HashMap<&'i Name, Vec<(u32, Option<Function>)>>;

fn by_name(interface: &Interface) -> ByName<'_> {
    let mut known = ByName::new();
    for ((name, arity), signature) in &interface.functions {
        let function = signature.exported.then(|| Function::Plain(signature.clone()));
        known.entry(name).or_default().push((*arity, function));
    }
    for class in interface.classes.values() {
        for (at, method) in class.methods.iter().enumerate() {
            let function = Function::Method(class.clone(), at as u32);
            known.entry(&method.name).or_default().push((method.params.len() as u32, Some(function)));
        }
    }
    known
}

fn import_one(into: &mut Importing, interface: &Interface, known: &ByName<'_>, one: &ast::Export) {
    let name = &one.name.name;
    let here = one.alias.as_ref().map_or(name, |alias| &alias.name);
    let mut found: Vec<Option<u32>> = Vec::new();
    let named = known.get(name).map_or(&[][..], |named| named);
    for (arity, function) in named.iter().filter(|(arity, _)| one.arity.is_none_or(|wanted| wanted == *arity)) {
        if let Some(function) = function {
            into.scope.add_function(here.clone(), *arity, function.clone());
            found.push(Some(*arity));
        }
    }
    if let Some(info) = interface.types.get(name) {
        into.scope.add_type(here.clone(), info.clone());
        found.push(None);
    }
    if let Some(constructor) = interface.constructors.get(name) {
        into.scope.add_constructor(here.clone(), constructor.clone());
        found.push(None);
    }
    if let Some(class) = interface.classes.get(name) {
        into.scope.add_class(here.clone(), class.clone());
        found.push(None);
    }
    let module = interface.module.clone().unwrap_or_else(|| Name::from(""));
    let is_found = !found.is_empty();
    for arity in found {
        let other = into.named.insert((here.clone(), arity), module.clone());
        if let Some(other) = other.filter(|other| *other != module) {
            let what = arity.map_or_else(|| here.to_string(), |arity| format!("{here}/{arity}"));
            let message = format!("`{what}` is imported from `{other}` already");
            let error = Diagnostic::error(code::DUPLICATE, one.name.span, message);
            into.diagnostics.push(error.hint(format!("give one of them another name: `{name} as …`")));
        }
    }
    if is_found {
        return;
    }
    let what = one.arity.map_or_else(|| name.to_string(), |arity| format!("{name}/{arity}"));
    let error = Diagnostic::error(code::UNKNOWN_NAME, one.name.span, format!("`{module}` has no `{what}`"));
    let arity = named.iter().map(|(arity, _)| arity).min();
    let near = into.scope.most_similar(name, interface.functions.keys().map(|(name, _)| &**name));
    into.diagnostics.push(match (arity, near) {
        (Some(arity), _) if one.arity != Some(*arity) => error.hint(format!("there is `{name}/{arity}`")),
        (Some(_), _) => error.hint("it is private to its module"),
        (_, Some(near)) => error.hint(format!("did you mean `{near}`?")),
        _ => error,
    });
}
