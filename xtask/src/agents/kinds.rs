//! The agents: which package each comes in, and how it is started without a person, an account or the network.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::states::{CLAUDE, CODEX, COPILOT, GEMINI, Installation, OPENCODE};

/// What the agent is told; the model says what is in the script whatever that is.
pub(super) const PROMPT: &str = "Go through the script.";

/// The name that agents know the server by.
pub(super) const SERVER: &str = "hob";

/// A coding agent, in one of the ways to configure it.
pub(super) struct Agent {
    pub(super) name: &'static str,
    /// As a list in `xtask/agents` pins it.
    pub(super) package: &'static str,
    /// In its package.
    pub(super) program: &'static str,
    /// Whether Node runs it.
    pub(super) is_script: bool,
    pub(super) setting: fn(&Place) -> Setting,
    /// What the model must call before it has the tools, given their names.
    pub(super) before: fn(&[&str]) -> Option<Value>,
    /// The turn that calls a tool.
    pub(super) call: fn(&str, &Value) -> Value,
    pub(super) installation: &'static Installation,
}

/// Where an agent runs.
pub(super) struct Place {
    /// A home of its own.
    pub(super) home: PathBuf,
    /// For its temporary files.
    pub(super) temporary: PathBuf,
    pub(super) project: PathBuf,
    /// How it reaches hob.
    pub(super) server: Server,
    /// The model's address, without a path.
    pub(super) url: String,
}

/// How an agent reaches hob.
pub(super) enum Server {
    /// It starts this program.
    Program(PathBuf),
    Http {
        url: String,
        token: String,
    },
    /// As `hob init --allow` registers it, and allows it.
    Registered,
    /// Not at all: what it does by itself is looked at.
    Nothing,
}

impl Server {
    /// The servers of most agents: one entry, `program` for one that is started, with the command in it; `http` with the fields of URL
    /// and headers.
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

/// What an agent is started with.
pub(super) struct Setting {
    /// Files to write first.
    pub(super) files: Vec<(PathBuf, String)>,
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) args: Vec<String>,
}

impl Agent {
    /// The list in `xtask/agents` that has its package: CI installs one alone.
    pub(super) fn list(&self) -> &'static str {
        if self.installation.name == CLAUDE.name { "claude" } else { "others" }
    }

    /// Its package, below the directory of all lists.
    pub(super) fn directory(&self, packages: &Path) -> PathBuf {
        packages.join(self.list()).join("node_modules").join(self.package)
    }
}

pub(super) const AGENTS: [Agent; 9] = [
    Agent {
        name: "Claude Code",
        package: "@anthropic-ai/claude-code-linux-x64",
        program: "claude",
        is_script: false,
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
        package: "@anthropic-ai/claude-code-linux-x64",
        program: "claude",
        is_script: false,
        setting: |place| claude(place, &[("ENABLE_TOOL_SEARCH", "false")]),
        before: |_| None,
        call: directly,
        installation: &CLAUDE,
    },
    Agent {
        name: "Codex, gpt-5.5",
        package: "@openai/codex-linux-x64",
        program: "vendor/x86_64-unknown-linux-musl/bin/codex",
        is_script: false,
        setting: |place| codex(place, "gpt-5.5"),
        before: |tools| {
            // It gives 8 unless told otherwise, and finds others than those that are named.
            Some(json!({ "tool": "tool_search", "arguments": { "query": tools.join(" "), "limit": 20 } }))
        },
        call: directly,
        installation: &CODEX,
    },
    Agent {
        name: "Codex, gpt-6.1-sol",
        package: "@openai/codex-linux-x64",
        program: "vendor/x86_64-unknown-linux-musl/bin/codex",
        is_script: false,
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
        package: "@openai/codex-linux-x64",
        program: "vendor/x86_64-unknown-linux-musl/bin/codex",
        is_script: false,
        setting: |place| codex(place, "scripted"),
        before: |_| None,
        call: directly,
        installation: &CODEX,
    },
    Agent {
        name: "Gemini CLI",
        package: "@google/gemini-cli",
        program: "bundle/gemini.js",
        is_script: true,
        setting: gemini,
        before: |_| None,
        call: directly,
        installation: &GEMINI,
    },
    Agent {
        name: "Copilot CLI, claude-sonnet-4.5",
        package: "@github/copilot-linux-x64",
        program: "copilot",
        is_script: false,
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
        package: "@github/copilot-linux-x64",
        program: "copilot",
        is_script: false,
        setting: |place| copilot(place, "openai", "gpt-5.1"),
        before: |_| None,
        call: directly,
        installation: &COPILOT,
    },
    Agent {
        name: "opencode",
        package: "opencode-linux-x64",
        program: "bin/opencode",
        is_script: false,
        setting: opencode,
        before: |_| None,
        call: directly,
        installation: &OPENCODE,
    },
];

