//! The node files of a worktree on disk. Links are not followed, and reads are bounded. [`registry`](crate::registry) watches
//! the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::FileType;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use project::checkout_dir::Inside;
use project::visible::cause;

use crate::file::{FILE_MAX, Parts, SUFFIX};
use crate::{Node, Problem};

/// The maximum number of node files in a worktree.
const MAX_FILES: usize = 500;
/// The maximum number of listed files that are not node files.
const MAX_PASSED_OVER: usize = 20;

/// The node files of a worktree.
#[derive(Debug, Clone)]
pub struct Folder {
    worktree: PathBuf,
    /// The directory, relative to the worktree.
    path: PathBuf,
    /// Reserved names: those of other tools.
    taken: Arc<BTreeSet<String>>,
}

/// The content of the directory of node files.
#[derive(Debug, Default)]
pub struct Listing {
    /// The names of the nodes, sorted.
    pub names: Vec<String>,
    /// Entries that look like node files and are not, sorted. Only the first ones are listed.
    pub passed_over: Vec<PassedOver>,
}

/// An entry that looks like a node file and is not one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassedOver {
    /// The name that the node would have.
    name: String,
    pub why: String,
    /// True if it has the suffix of a node file. Another entry may serve another purpose.
    pub is_named_so: bool,
}

/// The reason why a node is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("unknown node {name:?} in {folder}{}", suggest(.there, .near))]
    Unknown { name: String, folder: String, there: Vec<String>, near: Option<String> },
    #[error("unknown node {name:?}: {why}")]
    PassedOver { name: String, why: String },
    #[error("{file} is invalid:\n{}", listed(.file, .problems))]
    Invalid { file: String, problems: Vec<Problem> },
    #[error("{file}: {why}")]
    Name { file: String, why: String },
    #[error("{}", unread(.file, .source))]
    Read { file: String, source: io::Error },
    #[error("{folder} has more than {MAX_FILES} node files, the limit")]
    TooMany { folder: String },
    #[error("{folder} is a link, and links are not followed; make it a directory")]
    Link { folder: String },
    #[error("{folder} is not a directory; make it one, or set another in nodes.path")]
    NoDirectory { folder: String },
}

fn suggest(there: &[String], near: &Option<String>) -> String {
    match (near, there) {
        (_, []) => format!(": it has no node files; `hob node new NAME` writes one (NAME{SUFFIX})"),
        (Some(near), _) => format!(": did you mean {near:?}?"),
        (None, there) => format!("; available: {}", there.join(", ")),
    }
}

/// Formats an error. Some errors include the file name, and some do not.
fn unread(file: &str, source: &io::Error) -> String {
    let said = cause(source);
    if said.starts_with(file) { said } else { format!("cannot read {file}: {said}") }
}

fn listed(file: &str, problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{file}:{problem}")).collect::<Vec<_>>().join("\n")
}

impl Folder {
    pub fn new(worktree: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Folder {
        Folder { worktree: worktree.into(), path: path.into(), taken: Arc::default() }
    }

    /// Reserves these names: a file never replaces a tool.
    #[must_use]
    pub fn without(self, taken: Arc<BTreeSet<String>>) -> Folder {
        Folder { taken, ..self }
    }

    /// Returns the worktree.
    pub fn worktree(&self) -> &Path {
        &self.worktree
    }

    /// Returns the directory of its node files, relative to it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a node's file, relative to the worktree.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    fn display(&self) -> String {
        format!("{}/", project::visible::path(&self.path))
    }

