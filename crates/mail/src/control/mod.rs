//! hob's own methods in addition to MCP's: `subscribe` with its notifications on every connection; `mail/confirm`,
//! `mail/inbox`, `mail/write`, `mail/seen`, `mail/rename`, `mail/forget`, `mail/token`, `mail/place` and `mail/import` on
//! control connections.

mod import;
mod inbox;
mod location;
mod names;
mod person_mail;
mod subscribe;

use std::sync::Arc;

use mcp::tool::{Context, ToolError};
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

pub use self::import::import;
pub use self::inbox::inbox;
pub use self::location::{PlaceView, choose_location};
pub use self::names::{forget, rename};
pub use self::person_mail::{mark_seen, write};
pub use self::subscribe::subscribe;
use crate::callers::Callers;

/// `mail/confirm`: confirms the messages handed out to this connection's run, since they were shown.
pub async fn confirm(callers: Arc<Callers>, cx: Context) -> Result<Box<RawValue>, RpcError> {
    let (mail, session, _) = callers.enter_to_receive(&cx).await.map_err(refused)?;
    let confirmed = mail.confirm(&session).await.map_err(failed)?;
    result(&json!({"confirmed": confirmed}))
}

/// The requested change of the caller's token, if any.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TokenRequest {
    /// True to make a new token, which revokes the former one.
    renew: bool,
    /// True to revoke the token.
    revoke: bool,
}

/// `mail/token {renew, revoke}`: the token whose bearer acts as the caller over HTTP, made if absent. The caller must
/// hold its name.
pub async fn token(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let asked: TokenRequest = parse(params)?;
    if asked.revoke {
        let (agent, revoked) = callers.revoke_token(&cx).await.map_err(refused)?;
        return result(&json!({"agent": agent.as_str(), "revoked": revoked}));
    }
    let token = callers.token(&cx, asked.renew).await.map_err(refused)?;
    result(&json!({"agent": token.agent.as_str(), "worktree": token.worktree, "token": token.secret}))
}

fn parse<T: Default + for<'a> Deserialize<'a>>(params: Option<Box<RawValue>>) -> Result<T, RpcError> {
    params
        .map_or_else(|| Ok(T::default()), |params| serde_json::from_str(params.get()))
        .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))
}

fn refused(error: ToolError) -> RpcError {
    RpcError::new(INVALID_PARAMS, error.to_string())
}

fn failed(error: crate::MailError) -> RpcError {
    refused(crate::error::failed(error))
}

fn result(value: &impl Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(value).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}
