//! The methods of resources, prompts and completion, and the subscriptions to resources.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde::Deserialize;

use super::calls::{Handler, Reply, Target};
use super::connection_state::ConnectionState;
use super::methods::Request;
use super::resumption::Resumption;
use crate::era::params::{self, invalid};
use crate::prompt::Completing;
use crate::resource::{MAX_URI, Resolved, Watcher};
use crate::tool::Resumed;
use crate::wire::build::{self, RpcError};
use crate::wire::{Json, code};

impl ConnectionState {
    /// Serves a method of resources, prompts or completion; false if this server has no such method.
    pub(super) fn serve_reading(&mut self, request: &Request<'_>, method: &str) -> Result<bool, RpcError> {
        let has_resources = self.shared.resources.get().is_some();
        let legacy = !request.era.is_modern();
        match method {
            "resources/read" if has_resources => self.read_resource(request)?,
            "resources/subscribe" if has_resources && legacy => self.subscribe(request)?,
            "resources/unsubscribe" if has_resources && legacy => self.unsubscribe(request)?,
            "prompts/get" if self.shared.prompts.get().is_some() => self.get_prompt(request)?,
            "completion/complete" if has_resources || self.shared.prompts.get().is_some() => self.complete(request)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_resource(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        let resumed = match self.resume_sealed(request, "resources/read")? {
            Resumption::Served => return Ok(()),
            Resumption::New => None,
            Resumption::Anew(resumed) => Some(resumed),
        };
        let uri = params::string(request.params.uri, "uri")?;
        let found = self.shared.resources.get().and_then(|resources| resources.find(&uri));
        let found = found.ok_or_else(|| not_found(&uri, !request.era.is_modern()))?;
        let fresh_for = match &found {
            Resolved::Resource(resource) => resource.declaration().fresh_for,
            Resolved::Template(template, _) => template.declaration().about.fresh_for,
        };
        let found = Arc::new(found);
        let serve: Handler = Arc::new(move |cx| {
            let reading = match &*found {
                Resolved::Resource(resource) => resource.clone().read(cx),
                Resolved::Template(template, matched) => template.clone().read(cx, matched.clone()),
            };
            let uri = uri.clone();
            Box::pin(async move { Reply::Read { read: reading.await, uri, fresh_for } })
        });
        self.serve(request, "resources/read", serve, resumed)
    }

    fn get_prompt(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        let resumed = match self.resume_sealed(request, "prompts/get")? {
            Resumption::Served => return Ok(()),
            Resumption::New => None,
            Resumption::Anew(resumed) => Some(resumed),
        };
        let name = params::string(request.params.name, "name")?;
        let prompt = self.shared.prompts.get().and_then(|prompts| prompts.get(&name));
        let prompt = prompt.ok_or_else(|| invalid(format!("unknown prompt {name:?}: prompts/list returns all")))?;
        let arguments = texts(request.params.arguments, "arguments")?;
        let serve: Handler = Arc::new(move |cx| {
            let description = prompt.declaration().description.clone();
            let getting = prompt.clone().get(cx, arguments.clone());
            Box::pin(async move { Reply::Prompt { description, messages: getting.await } })
        });
        self.serve(request, "prompts/get", serve, resumed)
    }

    fn complete(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        #[derive(Deserialize)]
        struct Reference {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            name: String,
            #[serde(default)]
            uri: String,
        }
        #[derive(Deserialize)]
        struct Argument {
            name: String,
            value: String,
        }
        let reference: Reference = object(request.params.reference, "ref")?;
        let argument: Argument = object(request.params.argument, "argument")?;
        let others = match request.params.context {
            Some(context) if !context.is_object() => return Err(invalid("params: `context` must be an object")),
            Some(context) => context.member("arguments").filter(|arguments| !arguments.is_null()),
            None => None,
        };
        let others = texts(others, "context.arguments")?;
        let asked = Completing { argument: argument.name, value: argument.value, others };
        let (prompts, resources) = (self.shared.prompts.get(), self.shared.resources.get());
        let serve: Handler = match reference.kind.as_str() {
            "ref/prompt" => {
                let name = reference.name;
                let prompt = prompts.and_then(|prompts| prompts.get(&name));
                let prompt = prompt.ok_or_else(|| invalid(format!("ref: unknown prompt {name:?}")))?;
                let known = prompt.declaration().arguments.iter().any(|known| known.name == asked.argument);
                known_argument(known, &asked)?;
                Arc::new(move |cx| {
                    let completing = prompt.clone().complete(cx, asked.clone());
                    Box::pin(async move { Reply::Completion(completing.await) })
                })
            }
            "ref/resource" => {
                let uri = reference.uri;
                let template = resources.and_then(|resources| resources.templates.get(&uri));
                let template = template.ok_or_else(|| invalid(format!("ref: unknown resource template {uri:?}")))?;
                let known = template.declaration().uri.variables().contains(&asked.argument.as_str());
                known_argument(known, &asked)?;
                Arc::new(move |cx| {
                    let completing = template.clone().complete(cx, asked.clone());
                    Box::pin(async move { Reply::Completion(completing.await) })
                })
            }
            _ => return Err(invalid("ref: `type` must be ref/prompt or ref/resource")),
        };
        self.serve(request, "completion/complete", serve, None)
    }

    fn serve(
        &mut self,
        request: &Request<'_>,
        name: &'static str,
        serve: Handler,
        resumed: Option<Arc<Resumed>>,
    ) -> Result<(), RpcError> {
        let (key, mut call) = self.new_call(request, Target::Handler(name, serve))?;
        if name != "completion/complete" {
            call.may_ask(self.ask_context(request, name, resumed)?);
        }
        self.admit(key, call, request.raw);
        Ok(())
    }

    /// Answers `resources/subscribe` (handshake revisions).
    fn subscribe(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        let uri = params::string(request.params.uri, "uri")?;
        if self.shared.resources.get().and_then(|resources| resources.find(&uri)).is_none() {
            return Err(not_found(&uri, true));
        }
        self.watch([uri.as_str()])?;
        self.subscribed_resources.insert(uri);
        self.done(request);
        Ok(())
    }

    fn unsubscribe(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        let uri = params::string(request.params.uri, "uri")?;
        if self.subscribed_resources.remove(&uri) {
            self.unwatch([uri.as_str()]);
        }
        self.done(request);
        Ok(())
    }

    fn done(&mut self, request: &Request<'_>) {
        let (id, era) = (request.id, request.era);
        self.emit(request.batch, |out, shared| build::result_with(out, id, |out| shared.results.empty(out, era)));
    }

    /// Watches these resources for this connection.
    pub(super) fn watch<'a>(&mut self, uris: impl IntoIterator<Item = &'a str> + Clone) -> Result<(), RpcError> {
        if uris.clone().into_iter().any(|uri| uri.len() > MAX_URI) {
            return Err(invalid(format!("an address of a resource has at most {MAX_URI} bytes")));
        }
        let limit = self.limits.watched;
        let listened: usize = self.subscriptions.iter().map(|subscription| subscription.uris.len()).sum();
        if self.subscribed_resources.len() + listened + uris.clone().into_iter().count() > limit {
            return Err(RpcError::new(code::INTERNAL, format!("the limit of {limit} watched resources is reached"))
                .with_data(&serde_json::json!({"reason": "overloaded", "limit": limit})));
        }
        if let Some(resources) = self.shared.resources.get() {
            uris.into_iter().for_each(|uri| resources.watch(uri, self.watcher()));
        }
        Ok(())
    }

    /// Stops watching those of these resources that this connection no longer needs.
    pub(super) fn unwatch<'a>(&self, uris: impl IntoIterator<Item = &'a str>) {
        let Some(resources) = self.shared.resources.get() else { return };
        for uri in uris {
            let wanted = self.subscribed_resources.contains(uri)
                || self.subscriptions.iter().any(|subscription| subscription.is_subscribed(uri));
            if !wanted {
                resources.unwatch(uri, &self.watcher());
            }
        }
    }

