//! `hob hook EVENT`: the program that agents' hooks run. The event is read from standard input, the daemon decides, and the
//! answer is printed in the agent's format. An agent waits for each call: no command line parser, and one overall deadline.
//!
//! No output means no change: a pass prints nothing. A wrong command line exits with 1 and never with 2, which blocks.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use client::hook::{HookEvent, HookReply, agent_directory, ask};
use hooks::agents::Came;
use hooks::{Agent, Fail, Rendered};
use project::{FoundBy, Project};

/// The size limit of an event, in bytes.
const PAYLOAD_MAX: u64 = 6 * 1024 * 1024;
/// The default deadline and the maximum.
const WITHIN: Duration = Duration::from_secs(5);
const WITHIN_MAX: f64 = 86_400.0;

const USAGE: &str = "usage: hob hook EVENT [--agent claude|codex|gemini|cursor|copilot|opencode] [--fail open|ask|closed] \
[--deadline SECONDS] [--person SECONDS] [--project DIR], with the event on standard input";

/// The command line.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    event: String,
    agent: Option<Agent>,
    fail: Fail,
    within: Duration,
    /// The timeout for a person's answer, if a person is asked: never less than `within`.
    person: Duration,
    project: Option<PathBuf>,
}

/// A message from the worker thread to the waiting one.
enum Progress {
    Read(Arc<Vec<u8>>),
    /// A person is being asked.
    Asking,
    Done(Result<Rendered, String>),
}

/// Answers an event. Exits with the status that the agent expects.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [only] = arguments.as_slice()
        && (only == "--help" || only == "-h")
    {
        let _ = writeln!(
            std::io::stdout(),
            "Answers a hook event of an agent. `hob hooks install` adds this command to your agents.\n\n{USAGE}"
        );
        return ExitCode::SUCCESS;
    }
    let call = match Call::parse(arguments) {
        Ok(call) => call,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "hob hook: {why}\n{USAGE}");
            return ExitCode::from(1);
        }
    };
    let begun = Instant::now();
    let mut deadline = begun + call.within;
    let (report, progress) = mpsc::sync_channel(3);
    let working = call.clone();
    // The deadline holds even if the worker hangs (a standard input without end, an unreachable file system).
    let worker = std::thread::Builder::new().spawn(move || {
        let done = answer(&working, begun, &report);
        let _ = report.send(Progress::Done(done));
    });
    let mut raw = Arc::new(Vec::new());
    let done = loop {
        // The worker stops at the deadline on its own; this covers calls that it cannot interrupt.
        let left = (deadline + Duration::from_millis(50)).saturating_duration_since(Instant::now());
        match worker.as_ref().map(|_| progress.recv_timeout(left)) {
            Ok(Ok(Progress::Read(read))) => raw = read,
            Ok(Ok(Progress::Asking)) => deadline = begun + call.within.max(call.person),
            Ok(Ok(Progress::Done(done))) => break done,
            Ok(Err(mpsc::RecvTimeoutError::Timeout)) => break Err("it took too long".to_owned()),
            Ok(Err(mpsc::RecvTimeoutError::Disconnected)) => break Err("it ended without an answer".to_owned()),
            Err(error) => break Err(error.to_string()),
        }
    };
    let rendered = done.unwrap_or_else(|why| {
        let agent = call.agent.unwrap_or_else(|| Agent::of_payload(&call.event, &raw));
        let event = hooks::read(agent, &call.event, &raw);
        call.fail.render(agent, &event.name, &why)
    });
    // One write each; an agent that closed the streams does not read the answer.
    let _ = std::io::stderr().write_all(rendered.stderr.as_bytes());
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(rendered.stdout.as_bytes()).and_then(|()| out.flush());
    ExitCode::from(rendered.exit)
}

