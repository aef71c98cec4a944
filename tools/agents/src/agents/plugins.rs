//! `cargo xtask clients plugins`: hob's plugin in the real agents, from nothing to a first answered call.
//!
//! Each agent installs the folder `plugin` by its own commands, in a home without any file of hob, then calls hob's tools with
//! the scripted model and removes the plugin again. opencode has no such plugins, so `hob init` registers hob there. The page
//! lists the commands, and the steps that stay with a person.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::workspace::{Profile, build, root, write_page};

use super::kinds::{AGENTS, Agent, Server};
use super::stage::{Programs, Stage};
use super::tasks::{task, turns};
use super::{installed, tested, trials, version};
use crate::clients::stdout_of;

/// An agent, and how it gets hob.
struct Host {
    /// The name in [`AGENTS`].
    agent: &'static str,
    /// The commands that install hob; `PLUGIN` is the folder.
    install: &'static [&'static str],
    remove: &'static [&'static str],
    /// The remaining steps of a person in a terminal.
    clicks: &'static str,
    /// Arguments with which a run without a person gets the same.
    grants: &'static [&'static str],
}

const HOSTS: [Host; 5] = [
    Host {
        agent: "Claude Code",
        install: &["claude plugin marketplace add PLUGIN", "claude plugin install hob@hob"],
        remove: &["claude plugin uninstall hob@hob", "claude plugin marketplace remove hob"],
        clicks: "trust the folder; allow the first call",
        grants: &["--allowedTools", "mcp__plugin_hob_hob"],
    },
    Host {
        agent: "Codex, another model",
        install: &["codex plugin marketplace add PLUGIN", "codex plugin add hob@hob"],
        remove: &["codex plugin remove hob@hob", "codex plugin marketplace remove hob"],
        clicks: "trust the folder; allow the first call; `/hooks` to review the hooks",
        grants: &[
            "--dangerously-bypass-hook-trust",
            "-c",
            r#"plugins."hob@hob".mcp_servers.hob.default_tools_approval_mode="approve""#,
        ],
    },
    Host {
        agent: "Gemini CLI",
        install: &["gemini extensions install PLUGIN/hob --consent"],
        remove: &["gemini extensions uninstall hob"],
        clicks: "trust the extension's folder; trust the project's folder; allow the first call",
        grants: &["--approval-mode", "yolo"],
    },
    Host {
        agent: "Copilot CLI, gpt-5.1",
        install: &["copilot plugin marketplace add PLUGIN", "copilot plugin install hob@hob"],
        remove: &["copilot plugin uninstall hob@hob", "copilot plugin marketplace remove hob"],
        clicks: "trust the folder; allow the first call",
        grants: &["--trust-folder", "--allow-all-tools"],
    },
    Host {
        agent: "opencode",
        install: &["hob init --agent opencode --allow"],
        remove: &["hob init --undo"],
        clicks: "nothing",
        grants: &[],
    },
];

/// Runs all agents and writes docs/generated/plugins.md. `--hob FILE` tests a built program.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let hob = match args {
        [] => None,
        [flag, file] if flag == "--hob" => Some(Path::new(file).to_path_buf()),
        _ => bail!("it takes only --hob FILE"),
    };
    let tools = setup::tests()?;
    let hosts = HOSTS.each_ref().map(|host| {
        let agent = AGENTS.iter().find(|agent| agent.name == host.agent);
        (host, agent.expect("each host is one of the agents"))
    });
    let packages = installed(&tools, hosts.iter().map(|(_, agent)| agent.list()))?;
    let hob = tested(hob)?;
    let model = build(Profile::Dev, &["--quiet", "-p", "testkit", "--bin", "scripted-model"])?.join("scripted-model");
    let programs = Programs { tools: &tools, packages: &packages, hob: &hob, model: &model };
    let mut page = "# Plugins of agents\n\nWritten by `cargo xtask clients plugins`: the real agents install the folder `plugin` \
                    from a path, in a home without a file of hob, and call `repl_eval`.\nThe last column has the steps that an \
                    agent asks of a person at a terminal; the run grants them by arguments instead.\n\n\
                    | agent | version | commands | install | first call | hooks that ran | a person also |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (host, agent) in hosts {
        println!("clients: {}", agent.name);
        let version = version(&agent.directory(&packages))?;
        let ([install_s, call_s], hooks) =
            play(host, agent, &programs).with_context(|| format!("{}: the plugin", agent.name))?;
        let commands: Vec<String> = host.install.iter().map(|line| format!("`{line}`")).collect();
        let (commands, title) = (commands.join(", "), agent.installation.title);
        let _ = writeln!(
            page,
            "| {title} | {version} | {commands} | {install_s:.1} s | {call_s:.1} s | {hooks} | {} |",
            host.clicks
        );
    }
    page += "\n`PLUGIN` is the path of the folder `plugin`. The columns \"install\" and \"first call\" are durations: of these commands, \
             and of a whole run of the agent with two calls.\nCodex ran its hooks without the review, by an argument. \
             Instead of the plugin, `hob init --allow` takes one command and no further step ([agents](agents.md)).\n";
    println!("\n{page}");
    write_page("docs/generated/plugins.md", &page)?;
    println!("{} passed, 0 failed", HOSTS.len());
    Ok(())
}

