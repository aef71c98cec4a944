//! What a project's `hob.toml` asks for beyond the safe set, and what the user granted.
//!
//! A grant is for one root, the directory that stands there, and one exact text (its SHA-256). Grants live in the user's configuration directory, in a
//! file of their own that only hob writes: `trust.toml` beside `config.toml`. An edit of `hob.toml`, by whomever,
//! withdraws them. A file that another user wrote, or may put another in the place of, grants nothing.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::de::DeTable;

use crate::Project;
use crate::config::{Config, ConfigError, Section, parse};
use crate::identity::Identity;
use crate::{owner, private, user_config, visible};

/// One thing that counts only when granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The setting, as `repl.profiles.NAME`.
    pub key: String,
    /// The line in `hob.toml` where it stands, from 1.
    pub line: usize,
    /// What granting it allows, for people: `runs the command ["x", "y"]`.
    pub asks: String,
    /// What is not to be had until then, by its name.
    #[serde(skip)]
    pub withholds: Option<String>,
}

/// Why a grant was not written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for grants; set HOME")]
    NoPlace,
    #[error("write {}: {source}; check that the directory is yours and the disk not full", visible::path(path))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "the file system of {} tells neither when a directory was made nor a number of its own, so a grant would hold for \
         whatever is mounted there next; move the project to another disk, or put the settings into your own config.toml",
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    root: PathBuf,
    sha256: String,
    /// What stood at the root then: another directory brings other programs under the same names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
}

impl Grant {
    fn is_for(&self, root: &Path) -> bool {
        // Where it is not sure that it is the same one, it is asked again.
        let before = self.directory.as_deref().and_then(Identity::read);
        let is_same = || before.zip(Identity::of(root)).is_some_and(|(before, now)| before.is_directory_of(&now));
        self.root == root && is_same()
    }
}

impl Trust {
    /// Reads the user's grants; an absent file holds none.
    pub fn load() -> Result<Trust, ConfigError> {
        match path() {
            Some(path) => Trust::load_from(&path),
            None => Ok(Trust::default()),
        }
    }

    fn load_from(path: &Path) -> Result<Trust, ConfigError> {
        // Not root's either: what root granted was another's to look at.
        user_config::read_of(path, &[owner::me()])?.map_or_else(|| Ok(Trust::default()), |text| parse(path, &text))
    }

    /// Whether this text of the project's `hob.toml` is granted.
    pub fn covers(&self, project: &Project, text: &str) -> bool {
        let sha256 = sha256(text);
        self.grants.iter().any(|grant| grant.is_for(project.root()) && grant.sha256 == sha256)
    }

    /// Grants what the project's `hob.toml` asks for, as it reads now. `shown` are the requests that the user saw:
    /// if the file asks for anything else by now, nothing is granted.
    pub fn grant(project: &Project, sections: &[Section], shown: &[Request]) -> Result<(), TrustError> {
        Trust::grant_in(&path().ok_or(TrustError::NoPlace)?, project, sections, shown)
    }

    fn grant_in(file: &Path, project: &Project, sections: &[Section], shown: &[Request]) -> Result<(), TrustError> {
        let (text, asked) = Config::asked(project, sections)?;
        if asked != shown {
            return Err(TrustError::Changed { path: project.config_path() });
        }
        user_config::refuse_foreign_place(file)?;
        let mut trust = Trust::load_from(file)?;
        trust.grants.retain(|grant| grant.root != project.root());
        let identity = Identity::of(project.root()).filter(Identity::is_certain);
        let Some(identity) = identity else { return Err(TrustError::Uncertain { root: project.root().to_owned() }) };
        let directory = Some(identity.to_string());
        trust.grants.push(Grant { root: project.root().to_owned(), sha256: sha256(&text), directory });
        trust.store(file).map_err(|source| TrustError::Write { path: file.to_owned(), source })
    }

    /// Withdraws what was granted to the project. Returns whether there was anything.
    pub fn revoke(project: &Project) -> Result<bool, TrustError> {
        let file = path().ok_or(TrustError::NoPlace)?;
        let mut trust = Trust::load_from(&file)?;
        let before = trust.grants.len();
        trust.grants.retain(|grant| grant.root != project.root());
        if trust.grants.len() == before {
            return Ok(false);
        }
        trust.store(&file).map_err(|source| TrustError::Write { path: file.clone(), source })?;
        Ok(true)
    }

    /// Replaces the file whole, so that a reader never sees half of it.
    fn store(&self, file: &Path) -> io::Result<()> {
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let head = "# Written by `hob trust`: the hob.toml texts whose requests you granted.";
        private::replace(file, format!("{head}\n{text}\n").as_bytes())
    }
}

/// Where the settings of a file stand.
pub struct Places<'a> {
    /// Where each line ends.
    ends: Vec<usize>,
    tree: Option<DeTable<'a>>,
}

impl<'a> Places<'a> {
    pub(crate) fn of(text: &'a str) -> Places<'a> {
        // A file that does not parse asks for nothing.
        let tree = DeTable::parse(text).ok().map(|tree| tree.into_inner());
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Places { ends, tree }
    }

    /// The line of the key at the end of a path, or of the last one on the way that is found.
    pub(crate) fn line(&self, path: &[&str]) -> usize {
        let mut line = 1;
        let mut table = self.tree.as_ref();
        for key in path {
            let Some((at, value)) = table.and_then(|table| table.get_key_value(*key)) else {
                break;
            };
            line = 1 + self.ends.partition_point(|end| *end < at.span().start);
            table = value.get_ref().as_table();
        }
        line
    }

    /// A request of the setting at the end of a path: what granting it allows, for people.
    pub fn request(&self, path: &[&str], asks: String) -> Request {
        let key = path.iter().map(|key| visible(key)).collect::<Vec<_>>().join(".");
        Request { key, line: self.line(path), asks, withholds: None }
    }
}

fn path() -> Option<PathBuf> {
    Some(user_config::directory()?.join("trust.toml"))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(matches!(Trust::grant_in(&file, &project, SECTIONS, &[]), Err(TrustError::Changed { .. })));
        Trust::grant_in(&file, &project, SECTIONS, &asked).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(trust.covers(&project, text));
        assert!(!trust.covers(&project, &text.replace("mine", "yours")));
        Trust::grant_in(&file, &project, SECTIONS, &asked).unwrap();
        assert_eq!(Trust::load_from(&file).unwrap().grants.len(), 1);
        // Another directory of the same name and text has other programs.
        fs::rename(&root, temp.path().join("elsewhere")).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(project.config_path(), text).unwrap();
        assert!(!Trust::load_from(&file).unwrap().covers(&project, text));
        // What another wrote, or may replace, grants nothing and keeps no grant.
        if owner::me() == 0 {
            std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
            assert!(matches!(Trust::load_from(&file), Err(ConfigError::NotMine { owner: 12345, .. })));
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::chown(file.parent().unwrap(), Some(12345), None).unwrap();
            assert!(matches!(Trust::grant_in(&file, &project, SECTIONS, &asked), Err(TrustError::Config(_))));
            assert!(!file.exists());
        }
    }
}
