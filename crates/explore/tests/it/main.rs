//! The tools on real folders, with syntax alone; `crates/hob/tests/it/explore.rs` has a language server.

#![allow(clippy::unwrap_used)]

mod faults;
mod proof;
mod rubric;
mod wrong_use;

use std::path::Path;
use std::sync::Arc;

use code::tools::Questions;
use explore::tools::{Compiling, Sources, tools};
use mcp::tool::{Context, ToolError};
use project::Caller;
use serde_json::Value;
use serde_json::value::RawValue;

/// A folder with sources.
pub(crate) struct Worktree(tempfile::TempDir);

impl Worktree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Worktree {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Worktree(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Calls a tool. Returns its structured result, with its text as `shown`; `Err` with its error.
    pub(crate) fn ask(&self, name: &str, arguments: Value) -> Result<Value, String> {
        self.ask_with(Questions::new(), name, arguments)
    }

    /// Calls a tool with the shared state of earlier calls.
    pub(crate) fn ask_with(&self, questions: Arc<Questions>, name: &str, arguments: Value) -> Result<Value, String> {
        let code = Box::new(move || Some(questions.clone()));
        // Diffs are tested with git, in `crates/hob/tests/it/explore.rs`.
        let compiling = Compiling {
            directory: self.0.path().with_extension("scratch"),
            guard: process::Guard::Without,
            trusts: Box::new(|_| true),
            running: tokio::sync::Mutex::new(()),
        };
        let sources = Arc::new(Sources {
            code,
            diff: Box::new(|_, _| Box::pin(async { Err("no git here".to_owned()) })),
            compiling: Some(compiling),
            // Models are tested with a server, in `crates/hob/tests/it/explore_models.rs`.
            model: Box::new(|_, _, _| Box::pin(async { Ok(None) })),
            tokens: 0,
            records: self.0.path().with_extension("records"),
        });
        let tool = tools(&sources).into_iter().find(|tool| tool.declaration().name == name).unwrap();
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let caller = Caller { env: std::env::vars().collect(), ..testkit::caller(self.path(), "") };
        match runtime.block_on(tool.call(Context::detached(Arc::new(caller)), Some(&arguments))) {
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
