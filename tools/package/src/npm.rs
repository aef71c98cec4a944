//! The packages for npm: a main package with a launcher, and one package with the program per platform.
//!
//! npm installs only the optional dependency that fits the machine, so no script runs during the installation.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use taskkit::workspace::{on_path, run_quietly};

use crate::binary::{Binary, Platform, released};
use crate::files;
use crate::product::{LICENSES, NAME, Product, SUMMARY, registry_name, repository};

const LAUNCHER: &[u8] = include_bytes!("../npm/launcher.js");

/// Writes the main package and that of the program's platform into a folder.
pub(crate) fn write(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    if on_path("npm").is_none() {
        bail!("npm is missing; it packs the packages for npm");
    }
    let stage = tempfile::tempdir().context("cannot create a temporary folder")?;
    let (main, platform) = (stage.path().join("main"), stage.path().join("platform"));
    files::put_json(&main.join("package.json"), &main_manifest(product))?;
    files::put(&main.join("launcher.js"), LAUNCHER, true)?;
    files::put_json(&platform.join("package.json"), &platform_manifest(product, binary.platform))?;
    files::put(&platform.join("hob"), &binary.bytes, true)?;
    for folder in [&main, &platform] {
        files::put(&folder.join("README.md"), product.page().as_bytes(), false)?;
        for (license, path) in product.license_files() {
            files::put(&folder.join(license), &files::read_bytes(&path)?, false)?;
        }
        let out = out.canonicalize().context("cannot find the folder for the packages")?;
        let args = ["pack", "--silent", "--ignore-scripts", "--pack-destination"];
        run_quietly(Command::new("npm").args(args).arg(out).current_dir(folder))?;
    }
    Ok(())
}

/// Returns the names of the files: main package, platform package.
pub(crate) fn file_names(product: &Product, binary: &Binary) -> [String; 2] {
    [format!("{NAME}-{}.tgz", product.version), platform_file(product, binary.platform)]
}

/// Returns the name of the file of a platform's package.
pub(crate) fn platform_file(product: &Product, platform: &Platform) -> String {
    format!("{}-{}.tgz", platform_name(platform), product.version)
}

fn platform_name(platform: &Platform) -> String {
    format!("{NAME}-{}", platform.name)
}

fn main_manifest(product: &Product) -> Value {
    let platforms = released().map(|platform| (platform_name(platform), json!(product.version)));
    let mut manifest = manifest(product, NAME, SUMMARY, &["launcher.js"]);
    manifest["mcpName"] = json!(registry_name());
    manifest["bin"] = json!({ "hob": "launcher.js" });
    manifest["engines"] = json!({ "node": ">=18" });
    manifest["optionalDependencies"] = Value::Object(platforms.collect::<Map<_, _>>());
    manifest
}

fn platform_manifest(product: &Product, platform: &Platform) -> Value {
    let about = format!("The program of {NAME} for {}", platform.name);
    let mut manifest = manifest(product, &platform_name(platform), &about, &["hob"]);
    manifest["os"] = json!([platform.os]);
    manifest["cpu"] = json!([platform.cpu]);
    if platform.os == "linux" {
        manifest["libc"] = json!(["glibc"]);
    }
    manifest
}

fn manifest(product: &Product, name: &str, about: &str, own: &[&str]) -> Value {
    let files: Vec<&str> = own.iter().copied().chain(LICENSES).collect();
    json!({
        "name": name,
        "version": product.version,
        "description": about,
        "license": product.license,
        "repository": { "type": "git", "url": format!("git+{}.git", repository()) },
        "files": files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::PLATFORMS;

    /// A main package with another version of the programs would install two that do not fit.
    #[test]
    fn the_main_package_demands_its_own_version_of_each_platform() {
        let product = Product { version: "1.2.3".to_owned(), license: "MIT".to_owned() };
        let main = main_manifest(&product);
        for platform in released() {
            let program = platform_manifest(&product, platform);
            let name = program["name"].as_str().unwrap();
            assert_eq!(main["optionalDependencies"][name], program["version"], "{name}");
            assert!(program.get("scripts").is_none() && main.get("scripts").is_none());
        }
        // The launcher builds the name of the package from these.
        assert!(PLATFORMS.iter().all(|platform| platform.name == format!("{}-{}", platform.os, platform.cpu)));
    }
}
