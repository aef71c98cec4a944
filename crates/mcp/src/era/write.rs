//! Neutral types → a revision's JSON, written straight into a buffer.

use std::time::Duration;

use serde::Serialize;

use super::{Era, content};
use crate::prompt::{AnyPrompt, Completion, Message};
use crate::resource::{AnyResource, AnyTemplate, Contents};
use crate::server_info::ServerInfo;
use crate::tool::{AnyTool, Declaration, Outcome, Progress};
use crate::wire::build::{push_json, push_string, push_value};

/// How long a client may keep what `server/discover` and the lists say (2026-07-28). Changes are announced to those
/// who listen.
const FRESH_FOR: Duration = Duration::from_secs(60);

/// As many values as a completion may have.
const MAX_VALUES: usize = 100;

/// What a server has besides tools, of which there is always a list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerCapabilities {
    pub resources: bool,
    pub prompts: bool,
    pub tasks: bool,
}

/// What every modern result ends with, and every legacy handshake contains: the server's description.
pub(crate) struct ResultWriter {
    info: ServerInfo,
    /// The `_meta` member that modern results carry, with a leading comma.
    meta: Vec<u8>,
}

impl ResultWriter {
    pub(crate) fn new(info: ServerInfo) -> ResultWriter {
        let mut meta = b",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":".to_vec();
        implementation(&mut meta, Era::V2026_07_28, &info);
        meta.push(b'}');
        ResultWriter { info, meta }
    }

    /// The last member of a modern result.
    fn tail(&self, out: &mut Vec<u8>, era: Era) {
        if era.is_modern() {
            out.extend_from_slice(&self.meta);
        }
        out.push(b'}');
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

    /// A result without content.
    pub(crate) fn empty(&self, out: &mut Vec<u8>, era: Era) {
        out.push(b'{');
        if era.is_modern() {
            out.extend_from_slice(b"\"resultType\":\"complete\"");
        }
        self.tail(out, era);
    }

    /// The result that ends a `subscriptions/listen` in good order.
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
        tools: &[std::sync::Arc<dyn AnyTool>],
        next: Option<&str>,
    ) {
        self.list(out, era, "tools", tools, next, |out, tool| declaration(out, era, tool.declaration()));
    }

