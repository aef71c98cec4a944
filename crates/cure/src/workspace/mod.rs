//! A project's Cure files, cached between calls: a file is read again when it has changed. A module is checked again
//! when its text or the interface of a module it uses has changed.
//!
//! [`Workspace::refresh`] looks at the files and gives an [`Index`], through which compilations find modules by name
//! ([`Sources`]); [`Index::check`] checks all of them.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::compile::load::{Loader, beginnings, qualified};
use crate::compile::{ModuleCache, Sources, duplicates};
use crate::diagnostic::{Diagnostic, Span, code};
use crate::files::{self, cure_files};
use crate::limit::bounded;
use crate::syntax::{self, ast};
use ast::Name;

/// The maximal number of bytes of source that are kept; files beyond that are left out and reported.
const MOST_TEXT: usize = 64 << 20;
/// How long after its last change, in nanoseconds, a file must have been read for its time of change to reveal later
/// changes: clocks of file systems are coarse.
const SETTLED: i128 = 2_000_000_000;

/// The files below some directories.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Arc<Source>>,
    /// The texts that an editor holds; each stands for its file, which may not exist.
    open: BTreeMap<PathBuf, Arc<str>>,
    cache: Arc<ModuleCache>,
    index: Arc<Index>,
}

/// Metadata by which a changed file is recognized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: i128,
    changed: i128,
}

impl Stamp {
    fn new(data: &Metadata) -> Stamp {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Stamp {
            inode: data.ino(),
            size: data.size(),
            modified: nanoseconds(data.mtime(), data.mtime_nsec()),
            changed: nanoseconds(data.ctime(), data.ctime_nsec()),
        }
    }
}

/// One file.
#[derive(Debug)]
pub(crate) struct Source {
    stamp: Stamp,
    /// True if it had been unchanged for long enough when it was read.
    settled: bool,
    pub text: Arc<str>,
    /// The modules it declares, with what each imports.
    pub modules: Vec<(Name, Span, Vec<Name>)>,
    /// Its syntax errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Why it could not be read.
    pub problem: Option<String>,
}

impl Source {
    fn read(path: &Path, stamp: Stamp, before: Option<&Source>) -> Source {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i128);
        let settled = stamp.modified.max(stamp.changed) + SETTLED < now;
        let (text, problem) = match files::read(path) {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        Source::new(stamp, settled, text.into(), problem, before)
    }

    /// A text that an editor holds.
    fn from_editor(text: &Arc<str>, before: Option<&Source>) -> Source {
        Source::new(Stamp::default(), false, text.clone(), None, before)
    }

    fn new(stamp: Stamp, settled: bool, text: Arc<str>, problem: Option<String>, before: Option<&Source>) -> Source {
        if let Some(before) = before
            && (Arc::ptr_eq(&before.text, &text) || before.text == text)
            && before.problem == problem
        {
            let Source { text, modules, diagnostics, .. } = before;
            let (text, modules, diagnostics) = (text.clone(), modules.clone(), diagnostics.clone());
            return Source { stamp, settled, text, modules, diagnostics, problem };
        }
        let parsed = syntax::parse(&text);
        let mut diagnostics = parsed.diagnostics.clone();
        let modules = syntax::modules(&parsed.tree());
        duplicates(&modules, &mut diagnostics);
        let sound = !diagnostics.iter().any(Diagnostic::is_error);
        let modules = modules.iter().map(|module| {
            let needs = if sound { needs(module, &text) } else { Vec::new() };
            (module.name.name.clone(), module.name.span, needs)
        });
        let modules = modules.collect();
        Source { stamp, settled, modules, text, diagnostics, problem }
    }
}

/// The modules that a module imports or calls into.
fn needs(module: &ast::Module, text: &str) -> Vec<Name> {
    let imports = module.items.iter().filter_map(|item| match item {
        ast::Item::Import(import) => Some(import.module.name.clone()),
        _ => None,
    });
    let paths = qualified(text, module.span);
    let mut needs: Vec<Name> = imports.chain(paths.iter().flat_map(|path| beginnings(path))).collect();
    needs.sort();
    needs.dedup();
    needs
}

