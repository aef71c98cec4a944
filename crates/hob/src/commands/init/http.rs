//! `hob init --http`: explains how a client connects over HTTP. Changes no configuration.

use project::Project;

use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// The default address of the HTTP server.
const ADDRESS: &str = "127.0.0.1:7117";

/// Prints how to serve and how to connect.
pub(super) fn show(project: &Project) -> Result<Exit, Failure> {
    let served = match current_project::connect(project)? {
        Some(mut control) => {
            let status = control.status().map_err(super::super::call::control_failure)?;
            status["daemon"]["http"].as_str().map(str::to_owned)
        }
        None => None,
    };
    let (_, token) = daemon::http_token(project).map_err(Failure::new)?;
    let token = project::visible::path(&token);
    let url = match &served {
        Some(url) => {
            terminal::line(format!("This project's daemon serves HTTP at {url}"));
            url.clone()
        }
        None => {
            terminal::line("Serve HTTP, instead of the daemon that agents start automatically:");
            terminal::line(format!("  hob stop; hob serve --http {ADDRESS}"));
            format!("http://{ADDRESS}/mcp")
        }
    };
    let header = format!("--header \"Authorization: Bearer $(cat {token})\"");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"0"}}}"#;
    for line in [
        format!("Every request needs the token from this file, which only you can read: {token}"),
        "Claude Code:".to_owned(),
        format!("  claude mcp add --transport http hob {url} {header}"),
        "Codex:".to_owned(),
        format!("  codex mcp add hob --url {url} --bearer-token-env-var HOB_HTTP_TOKEN"),
        "Gemini CLI:".to_owned(),
        format!("  gemini mcp add --scope user --transport http hob {url} {header}"),
        "Copilot CLI:".to_owned(),
        format!("  copilot mcp add --transport http hob {url} {header}"),
        "opencode (opencode.json):".to_owned(),
        format!(
            r#"  {{"mcp": {{"hob": {{"type": "remote", "url": "{url}", "headers": {{"Authorization": "Bearer {{env:HOB_HTTP_TOKEN}}"}}}}}}}}"#
        ),
        "VS Code (.vscode/mcp.json):".to_owned(),
        format!(
            r#"  {{"servers": {{"hob": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer ${{env:HOB_HTTP_TOKEN}}"}}}}}}}}"#
        ),
        "Other clients:".to_owned(),
        format!(
            "  curl {url} -H \"Authorization: Bearer $(cat {token})\" -H 'Content-Type: application/json' -H \
             'Accept: application/json, text/event-stream' -d '{initialize}'"
        ),
        format!(
            "For clients that read the token from the environment, run first: export HOB_HTTP_TOKEN=$(cat {token})"
        ),
        "An agent that receives mail connects with its own token, which `hob agents token` prints in its worktree:"
            .to_owned(),
        format!("  claude mcp add --transport http hob {url} --header \"Authorization: Bearer $(hob agents token)\""),
    ] {
        terminal::line(line);
    }
    Ok(Exit::Done)
}
