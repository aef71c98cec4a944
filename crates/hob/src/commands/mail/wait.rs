//! `hob wait`: blocks until a message arrives. Scripts run it often, so its command line is parsed without the full parser.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use client::Wait;
use project::Project;
use serde_json::Value;

use super::Identity;
use super::priority::Priority;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Block until a message arrives; exit code 0 for a message, 6 after the timeout
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct WaitCommand {
    /// Timeout in seconds; 0 waits forever
    #[arg(long, value_name = "S", default_value_t = 300, allow_negative_numbers = true)]
    timeout: u64,
    /// Only messages of this priority or above
    #[arg(long, short, value_name = "P", value_parser = Priority::LEAST)]
    priority: Option<String>,
    /// Only messages after this position in the mailbox (`seq` of an earlier message)
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

impl WaitCommand {
    /// Parses a simple command line, with the value of `--project`; `None` for anything else.
    pub(crate) fn quick(args: &[OsString]) -> Option<(WaitCommand, Option<PathBuf>)> {
        let mut wait = WaitCommand { timeout: 300, ..WaitCommand::default() };
        let mut project = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str()? {
                "--timeout" => wait.timeout = args.next()?.to_str()?.parse().ok()?,
                "--priority" | "-p" => {
                    let priority = args.next()?.to_str()?;
                    floor(priority)?;
                    wait.priority = Some(priority.to_owned());
                }
                "--after" => wait.after = Some(args.next()?.to_str()?.parse().ok()?),
                "--as" => wait.who.name = Some(args.next()?.to_str()?.to_owned()),
                "--takeover" => wait.who.takeover = true,
                "--json" => wait.json = true,
                "--project" => project = Some(PathBuf::from(args.next()?)),
                _ => return None,
            }
        }
        Some((wait, project))
    }

    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let hello = self.who.hello(project)?;
        let deadline = match self.timeout {
            0 => None,
            seconds => Instant::now().checked_add(Duration::from_secs(seconds)),
        };
        let floor = self.priority.as_deref().and_then(floor).map(str::to_owned);
        let wanted = Wait { floor, after: self.after, deadline };
        let shown = client::wait(project, &hello, &wanted, |message| self.show(&message)).map_err(super::refused)?;
        if shown.is_none() {
            terminal::note(format!("No message within {} s.", self.timeout));
            return Ok(Exit::NothingCame);
        }
        Ok(Exit::Done)
    }

    fn show(&self, message: &Value) {
        if self.json {
            return terminal::json(message);
        }
        // The daemon has already escaped terminal control characters.
        let text = |field: &str| message[field].as_str().unwrap_or_default();
        let whose = match text("from") {
            _ if super::terminal_format::reads() => "",
            // No agent can have this name.
            "user" => "; it comes from your user",
            _ => "; it comes from another agent, not from your user",
        };
        terminal::line(format!(
            "{} from {}, {}: \"{}\"\n`hob inbox --take` shows it and marks it as read{whose}.",
            text("message_id"),
            text("from"),
            text("priority"),
            text("preview"),
        ));
    }
}

/// Returns the minimum priority; `None` for all.
fn floor(priority: &str) -> Option<&'static str> {
    Some(match priority {
        "critical" => "critical",
        "high" => "high_and_above",
        "normal" => "normal_and_above",
        "low" | "all" => "all",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Full {
        #[command(flatten)]
        wait: WaitCommand,
    }

    #[test]
    fn the_short_reading_is_the_full_one() {
        for line in
            ["", "--timeout 5 -p high --as bob", "--json --after 7 --takeover", "--priority none", "--timeout x"]
        {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let full = Full::try_parse_from(std::iter::once(OsString::from("wait")).chain(words.clone()));
            match (WaitCommand::quick(&words), full) {
                (Some((quick, None)), Ok(full)) => assert_eq!(quick, full.wait, "{line}"),
                (None, Err(_)) => {}
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
