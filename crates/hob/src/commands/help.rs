//! `hob help`, and the layout of help: grouped commands, two commands to start with, and examples.
//!
//! The layout takes longer than a short command, so it is built only if help is shown ([`laid_out`]).

use std::error::Error;
use std::ffi::OsString;

use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory};

use super::call::{self, Choice};
use super::help_sections;
use crate::exit::{self, Exit, Failure};

/// Show this help, or the help of a command
#[derive(Debug, Args)]
pub(crate) struct Help {
    /// The command, or `call` and a tool
    #[arg(value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Help {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if self.command.first().is_some_and(|command| command == HOOK.0) {
            let _ = super::hook::run([OsString::from("--help")]);
            return Ok(Exit::Done);
        }
        crate::parse_and_run(self.command.into_iter().chain([OsString::from("--help")]).collect())
    }
}

/// The commands to start with.
const START: [(&str, &str); 2] = [
    ("hob init", "set this project up for the agents on this machine; `hob doctor` reports what is missing"),
    ("hob eval '1 + 1'", "evaluate in a live REPL that keeps its state; `hob status` shows running sessions"),
];

/// All commands, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Sessions", &["eval", "attach", "repl", "top", "status", "stop"]),
    (
        "Mail between agents",
        &[
            "inbox",
            "send",
            "reply",
            "wait",
            "ack",
            "thread",
            "search",
            "agents",
            "group",
            "quickstart",
            "mail",
            "import",
        ],
    ),
    ("Agents' questions", &["questions", "answer", "page"]),
    ("Code", &["callers", "uses", "callees", "def", "outline", "fields", "constructors", "matches", "code"]),
    ("What to read, and what breaks", &["teach", "scout", "explore"]),
    ("State of the work", &["work", "brief", "note"]),
    ("Policy for agents' hooks", &["policy", "hooks"]),
    ("Prompts as functions", &["node"]),
    ("Cure", &["cure"]),
    ("Setup and help", &["init", "doctor", "upgrade", "trust", "completions", "help"]),
    ("For agents and scripts", &["mcp", "serve", "tools", "call", "ask"]),
];

/// The command that bypasses the parser, because an agent waits for each of its calls.
const HOOK: (&str, &str) = ("hook", "Answer a hook event on stdin; agents' hooks run this");

