//! Questions to a person from a real agent: nobody watches, a person answers on the command line, the answer is late,
//! and the agent's own shell tries to answer. For its dialog, see `dialogs`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::until;
use taskkit::workspace::KillOnDrop;

use super::dialogs;
use super::kinds::Agent;
use super::record;
use super::stage::{Programs, Stage};
use super::tasks::{Task, Turn, task, turns};
use crate::clients::stdout_of;

/// The person's note, which identifies an answer.
pub(super) const NOTE: &str = "but keep the tag";

/// The trials, in the order of the page's columns.
pub(super) const TRIALS: [&str; 5] = ["nobody there", "by command", "late", "in its own shell", "in its dialog"];

/// Result of each trial: a word, or the error. `None` if the agent lacks the feature.
pub(super) type AskingResults = [Option<Result<String>>; TRIALS.len()];

pub(super) fn asks(agent: &Agent, programs: &Programs<'_>) -> AskingResults {
    let is_claude = agent.installation.name == super::states::CLAUDE.name;
    let shell = is_claude.then(|| in_its_shell(agent, programs));
    // Searching for tools is tested elsewhere, without a terminal.
    let dialog = (is_claude && (agent.before)(&[]).is_none()).then(|| dialogs::by_keys(agent, programs));
    [
        Some(nobody(agent, programs)),
        Some(by_command(agent, programs)),
        Some(answer_after_timeout(agent, programs)),
        shell,
        dialog,
    ]
}

/// No person watches: the result says so, and does not count as "no".
fn nobody(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let results = play(agent, &stage, vec![confirm("ask", json!({}))], |_| Ok(()))?;
    check_result(&results, 0, "unavailable")?;
    Ok("unavailable".to_owned())
}

/// While `hob questions --watch` runs, an answer by `hob answer` lets the agent continue immediately.
fn by_command(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let watch = watch(&stage)?;
    let mut took = Duration::ZERO;
    let results = play(agent, &stage, vec![confirm("ask", json!({ "wait_s": 50 }))], |stage| {
        until("the question", || Ok(open(stage)?.then_some(())))?;
        let begun = Instant::now();
        answer(stage)?;
        until("it to be handed out", || Ok((undelivered(stage)? == 0).then_some(())))?;
        took = begun.elapsed();
        Ok(())
    })?;
    drop(watch);
    check_result(&results, 0, "confirmed: true")?;
    // The dialog would have followed after 20 s.
    if took > Duration::from_secs(10) {
        bail!("it went on after {} s", took.as_secs());
    }
    Ok("answered".to_owned())
}

/// The call times out after a second. A later answer reaches the model with the next result, once.
fn answer_after_timeout(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    let watch = watch(&stage)?;
    let waits = "import os, time\nwhile not os.path.exists('answered'): time.sleep(0.05)\nprint('on')";
    let tasks = vec![
        task("start", "repl_start", json!({ "profile": "python" })),
        confirm("ask", json!({ "wait_s": 1 })),
        task("go on", "repl_eval", json!({ "code": waits, "wait_ms": 50_000 })),
        task("go on further", "repl_eval", json!({ "code": "40+2" })),
    ];
    let results = play(agent, &stage, tasks, |stage| {
        until("the next evaluation", || {
            let sessions = stage.status()?;
            let sessions = sessions["sessions"].as_array().into_iter().flatten();
            Ok(sessions.into_iter().any(|session| session["state"] == "running").then_some(()))
        })?;
        answer(stage)?;
        std::fs::write(stage.project().join("answered"), "").context("could not write a file of the project")
    })?;
    drop(watch);
    check_result(&results, 1, "timed_out")?;
    check_result(&results, 2, "Late answer: ")?;
    match results.iter().map(|(_, text)| text.matches(NOTE).count()).sum() {
        1 => Ok("once, with the next result".to_owned()),
        times => bail!("the answer reached the model {times} times"),
    }
}

