//! The parts of one daemon, and the MCP servers that offer them: one for each choice of tools and kind of connection.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp::prompt::Prompts;
use mcp::resource::{Resources, TemplateError};
use mcp::server::{Server, ServerInfo};
use project::{Config, Hello, Project, Role, VERSION};
use serde_json::{Map, Value, json};

use super::choice::Catalog;
use super::live::{Branch, Branches, Served};
use super::{ChoiceError, HttpAgent, Neighbours, PARTS, Part, Run, Setup, Surface};
use crate::connections::Connections;
use crate::journal::Journal;
use crate::secrets::Seal;
use crate::tool_summary::ToolSummaries;

/// The parts of a daemon.
pub(crate) struct Parts {
    parts: Vec<Arc<dyn Part>>,
    catalog: Catalog,
    servers: Mutex<HashMap<(Surface, usize), Server>>,
    /// Their siblings with the tools of a worktree.
    branches: Branches,
    /// Seals the tickets of open questions; random for this process if it cannot be stored.
    seal: Option<Seal>,
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
        let neighbours = Neighbours::new(connections);
        let seal = Seal::for_project(project);
        let seal = seal.inspect_err(|error| {
            // Without a daemon they end with this process anyway.
            if connections.is_some() {
                tracing::warn!(%error, "open questions end with this daemon");
            }
        });
        let seal = seal.ok();
        let setup = Setup { project, config, journal, connections, neighbours: &neighbours, seal: seal.as_ref() };
        let parts: Vec<Arc<dyn Part>> = PARTS.iter().map(|entry| (entry.open)(&setup)).collect();
        neighbours.introduce(&parts);
        let catalog = Catalog::from_parts(&parts, config.toolsets.clone())?;
        let names = catalog.tool_names();
        parts.iter().for_each(|part| part.reserve(&names));
        let (servers, branches, tool_summaries) = (Mutex::default(), Branches::default(), ToolSummaries::default());
        Ok(Parts { parts, catalog, servers, branches, seal, tool_summaries })
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
            Role::Control => self.server_with(hello, Surface::Control, add_control).map(Served::standing),
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
        let Some(live) = &chosen.live else { return Ok(Served::standing(standing)) };
        let key = (surface, Arc::as_ptr(&chosen.registry).addr(), worktree.to_owned());
        if let Some(branch) = self.branches.get(&key) {
            return Ok(branch);
        }
        let following = match self.parts.get(live.part) {
            Some(part) => part.follow(worktree).await,
            None => None,
        };
        let Some(following) = following else { return Ok(Served::standing(standing)) };
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
        let extras = || extras.iter().filter_map(|part| self.parts.get(*part));
        let add = |part: &Arc<dyn Part>| -> Result<(), TemplateError> {
            part.add_prompts(&prompts);
            part.add_resources(&resources)
        };
        for error in extras().filter_map(|part| add(part).err()) {
            tracing::error!(%error, "the resources are not served");
        }
        if surface != Surface::Control {
            let mut heard_by = Vec::new();
            for (part, annotate) in extras().filter_map(|part| Some((part, part.annotation()?))) {
                server = server.beside(move |cx, tool| annotate(cx, tool).into_iter().collect());
                heard_by.push(part.clone());
            }
            if !heard_by.is_empty() {
                server = server.on_notification("notifications/initialized", move |cx, _| {
                    heard_by.iter().for_each(|part| part.connected(&cx));
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
        self.parts.iter().fold(server, |server, part| part.add_methods(server, surface))
    }

    /// Returns the tools to choose from.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the parts' fields of the status, and the lines of parts that are shown as lines.
    pub(crate) fn status(&self) -> Map<String, Value> {
        let mut status: Map<String, Value> = self.parts.iter().flat_map(|part| part.status()).collect();
        // Each part has one toolset.
        let lines = self.parts.iter().map(|part| (part.toolset().name, part.status_lines()));
        let lines: Vec<Value> = lines
            .filter(|(_, lines)| !lines.is_empty())
            .map(|(part, lines)| json!({"part": part, "lines": lines}))
            .collect();
        if !lines.is_empty() {
            status.insert("parts".to_owned(), lines.into());
        }
        status
    }

    /// Returns the names of the sessions that would be lost if the daemon ended.
    pub(crate) fn live(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.live()).collect()
    }

    /// Returns the agent that a token identifies, for a caller over HTTP.
    pub(crate) fn agent_by_token(&self, token: &str) -> Option<String> {
        self.parts.iter().find_map(|part| part.agent_by_token(token))
    }

    /// Returns that agent's current state; `None` if its token was revoked since.
    pub(crate) fn http_agent(&self, agent: &str, run: Run<'_>) -> Option<HttpAgent> {
        self.parts.iter().find_map(|part| part.http_agent(agent, run))
    }

    /// Ends processes that the previous daemon may have left behind, in case its guardians were killed too.
    pub(crate) async fn clean_up_former_life(project: &Project) {
        for entry in PARTS {
            (entry.clean_up_former_life)(project).await;
        }
    }

    /// Stops all parts gracefully, within limits.
    pub(crate) async fn shutdown(&self) {
        for part in &self.parts {
            part.shutdown().await;
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
