//! Reads from an agent's own files whether its hooks are disabled, and whether they have been reviewed.

use ::hooks::Agent;
use ::hooks::install::codex_reviews;
use serde_json::Value;

use super::claude::{LOCAL, SHARED};
use super::{SETTINGS, Site, read};
use crate::agents::{Edits, Format, HookFile, Scope};

const TOML: Format = Format::Toml { table: "mcp_servers" };

/// Returns why the agent runs none of hob's entries in a file and how to fix it, as the predicate of a sentence about the
/// agent. Returns `None` if it runs them.
pub(crate) fn hooks_off(file: &HookFile, site: &Site) -> Result<Option<String>, String> {
    let off = |key: &str, place: &str| Some(format!("has all hooks disabled: remove `{key}` from {place}"));
    Ok(match file.agent {
        Agent::Claude => {
            let project = [SHARED, LOCAL].map(|file| site.project(file, SETTINGS));
            // A linked worktree also uses the main one's private settings.
            let of_main = read(&site.main, &site.main.join(LOCAL), Scope::Project, SETTINGS);
            let all = project.into_iter().chain([of_main, site.user(SHARED, SETTINGS)]);
            let all = all.collect::<Result<Vec<Value>, String>>()?;
            let is_off = all.iter().any(|settings| settings["disableAllHooks"] == true);
            is_off.then(|| off("disableAllHooks", "Claude Code's settings")).flatten()
        }
        Agent::Copilot => {
            let files = [".copilot/settings.json", ".copilot/config.json"];
            let all = files.map(|file| site.user(file, SETTINGS));
            let all = all.into_iter().collect::<Result<Vec<Value>, String>>()?;
            let is_off = all.iter().any(|settings| settings["disableAllHooks"] == true);
            is_off.then(|| off("disableAllHooks", "~/.copilot/settings.json")).flatten()
        }
        Agent::Gemini => {
            let all = [site.user(".gemini/settings.json", SETTINGS)?, site.project(".gemini/settings.json", SETTINGS)?];
            let is_disabled = |settings: &Value| super::names_us(&settings["hooksConfig"]["disabled"]);
            if all.iter().any(|settings| settings["hooksConfig"]["enabled"] == false) {
                off("hooksConfig.enabled", "its settings.json")
            } else if all.iter().any(is_disabled) {
                Some("has hob's hooks disabled: run `/hooks enable hob` in `gemini`".to_owned())
            } else {
                None
            }
        }
        Agent::Codex => {
            let config = site.user(".codex/config.toml", TOML)?;
            if config["features"]["hooks"] == false || config["features"]["codex_hooks"] == false {
                return Ok(off("features.hooks", "~/.codex/config.toml"));
            }
            let text = Edits::read_below(site.base(file.base), &file.path, file.base.links());
            let text = text.map_err(|error| format!("{error:#}"))?.unwrap_or_default();
            let hooks = SETTINGS.value(&text).map_err(|error| format!("{}: {error}", file.path.display()))?;
            let state = &config["hooks"]["state"];
            let is_reviewed = |(key, hash): &(String, String)| {
                state[key.as_str()]["trusted_hash"] == hash.as_str() && state[key.as_str()]["enabled"] != false
            };
            let reviews = codex_reviews(&file.path.to_string_lossy(), &hooks);
            (!reviews.iter().all(is_reviewed)).then(|| {
                "has not reviewed all of hob's hooks in their present form, and skips unreviewed ones: start `codex` once and trust them in `/hooks`"
                    .to_owned()
            })
        }
        Agent::Cursor | Agent::Opencode => None,
    })
}
