//! Files that a compiler reads and the search does not: ignored files, links, assembly, and code embedded in files of other
//! kinds. They are not searched; an answer warns where they may mention the name.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use memchr::memmem::find_iter;
use syntax::text_enum::is_among;
use syntax::{Language, is_word};

/// Returns the files and links of a directory that are source files by name, or may embed code.
pub(crate) fn source_like_files(directory: &Path) -> Vec<PathBuf> {
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

/// Files that name Python's entry points: `plot = "plot:run"`.
const ENTRY_POINTS: [&str; 2] = ["pyproject.toml", "setup.cfg"];

/// Returns the languages whose names a file may use, by its file name.
pub(crate) fn languages_of(path: &Path) -> Vec<Language> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let embedding = || EMBEDDING.iter().find(|(extensions, _)| is_among(extensions, extension));
    match Language::by_name(path) {
        Some(language) => vec![language],
        None if has_entry_points(path) => vec![Language::Python],
        None => embedding().map(|(_, languages)| languages.to_vec()).unwrap_or_default(),
    }
}

fn has_entry_points(path: &Path) -> bool {
    path.file_name().is_some_and(|name| ENTRY_POINTS.iter().any(|known| name == *known))
}

/// True for assembly, by the file name.
pub(crate) fn is_assembly(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| is_among(ASSEMBLY, extension))
}

/// Returns the code in a file, so that names are words: a notebook stores it in strings, `"import geo\narea(1)"`, and an entry
/// point follows a colon.
pub(crate) fn embedded<'a>(path: &Path, text: &'a [u8]) -> Cow<'a, [u8]> {
    if has_entry_points(path) {
        let is_of_name = |byte: &&u8| is_word(**byte) || **byte == b'.';
        let names = text.split(|byte| *byte == b':').skip(1).map(|rest| rest.iter().take_while(is_of_name));
        return names.flat_map(|name| name.chain(b" ")).copied().collect();
    }
    if path.extension().is_none_or(|extension| extension != "ipynb") {
        return text.into();
    }
    let mut plain = text.to_vec();
    for at in find_iter(text, br"\n").chain(find_iter(text, br"\t")) {
        plain[at..at + 2].fill(b' ');
    }
    plain.into()
}
