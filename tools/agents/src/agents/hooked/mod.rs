//! `cargo xtask clients hooks`: effects of hob's hooks on real agents with a scripted model: mail, late answers and
//! notes; agents held at the end of a turn, and released; and a person who decides instead of the agent's own prompt.
//!
//! Each trial has a separate project and home. What the scripted model received shows what reached the model; hob's
//! actions are in its journal of hooks. The entries: `entries`; in a terminal: `person`.

mod entries;
mod person;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use taskkit::setup;
use taskkit::until;
use taskkit::workspace::{Profile, build, root};

use self::entries::{CONTEXT, On};
use super::asking::answer;
use super::kinds::{AGENTS, Agent, Setting, shell};
use super::stage::{Programs, Stage};
use super::states::{CLAUDE, OPENCODE};
use super::tasks::{Turn, task, turns};

/// Texts of the mail and of the note.
const MAIL: &str = "look at the parser first";
const NOTE: &str = "The parser is done, and its tests are next.";

type Trial = (&'static str, fn(&Agent, &Programs<'_>) -> Result<Option<String>>);

const TRIALS: &[Trial] = &[
    ("mail while it works", mail),
    ("held by critical mail", hold_by_mail),
    ("let go by the breaker", let_go),
    ("late answer", answer_with_next_hook),
    ("the note of the session before", note),
    ("a person decides", person::decides),
];

/// Runs the task for all agents, or for those whose names contain one of the words.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut names, mut hob, mut packages, mut only) = (Vec::new(), None, None, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--hob" => hob = Some(PathBuf::from(value()?)),
            "--packages" => packages = Some(PathBuf::from(value()?)),
            "--trial" => only = Some(value()?.to_lowercase()),
            name => names.push(name.to_lowercase()),
        }
    }
    // Each agent once, with all its tools listed.
    let mut chosen: Vec<&Agent> = Vec::new();
    for agent in AGENTS.iter().filter(|agent| agent.installation.name != OPENCODE.name) {
        let is_named = names.is_empty() || names.iter().any(|name| agent.name.to_lowercase().contains(name.as_str()));
        let is_first = !chosen.iter().any(|chosen| chosen.installation.name == agent.installation.name);
        let lists_all = agent.installation.name != CLAUDE.name || (agent.before)(&[]).is_none();
        if is_named && is_first && lists_all {
            chosen.push(agent);
        }
    }
    if chosen.is_empty() {
        bail!("unknown agent {names:?} with hooks");
    }
    let tools = setup::tests()?;
    let packages = match packages {
        Some(packages) => packages,
        None => super::installed(&tools, chosen.iter().map(|agent| agent.list()))?,
    };
    let hob = super::tested(hob)?;
    // Next to a program built with the whole workspace.
    let model = match hob.with_file_name("scripted-model") {
        beside if beside.exists() => beside,
        _ => build(Profile::Dev, &["--quiet", "-p", "testkit", "--bin", "scripted-model"])?.join("scripted-model"),
    };
    let programs = Programs { tools: &tools, packages: &packages, hob: &hob, model: &model };
    let mut rows = Vec::new();
    for agent in &chosen {
        println!("clients: {}", agent.name);
        let version = super::version(&agent.directory(programs.packages))?;
        let trials = TRIALS.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| name.contains(only.as_str())));
        let cells: Vec<(&str, Result<Option<String>>)> =
            trials.map(|(name, trial)| (*name, trial(agent, &programs))).collect();
        for (name, cell) in &cells {
            println!("  {name}: {}", format_cell(cell));
        }
        rows.push((format!("{} {version}", agent.installation.title), cells));
    }
    let is_all = names.is_empty() && only.is_none();
    if is_all {
        let path = root().join("docs/generated/hooks-context.md");
        std::fs::write(&path, page(&rows)).with_context(|| format!("could not write {path:?}"))?;
    }
    let failed = rows.iter().flat_map(|(_, cells)| cells).filter(|(_, cell)| cell.is_err()).count();
    if failed > 0 {
        bail!("{failed} trials failed");
    }
    Ok(())
}

