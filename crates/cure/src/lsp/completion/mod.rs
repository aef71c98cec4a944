//! `textDocument/completion`: names in scope, members after a dot, modules and names in imports. Works on incomplete
//! programs.

mod context;

use serde_json::{Value, json};

use self::context::Context;
use super::analysis::{Analysis, imports, module_of_path};
use super::documents::Document;
use super::name_at_position::{Symbol, look_up, variables_in_scope};
use super::outline::{Entry, Kind, MACHINE, Outline};
use super::positions::Encoding;
use crate::compile::compile;
use crate::diagnostic::Span;
use crate::standard;
use crate::syntax::SyntaxKind;
use crate::syntax::ast::Name;
use crate::syntax::keywords;
use crate::types::notes;

/// Maximum number of proposals.
const MOST: usize = 300;

/// A completion item before ranking.
struct Proposal {
    label: String,
    kind: Sort,
    detail: String,
    doc: String,
    /// Distance of its scope. Nearer items come first.
    distance: u8,
    /// Additional edit, and its position: an import.
    import: Option<(u32, String)>,
}

/// The kinds of proposals, with their numbers in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Function = 3,
    Field = 5,
    Variable = 6,
    Class = 8,
    Module = 9,
    Keyword = 14,
    Constructor = 20,
    Type = 22,
}

/// The list of proposals.
pub(super) fn completion(analysis: &Analysis, document: &Document, at: usize, encoding: Encoding) -> Value {
    let context = context::at(&analysis.text, at as u32);
    let prefix = context.prefix.text(&analysis.text).to_owned();
    let mut maker = Maker { analysis, at: at as u32, prefix: &prefix, found: Vec::new() };
    // Replaces the whole path: a path of modules is one name.
    let replaced = match &context.what {
        Context::Import(path) => {
            maker.modules(path.text(&analysis.text));
            *path
        }
        Context::ImportedNames(module) => {
            maker.imported(module);
            context.prefix
        }
        Context::Path(path) => {
            maker.members(path);
            context.prefix
        }
        Context::Field(value) => {
            maker.fields(*value);
            context.prefix
        }
        Context::Type => {
            maker.types();
            context.prefix
        }
        Context::Value => {
            maker.values();
            context.prefix
        }
        Context::Nothing => context.prefix,
    };
    let mut found = maker.found;
    found.sort_by(|a, b| (a.distance, &a.label).cmp(&(b.distance, &b.label)));
    found.dedup_by(|a, b| a.label == b.label && a.import.is_some() == b.import.is_some() && a.import.is_none());
    let incomplete = found.len() > MOST;
    found.truncate(MOST);
    let range = document.range(replaced, encoding);
    let item = |one: &Proposal| {
        let mut item = json!({
            "label": one.label,
            "kind": one.kind as u8,
            "sortText": format!("{}{}", one.distance, one.label),
            "textEdit": { "range": range, "newText": one.label },
        });
        if !one.detail.is_empty() {
            item["detail"] = json!(one.detail);
        }
        if !one.doc.is_empty() {
            item["documentation"] = json!({ "kind": "markdown", "value": one.doc });
        }
        if let Some((at, text)) = &one.import {
            let range = document.range(Span { start: *at, end: *at }, encoding);
            item["additionalTextEdits"] = json!([{ "range": range, "newText": text }]);
        }
        item
    };
    json!({ "isIncomplete": incomplete, "items": found.iter().map(item).collect::<Vec<_>>() })
}

struct Maker<'a> {
    analysis: &'a Analysis,
    at: u32,
    prefix: &'a str,
    found: Vec<Proposal>,
}