    /// Stops watching all resources for this connection.
    pub(super) fn unwatch_all(&mut self) {
        let subscribed = std::mem::take(&mut self.subscribed_resources);
        let subscriptions = std::mem::take(&mut self.subscriptions);
        let listened = subscriptions.iter().flat_map(|subscription| &subscription.uris);
        self.unwatch(subscribed.iter().chain(listened).map(String::as_str));
    }

    fn watcher(&self) -> Weak<dyn Watcher> {
        let side_channel: Arc<dyn Watcher> = self.side_channel.clone();
        Arc::downgrade(&side_channel)
    }
}

/// Returns the error for an unknown URI; the handshake revisions have a separate code for it.
pub(super) fn not_found(uri: &str, legacy: bool) -> RpcError {
    let code = if legacy { code::RESOURCE_NOT_FOUND } else { code::INVALID_PARAMS };
    RpcError::new(code, "Resource not found").with_data(&serde_json::json!({"uri": uri}))
}

fn known_argument(known: bool, asked: &Completing) -> Result<(), RpcError> {
    if known { Ok(()) } else { Err(invalid(format!("argument: unknown name {:?}", asked.argument))) }
}

/// Reads an object as a type.
fn object<'a, T: Deserialize<'a>>(raw: Option<Json<'a>>, name: &str) -> Result<T, RpcError> {
    let raw = raw.filter(|raw| raw.is_object());
    let raw = raw.ok_or_else(|| invalid(format!("params: `{name}` must be an object")))?;
    serde_json::from_str(raw.get()).map_err(|error| invalid(format!("{name}: {}", params::without_position(&error))))
}

/// Reads an object whose values are strings; an absent one is empty.
fn texts(raw: Option<Json<'_>>, name: &str) -> Result<BTreeMap<String, String>, RpcError> {
    match raw {
        None => Ok(BTreeMap::new()),
        Some(_) => object(raw, name),
    }
}
