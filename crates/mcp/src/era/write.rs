//! Neutral types → a revision's JSON: the results of all methods, appended to a buffer.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::value::{member, push};
use super::{Era, ResultForm, Revision, content};
use crate::content::Icon;
use crate::prompt::{AnyPrompt, Completion, Message};
use crate::resource::{AnyResource, AnyTemplate, Contents};
use crate::server_info::ServerInfo;
use crate::tool::portable::{Reader, portable};
use crate::tool::{AnyTool, Declaration, Effect, Outcome, Progress};
use crate::wire::build::{push_json, push_string};

/// How long a client may cache the results of `server/discover` and of the lists (2026-07-28). Changes are announced to
/// subscribers.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(60);

/// The member of a modern result's `_meta` that describes the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The maximum number of values of a completion (MCP "Completion").
const MAX_VALUES: usize = 100;

/// The members of a list result apart from its entries.
struct ListHead<'a> {
    name: &'static str,
    /// The cursor of the next page.
    next: Option<&'a str>,
    fresh_for: Duration,
}

/// The server's features apart from tools, which are always declared.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerCapabilities {
    pub resources: bool,
    pub prompts: bool,
    pub tasks: bool,
}

/// Writes results, with the server's description: every modern result ends with it, and legacy handshakes contain it.
pub(crate) struct ResultWriter {
    info: ServerInfo,
    /// The `_meta` member that modern results carry, with a leading comma.
    meta: Vec<u8>,
}

impl ResultWriter {
    pub(crate) fn new(info: ServerInfo) -> ResultWriter {
        let mut meta = b",\"_meta\":{".to_vec();
        push_string(&mut meta, SERVER_INFO);
        meta.push(b':');
        implementation(&mut meta, Era::V2026_07_28, &info);
        meta.push(b'}');
        ResultWriter { info, meta }
    }

    /// The end of a result: the last member of a modern one, and the closing brace.
    fn tail(&self, out: &mut Vec<u8>, era: Era) {
        if era.is_modern() {
            out.extend_from_slice(&self.meta);
        }
        out.push(b'}');
    }

    /// Writes the end of a result with members of `_meta` in addition to the library's.
    fn tail_with(&self, out: &mut Vec<u8>, era: Era, meta: &Map<String, Value>) {
        let own: &[u8] = if era.is_modern() { &self.meta } else { b",\"_meta\":{}" };
        out.extend_from_slice(&own[..own.len() - 1]);
        let mut is_first = own.ends_with(b"{}");
        // A tool must not overwrite the library's description of the server.
        for (name, value) in meta.iter().filter(|(name, _)| !era.is_modern() || *name != SERVER_INFO) {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            push_string(out, name);
            out.push(b':');
            push(out, value);
        }
        out.extend_from_slice(b"}}");
    }

    /// Answers `initialize`.
    pub(crate) fn initialize(&self, out: &mut Vec<u8>, era: Era, has: ServerCapabilities) {
        out.extend_from_slice(b"{\"protocolVersion\":");
        push_string(out, era.name());
        self.capabilities(out, era, has);
        out.extend_from_slice(b",\"serverInfo\":");
        implementation(out, era, &self.info);
        self.instructions(out);
        out.push(b'}');
    }

    /// Answers `server/discover`.
    pub(crate) fn discover(&self, out: &mut Vec<u8>, era: Era, has: ServerCapabilities) {
        out.extend_from_slice(b"{\"resultType\":\"complete\",\"supportedVersions\":");
        push(out, &Era::ALL.map(Era::name));
        self.capabilities(out, era, has);
        self.instructions(out);
        cacheable(out, FRESH_FOR);
        self.tail(out, era);
    }

    /// Writes a result without further members.
    pub(crate) fn empty(&self, out: &mut Vec<u8>, era: Era) {
        out.push(b'{');
        if era.is_modern() {
            out.extend_from_slice(b"\"resultType\":\"complete\"");
        }
        self.tail(out, era);
    }

    /// The result of a `subscriptions/listen` that the server ends.
    pub(crate) fn listen_over(&self, out: &mut Vec<u8>, subscription: &str) {
        out.extend_from_slice(b"{\"resultType\":\"complete\"");
        out.extend_from_slice(&self.meta);
        out.pop();
        out.extend_from_slice(b",\"io.modelcontextprotocol/subscriptionId\":");
        push_json(out, subscription);
        out.extend_from_slice(b"}}");
    }

