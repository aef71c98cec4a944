//! hob's own methods on control connections, in addition to those of MCP and of the parts: `status`, `shutdown`,
//! `events/subscribe`, `rooms/next`, `calls/stop`.

use std::sync::{Arc, Weak};

use mcp::server::Server;
use mcp::tool::{Context, NotifyError};
use mcp::wire::build::RpcError;
use mcp::wire::code::{INTERNAL, INVALID_PARAMS};
use project::Caller;
use project::dashboard::{NEXT, Rooms, STOP_CALL};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::broadcast::error::RecvError;

use crate::collect;
use crate::daemon::Daemon;
use crate::journal::Entry;
use crate::parts::Stores;
use crate::status::Status;

/// The notification for one journal entry.
const ENTRY: &str = "events/entry";

/// Adds the methods to a server. They hold the daemon weakly: the daemon holds the server.
pub(crate) fn add_methods(server: Server, daemon: &Arc<Daemon>) -> Server {
    let [status_of, shutdown_of, events_of, rooms_of, calls_of] = [(); 5].map(|()| Arc::downgrade(daemon));
    server
        .method("status", move |_, _| status(status_of.clone()))
        .method("shutdown", move |cx, params| shutdown(shutdown_of.clone(), cx, params))
        .method("events/subscribe", move |cx, params| subscribe(events_of.clone(), cx, params))
        .method(NEXT, move |cx, params| rooms_next(rooms_of.clone(), cx, params))
        .method(STOP_CALL, move |_, params| stop_call(calls_of.clone(), params))
}

async fn status(daemon: Weak<Daemon>) -> Result<Box<RawValue>, RpcError> {
    let daemon = upgrade_daemon(&daemon)?;
    let (snapshot, _) = daemon.rooms.current(&daemon, Stores::AsTheyAre, false).await;
    result(&StatusWithRooms { status: Status::from_daemon(&daemon), rooms: &snapshot.rooms })
}

#[derive(Serialize)]
struct StatusWithRooms<'a> {
    #[serde(flatten)]
    status: Status,
    rooms: &'a Rooms,
}

async fn rooms_next(
    daemon: Weak<Daemon>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let snapshot = collect::next(&daemon, &cx, parse(params)?).await;
    result(&*snapshot.ok_or_else(|| RpcError::new(INTERNAL, "the daemon is ending"))?)
}

/// A call, by its row.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CallOfRow {
    number: u64,
    started: u64,
}

async fn stop_call(daemon: Weak<Daemon>, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let CallOfRow { number, started } = parse(params)?;
    result(&json!({ "stopped": upgrade_daemon(&daemon)?.parts.calls().stop(number, started) }))
}

/// The parameters of `shutdown`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Shutdown {
    /// True to shut down even if sessions are live.
    force: bool,
}

async fn shutdown(daemon: Weak<Daemon>, cx: Context, params: Option<Box<RawValue>>) -> Result<Box<RawValue>, RpcError> {
    let daemon = upgrade_daemon(&daemon)?;
    let asked: Shutdown = parse(params)?;
    if let (false, Some(busy)) = (asked.force, daemon.busy()) {
        return result(&json!({ "stopping": false, "busy": busy }));
    }
    let pid = cx.caller::<Caller>().map_or(0, |caller| caller.pid);
    daemon.begin_stop(format!("process {pid} requested it"));
    result(&json!({ "stopping": true }))
}

/// The start of a subscription.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Subscribe {
    /// Entries with a greater number are sent, if the journal still has them. Without it, only new ones are sent.
    since: Option<u64>,
}

async fn subscribe(
    daemon: Weak<Daemon>,
    cx: Context,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, RpcError> {
    let asked: Subscribe = parse(params)?;
    let (kept, mut next) = upgrade_daemon(&daemon)?.journal.subscribe(asked.since.unwrap_or(u64::MAX));
    tokio::spawn(async move {
        for entry in &kept {
            if send(&cx, entry).is_err() {
                return;
            }
        }
        loop {
            let entry = tokio::select! {
                entry = next.recv() => entry,
                () = cx.disconnected() => return,
            };
            match entry {
                Ok(entry) if send(&cx, &entry) == Err(NotifyError::Closed) => return,
                // Subscribers detect missed entries by gaps in the numbers.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
    result(&json!({}))
}

fn send(cx: &Context, entry: &Entry) -> Result<(), NotifyError> {
    cx.notify(ENTRY, &entry.json().map_err(|_| NotifyError::Closed)?)
}

fn upgrade_daemon(daemon: &Weak<Daemon>) -> Result<Arc<Daemon>, RpcError> {
    daemon.upgrade().ok_or_else(|| RpcError::new(INTERNAL, "the daemon is ending"))
}

fn parse<T: Default + for<'a> Deserialize<'a>>(params: Option<Box<RawValue>>) -> Result<T, RpcError> {
    params
        .map_or_else(|| Ok(T::default()), |params| serde_json::from_str(params.get()))
        .map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))
}

fn result(value: &impl serde::Serialize) -> Result<Box<RawValue>, RpcError> {
    to_raw_value(value).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}
