//! A compilation: a text, the modules it needs, and what came of them. Finds modules by their declared names — in the
//! text itself, then where the caller says, then in the standard library — and checks each once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::diagnostic::{Diagnostic, Span, code};
use crate::eval::machine::{Failure, Limits, Machine};
use crate::eval::value::{Value, show};
use crate::fsm::{Finding, Graph};
use crate::lower::{self, form};
use crate::resolve::collect::collect;
use crate::resolve::interface::Interface;
use crate::resolve::scope::{Function, Scope};
use crate::standard;
use crate::syntax::{self, ast};
use crate::types::check;
use crate::types::ty::{self, Ty};
use ast::Name;

/// Where modules come from that are neither in the text nor in the standard library.
pub trait Sources {
    /// The text that declares this module, if there is one.
    fn source(&self, module: &str) -> Option<Arc<str>>;
}

/// No other modules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Sources for Alone {
    fn source(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

/// A checked module.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub interface: Arc<Interface>,
    /// In the core form, unless it has errors.
    pub form: Option<Arc<form::Module>>,
    /// The modules it uses, directly or through others.
    pub uses: Vec<Arc<Loaded>>,
    /// Its state machines, with what was found.
    pub machines: Vec<(Graph, Vec<Finding>)>,
    pub diagnostics: Vec<Diagnostic>,
}

/// What came of a text.
#[derive(Debug)]
pub struct Compilation {
    /// Everything that is wrong or doubtful, in order of place.
    pub diagnostics: Vec<Diagnostic>,
    pub(crate) modules: Vec<Arc<Loaded>>,
    pub(crate) syntax: Vec<ast::Module>,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The value as Erlang writes it, or why there is none.
    pub result: Result<String, Failure>,
    /// What was printed.
    pub output: String,
    /// How many steps were done.
    pub steps: u64,
}

impl Compilation {
    /// Whether the program stands.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The modules of the text as syntax.
    pub fn syntax(&self) -> &[ast::Module] {
        &self.syntax
    }

    /// The functions of the text with their types, sorted: `T.f(x: Int): Int`.
    pub fn signatures(&self) -> Vec<String> {
        let show = |ty: &Ty| ty::show(ty, &|_| "_".to_owned());
        let mut lines = Vec::new();
        for module in &self.modules {
            for signature in module.interface.functions.values() {
                let params: Vec<_> =
                    signature.params.iter().map(|(name, ty)| format!("{name}: {}", show(ty))).collect();
                let (module, name) = (&signature.module, &signature.name);
                lines.push(format!("{module}.{name}({}): {}", params.join(", "), show(&signature.result)));
            }
        }
        lines.sort();
        lines
    }

    /// The state machines of the text, with what was found about each.
    pub fn machines(&self) -> impl Iterator<Item = &(Graph, Vec<Finding>)> {
        self.modules.iter().flat_map(|module| &module.machines)
    }

    /// The modules of the text and all they use, in the core form. Those with errors are left out.
    pub fn forms(&self) -> Vec<Arc<form::Module>> {
        let mut found: Vec<Arc<form::Module>> = Vec::new();
        for form in self.modules.iter().flat_map(forms) {
            if !found.iter().any(|known| known.name == form.name) {
                found.push(form);
            }
        }
        found
    }

    /// Runs a function without arguments of the first module that exports it.
    pub fn run(&self, function: &str, limits: Limits) -> Option<Run> {
        let has = |module: &&Arc<Loaded>| {
            module
                .form
                .as_ref()
                .is_some_and(|form| form.exports.iter().any(|(name, arity)| &**name == function && *arity == 0))
        };
        let module = self.modules.iter().find(has)?;
        let forms = forms(module);
        let mut machine = Machine::new(&forms, limits);
        let name = module.interface.module.clone()?;
        let result = machine.call(&name, function, Vec::new()).map(|value: Value| show(&value, 100_000));
        Some(Run { result, steps: machine.steps(), output: machine.output })
    }
}