/// Installs the plugin, plays two calls and removes it. Returns the seconds of the installation and of the run, and the events
/// of the plugin's hooks.
fn play(host: &Host, agent: &Agent, programs: &Programs<'_>) -> Result<([f64; 2], String)> {
    let stage = Stage::new(programs)?;
    let expected = vec![
        (task("start", "repl_start", json!({ "profile": "python" })), "[main: python"),
        (task("evaluate", "repl_eval", json!({ "code": "40+2" })), "42\n"),
    ];
    let (tasks, texts): (Vec<_>, Vec<_>) = expected.into_iter().unzip();
    let before = |tools: &[&str]| {
        let mut search = (agent.before)(tools)?;
        // Claude Code names a plugin's tools after the plugin too.
        let query =
            search["arguments"]["query"].as_str().map(|query| query.replace("mcp__hob__", "mcp__plugin_hob_hob__"));
        search["arguments"]["query"] = query?.into();
        Some(search)
    };
    let turns = turns(&tasks, before, agent.call);
    let model = stage.model(&turns)?;
    let setting = (agent.setting)(&stage.environment_for(Server::Registered, &model));
    let mut command = stage.agent(agent, &setting)?;
    command.args(host.grants);
    trust(&stage)?;
    let path = path_with_hob(&stage, programs)?;
    let run = |lines: &[&str]| -> Result<()> {
        for line in lines {
            let line = line.replace("PLUGIN", root().join("plugin").to_str().context("the path is not UTF-8")?);
            let (program, arguments) = line.split_once(' ').context("each line has arguments")?;
            let mut command = if program == "hob" { stage.hob(&[])? } else { stage.program(agent)? };
            command.args(arguments.split(' ')).envs(setting.env.iter().cloned()).env("PATH", &path);
            stdout_of(&mut command).with_context(|| format!("`{line}` failed"))?;
        }
        Ok(())
    };
    let from = Instant::now();
    run(host.install)?;
    let installed = from.elapsed().as_secs_f64();
    let from = Instant::now();
    command.env("PATH", &path);
    let missed = trials::outcome(&tasks, &texts, &turns, model, &mut command)?;
    let called = from.elapsed().as_secs_f64();
    let log = stdout_of(&mut stage.hob(&["hooks", "log", "--json", "--last", "1000"])?)?;
    let log = serde_json::Deserializer::from_str(&log).into_iter::<Value>().map_while(Result::ok);
    let mut hooks: Vec<String> = log.filter_map(|line| line["event"].as_str().map(str::to_owned)).collect();
    hooks.sort_unstable();
    hooks.dedup();
    stage.stop()?;
    if !missed.is_empty() {
        bail!("wrong: {}", missed.join(", "));
    }
    run(host.remove)?;
    let hooks = if hooks.is_empty() { "none".to_owned() } else { hooks.join(", ") };
    Ok(([installed, called], hooks))
}

/// Trusts the folders that Gemini CLI asks about: that of the plugin, and the project.
fn trust(stage: &Stage<'_>) -> Result<()> {
    let folders = [root().join("plugin/hob"), stage.project().to_owned()]
        .map(|folder| (folder.display().to_string(), json!("TRUST_FOLDER")));
    let folders = Value::Object(folders.into_iter().collect());
    let dir = stage.home().join(".gemini");
    std::fs::create_dir_all(&dir)
        .and_then(|()| std::fs::write(dir.join("trustedFolders.json"), folders.to_string()))
        .context("could not trust the folders")
}

/// Returns a `PATH` with the tested hob, by which the plugin's launcher finds it.
fn path_with_hob(stage: &Stage<'_>, programs: &Programs<'_>) -> Result<std::ffi::OsString> {
    let dir = stage.parent_directory().join("bin");
    std::fs::create_dir(&dir)
        .and_then(|()| std::os::unix::fs::symlink(programs.hob, dir.join("hob")))
        .context("could not link hob")?;
    let path = programs.tools.path()?;
    Ok(std::env::join_paths([dir].into_iter().chain(std::env::split_paths(&path)))?)
}
