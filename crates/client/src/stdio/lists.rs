//! What an agent was told of the server's lists, so that it hears of it when another daemon has others: after an
//! upgrade or a change of the configuration there are other tools, and no session of before is a resource any more.

use mcp::wire::{Envelope, Id, build};
use serde::Deserialize;

/// The lists that a server promised to tell of when they change (`initialize`, its `capabilities`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promised {
    pub(super) tools: bool,
    pub(super) resources: bool,
}

/// What is other than with the daemon before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) resources: bool,
}

const TOOLS: &str = "notifications/tools/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

impl Promised {
    /// What an answer to `initialize` promises.
    pub(super) fn by(answer: &[u8]) -> Promised {
        #[derive(Deserialize)]
        struct Answer {
            capabilities: Capabilities,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Capabilities {
            tools: List,
            resources: List,
        }
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct List {
            list_changed: bool,
        }
        let answer = Envelope::peek(answer).and_then(|envelope| envelope.result());
        let answer = answer.and_then(|result| serde_json::from_str::<Answer>(result.get()).ok());
        answer.map_or(Promised::default(), |Answer { capabilities: Capabilities { tools, resources } }| Promised {
            tools: tools.list_changed,
            resources: resources.list_changed,
        })
    }
}

impl Changed {
    /// Tells an agent that was promised to hear of it. `subscribed` are the resources that it watches.
    pub(super) fn tell<'a>(self, out: &mut Vec<u8>, promised: Promised, subscribed: impl Iterator<Item = &'a str>) {
        if self.tools && promised.tools {
            build::notification(out, TOOLS, None);
        }
        if self.resources && promised.resources {
            build::notification(out, RESOURCES, None);
        }
        if self.resources {
            subscribed.for_each(|uri| build::notification(out, UPDATED, Some(&format!("{{{}}}", uri_member(uri)))));
        }
    }

    /// Tells an agent on its subscription `id`, which `listen` opened.
    pub(super) fn tell_listen(self, out: &mut Vec<u8>, id: &Id, listen: &[u8]) {
        #[derive(Deserialize)]
        struct Params {
            notifications: Wanted,
        }
        #[derive(Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        #[derive(Default)]
        struct Wanted {
            tools_list_changed: bool,
            resources_list_changed: bool,
            resource_subscriptions: Vec<String>,
        }
        let params = Envelope::peek(listen).and_then(|envelope| envelope.params());
        let wanted = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        let Some(Params { notifications: wanted }) = wanted else { return };
        let meta = |more: &str| format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more}}}"#);
        if self.tools && wanted.tools_list_changed {
            build::notification(out, TOOLS, Some(&meta("")));
        }
        if self.resources && wanted.resources_list_changed {
            build::notification(out, RESOURCES, Some(&meta("")));
        }
        if self.resources {
            for uri in &wanted.resource_subscriptions {
                build::notification(out, UPDATED, Some(&meta(&format!(",{}", uri_member(uri)))));
            }
        }
    }
}

fn uri_member(uri: &str) -> String {
    let mut member = b"\"uri\":".to_vec();
    build::push_string(&mut member, uri);
    String::from_utf8_lossy(&member).into_owned()
}