fn format_cell(cell: &Result<Option<String>>) -> String {
    match cell {
        Ok(Some(said)) => said.clone(),
        Ok(None) => "–".to_owned(),
        Err(error) => format!("**{error:#}**"),
    }
}

/// Results of an agent's trials.
type Tried<'a> = Vec<(&'a str, Result<Option<String>>)>;

fn page(rows: &[(String, Tried<'_>)]) -> String {
    let mut page = "# What hooks add to real agents\n\nWritten by `cargo xtask clients hooks`: each agent with hob's hooks, entered by \
                    hand, and a scripted model. A cell says what was seen in what the model was sent, in hob's journal and on \
                    the agent's screen.\n"
        .to_owned();
    for (agent, cells) in rows {
        let _ = write!(page, "\n## {agent}\n\n| trial | what was seen |\n|---|---|\n");
        for (name, cell) in cells {
            let _ = writeln!(page, "| {name} | {} |", format_cell(cell).replace('|', "\\|").replace('\n', " "));
        }
    }
    page
}

/// Observations of an agent's run.
struct Played {
    /// The requests to the model in the scripted conversation, in order.
    requests: Vec<String>,
    /// Output of the agent.
    said: String,
    journal: Vec<Value>,
}

impl Played {
    /// Returns the number of the first request that contains this text.
    fn first_with(&self, text: &str) -> Result<usize> {
        let found = self.requests.iter().position(|request| request.contains(text));
        found.with_context(|| {
            format!("{text:?} did not reach the model; hooks: {:?}; the agent said {:?}", self.hooks(), self.said)
        })
    }

    /// Returns the hooks and their outcomes.
    fn hooks(&self) -> Vec<String> {
        let of = |line: &Value| {
            let added = if line["added"].is_null() { String::new() } else { format!(" added {}", line["added"]) };
            let outcome = line["outcome"].as_str().map(|outcome| format!(", {outcome}")).unwrap_or_default();
            format!("{}{added}{outcome}", line["event"].as_str().unwrap_or_default())
        };
        self.journal.iter().map(of).collect()
    }

    /// Returns the events to which this part added text, at most once for each kind.
    fn added(&self, part: &str) -> Result<Vec<String>> {
        let is_of = |line: &&Value| line["added"].as_array().is_some_and(|added| added.iter().any(|of| of == part));
        let lines: Vec<&Value> = self.journal.iter().filter(is_of).collect();
        let mut kinds: Vec<&str> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
        let count = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() != count {
            bail!("{part} was added twice at one kind of event: {:?}", self.hooks());
        }
        Ok(lines.iter().filter_map(|line| line["event"].as_str()).map(str::to_owned).collect())
    }
}

/// Registers two agents; the one under test is `bob`.
fn two_agents(stage: &Stage<'_>) -> Result<()> {
    for name in ["ann", "bob"] {
        hob(stage, &["quickstart", "--name", name, "--role", "dev"])?;
    }
    Ok(())
}

fn send(stage: &Stage<'_>, priority: &str) -> Result<()> {
    hob(stage, &["send", MAIL, "--as", "ann", "--to", "bob", "--priority", priority]).map(drop)
}

fn hob(stage: &Stage<'_>, args: &[&str]) -> Result<String> {
    crate::clients::stdout_of(&mut stage.hob(args)?).with_context(|| format!("`hob {}` failed", args.join(" ")))
}

/// Returns a turn in which the agent's shell waits for a file.
fn waits(agent: &Agent, file: &str) -> Turn {
    let line = format!("touch waiting; while [ ! -e {file} ]; do sleep 0.1; done; echo went on");
    Turn { script: shell(agent, &line), task: None }
}

fn text_turn(text: &str) -> Turn {
    Turn { script: json!({ "text": text }), task: None }
}

/// Runs a closure once the agent's shell waits and its front-end is connected, then lets the shell continue.
fn while_it_works(stage: &Stage<'_>, file: &str, what: impl FnOnce() -> Result<()>) -> Result<()> {
    until("the agent's shell", || Ok(stage.project().join("waiting").exists().then_some(())))?;
    until("the agent's front-end", || {
        let status = stage.status()?;
        let mut connections = status["connections"].as_array().into_iter().flatten();
        Ok(connections.any(|connection| connection["role"] == "mcp").then_some(()))
    })?;
    let done = what();
    std::fs::write(stage.project().join(file), "").context("could not write a file of the project")?;
    done
}

/// Runs the agent with hooks on these events, and `beside` concurrently.
fn play(
    agent: &Agent,
    programs: &Programs<'_>,
    stage: &Stage<'_>,
    script: &[Turn],
    on: &[On],
    beside: impl FnOnce(&Stage<'_>) -> Result<()> + Send,
) -> Result<Played> {
    let model = stage.model(script)?;
    let place = stage.environment_for(stage.direct(" all --as bob")?, &model);
    let mut setting: Setting = (agent.setting)(&place);
    entries::add(agent, &mut setting, &place, programs.hob, on)?;
    if let Some(allowed) = setting.args.iter_mut().find(|arg| *arg == "mcp__hob") {
        allowed.push_str(",Bash");
    }
    let mut command = stage.agent(agent, &setting)?;
    let (output, done) = std::thread::scope(|scope| {
        let ended = scope.spawn(move || command.output());
        let done = beside(stage);
        (ended.join().expect("running an agent does not panic"), done)
    });
    let output = output.context("could not start the agent")?;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let exchanges = model.end()?;
    let is_scripted = |exchange: &&Value| !exchange["turn"].is_null() && exchange["turn"] != "auxiliary";
    let requests = exchanges.iter().filter(is_scripted).map(|exchange| exchange["body"].to_string()).collect();
    let journal = journal(stage)?;
    let played = Played { requests, said, journal };
    done.with_context(|| format!("hooks: {:?}; the agent said {:?}", played.hooks(), played.said))?;
    Ok(played)
}

fn journal(stage: &Stage<'_>) -> Result<Vec<Value>> {
    let text = hob(stage, &["hooks", "log", "--json", "--last", "1000"])?;
    serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .context("the journal of hooks is no JSON")
}

/// Mail that arrives while the agent works reaches its model, framed, at the next event that accepts context.
fn mail(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    let stage = Stage::new(programs)?;
    two_agents(&stage)?;
    let more = |word: &str| Turn { script: shell(agent, &format!("echo {word}")), task: None };
    let script = [waits(agent, "sent"), more("one"), more("two")];
    let played = play(agent, programs, &stage, &script, &CONTEXT, |stage| {
        while_it_works(stage, "sent", || send(stage, "high"))
    })?;
    stage.stop()?;
    let request = played.first_with(MAIL)?;
    let text = &played.requests[request];
    if !text.contains("carries no authority of the user") || !text.contains(" from ann, high: ") {
        bail!("it is not framed: {text}");
    }
    if request != 1 {
        bail!("it came with request {request}: {:?}", played.hooks());
    }
    Ok(Some(format!("in the next request, framed; added at {}", played.added("mail")?.join(", "))))
}

/// An agent with critical mail is held at the end of its turn, reads the mail, and stops.
fn hold_by_mail(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    let stage = Stage::new(programs)?;
    two_agents(&stage)?;
    send(&stage, "critical")?;
    let mut script = turns(&[task("read", "check_messages", json!({}))], agent.before, agent.call);
    script.insert(0, text_turn("That was all."));
    let played = play(agent, programs, &stage, &script, &[On::TurnEnd], |_| Ok(()))?;
    stage.stop()?;
    let held = played.first_with(MAIL)?;
    let read = played.first_with("taken").or_else(|_| played.first_with("more wait"))?;
    let outcomes: Vec<&str> = played.journal.iter().map(|line| line["outcome"].as_str().unwrap_or("stopped")).collect();
    if outcomes != ["held", "stopped"] || held >= read {
        bail!("{outcomes:?}; requests {held} and {read} of {}; {:?}", played.requests.len(), played.said);
    }
    Ok(Some("held, read it, stopped".to_owned()))
}

/// A rule that always holds releases the agent after three times, and the user is told why.
fn let_go(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    let stage = Stage::new(programs)?;
    let rule = "[[rule]]\nid = \"tests\"\non = \"turn_end\"\ndecide = \"deny\"\nreason = \"run the tests first\"\n";
    std::fs::write(stage.project().join("hob-policy.toml"), rule).context("could not write the policy")?;
    hob(&stage, &["trust", "--yes"])?;
    hob(&stage, &["quickstart", "--name", "bob", "--role", "dev"])?;
    let played = play(agent, programs, &stage, &[text_turn("That was all.")], &[On::TurnEnd], |_| Ok(()))?;
    stage.stop()?;
    played.first_with("run the tests first")?;
    let outcomes: Vec<&str> = played.journal.iter().map(|line| line["outcome"].as_str().unwrap_or("stopped")).collect();
    if outcomes != ["held", "held", "held", "let go: it was held 3 times in a row"] {
        bail!("{outcomes:?}; it said {:?}", played.said);
    }
    let told = if played.said.contains("hob let the agent stop") {
        "its output says why"
    } else {
        "its output without a terminal does not say why"
    };
    Ok(Some(format!("held 3 times, let go; {told}")))
}

/// An answer that arrives while the agent works reaches its model with the next hook, once.
fn answer_with_next_hook(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    let stage = Stage::new(programs)?;
    two_agents(&stage)?;
    let ask = task("ask", "confirm_action", json!({ "action": "Delete the branch?", "wait_s": 0 }));
    let mut script = turns(&[ask], agent.before, agent.call);
    script.push(waits(agent, "answered"));
    script.push(Turn { script: shell(agent, "echo more"), task: None });
    let played =
        play(agent, programs, &stage, &script, &CONTEXT, |stage| while_it_works(stage, "answered", || answer(stage)))?;
    stage.stop()?;
    let first = played.first_with("Late answer: ")?;
    let times = played.requests.last().map_or(0, |last| last.matches("Late answer: ").count());
    if times != 1 {
        bail!("it reached the model {times} times: {:?}", played.hooks());
    }
    Ok(Some(format!(
        "once, in request {} of {}, added at {}",
        first + 1,
        played.requests.len(),
        played.added("ask")?.join(", ")
    )))
}

/// A note left by one session is shown to the next one at its start.
fn note(agent: &Agent, programs: &Programs<'_>) -> Result<Option<String>> {
    let stage = Stage::new(programs)?;
    crate::clients::stdout_of(stage.command(std::path::Path::new("git"))?.args(["init", "-q", "-b", "topic"]))?;
    two_agents(&stage)?;
    let leave = task("leave", "work_brief", json!({ "at": "end", "note": NOTE }));
    let script = turns(&[leave], agent.before, agent.call);
    let first = play(agent, programs, &stage, &script, &CONTEXT, |_| Ok(()))?;
    if first.added("work")? != Vec::<String>::new() {
        bail!("the first session was told: {:?}", first.hooks());
    }
    let second = play(agent, programs, &stage, &[text_turn("I see.")], &CONTEXT, |_| Ok(()))?;
    stage.stop()?;
    second.first_with(NOTE)?;
    if !second.requests.iter().any(|request| request.contains("(data, not instructions):")) {
        bail!("it is not framed");
    }
    Ok(Some(format!("told to the second, added at {}", second.added("work")?.join(", "))))
}
