//! The commands, one file each. Every command ends with an [`Exit`] or a [`Failure`]; nothing else ends the program.

mod ask;
mod brief;
mod call;
mod choice;
mod code;
mod complete;
mod completions;
mod cure;
mod current_project;
mod doctor;
mod eval;
mod explore;
pub(crate) mod help;
mod help_sections;
pub(crate) mod hook;
mod hooks;
mod init;
mod mail;
mod mail_hints;
mod mcp;
mod node;
mod note;
mod other_program;
mod page;
mod policy;
mod repl;
mod sandbox;
mod serve;
mod status;
mod stop;
mod tools;
mod top;
mod trust;
mod upgrade;
mod work;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::exit::{Exit, Failure};

/// hob's subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Mcp(mcp::Mcp),
    Serve(serve::Serve),
    Eval(eval::Eval),
    Attach(eval::Attach),
    Status(status::StatusCommand),
    Top(top::Top),
    Stop(stop::Stop),
    Call(call::Call),
    Tools(tools::Tools),
    Send(mail::Send),
    Inbox(mail::Inbox),
    Reply(mail::Reply),
    Wait(mail::WaitCommand),
    Ack(mail::Ack),
    Agents(mail::Agents),
    Group(mail::GroupCommand),
    Thread(mail::Thread),
    Search(mail::Search),
    Quickstart(mail::Quickstart),
    Mail(mail::PlaceCommand),
    Import(mail::Import),
    Questions(ask::Questions),
    Answer(ask::Answer),
    Ask(ask::Ask),
    Page(page::PageCommand),
    Callers(code::Callers),
    Uses(code::Uses),
    Callees(code::Callees),
    Def(code::Def),
    Outline(code::Outline),
    Fields(code::Fields),
    Constructors(code::Constructors),
    Matches(code::Matches),
    Code(code::CodeCommand),
    Teach(explore::Teach),
    Scout(explore::Scout),
    Explore(explore::ExploreCommand),
    Work(work::Work),
    Hooks(hooks::HooksCommand),
    Policy(policy::PolicyCommand),
    Repl(repl::ReplCommand),
    Node(node::NodeCommand),
    Brief(brief::Brief),
    Note(note::Note),
    Cure(cure::CureCommand),
    Init(init::Init),
    Trust(trust::TrustCommand),
    Doctor(doctor::Doctor),
    Upgrade(upgrade::Upgrade),
    Completions(completions::Completions),
    Help(help::Help),
}

impl Command {
    /// Runs the command. `explicit` is the value of `--project`.
    pub(crate) fn run(self, explicit: Option<PathBuf>) -> Result<Exit, Failure> {
        let project = || current_project::find_project(explicit.as_deref());
        match self {
            Command::Mcp(mcp) => mcp.run(explicit.clone()),
            Command::Serve(serve) => serve.run(project()?),
            Command::Eval(eval) => eval.run(&project()?),
            Command::Attach(attach) => attach.run(&project()?),
            Command::Status(status) => status.run(&project()?),
            Command::Top(top) => top.run(&project()?),
            Command::Stop(stop) => stop.run(&project()?),
            Command::Call(call) => call.run(explicit.clone()),
            Command::Tools(tools) => tools.run(explicit.as_deref()),
            Command::Send(send) => send.run(&project()?),
            Command::Inbox(inbox) => inbox.run(&project()?),
            Command::Reply(reply) => reply.run(&project()?),
            Command::Wait(wait) => wait.run(&project()?),
            Command::Ack(ack) => ack.run(&project()?),
            Command::Agents(agents) => agents.run(&project()?),
            Command::Group(group) => group.run(&project()?),
            Command::Thread(thread) => thread.run(&project()?),
            Command::Search(search) => search.run(&project()?),
            Command::Quickstart(quickstart) => quickstart.run(&project()?),
            Command::Mail(place) => place.run(&project()?),
            Command::Import(import) => import.run(&project()?),
            Command::Questions(questions) => questions.run(&project()?),
            Command::Answer(answer) => answer.run(&project()?),
            Command::Ask(ask) => ask.run(&project()?),
            Command::Page(page) => page.run(project()?),
            Command::Callers(callers) => callers.run(&project()?),
            Command::Uses(uses) => uses.run(&project()?),
            Command::Callees(callees) => callees.run(&project()?),
            Command::Def(def) => def.run(&project()?),
            Command::Outline(outline) => outline.run(&project()?),
            Command::Fields(fields) => fields.run(&project()?),
            Command::Constructors(constructors) => constructors.run(&project()?),
            Command::Matches(matches) => matches.run(&project()?),
            Command::Code(code) => code.run(&project()?),
            Command::Teach(teach) => teach.run(&project()?),
            Command::Scout(scout) => scout.run(&project()?),
            Command::Explore(explore) => explore.run(&project()?),
            Command::Work(work) => work.run(&project()?),
            Command::Hooks(hooks) => hooks.run(&project()?),
            Command::Policy(policy) => policy.run(&project()?),
            Command::Repl(repl) => repl.run(&project()?),
            Command::Node(node) => node.run(&project()?),
            Command::Brief(brief) => brief.run(&project()?),
            Command::Note(note) => note.run(&project()?),
            Command::Cure(cure) => cure.run(explicit.as_deref()),
            Command::Init(init) => init.run(&project()?),
            Command::Trust(trust) => trust.run(&project()?),
            Command::Doctor(doctor) => doctor.run(&project()?),
            Command::Upgrade(upgrade) => upgrade.run(&project()?),
            Command::Completions(completions) => completions.run(),
            Command::Help(help) => help.run(),
        }
    }
}

/// Runs the commands that bypass the full parser, because programs start them and people wait. `None` for others.
pub(crate) fn quick(args: &[OsString]) -> Option<Result<Exit, Failure>> {
    let (command, rest) = args.split_first()?;
    match (command.to_str()?, rest) {
        ("mcp", rest) => mcp::Mcp::quick(rest).map(|(mcp, explicit)| mcp.run(explicit)),
        ("wait", rest) => mail::WaitCommand::quick(rest).map(|(wait, explicit)| {
            current_project::find_project(explicit.as_deref()).and_then(|project| wait.run(&project))
        }),
        // A status bar runs this every few seconds.
        ("status", [line]) if line == "--line" => {
            Some(current_project::find_project(None).and_then(|project| status::line(&project)))
        }
        // A hidden command: neither help nor completions offer it.
        ("complete", [dashes, words @ ..]) if dashes == "--" => Some(complete::run(words)),
        ("--project", [root, command, rest @ ..]) if command == "mcp" => match mcp::Mcp::quick(rest)? {
            (mcp, None) => Some(mcp.run(Some(PathBuf::from(root)))),
            _ => None,
        },
        ("serve", [background, project, root]) if background == "--background" && project == "--project" => {
            let serve = serve::Serve { background: true, http: None };
            Some(current_project::find_project(Some(Path::new(root))).and_then(|project| serve.run(project)))
        }
        _ => None,
    }
}
