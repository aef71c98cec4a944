//! Decides if a project's code may run implicitly: the build scripts, macros and toolchains that language servers run.
//!
//! The user grants this, as in an editor: to hob (`hob trust`, `hob init`), for the directory at the project's root; or
//! to a coding agent that keeps a list of trusted folders in the user's own files. Nothing in a checkout counts.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Project, Trust, git, owner, regular};

/// The source of trust in a project's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTrust {
    /// The user granted it to hob.
    Granted,
    /// The user granted it to this agent.
    Agent(&'static str),
}

impl fmt::Display for CodeTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeTrust::Granted => f.write_str("granted"),
            CodeTrust::Agent(agent) => write!(f, "{agent} trusts this folder"),
        }
    }
}

/// The size limit of an agent's file. Claude Code keeps its history in its own.
const FILE_MAX: u64 = 64 << 20;

impl CodeTrust {
    /// Returns the source of trust in the code of a worktree of the project. An unreadable grant does not count.
    pub fn lookup(project: &Project, worktree: &Path) -> Option<CodeTrust> {
        let (root, worktree) = (project.root(), worktree.canonicalize().ok()?);
        // A caller may name any directory as its worktree.
        if worktree != root && git::main_worktree(&worktree).as_deref() != Some(root) {
            return None;
        }
        if Trust::load().is_ok_and(|trust| trust.covers_code(root)) {
            return Some(CodeTrust::Granted);
        }
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
        let agent = Folders { home: home.canonicalize().ok()?, root, worktree: &worktree }.agent()?;
        Some(CodeTrust::Agent(agent))
    }
}

/// The folders that an agent may trust, and the location of its files.
struct Folders<'a> {
    home: PathBuf,
    root: &'a Path,
    /// For agents, trust in the main worktree is trust in all of them.
    worktree: &'a Path,
}

