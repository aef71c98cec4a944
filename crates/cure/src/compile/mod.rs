//! A compilation: a text, the modules it needs, and the result. [`load`] finds modules by their declared names (first
//! in the text itself, then in the standard library, then through [`Sources`]) and checks each once; [`imports`]
//! resolves imports between them. [`module_cache`] holds results, [`texts`] the sources read during one compilation.

mod imports;
pub(crate) mod load;
pub(crate) mod module_cache;
mod texts;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Span, code};
use crate::eval::interpreter::Interpreter;
use crate::eval::limits::{Failure, Limits, Stop};
use crate::eval::value::Value;
use crate::eval::watch::Watched;
use crate::eval::{Run, interpret};
use crate::fsm::{Finding, Graph};
use crate::ir::form;
use crate::ir::ty::{self, Ty};
use crate::limit::bounded;
use crate::resolve::interface::{Signature, TypeInfo};
use crate::syntax::{self, ast};
use ast::Name;
use load::Loader;
use module_cache::Loaded;
pub use module_cache::ModuleCache;

/// Provides the modules that are neither in the text nor in the standard library.
pub trait Sources {
    /// The text that declares this module, if there is one.
    fn source(&self, module: &str) -> Option<Arc<str>>;

    /// Returns the known imports of a module.
    fn needs(&self, module: &str) -> Vec<Name> {
        let _ = module;
        Vec::new()
    }

    /// The cache of checked modules.
    fn cache(&self) -> Option<&ModuleCache> {
        None
    }
}

/// Sources without any modules.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn source(&self, _: &str) -> Option<Arc<str>> {
        None
    }
}

/// The result of compiling a text.
#[derive(Debug)]
pub struct Compilation {
    /// Errors and warnings, in source order.
    pub diagnostics: Vec<Diagnostic>,
    pub(crate) modules: Vec<Arc<Loaded>>,
    pub(crate) syntax: Vec<ast::Module>,
    /// All modules that were loaded.
    found: HashMap<Name, Arc<Loaded>>,
}

impl Compilation {
    /// True if the program has no errors.
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

    /// The state machines of the text, with the findings about each.
    pub fn machines(&self) -> impl Iterator<Item = &(Graph, Vec<Finding>)> {
        self.modules.iter().flat_map(|module| &module.machines)
    }

    /// The modules of the text and all they use, in the core form. Those with errors are left out.
    pub fn forms(&self) -> Vec<Arc<form::Module>> {
        let modules: Vec<_> = self.modules.iter().filter_map(|module| module.interface.module.clone()).collect();
        self.closure(&modules)
    }

    /// These modules and all they use, in the core form, in dependency order.
    fn closure(&self, modules: &[Name]) -> Vec<Arc<form::Module>> {
        let mut seen: HashSet<&Name> = HashSet::new();
        let mut forms = Vec::new();
        for name in modules {
            let Some(module) = self.found.get(name) else { continue };
            for used in module.uses.iter().chain(std::iter::once(name)).filter(|used| seen.insert(used)) {
                forms.extend(self.found.get(used).and_then(|used| used.form.clone()));
            }
        }
        forms
    }

    /// Returns the used modules outside the text that have errors, sorted.
    pub fn faulty(&self) -> Vec<&str> {
        let here = |name: &Name| self.syntax.iter().any(|module| module.name.name == *name);
        let mut names: Vec<&str> = Vec::new();
        let faulty = self.found.iter().filter(|(name, module)| module.has_errors() && !here(name));
        names.extend(faulty.map(|(name, _)| &**name));
        names.sort_unstable();
        names
    }

    /// True if a module of the text exports this function.
    pub fn exports(&self, module: &str, function: &str, arity: u32) -> bool {
        let form =
            self.found.get(module).and_then(|module| module.interface.functions.get(&(Name::from(function), arity)));
        form.is_some_and(|signature| signature.exported)
    }

    /// An exported function of a module of the text; without an arity, the one with the fewest parameters.
    pub(crate) fn signature(&self, module: &str, name: &str, arity: Option<usize>) -> Option<Arc<Signature>> {
        let functions = self.found.get(module)?.interface.functions.values();
        let fits = |one: &&Arc<Signature>| {
            one.exported && *one.name == *name && arity.is_none_or(|arity| arity == one.params.len())
        };
        functions.filter(fits).min_by_key(|one| one.params.len()).cloned()
    }

