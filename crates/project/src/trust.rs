//! The user's grants to a project's `hob.toml` and other files, beyond the settings that every checkout may make.
//!
//! A grant may also allow the code of a project to run (`code_trust`), for one root and the directory there.
//!
//! A grant applies to one root, the directory there, one file, and one exact text (its SHA-256). Grants are stored in
//! `trust.toml` next to the user's `config.toml`, a file that only hob writes. Any edit of `hob.toml` withdraws them. A
//! file of grants that another user wrote, or may replace, grants nothing.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Project;
use crate::config_error::{ConfigError, parse};
use crate::identity::Identity;
pub use crate::request::{Places, Request};
use crate::{owner, private, user_config, visible};

/// Reasons why a grant was not written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so hob cannot store grants; set HOME")]
    NoPlace,
    #[error(
        "cannot write {}: {}; check that you own the directory and that the disk is not full",
        visible::path(path),
        visible::cause(source)
    )]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "the file system of {} reports neither creation times nor an id, so a grant would also apply to another disk \
         mounted there. Move the project to another disk, or put the settings into your own config.toml",
        visible::path(root)
    )]
    Uncertain { root: PathBuf },
    #[error("{} changed while it was read; look at it again with `hob trust`", visible::path(path))]
    Changed { path: PathBuf },
}

/// The user's grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    #[serde(rename = "grant")]
    grants: Vec<Grant>,
    /// Directories whose code may run.
    code: Vec<CodeGrant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeGrant {
    root: PathBuf,
    directory: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    root: PathBuf,
    sha256: String,
    /// The identity of the directory at the root at that time: another directory has other programs under the same names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    /// The file at the root; without it, `hob.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The time of the grant, in milliseconds since 1970: distinguishes it from an earlier one of the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_ms: Option<u64>,
}

/// A user's grant to a file at a project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileGrant {
    /// Exactly this text is granted. The id differs between two grants of the same text.
    Text {
        id: String,
    },
    /// Another text of the file is granted.
    OtherText,
    Nothing,
}

impl Grant {
    fn is_for(&self, root: &Path, file: Option<&str>) -> bool {
        let is_same = || self.directory.as_deref().is_some_and(|before| is_directory(before, root));
        self.root == root && self.file.as_deref() == file && is_same()
    }
}

/// Returns true if the directory at the root has that identity. In doubt, the user is asked again.
fn is_directory(before: &str, root: &Path) -> bool {
    Identity::parse(before).zip(Identity::of_directory(root)).is_some_and(|(before, now)| before.is_directory_of(&now))
}

/// Returns the identity of the directory at the project's root, for a grant.
fn directory(project: &Project) -> Result<String, TrustError> {
    let identity = Identity::of_directory(project.root()).filter(Identity::is_certain);
    let uncertain = || TrustError::Uncertain { root: project.root().to_owned() };
    identity.map(|identity| identity.to_string()).ok_or_else(uncertain)
}

impl Trust {
    /// Reads the user's grants; an absent file holds none.
    pub fn load() -> Result<Trust, ConfigError> {
        Trust::path().map_or_else(|_| Ok(Trust::default()), |path| Trust::load_from(&path))
    }

    /// Returns the file with the grants.
    pub(crate) fn path() -> Result<PathBuf, TrustError> {
        user_config::directory().map(|directory| directory.join("trust.toml")).ok_or(TrustError::NoPlace)
    }

    fn load_from(path: &Path) -> Result<Trust, ConfigError> {
        // A file of root's is not accepted either: root did not decide for this user.
        user_config::read_of(path, &[owner::current_user()])?
            .map_or_else(|| Ok(Trust::default()), |text| parse(path, &text))
    }

    /// Returns true if this text of the project's `hob.toml` is granted.
    pub fn covers(&self, project: &Project, text: &str) -> bool {
        let sha256 = sha256(text);
        self.grants.iter().any(|grant| grant.is_for(project.root(), None) && grant.sha256 == sha256)
    }

    /// Returns the grant to another file at the project's root with this text; an absent file has none.
    pub fn of_file(&self, project: &Project, file: &str, text: &str) -> FileGrant {
        let sha256 = sha256(text);
        let mut grants = self.grants.iter().filter(|grant| grant.is_for(project.root(), Some(file))).peekable();
        let is_any = grants.peek().is_some();
        match grants.find(|grant| grant.sha256 == sha256) {
            Some(grant) => FileGrant::Text { id: format!("{} {}", grant.at_ms.unwrap_or_default(), grant.sha256) },
            None if is_any => FileGrant::OtherText,
            None => FileGrant::Nothing,
        }
    }

    /// Grants the requests of this text of another file at the project's root.
    pub fn grant_file(project: &Project, file: &str, text: &str) -> Result<(), TrustError> {
        Trust::grant_text(&Trust::path()?, project, Some(file), text)
    }

    /// Grants the requests of this text of the project's `hob.toml`, in this file of grants.
    pub(crate) fn grant(file: &Path, project: &Project, text: &str) -> Result<(), TrustError> {
        Trust::grant_text(file, project, None, text)
    }

    fn grant_text(file: &Path, project: &Project, of: Option<&str>, text: &str) -> Result<(), TrustError> {
        user_config::refuse_foreign_place(file)?;
        let mut trust = Trust::load_from(file)?;
        trust.grants.retain(|grant| grant.root != project.root() || grant.file.as_deref() != of);
        let directory = Some(directory(project)?);
        let (root, of) = (project.root().to_owned(), of.map(str::to_owned));
        let at_ms = Some(crate::journal::now());
        trust.grants.push(Grant { root, sha256: sha256(text), directory, file: of, at_ms });
        trust.store(file).map_err(|source| TrustError::Write { path: file.to_owned(), source })
    }

