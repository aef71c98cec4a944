//! Gemini CLI (0.61): in an untrusted folder no server starts, not even the user's own. Without a person, only tools of
//! servers marked as trusted are offered.

use std::path::Path;

use serde_json::Value;

use super::{Need, SETTINGS, Site, Step, names_us};
use crate::agents::{Change, SERVER, Scope};

const CONFIG: &str = ".gemini/settings.json";
const FOLDERS: &str = ".gemini/trustedFolders.json";
const ENABLED: &str = ".gemini/mcp-server-enablement.json";

pub(crate) fn steps(scope: Scope, _file: &Path, site: &Site) -> Result<Vec<Step>, String> {
    let user = site.user(CONFIG, SETTINGS)?;
    let project = site.project(CONFIG, SETTINGS)?;
    let mut steps = Vec::new();
    let off = |what: &str, by_hand: &str| Step::new(Need::SwitchedOff, what, by_hand);
    if site.user(ENABLED, SETTINGS)?[SERVER]["enabled"] == false {
        steps.push(off("has hob disabled", "run `gemini mcp enable hob`"));
    }
    for settings in [&user, &project] {
        let allowed = &settings["mcp"]["allowed"];
        if names_us(&settings["mcp"]["excluded"]) || allowed.as_array().is_some_and(|_| !names_us(allowed)) {
            let by_hand = format!("see `mcp.excluded` and `mcp.allowed` in {CONFIG}, here and in your home");
            steps.push(off("has hob blocked", &by_hand));
        }
    }
    // The user may have disabled folder trust, for example in a container.
    if user["security"]["folderTrust"]["enabled"] != false {
        match trust(&site.user(FOLDERS, SETTINGS)?, &site.top) {
            Some(true) => {}
            Some(false) => {
                let by_hand = format!("change that with `/permissions` in `gemini`, or in ~/{FOLDERS}");
                steps.push(off("lists this folder as untrusted", &by_hand));
            }
            None => {
                let step = Step::new(Need::Start, "does not trust this folder yet", "start `gemini` here and say yes");
                let trust = Change::set(SETTINGS, [site.worktree_paths()[0]], "TRUST_FOLDER");
                steps.push(step.writes(site, Scope::User, FOLDERS, trust));
            }
        }
    }
    let entry = if scope == Scope::Project { &project } else { &user };
    if entry["mcpServers"][SERVER]["trust"] != true {
        let by_hand = format!("add `\"trust\": true` to its entry in {}{CONFIG}", scope.prefix());
        let step =
            Step::new(Need::Call, "asks before each of hob's tools, and `gemini -p` does not offer them", by_hand);
        let trust = Change::set(SETTINGS, ["mcpServers", SERVER, "trust"], true);
        steps.push(step.writes(site, scope, CONFIG, trust));
    }
    Ok(steps)
}

/// Returns the value of the longest rule that covers a folder.
fn trust(rules: &Value, folder: &Path) -> Option<bool> {
    let covering = rules.as_object()?.iter().filter_map(|(path, level)| {
        let rule = Path::new(path);
        let covered = if level == "TRUST_PARENT" { rule.parent().unwrap_or(rule) } else { rule };
        folder.starts_with(covered).then_some((path.len(), level != "DO_NOT_TRUST"))
    });
    covering.max().map(|(_, is_trusted)| is_trusted)
}
