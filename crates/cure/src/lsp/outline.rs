//! The definitions of a module as an editor shows them: name, head, documentation and place. Read from the syntax, so that
//! it is there for a text with errors, too.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::syntax::ast::{Curify, Def, Fsm, Item, Module, Name, Record, Type, TypeDef, TypeKind};

/// Maximum length of a head in bytes.
const LONGEST: usize = 1_000;

/// Kind of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A function, or a method of a class, and how many parameters it has.
    Function(usize),
    Constructor,
    Type,
    /// A field of this record.
    Field(Name),
    Class,
    Machine,
}

/// One definition.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub name: Name,
    pub kind: Kind,
    /// The name where it is defined.
    pub span: Span,
    /// Its source text without a body.
    pub head: String,
    /// The comments before it.
    pub doc: String,
    /// True if other modules may use it.
    pub exported: bool,
    /// True if its type is inferred, so that the head does not tell it.
    pub inferred: bool,
}

/// A module and its definitions.
#[derive(Debug)]
pub(super) struct Outline {
    pub module: Module,
    pub entries: Vec<Entry>,
    /// The text that the places are in.
    pub text: Arc<str>,
    /// Its file; `None` for the library and for a text without a file.
    pub path: Option<PathBuf>,
}

impl Outline {
    pub(super) fn new(module: Module, text: Arc<str>, path: Option<PathBuf>) -> Outline {
        let mut reader = Reader { text: &text, module: &module, entries: Vec::new() };
        module.items.iter().for_each(|item| reader.item(item));
        let entries = reader.entries;
        Outline { module, entries, text, path }
    }

    /// The definitions of a value: functions, methods, constructors, and what machines bring along.
    pub(super) fn value(&self, name: &str, arity: Option<usize>) -> Option<&Entry> {
        let mut named = self.entries.iter().filter(|entry| *entry.name == *name);
        let is_value = |entry: &&Entry| matches!(entry.kind, Kind::Function(_) | Kind::Constructor);
        let exact = named.clone().filter(is_value).find(|entry| match (&entry.kind, arity) {
            (Kind::Function(takes), Some(arity)) => *takes == arity,
            _ => true,
        });
        exact.or_else(|| named.find(is_value)).or_else(|| self.machine(name))
    }

    /// The machine of a function such as `Door_spawn`.
    fn machine(&self, function: &str) -> Option<&Entry> {
        let (machine, what) = function.rsplit_once('_')?;
        let is_known = MACHINE.iter().any(|(known, _)| *known == what);
        self.entries.iter().find(|entry| is_known && entry.kind == Kind::Machine && *entry.name == *machine)
    }

    /// The definition of a type, a record or a class; else of a constructor.
    pub(super) fn ty(&self, name: &str) -> Option<&Entry> {
        let named = self.entries.iter().filter(|entry| *entry.name == *name);
        named
            .clone()
            .find(|entry| matches!(entry.kind, Kind::Type | Kind::Class | Kind::Machine))
            .or_else(|| named.clone().find(|entry| entry.kind == Kind::Constructor))
    }

    pub(super) fn field(&self, record: &str, name: &str) -> Option<&Entry> {
        let is_meant =
            |entry: &&Entry| *entry.name == *name && matches!(&entry.kind, Kind::Field(of) if **of == *record);
        self.entries.iter().find(is_meant)
    }
}

/// The functions of a machine, with their parameters.
pub(super) const MACHINE: &[(&str, &str)] = &[
    ("spawn", "()"),
    ("send", "(machine, event)"),
    ("state", "(machine)"),
    ("stop", "(machine)"),
    ("definition", "()"),
];

struct Reader<'t> {
    text: &'t str,
    module: &'t Module,
    entries: Vec<Entry>,
}

