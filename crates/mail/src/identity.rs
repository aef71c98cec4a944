//! The agents of a worktree: one file per agent in `identities/` of the project's state, and the order in which a
//! caller's name is resolved. The store decides who may use a name (`Mail::enter`).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use project::private;
use serde::{Deserialize, Serialize};

use crate::model::{AgentName, Millis, NameError};

/// The longest identity file, in bytes.
const FILE_MAX: u64 = 64 * 1024;
/// The maximum number of files that are read.
const FILES_MAX: usize = 1000;
/// The maximum number of candidates that an error names.
const SHOWN: usize = 10;

/// An agent as its file describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The agent's name, which is also the file's.
    pub name: String,
    pub role: String,
    #[serde(default)]
    pub module: String,
    /// The space of its registration.
    #[serde(default)]
    pub repo_id: String,
    /// The worktree's directory, which stays the same when the worktree is renamed or moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<Directory>,
    /// The path of its worktree, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// Time of binding, in milliseconds since 1970. The newest of several names is the worktree's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: Millis,
    /// The run that registered it, which goes by it whatever else the worktree is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The names that it had before it was renamed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
}

fn is_zero(at: &Millis) -> bool {
    *at == 0
}

/// A directory, identified independently of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    pub device: u64,
    /// The directory's inode number on that device.
    pub inode: u64,
}

impl Directory {
    /// Returns the directory at `path`, if there is one.
    pub fn at(path: &Path) -> Option<Directory> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Directory { device: found.dev(), inode: found.ino() })
    }
}

impl Identity {
    /// Binds the agent to a worktree.
    pub fn bind(&mut self, worktree: &Path) {
        self.worktree = Some(worktree.to_owned());
        self.directory = Directory::at(worktree);
    }

    /// Returns true if the agent belongs to the worktree.
    fn is_bound_to(&self, worktree: &Path) -> bool {
        self.worktree.as_deref() == Some(worktree) || self.moved_from(worktree).is_some()
    }

    /// Returns the worktree's former path, if the worktree was moved to `worktree`: it is the same directory, and the
    /// former path no longer leads to it.
    pub fn moved_from(&self, worktree: &Path) -> Option<&Path> {
        let (former, directory) = (self.worktree.as_deref()?, self.directory?);
        let is_moved = former != worktree
            && Directory::at(worktree) == Some(directory)
            && Directory::at(former) != Some(directory);
        is_moved.then_some(former)
    }

    /// Returns true if the file describes this worktree differently from how it is now.
    fn is_outdated(&self, worktree: &Path) -> bool {
        match self.worktree.as_deref() {
            Some(bound) if bound == worktree => self.directory != Directory::at(worktree),
            Some(_) => self.moved_from(worktree).is_some(),
            None => false,
        }
    }
}

/// Why a caller has no name.
#[derive(Debug, thiserror::Error)]
pub enum NoIdentity {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("this worktree has no agent name yet")]
    Unknown {
        candidates: Vec<Identity>,
        /// A name that is free here.
        free: String,
    },
    #[error("this worktree has {} agent names, so the caller is ambiguous", names.len())]
    Several { names: Vec<Identity> },
}

/// The caller whose name is resolved.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The name that it was started with.
    pub name: Option<&'a str>,
    pub worktree: &'a Path,
    pub run: Option<&'a str>,
    /// True if a process is known to go by a name now.
    pub lives: &'a dyn Fn(&str) -> bool,
}

/// The identity files of a project.
#[derive(Debug, Clone)]
pub struct Identities {
    dir: PathBuf,
}

impl Identities {
    /// Returns the identities in `dir`, which need not exist.
    pub fn new(dir: PathBuf) -> Identities {
        Identities { dir }
    }

