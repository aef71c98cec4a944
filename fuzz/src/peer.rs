//! A client that sends any bytes to the server of the example `everything`, and checks the answers.

#[path = "../../crates/mcp/examples/everything/all.rs"]
#[allow(dead_code, unreachable_pub)]
mod all;

use std::time::Duration;

use mcp::server::{ConnectionOptions, End, Limits};
use mcp::tool::{Context, Effect, Progress, Tool, ToolError, tool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::owed_answers::OwedAnswers;

/// The longest line, short enough to be exceeded often.
const LINE: usize = 2_000;

/// Time is virtual: an hour passes immediately when no task can run, so this long means for ever.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Silences the panics that the example's tools and prompts raise on purpose; every other panic is a finding.
pub fn expect_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<&str>().copied().unwrap_or_default();
        if !["a tool gave up", "a job gave up", "a prompt gave up"].contains(&said) {
            report(panic);
        }
    }));
}

/// Sends these bytes, and checks the output until the server is done.
pub fn connection(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let pieces = super::pieces(data);
    // How many bytes the stream buffers: all, one, or a few.
    let buffer = [1 << 20, 1, 64, 4096][usize::from(first & 3)];
    // With only two calls at once, others wait.
    let running = if first & 4 == 0 { 64 } else { 2 };
    let limits = Limits { line: LINE, running, waiting: 8, batch: 8, ..Limits::default() };
    let hurry = first & 8 != 0;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let output = runtime.block_on(async {
        let server = all::server();
        // `print` runs another program, and `report` may be told to run for a very long time.
        server.registry().remove("print");
        server.registry().remove("report");
        server.registry().add(tool(Step)).expect("a legal tool");
        let (client, ours) = tokio::io::duplex(buffer);
        let (reader, writer) = tokio::io::split(ours);
        let serving = server.clone();
        let served = tokio::spawn(async move {
            let options = ConnectionOptions { limits, ..ConnectionOptions::default() };
            serving.serve(reader, writer, options).await
        });
        let (mut read, mut write) = tokio::io::split(client);
        let saying = async {
            for (settle, piece) in &pieces {
                if *settle {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                } else {
                    tokio::task::yield_now().await;
                }
                // The write fails if the server has ended, which the end of its output shows as well.
                let _ = write.write_all(piece).await;
            }
            if !hurry {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let _ = write.shutdown().await;
        };
        let mut output = Vec::new();
        let listening = async { read.read_to_end(&mut output).await.expect("the stream holds") };
        let all = async {
            tokio::join!(saying, listening);
            served.await.expect("serving does not panic")
        };
        let end = tokio::time::timeout(FOR_EVER, all).await.expect("it ends with its input");
        assert!(matches!(end, End::Input), "{end:?}");
        server.shutdown();
        output
    });
    let said: Vec<u8> = pieces.into_iter().flat_map(|(_, piece)| piece).collect();
    OwedAnswers::compute(&said, LINE).check(&output);
}

/// Says how far it is.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    /// How many steps.
    count: u8,
}

/// The tool `report`, with few steps.
struct Step;

impl Tool for Step {
    const NAME: &'static str = "report";
    const EFFECT: Effect = Effect::READ;
    const STRUCTURED: bool = false;
    type Args = Count;
    type Output = String;

    async fn call(&self, cx: Context, args: Count) -> Result<String, ToolError> {
        for step in 0..args.count % 8 {
            cx.progress(Progress { progress: step.into(), total: None, message: None });
            tokio::task::yield_now().await;
        }
        Ok("reported".to_owned())
    }

    fn text(output: &String) -> String {
        output.clone()
    }
}