    /// Answers `tools/list`. `next` is the cursor of the next page, if there is one.
    pub(crate) fn tool_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        form: ResultForm,
        fresh_for: Duration,
        tools: &[Arc<dyn AnyTool>],
        next: Option<&str>,
    ) {
        let head = ListHead { name: "tools", next, fresh_for };
        self.list(out, era, head, tools, |out, tool| declaration(out, era, form, tool.declaration()));
    }

    /// Answers `resources/list`.
    pub(crate) fn resource_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        fresh_for: Duration,
        resources: &[Arc<dyn AnyResource>],
        next: Option<&str>,
    ) {
        self.list(out, era, ListHead { name: "resources", next, fresh_for }, resources, |out, resource| {
            content::resource(out, era, resource.declaration());
        });
    }

    /// Answers `resources/templates/list`.
    pub(crate) fn template_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        fresh_for: Duration,
        templates: &[Arc<dyn AnyTemplate>],
        next: Option<&str>,
    ) {
        self.list(out, era, ListHead { name: "resourceTemplates", next, fresh_for }, templates, |out, template| {
            content::template(out, era, template.declaration());
        });
    }

    /// Answers `prompts/list`.
    pub(crate) fn prompt_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        fresh_for: Duration,
        prompts: &[Arc<dyn AnyPrompt>],
        next: Option<&str>,
    ) {
        self.list(out, era, ListHead { name: "prompts", next, fresh_for }, prompts, |out, prompt| {
            content::prompt(out, era, prompt.declaration())
        });
    }

    fn list<T>(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        ListHead { name, next, fresh_for }: ListHead<'_>,
        items: &[T],
        write: impl FnMut(&mut Vec<u8>, &T),
    ) {
        head(out, era);
        push_string(out, name);
        out.push(b':');
        content::list(out, items, write);
        member(out, "nextCursor", &next);
        if era.is_modern() {
            cacheable(out, fresh_for);
        }
        self.tail(out, era);
    }

    /// Answers `resources/read`.
    pub(crate) fn read(&self, out: &mut Vec<u8>, era: Era, contents: &[Contents], fresh_for: Duration) {
        head(out, era);
        out.extend_from_slice(b"\"contents\":");
        content::all_contents(out, contents);
        if era.is_modern() {
            cacheable(out, fresh_for);
        }
        self.tail(out, era);
    }

    /// Answers `prompts/get`.
    pub(crate) fn prompt(&self, out: &mut Vec<u8>, era: Era, description: &str, messages: &[Message]) {
        head(out, era);
        out.extend_from_slice(b"\"messages\":");
        content::messages(out, era, messages);
        if !description.is_empty() {
            member(out, "description", &Some(description));
        }
        self.tail(out, era);
    }

    /// Answers `completion/complete`.
    pub(crate) fn completion(&self, out: &mut Vec<u8>, era: Era, completion: &Completion) {
        let there = completion.values.len();
        let sent = &completion.values[..there.min(MAX_VALUES)];
        let total = completion.total.unwrap_or(there as u64);
        head(out, era);
        out.extend_from_slice(b"\"completion\":{\"values\":");
        push(out, &sent);
        member(out, "total", &Some(total));
        member(out, "hasMore", &Some(total > sent.len() as u64));
        out.push(b'}');
        self.tail(out, era);
    }

    /// Answers `tools/call`.
    pub(crate) fn outcome(&self, out: &mut Vec<u8>, era: Era, form: ResultForm, outcome: &Outcome) {
        head(out, era);
        out.extend_from_slice(b"\"content\":");
        content::blocks(out, era, &outcome.content);
        if let Some(structured) = outcome.structured.as_ref().filter(|_| has_structured(era, form)) {
            out.extend_from_slice(b",\"structuredContent\":");
            push_json(out, structured.get());
        }
        if outcome.is_error {
            out.extend_from_slice(b",\"isError\":true");
        }
        match &outcome.meta {
            None => self.tail(out, era),
            Some(meta) => self.tail_with(out, era, meta),
        }
    }

    /// A modern result of this type with these members.
    pub(crate) fn object(&self, out: &mut Vec<u8>, era: Era, kind: &str, members: &Map<String, Value>) {
        out.extend_from_slice(b"{\"resultType\":");
        push_string(out, kind);
        for (name, value) in members {
            member(out, name, &Some(value));
        }
        self.tail(out, era);
    }

    /// The result that asks for another request with answers to these questions.
    pub(crate) fn input_required(&self, out: &mut Vec<u8>, era: Era, requests: &Map<String, Value>, state: &str) {
        out.extend_from_slice(b"{\"resultType\":\"input_required\",\"inputRequests\":");
        push(out, requests);
        out.extend_from_slice(b",\"requestState\":");
        push_string(out, state);
        self.tail(out, era);
    }

    /// The result of an embedder's own method. A modern object gets the `resultType` that every modern result must
    /// have, unless it has one already.
    pub(crate) fn custom(&self, out: &mut Vec<u8>, era: Era, json: &str) {
        let members = json.trim_ascii().strip_prefix('{').map(str::trim_ascii_start);
        match members {
            Some(members) if era.is_modern() && !json.contains("\"resultType\"") => {
                out.extend_from_slice(b"{\"resultType\":\"complete\"");
                if !members.starts_with('}') {
                    out.push(b',');
                }
                push_json(out, members);
            }
            _ => push_json(out, json),
        }
    }

    /// Writes the member `capabilities`, with a leading comma. Only served features are advertised.
    fn capabilities(&self, out: &mut Vec<u8>, era: Era, has: ServerCapabilities) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Features {
            #[serde(skip_serializing_if = "Option::is_none")]
            subscribe: Option<bool>,
            list_changed: bool,
        }
        #[derive(Serialize)]
        struct Empty {}
        #[derive(Serialize)]
        struct Extensions {
            #[serde(rename = "io.modelcontextprotocol/tasks")]
            tasks: Empty,
        }
        #[derive(Serialize)]
        struct Advertised<'a> {
            logging: Empty,
            tools: Features,
            #[serde(skip_serializing_if = "Option::is_none")]
            resources: Option<Features>,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompts: Option<Features>,
            #[serde(skip_serializing_if = "Option::is_none")]
            completions: Option<Empty>,
            #[serde(skip_serializing_if = "Option::is_none")]
            extensions: Option<Extensions>,
            #[serde(skip_serializing_if = "Option::is_none")]
            experimental: Option<&'a Map<String, Value>>,
        }
        let completes = (has.resources || has.prompts) && era.revision().completions;
        let advertised = Advertised {
            logging: Empty {},
            tools: Features { subscribe: None, list_changed: true },
            resources: has.resources.then_some(Features { subscribe: Some(true), list_changed: true }),
            prompts: has.prompts.then_some(Features { subscribe: None, list_changed: true }),
            completions: completes.then_some(Empty {}),
            extensions: (has.tasks && era.is_modern()).then_some(Extensions { tasks: Empty {} }),
            experimental: self.info.experimental.as_ref(),
        };
        member(out, "capabilities", &Some(advertised));
    }

    fn instructions(&self, out: &mut Vec<u8>) {
        member(out, "instructions", &self.info.instructions);
    }
}

