//! Files that a compiler reads and the search does not: ignored files, links, assembly, and code embedded in files of other
//! kinds. They are not searched; an answer warns where they may mention the name.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use memchr::memmem::find_iter;

use crate::named::is_among;
use crate::syntax::Language;

/// Returns the files and links of a directory that are source files by name, or may embed code.
pub(crate) fn beside(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    let is_source = |path: &PathBuf| !is_hidden(path) && !languages_of(path).is_empty();
    files.map(|entry| entry.path()).filter(is_source).collect()
}

/// Extensions of assembly of Go, C or C++.
const ASSEMBLY: &str = "s S sx asm";

/// Extensions of other files that embed code, with its languages: components, C++ in grammars (yacc, lex, SWIG), in dialects
/// (Objective-C, CUDA, Arduino) and in files that others include, Cython, notebooks, and templates of Go.
const EMBEDDING: &[(&str, &[Language])] = &[
    (ASSEMBLY, &[Language::Go, Language::C]),
    ("vue svelte astro mdx", &[Language::TypeScript]),
    ("y yy ypp l ll lex i swg m mm cu cuh ino inc def", &[Language::Cpp]),
    ("pyx pxd pxi", &[Language::Python, Language::C]),
    ("ipynb", &[Language::Python]),
    ("tmpl gotmpl gohtml", &[Language::Go]),
];

/// Returns the languages whose names a file may use, by its file name.
pub(crate) fn languages_of(path: &Path) -> Vec<Language> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let embedding = || EMBEDDING.iter().find(|(extensions, _)| is_among(extensions, extension));
    match Language::by_name(path) {
        Some(language) => vec![language],
        None => embedding().map(|(_, languages)| languages.to_vec()).unwrap_or_default(),
    }
}

/// True for assembly, by the file name.
pub(crate) fn is_assembly(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| is_among(ASSEMBLY, extension))
}

/// Returns the text of a file in which names are words: a notebook stores code in strings, `"import geo\narea(1)"`.
pub(crate) fn unescaped<'a>(path: &Path, text: &'a [u8]) -> Cow<'a, [u8]> {
    if path.extension().is_none_or(|extension| extension != "ipynb") {
        return text.into();
    }
    let mut plain = text.to_vec();
    for at in find_iter(text, br"\n").chain(find_iter(text, br"\t")) {
        plain[at..at + 2].fill(b' ');
    }
    plain.into()
}
