//! Input without an answer is logged, at most once a second.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::{ConnectionOptions, everything, serve_pieces};

/// Keeps warnings and errors, as their fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("mcp")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Fields(&mut line));
        self.0.lock().expect("no test panics in it").push(line);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // The id of a fault is random.
        if field.name() != "fault" {
            *self.0 += &format!(" {}={value:?}", field.name());
        }
    }
}

/// Returns the log of serving this input.
async fn logged(input: &str) -> Vec<String> {
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    serve_pieces(&everything(), vec![input.as_bytes().to_vec()], ConnectionOptions::default()).await;
    drop(guard);
    std::mem::take(&mut *log.0.lock().expect("no test panics in it"))
}

#[tokio::test(start_paused = true)]
async fn noise_is_logged_once_a_second() {
    let lines = logged(&"some noise\n".repeat(10_000)).await;
    assert_eq!(lines, [r#"WARN message=a line of input was ignored reason="not JSON" line=some noise unlogged=0"#]);
}

#[tokio::test(start_paused = true)]
async fn panics_and_faults_are_logged_with_what_the_client_is_not_told() {
    let call = |tool: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{}}}}}}\n"
        )
    };
    let lines = logged(&(call("panic") + &call("fail"))).await;
    assert_eq!(
        lines,
        [
            r#"ERROR message=a call panicked call="panic" panic="a tool gave up""#,
            r#"ERROR message=a call failed call="fail" chain="the secret disk is on fire""#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn answers_nobody_asked_for_are_logged() {
    let lines = logged(&"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n".repeat(10_000)).await;
    assert_eq!(lines, ["WARN message=the client answered a request that the server never sent id=Some(7) unlogged=0"]);
}

#[cfg(feature = "log-bridge")]
#[tokio::test(start_paused = true)]
async fn what_a_call_says_by_tracing_is_said_to_its_client() {
    use std::time::Duration;

    use serde_json::value::RawValue;
    use tracing_subscriber::layer::SubscriberExt;

    let bridge = tracing_subscriber::registry().with(crate::tool::LogBridge::new(Level::INFO));
    let _guard = tracing::subscriber::set_default(bridge);
    let server = everything().method("test/speak", |_, _| async {
        tracing::info!(target: "shop", apples = 3, fresh = true, "sold");
        tracing::debug!(target: "shop", "hardly worth it");
        tokio::time::sleep(Duration::from_secs(1)).await;
        tracing::error!(target: "shop", "closed");
        Ok(RawValue::from_string("{}".to_owned()).expect("JSON"))
    });
    tracing::warn!(target: "shop", "nobody called");
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test/speak\"}\n";
    let limits = super::super::Limits { grace: Duration::from_secs(5), ..Default::default() };
    let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
    let output = serve_pieces(&server, vec![input.as_bytes().to_vec()], options).await;
    let said: Vec<&str> = output.lines().collect();
    assert_eq!(
        said,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"shop","data":{"message":"sold","apples":3,"fresh":true}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"shop","data":{"message":"closed"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ]
    );
}
