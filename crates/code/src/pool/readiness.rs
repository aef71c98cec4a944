//! Chooses readiness probes: definitions with uses in other files that syntax identifies with certainty.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp::server::Document;
use lsp::server::readiness::{Chosen, Probe};
use syntax::text_enum::is_among;
use syntax::{C_AND_CPP, Class, Kind, Language, SCRIPTS, declarations, family, names_module};

use crate::answer::{LineOptions, Site, find};
use crate::search::{MAX_PARSED, Scope, list, read};

/// Maximum number of probes.
const MOST: usize = 3;
/// Limits of the search: number of files, number of names, and time.
const FILES: usize = 60;
const NAMES: usize = 40;
const BUDGET: Duration = Duration::from_secs(2);
/// Number of files in which uses of one name are expected.
const USES: usize = 4;

/// Chooses the probes. Blocks.
pub(crate) fn choose(root: &Path, wanted: &str) -> Chosen {
    let scope = Scope::for_root(root, BUDGET);
    let (files, _, _) = list(&scope, usize::MAX);
    let files: Vec<PathBuf> =
        files.into_iter().filter(|path| Language::by_name(path).is_some_and(|one| family(one) == wanted)).collect();
    let probes = certain(root, &scope, &files);
    let is_small = |document: &Document| document.text.len() as u64 <= MAX_PARSED;
    let any = || files.into_iter().filter_map(Document::read).find(is_small);
    let any = if probes.is_empty() { any() } else { None };
    Chosen { probes, any }
}

fn certain(root: &Path, scope: &Scope, files: &[PathBuf]) -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    let mut tried = 0;
    // Files are spread over the tree, because neighbours have much in common.
    let step = files.len().div_ceil(FILES).max(1);
    for path in files.iter().step_by(step) {
        let Some((text, language)) = read(path).ok().and_then(|text| {
            let language = Language::detect(path, &text)?;
            Some((text, language))
        }) else {
            continue;
        };
        if is_conditional(path.strip_prefix(root).unwrap_or(path), language, &text) {
            continue;
        }
        let here = probes.len();
        for one in declarations(language, &text, scope.until).unwrap_or_default() {
            if probes.len() == MOST || tried == NAMES || Instant::now() >= scope.until {
                return probes;
            }
            // One name per file.
            if one.kind != Kind::Function || one.name.len() < 4 || one.name == "main" || probes.len() > here {
                continue;
            }
            tried += 1;
            probes.extend(probe(scope, &one.name));
        }
    }
    probes
}

/// Words in file or directory names that usually mark platform-specific code.
const MACHINES: &str = "windows win win32 unix linux darwin macos ios android freebsd netbsd openbsd solaris illumos aix plan9 \
                        dragonfly js wasm wasip1 wasi wasm32 386 amd64 x86 arm arm64 aarch64 loong64 mips mipsle mips64 \
                        mips64le ppc64 ppc64le riscv64 s390x";

/// True if some builds leave out the file or parts of it, judged by its path and text. A server that does not name a
/// use in there may be right.
fn is_conditional(path: &Path, language: Language, text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().map(str::trim_start);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_lowercase();
    let folder = path.parent().and_then(|folder| folder.file_name()).and_then(|name| name.to_str()).unwrap_or_default();
    match language {
        Language::Go => {
            stem.split('_').skip(1).any(|word| is_among(MACHINES, word))
                || lines.any(|line| line.starts_with("//go:build") || line.starts_with("// +build"))
        }
        Language::Rust => {
            let mut all = [stem.as_str(), folder].into_iter().flat_map(|name| name.split('_'));
            let is_test = |rest: &str| rest.starts_with("(test)]");
            let is_other = |rest: &str| !is_test(rest);
            all.any(|word| is_among(MACHINES, word))
                || text.split("[cfg").skip(1).any(is_other)
                || ["cfg_if!", "cfg_select!"].iter().any(|word| text.contains(word))
        }
        // Include guards are not recognized: there are enough other files.
        Language::C | Language::Cpp => lines.any(|line| {
            let directive = line.strip_prefix('#').map(str::trim_start);
            directive.is_some_and(|directive| directive.starts_with("if"))
        }),
        Language::Python => text.contains("sys.platform") || text.contains("sys.version_info"),
        Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Haskell => false,
    }
}