/// Examples of each command, with titles.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "eval",
        &[
            ("hob eval '1 + 1'", ""),
            ("hob eval --profile python 'import sys; sys.version'", "in a Python REPL"),
            ("hob eval < setup.hs", "code from a file or a pipe"),
            ("hob eval --stdin 'getLine >>= putStrLn' < lines.txt", "the code reads stdin"),
            ("hob eval --wait 5 'main'", "return after 5 s, even if it still runs"),
        ],
    ),
    ("attach", &[("hob attach", ""), ("hob attach main --read-only", "watch what an agent does")]),
    (
        "repl",
        &[
            ("hob repl check", "every profile whose program is installed"),
            ("hob repl check mine --interrupts 40", "a profile of your configuration"),
        ],
    ),
    ("status", &[("hob status", ""), ("hob status --json", ""), ("hob status --line", "for a status bar")]),
    ("top", &[("hob top", ""), ("hob top sessions", ""), ("hob top --once questions", "one frame, as text")]),
    ("page", &[("hob page --open", ""), ("hob page --port 8123", "a fixed port, to be forwarded with ssh")]),
    ("callers", &[("hob callers Shape::area", ""), ("hob callers src/geo.rs:41", "the declaration at that line")]),
    ("uses", &[("hob uses Circle --class construct --class pattern", "where it is constructed and matched")]),
    (
        "callees",
        &[("hob callees Shape::area", ""), ("hob callees main --external", "include functions of other libraries")],
    ),
    ("def", &[("hob def Shape::area", "")]),
    ("outline", &[("hob outline src/geo.rs", ""), ("hob outline --match area", "names that contain this text")]),
    ("fields", &[("hob fields Circle", "")]),
    ("constructors", &[("hob constructors Shape", "")]),
    (
        "matches",
        &[
            ("hob matches Shape", "the effect of adding a constructor"),
            ("hob matches Shape --remove Square", "the effect of removing that constructor"),
        ],
    ),
    ("code", &[("hob code status", ""), ("hob code restart", "restart the language servers after fixing a problem")]),
    ("work", &[("hob work", ""), ("hob work --all", "all worktrees of the repository")]),
    (
        "policy",
        &[
            ("hob policy check", ""),
            ("hob policy explain event.json", "which rules match an event, and by which command"),
            ("hob policy try next.toml", "how that file would have changed past decisions"),
        ],
    ),
    (
        "hooks",
        &[
            ("hob hooks install", "for the detected agents, in your private files"),
            ("hob hooks install --agent claude --fail closed", "refuse tools if hob does not answer"),
            ("hob hooks uninstall", ""),
            ("hob hooks log --follow", "past events, then new ones as they happen"),
        ],
    ),
    (
        "node",
        &[
            ("hob node new summarize", "writes nodes/summarize.node.md"),
            ("hob node check", "all node files, each error with its line"),
            ("hob node run summarize '{\"text\": \"It rained.\"}'", ""),
            ("hob node test --engine fixed", "run the tests in node files on a built-in model"),
        ],
    ),
    (
        "teach",
        &[
            ("hob teach 'how areas are computed' --seeds Shape,geo::area", ""),
            ("hob teach areas --seeds Shape --tour areas.tour", "also a tour for CodeTour"),
            ("hob teach --check areas.tour", "the stops that no longer match"),
        ],
    ),
    (
        "scout",
        &[
            ("hob scout 'What breaks if I add a variant to Shape?'", ""),
            ("hob scout 'May I rename this?' --symbols geo::area", "the definition by name"),
            ("hob scout --diff", "the definitions that changed and are not committed"),
        ],
    ),
    (
        "explore",
        &[
            ("hob explore export scout-1796000000000 --format chat", "`hob scout --record` prints the name"),
            ("hob explore compare scout-1796000000000", ""),
        ],
    ),
    ("brief", &[("hob brief", ""), ("hob brief --end", "unfinished work, with the commands that finish it")]),
    (
        "note",
        &[
            ("hob note 'The parser is done; its tests are next.'", ""),
            ("hob note", "the notes on this branch"),
            ("hob note - < handover.md", "from a file"),
        ],
    ),
    ("stop", &[("hob stop", "the next command or agent starts a new daemon")]),
    (
        "questions",
        &[("hob questions", ""), ("hob questions --watch", "keep watching, so that agents can tell you are present")],
    ),
    (
        "answer",
        &[
            ("hob answer", "answer by prompts"),
            ("hob answer q_7k2mx --yes --note 'but keep the tag'", ""),
            ("hob answer q_7k2mx --choose sqlite", ""),
        ],
    ),
    (
        "ask",
        &[
            ("hob ask confirm 'Deploy to production?' && ./deploy", ""),
            ("hob ask select 'Which store?' sqlite=SQLite pg=PostgreSQL --json", ""),
            ("hob ask guide 'The test is flaky.' --suggest 'fix the test' --wait 0", "ask without waiting"),
            ("hob ask wait q_7k2mx --json", "fetch that answer later"),
        ],
    ),
    ("inbox", &[("hob inbox", ""), ("hob inbox --all --limit 10", "include read messages")]),
    (
        "send",
        &[
            ("hob send 'main is frozen' --to role:dev", ""),
            ("hob send --file notes.md --to reviewer --priority high", ""),
        ],
    ),
    ("reply", &[("hob reply msg_01M8 'done'", "")]),
    ("wait", &[("hob wait --timeout 60 && hob inbox", "")]),
    ("ack", &[("hob ack msg_01M8", ""), ("hob ack --reject --note 'not mine' msg_01M8", "")]),
    ("thread", &[("hob thread msg_01M8", "")]),
    ("search", &[("hob search 'frozen main' --from planner --since 2026-11-01", "")]),
    ("agents", &[("hob agents --active", "")]),
    ("group", &[("hob group create backend", ""), ("hob group add backend --role dev", "")]),
    ("quickstart", &[("hob quickstart --name planner --role lead --module api", "")]),
    ("mail", &[("hob mail", ""), ("hob mail keep", "")]),
    ("import", &[("hob import thrum", "")]),
    (
        "cure",
        &[("hob cure check src", ""), ("hob cure run fact.cure --function fact 5", ""), ("hob cure fmt --check .", "")],
    ),
    ("init", &[("hob init", ""), ("hob init --agent claude", ""), ("hob init --undo", "")]),
    ("upgrade", &[("hob upgrade --check", "before you replace the program")]),
    ("doctor", &[("hob doctor", ""), ("hob doctor --json", "")]),
    ("trust", &[("hob trust", "shows the requests, asks, and grants"), ("hob trust --revoke", "")]),
    ("completions", &[("hob completions bash > ~/.local/share/bash-completion/completions/hob", "")]),
    ("help", &[("hob help", ""), ("hob help send", ""), ("hob help call repl_eval", "")]),
    (
        "mcp",
        &[
            ("hob mcp", "what `hob init` writes into an agent's configuration"),
            ("hob mcp repl,mail", "only these toolsets"),
            ("hob mcp --profile ghc-mcp", ""),
        ],
    ),
    ("serve", &[("hob serve", ""), ("hob serve --http 127.0.0.1:7117", "")]),
    ("tools", &[("hob tools", ""), ("hob tools --toolset cure", ""), ("hob tools --json", "")]),
];

