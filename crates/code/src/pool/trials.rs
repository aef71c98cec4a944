//! The questions of `hob doctor --try`: one for each language of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lsp::server::profile;
use syntax::{Kind, Language, declarations, family};

use super::readiness;
use crate::search::{Scope, list, read};

/// A question about a language.
#[derive(Debug, PartialEq, Eq)]
pub struct Tried {
    pub language: &'static str,
    /// Name of a function, in the tools' syntax; `None` if no function is declared.
    pub name: Option<String>,
    /// True if a server for the language can be installed.
    pub has_server: bool,
}

/// Time limit of the search for functions of one language.
const BUDGET: Duration = Duration::from_secs(2);

/// Chooses a function of each language: one whose uses are certain if possible, otherwise the first. Blocks.
pub fn tries(root: &Path) -> Vec<Tried> {
    let scope = Scope::for_root(root, BUDGET);
    let (files, _, _) = list(&scope, usize::MAX);
    let mut by_family: BTreeMap<&'static str, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in files {
        if let Some(language) = Language::by_name(&file) {
            by_family.entry(family(language)).or_default().insert(file);
        }
    }
    let tried = |(language, files): (&'static str, BTreeSet<PathBuf>)| Tried {
        language,
        name: name(root, language, &files),
        has_server: profile::all().iter().any(|profile| profile.family == language),
    };
    by_family.into_iter().map(tried).collect()
}

fn name(root: &Path, language: &str, files: &BTreeSet<PathBuf>) -> Option<String> {
    let question = |file: &Path, name: &str| Some(format!("{}:{name}", file.strip_prefix(root).ok()?.to_str()?));
    let certain = readiness::choose(root, language);
    if let Some(probe) = certain.probes.first() {
        return question(&probe.documents.first()?.path, &probe.name);
    }
    let until = Instant::now() + BUDGET;
    files.iter().take_while(|_| Instant::now() < until).find_map(|file| {
        let text = read(file).ok()?;
        let all = declarations(Language::detect(file, &text)?, &text, until)?;
        let function = all.into_iter().find(|one| one.kind == Kind::Function)?;
        question(file, &function.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_a_question() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("a.py", "def alone(x):\n    return x\n");
        write("geo.py", "def surface(side):\n    return side\n");
        write("uses.py", "from geo import surface\nprint(surface(1))\n");
        write("Area.hs", "module Area where\n\narea :: Int -> Int\narea x = x\n");
        write("empty.go", "package empty\n");
        let tried: Vec<_> = tries(&root).into_iter().map(|one| (one.language, one.name, one.has_server)).collect();
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            tried,
            [("Go", None, true), ("Haskell", some("Area.hs:area"), true), ("Python", some("geo.py:surface"), true),]
        );
    }
}
