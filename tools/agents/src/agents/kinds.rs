//! The agents: the package of each, and how it starts without a person, an account or the network.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::states::{CLAUDE, CODEX, COPILOT, GEMINI, Installation, OPENCODE};

/// The prompt. The model follows the script whatever the prompt says.
pub(super) const PROMPT: &str = "Go through the script.";

/// The agents' name of the server.
pub(super) const SERVER: &str = "hob";

/// A coding agent in one of its configurations.
pub(super) struct Agent {
    pub(super) name: &'static str,
    pub(super) setting: fn(&Environment) -> Setting,
    /// The call with which the model loads the tools, given their names.
    pub(super) before: fn(&[&str]) -> Option<Value>,
    /// The turn that calls a tool.
    pub(super) call: fn(&str, &Value) -> Value,
    pub(super) installation: &'static Installation,
}

/// The environment of an agent.
pub(super) struct Environment {
    /// Its private home.
    pub(super) home: PathBuf,
    /// Directory for its temporary files.
    pub(super) temporary: PathBuf,
    pub(super) project: PathBuf,
    /// The connection to hob.
    pub(super) server: Server,
    /// The model's address, without a path.
    pub(super) url: String,
}

/// Connection of an agent to hob.
pub(super) enum Server {
    /// The agent starts this program.
    Program(PathBuf),
    Http {
        url: String,
        token: String,
    },
    /// Registered and allowed by `hob init --allow`.
    Registered,
    /// None, to observe the agent alone.
    Nothing,
}

impl Server {
    /// Returns the server entry that most agents use: `program` with the command for a started server, `http` with the
    /// fields for URL and headers.
    fn servers(&self, program: Value, http: Value, url_field: &str) -> Value {
        let entry = match self {
            Server::Program(path) => {
                let mut entry = program;
                entry["command"] = json!(path);
                entry
            }
            Server::Http { url, token } => {
                let mut entry = http;
                entry[url_field] = json!(url);
                entry["headers"] = json!({ "Authorization": format!("Bearer {token}") });
                entry
            }
            Server::Registered | Server::Nothing => return json!({}),
        };
        json!({ SERVER: entry })
    }
}

/// Start options of an agent.
pub(super) struct Setting {
    /// Files to write before the start.
    pub(super) files: Vec<(PathBuf, String)>,
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) args: Vec<String>,
}

impl Setting {
    pub(super) fn write_files(&self) -> Result<()> {
        self.files.iter().try_for_each(|(path, text)| {
            std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))
                .and_then(|()| std::fs::write(path, text))
                .with_context(|| format!("could not write {}", path.display()))
        })
    }
}

impl Agent {
    /// Name of the list in `tools/agents/packages` that pins its package; CI installs only one.
    pub(super) fn list(&self) -> &'static str {
        if self.installation.name == CLAUDE.name { "claude" } else { "others" }
    }

    /// Directory of its package, relative to that of all lists.
    pub(super) fn directory(&self, packages: &Path) -> PathBuf {
        packages.join(self.list()).join("node_modules").join(self.installation.package)
    }
}

