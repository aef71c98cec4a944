//! One agent on stdio, without a daemon: the sessions end with the agent.

use std::io;
use std::sync::Arc;

use mcp::server::ConnectionOptions;
use project::{Caller, Config, ConfigError, Hello, PathError, Project};

use crate::journal::Journal;
use crate::servers::Parts;
use crate::toolsets::ChoiceError;
use crate::{clients, lifecycle, log};

/// Reasons why a standalone server failed.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Toolsets(#[from] ChoiceError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("serve on stdio: {0}")]
    Stdio(#[source] io::Error),
}

/// Serves the agent at this process's stdin and stdout until its input ends.
pub fn standalone(project: &Project, hello: &Hello) -> Result<(), StandaloneError> {
    // This comes first: from here on only protocol messages reach the agent.
    let stdio = mcp::transport::stdio::take().map_err(StandaloneError::Stdio)?;
    log::start_on_stderr();
    let config = Config::load(project, &crate::parts::sections())?;
    let runtime = lifecycle::runtime().map_err(StandaloneError::Stdio)?;
    let served = runtime.block_on(async {
        let parts = Parts::new(project, &config, &Journal::in_memory(), None)?;
        let caller = Caller::new(project, hello, 1, 0);
        let served = parts.standalone_server(hello, &caller.worktree).await?;
        tokio::spawn(::process::subreaper::task());
        let options = ConnectionOptions {
            caller: Arc::new(caller),
            result_form: clients::result_form(hello, config.results),
            ..ConnectionOptions::default()
        };
        let end = mcp::transport::stdio::serve(&served.server, stdio, options).await;
        parts.shutdown().await;
        // The agent is gone, for any reason.
        end.map(drop).map_err(StandaloneError::Stdio)
    });
    // A thread may still be blocked in a read of stdin.
    runtime.shutdown_background();
    ::process::finish_ending();
    served
}
