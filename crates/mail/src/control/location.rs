//! `mail/place`: the location of the mail, and the decision where it continues when another location is configured.

use std::sync::Arc;

use mcp::wire::build::RpcError;
use mcp::wire::code::INTERNAL;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{failed, parse, result};
use crate::callers::Callers;
use crate::home::{Choice, Home, Look};

/// The decision, if any.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PlaceRequest {
    choose: Option<Decision>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Keep,
    Switch,
}

#[derive(Debug, Clone, Serialize)]
pub struct PlaceView {
    /// The place, in words.
    pub place: String,
    /// Why calls fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The sentences that tell how to solve the problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
    /// A remark that is not a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The result of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    /// True if there was anything to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// True if the mail is open. If so, a decision takes effect when the daemon starts again.
    pub open: bool,
}

impl PlaceView {
    /// Returns the place as `hob status` shows it.
    pub fn read(callers: &Callers, home: &Home) -> PlaceView {
        PlaceView::new(home.report_location(), callers.is_open())
    }

    fn new(look: Look, open: bool) -> PlaceView {
        let (problem, next) = look.problem.unzip();
        PlaceView {
            place: look.place,
            problem,
            next: next.unwrap_or_default(),
            remark: look.remark,
            decided: None,
            changed: None,
            open,
        }
    }
}

/// `mail/place {choose}`.
pub async fn choose_location(
    callers: Arc<Callers>,
    home: Arc<Home>,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let asked: PlaceRequest = parse(params)?;
    let open = callers.is_open();
    let done = tokio::task::spawn_blocking(move || {
        let before = home.report_location();
        let changed = asked.choose.as_ref().map(|_| before.problem.is_some() || before.remark.is_some());
        let decided = match asked.choose {
            None => None,
            Some(Decision::Keep) => Some(home.choose(Choice::Keep)?),
            Some(Decision::Switch) => Some(home.choose(Choice::Switch)?),
        };
        Ok::<_, crate::StoreError>(PlaceView { decided, changed, ..PlaceView::new(home.report_location(), open) })
    });
    let done = done.await.map_err(|error| RpcError::new(INTERNAL, error.to_string()))?;
    result(&done.map_err(|error| failed(error.into()))?)
}
