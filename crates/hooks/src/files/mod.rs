//! The policy files of a project and the rules in force. Files are read at every event, and parsed if their text has
//! changed.
//!
//! Unreadable files never count as empty. A text that cannot be read or parsed changes nothing. If no earlier rules of the file
//! are known, every tool requires confirmation (project's file) or is denied (user's file). If the record of earlier rules is
//! missing or corrupt, every tool is denied until the user grants the text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use project::trust::FileGrant;
use project::{Project, Trust, UserConfig, private, regular, visible};
use sha2::{Digest, Sha256};

use crate::agents::Verdict;
use crate::policy::effective_policy::{InForce, RuleRecord, Source, in_force};
use crate::policy::{FILE, Policy, USER_FILE};

/// The maximum size of a policy file in bytes.
const FILE_MAX: u64 = 1024 * 1024;
/// The record of the last rules from the project's file, in the project's state, and its maximum size in bytes.
const HELD: &str = "hooks-policy.json";
const HELD_MAX: u64 = 8 * 1024 * 1024;

/// The policies of a project.
#[derive(Debug)]
pub struct Files {
    project: Project,
    /// The last parsed text; `None` before the first.
    seen: Option<Texts>,
    ours: InForce,
    users: InForce,
    /// The error of the record of earlier rules, if it cannot be read.
    damage: Option<String>,
    digest: String,
    standing: Arc<ActivePolicies>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Texts {
    ours: Result<Option<String>, String>,
    users: Result<Option<String>, String>,
    /// The user's grant of the project's text, which is looked up only if it can change the policy.
    grant: Option<Result<FileGrant, String>>,
}

/// The policies in force.
#[derive(Debug, Clone, Default)]
pub struct ActivePolicies {
    /// The user's and the project's policies.
    pub policies: Vec<Policy>,
    /// The hash of the rules in force.
    pub digest: String,
    /// The changes that wait for `hob trust`.
    pub pending: Vec<String>,
    /// The ignored files, each with the reason and what applies instead.
    pub broken: Vec<String>,
}

impl ActivePolicies {
    /// Returns the number of rules in force.
    pub fn rules(&self) -> usize {
        self.policies.iter().map(|policy| policy.rules.len()).sum()
    }
}

impl Files {
    /// Creates the policies. Files are read on first use.
    pub fn new(project: &Project) -> Files {
        Files {
            project: project.clone(),
            seen: None,
            ours: InForce::default(),
            users: InForce::default(),
            damage: None,
            digest: String::new(),
            standing: Arc::default(),
        }
    }

    /// Returns the policies in force. `keeps` is true if they are recorded for the next start, which only the daemon does.
    pub fn active(&mut self, keeps: bool) -> Arc<ActivePolicies> {
        let mut texts = Texts { ours: project_text(&self.project), users: user_text(), grant: None };
        // A grant may have been given or withdrawn meanwhile.
        let by_grant = self.ours.depends_on_grant;
        let is_new = self.seen.as_ref().is_none_or(|seen| seen.ours != texts.ours || seen.users != texts.users);
        if let Ok(text) = &texts.ours
            && (is_new || by_grant || self.damage.is_some())
        {
            let trust = Trust::load().map_err(|error| error.to_string());
            // A grant of an empty text is a grant of no policy.
            let text = text.as_deref().unwrap_or_default();
            texts.grant = Some(trust.map(|trust| trust.of_file(&self.project, FILE, text)));
        }
        if is_new || self.damage.is_some() || by_grant && self.seen.as_ref() != Some(&texts) {
            self.take_in(texts, keeps);
            self.standing = Arc::new(self.of_what_holds());
        }
        self.standing.clone()
    }

    fn of_what_holds(&self) -> ActivePolicies {
        let describe = |file: &str, policy: &InForce, without: &str| {
            let instead = if policy.held.rules.is_empty() { without } else { "its last valid rules stay in force" };
            policy.broken.as_ref().map(|why| format!("{file}: {why}; until it is fixed, {instead}"))
        };
        let broken = [
            describe(USER_FILE, &self.users, "every tool is denied"),
            describe(FILE, &self.ours, "hob asks before every tool"),
            self.damage.as_ref().map(|why| format!("{why}; every tool is denied until `hob trust` grants {FILE}")),
        ];
        ActivePolicies {
            policies: vec![self.users.policy.clone(), self.ours.policy.clone()],
            digest: self.digest.clone(),
            pending: self.ours.pending.clone(),
            broken: broken.into_iter().flatten().collect(),
        }
    }

