//! The paths of `hob init`: the files of the current worktree, or the user's own, and the records of the originals.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use project::{Project, visible};

use crate::agents::{Agent, Edits, Entry, Links, Scope, Site, find_program, missing_dirs};
use crate::commands::current_project;
use crate::exit::Failure;

/// The paths that this run reads and writes.
pub(in crate::commands) struct InitPaths {
    pub(in crate::commands) scope: Scope,
    pub(in crate::commands) site: Site,
    /// The record of edits below the worktree, or with `--user` below the home.
    pub(in crate::commands) record: PathBuf,
    /// The record of edits below the home, made for the agents of one worktree.
    allow_record: PathBuf,
    /// The record of edits of the repository's `info/exclude`.
    exclude_record: PathBuf,
    /// The directories created for the record.
    made: Vec<PathBuf>,
    search: OsString,
}

impl InitPaths {
    pub(in crate::commands) fn new(scope: Scope, project: &Project) -> Result<InitPaths, Failure> {
        let home = crate::home()?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        let top = project.worktree(&current_project::cwd()?);
        let state = project.state_dir();
        // Each worktree has separate agents' files; records of the main one have no worktree in their names.
        let of_worktree = |name: &str| {
            if top == project.root() {
                state.join(format!("{name}.json"))
            } else {
                state.join(format!("{name}-{}.json", project::hash_of(&top)))
            }
        };
        let exclude_record = of_worktree("exclude");
        let (record, allow_record) = match scope {
            Scope::Project => (of_worktree("init"), of_worktree("allow")),
            Scope::User => {
                let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
                let record = state.unwrap_or_else(|| home.join(".local/state")).join("hob/init.json");
                (record.clone(), record)
            }
        };
        let site = Site { top, main: project.root().to_owned(), home };
        let mut place = InitPaths { scope, site, record, allow_record, exclude_record, made: Vec::new(), search };
        if scope == Scope::Project {
            place.made = place.create_state(&place.record, project)?;
        }
        Ok(place)
    }

    /// Returns the directory that contains every file to register in.
    pub(in crate::commands) fn base(&self) -> &Path {
        self.site.base(self.scope)
    }

    /// True if this is a linked worktree, whose agents do not read the main one's files.
    pub(in crate::commands) fn is_linked(&self) -> bool {
        self.scope == Scope::Project && self.site.top != self.site.main
    }

    /// Opens the edits of the files to register in.
    pub(in crate::commands) fn edits(&self) -> Result<Edits, Failure> {
        Ok(Edits::open(self.base(), &self.record, self.scope.links(), self.made.clone())?)
    }

    /// Opens the edits of the user's files for this worktree's agents. Never hold them together with the others: both records
    /// are in the same directory, which is locked.
    pub(in crate::commands) fn allowed(&self, project: &Project) -> Result<Edits, Failure> {
        let made = self.create_state(&self.allow_record, project)?;
        Ok(Edits::open(&self.site.home, &self.allow_record, Links::Follow, made)?)
    }

    /// Opens the edits of the repository's `info/exclude`. Never hold them together with the others.
    pub(in crate::commands) fn excluded(&self, project: &Project, common_dir: &Path) -> Result<Edits, Failure> {
        let made = self.create_state(&self.exclude_record, project)?;
        Ok(Edits::open(common_dir, &self.exclude_record, Links::Refuse, made)?)
    }

    fn create_state(&self, record: &Path, project: &Project) -> Result<Vec<PathBuf>, Failure> {
        let made = missing_dirs(self.base(), record);
        project.create_state_dir().map_err(Failure::new)?;
        Ok(made)
    }

    pub(in crate::commands) fn file(&self, agent: &Agent) -> PathBuf {
        agent.file(self.scope, &self.site)
    }

    pub(in crate::commands) fn uses(&self, agent: &Agent) -> bool {
        agent.is_used(self.scope, &self.site, &self.search)
    }

    /// Returns the entry for agents: the bare name if it refers to this program, since project files are shared.
    pub(in crate::commands) fn entry(&self, toolsets: &[String]) -> Entry {
        let ours = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
        let by_name = find_program("hob", &self.search).and_then(|path| path.canonicalize().ok());
        let command = match ours {
            Some(ours) if by_name.as_ref() != Some(&ours) => ours.to_string_lossy().into_owned(),
            _ => "hob".to_owned(),
        };
        Entry::new(command, toolsets)
    }

    /// Renders a path relative to the worktree or to the home.
    pub(in crate::commands) fn show(&self, path: &Path) -> String {
        if let (Scope::Project, Ok(relative)) = (self.scope, path.strip_prefix(&self.site.top)) {
            return visible::path(relative);
        }
        match path.strip_prefix(&self.site.home) {
            Ok(relative) if !path.starts_with(self.record.parent().unwrap_or(path)) => {
                format!("~/{}", visible::path(relative))
            }
            _ => visible::path(path),
        }
    }
}
