//! Serves each method and each notification of a client.

use std::sync::Arc;

use serde::Deserialize;
use tokio::time::Instant;

use super::announcements::subscription_params;
use super::calls::{Call, Key, ProgressState, State, Target};
use super::client_info::ClientInfo;
use super::connection_state::{ConnectionState, ListKind, Subscription};
use super::peer::{CallPeer, LogPolicy, Recipient, Route, Slot};
use super::resumption::Resumption;
use crate::era::ask::ClientCapabilities;
use crate::era::params::{self, Meta, Params, invalid};
use crate::era::{Era, ResultForm};
use crate::tool::{Asks, CancelToken, Registry, nearest};
use crate::wire::build::{self, RpcError};
use crate::wire::{Id, Json, code};

/// A request whose revision is known.
pub(super) struct Request<'a> {
    pub id: &'a Id,
    pub era: Era,
    /// The form of tool results.
    pub form: ResultForm,
    pub meta: &'a Meta<'a>,
    pub params: &'a Params<'a>,
    /// All its parameters as JSON.
    pub raw: Option<Json<'a>>,
    pub batch: Option<u64>,
}

impl ConnectionState {
    pub(super) fn request(&mut self, id: Id, method: &str, params: Option<Json<'_>>, batch: Option<u64>) {
        self.batch_joined(batch);
        if self.calls.find(&id).is_some() || self.subscriptions.iter().any(|subscription| subscription.id == id) {
            let error = RpcError::new(code::INVALID_REQUEST, "a request with this id is still in flight");
            return self.refuse(batch, Some(&id), &error);
        }
        if let Err(error) = self.serve_request(&id, method, params, batch) {
            self.refuse(batch, Some(&id), &error);
        }
    }

    /// Answers the request immediately or starts a call for it. An error is its answer.
    fn serve_request(
        &mut self,
        id: &Id,
        method: &str,
        raw: Option<Json<'_>>,
        batch: Option<u64>,
    ) -> Result<(), RpcError> {
        let params = Params::read(raw)?;
        let meta = params.meta();
        // An `initialize` that names a modern revision itself is not a handshake.
        let names_modern = |meta: &Meta<'_>| meta.names_era() && meta.era(self.era).is_ok_and(|era| era.is_modern());
        if method == "initialize" && !meta.as_ref().is_ok_and(names_modern) {
            return self.initialize(id, &params, batch);
        }
        let meta = meta?;
        let era = meta.era(self.era)?;
        let form = self.result_form(&meta);
        if let Some(handler) = self.shared.method(method) {
            let target = Target::Method(method.into(), handler);
            return self.call(&Request { id, era, form, meta: &meta, params: &params, raw, batch }, target, raw);
        }
        match method {
            "tools/call" => {
                let request = Request { id, era, form, meta: &meta, params: &params, raw, batch };
                self.call_tool(&request)
            }
            "ping" if !era.is_modern() => {
                self.emit(batch, |out, shared| build::result_with(out, id, |out| shared.results.empty(out, era)));
                Ok(())
            }
            "logging/setLevel" if !era.is_modern() => {
                let level = params.level.ok_or_else(|| invalid("params: `level` is missing"))?;
                self.side_channel.set_level(params::level(level)?);
                self.emit(batch, |out, shared| build::result_with(out, id, |out| shared.results.empty(out, era)));
                Ok(())
            }
            "server/discover" | "subscriptions/listen" if !era.is_modern() && !meta.names_era() => Err(invalid(
                "_meta \"io.modelcontextprotocol/protocolVersion\" and \
                 \"io.modelcontextprotocol/clientCapabilities\" are required",
            )),
            "server/discover" if era.is_modern() => {
                self.emit(batch, |out, shared| {
                    build::result_with(out, id, |out| shared.results.discover(out, era, shared.capabilities()))
                });
                Ok(())
            }
            "subscriptions/listen" if era.is_modern() => {
                self.listen(&Request { id, era, form, meta: &meta, params: &params, raw, batch })
            }
            _ => {
                if let Some(listing) = self.shared.list(method, (era, form), &params, &self.side_channel) {
                    let listing = listing?;
                    self.emit(batch, |out, _| build::result_with(out, id, |out| out.extend_from_slice(&listing)));
                    return Ok(());
                }
                let request = Request { id, era, form, meta: &meta, params: &params, raw, batch };
                if self.serve_reading(&request, method)? || self.serve_task(&request, method)? {
                    Ok(())
                } else {
                    Err(RpcError::new(code::METHOD_NOT_FOUND, format!("unknown method {method:?}")))
                }
            }
        }
    }

