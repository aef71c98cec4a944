//! opencode (1.18): starts configured servers without approval; asks before calls only if `permission` requires it.

use std::path::Path;

use serde_json::Value;

use super::{Need, SETTINGS, Site, Step, read};
use crate::agents::{Change, SERVER, Scope};

/// The files that are merged; the last one has precedence.
const USER: [&str; 2] = [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"];
const PROJECT: [&str; 4] = [".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode.json", "opencode.jsonc"];

pub(crate) fn steps(scope: Scope, file: &Path, site: &Site) -> Result<Vec<Step>, String> {
    let mut merged = Vec::new();
    for file in USER {
        merged.push(site.user(file, SETTINGS)?);
    }
    for file in PROJECT {
        merged.push(site.project(file, SETTINGS)?);
    }
    let mut steps = Vec::new();
    let enabled = merged.iter().rev().find_map(|config| config["mcp"][SERVER]["enabled"].as_bool());
    if enabled == Some(false) {
        let by_hand = "take `\"enabled\": false` out of its entry in opencode.json, here and in ~/.config/opencode";
        steps.push(Step::new(Need::SwitchedOff, "has hob disabled", by_hand));
    }
    let said = merged.iter().filter_map(|config| permission(&config["permission"])).next_back();
    if said.as_deref().is_some_and(|said| said != "allow") {
        let what = "asks before each of hob's tools, and `opencode run` refuses them";
        let step =
            Step::new(Need::Call, what, "add `\"hob_*\": \"allow\"` at the end of `permission` in opencode.json");
        // The last rule has precedence. If the value is not a map of rules, the person must convert it.
        let rules = &read(site.base(scope), file, scope, SETTINGS)?["permission"];
        let has_rule = rules.get("hob_*").is_some();
        steps.push(if (rules.is_object() || rules.is_null()) && !has_rule {
            step.writes(site, scope, file, Change::set(SETTINGS, ["permission", "hob_*"], "allow"))
        } else {
            step
        });
    }
    Ok(steps)
}

/// Returns the permission for hob's tools: the only value, or that of the last matching rule.
fn permission(permission: &Value) -> Option<String> {
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => "hob_repl_eval".starts_with(start),
        None => pattern == "hob_repl_eval",
    };
    let last = match permission {
        Value::Object(rules) => rules.iter().filter(|(pattern, _)| fits(pattern)).map(|(_, word)| word).next_back()?,
        word => word,
    };
    last.as_str().map(str::to_owned)
}
