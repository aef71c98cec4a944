//! Resolves a question by file, line and column to the name that is used or declared there.

use std::path::{Path, PathBuf};

use serde_json::json;
use syntax::{
    Class, Declaration, Kind, Language, bare_name, declarations, is_whole, occurrences, occurrences_at, word_ranges,
};

use crate::line_column::Lines;
use crate::question::Question;
use crate::search::{NoAnswer, Scope, list, read};

/// How many names of a file, or files of a name, an error lists.
const MAX_LISTED: usize = 10;

/// Parses a question. Relative paths are resolved against the folders of the scope.
pub(crate) fn parse_question(scope: &Scope, text: &str) -> Result<Question, NoAnswer> {
    let mut question = Question::read(text).map_err(NoAnswer)?;
    if question.line.is_none() && question.name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unnamed(&question));
    }
    let Some(file) = &question.file else {
        return match in_root(scope, &question.whole) {
            Some(path) if Language::by_name(&path).is_some() => Err(only_a_file(scope, &path)),
            _ => Ok(question),
        };
    };
    question.place = in_root(scope, file);
    match question.line {
        Some(line) => declared_at(scope, question, line),
        None => Ok(question),
    }
}

/// Returns the file at a path, relative to the root.
fn in_root(scope: &Scope, path: &str) -> Option<PathBuf> {
    let there = scope.resolve_path(path).filter(|path| path.is_file())?;
    Some(there.strip_prefix(&scope.root).ok()?.to_owned())
}

/// Explains that a file is not a name, and lists the names that it declares.
fn only_a_file(scope: &Scope, path: &Path) -> NoAnswer {
    let file = project::visible::path(path);
    let text = read(&scope.root.join(path)).unwrap_or_default();
    let language = Language::detect(path, &text);
    let all = language.and_then(|language| declarations(language, &text, scope.until)).unwrap_or_default();
    let names: Vec<String> =
        all.iter().filter(|one| one.kind != Kind::Impl).map(|one| format!("{file}:{}", bare(&one.name))).collect();
    let more = if names.len() > MAX_LISTED { " …" } else { "" };
    let names = match &names[..] {
        [] => "it declares nothing".to_owned(),
        names => format!("ask for what it declares: {}{more}", names[..names.len().min(MAX_LISTED)].join(", ")),
    };
    NoAnswer(format!("{file} is a file, not a name; {names}; {}", outline(&file)))
}

/// Explains that a field identified only by its number cannot be searched for.
fn unnamed(question: &Question) -> NoAnswer {
    let next = match question.qualifiers.last() {
        Some(of) => format!("show_fields {} shows it, find_uses of `{of}` where it is made", json!({"type_name": of})),
        None => "ask for a name".to_owned(),
    };
    NoAnswer(format!(
        "`{}` is a number, not a name: hob cannot search for fields without a name; {next}",
        question.whole
    ))
}

/// Returns a sentence with the call that lists the declarations of a file.
fn outline(file: &str) -> String {
    format!("outline {} lists all of it", json!({"path": file}))
}

/// Returns the file of a question about a line, relative to the root. An incomplete path must match exactly one file.
fn file_of(scope: &Scope, question: &Question) -> Result<PathBuf, NoAnswer> {
    if let Some(path) = &question.place {
        return Ok(path.clone());
    }
    let whole = scope.whole();
    let (files, _, _) = list(&whole, usize::MAX);
    let relative = files.iter().filter_map(|file| file.strip_prefix(&scope.root).ok());
    let ends: Vec<&Path> = relative.filter(|file| question.fits_file(file)).collect();
    let file = project::visible(question.file.as_deref().unwrap_or_default());
    match &ends[..] {
        [one] => Ok((*one).to_owned()),
        [] => Err(NoAnswer(format!("{file} does not exist or cannot be read; name a file of the project"))),
        several => {
            let more = if several.len() > MAX_LISTED { " …" } else { "" };
            let shown: Vec<String> = several.iter().take(MAX_LISTED).map(|path| project::visible::path(path)).collect();
            Err(NoAnswer(format!("{file} is ambiguous: {}{more}; write more of the path", shown.join(", "))))
        }
    }
}

