//! Hooks without rules change nothing: the same conversation with and without them, another program's hook on the same
//! event, and a project without hob.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use taskkit::until;

use super::super::stage::Programs;
use super::Hooked;
use super::play::Play;

/// No command writes to both streams, because their order would vary.
const LINES: [&str; 3] = ["echo one; echo two", "cat hob.toml absent", "exit 3"];

/// Returns a description of the comparison; an error if the runs differ.
pub(super) fn neutral(hooked: &'static Hooked, programs: &Programs<'_>) -> Result<Vec<String>> {
    let without = results(&Play::new(hooked, programs)?)?;
    let play = Play::new(hooked, programs)?;
    let base = if hooked.is_of_project { play.stage.project().to_owned() } else { play.stage.home() };
    let (file, witness) = (base.join(hooked.file), play.stage.parent_directory().join("foreign"));
    let line = format!("touch '{}'", witness.display());
    let foreign = match (hooked.foreign)(&line) {
        Value::String(text) => text,
        value => value.to_string(),
    };
    std::fs::create_dir_all(file.parent().context("a file lies in a directory")?)?;
    std::fs::write(&file, foreign).context("could not write another's hook")?;
    play.install(&["--fail", "closed", "--events", "all"])?;
    play.start_daemon()?;
    let with = results(&play)?;
    if with != without {
        bail!("with hooks the model got {with:?}, and without {without:?}");
    }
    if !witness.exists() {
        bail!("another's hook on the same event did not run");
    }
    let journal = play.journal()?;
    let said: Vec<&Value> = journal
        .iter()
        .filter(|line| line["answer"]["stdout"].is_string() || line["answer"]["stderr"].is_string())
        .collect();
    if journal.is_empty() || !said.is_empty() {
        bail!("of {} hooks these printed something: {said:?}", journal.len());
    }
    drop(play);
    let mut said = vec![
        format!("{} equal results, {} hooks that printed nothing", with.len(), journal.len()),
        "another's hook ran".to_owned(),
        user_hooks_only(hooked, programs)?,
    ];
    if hooked.name == "claude" {
        said.push(prompts(hooked, programs)?);
    }
    Ok(said)
}

/// Compares the agent's own prompt in a terminal, with hooks on every event and without.
fn prompts(hooked: &'static Hooked, programs: &Programs<'_>) -> Result<String> {
    let asked = |with_hooks: bool| {
        let play = Play::new(hooked, programs)?;
        if with_hooks {
            play.install(&["--fail", "closed", "--events", "all"])?;
            play.start_daemon()?;
        }
        let marker = play.stage.project().join("marker");
        let made = || until("what was allowed to run", || Ok(marker.exists().then_some(())));
        let screen = play.at_terminal("touch marker", made)?;
        let count = if with_hooks { play.journal()?.len() } else { 0 };
        // From the prompt's box on; the text above it shows the history.
        let at = screen.find("touch marker").unwrap_or_default();
        // Some versions show the whole path, and some only its end.
        let project = play.stage.project();
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        let screen = screen[at..].trim_end().replace(&*project.to_string_lossy(), "PROJECT").replace(&*name, "PROJECT");
        anyhow::Ok((screen, count))
    };
    let ((without, _), (with, count)) = (asked(false)?, asked(true)?);
    if with != without || count == 0 {
        bail!("its prompt with hooks ({count} events) is {with:?}, and without {without:?}");
    }
    Ok("the same prompt for permission at a terminal, and yes lets it run".to_owned())
}

/// A project without hob files, with hooks in the user's own files.
fn user_hooks_only(hooked: &'static Hooked, programs: &Programs<'_>) -> Result<String> {
    let play = Play::new(hooked, programs)?;
    std::fs::remove_file(play.stage.project().join("hob.toml")).context("could not remove hob.toml")?;
    play.install(&["--fail", "closed", "--scope", "user"])?;
    let played = play.run(&["touch marker"])?;
    if !play.stage.project().join("marker").exists() {
        bail!("in a project without hob the command did not run: {:?}", played.results);
    }
    let state = play.stage.home().join(".local/state/hob");
    let kept: Vec<String> = std::fs::read_dir(&state)
        .map(|files| files.flatten().filter_map(|file| file.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    if !play.processes().is_empty() || kept.iter().any(|name| name != "init.json") {
        bail!("in a project without hob there are processes {:?} and state {kept:?}", play.processes());
    }
    Ok("no daemon in a project without hob".to_owned())
}

/// Returns the results that the model received, normalized between runs.
fn results(play: &Play<'_>) -> Result<Vec<String>> {
    let played = play.run(&LINES)?;
    if played.results.len() != LINES.len() {
        bail!(
            "{} of {} results: {:?}; the agent said {:?}",
            played.results.len(),
            LINES.len(),
            played.results,
            played.ended
        );
    }
    let project = play.stage.project().to_string_lossy().into_owned();
    let differs = |line: &&str| {
        let words = ["Wall time", "Chunk ID", "Process Group PGID", "Original token count"];
        !words.iter().any(|word| line.contains(word))
    };
    let plain =
        |text: &String| text.replace(&project, "PROJECT").lines().filter(differs).collect::<Vec<_>>().join("\n");
    Ok(played.results.iter().map(plain).collect())
}