/// A module and all it uses, in the core form.
pub(crate) fn forms(module: &Arc<Loaded>) -> Vec<Arc<form::Module>> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for one in module.uses.iter().chain(std::iter::once(module)) {
        if let Some(form) = &one.form
            && seen.insert(form.name.clone())
        {
            found.push(form.clone());
        }
    }
    found
}

/// Checks a text with all the modules in it.
pub fn compile(text: &str, sources: &dyn Sources) -> Compilation {
    let parsed = syntax::parse(text);
    let mut diagnostics = parsed.diagnostics.clone();
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Compilation { diagnostics, modules: Vec::new(), syntax: Vec::new() };
    }
    let modules = syntax::modules(&parsed.tree());
    let mut session = Session { text, sources, here: &modules, states: HashMap::new() };
    let mut loaded = Vec::new();
    for module in &modules {
        if let Some(one) = session.load(&module.name.name) {
            loaded.push(one);
        }
    }
    duplicates(&modules, &mut diagnostics);
    for one in &loaded {
        diagnostics.extend(one.diagnostics.iter().cloned());
    }
    diagnostics.sort_by_key(|one| (one.span, one.code.0));
    diagnostics.dedup();
    Compilation { diagnostics, modules: loaded, syntax: modules }
}

fn duplicates(modules: &[ast::Module], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&Name, Span> = HashMap::new();
    for module in modules {
        if let Some(first) = seen.insert(&module.name.name, module.name.span) {
            let message = format!("the module `{}` is defined twice", module.name.name);
            diagnostics
                .push(Diagnostic::error(code::DUPLICATE, module.name.span, message).related(first, "first here"));
        }
    }
}

enum State {
    Running,
    Done(Option<Arc<Loaded>>),
}

struct Session<'a> {
    text: &'a str,
    sources: &'a dyn Sources,
    here: &'a [ast::Module],
    states: HashMap<Name, State>,
}

/// The modules of the standard library that were needed so far. They never change.
static STANDARD: LazyLock<Mutex<HashMap<Name, Arc<Loaded>>>> = LazyLock::new(Mutex::default);

