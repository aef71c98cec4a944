//! Claude Code (2.1): a project's server starts after the folder is trusted and the server approved. `claude -p` requires
//! neither, but refuses each call that no rule allows.

use std::path::Path;

use serde_json::Value;

use super::{Need, SETTINGS, Site, Step, lists, names_us, read};
use crate::agents::{Change, SERVER, Scope};

/// The state file that Claude Code writes.
const STATE: &str = ".claude.json";
pub(super) const SHARED: &str = ".claude/settings.json";
/// A user's private settings for a project.
pub(crate) const LOCAL: &str = ".claude/settings.local.json";

pub(crate) fn steps(scope: Scope, _file: &Path, site: &Site) -> Result<Vec<Step>, String> {
    let state = site.user(STATE, SETTINGS)?;
    let user = site.user(SHARED, SETTINGS)?;
    let projects: Vec<&Value> = site.worktree_paths().iter().map(|place| &state["projects"][*place]).collect();
    // A linked worktree also uses the approvals of the main one.
    let mut settings = Vec::new();
    for place in [&site.top, &site.main] {
        for file in [SHARED, LOCAL] {
            settings.push(read(place, &place.join(file), Scope::Project, SETTINGS)?);
        }
    }
    let all = || settings.iter().chain([&user]).chain(projects.iter().copied());
    let mut steps = Vec::new();

    let off = if projects.iter().any(|project| names_us(&project["disabledMcpServers"])) {
        Some(("disabled for this project", "enable it with `/mcp` in `claude`"))
    } else if scope == Scope::Project && all().any(|settings| names_us(&settings["disabledMcpjsonServers"])) {
        Some(("rejected here", "remove it from `disabledMcpjsonServers` in Claude Code's settings"))
    } else if all().any(|settings| matches(&settings["deniedMcpServers"])) {
        Some(("denied", "remove it from `deniedMcpServers` in Claude Code's settings"))
    } else if all().any(|settings| settings["allowedMcpServers"].is_array() && !matches(&settings["allowedMcpServers"]))
    {
        Some(("not in the list of allowed servers", "add it to `allowedMcpServers` in Claude Code's settings"))
    } else {
        None
    };
    if let Some((what, by_hand)) = off {
        return Ok(vec![Step::new(Need::SwitchedOff, format!("has hob {what}"), by_hand)]);
    }

    let approves = |settings: &Value| {
        settings["enableAllProjectMcpServers"] == true || names_us(&settings["enabledMcpjsonServers"])
    };
    if scope == Scope::Project && !approves(&user) {
        let top = site.worktree_paths()[0];
        if !projects.iter().any(|project| project["hasTrustDialogAccepted"] == true) {
            let step = Step::new(Need::Start, "does not trust this folder yet", "start `claude` here and say yes");
            let trust = Change::set(SETTINGS, ["projects", top, "hasTrustDialogAccepted"], true);
            steps.push(step.writes(site, Scope::User, STATE, trust));
        }
        if !all().any(approves) {
            let step = Step::new(Need::Start, "has not approved hob here yet", "start `claude` here and say yes");
            let approval = Change::push(SETTINGS, ["enabledMcpjsonServers"], SERVER);
            steps.push(step.writes(site, Scope::Project, LOCAL, approval));
        }
    }
    if all().any(|settings| names_tools(&settings["permissions"]["deny"])) {
        let by_hand = "remove `mcp__hob` from `permissions.deny` in Claude Code's settings";
        steps.push(Step::new(Need::Call, "refuses hob's tools", by_hand));
    } else if !all().any(|settings| names_tools(&settings["permissions"]["allow"])) {
        // The project's settings are shared, so write to the private ones.
        let file = if scope == Scope::Project { LOCAL } else { SHARED };
        let by_hand = format!("add `\"permissions\": {{\"allow\": [\"mcp__hob\"]}}` to {}{file}", scope.prefix());
        let step = Step::new(Need::Call, "asks before each of hob's tools, and `claude -p` refuses them", by_hand);
        let allow = Change::push(SETTINGS, ["permissions", "allow"], "mcp__hob");
        steps.push(step.writes(site, scope, file, allow));
    }
    Ok(steps)
}

/// True if a rule covers all of hob's tools.
fn names_tools(rules: &Value) -> bool {
    lists(rules, "mcp__hob") || lists(rules, "mcp__hob__*")
}

/// True if a list of servers, by name or by command, contains hob.
fn matches(servers: &Value) -> bool {
    let is_ours = |server: &Value| server["serverName"] == SERVER || server["serverCommand"][0] == SERVER;
    servers.as_array().is_some_and(|servers| servers.iter().any(is_ours))
}
