//! The parts of one daemon, and the MCP servers that offer them: one for each choice of tools and kind of connection.

mod live;

use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp::prompt::Prompts;
use mcp::resource::Resources;
use mcp::server::{Server, ServerInfo};
use mcp::tool::Context;

use project::dashboard::Rooms;
use project::{Caller, Config, Hello, Project, Role, VERSION};
use serde_json::{Map, Value, json};

use self::live::{Branch, Branches, Served};
use crate::connections::Connections;
use crate::dashboard::CallLog;
use crate::journal::Journal;
use crate::parts::{BoxFuture, Entry, HttpAgent, OpenPart, OpenParts, PARTS, Run, Setup, Stores, Surface};
use crate::secrets::Seal;
use crate::tool_summary::ToolSummaries;
use crate::toolsets::{Catalog, ChoiceError};

/// The parts of a daemon.
pub(crate) struct Parts {
    parts: Arc<OpenParts>,
    catalog: Catalog,
    servers: Mutex<HashMap<(Surface, usize), Server>>,
    /// Their siblings with the tools of a worktree.
    branches: Branches,
    /// Seals the tickets of open questions; random for this process if it cannot be stored.
    seal: Option<Seal>,
    /// The calls of agents.
    calls: Arc<CallLog>,
    /// The tool summaries for front-ends.
    pub(crate) tool_summaries: ToolSummaries,
}

impl Parts {
    /// Creates the parts. Starts nothing.
    pub(crate) fn new(
        project: &Project,
        config: &Config,
        journal: &Arc<Journal>,
        connections: Option<&Arc<Connections>>,
    ) -> Result<Parts, ChoiceError> {
        let seal = Seal::for_project(project);
        let seal = seal.inspect_err(|error| {
            // Without a daemon they end with this process anyway.
            if connections.is_some() {
                tracing::warn!(%error, "open questions end with this daemon");
            }
        });
        let seal = seal.ok();
        // Making the tools takes most of the start, so it is done once.
        let mut tools = Vec::new();
        let parts = Arc::new_cyclic(|others| {
            let open = |entry: &Entry| {
                let (seal, capabilities) = (seal.as_ref(), RefCell::default());
                let setup = Setup { project, config, journal, connections, others, seal, capabilities };
                let part = (entry.open)(&setup);
                let toolset = part.toolset();
                let name = toolset.name;
                tools.push((toolset, part.profiles()));
                OpenPart { name, part, capabilities: setup.capabilities.into_inner() }
            };
            OpenParts(PARTS.iter().map(open).collect())
        });
        let live = parts.0.iter().position(|part| part.capabilities.live_tools.is_some());
        let catalog = Catalog::from_parts(tools.into_iter(), live, config.toolsets.clone())?;
        let names = catalog.tool_names();
        parts.all_with(|part| part.live_tools.as_ref()).for_each(|(_, live)| live.reserve(&names));
        let calls = Arc::<CallLog>::default();
        calls.set_waiting_tools(parts.0.iter().flat_map(|open| open.capabilities.waiting_tools.iter().copied()));
        let (servers, branches, tool_summaries) = (Mutex::default(), Branches::default(), ToolSummaries::default());
        Ok(Parts { parts, catalog, servers, branches, seal, calls, tool_summaries })
    }

    /// Returns the server for a connection, or an error. `add_control` adds the daemon's own methods, for connections
    /// of the command line. The returned state lives as long as the connection.
    pub(crate) async fn server(
        &self,
        hello: &Hello,
        worktree: &Path,
        add_control: impl FnOnce(Server) -> Server,
    ) -> Result<Served, ChoiceError> {
        match hello.role {
            Role::Mcp => self.live_server(hello, worktree, Surface::Agent).await,
            // The command line calls nodes by node_run, so it needs no tools made of nodes.
            Role::Control => self.server_with(hello, Surface::Control, add_control).map(Served::permanent),
        }
    }

