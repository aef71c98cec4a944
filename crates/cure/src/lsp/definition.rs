//! `textDocument/definition`: where a name is defined. The library stands in no file, so it has no place; hover shows what
//! is written there.

use super::analysis::{Analysis, module_of_path};
use super::documents::{Document, Documents, uri_of};
use super::messages::Location;
use super::name_at_position::{Symbol, look_up};
use super::outline::Outline;
use super::positions::{Encoding, LineStarts};
use crate::diagnostic::Span;

/// The place of the definition of the name at a place.
pub(super) fn definition(
    analysis: &Analysis,
    document: &Document,
    documents: &Documents,
    at: usize,
    encoding: Encoding,
) -> Option<Location> {
    let at = at as u32;
    let from = analysis.module_at(at)?;
    let named = look_up(&from.module, at).named?;
    let here = |span: Span| Some(Location { uri: document.uri.clone(), range: document.range(span, encoding) });
    let there = |outline: &Outline, span: Span| {
        if std::sync::Arc::ptr_eq(&outline.text, &analysis.text) {
            return here(span);
        }
        let path = outline.path.as_ref()?;
        let range = LineStarts::new(&outline.text).range(&outline.text, span, encoding);
        let open = documents.iter().find(|open| open.path.as_ref() == Some(path));
        Some(Location { uri: open.map_or_else(|| uri_of(path), |open| open.uri.clone()), range })
    };
    match &named.what {
        Symbol::Variable(span) | Symbol::State(span) => here(*span),
        Symbol::Module(path) => {
            let outline = analysis.outline(&module_of_path(from, path))?;
            there(&outline, outline.module.name.span)
        }
        what => {
            let target = analysis.resolve(from, what)?;
            there(&target.outline, target.entry.span)
        }
    }
}
