//! Codex (0.169): a project's configuration applies once the project is trusted. `codex exec` refuses tools that may be
//! destructive or open-world, such as evaluation, unless the server's entry approves them.

use std::path::Path;

use super::{Need, Site, Step};
use crate::agents::{Change, Format, SERVER, Scope};

const CONFIG: &str = ".codex/config.toml";
const TOML: Format = Format::Toml { table: "mcp_servers" };

pub(crate) fn steps(scope: Scope, _file: &Path, site: &Site) -> Result<Vec<Step>, String> {
    let user = site.user(CONFIG, TOML)?;
    let own = &user["mcp_servers"][SERVER];
    let project = site.project(CONFIG, TOML)?;
    // The project's table overrides the user's.
    let field = |name: &str| match &project["mcp_servers"][SERVER][name] {
        value if scope == Scope::Project && !value.is_null() => value.clone(),
        _ => own[name].clone(),
    };
    let mut steps = Vec::new();
    if field("enabled") == false {
        let by_hand = format!("remove `enabled = false` from its entry in {}{CONFIG}", scope.prefix());
        steps.push(Step::new(Need::SwitchedOff, "has hob disabled", by_hand));
    }
    if scope == Scope::Project {
        let places = site.worktree_paths();
        let level = places.iter().find_map(|place| user["projects"][*place]["trust_level"].as_str());
        match level {
            Some("trusted") => {}
            Some(_) => steps.push(Step::new(
                Need::SwitchedOff,
                "lists this project as untrusted",
                format!("change its `trust_level` in ~/{CONFIG} to \"trusted\""),
            )),
            None => {
                let by_hand = "start `codex` here and say yes, or `codex exec --trust` once";
                let step = Step::new(Need::Start, "does not trust this project yet", by_hand);
                let trust = Change::set(TOML, ["projects", places[0], "trust_level"], "trusted");
                steps.push(step.writes(site, Scope::User, CONFIG, trust));
            }
        }
    }
    if field("default_tools_approval_mode") != "approve" {
        let by_hand =
            format!("add `default_tools_approval_mode = \"approve\"` to its entry in {}{CONFIG}", scope.prefix());
        let step = Step::new(Need::Call, "asks before hob's tools run code, and `codex exec` refuses them", by_hand);
        let approve = Change::set(TOML, ["mcp_servers", SERVER, "default_tools_approval_mode"], "approve");
        steps.push(step.writes(site, scope, CONFIG, approve));
    }
    Ok(steps)
}
