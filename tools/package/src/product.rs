//! Facts about hob that all packages state: names, version, description, license.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use taskkit::workspace::{metadata, root};

/// The name of the packages. The command is `hob`, a name that PyPI does not have free.
pub(crate) const NAME: &str = "hob-mcp";
/// The account that owns the repository: the one placeholder of all packages (docs/releasing.md).
pub(crate) const OWNER: &str = PLACEHOLDER;
/// Stands for an account that was not chosen yet.
const PLACEHOLDER: &str = "OWNER";
pub(crate) const SUMMARY: &str =
    "Local MCP server for coding agents: live REPLs, mail between agents, answers about code";
pub(crate) const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The version and license, from Cargo.toml.
pub(crate) struct Product {
    pub(crate) version: String,
    pub(crate) license: String,
}

impl Product {
    pub(crate) fn load() -> Result<Self> {
        let meta = metadata()?;
        let packages = meta["packages"].as_array().context("`cargo metadata` lists no packages")?;
        let hob =
            packages.iter().find(|package| package["name"] == "hob").context("the workspace has no package hob")?;
        let field = |name: &str| hob[name].as_str().map(str::to_owned).with_context(|| format!("hob has no {name}"));
        // SPDX, as all three registries demand.
        Ok(Self { version: field("version")?, license: field("license")? })
    }

    /// Returns the page that the registries show, with the name that the MCP registry looks for.
    pub(crate) fn page(&self) -> String {
        format!("{}\n<!-- mcp-name: {} -->\n", include_str!("../page.md").trim_end(), registry_name())
    }

    /// Returns the files with the licenses.
    pub(crate) fn license_files(&self) -> Vec<(&'static str, PathBuf)> {
        LICENSES.map(|name| (name, root().join(name))).into()
    }
}

/// Refuses a release while the placeholder stands.
pub(crate) fn check_release() -> Result<()> {
    if OWNER == PLACEHOLDER {
        bail!(
            "set OWNER in tools/package/src/product.rs to the account that owns the repository, see docs/releasing.md"
        );
    }
    Ok(())
}

/// Returns the name in the MCP registry, which derives it from the owner of the repository.
pub(crate) fn registry_name() -> String {
    format!("io.github.{OWNER}/hob")
}

/// Returns the address of the repository.
pub(crate) fn repository() -> String {
    format!("https://github.com/{OWNER}/hob")
}