/// The parameters of a progress notification. `token` is JSON text.
pub(crate) fn progress(out: &mut Vec<u8>, era: Era, token: &str, progress: &Progress) {
    out.extend_from_slice(b"{\"progressToken\":");
    push_json(out, token);
    out.extend_from_slice(b",\"progress\":");
    number(out, progress.progress);
    if let Some(total) = progress.total {
        out.extend_from_slice(b",\"total\":");
        number(out, total);
    }
    if era.revision().annotations {
        member(out, "message", &progress.message);
    }
    out.push(b'}');
}

/// Writes the beginning of a result with further members.
fn head(out: &mut Vec<u8>, era: Era) {
    out.push(b'{');
    if era.is_modern() {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
}

/// Returns true if results have structured content.
fn has_structured(era: Era, form: ResultForm) -> bool {
    era.revision().structured && form == ResultForm::Both
}

fn declaration(out: &mut Vec<u8>, era: Era, form: ResultForm, tool: &Declaration) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        description: &'a str,
        input_schema: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        annotations: Option<Annotations<'a>>,
        #[serde(skip_serializing_if = "<[Icon]>::is_empty")]
        icons: &'a [Icon],
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<&'a Map<String, Value>>,
    }
    let Revision { structured, annotations, described, .. } = *era.revision();
    let title = tool.title.as_deref();
    let output_schema = tool.output_schema.as_ref().filter(|_| has_structured(era, form));
    let tool = Tool {
        name: &tool.name,
        title: title.filter(|_| structured),
        description: &tool.description,
        input_schema: portable(&tool.input_schema, Reader::Model),
        output_schema: output_schema.map(|schema| portable(schema, Reader::Program)),
        annotations: annotations.then(|| Annotations::new(title, tool.effect)),
        icons: if described { &tool.icons } else { &[] },
        meta: tool.meta.as_ref().filter(|_| structured),
    };
    push(out, &tool);
}

/// MCP's annotations of a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl Annotations<'_> {
    fn new(title: Option<&str>, effect: Effect) -> Annotations<'_> {
        Annotations {
            title,
            read_only_hint: effect.read_only,
            // Only meaningful for tools that write; its default elsewhere would read as true.
            destructive_hint: !effect.read_only && effect.destructive,
            idempotent_hint: effect.idempotent,
            open_world_hint: effect.open_world,
        }
    }
}

fn implementation(out: &mut Vec<u8>, era: Era, info: &ServerInfo) {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Implementation<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        website_url: Option<&'a str>,
        #[serde(skip_serializing_if = "<[Icon]>::is_empty")]
        icons: &'a [Icon],
    }
    let Revision { structured, described, .. } = *era.revision();
    let implementation = Implementation {
        name: &info.name,
        title: info.title.as_deref().filter(|_| structured),
        version: &info.version,
        description: info.description.as_deref().filter(|_| described),
        website_url: info.website_url.as_deref().filter(|_| described),
        icons: if described { &info.icons } else { &[] },
    };
    push(out, &implementation);
}

fn cacheable(out: &mut Vec<u8>, fresh_for: Duration) {
    // Private: the content may depend on the connection's principal.
    out.extend_from_slice(b",\"ttlMs\":");
    out.extend_from_slice(fresh_for.as_millis().to_string().as_bytes());
    out.extend_from_slice(b",\"cacheScope\":\"private\"");
}

/// Writes whole numbers without a fraction, and numbers that JSON lacks (NaN, infinity) as 0.
fn number(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 9e15 {
        out.extend_from_slice((value as i64).to_string().as_bytes());
    } else {
        push(out, &if value.is_finite() { value } else { 0.0 });
    }
}