impl Session<'_> {
    /// The module of this name. `None` if there is none, or if it is being checked already.
    fn load(&mut self, name: &Name) -> Option<Arc<Loaded>> {
        match self.states.get(name) {
            Some(State::Done(loaded)) => return loaded.clone(),
            Some(State::Running) => return None,
            None => {}
        }
        let known = STANDARD.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let declared = self.here.iter().find(|module| module.name.name == *name);
        if let (Some(known), None) = (known, declared) {
            return Some(known);
        }
        self.states.insert(name.clone(), State::Running);
        let loaded = match declared {
            Some(module) => Some(self.check(module, self.text)),
            None => self.elsewhere(name),
        };
        self.states.insert(name.clone(), State::Done(loaded.clone()));
        loaded
    }

    fn elsewhere(&mut self, name: &Name) -> Option<Arc<Loaded>> {
        let (text, standard) = match self.sources.source(name) {
            Some(text) => (text, false),
            None => (Arc::from(standard::source(name)?), true),
        };
        let parsed = syntax::parse(&text);
        if parsed.diagnostics.iter().any(Diagnostic::is_error) {
            let mut diagnostics = parsed.diagnostics;
            diagnostics.truncate(1);
            let interface = Arc::new(Interface { module: Some(name.clone()), ..Interface::default() });
            return Some(Arc::new(Loaded {
                interface,
                form: None,
                uses: Vec::new(),
                machines: Vec::new(),
                diagnostics,
            }));
        }
        let modules = syntax::modules(&parsed.tree());
        let module = modules.iter().find(|module| module.name.name == *name)?;
        let loaded = self.check(module, &text);
        if standard {
            STANDARD.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), loaded.clone());
        }
        Some(loaded)
    }

    fn check(&mut self, module: &ast::Module, text: &str) -> Arc<Loaded> {
        let mut diagnostics = Vec::new();
        let mut scope = Scope::default();
        let mut uses: Vec<Arc<Loaded>> = Vec::new();
        if standard::is_reserved(&module.name.name) {
            let message = format!("`{}` is the name of a module of Erlang", module.name.name);
            let error = Diagnostic::error(code::RESERVED_MODULE, module.name.span, message);
            diagnostics.push(error.hint("begin the name with a capital letter"));
        }
        if !standard::before_prelude(&module.name.name) {
            for name in standard::PRELUDE {
                if let Some(loaded) = self.load(&Name::from(*name)) {
                    prelude(&mut scope, &loaded.interface);
                    take(&mut uses, &loaded);
                }
            }
        }
        for item in &module.items {
            if let ast::Item::Import(import) = item {
                self.import(import, &mut scope, &mut uses, &mut diagnostics);
            }
        }
        for name in qualified(text, module.span) {
            if let Some(loaded) = self.load(&name) {
                scope.modules.insert(name, loaded.interface.clone());
                take(&mut uses, &loaded);
            }
        }
        for used in &uses {
            know(&mut scope, &used.interface);
        }
        let collected = collect(module, text, &mut scope, &mut diagnostics);
        let checked = check::check(module, text, scope, &collected, &mut diagnostics);
        let sound = !diagnostics.iter().any(Diagnostic::is_error) && uses.iter().all(|used| used.form.is_some());
        let form = sound.then(|| Arc::new(lower::lower(&checked)));
        let machines = checked.machines.into_iter().map(|one| (one.graph, one.findings)).collect();
        Arc::new(Loaded { interface: Arc::new(checked.interface), form, uses, machines, diagnostics })
    }

    fn import(
        &mut self,
        import: &ast::Import,
        scope: &mut Scope,
        uses: &mut Vec<Arc<Loaded>>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let name = &import.module.name;
        let Some(loaded) = self.load(name) else {
            let error = if matches!(self.states.get(name), Some(State::Running)) {
                let message = format!("`{name}` imports this module, which imports it");
                Diagnostic::error(code::IMPORT_CYCLE, import.module.span, message)
                    .hint("put what both need into a third module")
            } else {
                let message = format!("there is no module `{name}`");
                let error = Diagnostic::error(code::UNKNOWN_MODULE, import.module.span, message);
                match crate::resolve::scope::nearest(name, standard::names()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(
                        "modules are found by the name they declare, in this project and in the standard library",
                    ),
                }
            };
            diagnostics.push(error);
            return;
        };
        if loaded.form.is_none() && loaded.diagnostics.iter().any(Diagnostic::is_error) {
            let message = format!("the module `{name}` has errors of its own");
            diagnostics.push(Diagnostic::warning(code::UNKNOWN_MODULE, import.module.span, message));
        }
        scope.modules.insert(name.clone(), loaded.interface.clone());
        if let Some(alias) = &import.alias {
            scope.modules.insert(alias.name.clone(), loaded.interface.clone());
        }
        take(uses, &loaded);
        match &import.names {
            None => import_all(scope, &loaded.interface),
            Some(names) => {
                for one in names {
                    import_one(scope, &loaded.interface, one, diagnostics);
                }
            }
        }
    }
}

fn take(uses: &mut Vec<Arc<Loaded>>, loaded: &Arc<Loaded>) {
    for one in loaded.uses.iter().chain(std::iter::once(loaded)) {
        if !uses.iter().any(|known| known.interface.module == one.interface.module) {
            uses.push(one.clone());
        }
    }
}

/// What a module has is known by full name wherever it is used at all.
fn know(scope: &mut Scope, interface: &Interface) {
    interface.types.values().for_each(|info| scope.know_type(info.clone()));
    interface.classes.values().for_each(|info| scope.know_class(info.clone()));
    for instance in &interface.instances {
        scope.add_instance(instance.clone());
    }
}

