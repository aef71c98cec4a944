//! Walks over code in the daemon: reading lists and the impact of changes.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use ::explore::ExploreSettings;
use ::explore::control::{Method, on_records};
use ::explore::tools::{self, Compiling, Diff, DiffFuture, ModelAnswer, ModelFuture, ModelNode, Sources};
use ::nodes::tools::{DirectAnswer, DirectNode};
use mcp::tool::Context;
use project::config::Section;
use project::{Caller, CodeTrust, Project};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::{Capabilities, OpenParts, Part, Setup, Surface, Toolset};

const INSTRUCTIONS: &str = "What to read, and what breaks: teach-graph lists what to read to understand a topic; scout lists what breaks if \
a definition changes, and the tests that reach it.";

const TIDEPOOL_INSTRUCTIONS: &str =
    "What to read, and what breaks: teach-graph takes a topic and seeds, scout a query and symbols.";

/// The access to facts about code and to diffs.
pub(crate) struct ExplorePart {
    sources: Arc<Sources>,
}

/// Returns the sources of facts of a project, with diffs as git shows them.
fn sources(setup: &Setup<'_>) -> Sources {
    let [code, model] = [(); 2].map(|()| setup.others.clone());
    Sources {
        code: Box::new(move || code.upgrade()?.all_with(|part| part.code.clone()).next().map(|(_, code)| code)),
        diff: Box::new(changed_lines),
        compiling: Some(compiling(setup.project)),
        model: Box::new(move |cx, name, text| node(model.clone(), cx, name, text)),
        tokens: setup.config.settings::<ExploreSettings>().tokens,
        records: setup.project.state_dir().join("explore/records"),
    }
}

/// Finds a node with its model.
fn node<'a>(others: Weak<OpenParts>, cx: &'a Context, name: &'static str, text: &'static str) -> ModelFuture<'a> {
    Box::pin(async move {
        let nodes = others.upgrade().and_then(|parts| parts.all_with(|part| part.nodes.clone()).next());
        let Some((_, nodes)) = nodes else { return Ok(None) };
        let node = nodes.direct(cx, name, text).await?;
        Ok(node.map(|node| Arc::new(Model(node)) as Arc<dyn ModelNode>))
    })
}

/// A node with its model, for walks.
struct Model(DirectNode);

impl ModelNode for Model {
    fn estimate(&self, input: &Map<String, Value>) -> u64 {
        self.0.estimate(input)
    }

    fn ask(&self, input: Map<String, Value>) -> Pin<Box<dyn Future<Output = ModelAnswer> + Send + '_>> {
        Box::pin(async move {
            let DirectAnswer { value, tokens } = self.0.ask(input).await;
            ModelAnswer { value, tokens }
        })
    }
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
        let found = ::work::changed_lines(&caller.worktree, &caller.env, diff).await?;
        let lines = found.changed.into_iter().map(|one| (one.path, one.first, one.last)).collect();
        Ok(Diff { lines, removed: found.removed })
    })
}

impl Part for ExplorePart {
    fn open(setup: &Setup<'_>) -> ExplorePart {
        let sources = Arc::new(sources(setup));
        let served = sources.clone();
        setup.register(Capabilities {
            methods: Some(Box::new(move |server, surface| match surface {
                Surface::Control => {
                    let [export, compare] = [(); 2].map(|()| served.clone());
                    server
                        .method("explore/export", move |cx, params| {
                            on_records(Method::Export, export.clone(), cx, params)
                        })
                        .method("explore/compare", move |cx, params| {
                            on_records(Method::Compare, compare.clone(), cx, params)
                        })
                }
                Surface::Agent | Surface::Http => server,
            })),
            ..Capabilities::default()
        });
        ExplorePart { sources }
    }

    fn declared() -> ExplorePart {
        ExplorePart {
            sources: Arc::new(Sources {
                code: Box::new(|| None),
                diff: Box::new(changed_lines),
                compiling: None,
                model: Box::new(|_, _, _| Box::pin(async { Ok(None) })),
                tokens: 0,
                records: PathBuf::new(),
            }),
        }
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

    fn section() -> Option<Section> {
        Some(Section::for_settings::<ExploreSettings>())
    }
}
