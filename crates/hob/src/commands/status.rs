//! `hob status`: shows the state of the project's daemon, for people or as JSON.

use std::fmt::Write;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use clap::Args;
use client::Control;
use project::dashboard::{NEXT, Snapshot};
use project::{Config, Project};
use serde_json::{Map, Value, json};

use super::call::control_failure;
use crate::commands::current_project;
use crate::exit::{Exit, Failure};
use crate::terminal::{self, Style, paint};

/// Show the state of the project: sessions, agents and their mail, then the daemon
#[derive(Debug, Args)]
pub(crate) struct StatusCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print one line for a status bar: how many agents work and wait
    #[arg(long, conflicts_with = "json")]
    line: bool,
}

/// The time limit of the line: a status bar waits for it.
const LINE_LIMIT: Duration = Duration::from_millis(300);

/// Prints one line for a status bar. Starts nothing.
pub(super) fn line(project: &Project) -> Result<Exit, Failure> {
    let (tell, told) = channel();
    let project = project.clone();
    // A stopped daemon accepts connections and answers none. The thread ends with the process.
    std::thread::spawn(move || tell.send(current_line(&project)));
    terminal::line(match told.recv_timeout(LINE_LIMIT) {
        Ok(line) => line?,
        Err(_) => "hob does not answer".to_owned(),
    });
    Ok(Exit::Done)
}

fn current_line(project: &Project) -> Result<String, Failure> {
    let Some(mut control) = current_project::connect(project)? else {
        return Ok("hob is not running".to_owned());
    };
    let rooms = control.request(NEXT, json!({}), |_, _| {}).map_err(control_failure)?;
    let snapshot: Snapshot = serde_json::from_value(rooms).map_err(Failure::new)?;
    Ok(snapshot.rooms.line())
}

impl StatusCommand {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        if self.line {
            return line(project);
        }
        let running = match current_project::connect(project)? {
            Some(mut control) => Some(control.status().map_err(control_failure)?),
            None => None,
        };
        let changed = running.as_ref().and_then(|status| changed_since(project, status));
        let unusable = project.look_at_state().err().map(|error| error.to_string());
        let (former, set_aside): (Vec<_>, Vec<_>) = current_project::set_aside(project).into_iter().unzip();
        let pid = running.as_ref().and_then(|status| u32::try_from(status["daemon"]["pid"].as_u64()?).ok());
        let other = pid.and_then(super::other_program::notice);
        let notices: Vec<String> = other.into_iter().chain(changed).chain(unusable).chain(set_aside).collect();
        if self.json {
            let not_running = || json!({"running": false, "root": project.root(), "state": project.state_dir()});
            let mut status = running.unwrap_or_else(not_running);
            if let Some(status) = status.as_object_mut().filter(|_| !notices.is_empty()) {
                status.insert("set_aside".to_owned(), json!(former));
                status.insert("notices".to_owned(), json!(notices));
            }
            terminal::json(&status);
            return Ok(Exit::Done);
        }
        match running {
            Some(status) => terminal::print(&text(&status, &agents(project, &status).unwrap_or_default())),
            None => {
                let root = project::visible::path(project.root());
                terminal::line(match Config::load(project, &daemon::sections()) {
                    Ok(_) if project::socket::is_left_over(project) => format!(
                        "No daemon is running for {root}: the last one was killed or crashed, which ended its \
                         sessions. The next call starts a new one; questions, mail and output are kept. The log is \
                         in {}.",
                        project::visible::path(&project.log_dir())
                    ),
                    Ok(_) => format!("No daemon is running for {root}; it starts on demand."),
                    Err(error) => format!("No daemon is running for {root}, and none can start: {error}"),
                });
            }
        }
        for notice in notices {
            terminal::line(paint(&notice, Style::Yellow));
        }
        Ok(Exit::Done)
    }
}

/// Returns the agents, if the mail store is open; this does not open it. `None` if they are unknown.
fn agents(project: &Project, status: &Value) -> Option<Value> {
    if status["mail"]["open"] != true {
        return None;
    }
    let mut hello = current_project::hello(project).ok()?;
    hello.toolsets = vec!["mail".to_owned()];
    // Use a reserved name: a status query must not mark the worktree's agent as present.
    hello.name = Some("hob status".to_owned());
    let mut control = Control::connect(project, &hello).ok()??;
    let mut result = control.call("list_agents", Map::new(), |_| {}, |_, _| {}).ok()?;
    Some(result["structuredContent"]["agents"].take()).filter(Value::is_array)
}

