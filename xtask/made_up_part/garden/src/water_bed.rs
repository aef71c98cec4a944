//! `water_bed`: waters one bed.

use std::sync::Arc;

use mcp::tool::{Context, Effect, Example, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Garden;

/// Water a bed of the garden. Returns how often it was watered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Number of the bed, from 1.
    pub bed: u64,
}

/// The state of the bed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// How often it was watered.
    pub watered: u64,
}

pub(crate) struct WaterBed(pub(crate) Arc<Garden>);

impl Tool for WaterBed {
    const NAME: &'static str = "water_bed";
    const TITLE: &'static str = "Water a bed";
    const EFFECT: Effect = Effect::WRITE;
    type Args = Args;
    type Output = Output;

    async fn call(&self, _: Context, args: Args) -> Result<Output, ToolError> {
        let watered = self.0.water(args.bed);
        let watered = watered.ok_or_else(|| ToolError::user(format!("there is no bed {}", args.bed)))?;
        Ok(Output { watered })
    }

    fn examples() -> Vec<Example> {
        vec![Example { title: "The first bed", arguments: json!({"bed": 1}), text: None }]
    }
}
