//! Uses that do not name their definition, as clangd reports them: an implicit constructor call, the sign of an operator, and
//! the use of a macro whose body has the name.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::answer::{Candidates, LineOptions, Site};
use crate::inquiry::{Sheets, Spot};
use crate::judgement::Unnamed;
use crate::place::Lines;
use crate::syntax::{Class, Language, Occurrence, is_word, occurrences_at};

/// Returns the use at a spot; `None` if the text does not support it.
pub(super) fn unnamed(
    found: &Candidates,
    number: usize,
    spot: &Spot,
    sheets: &Sheets,
    shown: LineOptions,
) -> Option<Site> {
    let definition = &found.definitions[number];
    let sheet = sheets.get(&spot.path)?;
    let text = sheet.text.as_bytes();
    let path: PathBuf = sheets.below(&spot.path)?.into();
    let language = Language::detect(&path, text).filter(|one| matches!(one, Language::C | Language::Cpp))?;
    let (start, end) = (spot.start.checked_sub(sheet.skip)?, spot.end.checked_sub(sheet.skip)?);
    let word = text.get(start..end).filter(|word| !word.is_empty())?;
    // A spot within a word indicates that the text has changed.
    let is_in_word = |at: usize| {
        at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(|one| is_word(*one))
            && text.get(at).is_some_and(|one| is_word(*one))
    };
    if is_in_word(start) || is_in_word(end) || word.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let until = Instant::now() + Duration::from_secs(1);
    let all = occurrences_at(language, text, std::slice::from_ref(&(start..end)), until);
    let one = all.and_then(|all| all.into_iter().next());
    let name = &found.question.name;
    // The sign of an operator, or the bracket of a call operator.
    let is_operator = name.strip_prefix("operator").is_some_and(|sign| sign.trim_start().as_bytes().starts_with(word));
    let (how, class) = if definition.is_constructor(name) {
        (Unnamed::Implicit, Class::Construct)
    } else if is_operator && !is_word(word[0]) {
        (Unnamed::Implicit, Class::Call)
    } else if found.texts.values().any(|text| is_macro(text, word)) {
        // `COMMAND(list) { … }` looks like a function.
        let class = match one.as_ref().map(|one| one.class)? {
            Class::Binding | Class::Signature if !definition.kind.is_type() => Class::Call,
            class => class,
        };
        (Unnamed::Macro, class)
    } else {
        return None;
    };
    let alias = Some(String::from_utf8_lossy(word).into_owned());
    let one = Occurrence::new(start..end, class, one.map(|one| one.enclosing).unwrap_or_default());
    let site = Site::new(Arc::from(path), language, &Lines::new(text), &one, Some(shown.context_lines));
    Some(Site { at: spot.start, alias, unnamed: Some(how), self_type: None, in_interface: false, ..site })
}

/// True if a text defines a macro.
fn is_macro(text: &[u8], word: &[u8]) -> bool {
    let mut all = memmem::find_iter(text, b"define");
    all.any(|at| {
        let before = text[..at].trim_ascii_end();
        let rest = text[at + b"define".len()..].trim_ascii_start();
        let is_whole = rest.get(word.len()).is_none_or(|next| !is_word(*next));
        before.ends_with(b"#") && rest.starts_with(word) && is_whole
    })
}
