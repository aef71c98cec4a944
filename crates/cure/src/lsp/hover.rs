//! `textDocument/hover`: the type of an expression, or the head and documentation of a definition.

use serde_json::{Value, json};

use super::analysis::Analysis;
use super::documents::Document;
use super::name_at_position::{Symbol, SymbolAt, look_up};
use super::positions::Encoding;
use crate::diagnostic::Span;
use crate::syntax::ast::{Def, Item, Module, Param};

/// The answer; `null` where nothing is known.
pub(super) fn hover(analysis: &Analysis, document: &Document, at: usize, encoding: Encoding) -> Value {
    match describe(analysis, at as u32) {
        Some((span, text)) => {
            json!({ "contents": { "kind": "markdown", "value": text }, "range": document.range(span, encoding) })
        }
        None => Value::Null,
    }
}

fn describe(analysis: &Analysis, at: u32) -> Option<(Span, String)> {
    let module = analysis.module_at(at)?;
    if let Some(named) = look_up(&module.module, at).named
        && let Some(text) = named_as(analysis, &named, at)
    {
        return Some((named.span, text));
    }
    let note = analysis.smallest_note(at)?;
    Some((note.span, code(&note.ty)))
}

fn named_as(analysis: &Analysis, SymbolAt { span, what }: &SymbolAt, at: u32) -> Option<String> {
    let from = analysis.module_at(at)?;
    let name = span.text(&analysis.text);
    match what {
        Symbol::Variable(binding) => {
            let known = analysis.type_at(*span).or_else(|| analysis.type_at(*binding)).map(str::to_owned);
            let ty = known.or_else(|| written(&from.module, *binding, &analysis.text))?;
            Some(code(&format!("{name}: {ty}")))
        }
        Symbol::State(_) => Some(code(&format!("state {name}"))),
        Symbol::Module(path) => {
            let module = analysis.outline(&super::analysis::module_of_path(from, path))?;
            Some(documented(&format!("module {}", module.module.name.name), &module.module.doc))
        }
        what => {
            let Some(target) = analysis.resolve(from, what) else {
                // A field of a value whose record is not known here has its type all the same.
                return analysis.types().iter().find(|note| note.span.end == span.end).map(|note| code(&note.ty));
            };
            let mut head = target.entry.head.clone();
            if target.entry.inferred
                && let Some(result) = analysis.result(&target)
            {
                head.push_str(&format!(": {result}"));
            }
            Some(documented(&head, &target.entry.doc))
        }
    }
}

/// The written type of a parameter.
fn written(module: &Module, binding: Span, text: &str) -> Option<String> {
    let defs = module.items.iter().flat_map(|item| -> Box<dyn Iterator<Item = &Def>> {
        match item {
            Item::Def(def) => Box::new(std::iter::once(def)),
            Item::Curify(foreign) => Box::new(std::iter::once(&foreign.head)),
            Item::Class(class) => Box::new(class.methods.iter()),
            Item::Instance(instance) => Box::new(instance.methods.iter()),
            _ => Box::new(std::iter::empty()),
        }
    });
    let is_meant = |param: &&Param| param.name.span == binding;
    let param = defs.flat_map(|def| &def.params).find(is_meant)?;
    Some(param.ty.as_ref()?.span.text(text).to_owned())
}

fn documented(head: &str, doc: &str) -> String {
    if doc.is_empty() { code(head) } else { format!("{}\n\n{doc}", code(head)) }
}

fn code(text: &str) -> String {
    format!("```cure\n{text}\n```")
}