fn directly(tool: &str, arguments: &Value) -> Value {
    json!({ "server": SERVER, "tool": tool, "arguments": arguments })
}

fn claude(place: &Place, more: &[(&'static str, &str)]) -> Setting {
    let mut env = vec![
        ("ANTHROPIC_BASE_URL", place.url.clone()),
        ("ANTHROPIC_API_KEY", "scripted".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ];
    env.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    if let Server::Registered = place.server {
        return Setting { files: Vec::new(), env, args: words(&["-p", PROMPT]).collect() };
    }
    let config = place.home.join("mcp.json");
    let servers = place.server.servers(json!({ "type": "stdio", "args": [] }), json!({ "type": "http" }), "url");
    Setting {
        args: words(&["-p", PROMPT, "--mcp-config", text(&config), "--strict-mcp-config"])
            // As root it refuses to bypass permissions.
            .chain(words(&["--permission-mode", "dontAsk", "--allowedTools", "mcp__hob"]))
            .collect(),
        files: vec![(config, json!({ "mcpServers": servers }).to_string())],
        env,
    }
}

/// Claude Code as a person starts it at a terminal, with what it asks a newcomer answered.
pub(super) fn claude_at_a_terminal(mut setting: Setting, place: &Place) -> Setting {
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

/// How it offers tools depends on the model that it believes to talk to.
fn codex(place: &Place, model: &str) -> Setting {
    // Without an approval mode for the server, `codex exec` refuses its tools that may destroy.
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
        args: words(&["exec", "--skip-git-repo-check", PROMPT]).collect(),
    }
}

fn gemini(place: &Place) -> Setting {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "mcpServers": place.server.servers(json!({ "args": [] }), json!({}), "httpUrl"),
    });
    let mut env = vec![("GOOGLE_GEMINI_BASE_URL", place.url.clone()), ("GEMINI_API_KEY", "scripted".to_owned())];
    let mut args: Vec<String> = words(&["-m", "gemini-2.5-pro"]).collect();
    if !matches!(place.server, Server::Registered) {
        env.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
        args.extend(words(&["--approval-mode", "yolo"]));
    }
    args.extend(words(&["-p", PROMPT]));
    Setting { files: vec![(place.project.join(".gemini/settings.json"), settings.to_string())], env, args }
}

fn copilot(place: &Place, provider: &str, model: &str) -> Setting {
    let config = place.home.join("mcp.json");
    let program = json!({ "type": "local", "args": [], "tools": ["*"] });
    let servers = place.server.servers(program, json!({ "type": "http", "tools": ["*"] }), "url");
    let mut args: Vec<String> = words(&["-p", PROMPT, "--disable-builtin-mcps", "--no-auto-update"]).collect();
    let mut files = Vec::new();
    if !matches!(place.server, Server::Registered) {
        args.extend(words(&["--trust-folder", "--allow-all-tools"]));
        args.extend(words(&["--additional-mcp-config", &format!("@{}", config.display())]));
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

fn opencode(place: &Place) -> Setting {
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
        args: words(&["run", PROMPT]).collect(),
    }
}

fn words(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into_iter()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have names in UTF-8")
}
