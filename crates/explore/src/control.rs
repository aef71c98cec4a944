//! hob's own methods on control connections: `explore/export {runs}` and `explore/compare {runs}`.

use std::sync::Arc;

use mcp::tool::{Context, ToolError};
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::select::compare::compare;
use crate::select::records;
use crate::sources::Sources;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    runs: Vec<String>,
}

/// A method: the records, or a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Export,
    Compare,
}

/// Handles a method on recorded walks. The answer has the form of a tool result.
pub async fn on_records(
    method: Method,
    sources: Arc<Sources>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let refused = |error: ToolError| RpcError::new(INVALID_PARAMS, error.to_string());
    let params = params.map_or_else(|| Ok(Params::default()), |params| serde_json::from_str(params.get()));
    let Params { runs } = params.map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
    let directory = sources.records.clone();
    let read = tokio::task::spawn_blocking(move || records::read(&directory, &runs)).await;
    let entries = read.map_err(|error| RpcError::new(INTERNAL, error.to_string()))?;
    let entries = entries.map_err(|why| refused(ToolError::user(why)))?;
    let (text, structured) = match method {
        Method::Export => (format!("{} decisions", entries.len()), json!({"records": entries})),
        Method::Compare => {
            let compared = compare(&sources.model, &cx, entries, sources.tokens).await.map_err(refused)?;
            (compared.0.join("\n"), compared.1)
        }
    };
    let result = json!({"content": [{"type": "text", "text": text}], "structuredContent": structured});
    to_raw_value(&result).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}
