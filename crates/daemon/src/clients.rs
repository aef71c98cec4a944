//! The MCP clients that are agents: a model reads their results, and no person sees them.
//!
//! Some pass only the structured content of a result to their model, some only the text, some both. So agents get text
//! alone: the model reads the same content once in every case.

use mcp::ResultForm;
use project::{Hello, Results, Role};

/// An agent, by the name in its `clientInfo`.
struct Agent {
    name: &'static str,
    /// The tested version of an agent. `docs/generated/agents.md` lists what it passes to its model if it gets both
    /// forms. `None` for a name known only from documentation.
    #[cfg_attr(not(test), expect(dead_code, reason = "says how old the knowledge is"))]
    tested_version: Option<&'static str>,
}

const fn tested(name: &'static str, version: &'static str) -> Agent {
    Agent { name, tested_version: Some(version) }
}

const fn documented(name: &'static str) -> Agent {
    Agent { name, tested_version: None }
}

const AGENTS: &[Agent] = &[
    tested("claude-code", "2.1.331"),
    tested("codex-mcp-client", "0.169.0"),
    tested("copilot-cli", "1.0.102"),
    tested("gemini-cli-mcp-client", "0.61.0"),
    tested("opencode", "1.18.33"),
    documented("claude-ai"),
    documented("cursor-vscode"),
    documented("Visual Studio Code"),
    documented("windsurf-client"),
    documented("Zed"),
];

/// Returns the form of results for a client of this name, if none is requested.
fn form_for(client: &str) -> ResultForm {
    if AGENTS.iter().any(|agent| agent.name == client) { ResultForm::Text } else { ResultForm::Both }
}

/// Chooses the form of results on a connection: as the connection requests, else by the configuration, else by the
/// client. Programs of the command line, and the profiles of other systems, get the form that those promise.
pub(crate) fn result_form(hello: &Hello, configured: Option<Results>) -> fn(&str) -> ResultForm {
    match hello.results.or(configured) {
        _ if hello.role == Role::Control => |_| ResultForm::Both,
        Some(Results::Text) => |_| ResultForm::Text,
        Some(Results::Both) => |_| ResultForm::Both,
        None if hello.profile.is_some() => |_| ResultForm::Both,
        None => form_for,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Each agent that `cargo xtask clients agents` runs must be listed here, at the tested version.
    #[test]
    fn the_agents_that_are_run_are_known() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/agents.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        // Use the first table; in others the agents are columns.
        let first = page.split("\n## What reaches").next().unwrap_or_default();
        let cells = first.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() > 3);
        let clients = cells.filter_map(|line| line.split(" | ").nth(2)?.rsplit_once(' '));
        let mut seen = 0;
        for (name, version) in clients.filter(|(_, version)| version.contains('.')) {
            let known = AGENTS.iter().find(|agent| agent.name == name);
            assert_eq!(known.map(|agent| agent.tested_version), Some(Some(version)), "{name}");
            seen += 1;
        }
        assert!(seen >= 5, "{seen}");
    }

    #[test]
    fn agents_get_text_and_programs_both_unless_they_ask() {
        let root = tempfile::tempdir().expect("a directory");
        let project = project::Project::find(Some(root.path()), root.path()).expect("a project");
        let hello = Hello::new(Role::Mcp, &project, root.path());
        let form = |hello: &Hello, configured, client| result_form(hello, configured)(client);
        assert_eq!(form(&hello, None, "codex-mcp-client"), ResultForm::Text);
        assert_eq!(form(&hello, None, "fastmcp"), ResultForm::Both);
        assert_eq!(form(&hello, None, ""), ResultForm::Both);
        assert_eq!(form(&hello, Some(Results::Text), "fastmcp"), ResultForm::Text);
        let profile = Hello { profile: Some("thrum".into()), ..hello.clone() };
        assert_eq!(form(&profile, None, "codex-mcp-client"), ResultForm::Both);
        let asks = Hello { results: Some(Results::Both), ..hello.clone() };
        assert_eq!(form(&asks, Some(Results::Text), "codex-mcp-client"), ResultForm::Both);
        let control = Hello { role: Role::Control, ..asks };
        assert_eq!(form(&control, Some(Results::Text), "hob"), ResultForm::Both);
    }
}
