//! Copilot CLI (1.0): a project's server starts once the folder, or a parent, is trusted. Without a person it refuses calls
//! that were not approved for the repository.

use std::path::Path;

use serde_json::{Value, json};

use super::{Need, SETTINGS, Site, Step, names_us};
use crate::agents::{Change, SERVER, Scope};

const CONFIG: &str = ".copilot/config.json";
const APPROVALS: &str = ".copilot/permissions-config.json";
/// The files that can disable servers: the user's, and the repository's.
const USER: &str = ".copilot/settings.json";
const REPOSITORY: [&str; 2] = [".github/copilot/settings.json", ".github/copilot/settings.local.json"];

pub(crate) fn steps(scope: Scope, _file: &Path, site: &Site) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut settings = vec![site.user(USER, SETTINGS)?];
    for file in REPOSITORY {
        settings.push(site.project(file, SETTINGS)?);
    }
    if settings.iter().any(|settings| names_us(&settings["disabledMcpServers"])) {
        steps.push(Step::new(Need::SwitchedOff, "has hob disabled", "run `copilot mcp enable hob`"));
    }
    let places = site.worktree_paths();
    let config = site.user(CONFIG, SETTINGS)?;
    let folders = ["trustedFolders", "trusted_folders"].map(|key| config[key].as_array().cloned().unwrap_or_default());
    let is_above = |folder: &Value| {
        folder.as_str().is_some_and(|folder| places.iter().any(|place| Path::new(place).starts_with(folder)))
    };
    if scope == Scope::Project && !folders.iter().flatten().any(is_above) {
        let by_hand = "start `copilot` here and say yes, for future sessions too";
        let step = Step::new(Need::Start, "does not trust this folder yet", by_hand);
        let trust = Change::push(SETTINGS, ["trustedFolders"], places[0]);
        steps.push(step.writes(site, Scope::User, CONFIG, trust));
    }
    // All worktrees of a repository share the approvals of the main one.
    let repository = places[places.len() - 1];
    let approvals = site.user(APPROVALS, SETTINGS)?;
    let approvals = &approvals["locations"][repository]["tool_approvals"];
    let is_ours = |approval: &Value| {
        approval["kind"] == "mcp"
            && approval["serverName"] == SERVER
            && approval.get("toolName").is_some_and(Value::is_null)
    };
    if !approvals.as_array().is_some_and(|approvals| approvals.iter().any(is_ours)) {
        let what = "asks before each of hob's tools, and `copilot -p` refuses them";
        let step = Step::new(
            Need::Call,
            what,
            "say yes for this repository when it asks, or start it with `--allow-tool=hob`",
        );
        let approval = json!({ "kind": "mcp", "serverName": SERVER, "toolName": null });
        let approve = Change::push(SETTINGS, ["locations", repository, "tool_approvals"], approval);
        steps.push(match scope {
            Scope::Project => step.writes(site, Scope::User, APPROVALS, approve),
            Scope::User => step,
        });
    }
    Ok(steps)
}
