//! Agents' hooks in the daemon: the method `hook`, with access to the connections and to the other parts.

use std::path::Path;
use std::sync::{Arc, Weak};

use ::hooks::HooksSettings;
use ::hooks::service::{AgentContext, Connection, Hooks, Host, HostFuture, PersonAnswering, PersonQuestion, hook};
use mcp::tool::Context;
use project::config::Section;
use project::{Config, Project, Role};
use serde_json::{Map, json};

use super::{BoxFuture, Capabilities, Finding, Health, OpenParts, Part, PartStatus, Setup, Surface, Toolset};
use crate::connections::Connections;
use crate::journal::Journal;

/// The hooks of a project.
pub(crate) struct HooksPart {
    /// `None` without a project.
    hooks: Option<Arc<Hooks>>,
}

impl Part for HooksPart {
    fn open(setup: &Setup<'_>) -> HooksPart {
        let host = DaemonHost {
            others: setup.others.clone(),
            connections: setup.connections.cloned(),
            journal: setup.journal.clone(),
        };
        let hooks = Hooks::new(setup.project, setup.config.settings::<HooksSettings>(), Arc::new(host));
        let served = hooks.clone();
        setup.register(Capabilities {
            methods: Some(Box::new(move |server, surface| {
                let hooks = served.clone();
                match surface {
                    Surface::Control => server.method("hook", move |cx, params| hook(hooks.clone(), cx, params)),
                    Surface::Agent | Surface::Http => server,
                }
            })),
            ..Capabilities::default()
        });
        HooksPart { hooks: Some(hooks) }
    }

    fn declared() -> HooksPart {
        HooksPart { hooks: None }
    }

    fn toolset(&self) -> Toolset {
        Toolset::without_tools("hooks")
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<HooksSettings>())
    }

    fn status(&self) -> PartStatus {
        let Some(hooks) = &self.hooks else { return PartStatus::default() };
        let standing = hooks.active();
        let rules = standing.rules();
        let mut lines = Vec::new();
        if rules > 0 {
            lines.push(format!("policy: {rules} {} in force", if rules == 1 { "rule" } else { "rules" }));
        }
        if !standing.pending.is_empty() {
            lines.push(format!("policy: waits for `hob trust`: {}", standing.pending.join("; ")));
        }
        lines.extend(standing.broken.iter().map(|why| format!("policy: invalid: {why}")));
        let fields = json!({"rules": rules, "pending": standing.pending, "broken": standing.broken});
        PartStatus { fields: Map::from_iter([("hooks".to_owned(), fields)]), lines }
    }

    fn health(project: &Project, _: &Config) -> Option<Health> {
        let standing = ::hooks::files::Files::new(project).active(false);
        let mut findings: Vec<Finding> = Vec::new();
        let unreachable = ::hooks::files::unreachable_rules(project);
        findings.extend(unreachable.into_iter().map(|why| Finding::problem("policy", why)));
        findings.extend(
            standing
                .broken
                .iter()
                .map(|why| Finding::problem("policy", format!("{why}. Check it with `hob policy check`"))),
        );
        if !standing.pending.is_empty() {
            findings.push(Finding::note("policy", format!("waits for `hob trust`: {}", standing.pending.join("; "))));
        }
        if findings.is_empty() && ::hooks::has_policy(project.root()) {
            let rules = standing.rules();
            findings
                .push(Finding::good("policy", format!("{rules} rule{} in force", if rules == 1 { "" } else { "s" })));
        }
        Some(Health::new("Hooks", findings))
    }

    fn shutdown(&self) -> BoxFuture<'_> {
        Box::pin(async {
            if let Some(hooks) = self.hooks.clone() {
                hooks.sync().await;
            }
        })
    }
}

/// The daemon, as hooks see it.
struct DaemonHost {
    others: Weak<OpenParts>,
    /// `None` without a daemon.
    connections: Option<Arc<Connections>>,
    journal: Arc<Journal>,
}

impl Host for DaemonHost {
    fn connections(&self) -> Vec<Connection> {
        let open = self.connections.as_ref().map_or_else(Vec::new, |connections| connections.list());
        let connection = |open: crate::connections::Open| Connection {
            number: open.number,
            pid: open.pid,
            name: open.name,
            cwd: open.cwd,
            stands_in: open.stands_in,
            profile: open.profile,
            run: open.run,
        };
        open.into_iter().filter(|open| open.role == Role::Mcp).map(connection).collect()
    }

    fn run_ended(&self, run: String) -> HostFuture<'static, ()> {
        let connections = self.connections.clone();
        Box::pin(async move {
            let Some(connections) = connections else { return std::future::pending().await };
            let mut count = connections.count();
            // An error means that the daemon stops.
            while connections.has_run(&run) && count.changed().await.is_ok() {}
        })
    }

    fn contexts(&self) -> Vec<(&'static str, Arc<dyn AgentContext>)> {
        let others = self.others.upgrade();
        others.map_or_else(Vec::new, |others| others.all_with(|part| part.agent_context.clone()).collect())
    }

    fn ask(&self, question: PersonQuestion) -> Option<PersonAnswering> {
        let others = self.others.upgrade()?;
        let (_, ask) = others.all_with(|part| part.person.as_ref()).next()?;
        Some(ask(question))
    }

    fn agent_name(&self, cx: &Context) -> Option<String> {
        self.others.upgrade()?.agent_name(cx)
    }

    fn fact<'a>(&'a self, name: &'a str, worktree: &'a Path) -> HostFuture<'a, Option<String>> {
        Box::pin(async move { self.others.upgrade()?.fact(name, worktree).await })
    }

    fn record(&self, record: ::hooks::Record) {
        self.journal.record(record);
    }
}