    /// Returns all identities by name. Files that are not identities are skipped.
    pub fn all(&self) -> Vec<Identity> {
        let entries = self.entries();
        let mut all: Vec<Identity> = entries.take(FILES_MAX).filter_map(|entry| read(&entry.path())).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the identity files that are skipped, each with its error.
    pub fn broken(&self) -> Vec<(PathBuf, String)> {
        match fs::symlink_metadata(&self.dir) {
            Ok(found) if !found.is_dir() => return vec![(self.dir.clone(), "it is not a directory".to_owned())],
            _ => {}
        }
        let entries = self.entries().take(FILES_MAX);
        let paths =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "json"));
        let mut broken: Vec<_> = paths.filter_map(|path| read_whole(&path).err().map(|why| (path, why))).collect();
        broken.sort();
        broken
    }

    pub fn get(&self, name: &AgentName) -> Option<Identity> {
        read(&self.path(name.as_str()))
    }

    /// Returns the agents bound to a worktree.
    pub fn bound_to(&self, worktree: &Path) -> Vec<Identity> {
        self.all().into_iter().filter(|identity| identity.is_bound_to(worktree)).collect()
    }

    /// Returns the name of a caller: the name it was started with; otherwise that of the agent bound to its worktree;
    /// otherwise that of the only agent, unless that is bound to another worktree.
    pub fn resolve(&self, asking: Asking<'_>) -> Result<AgentName, NoIdentity> {
        let all = self.all();
        if let Some(name) = asking.name {
            let name = AgentName::new(name.strip_prefix('@').unwrap_or(name))?;
            return Ok(self.renamed(&name).unwrap_or(name));
        }
        let bound: Vec<&Identity> = all.iter().filter(|identity| identity.is_bound_to(asking.worktree)).collect();
        let found = match (&bound[..], &all[..]) {
            ([], [only]) if only.worktree.is_none() => Some(only),
            ([], _) => None,
            _ => Some(one_of(&bound, asking)?),
        };
        match found {
            Some(identity) => Ok(AgentName::new(&identity.name)?),
            None => Err(NoIdentity::Unknown {
                candidates: self.candidates(Some(asking.worktree)),
                free: self.free_name(asking.worktree),
            }),
        }
    }

    /// Returns the present name of an agent that was renamed, unless another has its former name now.
    pub fn renamed(&self, former: &AgentName) -> Option<AgentName> {
        let all = self.all();
        if all.iter().any(|identity| identity.name == former.as_str()) {
            return None;
        }
        let now = all.iter().find(|identity| identity.former.iter().any(|name| name == former.as_str()))?;
        AgentName::new(&now.name).ok()
    }

    /// Returns a name for an agent in this worktree that no agent of this project has: its directory's, if that can be
    /// one.
    fn free_name(&self, worktree: &Path) -> String {
        let directory = worktree.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let name: String = directory.chars().map(|c| if is_legal(c) { c } else { '-' }).take(40).collect();
        let name = name.trim_matches('-');
        let name = if AgentName::new(name).is_ok() { name } else { "agent" };
        let is_free = |name: &String| self.get(&AgentName::stored(&**name)).is_none();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// Returns the agents that the caller may be: those bound to its worktree or to none; without a worktree, all.
    pub fn candidates(&self, worktree: Option<&Path>) -> Vec<Identity> {
        let near = |identity: &Identity| match (worktree, identity.worktree.as_deref()) {
            (Some(worktree), Some(bound)) => bound == worktree,
            _ => true,
        };
        self.all().into_iter().filter(near).take(SHOWN).collect()
    }

    /// Updates an agent's file if its worktree was moved, or made again at the same path. Returns the former path after
    /// a move.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn follow(&self, identity: &Identity, worktree: &Path) -> io::Result<Option<PathBuf>> {
        if !identity.is_outdated(worktree) {
            return Ok(None);
        }
        let former = identity.moved_from(worktree).map(Path::to_owned);
        let mut followed = identity.clone();
        followed.bind(worktree);
        self.save(&followed)?;
        Ok(former)
    }

    /// Writes an identity, replacing one of the same name.
    pub fn save(&self, identity: &Identity) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(identity)?;
        text.push(b'\n');
        private::replace(&self.path(&identity.name), &text)
    }

    /// Removes an agent's file, if there is one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &AgentName) -> io::Result<()> {
        match fs::remove_file(self.path(name.as_str())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Notes that an agent was renamed.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn rename(&self, from: &AgentName, to: &AgentName) -> io::Result<()> {
        let Some(mut identity) = self.get(from) else { return Ok(()) };
        identity.former.retain(|name| name != to.as_str());
        identity.former.push(from.to_string());
        identity.name = to.to_string();
        self.save(&identity)?;
        self.remove(from)
    }

    /// Returns the files in the directory. Links are ignored.
    fn entries(&self) -> impl Iterator<Item = fs::DirEntry> {
        let is_dir = fs::symlink_metadata(&self.dir).is_ok_and(|found| found.is_dir());
        is_dir.then(|| fs::read_dir(&self.dir)).into_iter().flatten().flatten().flatten()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.json"))
    }
}

impl NoIdentity {
    /// Hints, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            NoIdentity::Name(_) => {
                vec!["A name has 1 to 64 characters: a-z, 0-9, _ and -. It does not begin with -.".to_owned()]
            }
            NoIdentity::Unknown { candidates, free } => {
                let register = format!("{}, or use another name.", register_first(free));
                if candidates.is_empty() {
                    vec![register]
                } else {
                    vec![register, format!("Or use one of these names: {}.", listed(candidates))]
                }
            }
            NoIdentity::Several { names } => vec![
                format!("Possible names: {}.", listed(names)),
                format!(
                    "{}, with your own name; on the command line, add `--as NAME`.",
                    register_first(&names[0].name)
                ),
            ],
        }
    }
}