impl Folders<'_> {
    fn agent(&self) -> Option<&'static str> {
        if self.json(".claude.json").is_some_and(|state| self.claude(&state)) {
            return Some("Claude Code");
        }
        let config = self.read(".codex/config.toml").and_then(|text| text.parse::<toml::Table>().ok());
        if config.is_some_and(|config| self.codex(&config)) {
            return Some("Codex");
        }
        self.json(".gemini/trustedFolders.json").is_some_and(|rules| self.gemini(&rules)).then_some("Gemini CLI")
    }

    /// Reads a file of the user's, which no other user may have written and which is outside the checkout.
    fn read(&self, name: &str) -> Option<String> {
        let path = self.home.join(name);
        let file = regular::open(&path).ok()?;
        let real = path.canonicalize().ok()?;
        let is_mine = file.metadata().is_ok_and(|metadata| metadata.uid() == owner::current_user());
        let is_outside = !real.starts_with(self.root) && !real.starts_with(self.worktree);
        let is_theirs = is_mine && is_outside && owner::foreign(&self.home, &path).is_none();
        is_theirs.then(|| regular::text(file, FILE_MAX).ok()).flatten()
    }

    fn json(&self, name: &str) -> Option<Value> {
        serde_json::from_str(&self.read(name)?).ok()
    }

    /// Returns true if a folder is the home or above it: such an entry does not count as trust in every project.
    fn is_all(&self, folder: &Path) -> bool {
        self.home.starts_with(folder)
    }

    /// Checks `projects[FOLDER].hasTrustDialogAccepted`, of the folder or of one around it.
    fn claude(&self, state: &Value) -> bool {
        let around = [self.worktree, self.root].into_iter().flat_map(Path::ancestors);
        let mut folders = around.filter(|folder| !self.is_all(folder)).filter_map(Path::to_str);
        folders.any(|folder| state["projects"][folder]["hasTrustDialogAccepted"] == true)
    }

    /// Checks `[projects."FOLDER"] trust_level = "trusted"`, of the folder itself.
    fn codex(&self, config: &toml::Table) -> bool {
        let mut folders = [self.worktree, self.root].into_iter().filter_map(Path::to_str);
        let level = |folder: &str| config.get("projects")?.get(folder)?.get("trust_level")?.as_str();
        folders.any(|folder| level(folder) == Some("trusted"))
    }

    /// Checks `"FOLDER": "TRUST_FOLDER"`, or `TRUST_PARENT` for the folder around it; the longest rule decides.
    fn gemini(&self, rules: &Value) -> bool {
        let decided = |folder: &Path| {
            let covering = rules.as_object()?.iter().filter_map(|(path, level)| {
                let rule = Path::new(path);
                let covered = if level == "TRUST_PARENT" { rule.parent().unwrap_or(rule) } else { rule };
                let is_trusted = level == "TRUST_FOLDER" || level == "TRUST_PARENT";
                let counts = folder.starts_with(covered) && !(is_trusted && self.is_all(covered));
                counts.then_some((path.len(), is_trusted))
            });
            covering.max().map(|(_, is_trusted)| is_trusted)
        };
        decided(self.worktree).or_else(|| decided(self.root)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns the agent that trusts a folder if this text is in a file of the home.
    fn trusting(file: &str, text: &str) -> Option<&'static str> {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let (home, root) = (top.join("home"), top.join("home/src/made"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        let text = text.replace("ROOT", root.to_str().unwrap()).replace("TOP", top.to_str().unwrap());
        fs::write(home.join(file), &text).unwrap();
        let folders = |home: &Path| Folders { home: home.to_owned(), root: &root, worktree: &root }.agent();
        let said = folders(&home);
        // The same text in the checkout does not count, not even as the home's own file.
        let forged = root.join(file);
        fs::create_dir_all(forged.parent().unwrap()).unwrap();
        fs::write(&forged, &text).unwrap();
        assert_eq!(folders(&root), None, "{file}: the home is the checkout");
        fs::remove_file(home.join(file)).unwrap();
        assert_eq!(folders(&home), None, "{file}: it stands in the checkout");
        std::os::unix::fs::symlink(&forged, home.join(file)).unwrap();
        assert_eq!(folders(&home), None, "{file}: a link into the checkout");
        said
    }

    #[test]
    fn what_agents_say_of_folders() {
        let claude = |folder: &str, accepted: &str| {
            let text = format!("{{\"projects\": {{\"{folder}\": {{\"hasTrustDialogAccepted\": {accepted}}}}}}}");
            trusting(".claude.json", &text)
        };
        assert_eq!(claude("ROOT", "true"), Some("Claude Code"));
        assert_eq!(claude("TOP/home/src", "true"), Some("Claude Code"), "a folder around it");
        for (folder, accepted) in [
            ("ROOT", "false"),
            ("ROOT", "\"true\""),
            ("ROOT/below", "true"),
            ("ROOT2", "true"),
            ("TOP/home", "true"),
            ("/", "true"),
        ] {
            assert_eq!(claude(folder, accepted), None, "{folder} {accepted}");
        }
        let codex = |folder: &str, level: &str| {
            trusting(".codex/config.toml", &format!("[projects.\"{folder}\"]\ntrust_level = {level}\n"))
        };
        assert_eq!(codex("ROOT", "\"trusted\""), Some("Codex"));
        for (folder, level) in
            [("ROOT", "\"untrusted\""), ("ROOT", "true"), ("TOP/home/src", "\"trusted\""), ("ROOT/x", "\"trusted\"")]
        {
            assert_eq!(codex(folder, level), None, "{folder} {level}");
        }
        let gemini = |rules: &str| trusting(".gemini/trustedFolders.json", rules);
        for rules in [
            "{\"ROOT\": \"TRUST_FOLDER\"}",
            "{\"TOP/home/src\": \"TRUST_FOLDER\"}",
            "{\"TOP/home/src/other\": \"TRUST_PARENT\"}",
            "{\"TOP/home/src\": \"DO_NOT_TRUST\", \"ROOT\": \"TRUST_FOLDER\"}",
        ] {
            assert_eq!(gemini(rules), Some("Gemini CLI"), "{rules}");
        }
        for rules in [
            "{\"ROOT\": \"DO_NOT_TRUST\"}",
            "{\"TOP/home/src\": \"TRUST_FOLDER\", \"ROOT\": \"DO_NOT_TRUST\"}",
            "{\"TOP/home\": \"TRUST_FOLDER\"}",
            "{\"TOP/home/src\": \"TRUST_PARENT\"}",
            "{\"/\": \"TRUST_FOLDER\"}",
            "{\"ROOT\": \"YES\"}",
            "[\"ROOT\"]",
            "ROOT",
        ] {
            assert_eq!(gemini(rules), None, "{rules}");
        }
    }
}
