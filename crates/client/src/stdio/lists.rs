//! The agent's knowledge of the server's lists, used to announce that another daemon has different ones: after an
//! upgrade or a change of configuration the tools differ, and the sessions that were resources are gone.

use mcp::wire::{Envelope, Id, build};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The lists whose changes a server promised to announce (`initialize`, its `capabilities`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promised {
    pub(super) tools: bool,
    pub(super) resources: bool,
}

/// The differences from the previous daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) resources: bool,
}

const TOOLS: &str = "notifications/tools/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

impl Promised {
    /// Parses the promises in an answer to `initialize`.
    pub(super) fn parse_promises(answer: &[u8]) -> Promised {
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
    /// Notifies an agent of promised announcements. `subscribed` are the resources that it watches.
    pub(super) fn write_announcements<'a>(
        self,
        out: &mut Vec<u8>,
        promised: Promised,
        subscribed: impl Iterator<Item = &'a str>,
    ) {
        if self.tools && promised.tools {
            build::notification(out, TOOLS, None);
        }
        if self.resources && promised.resources {
            build::notification(out, RESOURCES, None);
        }
        if self.resources {
            subscribed.for_each(|uri| notify(out, UPDATED, &Params { meta: None, uri: Some(uri) }));
        }
    }

    /// Notifies an agent on its subscription `id`, which `listen` opened.
    pub(super) fn tell_listen(self, out: &mut Vec<u8>, id: &Id, listen: &[u8]) {
        #[derive(Deserialize)]
        struct Listen {
            notifications: Subscriptions,
        }
        #[derive(Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        #[derive(Default)]
        struct Subscriptions {
            tools_list_changed: bool,
            resources_list_changed: bool,
            resource_subscriptions: Vec<String>,
        }
        let params = Envelope::peek(listen).and_then(|envelope| envelope.params());
        let subscribed = params.and_then(|params| serde_json::from_str::<Listen>(params.get()).ok());
        let Some(Listen { notifications: subscribed }) = subscribed else { return };
        let meta = serde_json::from_str(id.as_json()).ok().map(|subscription| Meta { subscription });
        if self.tools && subscribed.tools_list_changed {
            notify(out, TOOLS, &Params { meta, uri: None });
        }
        if self.resources && subscribed.resources_list_changed {
            notify(out, RESOURCES, &Params { meta, uri: None });
        }
        if self.resources {
            for uri in &subscribed.resource_subscriptions {
                notify(out, UPDATED, &Params { meta, uri: Some(uri) });
            }
        }
    }
}

/// The parameters of these notifications.
#[derive(Serialize)]
struct Params<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
}

#[derive(Clone, Copy, Serialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: &'a RawValue,
}

fn notify(out: &mut Vec<u8>, method: &str, params: &Params) {
    let params = serde_json::to_string(params).expect("strings and JSON text are JSON");
    build::notification(out, method, Some(&params));
}
