//! The tool summary in the hello, for a front-end whose daemon exits: which calls may be repeated, and whether the next
//! daemon's list differs.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use mcp::tool::{self, AnyTool, Declaration, Registry};
use project::{HelloAck, Repeat, RepeatRule};

/// Cached summary of each registry: computing one dominates the handshake.
#[derive(Default)]
pub(crate) struct ToolSummaries(Mutex<Cache>);

#[derive(Default)]
struct Cache {
    summaries: HashMap<usize, ToolSummary>,
    hashes: Hashes,
}

/// The hashes of tools by their addresses. Each worktree has its own registry, but registries share their tools.
#[derive(Default)]
struct Hashes(HashMap<usize, (Weak<dyn AnyTool>, u64)>);

impl Hashes {
    fn hash(&mut self, tool: &Arc<dyn AnyTool>) -> u64 {
        let compute = || {
            let mut hasher = DefaultHasher::new();
            hash(tool.declaration(), &mut hasher);
            (Arc::downgrade(tool), hasher.finish())
        };
        self.0.entry(Arc::as_ptr(tool).cast::<()>().addr()).or_insert_with(compute).1
    }
}

#[derive(Clone)]
struct ToolSummary {
    /// Its registry. While this reference exists, the registry's address is not reused.
    of: Weak<Registry>,
    /// The registry's revision that was summarised.
    revision: u64,
    listing: String,
    read_only: Vec<String>,
    repeat: Vec<RepeatRule>,
}

impl ToolSummaries {
    /// Returns the answer, with the summary of these tools.
    pub(crate) fn add_to(&self, ack: HelloAck, registry: &Arc<Registry>) -> HelloAck {
        let revision = *registry.changes().borrow();
        let mut cache = self.0.lock();
        let Cache { summaries, hashes } = &mut *cache;
        summaries.retain(|_, known| known.of.strong_count() > 0);
        hashes.0.retain(|_, (tool, _)| tool.strong_count() > 0);
        let known = summaries
            .entry(Arc::as_ptr(registry).addr())
            .or_insert_with(|| ToolSummary::from_registry(registry, revision, hashes));
        if known.revision != revision {
            *known = ToolSummary::from_registry(registry, revision, hashes);
        }
        let ToolSummary { listing, read_only, repeat, .. } = known.clone();
        HelloAck { listing, read_only, repeat: Some(repeat), ..ack }
    }
}

impl ToolSummary {
    fn from_registry(registry: &Arc<Registry>, revision: u64, hashes: &mut Hashes) -> ToolSummary {
        let tools = registry.list();
        let declarations = || tools.iter().map(|tool| tool.declaration());
        let mut hasher = DefaultHasher::new();
        tools.iter().for_each(|tool| hasher.write_u64(hashes.hash(tool)));
        let read_only = declarations().filter(|declaration| declaration.effect.read_only);
        let mut repeat: Vec<RepeatRule> = Vec::new();
        let says_more = |tool: &&Declaration| !tool.effect.read_only || tool.repeat == tool::Repeat::Lasting;
        for Declaration { name, repeat: declared, .. } in declarations().filter(says_more) {
            let Some(how) = repeat_of(*declared) else { continue };
            match repeat.iter_mut().find(|rule| rule.how == how) {
                Some(rule) => rule.tools.push(name.clone()),
                None => repeat.push(RepeatRule { tools: vec![name.clone()], how }),
            }
        }
        ToolSummary {
            of: Arc::downgrade(registry),
            revision,
            listing: format!("{:016x}", hasher.finish()),
            read_only: read_only.map(|declaration| declaration.name.clone()).collect(),
            repeat,
        }
    }
}

/// Returns how a lost call may be repeated; `None` if the tool declares nothing.
fn repeat_of(declared: tool::Repeat) -> Option<Repeat> {
    let owned = str::to_owned;
    Some(match declared {
        tool::Repeat::UNKNOWN => return None,
        tool::Repeat::Unsafe { restarted, reconnected } => {
            Repeat::Unsafe { restarted: owned(restarted), reconnected: owned(reconnected) }
        }
        tool::Repeat::Visible { advice } => Repeat::Visible { advice: owned(advice) },
        tool::Repeat::Keyed { argument, advice, keyed_advice } => {
            Repeat::Keyed { argument: owned(argument), advice: owned(advice), keyed_advice: owned(keyed_advice) }
        }
        tool::Repeat::Lasting => Repeat::Lasting,
        tool::Repeat::HandsOut { receipt } => Repeat::HandsOut { receipt: owned(receipt) },
    })
}

/// Hashes everything about a tool that a client receives.
fn hash(declaration: &Declaration, hasher: &mut DefaultHasher) {
    let Declaration { name, title, description, input_schema, output_schema, effect, icons, meta, .. } = declaration;
    (name, title, description, input_schema, output_schema, format!("{effect:?}{icons:?}{meta:?}")).hash(hasher);
}

#[cfg(test)]
mod tests {
    use super::*;
    use repl::{Repl, ReplOptions};

    #[tokio::test]
    async fn another_list_has_another_name() {
        let tools = repl::tools(Repl::new(ReplOptions::default()));
        let find = |name: &str| tools.iter().find(|tool| tool.declaration().name == name).expect("it exists").clone();
        let registry = |names: &[&str]| Arc::new(Registry::new(names.iter().map(|name| find(name))));
        let summaries = ToolSummaries::default();
        let said = |registry: &Arc<Registry>| summaries.add_to(HelloAck::accepted(1, "life"), registry);
        let (one, same) = (registry(&["repl_eval", "repl_read"]), registry(&["repl_read", "repl_eval"]));
        assert_eq!(said(&one).read_only, ["repl_read"]);
        assert_eq!(said(&one).listing, said(&same).listing);
        let rules = said(&one).repeat.expect("it says so");
        assert_eq!((rules.len(), &rules[0].tools[..]), (1, &["repl_eval".to_owned()][..]));
        assert!(matches!(&rules[0].how, Repeat::Unsafe { restarted, .. } if restarted.contains("repl_read")));
        one.add(find("repl_wait")).expect("a legal tool");
        assert_ne!(said(&one).listing, said(&same).listing);
        assert_eq!(said(&one).read_only, ["repl_read", "repl_wait"]);
    }
}
