//! The result of checking a module, and the cache of results between compilations.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::diagnostic::Diagnostic;
use crate::fsm::{Finding, Graph};
use crate::ir::form;
use crate::resolve::fingerprint::Fingerprint;
use crate::resolve::interface::Interface;
use crate::syntax::ast::Name;

/// A checked module.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub interface: Arc<Interface>,
    /// The fingerprint of everything other modules see of it.
    pub print: Fingerprint,
    /// The core form, unless the module has errors.
    pub form: Option<Arc<form::Module>>,
    /// The modules it uses, directly or indirectly.
    pub uses: Vec<Name>,
    /// Its state machines, with their findings.
    pub machines: Vec<(Graph, Vec<Finding>)>,
    pub diagnostics: Vec<Diagnostic>,
    /// True if the module, or one that it needs, could not be parsed, so that its interface is unknown.
    pub broken: bool,
}

impl Loaded {
    /// A module with an unknown interface and these errors.
    pub(super) fn broken(name: &Name, diagnostics: Vec<Diagnostic>) -> Loaded {
        Loaded {
            interface: Arc::new(Interface { module: Some(name.clone()), ..Interface::default() }),
            print: Fingerprint { whole: u64::MAX, known: u64::MAX },
            form: None,
            uses: Vec::new(),
            machines: Vec::new(),
            diagnostics,
            broken: true,
        }
    }

    /// True if the module itself has errors.
    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Everything a module saw of another one when it was checked.
#[derive(Debug, Clone)]
pub(super) struct Dependency {
    pub module: Name,
    /// True if the module imports the other one or calls into it, as opposed to only meeting its values.
    pub direct: bool,
    /// Its fingerprint; `None` if there was no such module.
    pub print: Option<u64>,
}

impl Dependency {
    /// The current fingerprint of a module.
    pub(super) fn new(module: &Name, direct: bool, found: Option<&Loaded>) -> Dependency {
        let print = found.map(|found| if direct { found.print.whole } else { found.print.known });
        Dependency { module: module.clone(), direct, print }
    }
}

/// Modules that were checked before. An entry is valid while the module's text and everything it saw of others stay the
/// same.
#[derive(Debug, Default)]
pub struct ModuleCache(Mutex<HashMap<Name, CacheEntry>>);

#[derive(Debug, Clone)]
pub(super) struct CacheEntry {
    pub text: Arc<str>,
    pub seen: Arc<[Dependency]>,
    pub loaded: Arc<Loaded>,
}

impl ModuleCache {
    fn entries(&self) -> MutexGuard<'_, HashMap<Name, CacheEntry>> {
        self.0.lock()
    }

    pub(super) fn get(&self, module: &str) -> Option<CacheEntry> {
        self.entries().get(module).cloned()
    }

    pub(super) fn keep(&self, module: &Name, entry: CacheEntry) {
        self.entries().insert(module.clone(), entry);
    }

    /// Drops the modules that are not `wanted`.
    pub(crate) fn retain(&self, wanted: impl Fn(&str) -> bool) {
        self.entries().retain(|module, _| wanted(module));
    }
}

/// The modules of the standard library that have been needed so far. They never change.
pub(super) static STANDARD: LazyLock<Mutex<HashMap<Name, Arc<Loaded>>>> = LazyLock::new(Mutex::default);
