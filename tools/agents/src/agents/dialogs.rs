//! Questions in Claude Code's own dialog, answered by keys in a terminal: each tool, every kind of field, Escape, an
//! answer given elsewhere while the dialog is open, and a daemon that is killed meanwhile.
//!
//! The expected screens are those of one version. A newer one may need other keys.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::until;
use taskkit::workspace::succeeds;

use super::asking::{NOTE, answer, check_result, confirm, open, watch};
use super::kinds::{Agent, PROMPT, claude_at_a_terminal};
use super::record;
use super::stage::{Programs, Stage};
use super::tasks::{Task, task, turns};
use super::terminal::Terminal;

/// Text on the screen while a dialog is open.
const DIALOG: &str = "requests your input";
/// Text on the screen while the agent waits for a prompt.
const WAITS: &str = "❯";
/// Minimum time for which a person looks at a dialog.
const LOOK: Duration = Duration::from_millis(600);
/// Number of attempts of the person.
const TRIES: usize = 5;
/// Text of the scripted model while it has no tools.
const NOT_YET: &str = "No tool here is named";
/// Text of the scripted model when it has finished.
const CLOSING: &str = "The script ends here.";

/// Last text on the screen before a form is sent.
const ACCEPT: &str = "❯ Accept";

/// A step of the person: keys, and the text on the screen afterwards.
type Step = (Key, &'static str);

enum Key {
    Press(&'static str),
    Type(&'static str),
}
use Key::{Press, Type};

const CONFIRM: &[Step] =
    &[(Press("Right"), "◯ yes"), (Press("Enter"), "✔ Do it?: yes"), (Press("Down"), ACCEPT), (Press("Enter"), "")];

const SELECT: &[Step] = &[
    (Press("Right"), "❯ ◯ SQLite"),
    (Press("Down"), "❯ ◯ PostgreSQL"),
    (Press("Space"), "✔ Choice: ▸ PostgreSQL"),
    (Press("Down"), "❯   Note (optional)"),
    (Type("for now"), "✔ Note (optional): for now"),
    (Press("Down"), ACCEPT),
];

const GUIDE: &[Step] = &[
    (Type("mend the test"), "✔ Guidance: mend the test"),
    (Press("Down"), "❯   Note (optional)"),
    (Press("Down"), ACCEPT),
];

const FORM: &[Step] = &[
    (Type("v2"), "✔ Version: v2"),
    (Press("Down"), "❯   why"),
    (Type("because"), "✔ why: because"),
    (Press("Down"), "❯ ✔ copies"),
    (Press("Down"), "❯   share"),
    (Type("0.5"), "✔ share: 0.5"),
    (Press("Down"), "❯ * Ship it?"),
    (Press("Right"), "❯ ◯ yes"),
    (Press("Space"), "✔ Ship it?: ▸ yes"),
    (Press("Down"), "❯   where"),
    (Press("Right"), "❯ ◯ Europe"),
    (Press("Down"), "❯ ◯ us"),
    (Press("Space"), "✔ where: ▸ us"),
    (Press("Down"), "❯   with"),
    (Press("Right"), "❯ ☐ docs"),
    (Press("Space"), "❯ ☒ docs"),
    (Press("Left"), "✔ with: ▸ docs"),
    (Press("Down"), "❯   when"),
    (Type("2026-12-01"), "✔ when: 2026-12-01"),
    (Press("Down"), "❯   Note (optional)"),
    (Press("Down"), ACCEPT),
];

/// Runs everything in one session.
pub(super) fn by_keys(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let tasks = tasks();
    let turns = turns(&tasks, agent.before, agent.call);
    let model = stage.model(&turns)?;
    let place = stage.environment_for(stage.direct(" ask")?, &model);
    let setting = claude_at_a_terminal((agent.setting)(&place), &place);
    let terminal = Terminal::start(&stage, &stage.agent(agent, &setting)?)?;
    let done = answer_all(&stage, &terminal);
    drop(terminal);
    let results = record::results(&model.end()?, &turns);
    let got = || results.as_ref().map_or_else(|error| error.to_string(), |results| format!("{results:?}"));
    done.with_context(|| format!("the model got: {}", got()))?;
    stage.stop()?;
    let results = results?;
    for (at, expected) in EXPECTED.iter().enumerate() {
        for text in *expected {
            check_result(&results, at, text)?;
        }
    }
    Ok("accepted: three tools, a form, after a restart; Escape; answered elsewhere".to_owned())
}

/// The expected result of each task that reached the model.
const EXPECTED: &[&[&str]] = &[
    &["answered by", "in this program's own dialog (", "confirmed: true"],
    &["in this program's own dialog (", "selected: \"pg\"", "note: \"for now\""],
    &["in this program's own dialog (", "guidance: \"mend the test\""],
    &[
        "in this program's own dialog (",
        "version: \"v2\"",
        "why: \"because\"",
        "copies: 2",
        "share: 0.5",
        "ship: true",
        "where: \"us\"",
        "with: [\"docs\"]",
        "when: \"2026-12-01\"",
    ],
    &["cancelled: q_"],
    &["answered by", "with `hob answer` (", "confirmed: true", NOTE],
    &["answered by", "in this program's own dialog (", "confirmed: true"],
    &["answered by", "with `hob answer` (", "confirmed: true", NOTE],
];

fn tasks() -> Vec<Task> {
    vec![
        confirm("accept", json!({})),
        task(
            "select",
            "select_option",
            json!({ "prompt": "Which store?", "options": [["sqlite", "SQLite"], ["pg", "PostgreSQL"]], "allow_custom": false }),
        ),
        task("guide", "request_guidance", json!({ "context": "The test is flaky. How to go on?" })),
        task("fill in", "ask_form", form()),
        confirm("escape", json!({ "action": "Push?" })),
        confirm("elsewhere", json!({ "action": "Merge?" })),
        confirm("over a restart", json!({ "action": "Tag?" })),
        confirm("without a dialog", json!({ "action": "Release?" })),
    ]
}

fn form() -> Value {
    json!({ "title": "The release", "message": "Two things are open.", "fields": [
        { "id": "about", "kind": "note", "label": "Take your time." },
        { "id": "version", "label": "Version", "required": true, "pattern": "v[0-9]+" },
        { "id": "why", "kind": "multiline" },
        { "id": "copies", "kind": "integer", "min": 1, "default": 2 },
        { "id": "share", "kind": "number" },
        { "id": "ship", "kind": "boolean", "label": "Ship it?", "required": true },
        { "id": "where", "kind": "choice", "options": [{ "id": "eu", "label": "Europe" }, { "id": "us" }] },
        { "id": "with", "kind": "multichoice", "options": [{ "id": "docs" }, { "id": "source" }] },
        { "id": "when", "kind": "date", "show_if": { "field": "ship", "equals": true } },
    ] })
}

fn answer_all(stage: &Stage<'_>, terminal: &Terminal<'_>) -> Result<()> {
    begin(stage, terminal)?;
    for (title, steps) in
        [("Delete the branch?", CONFIRM), ("Which store?", SELECT), ("flaky", GUIDE), ("The release", FORM)]
    {
        dialog(terminal, title)?;
        // The dialog shows only the first lines, and says so.
        if title == "The release" && !terminal.text()?.contains("Not everything is shown") {
            bail!("nothing says that there is more: {}", terminal.text()?);
        }
        take(terminal, steps)?;
    }
    // It closes the question.
    leave(terminal, "Push?")?;
    // An answer given elsewhere reaches the agent only after the dialog is closed.
    dialog(terminal, "Merge?")?;
    answer(stage)?;
    until("the answer to be stored", || Ok((!open(stage)?).then_some(())))?;
    if !terminal.text()?.contains("Merge?") {
        bail!("the dialog is gone, though nobody closed it");
    }
    leave(terminal, "Merge?")?;
    // Its ticket survives the daemon.
    dialog(terminal, "Tag?")?;
    let pid = stage.status()?["daemon"]["pid"].to_string();
    if !succeeds(Command::new("kill").args(["-KILL", &pid])) {
        bail!("the daemon could not be killed");
    }
    let face = watch(stage)?;
    take(terminal, CONFIRM)?;
    // Now a person watches: the answer arrives before a dialog is opened, and the agent continues with it.
    until("the last question", || Ok(open(stage)?.then_some(())))?;
    answer(stage)?;
    let screen = terminal.until(CLOSING)?;
    drop(face);
    if screen.contains(DIALOG) { bail!("a dialog is up: {screen}") } else { Ok(()) }
}

/// Starts the work once the agent has the tools. An earlier prompt would be answered without them.
fn begin(stage: &Stage<'_>, terminal: &Terminal<'_>) -> Result<()> {
    until("the agent to connect", || {
        let status = stage.status()?;
        let mut connections = status["connections"].as_array().into_iter().flatten();
        Ok(connections.any(|connection| connection["role"] == "mcp").then_some(()))
    })?;
    terminal.until(WAITS)?;
    let mut refused = 0;
    while refused < TRIES {
        // Above the lower border of the input box.
        let typed = format!("{PROMPT}\n──");
        terminal.enter(PROMPT, &typed)?;
        terminal.press_away("Enter", &typed)?;
        let is_up = until("the first dialog", || {
            let screen = terminal.text()?;
            let is_refused = screen.matches(NOT_YET).count() > refused;
            Ok(if screen.contains(DIALOG) { Some(true) } else { is_refused.then_some(false) })
        });
        if is_up.with_context(|| format!("the screen shows {:?}", terminal.text()))? {
            return Ok(());
        }
        refused += 1;
    }
    bail!("the model was offered no tools {TRIES} times")
}

/// Waits for the dialog of a question.
fn dialog(terminal: &Terminal<'_>, title: &str) -> Result<()> {
    until(&format!("the dialog of {title:?}"), || Ok(is_up(&terminal.text()?, title).then_some(())))
        .with_context(|| format!("the screen shows {:?}", terminal.text()))
}

fn is_up(screen: &str, title: &str) -> bool {
    screen.split_once(DIALOG).is_some_and(|(_, dialog)| dialog.contains(title))
}

/// Closes the dialog after a pause. A dialog closed faster than a person can read does not count as closed by a person.
/// The next dialog may open immediately, and is left open.
fn leave(terminal: &Terminal<'_>, title: &str) -> Result<()> {
    dialog(terminal, title)?;
    std::thread::sleep(LOOK);
    terminal.press_while("Escape", |screen| is_up(screen, title))
}

/// Performs the steps, and accepts.
fn take(terminal: &Terminal<'_>, steps: &[Step]) -> Result<()> {
    for (key, shown) in steps {
        match key {
            Press(key) => terminal.press(key, shown)?,
            Type(text) => terminal.enter(text, shown)?,
        }
    }
    terminal.press_away("Enter", ACCEPT)
}