    /// Returns the server for callers over HTTP. They share one listing, that of the project's root.
    pub(crate) async fn http_server(&self, hello: &Hello, root: &Path) -> Result<Served, ChoiceError> {
        self.live_server(hello, root, Surface::Http).await
    }

    /// Returns the server for an agent without a daemon.
    pub(crate) async fn standalone_server(&self, hello: &Hello, worktree: &Path) -> Result<Served, ChoiceError> {
        self.live_server(hello, worktree, Surface::Agent).await
    }

    /// Returns the server with the tools that a worktree adds, if the choice has a live toolset.
    async fn live_server(&self, hello: &Hello, worktree: &Path, surface: Surface) -> Result<Served, ChoiceError> {
        let standing = self.server_with(hello, surface, |server| server)?;
        let chosen = self.catalog.choose(&hello.toolsets, hello.profile.as_deref())?;
        let Some(live) = &chosen.live else { return Ok(Served::permanent(standing)) };
        let key = (surface, Arc::as_ptr(&chosen.registry).addr(), worktree.to_owned());
        if let Some(branch) = self.branches.get(&key) {
            return Ok(branch);
        }
        let Some(files) = self.parts.0.get(live.part).and_then(|open| open.capabilities.live_tools.as_ref()) else {
            return Ok(Served::permanent(standing));
        };
        let following = files.follow(worktree).await;
        let registry = Arc::new(standing.registry().fork());
        let tools = Branch::new(following, registry.clone(), live);
        let mut instructions = chosen.instructions.clone();
        if tools.has_some() && !live.instructions.is_empty() {
            instructions = format!("{instructions} {}", live.instructions);
        }
        // A file may be saved at any time.
        let server = standing.sibling(info(instructions), registry).list_fresh_for(Duration::ZERO);
        let server = self.complete(server, &chosen.extras, surface, Some(tools.prompts().clone()));
        Ok(self.branches.add(key, server, tools))
    }

    fn server_with(
        &self,
        hello: &Hello,
        surface: Surface,
        finish: impl FnOnce(Server) -> Server,
    ) -> Result<Server, ChoiceError> {
        let chosen = self.catalog.choose(&hello.toolsets, hello.profile.as_deref())?;
        let key = (surface, Arc::as_ptr(&chosen.registry).addr());
        let mut servers = self.servers.lock();
        if let Some(server) = servers.get(&key) {
            return Ok(server.clone());
        }
        let mut server = Server::new(info(chosen.instructions), chosen.registry.clone());
        if let Some(seal) = &self.seal {
            server = server.seal_key(seal.key);
        }
        let server = finish(self.complete(server, &chosen.extras, surface, None));
        if let Some(live) = &chosen.live {
            // Tools listed once a worktree has contents are not listed before.
            server.registry().unlist(live.name, live.core.iter().map(|name| (*name).to_owned()));
        }
        servers.insert(key, server.clone());
        Ok(server)
    }

    /// Adds the parts' resources, prompts and methods to a server. Changing prompts are added even while there are none.
    fn complete(&self, mut server: Server, extras: &[usize], surface: Surface, live: Option<Arc<Prompts>>) -> Server {
        if server.registry().list().iter().any(|tool| tool.declaration().job_after.is_some()) {
            server = server.jobs();
        }
        let is_live = live.is_some();
        let (resources, prompts) = (Arc::<Resources>::default(), live.unwrap_or_default());
        let extras = || extras.iter().filter_map(|part| Some(&self.parts.0.get(*part)?.capabilities));
        extras().filter_map(|part| part.prompts.as_ref()).for_each(|add| add(&prompts));
        let added = extras().filter_map(|part| part.resources.as_ref()).map(|add| add(&resources));
        for error in added.filter_map(Result::err) {
            tracing::error!(%error, "the resources are not served");
        }
        if surface != Surface::Control {
            let calls = self.calls.clone();
            server = server.observe(move |cx, tool, arguments, stopper| calls.begin(cx, tool, arguments, stopper));
            let annotations: Vec<_> = extras().filter_map(|part| part.annotation.clone()).collect();
            for annotation in annotations.clone() {
                server = server.result_prefix(move |cx, tool| annotation.text(cx, tool).into_iter().collect());
            }
            if !annotations.is_empty() {
                server = server.on_notification("notifications/initialized", move |cx, _| {
                    annotations.iter().for_each(|annotation| annotation.connected(&cx));
                    std::future::ready(())
                });
            }
        }
        // Empty lists are not announced to clients.
        if *resources.changes().borrow() > 0 {
            server = server.resources(resources);
        }
        if is_live || *prompts.changes().borrow() > 0 {
            server = server.prompts(prompts);
        }
        self.parts.all_with(|part| part.methods.as_ref()).fold(server, |server, (_, add)| add(server, surface))
    }

