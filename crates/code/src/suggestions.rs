//! Suggestions for an unknown name: similar names, and the members of its type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use memchr::memmem::Finder;
use parking_lot::Mutex;
use syntax::{Class, Declaration, Kind, Language, declarations, is_word, occurrences};

use crate::name_at_position::flattened;
use crate::search::{Scope, each_file, read, word_starts};
use crate::shape::shape;

const MOST: usize = 5;
/// The maximum number of words compared.
const MOST_TRIED: usize = 20;

/// Words, each with its distance from the name and a file that has it.
type Near = BTreeMap<String, (usize, PathBuf, Language)>;

/// Returns the most similar names, nearest first.
pub(crate) fn similar_names(scope: &Scope, name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let found: Mutex<Near> = Mutex::new(BTreeMap::new());
    each_file(scope, |path, language| {
        let Ok(language) = language else { return };
        let Ok(text) = read(&path) else { return };
        for word in text.split(|byte| !is_word(*byte)) {
            // A different length excludes most words cheaply.
            if word.len().abs_diff(name.len()) > allowed || word.first().is_none_or(u8::is_ascii_digit) {
                continue;
            }
            let word = String::from_utf8_lossy(word);
            let far = strsim::osa_distance(&wanted, &word.to_lowercase());
            if far <= allowed && word != name {
                let mut found = found.lock();
                found.entry(word.into_owned()).or_insert_with(|| (far, path.clone(), language));
            }
        }
    });
    let found = found.into_inner();
    let mut near: Vec<_> = found.into_iter().map(|(word, (far, path, language))| (far, word, path, language)).collect();
    near.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    // Keywords and words that occur only in prose are not suggested.
    let is_name = |word: &str, path: &PathBuf, language: Language| {
        let Ok(text) = read(path) else { return false };
        let starts = word_starts(&Finder::new(word), &text, word);
        let all = occurrences(language, &text, word, &starts, scope.until).map(|found| found.all);
        all.is_none_or(|all| all.iter().any(|one| one.class != Class::Mention))
    };
    let tried = near.into_iter().take(MOST_TRIED);
    let names = tried.filter(|(_, word, path, language)| is_name(word, path, *language));
    names.take(MOST).map(|(_, word, ..)| word).collect()
}

/// Returns the members of the types of a name, in source order.
pub(crate) fn members(scope: &Scope, of: &str) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    let finder = Finder::new(of);
    each_file(scope, |path, language| {
        let Ok(language) = language else { return };
        let Some(text) = read(&path).ok().filter(|text| finder.find(text).is_some()) else { return };
        let all = declarations(language, &text, scope.until).unwrap_or_default();
        let is_meant = |one: &&Declaration| one.name == of && (one.kind.is_type() || one.kind == Kind::Impl);
        for one in flattened(&all).into_iter().filter(is_meant) {
            let shape = shape(language, &text, one, scope.until);
            let names = shape.constructors.into_iter().map(|one| one.name);
            let own = shape.fields.into_iter().filter(|field| field.constructor.is_none());
            let names = names.chain(own.map(|field| field.name));
            let names: Vec<String> = names.chain(one.members.iter().map(|member| member.name.clone())).collect();
            found.lock().push((path.clone(), one.at, names));
        }
    });
    let mut found = found.into_inner();
    found.sort();
    let mut known = BTreeSet::new();
    let names = found.into_iter().flat_map(|(_, _, names)| names);
    names.filter(|name| known.insert(name.clone())).collect()
}
