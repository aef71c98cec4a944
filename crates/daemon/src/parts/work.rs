//! The work status (git, pull request, issue) in the daemon.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use ::hooks::Brief;
use ::hooks::context::Memory;
use ::work::around::{Agent, Neighbourhood, Waiting};
use ::work::{Moment, Work, WorkOptions, WorkSettings, control, tools};
use mcp::server::Server;
use mcp::tool::Context;
use project::config::Section;
use project::{Caller, Environment};
use tokio::runtime;

use super::{Annotate, Hooked, Neighbours, Part, PartText, PieceFuture, Setup, Surface, Toolset};

const INSTRUCTIONS: &str = "Work status: call work_brief when you start (current work, the last agent's note, pending \
items) and when you finish (unfinished work; leaves your note). work_status has branch, base, changed files, pull request and \
issue.";

const TIDEPOOL_INSTRUCTIONS: &str = "Work: exo_status has issue, worktree, dirty files and pull request; exo_reconstitute \
fetches first.";

/// The state of the work in the callers' worktrees.
pub(crate) struct WorkPart {
    work: Arc<Work>,
}

impl Part for WorkPart {
    fn open(setup: &Setup<'_>) -> WorkPart {
        let project = setup.project.clone();
        let work = Work::new(WorkOptions {
            notes: project.state_dir().join("notes"),
            prepare: Box::new(move || project.create_state_dir().map(drop).map_err(std::io::Error::other)),
            around: Arc::new(AroundHere(setup.neighbours.clone())),
            settings: setup.config.settings::<WorkSettings>(),
        });
        WorkPart { work }
    }

    fn declared() -> WorkPart {
        WorkPart { work: Work::declared() }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "work",
            about: "where the work stands",
            instructions: INSTRUCTIONS,
            core: tools::CORE,
            tools: tools::tools(&self.work),
            is_default: true,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset::tidepool(TIDEPOOL_INSTRUCTIONS, tools::tidepool(&self.work))]
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<WorkSettings>())
    }

    fn annotation(&self) -> Option<Annotate> {
        let work = self.work.clone();
        // Nothing is added; a returned result proves that earlier ones arrived.
        Some(Box::new(move |cx, _| {
            if let Some(caller) = cx.caller::<Caller>() {
                work.heard_of(caller, false);
            }
            None
        }))
    }

    fn at_hook<'a>(&'a self, hooked: &'a Hooked) -> PieceFuture<'a> {
        Box::pin(async {
            let moment = match hooked.at.memory {
                Memory::Begins => Moment::Begin,
                Memory::Lost => Moment::Again,
                Memory::Whole => return None,
            };
            let needed = match hooked.brief {
                Brief::Auto => true,
                Brief::Always => false,
                Brief::Never => return None,
            };
            let caller = hooked.cx.caller::<Caller>()?;
            let text = self.work.brief_unasked(&hooked.cx, caller, moment, needed).await?;
            let (work, run) = (self.work.clone(), caller.run.clone().unwrap_or_default());
            let lost = Box::new(move || work.lost(&run));
            Some(hooked.piece(format!("Where the work stands here:\n{text}"), false, Some(lost)))
        })
    }

    fn heard_at_hook(&self, cx: &Context) {
        if let Some(caller) = cx.caller::<Caller>() {
            self.work.heard_of(caller, true);
        }
    }

    fn fact<'a>(&'a self, name: &'a str, worktree: &'a Path) -> PartText<'a> {
        Box::pin(async move {
            // A hook's connection has no environment; git is found by the daemon's own.
            let text =
                |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
            self.work.fact(name, worktree, || std::env::vars_os().filter_map(text).collect()).await
        })
    }

    fn add_methods(&self, server: Server, surface: Surface) -> Server {
        let work = self.work.clone();
        match surface {
            Surface::Control => server.method("work/note", move |cx, params| control::note(work.clone(), cx, params)),
            Surface::Agent | Surface::Http => server,
        }
    }
}

/// Access to the other parts.
struct AroundHere(Arc<Neighbours>);

impl Neighbourhood for AroundHere {
    fn waiting<'a>(&'a self, cx: &'a Context) -> Pin<Box<dyn Future<Output = Vec<Waiting>> + Send + 'a>> {
        Box::pin(async {
            let waiting = self.0.waiting(cx).await.into_iter();
            waiting.map(|(part, text)| Waiting { part: part.to_owned(), text }).collect()
        })
    }

    fn agents(&self, worktree: &Path) -> Vec<Agent> {
        let agents = self.0.agents(worktree).into_iter();
        agents.map(|open| Agent { name: open.name, pid: open.pid, run: open.run }).collect()
    }
}

/// Returns git's facts about a worktree without asking a daemon, for rules. Blocks.
pub(super) fn facts(worktree: &Path) -> BTreeMap<String, String> {
    let env = Environment::of_this_process();
    let known = async { ::work::for_rules::look(worktree, &env).await };
    match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(known).into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        Err(_) => BTreeMap::new(),
    }
}
