//! Requests about places, and their time limits.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lsp::server::Session;
use lsp::{Client, Failure, Location, locations, of_path};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::texts::{Sheets, Spot};
use crate::answer::Candidates;
use crate::judgement::Code;

/// A question to a server about one name.
pub(crate) struct Inquiry<'a> {
    pub found: &'a Candidates,
    pub session: &'a Session,
    pub sheets: &'a mut Sheets,
}

impl Inquiry<'_> {
    /// Sends a request about a place in a file that was read.
    pub(crate) async fn ask(&self, method: &'static str, spot: &Spot) -> Result<Vec<Location>, Failure> {
        let params = self.params(spot).ok_or(Failure::Odd { method })?;
        request_locations(&self.session.client, method, &params, self.time_limit()).await
    }

    /// Requests the definition at a place. Empty if a file is unreadable, `None` if the server does not answer.
    pub(crate) async fn defined(&mut self, spot: &Spot) -> Option<Vec<Spot>> {
        let answer = match self.ask("textDocument/definition", spot).await {
            Ok(places) => places,
            Err(Failure::Refused { .. }) => Vec::new(),
            Err(_) => return None,
        };
        let spots: Option<Vec<Spot>> = answer.iter().map(|place| self.sheets.spot(place)).collect();
        Some(spots.unwrap_or_default())
    }

    /// Returns the hover text at a place, empty after a timeout.
    pub(crate) async fn hovered(&self, spot: &Spot) -> String {
        let Some(params) = self.params(spot) else { return String::new() };
        let answer = self.session.client.request("textDocument/hover", &params, self.time_limit()).await;
        answer.ok().and_then(|hover| Some(hover["contents"]["value"].as_str()?.to_owned())).unwrap_or_default()
    }

    fn params(&self, spot: &Spot) -> Option<Value> {
        let position = self.sheets.position(&spot.path, spot.start)?;
        Some(json!({"textDocument": {"uri": of_path(&spot.path)}, "position": position}))
    }

    fn time_limit(&self) -> Duration {
        request_time_limit(self.sheets.until(), self.session)
    }
}

/// Requests the definition at a position. Code excluded by `#if` has no definitions: some servers guess there by name.
async fn defined(client: &Client, path: &Path, position: Value, within: Duration) -> Result<Vec<Location>, Failure> {
    let params = json!({"textDocument": {"uri": of_path(path)}, "position": position});
    let answer = request_locations(client, "textDocument/definition", &params, within).await?;
    let line = position["line"].as_u64().and_then(|line| line.try_into().ok());
    let is_inactive = line.is_some_and(|line| client.is_inactive(path, line));
    Ok(if is_inactive { Vec::new() } else { answer })
}

/// Requests the definition at each of these offsets, numbered by the caller. A place of an unread file is unparsable; a refusal
/// gives no places. `None` if the server ended.
pub(crate) async fn definitions(
    session: &Session,
    sheets: &Sheets,
    places: impl Iterator<Item = (usize, PathBuf, usize)>,
) -> Option<Vec<(usize, Result<Vec<Location>, Code>)>> {
    let mut asking = JoinSet::new();
    let mut answers = Vec::new();
    for (number, path, at) in places {
        let Some(position) = sheets.position(&path, at) else {
            answers.push((number, Err(Code::Unparsable)));
            continue;
        };
        let (client, within) = (session.client.clone(), request_time_limit(sheets.until(), session));
        asking.spawn(async move { (number, defined(&client, &path, position, within).await) });
    }
    while let Some(Ok((number, answer))) = asking.join_next().await {
        answers.push(match answer {
            Ok(places) => (number, Ok(places)),
            Err(Failure::TimedOut { .. }) => (number, Err(Code::OutOfTime)),
            Err(Failure::Refused { .. } | Failure::Odd { .. }) => (number, Ok(Vec::new())),
            Err(Failure::Closed) => return None,
        });
    }
    Some(answers)
}

pub(crate) async fn request_locations(
    client: &Client,
    method: &'static str,
    params: &Value,
    within: Duration,
) -> Result<Vec<Location>, Failure> {
    let answer = client.request(method, params, within).await?;
    locations(answer).ok_or(Failure::Odd { method })
}

/// Returns the time limit of a request.
pub(crate) fn request_time_limit(until: Instant, session: &Session) -> Duration {
    until.saturating_duration_since(Instant::now()).min(session.timing.request)
}

pub(crate) async fn with_deadline<F: Future>(until: Instant, future: F) -> Option<F::Output> {
    tokio::time::timeout_at(tokio::time::Instant::from_std(until), future).await.ok()
}