    /// Returns the directory, or `None` if it does not exist. Links are not followed.
    fn directory(&self) -> Result<Option<PathBuf>, FolderError> {
        let mut directory = self.worktree.clone();
        for part in self.path.components() {
            directory.push(part);
            match directory.symlink_metadata() {
                Ok(found) if found.is_symlink() => return Err(FolderError::Link { folder: self.display() }),
                Ok(found) if !found.is_dir() => return Err(FolderError::NoDirectory { folder: self.display() }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(FolderError::Read { file: self.display(), source }),
            }
        }
        Ok(Some(directory))
    }

    /// Returns the names of the nodes, sorted. The list is empty if the directory does not exist.
    pub fn names(&self) -> Result<Vec<String>, FolderError> {
        Ok(self.listing()?.names)
    }

    /// Lists the node files and similar entries. The list is empty if the directory does not exist.
    pub fn listing(&self) -> Result<Listing, FolderError> {
        let Some(directory) = self.directory()? else { return Ok(Listing::default()) };
        let entries =
            std::fs::read_dir(&directory).map_err(|source| FolderError::Read { file: self.display(), source })?;
        let Listing { mut names, mut passed_over } = Listing::default();
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let file = entry.file_name();
            let name = file.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            match name.filter(|name| kind.is_file() && !name.is_empty()) {
                Some(name) => names.push(name.to_owned()),
                None if passed_over.len() < MAX_FILES => {
                    passed_over.extend(self.passed_over(&file.to_string_lossy(), kind));
                }
                None => {}
            }
            if names.len() > MAX_FILES {
                return Err(FolderError::TooMany { folder: self.display() });
            }
        }
        names.sort();
        passed_over.sort();
        passed_over.truncate(MAX_PASSED_OVER);
        Ok(Listing { names, passed_over })
    }

    /// Returns why an entry of the directory is not a node file, if it looks like one.
    fn passed_over(&self, file: &str, kind: FileType) -> Option<PassedOver> {
        let (name, is_named_so) = match file.strip_suffix(SUFFIX) {
            Some(name) => (name, true),
            None => (near_miss(file).filter(|_| !kind.is_dir())?, false),
        };
        let shown = project::visible::path(&self.path.join(file)).to_string();
        let why = match is_named_so {
            true if kind.is_symlink() => "a link, and links are not followed; replace it with the file".to_owned(),
            true if kind.is_dir() => "a directory instead of a file; rename it".to_owned(),
            true if name.is_empty() => "a suffix without a name; add a name before it".to_owned(),
            true if kind.is_file() => "not named in valid UTF-8; rename the file".to_owned(),
            true => "not a regular file; replace it with one".to_owned(),
            false => format!(
                "not a node file, because its name does not end with {SUFFIX}; if it should be one, rename it to {}",
                project::visible(&format!("{name}{SUFFIX}"))
            ),
        };
        Some(PassedOver { name: name.to_owned(), why: format!("{shown} is {why}"), is_named_so })
    }

    /// Reads the node of this name.
    pub fn node(&self, name: &str) -> Result<Node, FolderError> {
        let listing = self.listing()?;
        if !listing.names.iter().any(|known| known == name) {
            return Err(self.unknown(name, listing.names, &listing.passed_over));
        }
        self.file_node(name)
    }

    /// Returns the error for an unknown node, with a suggestion from these names.
    pub(crate) fn unknown(&self, name: &str, names: Vec<String>, passed_over: &[PassedOver]) -> FolderError {
        if let Some(meant) = passed_over.iter().find(|passed_over| passed_over.name == name) {
            return FolderError::PassedOver { name: name.to_owned(), why: meant.why.clone() };
        }
        // Invalid names are not suggested, because they may contain anything.
        let names: Vec<String> = names.into_iter().filter(|name| check_name(name).is_ok()).collect();
        let near = mcp::tool::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        FolderError::Unknown { name: name.to_owned(), folder: self.display(), there: names, near }
    }

    /// Reads all nodes. An unusable node has its error.
    pub fn all(&self) -> Result<BTreeMap<String, Result<Node, FolderError>>, FolderError> {
        Ok(self.names()?.into_iter().map(|name| (name.clone(), self.file_node(&name))).collect())
    }

    /// Reads the node in a file of that name, even if the directory does not list it.
    pub fn file_node(&self, name: &str) -> Result<Node, FolderError> {
        let (text, parts) = self.text(name)?;
        self.parse_with(name, &text, parts)
    }

