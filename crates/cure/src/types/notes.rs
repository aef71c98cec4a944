//! The types of expressions and variables, noted for an editor while a text is checked. A compilation notes nothing; an
//! editor asks for it around one ([`of`]).

use std::cell::RefCell;

use crate::diagnostic::Span;

/// The type of an expression or of a variable that is bound there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub span: Span,
    /// The type as messages show it.
    pub ty: String,
}

/// The notes about the text at this address.
struct Notes {
    text: usize,
    found: Vec<Note>,
}

thread_local! {
    static NOTES: RefCell<Option<Notes>> = const { RefCell::new(None) };
}

/// Runs a check and gives the types in this text, sorted by place. The other texts that are checked meanwhile are not
/// noted.
pub(crate) fn collect<T>(text: &str, check: impl FnOnce() -> T) -> (T, Vec<Note>) {
    NOTES.set(Some(Notes { text: text.as_ptr() as usize, found: Vec::new() }));
    let value = check();
    let mut found = NOTES.take().map_or_else(Vec::new, |notes| notes.found);
    found.sort_by_key(|note| note.span);
    (value, found)
}

/// True if the types in this text are noted.
pub(crate) fn is_active(text: &str) -> bool {
    NOTES.with_borrow(|notes| notes.as_ref().is_some_and(|notes| notes.text == text.as_ptr() as usize))
}

/// Adds the notes of a function.
pub(crate) fn add(found: impl Iterator<Item = Note>) {
    NOTES.with_borrow_mut(|notes| {
        if let Some(notes) = notes {
            notes.found.extend(found);
        }
    });
}