/// The prelude: types with their constructors, and classes without their methods.
fn prelude(scope: &mut Scope, interface: &Interface) {
    interface.types.iter().for_each(|(name, info)| scope.add_type(name.clone(), info.clone()));
    interface.constructors.iter().for_each(|(name, one)| scope.add_constructor(name.clone(), one.clone()));
    interface.classes.iter().for_each(|(name, info)| scope.add_class(name.clone(), info.clone()));
    if let Some(module) = &interface.module {
        scope.modules.insert(module.clone(), Arc::new(interface.clone()));
    }
}

fn import_all(scope: &mut Scope, interface: &Interface) {
    prelude(scope, interface);
    for ((name, arity), signature) in &interface.functions {
        if signature.exported {
            scope.add_function(name.clone(), *arity, Function::Plain(signature.clone()));
        }
    }
    for class in interface.classes.values() {
        for (at, method) in class.methods.iter().enumerate() {
            let function = Function::Method(class.clone(), at as u32);
            scope.add_function(method.name.clone(), method.params.len() as u32, function);
        }
    }
}

fn import_one(scope: &mut Scope, interface: &Interface, one: &ast::Export, diagnostics: &mut Vec<Diagnostic>) {
    let name = &one.name.name;
    let here = one.alias.as_ref().map_or(name, |alias| &alias.name);
    let mut found = false;
    for ((known, arity), signature) in &interface.functions {
        if known == name && one.arity.is_none_or(|wanted| wanted == *arity) && signature.exported {
            scope.add_function(here.clone(), *arity, Function::Plain(signature.clone()));
            found = true;
        }
    }
    for class in interface.classes.values() {
        for (at, method) in class.methods.iter().enumerate() {
            let arity = method.params.len() as u32;
            if method.name == *name && one.arity.is_none_or(|wanted| wanted == arity) {
                scope.add_function(here.clone(), arity, Function::Method(class.clone(), at as u32));
                found = true;
            }
        }
    }
    if let Some(info) = interface.types.get(name) {
        scope.add_type(here.clone(), info.clone());
        found = true;
    }
    if let Some(constructor) = interface.constructors.get(name) {
        scope.add_constructor(here.clone(), constructor.clone());
        found = true;
    }
    if let Some(class) = interface.classes.get(name) {
        scope.add_class(here.clone(), class.clone());
        found = true;
    }
    if found {
        return;
    }
    let module = interface.module.as_deref().unwrap_or("");
    let what = one.arity.map_or_else(|| name.to_string(), |arity| format!("{name}/{arity}"));
    let error = Diagnostic::error(code::UNKNOWN_NAME, one.name.span, format!("`{module}` has no `{what}`"));
    let arity = interface.functions.keys().find(|(known, _)| known == name).map(|(_, arity)| arity);
    let near = crate::resolve::scope::nearest(name, interface.functions.keys().map(|(name, _)| &**name));
    diagnostics.push(match (arity, near) {
        (Some(arity), _) if one.arity != Some(*arity) => error.hint(format!("there is `{name}/{arity}`")),
        (Some(_), _) => error.hint("it is private to its module"),
        (_, Some(near)) => error.hint(format!("did you mean `{near}`?")),
        _ => error,
    });
}

/// Module names in qualified uses: every beginning of `A.B.C` in capital letters.
fn qualified(text: &str, span: Span) -> HashSet<Name> {
    let mut names = HashSet::new();
    let text = text.get(span.start as usize..span.end as usize).unwrap_or("");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    for path in text.split(|c: char| !word(c)) {
        if !path.contains('.') || !path.starts_with(|c: char| c.is_ascii_uppercase()) {
            continue;
        }
        for (at, _) in path.match_indices('.') {
            names.insert(Name::from(&path[..at]));
        }
    }
    names
}