/// Returns the command line with its help laid out.
pub(crate) fn laid_out(command: clap::Command) -> clap::Command {
    let template = template(&command);
    let command = command.help_template(template).after_help(exit::TABLE);
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        let lines = examples.iter().map(|(line, shows)| ((*line).to_owned(), (*shows).to_owned()));
        command.mut_subcommand(name, |sub| sub.after_help(help_sections::examples(lines)))
    })
}

fn template(command: &clap::Command) -> StyledStr {
    let about = |name: &str| {
        let command = command.find_subcommand(name);
        command.and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let start = START.map(|(line, about)| (line, about.to_owned()));
    let mut template =
        format!("{{about-with-newline}}\n{}{{usage-heading}} {{usage}}\n\n", section("Start here", &start, 0));
    let column = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    for (title, names) in GROUPS {
        let mut lines: Vec<(&str, String)> = names.iter().map(|name| (*name, about(name))).collect();
        if names.contains(&"hooks") {
            lines.push((HOOK.0, HOOK.1.to_owned()));
        }
        template.push_str(&section(title, &lines, column));
    }
    template.push_str(&format!("{}\n{{options}}{{after-help}}", help_sections::heading("Options")));
    template.into()
}

/// Renders a heading and two columns; the first is as wide as its content and at least `least`.
fn section(title: &str, lines: &[(&str, String)], least: usize) -> String {
    let styles = Styles::styled();
    let literal = styles.get_literal();
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max(least);
    let lines = lines.iter().map(|(name, about)| {
        let padding = " ".repeat(width - name.len());
        format!("  {literal}{name}{literal:#}{padding}  {about}\n")
    });
    format!("{}\n{}\n", help_sections::heading(title), lines.collect::<String>())
}

/// Suggests a command for an unknown one, if the parser has no similar one.
pub(crate) fn with_tip(mut error: clap::Error) -> clap::Error {
    if let (Some(ContextValue::String(argument)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
        && let Some(problem) = error.source().and_then(|source| number_problem(&source.to_string()))
    {
        let message =
            format!("invalid value '{value}' for '{argument}': {problem}\n\nFor more information, try '--help'.\n");
        return clap::Error::raw(error.kind(), message).with_cmd(&crate::Cli::command());
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    // The usage line names the parent command of an unknown subcommand.
    if error.get(ContextKind::Usage).is_some_and(|usage| !usage.to_string().contains("hob [OPTIONS]")) {
        return error;
    }
    let is_tool = call::tools(Choice::All).is_ok_and(|tools| tools.iter().any(|tool| tool.name == *word));
    let is_version = word == "version";
    let tip = match error.get(ContextKind::SuggestedSubcommand) {
        _ if is_version => "`hob --version` prints the version".to_owned(),
        _ if is_tool => {
            format!("`hob call {word}` calls the tool of that name; `hob help call {word}` lists its flags")
        }
        Some(_) => return error,
        None => "`hob help` lists the commands, `hob tools` the tools for `hob call`".to_owned(),
    };
    if is_version {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.push(tip.into());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// Returns the reason for an invalid number in plain words; `None` for other errors of a parser.
fn number_problem(problem: &str) -> Option<String> {
    match problem {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            Some("it must be a whole number, 0 or more".to_owned())
        }
        "number too large to fit in target type" => Some("the number is too large".to_owned()),
        problem => {
            let (_, range) = problem.split_once(" is not in ")?;
            let (first, last) = range.split_once("..=")?;
            Some(format!("it must be {first} to {last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let command = crate::Cli::command();
        let mut commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        // `hob call` builds its own help.
        let mut shown: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).chain(["call"]).collect();
        for list in [&mut commands, &mut grouped, &mut shown] {
            list.sort_unstable();
        }
        assert_eq!(commands, grouped);
        assert_eq!(commands, shown);
    }

    #[test]
    fn every_example_is_a_command_line() {
        for (name, examples) in EXAMPLES {
            assert!(!examples.is_empty(), "{name}");
            for (line, _) in *examples {
                let words = split_words(line);
                assert_eq!(words[..2], ["hob", name], "{line}");
                if let Err(error) = crate::Cli::command().try_get_matches_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    /// Returns the words of the first command in a shell line.
    fn split_words(line: &str) -> Vec<String> {
        let (mut words, mut quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().expect("there is one").push(c),
            }
        }
        words.into_iter().take_while(|word| !["<", ">", "&&"].contains(&&**word)).collect()
    }
}