    /// Answers `resources/list`.
    pub(crate) fn resource_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        resources: &[std::sync::Arc<dyn AnyResource>],
        next: Option<&str>,
    ) {
        self.list(out, era, "resources", resources, next, |out, resource| {
            content::resource(out, era, resource.declaration());
        });
    }

    /// Answers `resources/templates/list`.
    pub(crate) fn template_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        templates: &[std::sync::Arc<dyn AnyTemplate>],
        next: Option<&str>,
    ) {
        self.list(out, era, "resourceTemplates", templates, next, |out, template| {
            content::template(out, era, template.declaration());
        });
    }

    /// Answers `prompts/list`.
    pub(crate) fn prompt_list(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        prompts: &[std::sync::Arc<dyn AnyPrompt>],
        next: Option<&str>,
    ) {
        self.list(out, era, "prompts", prompts, next, |out, prompt| content::prompt(out, era, prompt.declaration()));
    }

    fn list<T>(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        name: &str,
        items: &[T],
        next: Option<&str>,
        write: impl FnMut(&mut Vec<u8>, &T),
    ) {
        head(out, era);
        push_string(out, name);
        out.push(b':');
        content::list(out, items, write);
        member(out, "nextCursor", &next);
        if era.is_modern() {
            cacheable(out, FRESH_FOR);
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
    pub(crate) fn outcome(&self, out: &mut Vec<u8>, era: Era, outcome: &Outcome) {
        head(out, era);
        out.extend_from_slice(b"\"content\":");
        content::blocks(out, era, &outcome.content);
        if let Some(structured) = outcome.structured.as_ref().filter(|_| era.revision().structured) {
            out.extend_from_slice(b",\"structuredContent\":");
            push_json(out, structured.get());
        }
        if outcome.is_error {
            out.extend_from_slice(b",\"isError\":true");
        }
        self.tail(out, era);
    }

    /// A modern result of that type with these members.
    pub(crate) fn object(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        kind: &str,
        members: &serde_json::Map<String, serde_json::Value>,
    ) {
        out.extend_from_slice(b"{\"resultType\":");
        push_string(out, kind);
        for (name, value) in members {
            member(out, name, &Some(value));
        }
        self.tail(out, era);
    }

    /// Asks for another request that brings answers to these.
    pub(crate) fn input_required(
        &self,
        out: &mut Vec<u8>,
        era: Era,
        requests: &serde_json::Map<String, serde_json::Value>,
        state: &str,
    ) {
        out.extend_from_slice(b"{\"resultType\":\"input_required\",\"inputRequests\":");
        push(out, requests);
        out.extend_from_slice(b",\"requestState\":");
        push_string(out, state);
        self.tail(out, era);
    }

    /// The result of an embedder's own method. A modern object gets the type that every modern result must have; an
    /// object that brings its own keeps it, since the last of two members counts nowhere.
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

    /// Only what is served is advertised.
    fn capabilities(&self, out: &mut Vec<u8>, era: Era, has: ServerCapabilities) {
        out.extend_from_slice(b",\"capabilities\":{\"logging\":{},\"tools\":{\"listChanged\":true}");
        if has.resources {
            out.extend_from_slice(b",\"resources\":{\"subscribe\":true,\"listChanged\":true}");
        }
        if has.prompts {
            out.extend_from_slice(b",\"prompts\":{\"listChanged\":true}");
        }
        if (has.resources || has.prompts) && era.revision().completions {
            out.extend_from_slice(b",\"completions\":{}");
        }
        if has.tasks && era.is_modern() {
            out.extend_from_slice(b",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
        }
        if let Some(experimental) = &self.info.experimental {
            out.extend_from_slice(b",\"experimental\":");
            push(out, experimental);
        }
        out.push(b'}');
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

/// The beginning of a result that has members of its own.
fn head(out: &mut Vec<u8>, era: Era) {
    out.push(b'{');
    if era.is_modern() {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
}

fn declaration(out: &mut Vec<u8>, era: Era, tool: &Declaration) {
    let revision = era.revision();
    out.extend_from_slice(b"{\"name\":");
    push_string(out, &tool.name);
    if revision.structured {
        member(out, "title", &tool.title);
    }
    out.extend_from_slice(b",\"description\":");
    push_string(out, &tool.description);
    out.extend_from_slice(b",\"inputSchema\":");
    push(out, &tool.input_schema);
    if revision.structured && tool.output_schema.is_some() {
        member(out, "outputSchema", &tool.output_schema);
    }
    if revision.annotations {
        annotations(out, tool);
    }
    content::icons(out, era, &tool.icons);
    if revision.structured {
        member(out, "_meta", &tool.meta);
    }
    out.push(b'}');
}

fn annotations(out: &mut Vec<u8>, tool: &Declaration) {
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
    let effect = tool.effect;
    out.extend_from_slice(b",\"annotations\":");
    let annotations = Annotations {
        title: tool.title.as_deref(),
        read_only_hint: effect.read_only,
        // Only meaningful for tools that write; its default elsewhere would read as true.
        destructive_hint: !effect.read_only && effect.destructive,
        idempotent_hint: effect.idempotent,
        open_world_hint: effect.open_world,
    };
    push(out, &annotations);
}

fn implementation(out: &mut Vec<u8>, era: Era, info: &ServerInfo) {
    let revision = era.revision();
    out.extend_from_slice(b"{\"name\":");
    push_string(out, &info.name);
    if revision.structured {
        member(out, "title", &info.title);
    }
    out.extend_from_slice(b",\"version\":");
    push_string(out, &info.version);
    if revision.described {
        member(out, "description", &info.description);
        member(out, "websiteUrl", &info.website_url);
        content::icons(out, era, &info.icons);
    }
    out.push(b'}');
}

fn cacheable(out: &mut Vec<u8>, fresh_for: Duration) {
    // Private: what a connection sees may depend on who it is.
    out.extend_from_slice(b",\"ttlMs\":");
    out.extend_from_slice(fresh_for.as_millis().to_string().as_bytes());
    out.extend_from_slice(b",\"cacheScope\":\"private\"");
}

/// A member with a leading comma, if there is a value.
pub(super) fn member<T: Serialize>(out: &mut Vec<u8>, name: &str, value: &Option<T>) {
    if let Some(value) = value {
        out.push(b',');
        push_string(out, name);
        out.push(b':');
        push(out, value);
    }
}

/// Writes a value that is always JSON: strings, schemas, lists of them.
pub(super) fn push(out: &mut Vec<u8>, value: &impl Serialize) {
    if push_value(out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}

/// Whole numbers without a fraction; what is no number in JSON as 0.
fn number(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 9e15 {
        out.extend_from_slice((value as i64).to_string().as_bytes());
    } else {
        push(out, &if value.is_finite() { value } else { 0.0 });
    }
}
