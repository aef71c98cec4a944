//! The other modules' texts, kept while a compilation lasts: a file with many modules is requested once per module.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::fuel::Share;
use crate::syntax::{self, ast};
use ast::Name;

/// The maximal number of bytes of text that are kept in parsed form, which is several times larger.
const MOST_KEPT: usize = 16 << 20;

/// A text without syntax errors.
#[derive(Debug)]
pub(super) struct ParsedText {
    modules: Vec<ast::Module>,
    /// The modules by name; the first of several with the same name.
    places: HashMap<Name, usize>,
    /// The budget of its modules.
    pub share: Share,
}

impl ParsedText {
    fn new(text: &str) -> Option<ParsedText> {
        let parsed = syntax::parse(text);
        if parsed.diagnostics.iter().any(Diagnostic::is_error) {
            return None;
        }
        let modules = syntax::modules(&parsed.tree());
        let mut places = HashMap::new();
        for (at, module) in modules.iter().enumerate() {
            places.entry(module.name.name.clone()).or_insert(at);
        }
        Some(ParsedText { modules, places, share: Share::default() })
    }

    pub(super) fn module(&self, name: &Name) -> Option<&ast::Module> {
        self.places.get(name).map(|at| &self.modules[*at])
    }
}

/// Texts that will be requested again, by their address; each is held, so that no other text can take its address.
#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashMap<*const u8, (Arc<str>, Option<Rc<ParsedText>>)>,
    bytes: usize,
}

impl Texts {
    /// The parsed text; `None` if it has syntax errors.
    pub(super) fn read(&mut self, text: &Arc<str>) -> Option<Rc<ParsedText>> {
        if let Some((_, known)) = self.known.get(&text.as_ptr()) {
            return known.clone();
        }
        let read = ParsedText::new(text).map(Rc::new);
        if read.as_ref().is_none_or(|read| read.modules.len() > 1) {
            if self.bytes + text.len() > MOST_KEPT {
                self.known.clear();
                self.bytes = 0;
            }
            self.bytes += text.len();
            self.known.insert(text.as_ptr(), (text.clone(), read.clone()));
        }
        read
    }
}
