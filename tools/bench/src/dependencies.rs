//! The sources of our dependencies, kept by cargo on this machine: real code that was not written for a test.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use taskkit::workspace::{cargo, read};

/// A dependency.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Directory of its sources.
    pub(crate) dir: PathBuf,
}

/// Extensions of source files.
const SOURCES: &[&str] = &["rs", "c", "h", "cc", "cpp", "py", "js", "ts"];

/// Returns all registry dependencies, by name and version.
pub(crate) fn dependencies() -> Result<Vec<Dependency>> {
    let said = read(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&said).context("`cargo metadata` did not print JSON")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    let one = |package: &serde_json::Value| {
        package["source"].as_str()?;
        let text = |field: &str| package[field].as_str().map(str::to_owned);
        let dir = Path::new(package["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Dependency { name: text("name")?, version: text("version")?, dir })
    };
    let mut all: Vec<Dependency> = packages.iter().filter_map(one).collect();
    all.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(all)
}

/// Copies the sources of a dependency. Returns the number of lines.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<usize> {
    let mut lines = 0;
    let entries = std::fs::read_dir(from).with_context(|| format!("could not list {from:?}"))?;
    for entry in entries {
        let path = entry.with_context(|| format!("could not list {from:?}"))?.path();
        let Some(name) = path.file_name() else { continue };
        let is_source = || path.extension().and_then(|end| end.to_str()).is_some_and(|end| SOURCES.contains(&end));
        if path.is_dir() && !path.is_symlink() && name != "target" {
            lines += copy(&path, &to.join(name))?;
        } else if path.is_file() && is_source() {
            std::fs::create_dir_all(to).with_context(|| format!("could not make {to:?}"))?;
            let text = std::fs::read(&path).with_context(|| format!("could not read {path:?}"))?;
            lines += text.iter().filter(|byte| **byte == b'\n').count();
            std::fs::write(to.join(name), text).with_context(|| format!("could not write {name:?}"))?;
        }
    }
    Ok(lines)
}

/// A dependency without dependencies.
pub(crate) const ALONE: &str = "regex-syntax";

/// Copies the sources of [`ALONE`] as a standalone crate. Returns the number of lines.
pub(crate) fn crate_alone(to: &Path) -> Result<usize> {
    let all = dependencies()?;
    let one = all.iter().rfind(|one| one.name == ALONE).with_context(|| format!("{ALONE} is no dependency"))?;
    let lines = copy(&one.dir.join("src"), &to.join("src"))?;
    let manifest = "[package]\nname = \"regex-syntax\"\nversion = \"0.8.0\"\nedition = \"2021\"\n\n[features]\ndefault = [\"std\", \
                    \"unicode\"]\nstd = []\nunicode = [\"unicode-age\", \"unicode-bool\", \"unicode-case\", \"unicode-gencat\", \"unicode-perl\", \
                    \"unicode-script\", \"unicode-segment\"]\nunicode-age = []\nunicode-bool = []\nunicode-case = []\nunicode-gencat = []\n\
                    unicode-perl = []\nunicode-script = []\nunicode-segment = []\n\n[workspace]\n";
    std::fs::write(to.join("Cargo.toml"), manifest).context("could not write the crate's manifest")?;
    read(cargo().args(["generate-lockfile", "--offline"]).current_dir(to))?;
    Ok(lines)
}

/// Copies dependencies until they have the wanted number of lines. Returns the number of lines. Bindings to whole
/// systems, which are mostly generated, are skipped.
pub(crate) fn copy_lines(to: &Path, wanted: usize) -> Result<usize> {
    const GENERATED: &[&str] =
        &["windows", "linux-raw-sys", "libc", "web-sys", "libsqlite3", "tree-sitter-", "unicode", "encoding"];
    let mut lines = 0;
    for one in dependencies()?.iter().filter(|one| !GENERATED.iter().any(|start| one.name.starts_with(start))) {
        lines += copy(&one.dir, &to.join(format!("{}-{}", one.name, one.version)))?;
        if lines >= wanted {
            return Ok(lines);
        }
    }
    bail!("the sources of all dependencies have {lines} lines, fewer than {wanted}")
}

/// Returns the sources below a folder, sorted.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not list {folder:?}"))? {
        let path = entry.with_context(|| format!("could not list {folder:?}"))?.path();
        if path.is_dir() {
            found.extend(files(&path, endings)?);
        } else if path.extension().is_some_and(|end| endings.iter().any(|one| end == *one)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the names of functions defined in a text, found line by line.
pub(crate) fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).filter_map(|line| {
        let (before, after) = line.split_once("fn ")?;
        let is_word = before.is_empty() || before.ends_with([' ', '\t']);
        let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (is_word && end > 2 && after[end..].starts_with(['(', '<'])).then(|| &after[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_lines() {
        let text = "pub fn area(x: i32) {}\n    const fn of<T>() {}\n// fn comment() {}\nlet f = |x| x;\nfn area_of\n";
        assert_eq!(functions(text).collect::<Vec<_>>(), ["area"]);
    }
}