/// Resolves a line to the declaration at or around it, or a column to the name there.
fn declared_at(scope: &Scope, question: Question, line: usize) -> Result<Question, NoAnswer> {
    let path = file_of(scope, &question)?;
    let file = project::visible::path(&path);
    let text = read(&scope.root.join(&path))
        .map_err(|_| NoAnswer(format!("{file} does not exist or cannot be read; name a file of the project")))?;
    let language =
        Language::detect(&path, &text).ok_or_else(|| NoAnswer(format!("{file} is not in a supported language")))?;
    let lines = Lines::new(&text);
    let question = Question { place: Some(path.clone()), ..question };
    let all = declarations(language, &text, scope.until).unwrap_or_default();
    if let Some((at, name)) = question.column.and_then(|column| name_at(scope, language, &text, line, column)) {
        let question = Question { name, at: Some((path, at)), ..question };
        if flattened(&all).iter().any(|one| one.at == at && one.kind != Kind::Impl) {
            return Ok(question);
        }
        // A name that is used here may be declared in any file.
        return Ok(Question { file: None, place: None, line: None, ..question });
    }
    let mut best: Option<(usize, String)> = None;
    let mut is_in_impl = false;
    for one in flattened(&all) {
        let (first, last) = (lines.line(one.bytes.start), lines.line(one.bytes.end));
        if lines.line(one.at) == line && one.kind != Kind::Impl {
            return Ok(Question { name: bare(&one.name), ..question });
        }
        if (first..=last).contains(&line) {
            if one.kind == Kind::Impl {
                is_in_impl = true;
            } else {
                best = Some((lines.line(one.at), one.name.clone()));
            }
        }
    }
    let nested = nested_at(language, &text, &lines, line, scope);
    // A clause in Haskell belongs to its function.
    let is_within = |(at, name): &(usize, String)| {
        best.as_ref().is_some_and(|(outer, whole)| lines.line(*at) > *outer && bare(whole) != *name)
    };
    if let Some((at, name)) = nested.filter(is_within) {
        return Ok(Question { name: bare(&name), line: Some(lines.line(at)), ..question });
    }
    match best {
        // The line is inside this declaration.
        Some((at, name)) => Ok(Question { name: bare(&name), line: Some(at), ..question }),
        None if !is_whole(language, &text, scope.until) => Err(NoAnswer(format!(
            "unparsable: {file} does not parse, and its parsed part declares nothing at {file}:{line}"
        ))),
        None if is_in_impl => Err(NoAnswer(format!(
            "{file}:{line} is in an `impl`, which has no name: ask for its type or its members; {}",
            outline(&file)
        ))),
        None => Err(NoAnswer(format!("nothing is declared at {file}:{line}; {}", outline(&file)))),
    }
}

/// Returns the declarations with their members, the outer ones first.
pub(crate) fn flattened(all: &[Declaration]) -> Vec<&Declaration> {
    let mut found: Vec<&Declaration> = all.iter().collect();
    let mut next = 0;
    while let Some(one) = found.get(next).copied() {
        found.extend(&one.members);
        next += 1;
    }
    found
}

/// Returns the position and name of the nested function declared at a line, or of the innermost one around it.
fn nested_at(
    language: Language,
    text: &[u8],
    lines: &Lines<'_>,
    line: usize,
    scope: &Scope,
) -> Option<(usize, String)> {
    let mut places = word_ranges(language, text);
    places.retain(|place| lines.line(place.start) == line);
    let all = occurrences_at(language, text, &places, scope.until)?;
    let is_function = |kind| matches!(kind, Kind::Function | Kind::Method | Kind::Class);
    let declared = all.iter().find(|one| one.declares.as_ref().is_some_and(|declares| is_function(declares.kind)));
    let around = || {
        let places = all.iter().filter_map(|one| one.enclosing.last()).filter(|place| is_function(place.kind));
        places.map(|place| place.at).max()
    };
    let at = declared.map(|one| one.bytes.start).or_else(around)?;
    let word = word_ranges(language, text).into_iter().find(|word| word.start == at)?;
    Some((at, String::from_utf8_lossy(text.get(word)?).into_owned()))
}

fn bare(name: &str) -> String {
    String::from_utf8_lossy(bare_name(name.as_bytes())).into_owned()
}

/// Returns the name at a column and its start. Keywords, comments and strings are ignored.
fn name_at(scope: &Scope, language: Language, text: &[u8], line: usize, column: usize) -> Option<(usize, String)> {
    let at = Lines::new(text).offset(line, column)?;
    let word = word_ranges(language, text).into_iter().find(|word| word.contains(&at))?;
    let name = std::str::from_utf8(text.get(word.clone())?).ok()?.to_owned();
    let found = occurrences(language, text, &name, &[word.start], scope.until)?;
    let is_name = found.all.iter().any(|one| one.class != Class::Mention);
    is_name.then_some((word.start, name))
}