    /// A type by its full name.
    pub(crate) fn type_info(&self, full: &str) -> Option<Arc<TypeInfo>> {
        let (module, short) = full.rsplit_once('.')?;
        self.found.get(module)?.interface.types.get(short).cloned()
    }

    /// True if a module was found.
    pub(crate) fn has_module(&self, module: &str) -> bool {
        self.found.contains_key(module)
    }

    /// Returns the modules for running a module: the module itself and all modules of the text, because a machine of
    /// any of them can be found by name.
    fn running(&self, module: &str) -> Vec<Arc<form::Module>> {
        let mut modules: Vec<_> = self.modules.iter().filter_map(|module| module.interface.module.clone()).collect();
        modules.push(Name::from(module));
        self.closure(&modules)
    }

    /// Evaluates a function without arguments and passes its value to `read`.
    pub(crate) fn evaluate<T>(
        &self,
        module: &str,
        function: &str,
        limits: Limits,
        stop: &Stop,
        read: impl FnOnce(&Value) -> T,
    ) -> Option<Result<T, Failure>> {
        self.found.get(module)?.form.as_ref()?;
        let forms = self.running(module);
        let mut interpreter = Interpreter::new(&forms, limits, stop.clone(), Watched::default());
        Some(interpreter.call(module, function, Vec::new()).map(|value| read(&value)))
    }

    /// Runs a function without arguments of the first module that exports it.
    pub fn run(&self, function: &str, limits: Limits) -> Option<Run> {
        let module = self.syntax.iter().find(|module| self.exports(&module.name.name, function, 0))?;
        self.run_in(&module.name.name, function, limits, Stop::default(), Watched::default())
    }

    /// Runs a function without arguments of this module, traced as `watched` says, until it ends or is stopped.
    pub fn run_in(&self, module: &str, function: &str, limits: Limits, stop: Stop, watched: Watched) -> Option<Run> {
        self.found.get(module)?.form.as_ref()?;
        let forms = self.running(module);
        Some(interpret(&forms, module, function, limits, stop, watched))
    }
}

/// Checks a text with all the modules in it.
pub fn compile(text: &str, sources: &dyn Sources) -> Compilation {
    // The tree is large; it is dropped as soon as the syntax has been built.
    let (modules, mut diagnostics) = {
        let parsed = syntax::parse(text);
        if parsed.diagnostics.iter().any(Diagnostic::is_error) {
            let diagnostics = parsed.diagnostics;
            return Compilation { diagnostics, modules: Vec::new(), syntax: Vec::new(), found: HashMap::new() };
        }
        (syntax::modules(&parsed.tree()), parsed.diagnostics)
    };
    let mut loader = Loader::new(text, &modules, sources);
    let loaded = loader.all();
    let found = loader.into_modules();
    duplicates(&modules, &mut diagnostics);
    for one in &loaded {
        diagnostics.extend(one.diagnostics.iter().cloned());
    }
    let here: HashSet<&Name> = modules.iter().map(|module| &module.name.name).collect();
    for import in modules.iter().flat_map(|module| &module.items) {
        let ast::Item::Import(import) = import else { continue };
        let (name, span) = (&import.module.name, import.module.span);
        if found.get(name).is_some_and(|module| !here.contains(name) && !module.broken && module.has_errors()) {
            let message = format!("the module `{name}` has errors of its own");
            diagnostics.push(Diagnostic::warning(code::UNKNOWN_MODULE, span, message));
        }
    }
    diagnostics.sort_by_key(|one| (one.span, one.code.0));
    diagnostics.dedup();
    let diagnostics = bounded(diagnostics);
    Compilation { diagnostics, modules: loaded, syntax: modules, found }
}

pub(crate) fn duplicates(modules: &[ast::Module], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&Name, Span> = HashMap::new();
    for module in modules {
        if let Some(first) = seen.insert(&module.name.name, module.name.span) {
            let message = format!("the module `{}` is defined twice", module.name.name);
            diagnostics
                .push(Diagnostic::error(code::DUPLICATE, module.name.span, message).related(first, "first here"));
        }
    }
}
