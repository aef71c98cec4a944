//! The parameters of requests, read in one pass and only as deep as routing needs, and the revision they belong to.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Era;
use super::ask::Capabilities;
use crate::tool::LogLevel;
use crate::wire::build::RpcError;
use crate::wire::{Id, code};

/// Every parameter that some method of ours looks at; each is JSON text still.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    pub level: Option<&'a RawValue>,
    #[serde(borrow)]
    pub request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub notifications: Option<&'a RawValue>,
    #[serde(borrow)]
    pub protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    pub reference: Option<&'a RawValue>,
    #[serde(borrow)]
    pub argument: Option<&'a RawValue>,
    #[serde(borrow)]
    pub context: Option<&'a RawValue>,
    #[serde(borrow)]
    pub task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    pub input_responses: Option<&'a RawValue>,
    #[serde(borrow, rename = "capabilities")]
    pub client_capabilities: Option<&'a RawValue>,
    #[serde(borrow)]
    pub client_info: Option<&'a RawValue>,
}

/// What `_meta` may say about a request.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    pub client: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/logLevel")]
    level: Option<&'a RawValue>,
}

/// The client's description of itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Implementation {
    #[serde(default)]
    pub name: String,
}

impl<'a> Params<'a> {
    pub(crate) fn read(params: Option<&'a RawValue>) -> Result<Params<'a>, RpcError> {
        match params {
            None => Ok(Params::default()),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| invalid(format!("params: {}", plain(&error)))),
        }
    }

    pub(crate) fn meta(&self) -> Result<Meta<'a>, RpcError> {
        match self.meta {
            None => Ok(Meta::default()),
            // Written as a list it would be read by position.
            Some(raw) if !raw.get().starts_with('{') => Err(invalid("params: `_meta` must be an object")),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| invalid(format!("_meta: {}", plain(&error)))),
        }
    }
}

impl Meta<'_> {
    /// The revision this request belongs to: the one it names itself, else the connection's.
    pub(crate) fn era(&self, connection: Era) -> Result<Era, RpcError> {
        let Some(version) = self.version else { return Ok(connection) };
        let name: String = serde_json::from_str(version.get())
            .map_err(|_| invalid("_meta \"io.modelcontextprotocol/protocolVersion\" must be a string"))?;
        let Some(era) = Era::from_name(&name) else {
            let supported = Era::ALL.map(Era::name);
            return Err(RpcError::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
                .with_data(&json!({"supported": supported, "requested": name})));
        };
        if era.is_modern() && !self.capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
            return Err(invalid(
                "_meta \"io.modelcontextprotocol/clientCapabilities\" is required and must be an object",
            ));
        }
        Ok(era)
    }

    /// The name of the revision that the request names itself.
    #[cfg(feature = "http")]
    pub(crate) fn version_name(&self) -> Result<Option<String>, RpcError> {
        let Some(version) = self.version else { return Ok(None) };
        serde_json::from_str(version.get())
            .map_err(|_| invalid("_meta \"io.modelcontextprotocol/protocolVersion\" must be a string"))
    }

    /// Whether the request names a revision itself.
    pub(crate) fn names_era(&self) -> bool {
        self.version.is_some()
    }

    /// The progress token's JSON text, if there is a legal one.
    pub(crate) fn token(&self) -> Option<&str> {
        let token = self.token?.get();
        // A token may be any number, and is echoed, so it is bounded like an id.
        let legal = token.starts_with(['"', '-']) || token.starts_with(|c: char| c.is_ascii_digit());
        (legal && token.len() <= crate::wire::MAX_ID).then_some(token)
    }

    /// What the client of a request without a handshake can be asked.
    pub(crate) fn can(&self) -> Capabilities {
        self.capabilities.map_or_else(Capabilities::default, |raw| Capabilities::read(raw.get()))
    }

    /// Whether the client of a request without a handshake knows tasks.
    pub(crate) fn tasks(&self) -> bool {
        // Looked for before it is read: hardly any client does.
        let declared = self.capabilities.filter(|raw| raw.get().contains("io.modelcontextprotocol/tasks"));
        let declared = declared.and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok());
        declared.is_some_and(|declared| declared["extensions"]["io.modelcontextprotocol/tasks"].is_object())
    }

    /// The log level that the request asks for.
    pub(crate) fn level(&self) -> Result<Option<LogLevel>, RpcError> {
        self.level.map(level).transpose()
    }
}

/// Reads a log level.
pub(crate) fn level(raw: &RawValue) -> Result<LogLevel, RpcError> {
    let name = serde_json::from_str::<String>(raw.get()).unwrap_or_default();
    LogLevel::from_name(&name)
        .ok_or_else(|| invalid("level must be one of debug, info, notice, warning, error, critical, alert, emergency"))
}

/// Reads a string parameter.
pub(crate) fn string(raw: Option<&RawValue>, name: &str) -> Result<String, RpcError> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| invalid(format!("params: `{name}` must be a string")))
}

/// The id that a cancellation names.
pub(crate) fn request_id(params: &Params<'_>) -> Option<Id> {
    Id::from_json(params.request_id?.get())
}

pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, message)
}

/// serde's text without its position, which counts within a part that the peer never saw as one text.
pub(crate) fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
