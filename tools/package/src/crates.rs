//! The crates for crates.io: a copy of the workspace in which each crate has a name that the registry has free.
//!
//! In the workspace the name of a crate is that of its subject, such as `mail`; in the registry the name of the product stands
//! before it. Its library keeps its name, so no source changes. The copy has no tests: they need the rest of the repository.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use taskkit::workspace::{cargo, read, root, run};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::files;
use crate::product::{NAME, Product, SUMMARY, repository};

/// Folders of a crate that are not published.
const UNPUBLISHED: [&str; 4] = ["tests", "benches", "examples", "fixtures"];

/// Writes the copy into an empty folder, and the crates that `cargo publish` would upload into its `target/package`.
pub(crate) fn write(product: &Product, out: &Path) -> Result<()> {
    if out.exists() {
        std::fs::remove_dir_all(out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    let listed = read(Command::new("git").args(["ls-files", "Cargo.lock", "crates"]).current_dir(root()))?;
    let copied = listed.lines().filter(|file| {
        let mut parts = file.split('/').skip(1);
        let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        name != "testkit" && !UNPUBLISHED.contains(&folder)
    });
    let mut names = Vec::new();
    for file in copied {
        let bytes = files::read_bytes(&root().join(file))?;
        match file.strip_prefix("crates/").and_then(|file| file.strip_suffix("/Cargo.toml")) {
            Some(name) => names.push((name, String::from_utf8(bytes)?)),
            None => files::put(&out.join(file), &bytes, false)?,
        }
    }
    for (name, manifest) in &names {
        let folder = out.join("crates").join(name);
        files::put(&folder.join("Cargo.toml"), crate_manifest(name, manifest)?.as_bytes(), false)?;
        let page = match *name {
            "hob" => product.page(),
            _ => format!(
                "# {}\n\nA part of [{NAME}]({}). Its interface may change in any version.\n",
                name_of(name),
                repository()
            ),
        };
        files::put(&folder.join("README.md"), page.as_bytes(), false)?;
        for (license, path) in product.license_files() {
            files::put(&folder.join(license), &files::read_bytes(&path)?, false)?;
        }
    }
    let workspace = String::from_utf8(files::read_bytes(&root().join("Cargo.toml"))?)?;
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    files::put(&out.join("Cargo.toml"), workspace_manifest(product, &workspace, &names)?.as_bytes(), false)?;
    // The copy may lie in this repository, which does not track it. Any build has fetched the packages of the lock file.
    let arguments = ["package", "--workspace", "--offline", "--no-verify", "--allow-dirty", "--target-dir", "target"];
    run(cargo().args(arguments).current_dir(out))
}

/// Returns the name of a crate in the registry.
fn name_of(name: &str) -> String {
    match name {
        "hob" => NAME.to_owned(),
        "mcp" => format!("{NAME}-server"),
        name => format!("{NAME}-{name}"),
    }
}

fn workspace_manifest(product: &Product, manifest: &str, names: &[&str]) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().context("cannot parse Cargo.toml")?;
    let workspace = manifest["workspace"].as_table_mut().context("Cargo.toml has no workspace")?;
    workspace["members"] = value(Array::from_iter(["crates/*"]));
    workspace.remove("default-members");
    let dependencies = workspace["dependencies"].as_table_mut().context("the workspace has no dependencies")?;
    dependencies.retain(|name, item| item.get("path").is_none() || names.contains(&name));
    for name in names {
        if let Some(dependency) = dependencies.get_mut(name) {
            dependency["package"] = value(name_of(name));
            dependency["version"] = value(format!("={}", product.version));
        }
    }
    Ok(manifest.to_string())
}

fn crate_manifest(name: &str, manifest: &str) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().with_context(|| format!("cannot parse the manifest of {name}"))?;
    for table in ["dev-dependencies", "test", "bench", "example"] {
        manifest.remove(table);
    }
    let package = manifest["package"].as_table_mut().with_context(|| format!("{name} has no package"))?;
    package.remove("publish");
    package["name"] = value(name_of(name));
    package["description"] =
        value(if name == "hob" { SUMMARY.to_owned() } else { format!("The part `{name}` of {NAME}") });
    package["repository"] = value(repository());
    if name != "hob" {
        let library = manifest.entry("lib").or_insert(Item::Table(Table::new()));
        library["name"] = value(name);
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cargo refuses a crate that lacks a version of a dependency, or whose name is used twice.
    #[test]
    fn cargo_packs_each_crate_under_its_name() {
        let product = Product::load().unwrap();
        let out = tempfile::tempdir().unwrap();
        write(&product, &out.path().join("crates-io")).unwrap();
        let packed = std::fs::read_dir(out.path().join("crates-io/target/package")).unwrap();
        let mut packed: Vec<String> = packed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        packed.retain(|name| name.ends_with(".crate"));
        packed.sort();
        let crates = std::fs::read_dir(root().join("crates")).unwrap();
        let names = crates.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut expected: Vec<String> = names
            .filter(|name| name != "testkit")
            .map(|name| format!("{}-{}.crate", name_of(&name), product.version))
            .collect();
        expected.sort();
        assert_eq!(packed, expected);
    }
}
