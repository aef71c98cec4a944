//! `hob search`: searches messages.

use clap::Args;
use project::Project;
use serde_json::json;

use super::{Identity, terminal_format};
use crate::exit::{Exit, Failure};

/// Search the messages that you wrote or received
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The words, all of which must occur
    #[arg(value_name = "QUERY")]
    query: String,
    /// Only messages from this agent
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only messages to this agent
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only messages since this day or time (2026-11-22, 2026-11-22T10:00:00Z)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only messages until this day or time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// How many messages to show
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Identity,
}

impl Search {
    pub(crate) fn run(self, project: &Project) -> Result<Exit, Failure> {
        let arguments = json!({
            "query": self.query, "from": self.from, "to": self.to, "since": self.since, "until": self.until,
            "limit": self.limit,
        });
        self.who.show(project, "search_messages", arguments, (self.json, terminal_format::search_results))
    }
}