impl Reader<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Def(def) => self.def(def, self.is_exported(def)),
            Item::Curify(foreign) => self.foreign(foreign),
            Item::Type(def) => self.type_def(def),
            Item::Record(record) => self.record(record),
            Item::Class(class) => {
                let head =
                    self.until(class.span.start, class.methods.first().map_or(class.span.end, |def| def.span.start));
                let head = head.trim_end_matches([' ', '{']).trim_end_matches(" do").to_owned();
                self.push(&class.name.name, Kind::Class, class.name.span, head, &class.doc);
                class.methods.iter().for_each(|method| self.def(method, true));
            }
            Item::Fsm(fsm) => self.machine(fsm),
            Item::Import(_) | Item::Instance(_) => {}
        }
    }

    fn is_exported(&self, def: &Def) -> bool {
        self.module.exports.as_ref().is_none_or(|all| {
            let fits = |arity: u32| arity as usize == def.params.len();
            all.iter().any(|one| one.name.name == def.name.name && one.arity.is_none_or(fits))
        })
    }

    /// The clauses of a function are one entry, the first.
    fn def(&mut self, def: &Def, exported: bool) {
        let kind = Kind::Function(def.params.len());
        if def.name.name.is_empty() || self.entries.iter().any(|one| one.name == def.name.name && one.kind == kind) {
            return;
        }
        let end = def.body.as_ref().map_or(def.span.end, |body| body.span.start);
        let head = self.until(def.span.start, end);
        let head = head.trim_end_matches([' ', '=']).trim_end_matches(" do").to_owned();
        self.push(&def.name.name, kind, def.name.span, head, &def.doc);
        if let Some(entry) = self.entries.last_mut() {
            (entry.exported, entry.inferred) = (exported, def.result.is_none());
        }
    }

    fn foreign(&mut self, foreign: &Curify) {
        let def = &foreign.head;
        let head = self.until(def.span.start, foreign.target.start);
        let head = head.trim_end_matches([' ', '=']).to_owned();
        self.push(&def.name.name, Kind::Function(def.params.len()), def.name.span, head, &def.doc);
        let exported = self.is_exported(def);
        if let Some(entry) = self.entries.last_mut() {
            entry.exported = exported;
        }
    }

    fn type_def(&mut self, def: &TypeDef) {
        let head = self.until(def.span.start, def.span.end);
        self.push(&def.name.name, Kind::Type, def.name.span, head, &def.doc);
        let alternatives: &[Type] = match &def.body.kind {
            TypeKind::Union(all) => all,
            TypeKind::Name(..) => std::slice::from_ref(&def.body),
            _ => &[],
        };
        for alternative in alternatives {
            if let TypeKind::Name(name, _) = &alternative.kind {
                let span = Span { start: alternative.span.start, end: alternative.span.start + name.len() as u32 };
                let form = self.until(alternative.span.start, alternative.span.end);
                let of = def.name.name.clone();
                self.push(name, Kind::Constructor, span, format!("{form}  # of {of}"), "");
            }
        }
    }

    fn record(&mut self, record: &Record) {
        let head = self.until(record.span.start, record.span.end);
        self.push(&record.name.name, Kind::Type, record.name.span, head, &record.doc);
        for (field, ty) in &record.fields {
            let of = record.name.name.clone();
            let head = format!("{}: {}", field.name, self.until(ty.span.start, ty.span.end));
            self.push(&field.name, Kind::Field(of), field.span, head, "");
        }
    }

    fn machine(&mut self, fsm: &Fsm) {
        let head = format!("fsm {}", fsm.name.name);
        self.push(&fsm.name.name, Kind::Machine, fsm.name.span, head, &fsm.doc);
    }

    fn push(&mut self, name: &Name, kind: Kind, span: Span, head: String, doc: &str) {
        let (name, doc) = (name.clone(), doc.to_owned());
        self.entries.push(Entry { name, kind, span, head, doc, exported: true, inferred: false });
    }

    /// The text between two places on one line.
    fn until(&self, start: u32, end: u32) -> String {
        let text = Span { start, end }.text(self.text);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if line.len() + word.len() > LONGEST {
                line.push_str(" …");
                break;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        line
    }
}