/// Renders the snapshot: first activity and pending items, then the daemon. Fields that an older or newer daemon does not
/// send are omitted.
fn text(status: &Value, agents: &Value) -> String {
    let mut out = String::new();
    let mut say = |line: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
    };
    if let Some(reason) = status["stopping"].as_str() {
        say(paint(&format!("the daemon is stopping: {reason}"), Style::Yellow));
    }
    section(&mut say, "sessions", &status["sessions"], session);
    section(&mut say, "agents", agents, agent);
    if status["mail"].is_object() {
        super::mail::place_lines(&status["mail"]).into_iter().for_each(&mut say);
    }
    for part in status["parts"].as_array().into_iter().flatten() {
        section(&mut say, &plain(&part["part"]), &part["lines"], plain);
    }
    if status["withheld"].as_array().is_some_and(|withheld| !withheld.is_empty()) {
        let title = if status["granted_since"] == true {
            "granted after this daemon started (run `hob stop`; the next call starts one that has it)"
        } else {
            "not granted (`hob trust` shows and grants it)"
        };
        section(&mut say, title, &status["withheld"], withheld);
    }
    daemon_lines(&status["daemon"]).into_iter().for_each(&mut say);
    let own = std::process::id();
    let others =
        status["connections"].as_array().map(|all| all.iter().filter(|one| one["pid"] != own).cloned().collect());
    section(&mut say, "connections", &others.unwrap_or(Value::Null), connection);
    for (title, more) in [("toolsets", "`hob tools` lists their tools"), ("profiles", "`hob mcp --profile NAME`")] {
        let names: Vec<String> =
            status[title].as_array().into_iter().flatten().map(|set| plain(&set["name"])).collect();
        if !names.is_empty() {
            say(format!("{}: {} ({more})", paint(title, Style::Bold), names.join(", ")));
        }
    }
    out
}

fn daemon_lines(daemon: &Value) -> Vec<String> {
    let mut head = format!("{}: hob {}", paint("daemon", Style::Bold), plain(&daemon["version"]));
    for shown in [
        daemon["pid"].as_u64().map(|pid| format!("pid {pid}")),
        daemon["uptime_ms"].as_u64().map(|ms| format!("up {}", time(ms))),
        daemon["memory_bytes"].as_u64().map(size),
    ] {
        head.extend(shown.map(|shown| format!(", {shown}")));
    }
    let mut lines = vec![head, format!("  serves {}, log in {}", plain(&daemon["root"]), plain(&daemon["log"]))];
    if let Some(url) = daemon["http"].as_str() {
        lines.push(format!("  also serves {url}, the token is in {}", plain(&daemon["http_token"])));
    }
    if let Some(limit) = daemon["idle_limit_ms"].as_u64() {
        lines.push(format!("  exits after {} without connections and sessions", time(limit)));
    }
    lines
}

fn section(say: &mut impl FnMut(String), title: &str, items: &Value, line: impl Fn(&Value) -> String) {
    let Some(items) = items.as_array() else { return };
    let none = if items.is_empty() { " none" } else { "" };
    say(format!("{}:{none}", paint(title, Style::Bold)));
    items.iter().for_each(|item| say(format!("  {}", line(item))));
}

/// False in the states in which a session's program is gone, and its pending items do not matter.
pub(super) fn is_alive(session: &Value) -> bool {
    !matches!(session["state"].as_str(), Some("exited" | "crashed" | "stopped" | "killed"))
}

pub(super) fn session(session: &Value) -> String {
    let state = plain(&session["state"]).replace('_', " ");
    let since = session["idle_ms"].as_u64().filter(|ms| state == "idle" && *ms >= 1000);
    let state = match since {
        Some(ms) => format!("idle for {}", time(ms)),
        None => state,
    };
    let mut parts = vec![plain(&session["profile"]), state];
    parts.extend(session["queue_depth"].as_u64().filter(|count| *count > 0).map(|count| format!("{count} queued")));
    let lives = is_alive(session);
    parts.extend(session["pid"].as_u64().filter(|_| lives).map(|pid| format!("pid {pid}")));
    parts.extend(session["memory_bytes"].as_u64().filter(|_| lives).map(size));
    parts.extend(session["uptime_ms"].as_u64().map(|ms| format!("up {}", time(ms))));
    parts.extend(session["worktree"].as_str().map(|_| format!("of {}", plain(&session["worktree"]))));
    parts.retain(|part| !part.is_empty());
    format!("{}: {}", paint(&plain(&session["session"]), Style::Bold), parts.join(", "))
}