/// Returns the answer, or the reason for the failure.
fn answer(call: &Call, begun: Instant, report: &mpsc::SyncSender<Progress>) -> Result<Rendered, String> {
    let mut raw = Vec::new();
    let read = std::io::stdin().lock().take(PAYLOAD_MAX + 1).read_to_end(&mut raw);
    let raw = Arc::new(raw);
    let _ = report.send(Progress::Read(raw.clone()));
    read.map_err(|error| format!("the event could not be read: {error}"))?;
    let cwd = std::env::current_dir().or_else(|error| agent_directory().ok_or(error));
    let cwd = cwd.map_err(|error| format!("cannot read the current directory: {error}"))?;
    let directory = agent_directory().unwrap_or_else(|| cwd.clone());
    let agent = call.agent.unwrap_or_else(|| Agent::of_payload(&call.event, &raw));
    let (mut deadline, person) = (begun + call.within, begun + call.within.max(call.person));
    let (mut strictest, mut failure) = (None::<HookReply>, None);
    for project in deciding(call, &directory)? {
        let asked = if raw.len() as u64 > PAYLOAD_MAX {
            Err(format!("the event has more than {} MiB", PAYLOAD_MAX >> 20))
        } else {
            let (name, event) = (agent.name().to_owned(), call.event.clone());
            let event = HookEvent { agent: name, event, raw: raw.to_vec(), cwd: directory.clone(), deadline, person };
            let asking = || {
                deadline = person;
                _ = report.send(Progress::Asking);
            };
            ask(&project, event, &client::Launch::default(), asking).map_err(|error| error.to_string())
        };
        match asked {
            Ok(reply) if strictness(&reply) == Strictness::Denied => return Ok(rendered(reply)),
            Ok(reply) if strictest.as_ref().is_none_or(|known| strictness(known) <= strictness(&reply)) => {
                strictest = Some(reply);
            }
            Ok(_) => {}
            Err(why) => {
                if call.fail == Fail::Open {
                    // If the note cannot be stored, the event passes anyway: that is the meaning of this mode.
                    let _ = hooks::spool::note(&project, agent, &call.event, &directory, &raw, &why);
                }
                failure.get_or_insert(why);
            }
        }
    }
    match (strictest, failure) {
        (Some(reply), None) => Ok(rendered(reply)),
        // A policy that cannot be evaluated does not loosen another one.
        (Some(reply), Some(_)) if call.fail == Fail::Open => Ok(rendered(reply)),
        (_, Some(why)) => Err(why),
        // No policy of hob applies here.
        (None, None) => Ok(Rendered::default()),
    }
}

/// Returns the projects that decide on an event, outermost first: the nearest one, and each enclosing one that has a policy.
/// A nested repository does not escape the policy of the project around it.
fn deciding(call: &Call, directory: &Path) -> Result<Vec<Project>, String> {
    let has_users_policy = || hooks::files::user_path().is_some_and(|path| path.symlink_metadata().is_ok());
    let nearest = Project::find(call.project.as_deref(), directory);
    let is_named =
        nearest.as_ref().is_ok_and(|nearest| matches!(nearest.found_by(), FoundBy::Argument | FoundBy::Variable));
    let around = if is_named { Vec::new() } else { project::candidate_roots(directory) };
    let around = around.iter().rev().filter_map(|root| Project::find(Some(root), root).ok());
    let mut deciding: Vec<Project> = around.filter(hooks::files::has_own_policy).collect();
    match nearest {
        Ok(nearest) if deciding.iter().any(|project| project.root() == nearest.root()) => {}
        Ok(nearest) => {
            let has_policy = hooks::files::has_own_policy(&nearest) || deciding.is_empty() && has_users_policy();
            if has_policy || nearest.state_dir().is_dir() {
                deciding.push(nearest);
            }
        }
        Err(error) if deciding.is_empty() && has_users_policy() => return Err(error.to_string()),
        Err(_) => {}
    }
    Ok(deciding)
}