    /// Returns the handshake of the older revisions. Whatever version the client asks for, it gets one.
    fn initialize(&mut self, id: &Id, params: &Params<'_>, batch: Option<u64>) -> Result<(), RpcError> {
        if batch.is_some() {
            return Err(RpcError::new(code::INVALID_REQUEST, "initialize must not be part of a batch"));
        }
        let asked = params::string(params.protocol_version, "protocolVersion").ok();
        let era = asked.as_deref().and_then(Era::from_name).filter(|era| !era.is_modern());
        let era = era.unwrap_or(Era::LATEST_LEGACY);
        self.era = era;
        self.can = params
            .client_capabilities
            .map_or_else(ClientCapabilities::default, |raw| ClientCapabilities::read(raw.get()));
        let info = params.client_info.map(|said| ClientInfo::read(said, self.result_form_for));
        if !self.budget_is_fixed {
            self.budget = info.as_ref().and_then(|info| info.budget);
        }
        self.form = info.as_ref().map_or_else(|| (self.result_form_for)(""), |info| info.form);
        self.client = info.and_then(|info| info.client);
        tracing::debug!(asked, era = era.name(), client = params.client_info.map(Json::get), "initialize");
        self.emit(None, |out, shared| {
            build::result_with(out, id, |out| shared.results.initialize(out, era, shared.capabilities()))
        });
        Ok(())
    }

    fn call_tool(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        const METHOD: &str = "tools/call";
        let name = params::text(request.params.name, "name")?;
        let Some(tool) = self.shared.registry.get(&name) else {
            return Err(unknown_tool(&name, &self.shared.registry));
        };
        self.allow_task(request, tool.declaration())?;
        let asks = tool.declaration().asks;
        if asks == Asks::Never {
            return self.call(request, Target::Tool(tool), request.params.arguments);
        }
        let resumed = match self.resume_sealed(request, METHOD)? {
            Resumption::Served => return Ok(()),
            Resumption::New if asks == Asks::Person && self.resume_by_argument(request, &tool)? => return Ok(()),
            Resumption::New => None,
            Resumption::Anew(resumed) => Some(resumed),
        };
        let (key, mut call) = self.new_call(request, Target::Tool(tool))?;
        call.may_ask(self.ask_context(request, METHOD, resumed)?);
        self.admit(key, call, request.params.arguments);
        Ok(())
    }

    /// Makes a call of a request and admits it.
    pub(super) fn call(
        &mut self,
        request: &Request<'_>,
        target: Target,
        input: Option<Json<'_>>,
    ) -> Result<(), RpcError> {
        let (key, call) = self.new_call(request, target)?;
        self.admit(key, call, input);
        Ok(())
    }

    pub(super) fn new_call(&mut self, request: &Request<'_>, target: Target) -> Result<(Key, Call), RpcError> {
        let Request { id, era, form, meta, batch, .. } = *request;
        self.make_call(Some(id.clone()), (era, form), target, meta, batch)
    }

    fn make_call(
        &mut self,
        id: Option<Id>,
        (era, form): (Era, ResultForm),
        target: Target,
        meta: &Meta<'_>,
        batch: Option<u64>,
    ) -> Result<(Key, Call), RpcError> {
        let log = if era.is_modern() { LogPolicy::Request(meta.level()?) } else { LogPolicy::Connection };
        let key = self.new_key();
        // A batch is answered as one, so progress of its parts would delay all of it.
        let token = meta.token().filter(|_| batch.is_none());
        let reported = token.map(|token| ProgressState { token: token.into(), last: None, at: Instant::now(), end: 0 });
        let wants_progress = reported.is_some();
        let peer = Arc::new(CallPeer::new(self.route(key, wants_progress, log)));
        let fixed = self.budget.filter(|_| self.budget_is_fixed);
        let (client, budget) = match self.said_with(meta) {
            Some(info) => (info.client.clone(), fixed.or(info.budget)),
            None => (self.client.clone(), self.budget),
        };
        let cancel = CancelToken::default();
        let wants_job = matches!(&target, Target::Tool(tool) if tool.declaration().job_after.is_some());
        let tasks = (wants_job && meta.tasks()).then(|| meta.client_capabilities());
        let call = Call {
            id,
            era,
            form,
            target,
            peer,
            cancel,
            budget,
            client,
            batch,
            reported,
            ask_context: None,
            tasks,
            job_at: None,
            timeout_at: None,
            has_waited: false,
            began: std::time::Instant::now(),
            state: State::Waiting(None),
        };
        Ok((key, call))
    }

    /// Returns the form of results for a request: its own `clientInfo` decides, else that of the handshake.
    fn result_form(&mut self, meta: &Meta<'_>) -> ResultForm {
        let form = self.form;
        self.said_with(meta).map_or(form, |info| info.form)
    }

