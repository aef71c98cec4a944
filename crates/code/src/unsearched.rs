//! Files that a compiler reads and the search does not: ignored files, links, files from `include!` and Rust modules in
//! folders that are not searched, assembly, and code embedded in files of other kinds. They are not searched; an answer warns
//! where they may mention the name.

use std::path::{Path, PathBuf};

use memchr::memmem::find_iter;

use crate::syntax::{Language, is_word};

/// Returns the files and links of a directory that are source files by name, or may embed code.
pub(crate) fn beside(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()));
    let is_source = |path: &PathBuf| !is_hidden(path) && !languages_of(path).is_empty();
    files.map(|entry| entry.path()).filter(is_source).collect()
}

/// Returns the languages whose names a file may use, by its file name.
pub(crate) fn languages_of(path: &Path) -> Vec<Language> {
    match (Language::by_name(path), embedding(path)) {
        (Some(language), _) => vec![language],
        (None, Some(embedding)) => embedding.languages().to_vec(),
        (None, None) => Vec::new(),
    }
}

/// A kind of file that embeds or names code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// Assembly of Go, C or C++.
    Assembly,
    /// A component or a page that embeds TypeScript or JavaScript.
    Component,
    /// C or C++ in a grammar file (yacc, lex, SWIG), in a dialect (Objective-C, CUDA, Arduino), or in a file that others include.
    Dialect,
    /// Cython, which calls Python and C.
    Cython,
    /// A Python notebook, which stores code in JSON strings.
    Notebook,
    /// A file that names Python entry points as `module:name`.
    EntryPoints,
    /// A Go template.
    Template,
}

impl Embedding {
    fn languages(self) -> &'static [Language] {
        match self {
            Embedding::Assembly => &[Language::Go, Language::C],
            Embedding::Component => &[Language::TypeScript],
            Embedding::Dialect => &[Language::Cpp],
            Embedding::Cython => &[Language::Python, Language::C],
            Embedding::Notebook | Embedding::EntryPoints => &[Language::Python],
            Embedding::Template => &[Language::Go],
        }
    }
}

/// Returns how a file embeds code, by its name.
pub(crate) fn embedding(path: &Path) -> Option<Embedding> {
    match path.extension()?.to_str()? {
        "vue" | "svelte" | "astro" | "mdx" => Some(Embedding::Component),
        "ipynb" => Some(Embedding::Notebook),
        "tmpl" | "gotmpl" | "gohtml" => Some(Embedding::Template),
        "s" | "S" | "sx" | "asm" => Some(Embedding::Assembly),
        "y" | "yy" | "ypp" | "l" | "ll" | "lex" | "i" | "swg" => Some(Embedding::Dialect),
        "m" | "mm" | "cu" | "cuh" | "ino" | "inc" | "def" => Some(Embedding::Dialect),
        "pyx" | "pxd" | "pxi" => Some(Embedding::Cython),
        "toml" | "cfg" => {
            let name = path.file_name()?;
            (name == "pyproject.toml" || name == "setup.cfg").then_some(Embedding::EntryPoints)
        }
        _ => None,
    }
}

/// Counts the matches in a file that embeds code.
pub(crate) fn named_by(kind: Embedding, text: &[u8], find: impl Fn(&[u8]) -> Vec<usize>) -> usize {
    match kind {
        Embedding::Assembly | Embedding::Component | Embedding::Cython => find(text).len(),
        Embedding::Dialect | Embedding::Template => find(text).len(),
        Embedding::Notebook => {
            // An escaped line break may precede a name in a string: `"import geo\narea(1)"`.
            let mut plain = text.to_vec();
            for at in find_iter(text, br"\n").chain(find_iter(text, br"\t")) {
                plain[at..at + 2].fill(b' ');
            }
            find(&plain).len()
        }
        Embedding::EntryPoints => {
            let mut places = find(text);
            places.sort_unstable();
            let is_of_path = |byte: u8| is_word(byte) || byte == b'.';
            // The end of the scanned text, and the start of the path around the current match.
            let (mut seen, mut begin) = (0, 0);
            let is_named = |at: &usize| {
                let end = text[seen..*at].iter().rposition(|byte| !is_of_path(*byte));
                begin = end.map_or(begin, |end| seen + end + 1);
                seen = *at;
                let before = text[..begin].strip_suffix(b":");
                before.is_some_and(|before| before.last().is_some_and(|byte| is_word(*byte)))
            };
            places.into_iter().filter(is_named).count()
        }
    }
}

/// A file that Rust source brings in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inclusion {
    /// A file of `include!`.
    Included(PathBuf),
    /// A module: the one of these files that exists.
    Module(Vec<PathBuf>),
}

/// The maximum number of such files that one source names.
const MOST_BROUGHT: usize = 10_000;

/// The text before each of several ascending offsets in its line. No line is scanned twice.
struct Lines<'a> {
    text: &'a [u8],
    /// The end of the scanned text.
    at: usize,
    /// The start of the line after its indentation.
    begin: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Lines<'a> {
        Lines { text, at: 0, begin: indented(text, 0) }
    }

    fn before(&mut self, at: usize) -> &'a [u8] {
        if let Some(end) = memchr::memrchr(b'\n', &self.text[self.at..at]) {
            self.begin = indented(self.text, self.at + end + 1);
        }
        self.at = at;
        &self.text[self.begin.min(at)..at]
    }
}

