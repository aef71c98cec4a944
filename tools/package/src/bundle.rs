//! The MCP bundle (`.mcpb`) for desktop programs, and `server.json` for the MCP registry.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::binary::Binary;
use crate::files;
use crate::product::{NAME, Product, SUMMARY, registry_name, repository};

/// Writes both into a folder.
pub(crate) fn write(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    files::put_json(&out.join("server.json"), &server(product))?;
    let stage = tempfile::tempdir().context("cannot create a temporary folder")?;
    files::put_json(&stage.path().join("manifest.json"), &manifest(product, binary))?;
    files::put(&stage.path().join("server/hob"), &binary.bytes, true)?;
    for (license, path) in product.license_files() {
        files::put(&stage.path().join(license), &files::read_bytes(&path)?, false)?;
    }
    let name = format!("hob-{}-{}.mcpb", product.version, binary.platform.name);
    files::zip(stage.path(), &out.join(name))
}

/// Returns the entry of the MCP registry: the packages that start the server.
fn server(product: &Product) -> Value {
    let package = |registry: &str, hint: &str| {
        json!({
            "registryType": registry,
            "identifier": NAME,
            "version": product.version,
            "runtimeHint": hint,
            "packageArguments": [{ "type": "positional", "value": "mcp" }],
            "transport": { "type": "stdio" },
        })
    };
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": registry_name(),
        "title": "hob",
        "description": SUMMARY,
        "version": product.version,
        "repository": { "url": repository(), "source": "github" },
        "packages": [package("pypi", "uvx"), package("npm", "npx")],
    })
}

/// Returns the bundle's manifest. A desktop program starts servers in no project, so it asks for the folder.
fn manifest(product: &Product, binary: &Binary) -> Value {
    json!({
        "manifest_version": "0.3",
        "name": "hob",
        "display_name": "hob",
        "version": product.version,
        "description": SUMMARY,
        "author": { "name": "The hob authors" },
        "license": product.license,
        "server": {
            "type": "binary",
            "entry_point": "server/hob",
            "mcp_config": {
                "command": "${__dirname}/server/hob",
                "args": ["--project", "${user_config.project}", "mcp"],
            },
        },
        "tools_generated": true,
        "user_config": { "project": {
            "type": "directory",
            "title": "Project",
            "description": "The repository to work on",
            "required": true,
        } },
        "compatibility": { "platforms": [binary.platform.os] },
    })
}
