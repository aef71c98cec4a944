//! Requests whose answers are places, and how long they may take.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::texts::{Sheets, Spot};
use crate::blocking::blocking;
use crate::lsp::{Client, Failure, Location, locations, of_path};
use crate::server::Session;

/// What is defined at a position. Of what is not compiled (`#if`) nothing is known: some servers guess there by the text.
pub(super) async fn defined(
    client: &Client,
    path: &Path,
    position: Value,
    within: Duration,
) -> Result<Vec<Location>, Failure> {
    let params = json!({"textDocument": {"uri": of_path(path)}, "position": position});
    let answer = places(client, "textDocument/definition", &params, within).await?;
    let line = position["line"].as_u64().and_then(|line| line.try_into().ok());
    let is_inactive = line.is_some_and(|line| client.is_inactive(path, line));
    Ok(if is_inactive { Vec::new() } else { answer })
}

/// What a server says of what stands at an offset of a file that was read.
pub(super) async fn asked_at(
    session: &Session,
    sheets: &Sheets,
    method: &'static str,
    (path, at): (&Path, usize),
    until: Instant,
) -> Result<Vec<Location>, Failure> {
    let sheet = sheets.get(path).ok_or(Failure::Odd { method })?;
    let position = sheet.position(at, session.encoding);
    let params = json!({"textDocument": {"uri": of_path(path)}, "position": position});
    places(&session.client, method, &params, left(until, session)).await
}

/// What is defined at a place, nothing where not all files can be read; `None` where the server does not answer.
pub(super) async fn spots_of(
    path: &Path,
    at: usize,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> Option<Vec<Spot>> {
    let answer = answered(asked_at(session, sheets, "textDocument/definition", (path, at), until).await)?;
    let spots: Option<Vec<Spot>> = blocking(|| answer.iter().map(|place| sheets.spot(place)).collect());
    Some(spots.unwrap_or_default())
}

/// The places of an answer, none where the server refuses the question; `None` where it does not answer.
pub(super) fn answered(answer: Result<Vec<Location>, Failure>) -> Option<Vec<Location>> {
    match answer {
        Ok(places) => Some(places),
        Err(Failure::Refused { .. }) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// What a server shows of what stands at a place; nothing where it shows nothing in time.
pub(super) async fn hovered(path: &Path, at: usize, session: &Session, sheets: &Sheets, until: Instant) -> String {
    let Some(sheet) = sheets.get(path) else { return String::new() };
    let position = sheet.position(at, session.encoding);
    let params = json!({"textDocument": {"uri": of_path(path)}, "position": position});
    let answer = session.client.request("textDocument/hover", &params, left(until, session)).await;
    answer.ok().and_then(|hover| Some(hover["contents"]["value"].as_str()?.to_owned())).unwrap_or_default()
}

pub(super) async fn places(
    client: &Client,
    method: &'static str,
    params: &Value,
    within: Duration,
) -> Result<Vec<Location>, Failure> {
    let answer = client.request(method, params, within).await?;
    locations(answer).ok_or(Failure::Odd { method })
}

/// How long a request may take.
pub(super) fn left(until: Instant, session: &Session) -> Duration {
    until.saturating_duration_since(Instant::now()).min(session.timing.request)
}

pub(super) async fn within<F: Future>(until: Instant, future: F) -> Option<F::Output> {
    tokio::time::timeout_at(tokio::time::Instant::from_std(until), future).await.ok()
}