    fn take_in(&mut self, texts: Texts, keeps: bool) {
        let path = self.project.state_dir().join(HELD);
        let is_first = self.seen.is_none();
        let mut before = self.ours.held.clone();
        if is_first || self.damage.is_some() {
            match read_held(&path) {
                Ok(held) => (before, self.damage) = (held, None),
                Err(why) => self.damage = Some(why),
            }
        }
        self.ours = of_project(&texts, &before);
        if let Some(why) = &self.damage {
            let reason = format!("{why}; read {FILE} and grant it with `hob trust`, which begins a new record");
            self.ours.pending.insert(0, why.clone());
            self.ours.policy.decide_on_all_tools("hob.former-rules", Verdict::Deny, reason);
        }
        let users = texts.users.as_ref().map(|text| text.as_deref().unwrap_or_default());
        let users = users.map(|text| in_force(text, &self.users.held, &Source::User));
        self.users = users.unwrap_or_else(|why| InForce::broken(&self.users.held, why.clone()));
        if let Some(why) = self.users.broken.as_ref().filter(|_| self.users.held.rules.is_empty()) {
            let shown = user_path().map_or_else(|| USER_FILE.to_owned(), |path| visible::path(&path).to_string());
            let reason =
                format!("your policy {shown} cannot be used ({why}): fix it, and check it with `hob policy check`");
            self.users.policy.decide_on_all_tools("hob.your-policy", Verdict::Deny, reason);
        }
        if keeps && self.damage.is_none() && self.ours.held != before {
            let kept = serde_json::to_vec(&self.ours.held).map_err(std::io::Error::other);
            let kept = kept.and_then(|text| {
                self.project.create_state_dir().map_err(std::io::Error::other)?;
                private::replace(&path, &text)
            });
            if let Err(error) = kept {
                let why = format!("the rules in force could not be kept for the next daemon: {error}");
                self.ours.broken.get_or_insert(why);
            }
        }
        let rules =
            [&self.users, &self.ours].map(|file| file.policy.rules.iter().map(|rule| &rule.table).collect::<Vec<_>>());
        let rules = serde_json::to_vec(&(rules, self.users.held.opaque, self.ours.held.opaque)).unwrap_or_default();
        self.digest = hex::encode(&Sha256::digest(rules)[..8]);
        self.seen = Some(texts);
    }
}

/// Returns the project's policy for the rules that were in force before.
fn of_project(texts: &Texts, before: &RuleRecord) -> InForce {
    let mut ours = match &texts.ours {
        Ok(text) => {
            let grant = match &texts.grant {
                Some(Ok(grant)) => grant.clone(),
                // If the grants cannot be read, granted rules stay.
                _ => FileGrant::OtherText,
            };
            let mut ours = in_force(text.as_deref().unwrap_or_default(), before, &Source::Project(grant));
            if let Some(Err(why)) = &texts.grant
                && ours.depends_on_grant
            {
                ours.broken.get_or_insert(format!("your grants cannot be read: {why}"));
            }
            ours
        }
        Err(why) => InForce::broken(before, why.clone()),
    };
    if let Some(why) = ours.broken.as_ref().filter(|_| ours.held.rules.is_empty() && ours.policy.rules.is_empty()) {
        let reason = format!(
            "{FILE} cannot be used ({why}), and no earlier version of its rules is known: fix it, and check it with \
             `hob policy check`"
        );
        ours.policy.decide_on_all_tools("hob.project-policy", Verdict::Ask, reason);
    }
    ours
}

/// Returns true if a project has a policy, or a record of an earlier one.
pub fn has_own_policy(project: &Project) -> bool {
    [project.root().join(FILE), project.state_dir().join(HELD)].iter().any(|path| path.symlink_metadata().is_ok())
}

/// Renames a corrupt record of earlier rules, so that a grant can begin a new one.
///
/// # Errors
/// If it cannot be renamed.
pub fn put_damaged_record_aside(project: &Project) -> std::io::Result<()> {
    let path = project.state_dir().join(HELD);
    match read_held(&path) {
        Ok(_) => Ok(()),
        Err(_) => std::fs::rename(&path, path.with_extension("damaged")),
    }
}

/// Returns the rules of both files that no event can match, each with its file and line.
pub fn unreachable_rules(project: &Project) -> Vec<String> {
    let files = [(USER_FILE, user_text()), (FILE, project_text(project))];
    let parsed = files.into_iter().filter_map(|(file, text)| Some((file, Policy::parse(&text.ok()??).ok()?)));
    let lines = |(file, policy): (&str, Policy)| {
        policy.unreachable.into_iter().map(|error| format!("{file}: {error}")).collect::<Vec<_>>()
    };
    parsed.flat_map(lines).collect()
}

/// Returns the path of the user's policy.
pub fn user_path() -> Option<PathBuf> {
    UserConfig::path().map(|path| path.with_file_name(USER_FILE))
}

/// Reads the project's policy; `None` if it does not exist. A link that points out of the project is not followed.
pub fn project_text(project: &Project) -> Result<Option<String>, String> {
    let path = project.root().join(FILE);
    match path.canonicalize() {
        Ok(to) if !to.starts_with(project.root()) => {
            return Err(format!("it is a link out of the project, to {}: replace it with the file", to.display()));
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

/// Reads the last rules; empty without a record.
///
/// # Errors
/// The reason why the record cannot be used.
fn read_held(path: &Path) -> Result<RuleRecord, String> {
    if path.symlink_metadata().is_err_and(|error| is_absent(&error)) {
        return Ok(RuleRecord::default());
    }
    let read = || -> Result<RuleRecord, String> {
        let text = private::read(path, HELD_MAX + 1).map_err(|error| error.to_string())?;
        let text = text.ok_or("it is not a file that only you can read and write")?;
        if text.len() as u64 > HELD_MAX {
            return Err(format!("it is longer than {HELD_MAX} bytes"));
        }
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    };
    read().map_err(|why| format!("the record of former rules, {}, cannot be used: {why}", visible::path(path)))
}

#[cfg(test)]
mod tests;
