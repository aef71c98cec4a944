//! Walks over code in the daemon: reading lists and the impact of changes.

use std::sync::Arc;

use ::code::tools::Questions;
use ::explore::tools::{self, Compiling, DiffFuture, Sources};
use project::{Caller, CodeTrust, Project};
use tokio::sync::Mutex;

use super::{Part, Setup, Toolset};

const INSTRUCTIONS: &str = "Walks over code: teach-graph lists what to read to understand a topic; scout lists what breaks if \
a definition changes, and the tests that reach it.";

const TIDEPOOL_INSTRUCTIONS: &str = "Walks over code: teach-graph takes a topic and seeds, scout a query and symbols.";

/// The access to facts about code and to diffs.
pub(crate) struct ExplorePart {
    sources: Arc<Sources>,
}

/// Returns the sources of facts, with diffs as git shows them.
fn sources(
    code: impl Fn() -> Option<Arc<Questions>> + Send + Sync + 'static,
    compiling: Option<Compiling>,
) -> Arc<Sources> {
    Arc::new(Sources { code: Box::new(code), diff: Box::new(changed_lines), compiling })
}

fn compiling(project: &Project) -> Compiling {
    let trusting = project.clone();
    Compiling {
        directory: project.state_dir().join("explore"),
        guard: ::process::Guard::SelfExe,
        trusts: Box::new(move |worktree| CodeTrust::lookup(&trusting, worktree).is_some()),
        running: Mutex::new(()),
    }
}

fn changed_lines<'a>(caller: &'a Caller, diff: &'a str) -> DiffFuture<'a> {
    Box::pin(async move {
        let changed = ::work::changed_lines(&caller.worktree, &caller.env, diff).await?;
        Ok(changed.into_iter().map(|one| (one.path, one.first, one.last)).collect())
    })
}

impl Part for ExplorePart {
    fn open(setup: &Setup<'_>) -> ExplorePart {
        let others = setup.others.clone();
        let code = move || others.upgrade()?.having(|part| part.code.clone()).next().map(|(_, code)| code);
        ExplorePart { sources: sources(code, Some(compiling(setup.project))) }
    }

    fn declared() -> ExplorePart {
        ExplorePart { sources: sources(|| None, None) }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "explore",
            about: "what to read, what breaks",
            instructions: INSTRUCTIONS,
            core: &[],
            tools: tools::tools(&self.sources),
            is_default: false,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset::tidepool(TIDEPOOL_INSTRUCTIONS, tools::tidepool(&self.sources))]
    }
}