fn agent(agent: &Value) -> String {
    let mut parts = vec![plain(&agent["status"])];
    parts.extend(match agent["unread"].as_u64() {
        None | Some(0) => None,
        Some(1) => Some(paint("1 message waits", Style::Yellow)),
        Some(count) => Some(paint(&format!("{count} messages wait"), Style::Yellow)),
    });
    // The agent's own description of its work.
    parts.extend(agent["intent"].as_str().filter(|intent| !intent.is_empty()).map(|_| plain(&agent["intent"])));
    format!("{} ({}): {}", paint(&plain(&agent["name"]), Style::Bold), plain(&agent["role"]), parts.join(", "))
}

fn connection(connection: &Value) -> String {
    let who = match connection["name"].as_str() {
        Some(_) => plain(&connection["name"]),
        None => plain(&connection["role"]),
    };
    let mut parts = vec![format!("pid {}", plain(&connection["pid"])), format!("in {}", plain(&connection["cwd"]))];
    parts.extend(connection["profile"].as_str().map(|_| format!("profile {}", plain(&connection["profile"]))));
    parts.extend(connection["age_ms"].as_u64().map(|ms| format!("for {}", time(ms))));
    format!("{who}: {}", parts.join(", "))
}

fn withheld(request: &Value) -> String {
    format!("{} (line {}): {}", plain(&request["key"]), plain(&request["line"]), plain(&request["asks"]))
}

/// Returns a warning if the configuration changed after the daemon read it.
pub(super) fn changed_since(project: &Project, status: &Value) -> Option<String> {
    let uptime = Duration::from_millis(status["daemon"]["uptime_ms"].as_u64()?);
    let started = SystemTime::now().checked_sub(uptime)?;
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let files = [Some(project.config_path()), project::UserConfig::path()];
    let newer = files.into_iter().flatten().find(|path| modified(path).is_some_and(|at| at > started))?;
    let newer = project::visible::path(&newer);
    if let Err(error) = Config::load(project, &daemon::sections()) {
        return Some(format!(
            "{newer} has changed since the daemon started, and a new daemon cannot start with it: {error}. Fix this before you stop the running daemon"
        ));
    }
    Some(format!(
        "{newer} has changed since the daemon started: run `hob stop`; the next call starts one that reads it"
    ))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => project::visible(text),
        other => other.to_string(),
    }
}

fn time(ms: u64) -> String {
    match ms / 1000 {
        0 => format!("{ms} ms"),
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_snapshot_for_people() {
        let status = json!({
            "daemon": {
                "pid": 7, "version": "0.1.0", "protocol": 1, "life": "ab", "uptime_ms": 125_000, "root": "/p",
                "log": "/s/log", "memory_bytes": 12_582_912, "idle_limit_ms": 1_800_000,
            },
            "connections": [{"connection": 1, "role": "mcp", "pid": 8, "name": "claude", "cwd": "/p", "age_ms": 900}],
            "sessions": [
                {"session": "main", "profile": "ghci", "state": "idle", "idle_ms": 130_000, "uptime_ms": 900_000},
                {"session": "other", "profile": "bash", "state": "waiting_for_input", "queue_depth": 2, "uptime_ms": 900},
            ],
            "mail": {"place": "its own file /s/mail.db", "open": true},
            "toolsets": [{"name": "repl", "about": "live REPLs", "tools": 12}],
            "withheld": [{"key": "repl.profiles.mine", "line": 3, "asks": "runs the command [\"sh\"]"}],
        });
        let agents = json!([
            {"name": "planner", "role": "lead", "status": "active", "unread": 0, "intent": "api"},
            {"name": "reviewer", "role": "dev", "status": "offline", "unread": 3, "intent": ""},
        ]);
        expect![[r#"
            sessions:
              main: ghci, idle for 2 min, up 15 min
              other: bash, waiting for input, 2 queued, up 900 ms
            agents:
              planner (lead): active, api
              reviewer (dev): offline, 3 messages wait
            mail: in its own file /s/mail.db
            not granted (`hob trust` shows and grants it):
              repl.profiles.mine (line 3): runs the command ["sh"]
            daemon: hob 0.1.0, pid 7, up 2 min, 12.0 MiB
              serves /p, log in /s/log
              exits after 30 min without connections and sessions
            connections:
              claude: pid 8, in /p, for 900 ms
            toolsets: repl (`hob tools` lists their tools)
        "#]]
        .assert_eq(&text(&status, &agents));
        let apart = json!({"mail": {"place": "A", "problem": "this project's mail is in A, but B is configured",
                                     "next": ["`hob mail keep` …"], "open": false}});
        assert!(
            text(&apart, &Value::Null)
                .contains("mail: in A\n  this project's mail is in A, but B is configured\n  `hob mail")
        );
        assert_eq!(text(&json!({}), &Value::Null).lines().next(), Some("daemon: hob "));
    }
}