    /// Returns the tools to choose from.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the parts' fields of the status, and the lines of parts that are shown as lines.
    pub(crate) fn status(&self) -> Map<String, Value> {
        let (mut status, mut lines) = (Map::new(), Vec::new());
        for open in &self.parts.0 {
            let of_part = open.part.status();
            status.extend(of_part.fields);
            if !of_part.lines.is_empty() {
                lines.push(json!({"part": open.name, "lines": of_part.lines}));
            }
        }
        if !lines.is_empty() {
            status.insert("parts".to_owned(), lines.into());
        }
        status
    }

    /// Returns the calls of agents.
    pub(crate) fn calls(&self) -> &Arc<CallLog> {
        &self.calls
    }

    /// Returns the rows of each part, by its name.
    pub(crate) fn rows(&self, stores: Stores) -> Vec<(&'static str, BoxFuture<'static, Rooms>)> {
        self.parts.all_with(|part| part.rows.as_ref()).map(|(name, rows)| (name, rows(stores))).collect()
    }

    /// Describes a notable entry of a part's own in the journal.
    pub(crate) fn event_text(&self, entry: &project::journal::Entry) -> Option<String> {
        self.parts.all_with(|part| part.event_text.as_ref()).find_map(|(_, text)| text(entry))
    }

    /// Returns the name under which a caller's agent registered.
    pub(crate) fn agent_name(&self, caller: &Arc<Caller>) -> Option<String> {
        self.parts.agent_name(&Context::detached(caller.clone()))
    }

    /// Returns the names of the sessions that would be lost if the daemon ended.
    pub(crate) fn sessions(&self) -> Vec<String> {
        self.parts.all_with(|part| part.sessions.as_ref()).flat_map(|(_, sessions)| sessions()).collect()
    }

    /// Returns the reason why connections of a caller are refused; `None` if they are not.
    pub(crate) fn refusal(&self, caller: &Caller) -> Option<String> {
        self.parts.all_with(|part| part.refusal.as_ref()).find_map(|(_, refusal)| refusal(caller))
    }

    /// Returns the agent that a token identifies, for a caller over HTTP.
    pub(crate) fn agent_by_token(&self, token: &str) -> Option<String> {
        self.parts.all_with(|part| part.http_identity.as_ref()).find_map(|(_, http)| http.agent_by_token(token))
    }

    /// Returns that agent's current state; `None` if its token was revoked since.
    pub(crate) fn http_agent(&self, agent: &str, run: Run<'_>) -> Option<HttpAgent> {
        self.parts.all_with(|part| part.http_identity.as_ref()).find_map(|(_, http)| http.agent(agent, run))
    }

    /// Ends processes that the previous daemon may have left behind, in case its guardians were killed too.
    pub(crate) async fn clean_up_former_life(project: &Project) {
        for entry in PARTS {
            (entry.clean_up_former_life)(project).await;
        }
    }

    /// Stops all parts gracefully, within limits.
    pub(crate) async fn shutdown(&self) {
        for open in &self.parts.0 {
            open.part.shutdown().await;
        }
    }
}

fn info(instructions: String) -> ServerInfo {
    ServerInfo {
        title: Some("hob".to_owned()),
        description: Some("Keeps REPLs, mail and language servers running for coding agents.".to_owned()),
        instructions: Some(instructions),
        ..ServerInfo::new("hob", VERSION)
    }
}
