//! A document with its visible environment: its modules, the types in it, and the definitions of its names.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::documents::Document;
use super::name_at_position::Symbol;
use super::outline::{Entry, Kind, Outline};
use crate::compile::{Compilation, Sources, compile};
use crate::diagnostic::Span;
use crate::ir::ty;
use crate::standard;
use crate::syntax;
use crate::syntax::ast::{Import, Item, Name};
use crate::types::notes::{self, Note};
use crate::workspace::Index;

/// The analysis of one version of a document.
pub(super) struct Analysis {
    pub text: Arc<str>,
    pub index: Arc<Index>,
    /// The modules of the document.
    pub modules: Vec<Arc<Outline>>,
    /// Other modules, loaded on demand.
    others: RefCell<HashMap<Name, Option<Arc<Outline>>>>,
    checked: OnceCell<(Compilation, Vec<Note>)>,
}

/// A definition and the module that it is in.
pub(super) struct Target {
    pub outline: Arc<Outline>,
    pub entry: Entry,
}

impl Analysis {
    pub(super) fn new(document: &Document, index: Arc<Index>) -> Analysis {
        let text = document.text.clone();
        let modules = outlines(&text, document.path.as_deref());
        Analysis { text, index, modules, others: RefCell::default(), checked: OnceCell::new() }
    }

    /// True if it is of this version of the document, with everything else as it is.
    pub(super) fn is_current(&self, document: &Document, index: &Arc<Index>) -> bool {
        Arc::ptr_eq(&self.text, &document.text) && Arc::ptr_eq(&self.index, index)
    }

    /// The module around a place, or the one above it.
    pub(super) fn module_at(&self, at: u32) -> Option<&Arc<Outline>> {
        self.modules.iter().filter(|one| one.module.span.start <= at).max_by_key(|one| one.module.span.start)
    }

    /// A module by its name: of the document, of the library, of the project.
    pub(super) fn outline(&self, name: &str) -> Option<Arc<Outline>> {
        if let Some(own) = self.modules.iter().find(|one| *one.module.name.name == *name) {
            return Some(own.clone());
        }
        if let Some(known) = self.others.borrow().get(name) {
            return known.clone();
        }
        let found = library(name).or_else(|| {
            let text = self.index.source(name)?;
            let all = outlines(&text, self.index.file(name));
            all.into_iter().find(|one| *one.module.name.name == *name)
        });
        self.others.borrow_mut().insert(Name::from(name), found.clone());
        found
    }

    fn checked(&self) -> &(Compilation, Vec<Note>) {
        self.checked.get_or_init(|| notes::collect(&self.text, || compile(&self.text, &*self.index)))
    }

    /// The types of the expressions and variables, sorted by place; none for a text with errors in its syntax.
    pub(super) fn types(&self) -> &[Note] {
        &self.checked().1
    }

    /// Returns the type of the expression with exactly this span.
    pub(super) fn type_at(&self, span: Span) -> Option<&str> {
        let notes = self.types();
        let at = notes.partition_point(|note| note.span < span);
        notes.get(at).filter(|note| note.span == span).map(|note| &*note.ty)
    }

    /// The smallest expression around a place, and its type.
    pub(super) fn smallest_note(&self, at: u32) -> Option<&Note> {
        let around = self.types().iter().filter(|note| note.span.start <= at && at < note.span.end);
        around.min_by_key(|note| note.span.len())
    }

    /// The inferred result of a function.
    pub(super) fn result(&self, target: &Target) -> Option<String> {
        let Kind::Function(arity) = target.entry.kind else { return None };
        let (compiled, _) = self.checked();
        let signature = compiled.signature(&target.outline.module.name.name, &target.entry.name, Some(arity))?;
        Some(ty::show(&signature.result, &|_| "_".to_owned()))
    }

