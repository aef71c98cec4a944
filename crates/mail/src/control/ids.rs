//! `mail/ids {beginning, limit}`: the ids that begin so, of messages that the caller wrote or received. People type the
//! beginning of an id. Nothing is taken, and the agent has not done anything by it.

use std::sync::Arc;

use mcp::tool::Context;
use mcp::wire::build::RpcError;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{failed, parse, refused, result};
use crate::callers::Callers;

/// The most ids in one answer.
const MOST: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    /// The beginning, in capital or small letters.
    beginning: String,
    /// The most ids.
    limit: usize,
}

/// `{"ids": […]}`, newest first.
pub async fn ids(callers: Arc<Callers>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let Asked { beginning, limit } = parse(params)?;
    let (mail, agent) = callers.look(&cx).await.map_err(refused)?;
    let ids = mail.ids(&agent, &beginning, limit.clamp(1, MOST)).await.map_err(failed)?;
    result(&json!({"ids": ids}))
}
