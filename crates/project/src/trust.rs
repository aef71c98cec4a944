//! What a project's `hob.toml` asks for beyond the safe set, and what the user granted.
//!
//! A grant is for one root and one exact text (its SHA-256). Grants live in the user's configuration directory, in a
//! file of their own that only hob writes: `trust.toml` beside `config.toml`. An edit of `hob.toml`, by whomever,
//! withdraws them.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Project;
use crate::config::{self, ConfigError, Settings, parse};
use crate::{private, user};

/// One thing that counts only when granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The setting, as `repl.profiles.NAME`.
    pub key: String,
    /// The line in `hob.toml` where it stands, from 1.
    pub line: usize,
    /// What granting it allows, for people: `runs the command ["x", "y"]`.
    pub asks: String,
}

/// Why a grant was not written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum TrustError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for grants; set HOME")]
    NoPlace,
    #[error("write {path}: {source}; check that the directory is yours and the disk not full")]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} changed while it was read; look at it again with `hob trust`")]
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
        config::read(path)?.map_or_else(|| Ok(Trust::default()), |text| parse(path, &text))
    }

    /// Whether this text of the project's `hob.toml` is granted.
    pub fn covers(&self, project: &Project, text: &str) -> bool {
        let sha256 = sha256(text);
        self.grants.iter().any(|grant| grant.root == project.root() && grant.sha256 == sha256)
    }

    /// Grants what the project's `hob.toml` asks for, as it reads now. `shown` are the requests that the user saw:
    /// if the file asks for anything else by now, nothing is granted.
    pub fn grant(project: &Project, shown: &[Request]) -> Result<(), TrustError> {
        Trust::grant_in(&path().ok_or(TrustError::NoPlace)?, project, shown)
    }

    fn grant_in(file: &Path, project: &Project, shown: &[Request]) -> Result<(), TrustError> {
        let toml = project.config_path();
        let text = config::read(&toml)?.unwrap_or_default();
        let settings: Settings = parse(&toml, &text)?;
        if requests(&text, &settings) != shown {
            return Err(TrustError::Changed { path: toml });
        }
        let mut trust = Trust::load_from(file)?;
        trust.grants.retain(|grant| grant.root != project.root());
        trust.grants.push(Grant { root: project.root().to_owned(), sha256: sha256(&text) });
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

/// What a `hob.toml` asks for beyond the safe set.
pub(crate) fn requests(text: &str, settings: &Settings) -> Vec<Request> {
    let profiles = settings.repl.profiles.iter().map(|(name, table)| {
        let line = text.lines().position(|line| is_header_of(line, name)).map_or(1, |index| index + 1);
        let asks = match table.get("command") {
            Some(command) => format!("runs the command {}", one_line(&command.to_string())),
            None => format!("defines how the program of the profile {name} is run and driven"),
        };
        Request { key: format!("repl.profiles.{name}"), line, asks }
    });
    profiles.collect()
}

fn is_header_of(line: &str, profile: &str) -> bool {
    let line: String = line.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'').collect();
    line.starts_with(&format!("[repl.profiles.{profile}")) || line.starts_with(&format!("repl.profiles.{profile}"))
}

/// What is shown to be judged must not be able to move the cursor or to hide.
fn one_line(text: &str) -> String {
    text.chars().fold(String::new(), |mut shown, c| {
        match c.is_control() {
            // Writing to a string does not fail.
            true => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
            false => shown.push(c),
        }
        shown
    })
}

fn path() -> Option<PathBuf> {
    Some(user::directory()?.join("trust.toml"))
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
    use std::fs;

    #[test]
    fn granted_by_content_only() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config/hob/trust.toml");
        let root = temp.path().join("project");
        fs::create_dir(&root).unwrap();
        let project = Project::find(Some(&root), Path::new("/")).unwrap();
        let text = "# hello\n[repl.profiles.mine]\ncommand = [\"mine\", \"--\\u001b[2J\"]\n";
        fs::write(project.config_path(), text).unwrap();

        let asked = requests(text, &parse(Path::new("hob.toml"), text).unwrap());
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].key.as_str(), asked[0].line), ("repl.profiles.mine", 2));
        assert!(asked[0].asks.starts_with("runs the command [\"mine\""), "{}", asked[0].asks);
        assert!(!asked[0].asks.contains('\u{1b}'));

        assert!(!Trust::load_from(&file).unwrap().covers(&project, text));
        assert!(matches!(Trust::grant_in(&file, &project, &[]), Err(TrustError::Changed { .. })));
        Trust::grant_in(&file, &project, &asked).unwrap();
        let trust = Trust::load_from(&file).unwrap();
        assert!(trust.covers(&project, text));
        assert!(!trust.covers(&project, &text.replace("mine", "yours")));
        Trust::grant_in(&file, &project, &asked).unwrap();
        assert_eq!(Trust::load_from(&file).unwrap().grants.len(), 1);
    }
}
