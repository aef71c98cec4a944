//! `mail/rename` and `mail/forget`: for a name that was mistyped or is no longer needed.

use std::sync::Arc;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{parse, refused, result};
use crate::callers::Callers;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Renaming {
    from: String,
    to: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forgetting {
    name: String,
}

/// `mail/rename {from, to}`: gives an agent another name. The answer is `{waiting, text}`.
pub async fn rename(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let Renaming { from, to } = parse(params)?;
    result(&callers.rename(&cx, &from, &to).await.map_err(refused)?)
}

/// `mail/forget {name}`: removes an agent. The answer is `{waiting, text}`.
pub async fn forget(
    callers: Arc<Callers>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let Forgetting { name } = parse(params)?;
    result(&callers.forget(&cx, &name).await.map_err(refused)?)
}