pub(super) const AGENTS: [Agent; 9] = [
    Agent {
        name: "Claude Code",
        setting: |place| claude(place, &[]),
        before: |tools| {
            let names: Vec<String> = tools.iter().map(|tool| format!("mcp__{SERVER}__{tool}")).collect();
            let query = format!("select:{}", names.join(","));
            Some(json!({ "tool": "ToolSearch", "arguments": { "query": query, "max_results": 10 } }))
        },
        call: directly,
        installation: &CLAUDE,
    },
    Agent {
        name: "Claude Code, all tools",
        setting: |place| claude(place, &[("ENABLE_TOOL_SEARCH", "false")]),
        before: |_| None,
        call: directly,
        installation: &CLAUDE,
    },
    Agent {
        name: "Codex, gpt-5.5",
        setting: |place| codex(place, "gpt-5.5"),
        before: |tools| {
            // By default it returns 8 results, which include unrequested tools.
            Some(json!({ "tool": "tool_search", "arguments": { "query": tools.join(" "), "limit": 20 } }))
        },
        call: directly,
        installation: &CODEX,
    },
    Agent {
        name: "Codex, gpt-6.1-sol",
        setting: |place| codex(place, "gpt-6.1-sol"),
        before: |tools| {
            let names: Vec<String> = tools.iter().map(|tool| format!("mcp__{SERVER}__{tool}")).collect();
            let code = format!("text(ALL_TOOLS.filter(tool => {}.includes(tool.name)))", json!(names));
            Some(json!({ "tool": "exec", "arguments": code }))
        },
        call: |tool, arguments| {
            let code = format!("text(await tools.mcp__{SERVER}__{tool}({arguments}))");
            json!({ "tool": "exec", "arguments": code })
        },
        installation: &CODEX,
    },
    Agent {
        name: "Codex, another model",
        setting: |place| codex(place, "scripted"),
        before: |_| None,
        call: directly,
        installation: &CODEX,
    },
    Agent { name: "Gemini CLI", setting: gemini, before: |_| None, call: directly, installation: &GEMINI },
    Agent {
        name: "Copilot CLI, claude-sonnet-4.5",
        setting: |place| copilot(place, "anthropic", "claude-sonnet-4.5"),
        before: |tools| {
            let pattern = format!("^{SERVER}-({})$", tools.join("|"));
            Some(json!({ "tool": "tool_search_tool", "arguments": { "pattern": pattern, "limit": 10 } }))
        },
        call: directly,
        installation: &COPILOT,
    },
    Agent {
        name: "Copilot CLI, gpt-5.1",
        setting: |place| copilot(place, "openai", "gpt-5.1"),
        before: |_| None,
        call: directly,
        installation: &COPILOT,
    },
    Agent { name: "opencode", setting: opencode, before: |_| None, call: directly, installation: &OPENCODE },
];

/// Returns the turn in which the model runs a line in the agent's own shell.
pub(super) fn shell(agent: &Agent, line: &str) -> Value {
    let (tool, arguments) = match agent.installation.name {
        name if name == CODEX.name => ("exec_command", json!({ "cmd": line, "yield_time_ms": 60_000 })),
        name if name == GEMINI.name => ("run_shell_command", json!({ "command": line, "description": "A step." })),
        name if name == COPILOT.name => {
            ("bash", json!({ "command": line, "description": "A step.", "mode": "sync", "initial_wait": 60 }))
        }
        name if name == OPENCODE.name => ("bash", json!({ "command": line, "description": "A step." })),
        _ => ("Bash", json!({ "command": line, "description": "A step." })),
    };
    json!({ "tool": tool, "arguments": arguments })
}

fn directly(tool: &str, arguments: &Value) -> Value {
    json!({ "server": SERVER, "tool": tool, "arguments": arguments })
}

