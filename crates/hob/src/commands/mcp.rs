//! `hob mcp`: the front-end that agents start. Agents wait for it, so its command line is parsed without the full parser, which
//! would take longer than the rest of the start; an unusual command line goes to the full parser.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use project::{Hello, Project, Results, Role};

use super::choice;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Serve an agent on stdin and stdout (MCP); agents start this
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Mcp {
    /// The toolsets to serve, separated by commas [default: those enabled in hob.toml]
    #[arg(value_delimiter = ',')]
    toolsets: Vec<String>,
    /// Serve tools compatible with another system, under its names: ghc-mcp, thrum, cure, tidepool
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = Profile)]
    profile: Option<String>,
    /// The agent's name [default: HOB_AGENT, or the one that belongs to the worktree]
    #[arg(long = "as", visible_alias = "agent-id", value_name = "NAME")]
    name: Option<String>,
    /// Take that name over from the process that uses it elsewhere
    #[arg(long)]
    takeover: bool,
    /// The content of tool results: only text, or structured content too [default: depends on the client]
    #[arg(long, value_name = "FORM", value_parser = forms())]
    results: Option<Results>,
    /// Serve without a daemon: sessions end with this process
    #[arg(long)]
    standalone: bool,
}

/// The forms of results, by name.
const FORMS: [(&str, Results); 2] = [("text", Results::Text), ("both", Results::Both)];

fn form(name: &str) -> Option<Results> {
    FORMS.into_iter().find(|(known, _)| *known == name).map(|(_, form)| form)
}

fn forms() -> impl TypedValueParser<Value = Results> {
    PossibleValuesParser::new(FORMS.map(|(name, _)| name)).try_map(|name| form(&name).ok_or("unknown form of results"))
}

/// A parser that offers the names for completion; the daemon decides which names are valid.
#[derive(Clone)]
struct Profile;

impl TypedValueParser for Profile {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["ghc-mcp", "thrum", "cure"].into_iter().map(PossibleValue::new)))
    }
}

impl Mcp {
    /// Parses a simple command line, with the value of `--project`; `None` for anything else.
    pub(crate) fn quick(args: &[OsString]) -> Option<(Mcp, Option<PathBuf>)> {
        let mut mcp = Mcp::default();
        let mut project = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str()? {
                "--profile" => mcp.profile = Some(args.next()?.to_str()?.to_owned()),
                "--results" => mcp.results = Some(form(args.next()?.to_str()?)?),
                "--standalone" => mcp.standalone = true,
                "--takeover" => mcp.takeover = true,
                "--as" | "--agent-id" => mcp.name = Some(args.next()?.to_str()?.to_owned()),
                "--project" => project = Some(PathBuf::from(args.next()?)),
                word if word.starts_with('-') || !mcp.toolsets.is_empty() => return None,
                word => mcp.toolsets = word.split(',').map(str::to_owned).collect(),
            }
        }
        Some((mcp, project))
    }

    pub(crate) fn run(self, explicit: Option<PathBuf>) -> Result<Exit, Failure> {
        let (standalone, toolsets, profile) = (self.standalone, self.toolsets.clone(), self.profile.clone());
        let locate = move || -> Result<(Project, Hello), String> {
            let cwd = std::env::current_dir().map_err(|error| {
                format!("cannot find the current directory: {error}; start the agent in an existing directory")
            })?;
            let project = Project::find(explicit.as_deref(), &cwd).map_err(|error| error.to_string())?;
            let mut hello = Hello::new(Role::Mcp, &project, &cwd);
            hello.profile.clone_from(&self.profile);
            hello.toolsets.clone_from(&self.toolsets);
            hello.results = self.results;
            if self.name.is_some() {
                hello.name.clone_from(&self.name);
            }
            hello.takeover = self.takeover;
            Ok((project, hello))
        };
        if standalone {
            daemon::declared(&toolsets, profile.as_deref(), Vec::new())
                .map_err(|error| choice::failure(error, "mcp"))?;
            let (project, hello) = locate().map_err(Failure::new)?;
            return super::serve::standalone(&project, &hello);
        }
        if std::io::stdin().is_terminal() {
            // An agent learns of the error by its first request; a person at a terminal would wait forever.
            daemon::declared(&toolsets, profile.as_deref(), Vec::new())
                .map_err(|error| choice::failure(error, "mcp"))?;
            terminal::note("`hob mcp` expects JSON-RPC from an agent; in a terminal use `hob call` or `hob status`.");
        }
        let served = client::stdio::run(locate, client::Launch::default())
            .map_err(|error| Failure::new(format_args!("stdin or stdout failed: {error}")))?;
        // The reason was already reported, to the agent and on stderr.
        Ok(if served {
            Exit::Done
        } else if daemon::declared(&toolsets, profile.as_deref(), Vec::new()).is_err() {
            Exit::Usage
        } else {
            Exit::NoDaemon
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Full {
        #[command(flatten)]
        mcp: Mcp,
    }

    #[test]
    fn the_short_reading_is_the_full_one() {
        for line in [
            "",
            "repl",
            "repl,mail --as bob",
            "--profile ghc-mcp",
            "--results text",
            "--results some",
            "--standalone repl",
            "repl mail",
            "--profile",
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let full = Full::try_parse_from(std::iter::once(OsString::from("mcp")).chain(words.clone()));
            match Mcp::quick(&words) {
                Some((quick, None)) => assert_eq!(quick, full.unwrap().mcp, "{line}"),
                other => assert!(
                    other.is_none() && ["repl mail", "--profile", "--results some"].contains(&line),
                    "{line}: {other:?}"
                ),
            }
        }
        assert_eq!(Mcp::quick(&["--help".into()]), None);
        assert_eq!(Mcp::quick(&["--project".into(), "/x".into()]), Some((Mcp::default(), Some("/x".into()))));
    }
}
