//! Finds modules by name and checks each once: modules of the text, of the standard library, and of the caller. The
//! caller's modules are checked again only when their text or the visible part of another module has changed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Sources;
use super::imports::{know, prelude};
use super::module_cache::{CacheEntry, Dependency, Loaded, STANDARD};
use super::texts::Texts;
use crate::diagnostic::{Diagnostic, Span, code};
use crate::fuel::{Budget, Share, before_spent};
use crate::lower;
use crate::resolve::collect::collect;
use crate::resolve::fingerprint::fingerprint;
use crate::resolve::scope::Scope;
use crate::standard;
use crate::syntax::lexer::{LONGEST_NAME, lex};
use crate::syntax::{self, SyntaxKind, ast};
use crate::types::check::{self, Checked, CheckedModule};
use ast::Name;

/// The maximal depth of imports between unvisited modules. Known imports are followed first, without recursion, so a
/// project has no such limit.
const MOST_DEEP: usize = 64;

enum State {
    Running,
    Done(Option<Arc<Loaded>>),
}

/// One compilation's view of all modules.
pub(crate) struct Loader<'a> {
    text: &'a str,
    here: &'a [ast::Module],
    /// The modules of the text by name; the first of several with the same name.
    named: HashMap<&'a Name, &'a ast::Module>,
    sources: &'a dyn Sources,
    states: HashMap<Name, State>,
    /// The number of the caller's modules that wait for one of their imports.
    depth: usize,
    /// The number of the text's modules that wait; it is high only in a cycle.
    inner: usize,
    /// The budget of the text's modules.
    share: Share,
    /// Texts of others with several modules.
    texts: Texts,
    /// The modules that were checked now and not taken from the cache.
    pub(crate) checked: Vec<Name>,
}

/// A module while its imports are resolved.
#[derive(Default)]
pub(super) struct Importing {
    pub scope: Scope,
    /// The modules it uses, directly or indirectly.
    uses: Vec<Name>,
    known: HashSet<Name>,
    direct: HashSet<Name>,
    /// Modules of individually imported names: functions with the number of their parameters, other definitions
    /// without.
    pub named: HashMap<(Name, Option<u32>), Name>,
    pub diagnostics: Vec<Diagnostic>,
    /// True if it is part of an import cycle, so that the result depends on where checking starts.
    pub circular: bool,
    pub broken: bool,
}

impl Importing {
    /// A module's dependents also use what it uses.
    pub(super) fn take(&mut self, name: &Name, loaded: &Loaded) {
        for one in loaded.uses.iter().chain(std::iter::once(name)) {
            if self.known.insert(one.clone()) {
                self.uses.push(one.clone());
            }
        }
    }
}

impl<'a> Loader<'a> {
    pub(crate) fn new(text: &'a str, here: &'a [ast::Module], sources: &'a dyn Sources) -> Loader<'a> {
        let mut named = HashMap::new();
        for module in here {
            named.entry(&module.name.name).or_insert(module);
        }
        let (states, share, texts, checked) = (HashMap::new(), Share::default(), Texts::default(), Vec::new());
        Loader { text, here, named, sources, states, depth: 0, inner: 0, share, texts, checked }
    }

    /// Checks the modules of the text, each after those that it uses, so that long chains need no recursion.
    pub(crate) fn all(&mut self) -> Vec<Arc<Loaded>> {
        let here = self.here;
        let mut met: HashSet<&Name> = HashSet::new();
        for module in here {
            // Not marked as met before it is needed: in a cycle, the module written first is checked first.
            if met.contains(&module.name.name) {
                continue;
            }
            let mut open = vec![(module, self.needs_here(module))];
            while let Some((_, needs)) = open.last_mut() {
                match needs.pop() {
                    Some(next) if met.insert(&next.name.name) => open.push((next, self.needs_here(next))),
                    Some(_) => {}
                    None => {
                        open.pop().and_then(|(ready, _)| self.load(&ready.name.name));
                    }
                }
            }
        }
        here.iter().filter_map(|module| self.load(&module.name.name)).collect()
    }

    /// The modules of the text that another one imports or calls into.
    fn needs_here(&self, module: &ast::Module) -> Vec<&'a ast::Module> {
        let imports = module.items.iter().filter_map(|item| match item {
            ast::Item::Import(import) => Some(import.module.name.clone()),
            _ => None,
        });
        let names = imports.chain(qualified(self.text, module.span));
        names.filter_map(|path| beginnings(&path).find_map(|name| self.named.get(&name).copied())).collect()
    }