impl Workspace {
    /// The files below these directories. They are inspected when [`Workspace::refresh`] is called.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Workspace {
        let cache: Arc<ModuleCache> = Arc::default();
        let index = Arc::new(Index { cache: cache.clone(), ..Index::default() });
        let (files, open) = (BTreeMap::new(), BTreeMap::new());
        Workspace { roots: roots.into_iter().collect(), files, open, cache, index }
    }

    /// Lets a text stand for a file from now on, or the file itself again. Takes effect when the workspace is refreshed or
    /// renewed.
    pub(crate) fn hold(&mut self, path: &Path, text: Option<Arc<str>>) {
        match text {
            Some(text) => self.open.insert(path.to_owned(), text),
            None => self.open.remove(path),
        };
    }

    /// Takes in the texts that are held, without looking at the files.
    pub(crate) fn renew(&mut self) -> Arc<Index> {
        let mut same = true;
        for (path, text) in &self.open {
            let before = self.files.get(path);
            if before.is_some_and(|before| Arc::ptr_eq(&before.text, text)) {
                continue;
            }
            let source = Source::from_editor(text, before.map(|before| &**before));
            same &= before.is_some_and(|before| Arc::ptr_eq(&before.text, &source.text));
            self.files.insert(path.clone(), Arc::new(source));
        }
        if !same {
            self.reindex(self.index.left_out.clone());
        }
        self.index.clone()
    }

    /// Inspects the files and reads those that have changed.
    pub fn refresh(&mut self) -> Arc<Index> {
        let mut files = BTreeMap::new();
        let (mut same, mut bytes, mut left_out) = (true, 0, Vec::new());
        for (path, text) in &self.open {
            let before = self.files.remove(path);
            let source = Source::from_editor(text, before.as_deref());
            same &= before.is_some_and(|before| Arc::ptr_eq(&before.text, &source.text));
            bytes += source.text.len();
            files.insert(path.clone(), Arc::new(source));
        }
        for path in cure_files(&self.roots) {
            if self.open.contains_key(&path) {
                continue;
            }
            let Ok(data) = std::fs::symlink_metadata(&path) else { continue };
            let stamp = Stamp::new(&data);
            let before = self.files.remove(&path);
            if bytes + stamp.size.min(files::MOST_BYTES) as usize > MOST_TEXT {
                left_out.push(path);
                continue;
            }
            let source = match before {
                Some(before) if before.stamp == stamp && before.settled => before,
                before => {
                    let source = Source::read(&path, stamp, before.as_deref());
                    same &= before.is_some_and(|before| Arc::ptr_eq(&before.text, &source.text));
                    Arc::new(source)
                }
            };
            bytes += source.text.len();
            files.insert(path, source);
        }
        // The entries left over are files that no longer exist.
        same &= self.files.is_empty() && left_out == self.index.left_out;
        self.files = files;
        if !same {
            self.reindex(left_out);
        }
        self.index.clone()
    }

    fn reindex(&mut self, left_out: Vec<PathBuf>) {
        self.index = Arc::new(Index::new(&self.files, left_out, self.cache.clone()));
        self.cache.retain(|module| self.index.modules.contains_key(module));
    }
}

/// The files and modules of a project at one point in time.
#[derive(Debug, Default)]
pub struct Index {
    files: Vec<(PathBuf, Arc<Source>)>,
    /// The file of each module, by position, and which of its modules it is.
    modules: HashMap<Name, (usize, usize)>,
    left_out: Vec<PathBuf>,
    cache: Arc<ModuleCache>,
}