    /// Returns true if code of the directory at this root may run.
    pub(crate) fn covers_code(&self, root: &Path) -> bool {
        self.code.iter().any(|grant| grant.root == root && is_directory(&grant.directory, root))
    }

    /// Grants that code of the project may run.
    pub fn grant_code(project: &Project) -> Result<(), TrustError> {
        Trust::grant_code_in(&Trust::path()?, project)
    }

    /// Grants that code of the project may run, in this file of grants.
    pub fn grant_code_in(file: &Path, project: &Project) -> Result<(), TrustError> {
        user_config::refuse_foreign_place(file)?;
        let mut trust = Trust::load_from(file)?;
        trust.code.retain(|grant| grant.root != project.root());
        trust.code.push(CodeGrant { root: project.root().to_owned(), directory: directory(project)? });
        trust.store(file).map_err(|source| TrustError::Write { path: file.to_owned(), source })
    }

    /// Withdraws the project's grants. Returns true if there were any.
    pub fn revoke(project: &Project) -> Result<bool, TrustError> {
        Trust::withdraw(project, |trust| trust.grants.retain(|grant| grant.root != project.root()))
    }

    /// Withdraws the permission to run the project's code. Returns true if it was granted.
    pub fn revoke_code(project: &Project) -> Result<bool, TrustError> {
        Trust::withdraw(project, |_| {})
    }

    /// Withdraws the permission to run code, and more.
    fn withdraw(project: &Project, more: impl FnOnce(&mut Trust)) -> Result<bool, TrustError> {
        let file = Trust::path()?;
        let mut trust = Trust::load_from(&file)?;
        let before = trust.clone();
        trust.code.retain(|grant| grant.root != project.root());
        more(&mut trust);
        if trust == before {
            return Ok(false);
        }
        let written = if trust == Trust::default() { remove(&file) } else { trust.store(&file) };
        written.map_err(|source| TrustError::Write { path: file, source })?;
        Ok(true)
    }

    /// Replaces the file atomically, so that a reader never sees a part of it.
    fn store(&self, file: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let head = "# Written by `hob trust` and `hob init`: your grants to projects.";
        private::replace(file, format!("{head}\n{text}\n").as_bytes())
    }
}

/// Removes the file of grants, and the directories that are then empty.
fn remove(file: &Path) -> io::Result<()> {
    std::fs::remove_file(file)?;
    let mut directories = file.ancestors().skip(1).take(2);
    // The first non-empty directory ends the loop.
    let _ = directories.all(|directory| std::fs::remove_dir(directory).is_ok());
    Ok(())
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::config::tests::SECTIONS;
    use std::fs;

    #[test]
    fn granted_by_content_only() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config/hob/trust.toml");
        let root = temp.path().join("project");
        fs::create_dir(&root).unwrap();
        let project = Project::find(Some(&root), Path::new("/")).unwrap();
        let text = "# hello\n[garden.tools]\nrake = \"mine --\\u001b[2J\"\n";
        fs::write(project.config_path(), text).unwrap();

        let asked = Config::requests(&project, SECTIONS).unwrap();
        assert_eq!(asked.len(), 1);

        assert!(!Trust::load_from(&file).unwrap().covers(&project, text));
        assert!(matches!(Config::grant_in(&file, &project, SECTIONS, &[]), Err(TrustError::Changed { .. })));
        Config::grant_in(&file, &project, SECTIONS, &asked).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(trust.covers(&project, text));
        assert!(!trust.covers(&project, &text.replace("mine", "yours")));
        Config::grant_in(&file, &project, SECTIONS, &asked).unwrap();
        assert_eq!(Trust::load_from(&file).unwrap().grants.len(), 1);
        // A grant of one file does not affect another, and both are kept.
        Trust::grant_text(&file, &project, Some("other.toml"), text).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        let granted = trust.of_file(&project, "other.toml", text);
        assert!(trust.covers(&project, text) && matches!(granted, FileGrant::Text { .. }));
        assert_eq!(trust.of_file(&project, "other.toml", ""), FileGrant::OtherText);
        assert_eq!(trust.of_file(&project, "third.toml", text), FileGrant::Nothing);
        Config::grant_in(&file, &project, SECTIONS, &asked).unwrap();
        assert_eq!(Trust::load_from(&file).unwrap().grants.len(), 2);
        assert!(!trust.covers_code(&root), "a text is not the code");
        Trust::grant_code_in(&file, &project).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(trust.covers_code(&root) && trust.covers(&project, text) && !trust.covers_code(temp.path()));
        // Another directory of the same name and text has other programs.
        fs::rename(&root, temp.path().join("elsewhere")).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(project.config_path(), text).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(!trust.covers(&project, text) && !trust.covers_code(&root), "it was replaced");
        assert!(!trust.covers_code(&temp.path().join("elsewhere")), "it was moved: whoever moved it says so again");
        // A file that another user wrote or may replace grants nothing, and stores no grant.
        if owner::current_user() == 0 {
            std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
            assert!(matches!(Trust::load_from(&file), Err(ConfigError::NotMine { owner: 12345, .. })));
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::chown(file.parent().unwrap(), Some(12345), None).unwrap();
            assert!(matches!(Config::grant_in(&file, &project, SECTIONS, &asked), Err(TrustError::Config(_))));
            assert!(!file.exists());
        }
    }
}