/// Returns the beginning of a hint, with the call that gives a name.
pub(crate) fn register_first(name: &str) -> String {
    format!("Call register_agent with {{\"name\": \"{name}\"}} first")
}

/// Returns the caller's name among the names of a worktree: that of the caller's run; otherwise that of the only live
/// process; otherwise, if no process lives, the newest.
fn one_of<'a>(bound: &[&'a Identity], asking: Asking<'_>) -> Result<&'a Identity, NoIdentity> {
    let of_run = |identity: &&&Identity| asking.run.is_some() && identity.run.as_deref() == asking.run;
    if let Some(identity) = bound.iter().find(of_run) {
        return Ok(identity);
    }
    let living: Vec<&Identity> = bound.iter().copied().filter(|identity| (asking.lives)(&identity.name)).collect();
    let newest = bound.iter().map(|identity| identity.since).max();
    let newest = bound.iter().copied().filter(|identity| Some(identity.since) == newest).collect();
    let meant = if living.is_empty() { newest } else { living };
    match meant[..] {
        [one] => Ok(one),
        _ => Err(NoIdentity::Several { names: meant.into_iter().take(SHOWN).cloned().collect() }),
    }
}

pub(crate) fn listed(identities: &[Identity]) -> String {
    let named = |identity: &Identity| format!("{} ({})", identity.name, crate::framing::quoted(&identity.role, 40));
    identities.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn read(path: &Path) -> Option<Identity> {
    if path.extension()? == "json" { read_whole(path).ok() } else { None }
}

/// Reads an identity, or returns the reason why its file is invalid.
fn read_whole(path: &Path) -> Result<Identity, String> {
    let metadata = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    if metadata.len() > FILE_MAX {
        return Err(format!("it has more than {FILE_MAX} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let identity: Identity = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    AgentName::new(&identity.name).map_err(|error| error.to_string())?;
    // Without this check, a copy of the file under another name would make one agent two.
    if path.file_stem().is_some_and(|stem| stem == identity.name.as_str()) {
        Ok(identity)
    } else {
        Err(format!("it belongs to another agent, {}", identity.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, worktree: Option<&str>) -> Identity {
        Identity {
            name: name.to_owned(),
            role: "dev".to_owned(),
            module: "all".to_owned(),
            repo_id: "r_1".to_owned(),
            worktree: worktree.map(PathBuf::from),
            ..Identity::default()
        }
    }

    #[test]
    fn a_name_goes_with_its_directory() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().join("identities"));
        let [first, second, other] = ["first", "second", "other"].map(|name| temp.path().join(name));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&other).unwrap();
        let mine = |identities: &Identities| identities.get(&AgentName::new("mine").unwrap()).unwrap();
        // An identity written by an older version gets its directory noted.
        identities.save(&identity("mine", first.to_str())).unwrap();
        assert_eq!(identities.follow(&mine(&identities), &other).unwrap(), None, "that is another place");
        assert_eq!(identities.follow(&mine(&identities), &first).unwrap(), None);
        assert_eq!(mine(&identities).directory, Directory::at(&first));
        fs::rename(&first, &second).unwrap();
        assert_eq!(resolved(&identities, None, second.to_str().unwrap()), "mine");
        assert!(resolved(&identities, None, other.to_str().unwrap()).contains("no agent name yet"));
        // Once the name has moved along, another directory at the former path does not have it.
        fs::create_dir(&first).unwrap();
        assert_eq!(mine(&identities).moved_from(&second), Some(&*first));
        assert_eq!(identities.follow(&mine(&identities), &second).unwrap(), Some(first.clone()));
        assert!(resolved(&identities, None, first.to_str().unwrap()).contains("no agent name yet"));
        assert_eq!(mine(&identities).moved_from(&second), None);
        // A worktree made again at the same path counts as the same worktree.
        fs::remove_dir(&second).unwrap();
        fs::rename(&other, &second).unwrap();
        assert_eq!(resolved(&identities, None, second.to_str().unwrap()), "mine");
        assert_eq!(identities.follow(&mine(&identities), &second).unwrap(), None);
        assert_eq!(mine(&identities).directory, Directory::at(&second));
    }

    fn resolved(identities: &Identities, asked: Option<&str>, worktree: &str) -> String {
        resolved_for(identities, Asking { name: asked, worktree: Path::new(worktree), run: None, lives: &|_| false })
    }

    fn resolved_for(identities: &Identities, asking: Asking<'_>) -> String {
        match identities.resolve(asking) {
            Ok(name) => name.to_string(),
            Err(error) => format!("{error}: {}", error.hints()[0]),
        }
    }

    #[test]
    fn the_order_of_the_names() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().join("identities"));
        assert!(resolved(&identities, None, "/w").contains("no agent name yet: Call register_agent"));
        identities.save(&identity("solo", None)).unwrap();
        assert_eq!(resolved(&identities, None, "/w"), "solo");
        assert_eq!(resolved(&identities, Some("@other"), "/w"), "other");
        identities.save(&identity("solo", Some("/other"))).unwrap();
        assert!(resolved(&identities, None, "/w").contains("{\"name\": \"w\"} first"), "it is bound elsewhere");
        identities.save(&identity("mine", Some("/w"))).unwrap();
        assert_eq!(resolved(&identities, None, "/w"), "mine");
        identities.save(&identity("too", Some("/w"))).unwrap();
        let several = resolved(&identities, None, "/w");
        assert!(several.starts_with("this worktree has 2 agent names"), "{several}");
        assert!(several.ends_with("Possible names: mine (\"dev\"), too (\"dev\")."), "{several}");
        assert!(resolved(&identities, Some("No!"), "/w").contains("invalid name"));
    }

    #[test]
    fn of_several_names_the_run_s_else_the_living_one_else_the_newest_is_meant() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().join("identities"));
        for (name, since) in [("first", 1), ("second", 2), ("third", 3)] {
            let run = Some(format!("run of {name}"));
            identities.save(&Identity { since, run, ..identity(name, Some("/w")) }).unwrap();
        }
        let meant = |run: Option<&str>, living: &[&str]| {
            let lives = |name: &str| living.contains(&name);
            resolved_for(&identities, Asking { name: None, worktree: Path::new("/w"), run, lives: &lives })
        };
        assert_eq!(meant(None, &[]), "third");
        assert_eq!(meant(Some("run of first"), &["second"]), "first");
        assert_eq!(meant(Some("another run"), &["second"]), "second");
        let several = meant(None, &["first", "third"]);
        assert!(several.ends_with("Possible names: first (\"dev\"), third (\"dev\")."), "{several}");
    }

    #[test]
    fn a_renamed_agent_is_found_by_its_former_name() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().join("identities"));
        let [wrong, right] = ["plnner", "planner"].map(|name| AgentName::new(name).unwrap());
        identities.save(&identity("plnner", Some("/w"))).unwrap();
        identities.rename(&wrong, &right).unwrap();
        assert_eq!(resolved(&identities, None, "/w"), "planner");
        assert_eq!(resolved(&identities, Some("plnner"), "/elsewhere"), "planner");
        assert_eq!(identities.all().len(), 1);
        identities.save(&identity("plnner", None)).unwrap();
        assert_eq!(resolved(&identities, Some("plnner"), "/w"), "plnner", "it is another's now");
        identities.remove(&wrong).unwrap();
        identities.rename(&right, &wrong).unwrap();
        assert_eq!(resolved(&identities, Some("planner"), "/w"), "plnner", "and back");
    }

    #[test]
    fn a_free_name_comes_from_the_directory() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().join("identities"));
        let free = |worktree: &str| identities.free_name(Path::new(worktree));
        assert_eq!(free("/x/My Parser.git"), "my-parser-git");
        for odd in ["/", "/x/user", "/x/-", "/x/日本"] {
            assert_eq!(free(odd), "agent");
        }
        identities.save(&identity("review", Some("/other"))).unwrap();
        assert_eq!(free("/x/review"), "review-2");
    }

    #[test]
    fn what_is_no_identity_is_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let identities = Identities::new(temp.path().to_owned());
        for (file, text) in [
            ("a.json", "rubbish"),
            ("b.json", r#"{"name":"c","role":"r"}"#),
            ("everyone.json", r#"{"name":"everyone","role":"r"}"#),
            ("d.txt", r#"{"name":"d","role":"r"}"#),
        ] {
            fs::write(temp.path().join(file), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", temp.path().join("e.json")).unwrap();
        assert_eq!(identities.all(), []);
        let broken = identities.broken();
        let said = broken.iter().map(|(path, why)| format!("{}: {why}", path.file_name().unwrap().display()));
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "a.json: expected value at line 1 column 1",
                "b.json: it belongs to another agent, c",
                "e.json: it is not a file",
                "everyone.json: invalid name \"everyone\" for an agent: the name is reserved",
            ]
        );
    }
}