    /// The module of this name; `None` if it does not exist or is being checked already.
    pub(crate) fn load(&mut self, name: &Name) -> Option<Arc<Loaded>> {
        match self.states.get(name) {
            Some(State::Done(loaded)) => return loaded.clone(),
            Some(State::Running) => return None,
            None => {}
        }
        if let Some(module) = self.named.get(name).copied() {
            if self.is_deep() {
                return None;
            }
            self.states.insert(name.clone(), State::Running);
            self.inner += 1;
            let share = self.share.clone();
            let (loaded, _) = self.check(module, self.text, &share);
            self.inner -= 1;
            return self.done(name, Some(Arc::new(loaded)));
        }
        if let Some(text) = standard::source(name) {
            let known = STANDARD.lock().get(name).cloned();
            let loaded = known.or_else(|| self.standard(name, text));
            for used in loaded.iter().flat_map(|loaded| &loaded.uses) {
                self.load(used);
            }
            return self.done(name, loaded);
        }
        if self.depth == 0 {
            return self.in_order(name);
        }
        self.load_from_caller(name)
    }

    pub(crate) fn into_modules(self) -> HashMap<Name, Arc<Loaded>> {
        let found = self.states.into_iter().filter_map(|(name, state)| match state {
            State::Done(Some(loaded)) => Some((name, loaded)),
            State::Running | State::Done(None) => None,
        });
        found.collect()
    }

    /// True if a module is being checked.
    pub(super) fn is_running(&self, name: &str) -> bool {
        matches!(self.states.get(name), Some(State::Running))
    }

    /// True if imports are nested too deeply to load another module.
    pub(super) fn is_deep(&self) -> bool {
        self.depth + self.inner >= MOST_DEEP
    }

    fn done(&mut self, name: &Name, loaded: Option<Arc<Loaded>>) -> Option<Arc<Loaded>> {
        self.states.insert(name.clone(), State::Done(loaded.clone()));
        loaded
    }

    fn standard(&mut self, name: &Name, text: &str) -> Option<Arc<Loaded>> {
        self.states.insert(name.clone(), State::Running);
        let modules = syntax::modules(&syntax::parse(text).tree());
        let module = modules.iter().find(|module| module.name.name == *name)?;
        let loaded = Arc::new(self.check(module, text, &Share::default()).0);
        // A text may contain a module with a library's name; that module is not a library.
        if !loaded.uses.iter().any(|used| self.named.contains_key(used)) {
            STANDARD.lock().insert(name.clone(), loaded.clone());
        }
        Some(loaded)
    }

    /// A module of the caller, after all its known dependencies, so that long chains of imports need no recursion.
    fn in_order(&mut self, name: &Name) -> Option<Arc<Loaded>> {
        let mut met: HashSet<Name> = HashSet::from([name.clone()]);
        let mut open = vec![(name.clone(), self.sources.needs(name))];
        while let Some((_, needs)) = open.last_mut() {
            match needs.pop() {
                Some(next) => {
                    if !self.states.contains_key(&next) && standard::source(&next).is_none() && met.insert(next.clone())
                    {
                        let needs = self.sources.needs(&next);
                        open.push((next, needs));
                    }
                }
                None => {
                    if let Some((ready, _)) = open.pop()
                        && !self.states.contains_key(&ready)
                    {
                        self.load_from_caller(&ready);
                    }
                }
            }
        }
        match self.states.get(name) {
            Some(State::Done(loaded)) => loaded.clone(),
            _ => None,
        }
    }

    fn load_from_caller(&mut self, name: &Name) -> Option<Arc<Loaded>> {
        if self.is_deep() {
            return None;
        }
        let Some(text) = self.sources.source(name) else { return self.done(name, None) };
        self.states.insert(name.clone(), State::Running);
        self.depth += 1;
        let loaded = self.cached(name, &text).or_else(|| self.fresh(name, &text));
        self.depth -= 1;
        self.done(name, loaded)
    }

    /// The cached result for a module, if nothing that it sees has changed.
    fn cached(&mut self, name: &Name, text: &Arc<str>) -> Option<Arc<Loaded>> {
        let entry = self.sources.cache()?.get(name)?;
        if !(Arc::ptr_eq(&entry.text, text) || entry.text == *text) {
            return None;
        }
        for seen in entry.seen.iter() {
            let now = self.load(&seen.module);
            if Dependency::new(&seen.module, seen.direct, now.as_deref()).print != seen.print {
                return None;
            }
        }
        entry.loaded.uses.iter().for_each(|used| {
            self.load(used);
        });
        Some(entry.loaded)
    }

    fn fresh(&mut self, name: &Name, text: &Arc<str>) -> Option<Arc<Loaded>> {
        let (loaded, seen) = match self.texts.read(text) {
            None => (Loaded::broken(name, Vec::new()), Some(Vec::new())),
            Some(read) => self.check(read.module(name)?, text, &read.share),
        };
        self.checked.push(name.clone());
        let loaded = Arc::new(loaded);
        if let (Some(cache), Some(seen)) = (self.sources.cache(), seen) {
            cache.keep(name, CacheEntry { text: text.clone(), seen: seen.into(), loaded: loaded.clone() });
        }
        Some(loaded)
    }