/// Returns the start of a line after its indentation.
fn indented(text: &[u8], line: usize) -> usize {
    line + text[line..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count()
}

/// Returns the files that Rust source brings in by `include!` with a literal name and as modules. Skips lines that begin with
/// a comment. Files may be too large to parse, so each byte is read only a few times.
pub(crate) fn inclusions(path: &Path, text: &[u8]) -> Vec<Inclusion> {
    // Each place of a word, and whether an attribute precedes it.
    let words = |word: &'static [u8]| {
        let mut lines = Lines::new(text);
        find_iter(text, word).filter_map(move |at| {
            let line = lines.before(at);
            let is_code = !line.starts_with(b"//") && text[..at].last().is_none_or(|byte| !is_word(*byte));
            is_code.then_some((at, line.starts_with(b"#[")))
        })
    };
    let after_word = |at: usize| at + text[at..].iter().take_while(|byte| is_word(**byte)).count();
    // A computed file name refers to generated code, which no language server is asked about.
    let included = |(at, _): (usize, bool)| {
        let rest = text[at..].strip_prefix(b"include!")?.trim_ascii_start();
        let rest = rest.strip_prefix(b"(").or(rest.strip_prefix(b"[")).or(rest.strip_prefix(b"{"));
        quoted(rest?.trim_ascii_start()).map(|name| Inclusion::Included(path.with_file_name(name)))
    };
    let module = |(at, _): (usize, bool)| {
        let start = at + b"mod ".len();
        let name = std::str::from_utf8(&text[start..after_word(start)]).ok()?.trim_start_matches("r#");
        let is_apart = text[after_word(start)..].trim_ascii_start().starts_with(b";");
        let folder = path.with_extension("");
        let places = [path.parent()?, &folder].into_iter();
        let files = places.flat_map(|place| [place.join(format!("{name}.rs")), place.join(name).join("mod.rs")]);
        (is_apart && !name.is_empty()).then(|| Inclusion::Module(files.collect()))
    };
    // `#[path = "…"]`, also within `cfg_attr`.
    let placed = |(at, is_in_attribute): (usize, bool)| {
        let file = quoted(&text[at + b"path = ".len()..]).filter(|_| is_in_attribute)?;
        Some(Inclusion::Module(vec![path.with_file_name(file)]))
    };
    let modules = words(b"mod ").filter_map(module).chain(words(b"path = \"").filter_map(placed));
    let all = words(b"include").filter_map(included).chain(modules);
    all.take(MOST_BROUGHT).collect()
}

/// Returns the string literal at the start of a text.
fn quoted(text: &[u8]) -> Option<&str> {
    let rest = text.strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_read() {
        let text = b"include!(\"inc.in\");\n// include!(\"no\")\nmod m { include!(concat!(env!(\"OUT_DIR\"), \"/g.rs\")); }\nmy_include!(\"x\");\nconst S: &str = include_str!(\"x\");\n";
        let file = Inclusion::Included(PathBuf::from("src/inc.in"));
        assert_eq!(inclusions(Path::new("src/lib.rs"), text), [file]);
    }

    #[test]
    fn modules_are_read() {
        let text = b"pub mod geo;\n// mod no;\nmod inline { mod deep; }\n#[path = \"../gen/x.rs\"]\nmod x;\nlet path = \"y.rs\";\n";
        let files = |all: &[&str]| Inclusion::Module(all.iter().map(PathBuf::from).collect());
        let of = |name: &str| {
            let all = ["", "/mod"].map(|rest| format!("src/{name}{rest}.rs"));
            let deep = ["", "/mod"].map(|rest| format!("src/a/{name}{rest}.rs"));
            files(&all.iter().chain(&deep).map(String::as_str).collect::<Vec<_>>())
        };
        let wanted = [of("geo"), of("deep"), of("x"), files(&["src/../gen/x.rs"])];
        assert_eq!(inclusions(Path::new("src/a.rs"), text), wanted);
    }

    #[test]
    fn a_large_file_takes_no_time_of_its_square_and_brings_in_so_much() {
        let path = Path::new("src/a.rs");
        let begun = std::time::Instant::now();
        assert_eq!(inclusions(path, "mod ".repeat(1 << 20).as_bytes()), []);
        assert_eq!(inclusions(path, [" ".repeat(1 << 20), "mod mod ".repeat(1 << 18)].concat().as_bytes()), []);
        assert_eq!(inclusions(path, "mod a;\n".repeat(1 << 18).as_bytes()).len(), MOST_BROUGHT);
        let line = ["[x]\na = \"m:", &"a.".repeat(1 << 20), "\""].concat();
        let find = |text: &[u8]| find_iter(text, b"a").collect();
        assert_eq!(named_by(Embedding::EntryPoints, line.as_bytes(), find), 1 << 20);
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
