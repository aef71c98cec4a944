//! Runs the offline engine as a program: a model for a `hob.toml` without a key or a network. Prints the URL of its API, and exits
//! at the end of its input: `cargo run -p nodes --example offline_engine VENV`. `VENV` is a venv with the engine's package.

use std::io::Write;
use std::path::Path;

use nodes::engine::EngineThread;

fn main() -> std::io::Result<()> {
    let venv = std::env::args().nth(1).unwrap_or_else(|| ".hob/llm".to_owned());
    let engine = EngineThread::start(Path::new(&venv)).map_err(std::io::Error::other)?;
    writeln!(std::io::stdout(), "{}", engine.url())?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map(drop)
}
