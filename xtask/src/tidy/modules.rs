//! Undeclared files: a Rust file without a `mod` line is not compiled, so its tests never run. Likewise a tool is not
//! served unless it is in its list.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Checks the files, whose paths are relative to the root.
pub(crate) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for file in files {
        let Some(parent) = declaring(root, file) else { continue };
        let stem = module_name(file);
        let read =
            |path: &Path| std::fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path:?}"));
        let Some(parent) = parent else {
            complaints
                .push(format!("{}: no file declares it; its folder needs a mod.rs, lib.rs or main.rs", file.display()));
            continue;
        };
        let text = read(&parent)?;
        if !declares(&text, &stem, file)
            && !path_attributes(&text, file)
                .any(|path| std::fs::read_to_string(root.join(path)).is_ok_and(|text| declares(&text, &stem, file)))
        {
            complaints.push(format!("{}: not declared; add `mod {stem};` to {}", file.display(), parent.display()));
        } else if parent.ends_with("tools/mod.rs") && !stem.ends_with("tests") && !text.contains(&format!("{stem}::")) {
            complaints.push(format!(
                "{}: declared but not registered in the list of {}",
                file.display(),
                parent.display()
            ));
        }
    }
    Ok(complaints)
}

/// Returns the file that must declare this one. `None` for a crate's root, `Some(None)` if there is no such file.
fn declaring(root: &Path, file: &Path) -> Option<Option<PathBuf>> {
    let dir = file.parent()?;
    let name = file.file_name()?.to_string_lossy();
    let in_dir = dir.file_name()?.to_string_lossy();
    // Cargo finds these without a declaration; a directory `tests` in `src` is a module like any other.
    let is_root = matches!(&*name, "lib.rs" | "main.rs" | "build.rs") || in_dir == "bin";
    let in_src = dir.iter().any(|part| part == "src");
    if is_root || !in_src && matches!(&*in_dir, "examples" | "benches" | "tests" | "fuzz_targets") {
        return None;
    }
    let candidates: Vec<PathBuf> = if name == "mod.rs" {
        declaring_above(dir)
    } else {
        let own = ["mod.rs", "lib.rs", "main.rs"].iter().map(|name| dir.join(name));
        own.chain(dir.parent().map(|up| up.join(format!("{in_dir}.rs")))).collect()
    };
    Some(candidates.into_iter().find(|path| root.join(path).is_file()))
}

/// Returns the files that may declare the module of the directory `dir`.
fn declaring_above(dir: &Path) -> Vec<PathBuf> {
    let Some(up) = dir.parent() else { return Vec::new() };
    let sibling = up.file_name().zip(up.parent()).map(|(name, top)| top.join(format!("{}.rs", name.to_string_lossy())));
    ["mod.rs", "lib.rs", "main.rs"].iter().map(|name| up.join(name)).chain(sibling).collect()
}

/// Returns the name of a file's module: its folder for `mod.rs`.
pub(super) fn module_name(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem != "mod" {
        return stem;
    }
    file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns sibling files that the declaring text includes with `#[path]`. They may declare it too.
fn path_attributes<'a>(text: &'a str, file: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let names =
        text.lines().map(str::trim).filter(|line| line.starts_with("#[path")).filter_map(|line| line.split('"').nth(1));
    names.filter_map(|name| Some(file.parent()?.join(name)))
}

/// True if the text has a `mod` line for the module, or a `#[path]` with the file's name.
fn declares(text: &str, stem: &str, file: &Path) -> bool {
    let wanted = [format!("mod {stem};"), format!("mod r#{stem};")];
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    text.lines().map(str::trim).any(|line| {
        wanted.iter().any(|want| line.ends_with(want.as_str()) && !line.starts_with("//"))
            || (line.starts_with("#[path") && line.contains(&name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_declared_above_and_files_beside() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "pub mod wire;\n#[cfg(test)]\nmod tests;\n#[path = \"odd.rs\"]\nmod even;\n");
        write("src/odd.rs", "mod beside_odd;\n");
        write("src/tests.rs", "mod heard;\n");
        write("src/wire/mod.rs", "pub(crate) mod framer;\n// mod gone;\n");
        let files = [
            "src/lib.rs",
            "src/wire/mod.rs",
            "src/wire/framer.rs",
            "src/wire/gone.rs",
            "src/tests.rs",
            "src/odd.rs",
            "src/beside_odd.rs",
            "src/tests/heard.rs",
            "src/tests/unheard.rs",
            "tests/target.rs",
        ];
        let said = check(root.path(), &files.map(PathBuf::from)).unwrap();
        assert_eq!(
            said,
            [
                "src/wire/gone.rs: not declared; add `mod gone;` to src/wire/mod.rs",
                "src/tests/unheard.rs: not declared; add `mod unheard;` to src/tests.rs",
            ]
        );
    }
}
