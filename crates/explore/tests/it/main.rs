//! The tools on real folders: with syntax alone, with language servers (`servers`), with models (`models`) and with diffs
//! (`diffs`). `crates/hob/tests/it` has git, a model's server and grants.

#![allow(clippy::unwrap_used)]

mod diffs;
mod faults;
mod models;
mod proof;
mod rubric;
mod servers;
mod wrong_use;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use code::tools::Questions;
use explore::tools::{Compiling, Diff, LineRange, ModelNode, Sources, tools};
use mcp::tool::{Context, ToolError};
use project::Caller;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::Runtime;

/// A folder with sources.
pub(crate) struct Worktree {
    folder: tempfile::TempDir,
    /// All calls share it, because language servers belong to it.
    runtime: Runtime,
}

/// The means of other parts that a call uses.
pub(crate) struct Dependencies {
    pub questions: Arc<Questions>,
    /// The model, or why it cannot be used.
    pub model: Result<Option<Arc<dyn ModelNode>>, String>,
    pub tokens: u64,
    /// The changed lines of a diff, and the names that it removes.
    pub diff: (Vec<LineRange>, Vec<String>),
    pub asked_env: BTreeMap<String, String>,
}

impl Default for Dependencies {
    fn default() -> Dependencies {
        let questions = Questions::new();
        Dependencies {
            questions,
            model: Ok(None),
            tokens: 100_000,
            diff: Default::default(),
            asked_env: BTreeMap::new(),
        }
    }
}

impl Worktree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Worktree {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let worktree = Worktree { folder, runtime };
        files.iter().for_each(|(path, text)| worktree.write(path, text));
        worktree
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Calls a tool. Returns its structured result, with its text as `shown`; `Err` with its error.
    pub(crate) fn ask(&self, name: &str, arguments: Value) -> Result<Value, String> {
        self.ask_with(Questions::new(), name, arguments)
    }

    /// Calls a tool with the shared state of earlier calls.
    pub(crate) fn ask_with(&self, questions: Arc<Questions>, name: &str, arguments: Value) -> Result<Value, String> {
        self.ask_by(&Dependencies { questions, ..Dependencies::default() }, name, arguments)
    }

    pub(crate) fn sources(&self, dependencies: &Dependencies) -> Arc<Sources> {
        let (questions, model, diff) =
            (dependencies.questions.clone(), dependencies.model.clone(), dependencies.diff.clone());
        let compiling = Compiling {
            directory: self.path().with_extension("scratch"),
            guard: process::Guard::Without,
            trusts: Box::new(|_| true),
            running: tokio::sync::Mutex::new(()),
        };
        Arc::new(Sources {
            code: Box::new(move || Some(questions.clone())),
            diff: Box::new(move |_, _| {
                let (lines, removed) = diff.clone();
                Box::pin(async move { Ok(Diff { lines, removed }) })
            }),
            compiling: Some(compiling),
            model: Box::new(move |_, _, _| {
                let model = model.clone();
                Box::pin(async move { model })
            }),
            tokens: dependencies.tokens,
            records: self.path().with_extension("records"),
        })
    }

    pub(crate) fn context(&self, dependencies: &Dependencies) -> Context {
        let asked_env = dependencies.asked_env.clone();
        let caller = Caller { env: std::env::vars().collect(), asked_env, ..testkit::caller(self.path(), "") };
        Context::detached(Arc::new(caller))
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Calls a tool with these means of other parts.
    pub(crate) fn ask_by(&self, dependencies: &Dependencies, name: &str, arguments: Value) -> Result<Value, String> {
        let all = tools(&self.sources(dependencies));
        let tool = all.into_iter().find(|tool| tool.declaration().name == name).unwrap();
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        match self.block_on(tool.call(self.context(dependencies), Some(&arguments))) {
            Ok(outcome) if outcome.is_error => Err(outcome.content[0].as_text().unwrap().to_owned()),
            Ok(outcome) => {
                let mut found: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
                found["shown"] = outcome.content[0].as_text().into();
                Ok(found)
            }
            Err(ToolError::User { message, .. }) => Err(message),
            Err(error) => panic!("{name}: {error}"),
        }
    }

    pub(crate) fn result(&self, name: &str, arguments: Value) -> Value {
        self.ask(name, arguments).unwrap()
    }
}

/// Returns a field of all entries of a list.
pub(crate) fn all<'a>(list: &'a Value, pointer: &str) -> Vec<&'a str> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|one| one.pointer(pointer).and_then(Value::as_str).unwrap()).collect()
}

/// Returns the places of the pointers that fit.
pub(crate) fn places(found: &Value, fits: impl Fn(&Value) -> bool) -> Vec<&str> {
    let pointers = found["pointers"].as_array().unwrap().iter().filter(|one| fits(one));
    pointers.map(|one| one["location"].as_str().unwrap()).collect()
}

/// A small crate about shapes.
pub(crate) const SHAPES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"shapes\"\nedition = \"2024\"\n"),
    (
        "src/lib.rs",
        "pub mod geo;\nuse geo::{Circle, Shape};\n\
         /// The sum of all areas.\npub fn total(shapes: &[Shape]) -> f64 { shapes.iter().map(geo::area).sum() }\n\
         pub fn unit() -> Shape { Shape::Round(Circle { radius: 1.0 }) }\n\
         // A case for Shape stands in this comment.\n\
         pub const TEXT: &str = \"match Shape { case => 1 }\";\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn total_of_one() { assert!(super::total(&[super::unit()]) > 3.0); }\n}\n",
    ),
    (
        "src/geo.rs",
        "/// A round shape.\npub struct Circle { pub radius: f64 }\n\
         impl Circle {\n    /// Returns the area of a circle.\n    pub fn area(&self) -> f64 { square(self.radius) * 3.0 }\n}\n\
         pub enum Shape { Round(Circle), Empty }\n\
         pub fn area(shape: &Shape) -> f64 {\n    match shape {\n        Shape::Round(circle) => circle.area(),\n        Shape::Empty => 0.0,\n    }\n}\n\
         fn square(side: f64) -> f64 { side * side }\n",
    ),
    ("README.md", "# Shapes\n\nA Shape is round or empty.\n"),
];
