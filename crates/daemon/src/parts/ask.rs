//! Questions to a person in the daemon: storage, methods, and access rules.

use std::path::PathBuf;
use std::sync::Arc;

use ::ask::control;
use ::ask::{
    AskSettings, Board, BoardOptions, HookAnswer, HookQuestion, Notified, Notify, acknowledge_at_hook, ask_at_hook,
    late_at_hook,
};
use ::hooks::context::Piece;
use ::hooks::service::{AgentContext, AgentEvent, HostFuture, PersonQuestion, PersonResult};
use mcp::server::Server;
use mcp::tool::Context;
use project::Caller;
use project::config::Section;
use project::dashboard::{Minute, Rooms};
use serde_json::json;

use super::{Capabilities, Part, PartStatus, Setup, Surface, Toolset};
use crate::connections;
use crate::notify::notify;

const INSTRUCTIONS: &str = "Questions to your user: confirm_action, select_option, request_guidance. `unavailable` and \
`timed_out` never mean no.";

const TIDEPOOL_INSTRUCTIONS: &str = "Questions to your user: confirm_action before what cannot be undone, select_option among \
several ways, request_guidance when you are unsure. No person available (`unavailable`) and no answer yet (`timed_out`) never mean no; \
a late answer is delivered with a later result.";

/// The questions of a project.
pub(crate) struct AskPart {
    board: Arc<Board>,
}

impl Part for AskPart {
    fn open(setup: &Setup<'_>) -> AskPart {
        let (project, journal) = (setup.project.clone(), setup.journal.clone());
        let settings = setup.config.settings::<AskSettings>();
        let (of_processes, others) = (setup.connections.cloned(), setup.others.clone());
        let board = Board::new(BoardOptions {
            path: project.state_dir().join("ask.db"),
            prepare: Box::new(move || project.create_state_dir().map(drop).map_err(std::io::Error::other)),
            is_alive: Box::new(|asker| connections::is_alive(asker.pid)),
            agent_of: Box::new(move |cx| others.upgrade()?.agent_name(cx)),
            refuses: Box::new(move |pid| connections::refusal(&of_processes, pid)),
            record: Box::new(move |record| journal.record(record)),
            notify: (!settings.notify.is_empty()).then(|| {
                let words = settings.notify.clone();
                Box::new(move |question: &Notified<'_>, failed| notify(&words, question.id, question.title, failed))
                    as Notify
            }),
            settings,
            person: person(),
        });
        // Answers may be waiting from an earlier daemon process; without a daemon there was none.
        if setup.connections.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            board.open_if_there();
        }
        setup.register(capabilities(&board));
        AskPart { board }
    }

    fn declared() -> AskPart {
        let board = Board::new(BoardOptions {
            path: PathBuf::new(),
            prepare: Box::new(|| Err(std::io::Error::other("the tools are only declared here"))),
            is_alive: Box::new(|_| false),
            agent_of: Box::new(|_| None),
            refuses: Box::new(|_| None),
            record: Box::new(|_| {}),
            notify: None,
            settings: AskSettings::default(),
            person: String::new(),
        });
        AskPart { board }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "ask",
            about: "questions to your user, which wait for their answer",
            instructions: INSTRUCTIONS,
            core: ::ask::tools::CORE,
            tools: ::ask::tools::tools(&self.board),
            is_default: true,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset::tidepool(TIDEPOOL_INSTRUCTIONS, ::ask::tools::tidepool(&self.board))]
    }

    fn status(&self) -> PartStatus {
        let (open, undelivered) = self.board.counts();
        let ask = json!({"open": open, "undelivered": undelivered, "watching": self.board.watching()});
        let next = if open > 0 { "; `hob questions` shows them" } else { "" };
        let line = format!("questions: {open} open, {undelivered} answered and not delivered yet{next}");
        let lines = if open + undelivered == 0 { Vec::new() } else { vec![line] };
        PartStatus { lines, ..PartStatus::from_fields([("ask", ask)]) }
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<AskSettings>())
    }
}

fn capabilities(board: &Arc<Board>) -> Capabilities {
    let [pending, asking, served, listed] = [(); 4].map(|()| board.clone());
    Capabilities {
        pending: Some(Box::new(move |cx| {
            let waiting = cx.caller::<Caller>().and_then(|caller| pending.waiting(&caller.worktree));
            Box::pin(std::future::ready(waiting))
        })),
        agent_context: Some(Arc::new(LateAnswers(board.clone()))),
        person: Some(Box::new(move |question| Box::pin(ask(asking.clone(), question)))),
        methods: Some(Box::new(move |server, surface| methods(served.clone(), server, surface))),
        rows: Some(Box::new(move |_| {
            let rooms = Rooms { questions: listed.rows(), ..Rooms::default() };
            Box::pin(std::future::ready(rooms))
        })),
        waiting_tools: ::ask::tools::WAITING.iter().map(|tool| (*tool, Minute::WaitingForYou)).collect(),
        ..Capabilities::default()
    }
}

fn methods(board: Arc<Board>, server: Server, surface: Surface) -> Server {
    match surface {
        Surface::Agent | Surface::Http => server.result_prefix(move |cx, _| ::ask::take_late_answers(&board, cx)),
        Surface::Control => {
            let [answering, claiming, watching, asking] = [(); 4].map(|()| board.clone());
            server
                .method("ask/list", move |_, params| control::list(board.clone(), params))
                .method("ask/answer", move |cx, params| control::answer(answering.clone(), cx, params))
                .method("ask/claim", move |cx, params| control::claim(claiming.clone(), cx, params))
                .method("ask/watch", move |cx, params| control::watch(watching.clone(), cx, params))
                .method("ask/refusal", move |cx, _| control::refusal(asking.clone(), cx))
        }
    }
}

/// Asks a person on behalf of an agent's hook.
async fn ask(board: Arc<Board>, question: PersonQuestion) -> PersonResult {
    let PersonQuestion { asking, agent, client, run, worktree, deadline, cx } = question;
    let question = HookQuestion {
        title: asking.title,
        message: asking.message,
        fields: asking.fields,
        digest: asking.digest,
        agent,
        client: client.to_owned(),
        run,
        worktree,
    };
    match ask_at_hook(&board, question, deadline, cx.disconnected()).await {
        Ok(HookAnswer::Answered { values, note, by }) => Ok((values, note, by)),
        Ok(HookAnswer::Declined) => Err("the person declined to answer".to_owned()),
        Ok(HookAnswer::Nobody) => Err("no person could see it".to_owned()),
        Ok(HookAnswer::Late) => Err("no person answered in time".to_owned()),
        Err(why) => Err(format!("it could not be asked: {why}")),
    }
}

/// The late answers for agents.
struct LateAnswers(Arc<Board>);

impl AgentContext for LateAnswers {
    fn at_hook<'a>(&'a self, event: &'a AgentEvent) -> HostFuture<'a, Option<Piece>> {
        Box::pin(async {
            let (board, cx, gone) = (self.0.clone(), event.cx.clone(), event.connection_closed());
            // The function stores its result.
            let late = tokio::task::spawn_blocking(move || late_at_hook(&board, &cx, gone)).await;
            let (text, lost) = late.ok().flatten()?;
            Some(event.piece(text, true, Some(lost)))
        })
    }

    fn confirm_deliveries(&self, cx: &Context) {
        acknowledge_at_hook(&self.0, cx);
    }
}

/// Returns the person at this machine, by account name.
fn person() -> String {
    let name = ["USER", "LOGNAME"].iter().find_map(|variable| std::env::var(variable).ok());
    let name = name.map(|name| project::visible(name.trim())).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "your user".to_owned())
}
