//! hob's own method on control connections: `repl/output`, the exact bytes that an evaluation printed. Results of tools
//! have them shortened and as text; `hob eval` passes them on to a pipe.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp::tool::Context;
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use process::output::Query;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::session::Stream;
use crate::sessions::Repl;
use crate::tools::caller;

/// The maximum number of bytes in one answer.
const MAX_BYTES: usize = 512 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputParams {
    session: String,
    eval: u64,
    stream: Stream,
    /// The position to continue from; 0 at first.
    cursor: u64,
}

/// Handles `repl/output {session, eval, stream, cursor}`. Returns `{bytes, cursor, more, missing}`: the bytes in
/// base64, the position to continue from, whether there is more now, and how many bytes before it are no longer kept.
pub async fn output(repl: Arc<Repl>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let params = params.as_deref().map_or("{}", RawValue::get);
    let wrong = |error: &dyn std::fmt::Display| RpcError::new(INVALID_PARAMS, error.to_string());
    let params: OutputParams = serde_json::from_str(params).map_err(|error| wrong(&error))?;
    let caller = caller(&cx).map_err(|error| wrong(&error))?;
    let printed = repl.output(caller, Some(&params.session)).map_err(|error| wrong(&error))?;
    let mut query = Query::since(params.cursor).only_stream(params.stream.logged()).at_most(MAX_BYTES);
    query.eval = Some(Some(params.eval));
    let slice = printed.log.read(query).await;
    let answer = json!({
        "bytes": STANDARD.encode(slice.bytes()), "cursor": slice.next, "more": slice.cut, "missing": slice.missing,
    });
    to_raw_value(&answer).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}
