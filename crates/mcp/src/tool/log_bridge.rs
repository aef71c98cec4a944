//! A layer for a `tracing` subscriber that sends the events of a call to its client as log messages. An event belongs
//! to the call whose future is being polled; events outside of calls go to no client.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::{LogLevel, Peer};

/// True if there is a layer. Without one, calls are not wrapped.
static ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The peer of the call that this thread is polling.
    static LISTENER: RefCell<Option<Arc<dyn Peer>>> = const { RefCell::new(None) };
}

/// A layer that sends the `tracing` events of calls to their clients, if these want their level: the log level of the
/// connection, or of the request (2026-07-28). The message and the fields are the data, the target is the logger.
///
/// Events of this library itself are not sent, and neither are those below `level`.
///
/// ```
/// use mcp::tool::LogBridge;
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(LogBridge::new(tracing::Level::INFO));
/// // tracing::subscriber::set_global_default(subscriber)?;
/// ```
#[derive(Debug)]
pub struct LogBridge {
    level: Level,
}

impl LogBridge {
    /// Returns a bridge for events of this level and above.
    pub fn new(level: Level) -> LogBridge {
        ON.store(true, Ordering::Relaxed);
        LogBridge { level }
    }
}

/// Runs a function whose events go to this peer.
pub(crate) fn with_listener<T>(peer: &Arc<dyn Peer>, run: impl FnOnce() -> T) -> T {
    struct Restore(Option<Arc<dyn Peer>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let former = self.0.take();
            LISTENER.with(|listener| listener.replace(former));
        }
    }
    let _restore = Restore(LISTENER.with(|listener| listener.replace(Some(peer.clone()))));
    run()
}

/// Returns true if there is a layer at all.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

impl<S: Subscriber> Layer<S> for LogBridge {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() > self.level || metadata.target().starts_with(concat!(env!("CARGO_PKG_NAME"), "::")) {
            return;
        }
        // Taken for the duration: events of the sending itself must not be sent.
        let Some(peer) = LISTENER.with(|listener| listener.take()) else { return };
        let mut said = EventFields::default();
        event.record(&mut said);
        if let Ok(data) = serde_json::value::to_raw_value(&said.0) {
            peer.log(severity(*metadata.level()), metadata.target(), data);
        }
        LISTENER.with(|listener| listener.replace(Some(peer)));
    }
}

fn severity(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        _ => LogLevel::Debug,
    }
}

/// An event's fields.
#[derive(Default)]
struct EventFields(Map<String, Value>);

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}