/// The result of checking many files.
#[derive(Debug)]
pub struct Report {
    /// The files that were asked for, in order.
    pub files: Vec<FileReport>,
    /// The number of modules in them.
    pub modules: usize,
    /// The modules checked now, in that order. The others and the interfaces they use had not changed.
    pub checked: Vec<Name>,
    /// Files that were left out because the project has more source than is kept.
    pub left_out: Vec<PathBuf>,
}

/// The result for one file.
#[derive(Debug)]
pub struct FileReport {
    pub path: PathBuf,
    pub text: Arc<str>,
    /// Errors and warnings, in order of place.
    pub diagnostics: Vec<Diagnostic>,
    /// Why it could not be read.
    pub problem: Option<String>,
}

impl Report {
    /// True if there are no errors.
    pub fn is_ok(&self) -> bool {
        self.files.iter().all(|file| file.problem.is_none() && !file.diagnostics.iter().any(Diagnostic::is_error))
    }
}

impl Index {
    fn new(files: &BTreeMap<PathBuf, Arc<Source>>, left_out: Vec<PathBuf>, cache: Arc<ModuleCache>) -> Index {
        let files: Vec<_> = files.iter().map(|(path, source)| (path.clone(), source.clone())).collect();
        let mut modules = HashMap::new();
        for (file, (_, source)) in files.iter().enumerate() {
            for (at, (name, ..)) in source.modules.iter().enumerate() {
                modules.entry(name.clone()).or_insert((file, at));
            }
        }
        Index { files, modules, left_out, cache }
    }

    /// Checks the modules of all files at or below a path.
    pub fn check(&self, below: &Path) -> Report {
        let mut loader = Loader::new("", &[], self);
        let mut report = Report { files: Vec::new(), modules: 0, checked: Vec::new(), left_out: Vec::new() };
        for (at, (path, source)) in self.files.iter().enumerate().filter(|(_, (path, _))| path.starts_with(below)) {
            let mut diagnostics = source.diagnostics.clone();
            let sound = !diagnostics.iter().any(Diagnostic::is_error);
            for (name, span, _) in &source.modules {
                report.modules += 1;
                let first = self.modules.get(name).map_or(at, |(file, _)| *file);
                if first != at {
                    let message = format!("the module `{name}` is defined twice");
                    let there = self.files[first].0.strip_prefix(below).unwrap_or(&self.files[first].0);
                    let error = Diagnostic::error(code::DUPLICATE, *span, message);
                    diagnostics.push(error.hint(format!("it stands in {} too", project::visible::path(there))));
                } else if sound && let Some(loaded) = loader.load(name) {
                    diagnostics.extend(loaded.diagnostics.iter().cloned());
                }
            }
            diagnostics.sort_by_key(|one| (one.span, one.code.0));
            diagnostics.dedup();
            let diagnostics = bounded(diagnostics);
            let (path, text, problem) = (path.clone(), source.text.clone(), source.problem.clone());
            report.files.push(FileReport { path, text, diagnostics, problem });
        }
        report.checked = loader.checked;
        report.left_out = self.left_out.iter().filter(|path| path.starts_with(below)).cloned().collect();
        report
    }

    /// The names of all modules.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.modules.keys()
    }

    /// The file that declares a module.
    pub(crate) fn file(&self, module: &str) -> Option<&Path> {
        self.modules.get(module).map(|(file, _)| &*self.files[*file].0)
    }

    fn module(&self, name: &str) -> Option<(&Source, usize)> {
        let (file, at) = self.modules.get(name)?;
        Some((&self.files[*file].1, *at))
    }
}

impl Sources for Index {
    fn source(&self, module: &str) -> Option<Arc<str>> {
        self.module(module).map(|(source, _)| source.text.clone())
    }

    fn needs(&self, module: &str) -> Vec<Name> {
        self.module(module).map_or_else(Vec::new, |(source, at)| source.modules[at].2.clone())
    }

    fn cache(&self) -> Option<&ModuleCache> {
        Some(&self.cache)
    }
}

#[cfg(test)]
mod tests;
