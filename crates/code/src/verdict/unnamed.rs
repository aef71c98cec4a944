//! Uses that do not name their definition, as clangd reports them: an implicit constructor call, the sign of an operator, and
//! the use of a macro whose body has the name.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::answer::{Candidates, LineOptions, Site, label};
use crate::in_test::{is_test, is_test_file};
use crate::inquiry::{Sheets, Spot};
use crate::judgement::{Unnamed, Verdict};
use crate::place::Lines;
use crate::syntax::{Class, Language, is_word, occurrences_at};

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
    let lines = Lines::new(text);
    let line = lines.line(start);
    let context = |of: std::ops::Range<usize>| of.filter_map(|line| lines.excerpt(line, None)).collect();
    let enclosing = one.as_ref().map(|one| &one.enclosing[..]).unwrap_or_default();
    Some(Site {
        language,
        line,
        column: lines.column(start),
        at: spot.start,
        class,
        enclosing: label(enclosing, language),
        in_test: is_test_file(&path) || is_test(enclosing),
        is_member: false,
        is_qualified: false,
        may_be_local: false,
        tokens: None,
        self_type: None,
        is_broken: false,
        embeds: false,
        in_interface: false,
        alias: Some(String::from_utf8_lossy(word).into_owned()),
        verdict: Verdict::default(),
        meant: None,
        by_interface: false,
        unnamed: Some(how),
        text: lines.excerpt(line, Some(start)).unwrap_or_default(),
        before: context(line.saturating_sub(shown.context_lines).max(1)..line),
        after: context(line + 1..line + 1 + shown.context_lines),
        path: Arc::from(path),
    })
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
