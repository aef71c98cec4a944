//! Files of packages: staging, zip archives, hashes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use taskkit::workspace::read;

/// The name of the list of hashes, in the format of `sha256sum`.
const CHECKSUMS: &str = "SHA256SUMS";

/// Writes a zip file with the files below a folder: sorted and with a fixed date, so that equal files give equal bytes. Python
/// writes it: deflate in a development build of ours would take minutes.
const ZIP: &str = r#"
import os, sys, zipfile
folder, out = sys.argv[1:]
paths = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in paths:
        info = zipfile.ZipInfo(os.path.relpath(path, folder), (1980, 1, 1, 0, 0, 0))
        info.external_attr = os.stat(path).st_mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        with open(path, "rb") as file:
            archive.writestr(info, file.read(), compresslevel=9)
"#;

pub(crate) fn zip(folder: &Path, out: &Path) -> Result<()> {
    read(Command::new("python3").args(["-c", ZIP]).arg(folder).arg(out)).map(drop)
}

/// Writes a file of a package, and the folders above it.
pub(crate) fn put(path: &Path, bytes: &[u8], is_program: bool) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(if is_program { 0o755 } else { 0o644 })))
        .with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn put_json(path: &Path, value: &Value) -> Result<()> {
    put(path, format!("{value:#}\n").as_bytes(), false)
}

pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the names of all files below a folder, sorted.
pub(crate) fn list(folder: &Path) -> Result<Vec<String>> {
    let (mut names, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("cannot list {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                names.push(path.strip_prefix(folder)?.to_str().context("names are UTF-8")?.to_owned());
            }
        }
    }
    names.sort();
    Ok(names)
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Writes the hashes of all files of a folder. Returns the files with their sizes.
pub(crate) fn write_checksums(folder: &Path) -> Result<Vec<(String, usize)>> {
    let (mut text, mut sizes) = (String::new(), Vec::new());
    for name in list(folder)? {
        let bytes = read_bytes(&folder.join(&name))?;
        text += &format!("{}  {name}\n", hex::encode(sha256(&bytes)));
        sizes.push((name, bytes.len()));
    }
    put(&folder.join(CHECKSUMS), text.as_bytes(), false)?;
    Ok(sizes)
}