    /// Reads the text of a node's file and its included texts.
    pub(crate) fn text(&self, name: &str) -> Result<(String, Parts), FolderError> {
        let file = self.file(name);
        // A command may check a file anywhere. Inside the worktree, links are not followed.
        let is_inside = file.components().all(|part| matches!(part, Component::Normal(_)));
        let text = match (is_inside, file.file_name()) {
            (true, Some(name)) => {
                Inside::open(&self.worktree, &self.path).and_then(|directory| directory.read(Path::new(name), FILE_MAX))
            }
            _ => project::regular::read(&self.worktree.join(&file), FILE_MAX),
        };
        let text = text.map_err(|source| FolderError::Read { file: self.shown_file(name), source })?;
        let parts = self.parts(&text);
        Ok((text, parts))
    }

    /// Reads the included files of a text from the folder. Links are not followed.
    fn parts(&self, text: &str) -> Parts {
        Parts::gather(text, |name| {
            let directory = self.directory().map_err(|error| error.to_string())?;
            let path = directory.map(|directory| directory.join(name));
            let is_link = path.as_ref().is_some_and(|path| path.is_symlink());
            match path {
                Some(_) if is_link => Err("it is a link, and links are not followed".to_owned()),
                Some(path) => project::regular::read(&path, FILE_MAX).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => format!("{}{name} does not exist", self.display()),
                    _ => error.to_string(),
                }),
                None => Err(format!("{} does not exist", self.display())),
            }
        })
    }

    /// Parses a text as the node of that name, if the name is allowed.
    pub(crate) fn parse(&self, name: &str, text: &str) -> Result<Node, FolderError> {
        self.parse_with(name, text, self.parts(text))
    }

    /// Parses a text with its included texts.
    pub(crate) fn parse_with(&self, name: &str, text: &str, parts: Parts) -> Result<Node, FolderError> {
        let file = self.shown_file(name);
        if let Err(why) = check_name(name) {
            return Err(FolderError::Name { file, why });
        }
        if self.taken.contains(name) {
            let why = format!(
                "{name} is the name of one of hob's own tools, and a file never takes its place; rename the file"
            );
            return Err(FolderError::Name { file, why });
        }
        Node::parse_with(name, text, parts).map_err(|problems| FolderError::Invalid { file, problems })
    }

    /// Returns the path of a node's file for messages to people.
    pub(crate) fn shown_file(&self, name: &str) -> String {
        project::visible::path(&self.file(name)).to_string()
    }
}

/// Returns an error if a node cannot have that name.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&name.len()) && name.bytes().all(is_legal) {
        return Ok(());
    }
    Err("invalid node name; use 1 to 64 letters, digits, `_` and `-`".to_owned())
}

/// Returns the node name in a similar file name: `a.nodes.md`, `a.node.MD`, `a.node.txt`. Names that begin with a dot or end
/// with `~` are ignored, because they belong to editors.
fn near_miss(file: &str) -> Option<&str> {
    let (name, ending) = file.split_once('.').filter(|(name, _)| !name.is_empty())?;
    let ending = ending.to_lowercase();
    let (kind, more) = ending.split_once('.').unwrap_or((&ending, ""));
    let is_near = match more {
        "" | "md" => matches!(kind, "node" | "nodes" | "nod" | "noed"),
        "mdx" | "markdown" | "txt" | "md.txt" | "yaml" | "yml" => matches!(kind, "node" | "nodes"),
        _ => false,
    };
    is_near.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_file_names_are_reported() {
        let near = ["a.nodes.md", "a.node.MD", "a.Node.md", "a.node", "a.node.txt", "a.node.md.txt", "a.nod.md"];
        near.iter().for_each(|file| assert_eq!(near_miss(file), Some("a"), "{file}"));
        let others = ["a.md", "node.md", ".node.md", ".a.nodes.md", "a.node.md~", "a.node.md.orig", "a.code.md", "a"];
        others.iter().for_each(|file| assert_eq!(near_miss(file), None, "{file}"));
    }
}