    /// Returns the client's description that came with this request, parsed once for equal descriptions.
    fn said_with(&mut self, meta: &Meta<'_>) -> Option<&ClientInfo> {
        let said = meta.client?;
        if !self.latest_client.as_ref().is_some_and(|info| info.is(said)) {
            self.latest_client = Some(ClientInfo::read(said, self.result_form_for));
        }
        self.latest_client.as_ref()
    }

    pub(super) fn route(&self, call: Key, wants_progress: bool, log: LogPolicy) -> Route {
        let (side_channel, principal) = (self.side_channel.clone(), self.principal.clone());
        Route {
            side_channel,
            call,
            wants_progress,
            log,
            can: None,
            principal,
            recipient: Recipient::Request,
            slot: Slot::default(),
        }
    }

    /// Opens a subscription. The acknowledgement comes first and says which part of the filter is served.
    fn listen(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        let Request { id, params, .. } = *request;
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Filter {
            #[serde(default)]
            tools_list_changed: Option<bool>,
            #[serde(default)]
            resources_list_changed: Option<bool>,
            #[serde(default)]
            prompts_list_changed: Option<bool>,
            #[serde(default)]
            resource_subscriptions: Option<Vec<String>>,
            #[serde(default)]
            task_ids: Option<Vec<String>>,
        }
        let filter: Filter = params
            .notifications
            .filter(|raw| raw.get().starts_with('{'))
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .ok_or_else(|| invalid("params: `notifications` must be an object that names what to listen to"))?;
        let limit = self.limits.subscriptions;
        if self.subscriptions.len() >= limit {
            return Err(RpcError::new(code::INTERNAL, format!("the limit of {limit} open subscriptions is reached"))
                .with_data(&serde_json::json!({"reason": "overloaded", "limit": limit})));
        }
        let has = self.shared.capabilities();
        let kinds = [
            (ListKind::Tools, "toolsListChanged", filter.tools_list_changed, true),
            (ListKind::Resources, "resourcesListChanged", filter.resources_list_changed, has.resources),
            (ListKind::Prompts, "promptsListChanged", filter.prompts_list_changed, has.prompts),
        ];
        let mut lists = Vec::new();
        let mut served = serde_json::Map::new();
        for (list, name, wanted, offered) in kinds {
            if wanted == Some(true) && offered {
                lists.push(list);
                served.insert(name.to_owned(), true.into());
            }
        }
        let tasks = self.watch_tasks(request, filter.task_ids.unwrap_or_default())?;
        if !tasks.is_empty() {
            served.insert("taskIds".to_owned(), tasks.clone().into());
        }
        let uris = filter.resource_subscriptions.filter(|_| has.resources).unwrap_or_default();
        if !uris.is_empty() {
            self.watch(uris.iter().map(String::as_str))?;
            served.insert("resourceSubscriptions".to_owned(), uris.clone().into());
        }
        let params = subscription_params(id, serde_json::json!({"notifications": served}));
        build::notification(self.out.bytes(), "notifications/subscriptions/acknowledged", Some(&params));
        self.subscriptions.push(Subscription { id: id.clone(), lists, uris, tasks });
        Ok(())
    }

    /// Takes a notification. Even a wrong one is never answered.
    pub(super) fn notification(&mut self, method: &str, raw: Option<Json<'_>>) {
        let Ok(params) = Params::read(raw) else {
            return tracing::debug!(method, "a notification with unreadable parameters was ignored");
        };
        if method == "notifications/initialized" {
            self.initialized = true;
        }
        if let Some(handler) = self.shared.notification(method) {
            let target = Target::Method(method.into(), handler);
            let era = params.meta().and_then(|meta| meta.era(self.era)).unwrap_or(self.era);
            match self.make_call(None, (era, self.form), target, &Meta::default(), None) {
                Ok((key, call)) => self.admit(key, call, raw),
                Err(error) => tracing::debug!(method, %error, "a notification was ignored"),
            }
            return;
        }
        match method {
            "notifications/initialized" => {}
            "notifications/cancelled" => match params::request_id(&params) {
                Some(id) => self.cancel(&id),
                None => tracing::debug!("a cancellation without a request id was ignored"),
            },
            _ => tracing::debug!(method, "ignored a notification without a handler"),
        }
    }
}

/// Returns the error for an unknown tool, with the most similar name.
fn unknown_tool(name: &str, registry: &Registry) -> RpcError {
    let tools = registry.list();
    let near = nearest(name, tools.iter().map(|tool| tool.declaration().name.as_str()));
    let near = near.map(|near| format!(" did you mean {near:?}?")).unwrap_or_default();
    invalid(format!("unknown tool {name:?}:{near} tools/list returns all"))
}
