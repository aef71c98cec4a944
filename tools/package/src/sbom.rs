//! The software bill of materials: the crates in the program, in the format CycloneDX 1.5.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use taskkit::workspace::{cargo, read, root};

use crate::binary::Binary;
use crate::files;
use crate::product::{NAME, Product};

/// Writes the list into a folder.
pub(crate) fn write(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    let tree = ["tree", "--locked", "--package", "hob", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"];
    let tree = read(cargo().args(tree).args(["--target", binary.platform.triple]))?;
    let lock = String::from_utf8(files::read_bytes(&root().join("Cargo.lock"))?)?;
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": NAME,
            "name": NAME,
            "version": product.version,
            "licenses": [{ "expression": product.license }],
            "hashes": [{ "alg": "SHA-256", "content": hex::encode(files::sha256(&binary.bytes)) }],
        } },
        "components": components(&tree, &checksums(&lock)),
    });
    files::put_json(&out.join(format!("hob-{}-{}.cdx.json", product.version, binary.platform.name)), &list)
}

/// Returns the crates of the registry in the output of `cargo tree`, each once.
fn components(tree: &str, checksums: &BTreeMap<(&str, &str), &str>) -> Vec<Value> {
    let mut components = BTreeMap::new();
    for line in tree.lines() {
        let Some((package, license)) = line.split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let version = version.trim_start_matches('v');
        // Our own crates are the program itself.
        let Some(checksum) = checksums.get(&(name, version)) else { continue };
        let address = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
        let mut component = json!({
            "type": "library",
            "bom-ref": address,
            "name": name,
            "version": version,
            "purl": address,
            "hashes": [{ "alg": "SHA-256", "content": checksum }],
        });
        // Older crates write `MIT/Apache-2.0`, which SPDX does not allow. A repeated crate ends with `(*)`.
        let license = license.trim_end_matches(" (*)").replace('/', " OR ");
        if !license.is_empty() {
            component["licenses"] = json!([{ "expression": license }]);
        }
        components.insert(address, component);
    }
    components.into_values().collect()
}

/// Returns the hashes of the registry's crates by name and version, from a lock file.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let field = |name: &str| {
            let mut fields = package.lines().filter_map(|line| line.split_once(" = "));
            fields.find(|(field, _)| *field == name).map(|(_, value)| value.trim_matches('"'))
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_of_the_registry_is_listed_once_with_its_hash() {
        let lock = "version = 4\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0+x\"\nsource = \"r\"\nchecksum = \"ff\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        let tree =
            "hob v0.1.0 (/x)|MIT\nb v1.0.0+x|MIT/Apache-2.0\nours v0.1.0 (/x)|MIT\n\nb v1.0.0+x|MIT/Apache-2.0 (*)\n";
        let listed = components(tree, &checksums(lock));
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["purl"], "pkg:cargo/b@1.0.0%2Bx");
        assert_eq!(listed[0]["hashes"][0]["content"], "ff");
        assert_eq!(listed[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }

    /// Every crate in the real lock file that comes from a registry has a hash.
    #[test]
    fn the_real_lock_file_is_read_completely() {
        let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
        assert_eq!(checksums(&lock).len(), lock.matches("\nchecksum = ").count());
    }
}
