//! Questions to a warm language server: `find_callers` through a real front-end, compared with `references` sent
//! directly to another process of the same program, for the same functions in turns.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use taskkit::workspace::trust;
use testkit::Random;

use super::super::report::{Figure, Target};
use super::server::Server;
use super::{Bench, Samples};
use crate::client::{Client, text};
use crate::dependencies::{crate_alone, files, functions};

/// Number of functions.
const FUNCTIONS: usize = 100;
/// Timeout for loading a server.
const PATIENCE: Duration = Duration::from_secs(600);

/// A function with a unique name, and the name's position.
struct Function {
    name: String,
    file: PathBuf,
    line: usize,
    column: usize,
}

/// `bench` has an empty project.
pub(super) fn measure(bench: &Bench, path: &OsStr) -> Result<Vec<Figure>> {
    let root = bench.dir().canonicalize().context("the project is gone")?;
    let lines = crate_alone(&root)?;
    let functions = chosen(&root, bench.times(FUNCTIONS))?;
    println!("bench: code, rust-analyzer warm, {} functions of {lines} lines …", functions.len());
    trust(&mut bench.hob(&[]))?;
    let mut agent = Client::start(bench.hob(&["mcp", "code"]).env("PATH", path))?;
    let first = functions.first().context("there is no function to ask about")?;
    let until = Instant::now() + PATIENCE;
    while !ask(&mut agent, first)?.1 {
        if Instant::now() >= until {
            bail!("rust-analyzer is not ready after {PATIENCE:?}");
        }
    }
    let mut server = Server::rust_analyzer(&root, path)?;
    server.until_quiescent(PATIENCE)?;
    server.references(&first.file, first.line, first.column)?;
    let (mut ours, mut theirs, mut finals) = (Samples::default(), Samples::default(), 0);
    for function in &functions[1..] {
        let (took, is_final) = ask(&mut agent, function)?;
        ours.push(took);
        finals += usize::from(is_final);
        theirs.push(server.references(&function.file, function.line, function.column)?);
    }
    agent.finish()?;
    bench.stop()?;
    let ms = |samples: &Samples, percent| samples.percentile(percent) / 1000.0;
    let figure = |percent, target| Figure {
        what: format!("find_callers, rust-analyzer warm, p{percent}"),
        unit: "ms",
        value: ms(&ours, percent),
        floor: Some(("its references", ms(&theirs, percent))),
        target,
    };
    let most = 2.0 * ms(&theirs, 50) + 20.0;
    Ok(vec![
        figure(50, Some(Target::Max(most))),
        figure(90, None),
        Figure {
            what: "… of these answers, final".to_owned(),
            unit: "%",
            value: finals as f64 * 100.0 / (functions.len() - 1) as f64,
            floor: None,
            target: None,
        },
    ])
}

/// Measures an answer, and returns whether it is final.
fn ask(agent: &mut Client, function: &Function) -> Result<(Duration, bool)> {
    let begun = Instant::now();
    let result = agent.call("find_callers", json!({ "name": function.name, "wait_ms": 60_000 }))?;
    let took = begun.elapsed();
    if result["isError"] == true {
        bail!("find_callers {} was refused: {}", function.name, text(&result));
    }
    Ok((took, result["structuredContent"]["head"]["complete"] == true))
}

/// Chooses random functions of a crate whose names are defined once.
fn chosen(root: &Path, count: usize) -> Result<Vec<Function>> {
    let mut all: HashMap<String, Vec<Function>> = HashMap::new();
    for file in files(&root.join("src"), &["rs"])? {
        let source = std::fs::read_to_string(&file).with_context(|| format!("could not read {file:?}"))?;
        for (line, written) in source.lines().enumerate() {
            let found = functions(written).next().map(str::to_owned);
            if let Some((name, column)) = found.and_then(|name| Some((name.clone(), written.find(&name)?))) {
                let function = Function { name: name.clone(), file: file.clone(), line, column };
                all.entry(name).or_default().push(function);
            }
        }
    }
    let mut once: Vec<Function> = all.into_values().filter_map(|mut of| of.pop().filter(|_| of.is_empty())).collect();
    once.sort_by(|a, b| a.name.cmp(&b.name));
    let mut random = Random::new(20_261_127);
    let mut chosen = Vec::new();
    while chosen.len() <= count && !once.is_empty() {
        chosen.push(once.swap_remove(random.below(once.len())));
    }
    Ok(chosen)
}
