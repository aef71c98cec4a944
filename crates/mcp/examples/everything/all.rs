//! The server, apart from the streams it is served on.

mod prompts;
mod questions;
mod resources;
mod show;
mod toil;
mod tools;

use std::sync::Arc;

use mcp::server::{Server, ServerInfo};
use mcp::tool::{Registry, tool};

/// Returns a server of everything.
pub(crate) fn server() -> Server {
    let resources = resources::all();
    let mut all = tools::all();
    all.extend([
        tool(questions::Inquire),
        tool(show::Show),
        tool(toil::Toil),
        tool(resources::Touch(resources.clone())),
    ]);
    Server::new(ServerInfo::new("everything", "1.0.0"), Arc::new(Registry::new(all)))
        .resources(resources)
        .prompts(prompts::all())
        .jobs()
}
