//! The wheel for pip and uv: the program as a script of the package, after the binary distribution format (PEP 427).
//!
//! maturin would do the same, but only together with a build.

use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::binary::Binary;
use crate::files;
use crate::product::{LICENSES, NAME, Product, SUMMARY};

/// A second command with the name of the package: `uvx NAME` starts the command of that name.
const ALIAS: &str = "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/hob\" \"$@\"\n";

/// Writes the wheel into a folder.
pub(crate) fn write(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    let (name, version, tag) = (NAME.replace('-', "_"), &product.version, binary.wheel_tag());
    let stage = tempfile::tempdir().context("cannot create a temporary folder")?;
    let (info, scripts) = (format!("{name}-{version}.dist-info"), format!("{name}-{version}.data/scripts"));
    let put = |path: String, bytes: &[u8], is_program| files::put(&stage.path().join(path), bytes, is_program);
    put(format!("{scripts}/hob"), &binary.bytes, true)?;
    put(format!("{scripts}/{NAME}"), ALIAS.as_bytes(), true)?;
    for (license, path) in product.license_files() {
        put(format!("{info}/licenses/{license}"), &files::read_bytes(&path)?, false)?;
    }
    put(format!("{info}/METADATA"), describe(product).as_bytes(), false)?;
    let wheel = format!("Wheel-Version: 1.0\nGenerator: hob {version}\nRoot-Is-Purelib: false\nTag: {tag}\n");
    put(format!("{info}/WHEEL"), wheel.as_bytes(), false)?;
    let mut record = String::new();
    for file in files::list(stage.path())? {
        let bytes = files::read_bytes(&stage.path().join(&file))?;
        record += &format!("{file},sha256={},{}\n", URL_SAFE_NO_PAD.encode(files::sha256(&bytes)), bytes.len());
    }
    record += &format!("{info}/RECORD,,\n");
    put(format!("{info}/RECORD"), record.as_bytes(), false)?;
    files::zip(stage.path(), &out.join(file_name(product, binary)))
}

pub(crate) fn file_name(product: &Product, binary: &Binary) -> String {
    format!("{}-{}-{}.whl", NAME.replace('-', "_"), product.version, binary.wheel_tag())
}

fn describe(product: &Product) -> String {
    let licenses = LICENSES.map(|license| format!("License-File: {license}\n")).concat();
    format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {SUMMARY}\nLicense-Expression: {}\n{licenses}\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
        product.version,
        product.license,
        product.page()
    )
}
