//! The work status (git, pull request, issue) in the daemon.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ::hooks::Brief;
use ::hooks::context::{Memory, Piece};
use ::hooks::service::{AgentContext, AgentEvent, HostFuture};
use ::work::other_parts::{Agent, OtherParts, Waiting, WaitingFuture};
use ::work::{Moment, Work, WorkOptions, WorkSettings, control, tools};
use mcp::tool::{Context, Declaration};
use project::config::Section;
use project::dashboard::Rooms;
use project::{Caller, Environment, Role};
use tokio::runtime;

use super::{Annotation, Capabilities, Part, Setup, Surface, Toolset};

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
            around: other_parts(setup),
            settings: setup.config.settings::<WorkSettings>(),
        });
        let context = Arc::new(WorkContext(work.clone()));
        let [facts, noted, listed] = [(); 3].map(|()| work.clone());
        let connections = setup.connections.cloned();
        setup.register(Capabilities {
            annotation: Some(context.clone()),
            agent_context: Some(context),
            facts: Some(Box::new(move |name, worktree| {
                let (work, name, worktree) = (facts.clone(), name.to_owned(), worktree.to_owned());
                // A hook's connection has no environment; git is found by the daemon's own.
                Box::pin(async move { work.fact(&name, &worktree, own_environment).await })
            })),
            rows: Some(Box::new(move |_| {
                let agents = connections.as_ref().map(|connections| connections.list()).unwrap_or_default();
                let agents = agents.into_iter().filter(|open| open.role == Role::Mcp);
                let worktrees = agents.map(|open| open.stands_in.unwrap_or(open.cwd)).collect();
                let rooms = Rooms { work: listed.rows(worktrees, own_environment), ..Rooms::default() };
                Box::pin(std::future::ready(rooms))
            })),
            methods: Some(Box::new(move |server, surface| {
                let work = noted.clone();
                match surface {
                    Surface::Control => {
                        server.method("work/note", move |cx, params| control::note(work.clone(), cx, params))
                    }
                    Surface::Agent | Surface::Http => server,
                }
            })),
            ..Capabilities::default()
        });
        WorkPart { work }
    }

    fn declared() -> WorkPart {
        WorkPart { work: Work::declared() }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "work",
            about: "the state of the work",
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
}

/// The work status, as other parts and agents see it.
struct WorkContext(Arc<Work>);

impl Annotation for WorkContext {
    /// Adds nothing; a returned result proves that earlier ones arrived.
    fn text(&self, cx: &Context, _: &Declaration) -> Option<String> {
        self.0.confirm_delivery(cx.caller::<Caller>()?, false);
        None
    }
}

impl AgentContext for WorkContext {
    fn at_hook<'a>(&'a self, event: &'a AgentEvent) -> HostFuture<'a, Option<Piece>> {
        Box::pin(async {
            let moment = match event.at.memory {
                Memory::Begins => Moment::Begin,
                Memory::Lost => Moment::Again,
                Memory::Whole => return None,
            };
            let needed = match event.brief {
                Brief::Auto => true,
                Brief::Always => false,
                Brief::Never => return None,
            };
            let caller = event.cx.caller::<Caller>()?;
            let text = self.0.brief_unasked(&event.cx, caller, moment, needed).await?;
            let (work, run) = (self.0.clone(), caller.run.clone().unwrap_or_default());
            let lost = Box::new(move || work.record_lost_answer(&run));
            Some(event.piece(format!("State of the work here:\n{text}"), false, Some(lost)))
        })
    }

    fn confirm_deliveries(&self, cx: &Context) {
        if let Some(caller) = cx.caller::<Caller>() {
            self.0.confirm_delivery(caller, true);
        }
    }
}

/// Returns the variables of the daemon that are text.
fn own_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns what other parts know: pending items, and the agents in a worktree.
fn other_parts(setup: &Setup<'_>) -> OtherParts {
    let (others, connections) = (setup.others.clone(), setup.connections.cloned());
    let waiting = move |cx: &Context| -> WaitingFuture {
        let (others, cx) = (others.upgrade(), cx.clone());
        Box::pin(async move {
            let Some(others) = others else { return Vec::new() };
            let pending = others.pending(&cx).await.into_iter();
            pending.map(|(part, text)| Waiting { part: part.to_owned(), text }).collect()
        })
    };
    let agents = move |worktree: &Path| {
        let agents = connections.as_ref().map_or_else(Vec::new, |connections| connections.agents(worktree));
        agents.into_iter().map(|open| Agent { name: open.name, pid: open.pid, run: open.run }).collect()
    };
    OtherParts { waiting: Box::new(waiting), agents: Box::new(agents) }
}

/// Returns the available facts of these names about a worktree without asking a daemon, for rules. Blocks.
pub fn facts(names: &[&str], worktree: &Path) -> BTreeMap<String, String> {
    let branch = ::work::rule_facts::branch(worktree).map(|branch| ("work.branch".to_owned(), branch));
    let mut known: BTreeMap<String, String> = branch.into_iter().collect();
    // Git is not run for a branch alone.
    if names.iter().any(|name| !known.contains_key(*name))
        && let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build()
    {
        let env = Environment::of_this_process();
        let of_git = runtime.block_on(::work::rule_facts::query_facts(worktree, &env));
        for (name, value) in of_git {
            known.insert(name.to_owned(), value);
        }
    }
    known.retain(|name, _| names.contains(&name.as_str()));
    known
}
