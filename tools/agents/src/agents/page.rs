//! The page of results: each agent's protocol, the results that reached the model, and the start of each agent.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use taskkit::workspace::read;

use super::asking::TRIALS;
use super::kinds::{Environment, Server, Setting};
use super::record::{Call, Offer};
use super::states::STATES;
use super::tasks::Task;
use super::{DoctorComparison, Row};

/// Maximum number of characters shown of a result.
const EXCERPT: usize = 400;

pub(super) fn page(rows: &[Row], judged: &[DoctorComparison], tasks: &[Task]) -> Result<String> {
    let day = read(Command::new("date").args(["-u", "+%F"]))?;
    let mut page = format!(
        "\
# Coding agents

Written by `cargo xtask clients agents` on {}: real coding agents with `hob mcp`, each in a separate project, driven by
a model that follows a script. Bytes of tools are those of their names, descriptions and schemas. Where a model is offered none at first, it sees their
names, and searches; what it then gets is at the end.

## What they say to hob, and what the model is told

| agent | version | client | revision | hob lists | offered at first | at the end | instructions |
|---|---|---|---|---|---|---|---|
",
        day.trim()
    );
    for row in rows {
        let (name, version) = (row.agent.name, &row.version);
        match &row.run.seen {
            Ok(seen) => {
                let [listed, first, mut last] = seen.tools.map(offer);
                if seen.tools[2].tools == 0 {
                    last = format!("{} bytes of text", seen.found);
                }
                let (client, revision) = (&seen.client, &seen.revision);
                let instructions = match seen.instructions {
                    [all, first, last] if first == last => format!("{last} of {all} bytes"),
                    [all, first, last] => format!("{first}, then {last} of {all} bytes"),
                };
                let _ = writeln!(
                    page,
                    "| {name} | {version} | {client} | {revision} | {listed} | {first} | {last} | {instructions} |"
                );
            }
            Err(error) => {
                let _ = writeln!(page, "| {name} | {version} | FAIL: {error:#} |||||||");
            }
        }
    }
    page.push_str(
        "\n## What reaches the model of a result\n\nText is `content`, JSON is `structuredContent`; the number is that of the bytes that reached the model. In \
         parentheses: what would\nreach it of a server that gave both (`hob mcp --results both`). `-`: the agent did not offer its model the tool.\n\n| task |",
    );
    for row in rows {
        let _ = write!(page, " {} |", row.agent.name);
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(rows.len()));
    for (index, task) in tasks.iter().enumerate() {
        let _ = write!(page, "| {} |", task.name);
        for row in rows {
            let [now, both] = [&row.run, &row.with_both].map(|run| {
                let call = run.seen.as_ref().ok().and_then(|seen| seen.of_task(index));
                call.map_or_else(|| "-".to_owned(), cell)
            });
            let _ = if now == both { write!(page, " {now} |") } else { write!(page, " {now} ({both}) |") };
        }
        page.push('\n');
    }
    registered(&mut page, rows);
    doctor(&mut page, judged);
    page.push_str("\n## What else they went through\n\nOver HTTP, as `hob init --http` says; and killed in mid-evaluation, then started again: the session is interrupted, and has kept its state. A node without a model is answered by the \
         agent's own: a wrong value comes back with its problems, a right one is accepted.\n\n| agent | over HTTP | killed | answers a node |\n|---|---|---|---|\n");
    for row in rows {
        let [http, killed, delegated] = [&row.over_http, &row.killed, &row.delegated].map(|trial| match trial {
            Ok(missed) if missed.is_empty() => "right".to_owned(),
            Ok(missed) => format!("not right: {}", missed.join(", ")),
            Err(error) => format!("FAIL: {error:#}").replace('\n', " "),
        });
        let _ = writeln!(page, "| {} | {http} | {killed} | {delegated} |", row.agent.name);
    }
    push_asking(&mut page, rows);
    for row in rows {
        details(&mut page, row, tasks);
    }
    Ok(page)
}

fn push_asking(page: &mut String, rows: &[Row]) {
    page.push_str(
        "\n## Questions to a person\n\nAsked without a terminal: nobody watches; `hob answer` while `hob questions --watch` runs and no \
         dialog is up yet; `wait_s: 1`, answered\nafter `timed_out`; and whether the agent's own shell can answer. In its dialog, by keys at a terminal: each tool and a form of every kind of\nfield; \
         Escape; an answer by `hob answer` while the dialog stood; a daemon that was killed meanwhile.\n\n| agent |",
    );
    for name in TRIALS {
        let _ = write!(page, " {name} |");
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(TRIALS.len()));
    for row in rows {
        let _ = write!(page, "| {} |", row.agent.name);
        for asked in &row.asked {
            let _ = match asked {
                Some(Ok(said)) => write!(page, " {said} |"),
                Some(Err(error)) => write!(page, " FAIL: {} |", format!("{error:#}").replace('\n', " ")),
                None => write!(page, " not tried |"),
            };
        }
        page.push('\n');
    }
}

