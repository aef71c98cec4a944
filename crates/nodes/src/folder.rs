//! The node files of a worktree. They are read at every call, so that what is saved is what is called; links are not followed,
//! and what is read is bounded.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{FILE_MAX, SUFFIX};
use crate::{Node, Problem};

/// How many node files a worktree may have.
const MAX_FILES: usize = 500;

/// The node files of one worktree.
#[derive(Debug, Clone)]
pub struct Folder {
    worktree: PathBuf,
    /// Relative to the worktree.
    path: PathBuf,
}

/// Why there is no node.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("there is no node {name:?} in {folder}: {}", known(.there, .near))]
    Unknown { name: String, folder: String, there: Vec<String>, near: Option<String> },
    #[error("{file} is invalid:\n{}", listed(.file, .problems))]
    Invalid { file: String, problems: Vec<Problem> },
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{folder} has more than {MAX_FILES} node files, the limit")]
    TooMany { folder: String },
    #[error("{folder} is a link, and links are not followed; make it a directory")]
    Link { folder: String },
}

fn known(there: &[String], near: &Option<String>) -> String {
    match (near, there) {
        (_, []) => format!("it has no node files; `hob node new NAME` writes one (NAME{SUFFIX})"),
        (Some(near), _) => format!("did you mean {near:?}?"),
        (None, there) => format!("there are {}", there.join(", ")),
    }
}

fn listed(file: &str, problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{file}:{problem}")).collect::<Vec<_>>().join("\n")
}

impl Folder {
    pub fn new(worktree: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Folder {
        Folder { worktree: worktree.into(), path: path.into() }
    }

    /// The name of a node's file, relative to the worktree.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    fn shown(&self) -> String {
        format!("{}/", project::visible::path(&self.path))
    }

    /// The names of the files, sorted. None where there is no directory.
    pub fn names(&self) -> Result<Vec<String>, FolderError> {
        let mut directory = self.worktree.clone();
        for part in self.path.components() {
            directory.push(part);
            match directory.symlink_metadata() {
                Ok(found) if found.is_symlink() => return Err(FolderError::Link { folder: self.shown() }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(source) => return Err(FolderError::Read { file: self.shown(), source }),
            }
        }
        let entries =
            std::fs::read_dir(&directory).map_err(|source| FolderError::Read { file: self.shown(), source })?;
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let name = entry.file_name().into_string().ok();
            if let Some(name) = name.as_deref().and_then(|name| name.strip_suffix(SUFFIX)).filter(|_| is_file) {
                names.push(name.to_owned());
            }
            if names.len() > MAX_FILES {
                return Err(FolderError::TooMany { folder: self.shown() });
            }
        }
        names.sort();
        Ok(names)
    }

    /// The node of this name, as its file is now.
    pub fn node(&self, name: &str) -> Result<Node, FolderError> {
        let names = self.names()?;
        if !names.iter().any(|known| known == name) {
            let near = mcp::tool::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(FolderError::Unknown { name: name.to_owned(), folder: self.shown(), there: names, near });
        }
        self.read(name)
    }

    /// All nodes, and of those that cannot be used why.
    pub fn all(&self) -> Result<BTreeMap<String, Result<Node, FolderError>>, FolderError> {
        Ok(self.names()?.into_iter().map(|name| (name.clone(), self.read(&name))).collect())
    }

    fn read(&self, name: &str) -> Result<Node, FolderError> {
        read(&self.worktree.join(self.file(name)), name, project::visible::path(&self.file(name)).to_string())
    }
}

/// Reads a node file wherever it lies. `shown` is how it is named in errors.
pub fn read(path: &Path, name: &str, shown: String) -> Result<Node, FolderError> {
    match project::regular::read(path, FILE_MAX) {
        Ok(text) => Node::parse(name, &text).map_err(|problems| FolderError::Invalid { file: shown, problems }),
        Err(source) => Err(FolderError::Read { file: shown, source }),
    }
}