impl Maker<'_> {
    fn fits(&self, label: &str) -> bool {
        let begins = label.get(..self.prefix.len());
        begins.is_some_and(|begins| begins.eq_ignore_ascii_case(self.prefix))
    }

    fn add(&mut self, label: &str, kind: Sort, detail: &str, doc: &str, distance: u8) {
        if self.fits(label) {
            let (label, detail, doc) = (label.to_owned(), detail.to_owned(), doc.to_owned());
            self.found.push(Proposal { label, kind, detail, doc, distance, import: None });
        }
    }

    fn entry(&mut self, entry: &Entry, label: &str, distance: u8) {
        self.add(label, sort(&entry.kind), &entry.head, &entry.doc, distance);
    }

    /// The modules whose names begin with this path.
    fn modules(&mut self, path: &str) {
        let own = self.analysis.modules.iter().map(|one| one.module.name.name.clone());
        let here = self.analysis.module_at(self.at).map(|one| one.module.name.name.clone());
        let project = self.analysis.index.names().cloned();
        let library = standard::names().map(Name::from);
        let mut names: Vec<Name> =
            own.chain(project).chain(library).filter(|name| Some(name) != here.as_ref()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let begins = name.get(..path.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(path));
            // `List` is `Std.List`.
            let last = name.rsplit('.').next().unwrap_or(&name);
            let ends = last.get(..path.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(path));
            if begins || ends {
                let doc = self.analysis.outline(&name).map(|one| one.module.doc.clone()).unwrap_or_default();
                let distance = u8::from(standard::source(&name).is_some()) + 2 * u8::from(!begins);
                let (label, detail) = (name.to_string(), String::new());
                self.found.push(Proposal { label, kind: Sort::Module, detail, doc, distance, import: None });
            }
        }
    }

    /// Proposes the names that can be imported from a module.
    fn imported(&mut self, module: &str) {
        let Some(outline) = self.analysis.outline(module) else { return };
        for entry in outline.entries.iter().filter(|entry| entry.exported) {
            match entry.kind {
                Kind::Function(arity) => self.entry(entry, &format!("{}/{arity}", entry.name), 0),
                Kind::Field(_) | Kind::Machine => {}
                _ => self.entry(entry, &entry.name, 1),
            }
        }
    }

    /// Proposes the names after `A.B.`: functions and constructors of the module, and its submodules.
    fn members(&mut self, path: &str) {
        let Some(from) = self.analysis.module_at(self.at) else { return };
        if let Some(outline) = self.analysis.outline(&module_of_path(from, path)) {
            let own = std::ptr::eq(&*outline, &**from);
            for entry in outline.entries.iter().filter(|entry| entry.exported || own) {
                if !matches!(entry.kind, Kind::Field(_) | Kind::Machine) {
                    self.entry(entry, &entry.name, 0);
                }
            }
        }
        let names: Vec<Name> = self.analysis.index.names().cloned().chain(standard::names().map(Name::from)).collect();
        for name in names {
            let below = name.strip_prefix(path).and_then(|rest| rest.strip_prefix('.'));
            if let Some(next) = below.and_then(|below| below.split('.').next()) {
                self.add(next, Sort::Module, "", "", 1);
            }
        }
    }

    /// The fields of the value that stands there; all fields that are known, if its type is not.
    fn fields(&mut self, value: Span) {
        let Some(from) = self.analysis.module_at(self.at).cloned() else { return };
        let record = self.type_of(value).and_then(|ty| {
            let name = ty.split('(').next().unwrap_or(&ty).to_owned();
            self.analysis.resolve(&from, &Symbol::Type(Name::from(name)))
        });
        let of = record.as_ref().map(|target| (&target.outline, &target.entry.name));
        let outline = of.map_or(&from, |(outline, _)| outline).clone();
        for entry in &outline.entries {
            if let Kind::Field(record) = &entry.kind
                && of.is_none_or(|(_, name)| name == record)
            {
                self.entry(entry, &entry.name, 0);
            }
        }
    }

    /// The type of a value behind which a dot was typed: without the dot, the text may be a program.
    fn type_of(&self, value: Span) -> Option<String> {
        let text = &*self.analysis.text;
        let without = [text.get(..value.end as usize)?, text.get(self.at as usize..)?].concat();
        let (_, types) = notes::collect(&without, || compile(&without, &*self.analysis.index));
        types.into_iter().find(|note| note.span == value).map(|note| note.ty)
    }

    fn types(&mut self) {
        for name in ["Any", "Atom", "Bool", "Float", "Int", "List", "Nat", "Pair", "Pos", "String", "Unit", "Vector"] {
            self.add(name, Sort::Type, "", "", 2);
        }
        self.visible(&|kind| matches!(kind, Kind::Type | Kind::Class));
        self.propose_unimported(&|kind| matches!(kind, Kind::Type | Kind::Class));
    }

    fn values(&mut self) {
        self.variables();
        self.visible(&|kind| !matches!(kind, Kind::Field(_)));
        if self.prefix.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.types();
            let aliases: Vec<Name> = self
                .analysis
                .module_at(self.at)
                .iter()
                .flat_map(|from| imports(from))
                .map(|import| import.alias.as_ref().unwrap_or(&import.module).name.clone())
                .collect();
            aliases.iter().for_each(|name| self.add(name, Sort::Module, "", "", 2));
        }
        if !self.prefix.is_empty() {
            self.propose_unimported(&|kind| matches!(kind, Kind::Function(_)));
        }
        keywords().for_each(|word| self.add(word, Sort::Keyword, "", "", 5));
    }

    fn variables(&mut self) {
        let Some(from) = self.analysis.module_at(self.at) else { return };
        let place = look_up(&from.module, self.at);
        let scope = if place.scope.is_empty() { variables_in_scope(&from.module, self.at) } else { place.scope };
        for (name, binding) in scope.iter().rev() {
            // A name that is being typed binds nothing yet.
            if binding.end != self.at && self.found.iter().all(|known| known.label != **name) {
                self.add(name, Sort::Variable, "", "", 0);
            }
        }
    }

    /// Proposes the names that the module defines and imports.
    fn visible(&mut self, wanted: &dyn Fn(&Kind) -> bool) {
        let Some(from) = self.analysis.module_at(self.at).cloned() else { return };
        for entry in from.entries.iter().filter(|entry| wanted(&entry.kind)) {
            self.entry(entry, &entry.name, 1);
            if entry.kind == Kind::Machine {
                for (what, params) in MACHINE {
                    self.add(&format!("{}_{what}", entry.name), Sort::Function, params, "", 1);
                }
            }
        }
        for import in imports(&from) {
            let Some(outline) = self.analysis.outline(&import.module.name) else { continue };
            match &import.names {
                Some(names) => {
                    for one in names {
                        let of = |entry: &&Entry| entry.name == one.name.name && wanted(&entry.kind);
                        if let Some(entry) = outline.entries.iter().find(of) {
                            self.entry(entry, &one.alias.as_ref().unwrap_or(&one.name).name, 2);
                        }
                    }
                }
                None => self.propose_module(&outline, import.alias.is_none(), wanted),
            }
        }
        for name in standard::PRELUDE {
            if let Some(outline) = self.analysis.outline(name) {
                self.propose_module(&outline, false, wanted);
            }
        }
    }

    fn propose_module(&mut self, outline: &Outline, functions: bool, wanted: &dyn Fn(&Kind) -> bool) {
        for entry in outline.entries.iter().filter(|entry| entry.exported && wanted(&entry.kind)) {
            if functions || !matches!(entry.kind, Kind::Function(_)) {
                self.entry(entry, &entry.name, 3);
            }
        }
    }

    /// Proposes library names that are not imported yet, with their imports.
    fn propose_unimported(&mut self, wanted: &dyn Fn(&Kind) -> bool) {
        let Some(from) = self.analysis.module_at(self.at).cloned() else { return };
        let known: Vec<String> = self.found.iter().map(|one| one.label.clone()).collect();
        for module in standard::names() {
            let whole = imports(&from).any(|import| *import.module.name == *module && import.names.is_none());
            if whole || *from.module.name.name == *module {
                continue;
            }
            let Some(outline) = self.analysis.outline(module) else { continue };
            for entry in outline.entries.iter().filter(|entry| entry.exported && wanted(&entry.kind)) {
                if !self.fits(&entry.name) || known.iter().any(|known| **known == *entry.name) {
                    continue;
                }
                let what = match entry.kind {
                    Kind::Function(arity) => format!("{}/{arity}", entry.name),
                    _ => entry.name.to_string(),
                };
                let import = added(&from, module, &what);
                self.found.push(Proposal {
                    label: entry.name.to_string(),
                    kind: sort(&entry.kind),
                    detail: format!("{} (import {module})", entry.head),
                    doc: entry.doc.clone(),
                    distance: 4,
                    import: Some(import),
                });
            }
        }
    }
}

fn sort(kind: &Kind) -> Sort {
    match kind {
        Kind::Function(_) => Sort::Function,
        Kind::Constructor => Sort::Constructor,
        Kind::Type | Kind::Machine => Sort::Type,
        Kind::Field(_) => Sort::Field,
        Kind::Class => Sort::Class,
    }
}

/// The text that imports a name, and where it goes: into an import of that module, behind the last import, or behind the
/// head of the module.
fn added(from: &Outline, module: &str, what: &str) -> (u32, String) {
    let named = imports(from).find(|import| *import.module.name == *module && import.names.is_some());
    if let Some(import) = named
        && import.span.text(&from.text).ends_with(']')
    {
        let comma = if import.names.as_ref().is_some_and(|names| !names.is_empty()) { ", " } else { "" };
        return (import.span.end - 1, format!("{comma}{what}"));
    }
    let line = format!("\n  import {module} [{what}]");
    let last = imports(from).map(|import| import.span.end).max();
    let head = || {
        let start = from.module.name.span.end;
        let rest = from.text.get(start as usize..).unwrap_or_default();
        rest.find(SyntaxKind::DoKw.text().unwrap_or("do")).map_or(start, |at| start + at as u32 + 2)
    };
    (last.unwrap_or_else(head), line)
}