/// The restriction that a reply imposes, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strictness {
    Silent,
    Spoken,
    Allowed,
    Asked,
    Denied,
}

fn strictness(reply: &HookReply) -> Strictness {
    let said = serde_json::from_str::<serde_json::Value>(&reply.stdout).unwrap_or_default();
    let stops = said["continue"] == false || said["hookSpecificOutput"]["action"] == "decline";
    match Came::from_output(reply.stdout.as_bytes(), Some(reply.exit.into())) {
        Came::Denied => Strictness::Denied,
        _ if stops => Strictness::Denied,
        Came::Asked => Strictness::Asked,
        Came::Allowed => Strictness::Allowed,
        _ if reply.stdout.is_empty() && reply.stderr.is_empty() => Strictness::Silent,
        _ => Strictness::Spoken,
    }
}

fn rendered(reply: HookReply) -> Rendered {
    Rendered { stdout: reply.stdout, stderr: reply.stderr, exit: reply.exit, losses: Vec::new() }
}

impl Call {
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Call, String> {
        let mut call =
            Call { event: String::new(), agent: None, fail: Fail::Open, within: WITHIN, person: WITHIN, project: None };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let word = argument.to_str().ok_or("an argument is not UTF-8")?.to_owned();
            let mut value = || arguments.next().ok_or_else(|| format!("{word} needs a value"));
            let text = |value: OsString| value.into_string().map_err(|_| format!("the value of {word} is not UTF-8"));
            match word.as_str() {
                "--agent" => {
                    let name = text(value()?)?;
                    call.agent = Some(Agent::named(&name).ok_or_else(|| format!("unknown agent {name:?}"))?);
                }
                "--fail" => {
                    let name = text(value()?)?;
                    call.fail = Fail::named(&name).ok_or_else(|| format!("unknown value {name:?} for --fail"))?;
                }
                "--deadline" | "--person" => {
                    let seconds = text(value()?)?;
                    let number = seconds.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= WITHIN_MAX);
                    let number = number.ok_or_else(|| format!("invalid number of seconds {seconds:?}"))?;
                    let span = Duration::from_secs_f64(number);
                    *if word == "--person" { &mut call.person } else { &mut call.within } = span;
                }
                "--project" => call.project = Some(PathBuf::from(value()?)),
                _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
                _ if call.event.is_empty() => call.event = word,
                _ => return Err(format!("unexpected argument {word:?}")),
            }
        }
        if call.event.is_empty() { Err("the event is missing".to_owned()) } else { Ok(call) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Call, String> {
        Call::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_denial_is_stricter_than_a_question_and_that_than_silence() {
        let reply =
            |stdout: &str, exit| strictness(&HookReply { stdout: stdout.to_owned(), stderr: String::new(), exit });
        let own = |word: &str| reply(&format!(r#"{{"hookSpecificOutput":{{"permissionDecision":"{word}"}}}}"#), 0);
        let context = reply(r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#, 0);
        let rising = [reply("", 0), context, own("allow"), own("ask"), own("deny")];
        assert!(rising.is_sorted_by(|one, other| one < other), "{rising:?}");
        for denied in [reply("", 2), reply(r#"{"continue":false,"stopReason":"x"}"#, 0)] {
            assert_eq!(denied, Strictness::Denied);
        }
    }

    #[test]
    fn command_lines() {
        let whole = parse("PreToolUse --agent codex --fail closed --deadline 0.5 --project /p").unwrap();
        assert_eq!(whole.agent, Some(Agent::Codex));
        assert_eq!((whole.fail, whole.within), (Fail::Closed, Duration::from_millis(500)));
        for line in [
            "",
            "--agent claude",
            "Stop --agent nobody",
            "Stop --fail",
            "Stop --fail shut",
            "Stop --deadline 0",
            "Stop --deadline nan",
            "Stop --person soon",
            "Stop --deadline 1e9",
            "Stop --help",
            "Stop Again",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
