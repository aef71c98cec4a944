//! The packages of a cabal project: `cabal repl` wants one of them, and fails where a project file stands above several.

use std::path::{Path, PathBuf};

/// A project file with more is read no further.
const MAX_BYTES: u64 = 256 * 1024;
/// More packages are not looked for.
const MAX_PACKAGES: usize = 200;

/// The directories of the packages that `cabal.project` in `dir` names, relative to it, sorted; empty if there is no such
/// file or it names none that are here.
pub(super) fn packages(dir: &Path) -> Vec<PathBuf> {
    let file = dir.join("cabal.project");
    let Ok(text) = project::regular::read(&file, MAX_BYTES) else { return Vec::new() };
    let mut found = Vec::new();
    for pattern in patterns(&text) {
        // Absolute places, addresses and archives are somebody else's code.
        let local = !pattern.starts_with('/') && !pattern.contains("://") && !pattern.contains("..");
        if local && !pattern.ends_with(".tar.gz") {
            let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            expand(dir, Path::new(""), &parts, &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The words of all `packages:` fields.
fn patterns(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let content = line.trim();
        if content.starts_with("--") || content.is_empty() {
            continue;
        }
        let value = match line.strip_prefix("packages:") {
            Some(value) => {
                inside = true;
                value
            }
            None if line.starts_with([' ', '\t']) => content,
            None => {
                inside = false;
                continue;
            }
        };
        if inside {
            let separated = value.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            words.extend(separated.map(|word| word.trim_matches('"').to_owned()));
        }
    }
    words
}

fn expand(root: &Path, at: &Path, parts: &[&str], found: &mut Vec<PathBuf>) {
    if found.len() >= MAX_PACKAGES {
        return;
    }
    let Some((first, rest)) = parts.split_first() else {
        if entries(&root.join(at)).iter().any(|name| name.ends_with(".cabal")) {
            found.push(at.to_owned());
        }
        return;
    };
    if first.ends_with(".cabal") {
        if entries(&root.join(at)).iter().any(|name| super::detect::matches(first, name)) {
            found.push(at.to_owned());
        }
    } else if first.contains('*') {
        for name in entries(&root.join(at)).iter().filter(|name| super::detect::matches(first, name)) {
            if root.join(at).join(name).is_dir() {
                expand(root, &at.join(name), rest, found);
            }
        }
    } else {
        expand(root, &at.join(first), rest, found);
    }
}

fn entries(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().take(10_000).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(project: &str, files: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("cabal.project"), project).expect("written");
        for file in files {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("inside")).expect("made");
            std::fs::write(file, "").expect("written");
        }
        packages(dir.path()).iter().map(|package| package.display().to_string()).collect()
    }

    #[test]
    fn the_ways_to_name_them() {
        let files = ["a/a.cabal", "libs/b/b.cabal", "libs/c/c.cabal", "libs/none/x.hs", "root.cabal"];
        assert_eq!(check("packages: a libs/b/", &files), ["a", "libs/b"]);
        assert_eq!(
            check("packages:\n  ./a\n  -- ./no\n  libs/*/*.cabal\ntests: True\n", &files),
            ["a", "libs/b", "libs/c"]
        );
        assert_eq!(check("packages: ./libs/*, a/a.cabal\n", &files), ["a", "libs/b", "libs/c"]);
        assert_eq!(check("packages: .\n", &files), [""]);
        assert_eq!(check("packages: nowhere ../up https://x/y.tar.gz /etc\n", &files), [""; 0]);
        assert_eq!(check("with-compiler: ghc\n", &files), [""; 0]);
    }
}