/// Commands that the agent's own shell tries; each is refused with its reason.
fn in_its_shell(agent: &Agent, programs: &Programs<'_>) -> Result<String> {
    let stage = Stage::new(programs)?;
    // A setting that needs a grant.
    std::fs::write(stage.project().join("hob.toml"), "[mail]\nspace = \"ours\"\n")
        .context("could not write hob.toml")?;
    let hob = programs.hob.display();
    let background = |line: &str| {
        format!("{line}; for n in $(seq 100); do [ -s said ] && break; sleep 0.1; done; cat said; rm -f said")
    };
    let tries = [
        ("hob answer", format!("{hob} answer --yes 2>&1")),
        ("hob trust", format!("{hob} trust --yes 2>&1")),
        ("sh -c", format!("sh -c '{hob} answer --yes; exit $?' 2>&1")),
        ("setsid", background(&format!("setsid --fork sh -c '{hob} answer --yes > saying 2>&1; mv saying said'"))),
        (
            "tmux",
            background(&format!("tmux -S ./sock new-session -d \"{hob} answer --yes > saying 2>&1; mv saying said\"")),
        ),
    ];
    let mut script = turns(&[confirm("ask", json!({ "wait_s": 0 }))], agent.before, agent.call);
    for (index, (_, line)) in tries.iter().enumerate() {
        script
            .push(Turn { script: json!({ "tool": "Bash", "arguments": { "command": line } }), task: Some(index + 1) });
    }
    let results = run(agent, &stage, &script, |_| Ok(()))?;
    let is_open = open(&stage)?;
    for (index, (what, _)) in tries.iter().enumerate() {
        check_result(&results, index + 1, "an agent must not answer for its user")
            .with_context(|| (*what).to_owned())?;
    }
    if !is_open {
        bail!("the question was answered");
    }
    stage.stop()?;
    Ok(format!("refused: {}", tries.map(|(what, _)| what).join(", ")))
}

pub(super) fn confirm(name: &'static str, more: Value) -> Task {
    let mut arguments = json!({ "action": "Delete the branch?", "details": "It is merged." });
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    task(name, "confirm_action", arguments)
}

/// Runs the agent with these tasks, and `beside` concurrently. Returns the results that reached the model, by task.
fn play(
    agent: &Agent,
    stage: &Stage<'_>,
    tasks: Vec<Task>,
    beside: impl FnOnce(&Stage<'_>) -> Result<()> + Send,
) -> Result<Vec<(usize, String)>> {
    let results = run(agent, stage, &turns(&tasks, agent.before, agent.call), beside)?;
    stage.stop()?;
    Ok(results)
}

fn run(
    agent: &Agent,
    stage: &Stage<'_>,
    turns: &[Turn],
    beside: impl FnOnce(&Stage<'_>) -> Result<()> + Send,
) -> Result<Vec<(usize, String)>> {
    let model = stage.model(turns)?;
    let mut setting = (agent.setting)(&stage.environment_for(stage.direct("")?, &model));
    // The agent has a separate tool for the shell.
    if let Some(allowed) = setting.args.iter_mut().find(|arg| *arg == "mcp__hob") {
        allowed.push_str(",Bash");
    }
    let mut command = stage.agent(agent, &setting)?;
    let (ended, done) = std::thread::scope(|scope| {
        let ended = scope.spawn(move || stdout_of(&mut command));
        let done = beside(stage);
        (ended.join().expect("running an agent does not panic"), done)
    });
    let results = record::results(&model.end()?, turns).with_context(|| format!("the agent said {ended:?}"))?;
    done.with_context(|| format!("the agent said {ended:?}, and its model got {results:?}"))?;
    Ok(results)
}

pub(super) fn watch(stage: &Stage<'_>) -> Result<KillOnDrop> {
    let mut command = stage.hob(&["questions", "--watch"])?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = KillOnDrop(child.context("could not watch")?);
    until("the face", || Ok((stage.status()?["ask"]["watching"] == 1).then_some(())))?;
    Ok(child)
}

pub(super) fn answer(stage: &Stage<'_>) -> Result<()> {
    let mut command = stage.hob(&["answer", "--yes", "--note", NOTE])?;
    stdout_of(&mut command).map(drop).context("`hob answer` failed")
}

pub(super) fn check_result(results: &[(usize, String)], task: usize, text: &str) -> Result<()> {
    let mut of_task = results.iter().filter(|(of, _)| *of == task);
    if of_task.any(|(_, result)| result.contains(text)) {
        Ok(())
    } else {
        bail!("{text:?} did not reach the model: {results:?}")
    }
}

pub(super) fn open(stage: &Stage<'_>) -> Result<bool> {
    Ok(stage.status()?["ask"]["open"].as_u64().unwrap_or_default() > 0)
}

fn undelivered(stage: &Stage<'_>) -> Result<u64> {
    Ok(stage.status()?["ask"]["undelivered"].as_u64().unwrap_or_default())
}