    /// Checks a module. Also returns the interfaces it used, unless an import cycle makes them depend on the start.
    fn check(&mut self, module: &ast::Module, text: &str, share: &Share) -> (Loaded, Option<Vec<Dependency>>) {
        let mut importing = Importing::default();
        if standard::is_reserved(&module.name.name) {
            let message = format!("`{}` is the name of a module of Erlang", module.name.name);
            let error = Diagnostic::error(code::RESERVED_MODULE, module.name.span, message);
            importing.diagnostics.push(error.hint("begin the name with a capital letter"));
        }
        if standard::source(&module.name.name).is_some_and(|library| library != text) {
            let message = format!("`{}` is a module of the standard library", module.name.name);
            let error = Diagnostic::error(code::RESERVED_MODULE, module.name.span, message);
            importing.diagnostics.push(error.hint("give it another name"));
        }
        if !standard::before_prelude(&module.name.name) {
            for name in standard::PRELUDE {
                let name = Name::from(*name);
                if let Some(loaded) = self.load(&name) {
                    prelude(&mut importing.scope, &loaded.interface);
                    importing.take(&name, &loaded);
                }
            }
        }
        let imports = module.items.iter().filter_map(|item| match item {
            ast::Item::Import(import) => Some(import),
            _ => None,
        });
        // An individually imported name takes precedence over one from a whole module, whatever the order of imports.
        let (named, whole): (Vec<_>, Vec<_>) = imports.partition(|import| import.names.is_some());
        for import in whole.into_iter().chain(named) {
            importing.direct.insert(import.module.name.clone());
            self.import(import, &mut importing);
        }
        for path in qualified(text, module.span) {
            // `A.B.c` refers to A only if A.B does not exist.
            for name in beginnings(&path) {
                importing.direct.insert(name.clone());
                if let Some(loaded) = self.load(&name) {
                    importing.scope.modules.insert(name.clone(), loaded.interface.clone());
                    importing.take(&name, &loaded);
                    break;
                }
                if self.is_running(&name) {
                    break;
                }
            }
        }
        let Importing { mut scope, uses, known, direct, mut diagnostics, circular, broken, .. } = importing;
        let indirect = known.iter().filter(|name| !direct.contains(*name));
        let all = direct.iter().map(|name| (name, true)).chain(indirect.map(|name| (name, false)));
        let ours = all.filter(|(name, _)| standard::source(name).is_none());
        let seen: Vec<Dependency> =
            ours.map(|(name, direct)| Dependency::new(name, direct, self.load(name).as_deref())).collect();
        let seen = (!circular).then_some(seen);
        if broken {
            return (Loaded::broken(&module.name.name, diagnostics), seen);
        }
        for used in &uses {
            if let Some(used) = self.load(used) {
                know(&mut scope, &used.interface);
            }
        }
        let budget = Budget::new(module.span.len(), share);
        let collected = collect(module, text, &mut scope, &mut diagnostics);
        // Each function is lowered before the next is checked, so that its syntax tree need not be kept.
        let functions = RefCell::new(Vec::new());
        let keep = |checked: &Checked| lower::function(checked, &mut functions.borrow_mut());
        let CheckedModule { interface, machines } =
            check::check(module, text, scope, collected, &mut diagnostics, &keep);
        diagnostics.extend(lower::names::too_long(module, &functions.borrow()));
        before_spent(&mut diagnostics, module.name.span);
        drop(budget);
        let sound = !diagnostics.iter().any(Diagnostic::is_error);
        let form = sound.then(|| Arc::new(lower::module(&interface, functions.into_inner(), &machines)));
        let machines = machines.into_iter().map(|one| (one.graph, one.findings)).collect();
        let print = fingerprint(&interface, &uses);
        let interface = Arc::new(interface);
        (Loaded { interface, print, form, uses, machines, diagnostics, broken: false }, seen)
    }
}

/// Returns possible modules in the qualified uses of a module: `A.B` for each `A.B.f`. Its own name and its imports are
/// excluded.
pub(crate) fn qualified(text: &str, span: Span) -> BTreeSet<Name> {
    let text = span.text(text);
    let mut at = 0;
    let mut words = Vec::new();
    for token in lex(text).0 {
        let start = at;
        at += token.len as usize;
        if !token.kind.is_trivia() {
            words.push((token.kind, &text[start..at]));
        }
    }
    let mut paths = BTreeSet::new();
    let mut next = 0;
    while let Some((kind, word)) = words.get(next) {
        let skipped = matches!(kind, SyntaxKind::ModuleKw | SyntaxKind::ImportKw);
        if skipped {
            next += 1;
        }
        let mut path = Vec::new();
        while let Some((SyntaxKind::Ident, part)) = words.get(next) {
            path.push(*part);
            next += 1;
            match words.get(next) {
                Some((SyntaxKind::Dot, _)) => next += 1,
                _ => break,
            }
        }
        if path.is_empty() {
            next += usize::from(!skipped);
        } else if !skipped && path.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase()) {
            path.pop();
            paths.insert(Name::from(path.join(".")));
        }
    }
    paths
}

/// A path and its prefixes, the longest first, without those that are too long for the name of a module.
pub(crate) fn beginnings(path: &str) -> impl Iterator<Item = Name> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let ends: Vec<_> = ends.take_while(|end| *end <= LONGEST_NAME).collect();
    ends.into_iter().rev().map(|end| Name::from(&path[..end]))
}
