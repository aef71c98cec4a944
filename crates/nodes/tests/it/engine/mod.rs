//! Nodes on the offline engine: llama.cpp's server with a model that always outputs the shortest value that the decoder
//! allows.

mod classes;
mod keywords;
mod recorded;
mod valid;

use std::io::Write;
use std::path::PathBuf;

use nodes::engine::Engine;
use nodes::{Models, Node};
use process::Guard;
use serde_json::{Map, Value};

/// The venv of `cargo xtask setup`. `None` if it is missing, which is reported as skipped; CI must have it.
pub(crate) fn venv() -> Option<PathBuf> {
    let binary = std::env::current_exe().expect("a test has a binary");
    let target = binary.ancestors().nth(3).expect("target/debug/deps/it").to_owned();
    let venv = target.join("tools/llm");
    if venv.join("bin/python").is_file() {
        return Some(venv);
    }
    assert!(std::env::var_os("CI").is_none(), "the offline engine is not installed, and CI must have everything");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: the offline engine is not installed (`cargo xtask setup`)");
    None
}

pub(crate) async fn engine() -> Option<Engine> {
    let venv = venv()?;
    Some(Engine::start(&venv, Guard::Without).await.unwrap_or_else(|error| panic!("{error}")))
}

/// Builds a node with this output schema.
pub(crate) fn node(name: &str, front: &str, output: &Value) -> Result<Node, String> {
    let text = format!("---\ndescription: A node.\n{front}\noutput: {{ schema: {output} }}\n---\nSay it.\n");
    Node::parse(name, &text).map_err(|problems| problems.iter().map(|problem| format!("{problem}; ")).collect())
}

/// Returns the value or the kind of the failure, then the classes of the attempts.
pub(crate) async fn run(models: &Models, node: &Node) -> (Result<Value, String>, Vec<String>) {
    let (said, ledger) = match nodes::run(node, Map::new(), models).await {
        Ok(done) => (Ok(done.value), done.ledger),
        Err(failure) => (Err(format!("{:?}: {}", failure.kind, failure.why)), failure.ledger),
    };
    (said, ledger.attempts.iter().map(|attempt| format!("{:?}", attempt.class)).collect())
}