    /// The definition of a name in a module of the document.
    pub(super) fn resolve(&self, from: &Outline, what: &Symbol) -> Option<Target> {
        match what {
            Symbol::Variable(_) | Symbol::State(_) | Symbol::Module(_) => None,
            Symbol::Value(Some(path), name, arity) => {
                let outline = self.outline(&module_of_path(from, path))?;
                target(&outline, |outline| outline.value(name, *arity).or_else(|| outline.ty(name)))
            }
            Symbol::Value(None, name, arity) => self.visible(from, name, &|outline, name| outline.value(name, *arity)),
            Symbol::Type(name) => match name.rsplit_once('.') {
                Some((path, short)) => {
                    let outline = self.outline(&module_of_path(from, path))?;
                    target(&outline, |outline| outline.ty(short))
                }
                None => self.visible(from, name, &|outline, name| outline.ty(name)),
            },
            Symbol::Field(record, field) => {
                let of = self.resolve(from, &Symbol::Type(record.clone()))?;
                target(&of.outline, |outline| outline.field(&of.entry.name, field))
            }
            Symbol::FieldOf(value, field) => {
                let record = self.type_at(*value)?;
                let record = record.split('(').next().unwrap_or(record);
                self.resolve(from, &Symbol::Field(Name::from(record), field.clone()))
            }
        }
    }

    /// Returns the definitions of an unqualified name, in the order of lookup: the module itself, individually imported
    /// names, imported modules, and the prelude.
    fn visible(
        &self,
        from: &Outline,
        name: &str,
        find: &dyn for<'o> Fn(&'o Outline, &str) -> Option<&'o Entry>,
    ) -> Option<Target> {
        if let Some(own) = find(from, name) {
            let outline = self.outline(&from.module.name.name)?;
            return Some(Target { outline, entry: own.clone() });
        }
        for import in imports(from) {
            let named = import.names.iter().flatten();
            let mut named = named.filter(|one| *one.alias.as_ref().unwrap_or(&one.name).name == *name);
            if let Some(one) = named.next()
                && let Some(outline) = self.outline(&import.module.name)
            {
                let wanted = &*one.name.name;
                return target(&outline, |outline| {
                    find(outline, wanted).or_else(|| outline.value(wanted, None)).or_else(|| outline.ty(wanted))
                });
            }
        }
        let whole = imports(from).filter(|import| import.names.is_none());
        let whole = whole.map(|import| (&*import.module.name, import.alias.is_none()));
        let prelude = standard::PRELUDE.iter().map(|name| (*name, false));
        whole.chain(prelude).find_map(|(module, functions)| {
            let outline = self.outline(module)?;
            let found = find(&outline, name)?;
            let is_offered = found.exported && (functions || !matches!(found.kind, Kind::Function(_)));
            is_offered.then(|| Target { entry: found.clone(), outline: outline.clone() })
        })
    }
}

fn target<'o>(outline: &'o Arc<Outline>, find: impl FnOnce(&'o Outline) -> Option<&'o Entry>) -> Option<Target> {
    Some(Target { entry: find(outline)?.clone(), outline: outline.clone() })
}

pub(super) fn imports(outline: &Outline) -> impl Iterator<Item = &Import> {
    outline.module.items.iter().filter_map(|item| match item {
        Item::Import(import) => Some(import),
        _ => None,
    })
}

/// The module that a path means in a module: behind its alias, or by its own name.
pub(super) fn module_of_path(from: &Outline, path: &str) -> Name {
    let aliased = imports(from).find(|import| import.alias.as_ref().is_some_and(|alias| *alias.name == *path));
    aliased.map_or_else(|| Name::from(path), |import| import.module.name.clone())
}

fn outlines(text: &Arc<str>, path: Option<&std::path::Path>) -> Vec<Arc<Outline>> {
    let modules = syntax::modules(&syntax::parse(text).tree()).into_iter();
    modules.map(|module| Arc::new(Outline::new(module, text.clone(), path.map(Into::into)))).collect()
}

/// A module of the library; it never changes.
fn library(name: &str) -> Option<Arc<Outline>> {
    static KNOWN: Mutex<Vec<(&str, Arc<Outline>)>> = Mutex::new(Vec::new());
    let name = standard::names().find(|known| *known == name)?;
    let mut known = KNOWN.lock();
    if let Some((_, outline)) = known.iter().find(|(known, _)| *known == name) {
        return Some(outline.clone());
    }
    let all = outlines(&Arc::from(standard::source(name)?), None);
    let outline = all.into_iter().find(|one| *one.module.name.name == *name)?;
    known.push((name, outline.clone()));
    Some(outline)
}
