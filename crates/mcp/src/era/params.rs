//! The parameters of requests, read in one pass and only as deep as routing needs, and the revision of a request.

use std::borrow::Cow;

use serde_json::json;

use super::Era;
use super::ask::ClientCapabilities;
use crate::tool::LogLevel;
use crate::wire::build::RpcError;
use crate::wire::{Id, Json, code};

/// Every parameter that some method reads; null counts as absent.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    meta: Option<Json<'a>>,
    pub name: Option<Json<'a>>,
    pub arguments: Option<Json<'a>>,
    pub cursor: Option<Json<'a>>,
    pub level: Option<Json<'a>>,
    pub request_id: Option<Json<'a>>,
    pub notifications: Option<Json<'a>>,
    pub protocol_version: Option<Json<'a>>,
    pub uri: Option<Json<'a>>,
    pub reference: Option<Json<'a>>,
    pub argument: Option<Json<'a>>,
    pub context: Option<Json<'a>>,
    pub task_id: Option<Json<'a>>,
    pub request_state: Option<Json<'a>>,
    pub input_responses: Option<Json<'a>>,
    pub client_capabilities: Option<Json<'a>>,
    pub client_info: Option<Json<'a>>,
}

/// The members of a request's `_meta`.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    token: Option<Json<'a>>,
    version: Option<Json<'a>>,
    capabilities: Option<Json<'a>>,
    pub client: Option<Json<'a>>,
    level: Option<Json<'a>>,
}

impl<'a> Params<'a> {
    pub(crate) fn read(params: Option<Json<'a>>) -> Result<Params<'a>, RpcError> {
        let mut read = Params::default();
        for (name, value) in params.into_iter().flat_map(Json::members) {
            let slot = match &*name {
                "_meta" => &mut read.meta,
                "name" => &mut read.name,
                "arguments" => &mut read.arguments,
                "cursor" => &mut read.cursor,
                "level" => &mut read.level,
                "requestId" => &mut read.request_id,
                "notifications" => &mut read.notifications,
                "protocolVersion" => &mut read.protocol_version,
                "uri" => &mut read.uri,
                "ref" => &mut read.reference,
                "argument" => &mut read.argument,
                "context" => &mut read.context,
                "taskId" => &mut read.task_id,
                "requestState" => &mut read.request_state,
                "inputResponses" => &mut read.input_responses,
                "capabilities" => &mut read.client_capabilities,
                "clientInfo" => &mut read.client_info,
                _ => continue,
            };
            fill(slot, value, "params", &name)?;
        }
        Ok(read)
    }

    pub(crate) fn meta(&self) -> Result<Meta<'a>, RpcError> {
        let mut read = Meta::default();
        let Some(meta) = self.meta else { return Ok(read) };
        if !meta.is_object() {
            return Err(invalid("params: `_meta` must be an object"));
        }
        for (name, value) in meta.members() {
            let slot = match &*name {
                "progressToken" => &mut read.token,
                "io.modelcontextprotocol/protocolVersion" => &mut read.version,
                "io.modelcontextprotocol/clientCapabilities" => &mut read.capabilities,
                "io.modelcontextprotocol/clientInfo" => &mut read.client,
                "io.modelcontextprotocol/logLevel" => &mut read.level,
                _ => continue,
            };
            fill(slot, value, "_meta", &name)?;
        }
        Ok(read)
    }
}

fn fill<'a>(slot: &mut Option<Json<'a>>, value: Json<'a>, of: &str, name: &str) -> Result<(), RpcError> {
    match slot.replace(value) {
        Some(_) => Err(invalid(format!("{of}: duplicate field `{name}`"))),
        None => {
            *slot = Some(value).filter(|value| !value.is_null());
            Ok(())
        }
    }
}

impl Meta<'_> {
    /// Returns the revision of the request: the one that it names itself, else the connection's.
    pub(crate) fn era(&self, connection: Era) -> Result<Era, RpcError> {
        let Some(version) = self.version else { return Ok(connection) };
        let name = version
            .text()
            .ok_or_else(|| invalid("_meta \"io.modelcontextprotocol/protocolVersion\" must be a string"))?;
        let Some(era) = Era::from_name(&name) else {
            let supported = Era::ALL.map(Era::name);
            return Err(RpcError::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
                .with_data(&json!({"supported": supported, "requested": name})));
        };
        if era.is_modern() && !self.capabilities.is_some_and(|raw| raw.is_object()) {
            return Err(invalid(
                "_meta \"io.modelcontextprotocol/clientCapabilities\" is required and must be an object",
            ));
        }
        Ok(era)
    }

    /// Returns the version that the request names itself, known or not.
    #[cfg(feature = "http")]
    pub(crate) fn version_name(&self) -> Result<Option<String>, RpcError> {
        let Some(version) = self.version else { return Ok(None) };
        serde_json::from_str(version.get())
            .map_err(|_| invalid("_meta \"io.modelcontextprotocol/protocolVersion\" must be a string"))
    }

    /// Returns true if the request names a revision itself.
    pub(crate) fn names_era(&self) -> bool {
        self.version.is_some()
    }

    /// Returns the JSON text of the progress token, if it is legal.
    pub(crate) fn token(&self) -> Option<&str> {
        let token = self.token?.get();
        // A token may be any number. It is echoed, so it is bounded like an id.
        let legal = token.starts_with(['"', '-']) || token.starts_with(|c: char| c.is_ascii_digit());
        (legal && token.len() <= crate::wire::MAX_ID).then_some(token)
    }

    /// Returns the kinds of questions that the client of a request without a handshake supports.
    pub(crate) fn client_capabilities(&self) -> ClientCapabilities {
        self.capabilities.map_or_else(ClientCapabilities::default, |raw| ClientCapabilities::read(raw.get()))
    }

    /// Returns true if the client of a request without a handshake knows tasks.
    pub(crate) fn tasks(&self) -> bool {
        // Searched for before parsing, since hardly any client declares it.
        let declared = self.capabilities.filter(|raw| raw.get().contains("io.modelcontextprotocol/tasks"));
        let declared = declared.and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok());
        declared.is_some_and(|declared| declared["extensions"]["io.modelcontextprotocol/tasks"].is_object())
    }

    /// Returns the log level that the request asks for.
    pub(crate) fn level(&self) -> Result<Option<LogLevel>, RpcError> {
        self.level.map(level).transpose()
    }
}

/// Reads a log level.
pub(crate) fn level(raw: Json<'_>) -> Result<LogLevel, RpcError> {
    let name = raw.text().unwrap_or_default();
    LogLevel::from_name(&name)
        .ok_or_else(|| invalid("level must be one of debug, info, notice, warning, error, critical, alert, emergency"))
}

/// Reads a string parameter.
pub(crate) fn string(raw: Option<Json<'_>>, name: &str) -> Result<String, RpcError> {
    text(raw, name).map(Cow::into_owned)
}

/// Reads a string parameter, borrowed if it has no escapes.
pub(crate) fn text<'a>(raw: Option<Json<'a>>, name: &str) -> Result<Cow<'a, str>, RpcError> {
    raw.and_then(Json::text).ok_or_else(|| invalid(format!("params: `{name}` must be a string")))
}

/// Returns the id that a cancellation names.
pub(crate) fn request_id(params: &Params<'_>) -> Option<Id> {
    Id::from_json(params.request_id?.get())
}

pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}

/// serde's message without its position, which counts within a part that the peer never saw as one text.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
