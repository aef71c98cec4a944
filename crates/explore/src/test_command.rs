//! The command that runs a test, by the conventions of its language.

use std::path::{Path, PathBuf};

use code::Language;
use project::checkout_dir::Inside;

/// The size limit of a manifest.
const MAX_MANIFEST: u64 = 1 << 20;

/// Returns the command that runs a test from the root; `None` for a language without a usual command. Blocks.
pub(crate) fn command(root: &Path, file: &str, language: Language, test: Option<&str>) -> Option<String> {
    let path = Path::new(file);
    match language {
        Language::Rust => {
            let (folder, manifest) = manifest(root, path, "Cargo.toml")?;
            let package = package_name(&manifest).map(|name| format!(" -p {name}")).unwrap_or_default();
            let target = path.strip_prefix(folder.join("tests")).ok().filter(|path| path.components().count() == 1);
            let target = target.and_then(|path| Some(format!(" --test {}", quoted(path.file_stem()?.to_str()?))));
            let name = test.map(|test| format!(" {}", quoted(test))).unwrap_or_default();
            Some(format!("cargo test{package}{}{name}", target.unwrap_or_default()))
        }
        Language::Python => {
            let stem = path.file_stem()?.to_str()?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let place = match test {
                Some(test) => format!("{file}::{}", test.replace('.', "::")),
                None if stem.starts_with("test") || stem.ends_with("_test") => file.to_owned(),
                None => folder.display().to_string(),
            };
            Some(format!("python3 -m pytest {}", quoted(&place)))
        }
        Language::Go => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.map_or_else(|| ".".to_owned(), |folder| format!("./{}", folder.display()));
            let name = test.map(|test| format!(" -run {}", quoted(&format!("^{test}$")))).unwrap_or_default();
            Some(format!("go test {}{name}", quoted(&folder)))
        }
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            let (_, manifest) = manifest(root, path, "package.json")?;
            let runner = ["vitest", "jest"].into_iter().find(|runner| manifest.contains(&format!("\"{runner}\"")));
            Some(match runner {
                Some("vitest") => format!("npx vitest run {}", quoted(file)),
                Some(runner) => format!("npx {runner} {}", quoted(file)),
                None => "npm test".to_owned(),
            })
        }
        Language::Haskell => Some("cabal test".to_owned()),
        Language::C | Language::Cpp => None,
    }
}

/// Quotes a word for a shell, because file names of a checkout are untrusted.
fn quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    if word.chars().all(is_safe) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns the nearest manifest above a file: its folder relative to the root, and its text.
fn manifest(root: &Path, file: &Path, name: &str) -> Option<(PathBuf, String)> {
    file.ancestors().skip(1).find_map(|folder| {
        let text = Inside::open(root, folder).ok()?.read(Path::new(name), MAX_MANIFEST).ok()?;
        Some((folder.to_owned(), text))
    })
}

/// Returns the name of the package in a `Cargo.toml`.
fn package_name(manifest: &str) -> Option<String> {
    let manifest: toml::Table = manifest.parse().ok()?;
    manifest.get("package")?.get("name")?.as_str().map(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("crates/geo/Cargo.toml", "[package]\nname = \"geo\"\n[dependencies]\nname = \"no\"\n");
        write("web/package.json", r#"{"devDependencies": {"vitest": "3"}}"#);
        let command = |file: &str, language| command(folder.path(), file, language, None);
        assert_eq!(command("crates/geo/src/lib.rs", Language::Rust).as_deref(), Some("cargo test -p geo"));
        assert_eq!(command("crates/geo/tests/it.rs", Language::Rust).as_deref(), Some("cargo test -p geo --test it"));
        assert_eq!(command("src/lib.rs", Language::Rust), None);
        assert_eq!(command("web/a.test.ts", Language::TypeScript).as_deref(), Some("npx vitest run web/a.test.ts"));
        assert_eq!(command("test_a.py", Language::Python).as_deref(), Some("python3 -m pytest test_a.py"));
        assert_eq!(command("tests/conftest.py", Language::Python).as_deref(), Some("python3 -m pytest tests"));
        assert_eq!(command("geo/a_test.go", Language::Go).as_deref(), Some("go test ./geo"));
        assert_eq!(command("a.c", Language::C), None);
        assert_eq!(command("test;b.py", Language::Python).as_deref(), Some("python3 -m pytest 'test;b.py'"));
    }
}