/// The steps that `hob init` leaves to a person, and whether the agent works after `hob init --allow`.
fn registered(page: &mut String, rows: &[Row]) {
    page.push_str(
        "\n## Registered by `hob init`\n\nWhat it says is left for a person, and whether the agent then works with what `hob init --allow` \
         wrote and nothing else.\n\n| agent | left for a person | with `--allow` |\n|---|---|---|\n",
    );
    for row in rows {
        let name = row.agent.name;
        let _ = match &row.registered {
            Ok(registered) => {
                let left = if registered.left.is_empty() { "nothing".to_owned() } else { registered.left.join("<br>") };
                let right = match registered.missed.as_slice() {
                    [] => "right".to_owned(),
                    missed => format!("not right: {}", missed.join(", ")),
                };
                writeln!(page, "| {name} | {left} | {right} |")
            }
            Err(error) => writeln!(page, "| {name} | FAIL: {} ||", format!("{error:#}").replace('\n', " ")),
        };
    }
}

fn doctor(page: &mut String, judged: &[DoctorComparison]) {
    page.push_str(
        "\n## `hob doctor` beside the agent's own list\n\nWhat `mcp list` says of hob, then whether `hob doctor` calls the agent ok. \
         A list that says \"listed\" starts nothing, and\nknows nothing of programs that are not there or are not hob. Cursor has no \
         package: what is said of it is from its documentation.\n\n| agent |",
    );
    for (_, name) in STATES {
        let _ = write!(page, " {name} |");
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(STATES.len()));
    for judged in judged {
        let _ = write!(page, "| {} |", judged.installation.title);
        for ((state, _), compared) in STATES.iter().zip(&judged.states) {
            let _ = match compared {
                Ok(Some(compared)) => write!(page, " {} |", compared.cell(*state)),
                Ok(None) => write!(page, " asks for none |"),
                Err(error) => write!(page, " FAIL: {} |", format!("{error:#}").replace('\n', " ")),
            };
        }
        page.push('\n');
    }
}

fn details(page: &mut String, row: &Row, tasks: &[Task]) {
    let _ = write!(page, "\n## {}\n\n```text\n{}\n```\n", row.agent.name, row.started);
    if let Some(missed) = row.missed(tasks) {
        let _ = write!(page, "\nFAIL: {missed}\n");
    }
    let Ok(seen) = &row.run.seen else { return };
    let starts = if seen.starts == 1 { String::new() } else { format!(" It started hob {} times.", seen.starts) };
    let _ = write!(page, "\nBesides calls it sent: {}.{starts}\n\n```text\n", seen.methods.join(", "));
    for (task, call) in &seen.calls {
        let mut shown: String = call.text.chars().take(EXCERPT).collect();
        if shown.len() < call.text.len() {
            shown.push('…');
        }
        let [text, json] = call.given;
        let error = if call.is_error { ", as an error" } else { "" };
        let name = tasks[*task].name;
        let json = if json == 0 { String::new() } else { format!(", {json} of JSON") };
        let _ = writeln!(page, "{name}: {} (hob gave {text} bytes of text{json}{error}):", call.tool);
        for line in shown.lines() {
            let _ = writeln!(page, "{}", format!("    {line}").trim_end());
        }
    }
    page.push_str("```\n");
}

fn offer(offer: Offer) -> String {
    match offer.tools {
        0 => "none".to_owned(),
        tools => format!("{tools}, {} bytes", offer.bytes),
    }
}

fn cell(call: &Call) -> String {
    let what = match (call.has_text, call.has_json) {
        (true, true) => "text and JSON",
        (true, false) => "text",
        (false, true) => "JSON",
        (false, false) if call.is_cut => "cut short",
        (false, false) => "something else",
    };
    format!("{what}, {}", call.bytes)
}

/// Returns the files, environment and command line of an agent, without parts that vary.
pub(super) fn started(setting: &Setting, command: &str, node: &Path, packages: &Path, place: &Environment) -> String {
    let mut text = String::new();
    for (path, file) in &setting.files {
        let _ = writeln!(text, "{}:", path.display());
        for line in file.lines() {
            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
        }
    }
    for (name, value) in &setting.env {
        let _ = write!(text, "{name}={value} ");
    }
    text.push_str(command);
    let server = match &place.server {
        Server::Program(path) => path.display().to_string(),
        Server::Http { url, .. } => url.clone(),
        Server::Registered | Server::Nothing => "hob mcp".to_owned(),
    };
    let parts = [
        (node.display().to_string(), "node"),
        (packages.join("claude/node_modules").display().to_string(), "PACKAGES"),
        (packages.join("others/node_modules").display().to_string(), "PACKAGES"),
        (server, "HOB-MCP"),
        (place.home.display().to_string(), "HOME"),
        (place.project.display().to_string(), "PROJECT"),
        (place.url.clone(), "http://127.0.0.1:PORT"),
    ];
    parts.iter().fold(text, |text, (long, short)| text.replace(long.as_str(), short))
}
