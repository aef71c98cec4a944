//! Measures the cost of a node compared with the bare request. Prints one `name<TAB>value` per line, in microseconds by default.
//! `cargo xtask bench nodes` runs this program with `--model URL`, a server that answers all requests at once and alike. It
//! compares each figure with its floor and its target.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodes::cassette::{Cassettes, Mode};
use nodes::folder::Folder;
use nodes::registry::Worktree;
use nodes::{Models, Node, RunContext};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

// The program prints its results.
#[allow(clippy::print_stdout)]
fn print_figure(name: &str, value: f64) {
    println!("{name}\t{value:.2}");
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let url = std::env::args().skip_while(|arg| arg != "--model").nth(1).expect("--model URL, as the task gives it");
    let times = |full: usize| if quick { full / 10 } else { full };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    calls(&runtime, &url, times(5_000));
    replays(&runtime, &url, times(10_000));
    loading(&runtime, times(10).max(3));
    saves(&runtime, times(200));
}

fn text(version: usize) -> String {
    format!(
        "---\ndescription: Rates a text, version {version}.\ninput: {{ schema: {{ text: string }} }}\noutput: {{ schema: {{ reason: string ..200, score: integer 1..5 }} }}\n---\n\
         {{% block system %}}You rate texts.{{% endblock %}}{{% block user %}}{{{{ text | data }}}}{{% endblock %}}\n"
    )
}

fn node() -> Node {
    Node::parse("rate", &text(0)).expect("valid")
}

fn input() -> Map<String, Value> {
    Map::from_iter([("text".to_owned(), Value::from("It rained all day, and the river rose."))])
}

/// Alternates node calls with requests of the same bytes over one kept connection.
fn calls(runtime: &Runtime, url: &str, times: usize) {
    let models = Models::at(url, "m").expect("an address");
    let node = node();
    let address = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let system =
        format!("You rate texts.\n\nAnswer with JSON alone that conforms to this JSON Schema: {}", node.output.json);
    let schema = json!({"name": "rate", "schema": node.output.json});
    let body = json!({
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "<data-0000000000000000>\nIt rained all day, and the river rose.\n</data-0000000000000000>"}],
        "max_tokens": 2000,
        "response_format": {"type": "json_schema", "json_schema": schema},
    })
    .to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    // All answers are equal, so the first gives the length.
    let mut answer = Vec::new();
    let mut first = TcpStream::connect(&address).expect("connected");
    first.write_all(request.as_bytes()).expect("written");
    first.shutdown(Shutdown::Write).expect("shut");
    first.read_to_end(&mut answer).expect("answered");
    let mut floor = TcpStream::connect(&address).expect("connected");
    floor.set_nodelay(true).expect("set");
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let begun = Instant::now();
        floor.write_all(request.as_bytes()).expect("written");
        floor.read_exact(&mut answer).expect("answered");
        bare.push(begun.elapsed());
        let begun = Instant::now();
        runtime.block_on(nodes::run(&node, input(), &models)).expect("a value");
        ours.push(begun.elapsed());
    }
    print_figure("bare request, p50", percentile(&mut bare, 50));
    print_figure("bare request, p99", percentile(&mut bare, 99));
    print_figure("call, p50", percentile(&mut ours, 50));
    print_figure("call, p99", percentile(&mut ours, 99));
}

/// Measures calls from a recording, and the memory that they leave allocated.
fn replays(runtime: &Runtime, url: &str, times: usize) {
    let models = Models::at(url, "m").expect("an address");
    let place = tempfile::tempdir().expect("a directory");
    let node = node();
    let folder = Folder::new(place.path(), "nodes");
    let call = |cassettes: &Cassettes| {
        let means = RunContext { cassettes: Some((cassettes, &folder)), ..RunContext::new(&models) };
        runtime.block_on(nodes::run_with(&node, input(), means)).expect("a value");
    };
    call(&Cassettes::new(Mode::Record));
    let replay = Cassettes::new(Mode::Replay);
    call(&replay);
    let before = resident();
    let mut taken = Vec::new();
    for _ in 0..times {
        let begun = Instant::now();
        call(&replay);
        taken.push(begun.elapsed());
    }
    print_figure("replayed call, p50", percentile(&mut taken, 50));
    print_figure("growth by replayed calls, MiB", (resident() - before).max(0.0));
}

/// Returns the resident memory in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN) / 1024.0
}

/// Measures loading five hundred files.
fn loading(runtime: &Runtime, times: usize) {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    for number in 0..500 {
        std::fs::write(folder.join(format!("n{number}.node.md")), text(number)).expect("written");
    }
    let mut taken = Vec::new();
    for _ in 0..times {
        let begun = Instant::now();
        let worktree = runtime.block_on(Worktree::follow(Folder::new(place.path(), "nodes"), Arc::new(|_| ())));
        taken.push(begun.elapsed());
        assert_eq!(worktree.served().entries.len(), 500);
    }
    print_figure("500 files loaded and checked", percentile(&mut taken, 50));
}

/// Measures the time from a save until the new version is available.
fn saves(runtime: &Runtime, times: usize) {
    let place = tempfile::tempdir().expect("a directory");
    let folder = place.path().join("nodes");
    std::fs::create_dir(&folder).expect("a directory");
    let mut taken = Vec::new();
    runtime.block_on(async {
        let worktree = Worktree::follow(Folder::new(place.path(), "nodes"), Arc::new(|_| ())).await;
        let mut changes = worktree.changes();
        for version in 0..times {
            let begun = Instant::now();
            std::fs::write(folder.join("rate.node.md"), text(version)).expect("written");
            let wanted = format!("Rates a text, version {version}.");
            loop {
                let served = worktree.served();
                let node = served.entries.get("rate").and_then(|entry| entry.node.as_ref());
                if node.is_some_and(|node| node.description == wanted) {
                    break;
                }
                tokio::time::timeout(Duration::from_secs(10), changes.changed())
                    .await
                    .expect("in time")
                    .expect("followed");
            }
            taken.push(begun.elapsed());
        }
    });
    print_figure("save to serving, p50", percentile(&mut taken, 50));
    print_figure("save to serving, p95", percentile(&mut taken, 95));
}

fn percentile(samples: &mut [Duration], percent: usize) -> f64 {
    samples.sort_unstable();
    let at = (samples.len() * percent / 100).min(samples.len() - 1);
    samples[at].as_secs_f64() * 1e6
}
