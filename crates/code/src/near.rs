//! What a name may have been meant to be that is none: the names that are near to it, what its type has.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use memchr::memmem::Finder;

use crate::search::{Scope, each_file, read, words};
use crate::shape::shape;
use crate::syntax::{Class, Kind, Language, declarations, is_word, occurrences};

/// How many are given.
const MOST: usize = 5;
/// How many words are looked at.
const MOST_TRIED: usize = 20;

/// A word: how far it is from the name, and a file that holds it.
type Near = BTreeMap<String, (usize, PathBuf, Language)>;

/// The nearest names, by how far they are.
pub(crate) fn near(scope: &Scope, name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let found: Mutex<Near> = Mutex::new(BTreeMap::new());
    each_file(scope, |path, language| {
        let Ok(language) = language else { return };
        let Ok(text) = read(&path) else { return };
        for word in text.split(|byte| !is_word(*byte)) {
            // Most words are told apart by their length.
            if word.len().abs_diff(name.len()) > allowed || word.first().is_none_or(u8::is_ascii_digit) {
                continue;
            }
            let word = String::from_utf8_lossy(word);
            let far = strsim::osa_distance(&wanted, &word.to_lowercase());
            if far <= allowed && word != name {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.entry(word.into_owned()).or_insert_with(|| (far, path.clone(), language));
            }
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut near: Vec<_> = found.into_iter().map(|(word, (far, path, language))| (far, word, path, language)).collect();
    near.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    // A keyword is no name, nor is what only prose says.
    let is_name = |word: &str, path: &PathBuf, language: Language| {
        let Ok(text) = read(path) else { return false };
        let starts = words(&Finder::new(word), &text, word);
        let all = occurrences(language, &text, word, &starts, scope.until).map(|found| found.all);
        all.is_none_or(|all| all.iter().any(|one| one.class != Class::Mention))
    };
    let tried = near.into_iter().take(MOST_TRIED);
    let names = tried.filter(|(_, word, path, language)| is_name(word, path, *language));
    names.take(MOST).map(|(_, word, ..)| word).collect()
}

/// What the types of a name have, in their order.
pub(crate) fn members(scope: &Scope, of: &str) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    let finder = Finder::new(of);
    each_file(scope, |path, language| {
        let Ok(language) = language else { return };
        let Some(text) = read(&path).ok().filter(|text| finder.find(text).is_some()) else { return };
        let mut open = declarations(language, &text, scope.until).unwrap_or_default();
        while let Some(one) = open.pop() {
            if one.name == of && (one.kind.is_type() || one.kind == Kind::Impl) {
                let shape = shape(language, &text, &one, scope.until);
                let names = shape.constructors.into_iter().map(|one| one.name);
                let own = shape.fields.into_iter().filter(|field| field.constructor.is_none());
                let names = names.chain(own.map(|field| field.name));
                let names: Vec<String> = names.chain(one.members.iter().map(|member| member.name.clone())).collect();
                found.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), one.at, names));
            }
            open.extend(one.members);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    let mut members: Vec<String> = Vec::new();
    for name in found.into_iter().flat_map(|(_, _, names)| names) {
        if !members.contains(&name) {
            members.push(name);
        }
    }
    members
}