fn claude(place: &Environment, more: &[(&'static str, &str)]) -> Setting {
    let mut env = vec![
        ("ANTHROPIC_BASE_URL", place.url.clone()),
        ("ANTHROPIC_API_KEY", "scripted".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ];
    env.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    if let Server::Registered = place.server {
        return Setting { files: Vec::new(), env, args: strings(&["-p", PROMPT]).collect() };
    }
    let config = place.home.join("mcp.json");
    let servers = place.server.servers(json!({ "type": "stdio", "args": [] }), json!({ "type": "http" }), "url");
    Setting {
        args: strings(&["-p", PROMPT, "--mcp-config", text(&config), "--strict-mcp-config"])
            // As root it refuses to bypass permissions.
            .chain(strings(&["--permission-mode", "dontAsk", "--allowedTools", "mcp__hob"]))
            .collect(),
        files: vec![(config, json!({ "mcpServers": servers }).to_string())],
        env,
    }
}

/// Returns Claude Code as started by a person in a terminal, with its first-run questions answered.
pub(super) fn claude_at_a_terminal(mut setting: Setting, place: &Environment) -> Setting {
    setting.args.retain(|word| word != "-p" && word != PROMPT);
    let trusted = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    let answered = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": { "approved": ["scripted"], "rejected": [] },
        "projects": { text(&place.project): trusted },
    });
    setting.files.push((place.home.join(".claude.json"), answered.to_string()));
    setting
}

/// It offers tools according to the model that it assumes.
fn codex(place: &Environment, model: &str) -> Setting {
    // Without an approval mode for the server, `codex exec` refuses its destructive tools.
    let entry =
        |server: String| format!("[mcp_servers.{SERVER}]\n{server}\ndefault_tools_approval_mode = \"approve\"\n");
    let server = match &place.server {
        Server::Program(path) => entry(format!("command = \"{}\"", path.display())),
        Server::Http { url, .. } => entry(format!("url = \"{url}\"\nbearer_token_env_var = \"HOB_HTTP_TOKEN\"")),
        Server::Registered | Server::Nothing => String::new(),
    };
    let config = format!(
        r#"model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

{server}"#,
        place.url
    );
    let home = place.home.join(".codex");
    let mut env = vec![("CODEX_HOME", text(&home).to_owned()), ("SCRIPTED_KEY", "scripted".to_owned())];
    if let Server::Http { token, .. } = &place.server {
        env.push(("HOB_HTTP_TOKEN", token.clone()));
    }
    Setting {
        files: vec![(home.join("config.toml"), config)],
        env,
        args: strings(&["exec", "--skip-git-repo-check", PROMPT]).collect(),
    }
}

fn gemini(place: &Environment) -> Setting {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "mcpServers": place.server.servers(json!({ "args": [] }), json!({}), "httpUrl"),
    });
    let mut env = vec![("GOOGLE_GEMINI_BASE_URL", place.url.clone()), ("GEMINI_API_KEY", "scripted".to_owned())];
    let mut args: Vec<String> = strings(&["-m", "gemini-2.5-pro"]).collect();
    if !matches!(place.server, Server::Registered) {
        env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
        args.extend(strings(&["--approval-mode", "yolo"]));
    }
    args.extend(strings(&["-p", PROMPT]));
    Setting { files: vec![(place.project.join(".gemini/settings.json"), settings.to_string())], env, args }
}

fn copilot(place: &Environment, provider: &str, model: &str) -> Setting {
    let config = place.home.join("mcp.json");
    let program = json!({ "type": "local", "args": [], "tools": ["*"] });
    let servers = place.server.servers(program, json!({ "type": "http", "tools": ["*"] }), "url");
    let mut args: Vec<String> = strings(&["-p", PROMPT, "--disable-builtin-mcps", "--no-auto-update"]).collect();
    let mut files = Vec::new();
    if !matches!(place.server, Server::Registered) {
        args.extend(strings(&["--trust-folder", "--allow-all-tools"]));
        args.extend(strings(&["--additional-mcp-config", &format!("@{}", config.display())]));
        files.push((config, json!({ "mcpServers": servers }).to_string()));
    }
    Setting {
        args,
        files,
        env: vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}{}", place.url, if provider == "openai" { "/v1" } else { "" })),
            ("COPILOT_PROVIDER_TYPE", provider.to_owned()),
            ("COPILOT_PROVIDER_API_KEY", "scripted".to_owned()),
            ("COPILOT_MODEL", model.to_owned()),
        ],
    }
}

fn opencode(place: &Environment) -> Setting {
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": { "baseURL": format!("{}/v1", place.url), "apiKey": "scripted" },
        "models": { "scripted": { "tool_call": true, "limit": { "context": 200_000, "output": 8192 } } },
    });
    let mut servers = place.server.servers(json!({ "type": "local" }), json!({ "type": "remote" }), "url");
    if let Server::Program(path) = &place.server {
        servers[SERVER]["command"] = json!([path]);
    }
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": { "scripted": provider },
        "permission": "allow",
        "mcp": servers,
    });
    Setting {
        files: vec![(place.project.join("opencode.json"), config.to_string())],
        env: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ],
        args: strings(&["run", PROMPT]).collect(),
    }
}

fn strings(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into_iter()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have names in UTF-8")
}
