//! The policy files of a project, as they are in force: read anew for every event, and taken in when their text has
//! changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use project::{Project, Trust, UserConfig, private, regular};
use sha2::{Digest, Sha256};

use crate::policy::in_force::{Held, InForce, in_force};
use crate::policy::{FILE, Policy, USER_FILE};

/// The most bytes of a policy file.
const FILE_MAX: u64 = 1024 * 1024;
/// What held last of the project's file, in the project's state.
const HELD: &str = "hooks-policy.json";

/// The policies of a project.
#[derive(Debug)]
pub struct Files {
    project: Project,
    /// The text that was taken in last; `None` before the first.
    seen: Option<Texts>,
    ours: InForce,
    users: InForce,
    digest: String,
    standing: Arc<Standing>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Texts {
    ours: Result<Option<String>, String>,
    users: Result<Option<String>, String>,
    /// Whether the user granted the project's text; looked up only where that can change what holds.
    is_granted: bool,
}

/// The policies in force.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The user's, and the project's.
    pub policies: Vec<Policy>,
    /// Names the rules in force.
    pub digest: String,
    /// What waits for `hob trust`.
    pub pending: Vec<String>,
    /// The files that count for nothing, and why.
    pub broken: Vec<String>,
}

impl Files {
    /// Reads nothing yet.
    pub fn new(project: &Project) -> Files {
        let (ours, users) = (InForce::default(), InForce::default());
        Files { project: project.clone(), seen: None, ours, users, digest: String::new(), standing: Arc::default() }
    }

    /// What holds now. `keeps`: whether what holds is kept for the next life, which the daemon alone does.
    pub fn standing(&mut self, keeps: bool) -> Arc<Standing> {
        let mut texts = Texts { ours: project_text(&self.project), users: user_text(), is_granted: false };
        // What waits may have been granted meanwhile, and a grant withdrawn.
        let by_grant = !self.ours.pending.is_empty() || self.ours.policy.allows();
        let is_new = self.seen.as_ref().is_none_or(|seen| seen.ours != texts.ours || seen.users != texts.users);
        if let Ok(Some(text)) = &texts.ours
            && (is_new || by_grant)
        {
            texts.is_granted = Trust::load().is_ok_and(|trust| trust.covers_file(&self.project, FILE, text));
        }
        if is_new || by_grant && self.seen.as_ref() != Some(&texts) {
            self.take_in(texts, keeps);
            self.standing = Arc::new(self.of_what_holds());
        }
        self.standing.clone()
    }

    fn of_what_holds(&self) -> Standing {
        let name = |file: &str, why: &Option<String>| why.as_ref().map(|why| format!("{file}: {why}"));
        Standing {
            policies: vec![self.users.policy.clone(), self.ours.policy.clone()],
            digest: self.digest.clone(),
            pending: self.ours.pending.clone(),
            broken: name(USER_FILE, &self.users.broken).into_iter().chain(name(FILE, &self.ours.broken)).collect(),
        }
    }

    fn take_in(&mut self, texts: Texts, keeps: bool) {
        let path = self.project.state_dir().join(HELD);
        let before = match self.seen {
            None => read_held(&path),
            Some(_) => self.ours.held.clone(),
        };
        self.ours = match &texts.ours {
            Ok(text) => in_force(text.as_deref().unwrap_or_default(), &before, texts.is_granted),
            Err(why) => InForce { broken: Some(why.clone()), ..in_force("", &before, false) },
        };
        if self.ours.broken.is_some() && texts.ours.is_err() {
            self.ours.pending.clear();
        }
        self.users = match &texts.users {
            Ok(text) => in_force(text.as_deref().unwrap_or_default(), &self.users.held, true),
            Err(why) => InForce { broken: Some(why.clone()), ..self.users.clone() },
        };
        if keeps && self.ours.held != before {
            let kept = serde_json::to_vec(&self.ours.held).map_err(std::io::Error::other);
            let kept = kept.and_then(|text| {
                self.project.create_state_dir().map_err(std::io::Error::other)?;
                private::replace(&path, &text)
            });
            if let Err(error) = kept {
                self.ours.broken.get_or_insert(format!("what holds could not be kept for the next daemon: {error}"));
            }
        }
        let rules = serde_json::to_vec(&(&self.users.held, &self.ours.held)).unwrap_or_default();
        self.digest = hex::encode(&Sha256::digest(rules)[..8]);
        self.seen = Some(texts);
    }
}

/// The path of the user's policy.
pub fn user_path() -> Option<PathBuf> {
    UserConfig::path().map(|path| path.with_file_name(USER_FILE))
}

/// The text of the project's policy; `None` if there is none. A link out of the project is not followed.
pub fn project_text(project: &Project) -> Result<Option<String>, String> {
    let path = project.root().join(FILE);
    match path.canonicalize() {
        Ok(to) if !to.starts_with(project.root()) => {
            return Err(format!("it leads to {}, out of the project: replace the link by the file", to.display()));
        }
        _ => {}
    }
    match regular::read(&path, FILE_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn user_text() -> Result<Option<String>, String> {
    let Some(path) = user_path() else { return Ok(None) };
    UserConfig::read(&path).map_err(|error| error.to_string())
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// A record that is not ours alone is none.
fn read_held(path: &Path) -> Held {
    let text = private::read(path, FILE_MAX * 4).ok().flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}