/// Returns a probe for the name if its uses are certain.
fn probe(scope: &Scope, name: &str) -> Option<Probe> {
    let found = find(scope, name, LineOptions { context_lines: 0, most: 0 }, false).ok()?;
    let [definition] = &found.definitions[..] else { return None };
    let is_local = |path: &Path| {
        // A use that may itself bind the name proves nothing, such as a JavaScript pattern that destructures an object.
        found.sites.iter().any(|site| *site.path == *path && !matches!(site.class, Class::Import | Class::Call))
    };
    // Uses of a value exported by a CommonJS module need not name it.
    let requires = |site: &Site| {
        let text = found.texts.get(&site.path);
        family(site.language) == SCRIPTS && text.is_none_or(|text| memchr::memmem::find(text, b"require(").is_some())
    };
    let imports = |path: &Path| {
        let mut imports = found.sites.iter().filter(|site| *site.path == *path && site.class == Class::Import);
        imports.any(|site| found.texts.get(&site.path).is_some_and(|text| is_of_the_file(text, site, &definition.path)))
    };
    // Names in a template are resolved where it is instantiated.
    let is_compiled = |site: &Site| {
        let extension = site.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let text = found.texts.get(&site.path).map(|text| &text[..]).unwrap_or_default();
        let is_source = matches!(extension, "c" | "cc" | "cpp" | "cxx" | "c++");
        family(site.language) != C_AND_CPP || is_source && memchr::memmem::find(text, b"template").is_none()
    };
    // In these languages names are in scope without an import.
    let needs_import = !matches!(definition.language, Language::Go | Language::C | Language::Cpp);
    let certain: Vec<_> = found
        .sites
        .iter()
        .filter(|site| {
            site.class == Class::Call
                && site.path != definition.path
                && !site.is_member
                // `std::visit` is not the project's.
                && !site.is_qualified
                && !site.may_be_local
                && site.tokens.is_none()
                && !site.is_broken
                && site.alias.is_none()
                && (!needs_import || imports(&site.path))
                && is_compiled(site)
                && !requires(site)
                && !is_local(&site.path)
                && found.texts.get(&site.path).is_some_and(|text| !is_conditional(&site.path, site.language, text))
        })
        .collect();
    let mut documents = vec![document(scope, &definition.path, definition.language, &found.texts)?];
    let mut uses = Vec::new();
    for site in certain {
        let path = scope.root.join(&site.path);
        let number = match documents.iter().position(|one| one.path == path) {
            Some(number) => number,
            None if documents.len() > USES => continue,
            None => {
                documents.push(document(scope, &site.path, site.language, &found.texts)?);
                documents.len() - 1
            }
        };
        uses.push((number, site.at));
    }
    (!uses.is_empty()).then(|| Probe { name: name.to_owned(), documents, at: definition.at, uses })
}

/// True if the import takes its name from the defining file. `from json import load` does not.
fn is_of_the_file(text: &[u8], import: &Site, definition: &Path) -> bool {
    if family(import.language) == SCRIPTS {
        let rest = text[import.at..].split(|byte| *byte == b';').next().unwrap_or_default();
        let source = rest.split(|byte| b"'\"".contains(byte)).nth(1).unwrap_or_default();
        let source = String::from_utf8_lossy(source);
        return source.starts_with('.') && names_module(&import.path, &source, definition);
    }
    let before = &text[..import.at];
    let statement =
        [&b"from "[..], b"use ", b"import "].iter().filter_map(|word| memchr::memmem::rfind(before, word)).min();
    let path = String::from_utf8_lossy(&before[statement.unwrap_or(import.at)..]).into_owned();
    let stem = definition.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = definition.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let mut words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
    match stem {
        "lib" | "main" => words.any(|word| matches!(word, "crate" | "super" | "self")),
        "mod" | "__init__" => words.any(|word| word == folder),
        _ => words.any(|word| word == stem),
    }
}

fn document(scope: &Scope, path: &Arc<Path>, language: Language, texts: &crate::answer::Texts) -> Option<Document> {
    // Servers disagree on whether a byte order mark counts as a character of the first line.
    let text = std::str::from_utf8(texts.get(path)?).ok().filter(|text| !text.starts_with('\u{feff}'))?;
    Some(Document { path: scope.root.join(path), language, text: text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_some_builds_have_is_not_certain() {
        let is = |path: &str, text: &str| {
            is_conditional(Path::new(path), Language::by_name(Path::new(path)).unwrap(), text.as_bytes())
        };
        for (path, text) in [
            ("geo/geo_windows.go", ""),
            ("geo_linux_amd64.go", ""),
            ("geo.go", "//go:build ignore\n\npackage geo\n"),
            ("src/lib.rs", "#![cfg(windows)]\n"),
            ("src/lib.rs", "#[cfg(feature = \"x\")]\nfn f() {}\n"),
            ("src/sys/windows/mod.rs", ""),
            ("a.c", "  # ifdef WIN32\n"),
            ("a.py", "if sys.platform == 'win32': pass\n"),
        ] {
            assert!(is(path, text), "{path} {text}");
        }
        for (path, text) in [
            ("geo.go", "package geo\n"),
            ("geo_test.go", "package geo\n"),
            ("windows.go", "package geo\n"),
            ("src/lib.rs", "#[cfg(test)]\nmod tests {}\n"),
            ("a.c", "#include <a.h>\n"),
        ] {
            assert!(!is(path, text), "{path} {text}");
        }
    }

    #[test]
    fn only_what_is_certain_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("geo.py", "def surface(side):\n    return side\n\ndef twin(x):\n    return x\n");
        write("other.py", "def twin(x):\n    return x\n");
        write("uses.py", "from geo import surface, twin\nprint(surface(1), twin(2))\n");
        write("local.py", "def run(surface):\n    surface(2)\n");
        let root = folder.path().canonicalize().unwrap();
        let Chosen { probes, any } = choose(&root, "Python");
        let shown: Vec<_> = probes
            .iter()
            .map(|probe| {
                let place = |(document, at): &(usize, usize)| {
                    let document = &probe.documents[*document];
                    format!("{} {at}", document.path.file_name().unwrap().display())
                };
                (probe.name.as_str(), probe.at, probe.uses.iter().map(place).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(shown, [("surface", 4, vec!["uses.py 36".to_owned()])]);
        assert!(any.is_none());
        write("lib.rs", "pub fn alone() {}\n");
        let Chosen { probes, any } = choose(&root, "Rust");
        assert!(probes.is_empty() && any.is_some_and(|any| any.path.ends_with("lib.rs")));
        assert!(choose(&root, "Go").any.is_none());
    }
}
