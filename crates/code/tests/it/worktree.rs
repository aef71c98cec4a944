//! A worktree with files, and calls of the tools on it.

use std::path::Path;
use std::sync::Arc;

use code::tools::Questions;
use mcp::tool::{AnyTool, Context, Outcome, ToolError};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::expanded_results::expanded;

/// Every class of a use.
pub(crate) fn every_class() -> Vec<&'static str> {
    code::Class::ALL.iter().map(|class| class.word()).collect()
}

/// Returns the texts of an answer's reasons with this code.
pub(crate) fn reasons(answer: &Value, code: &str) -> Vec<String> {
    let all = answer["head"]["reasons"].as_array().unwrap().iter();
    all.filter(|reason| reason["code"] == code).map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

pub(crate) struct Worktree(tempfile::TempDir);

impl Worktree {
    pub(crate) fn new() -> Worktree {
        Worktree(tempfile::tempdir().unwrap())
    }

    pub(crate) fn from_files(files: &[(&str, &str)]) -> Worktree {
        let worktree = Worktree::new();
        for (path, text) in files {
            worktree.write(path, text);
        }
        worktree
    }

    /// A worktree inside a folder.
    pub(crate) fn in_folder(folder: &Path) -> Worktree {
        Worktree(tempfile::tempdir_in(folder).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Worktree {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes files from one text, in which each begins with a line `--- PATH`.
    pub(crate) fn write_files(&self, text: &str) -> &Worktree {
        let mut files: Vec<(&str, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            match line.strip_prefix("--- ") {
                Some(path) => files.push((path.trim_end(), String::new())),
                None => files.last_mut().unwrap().1.push_str(line),
            }
        }
        for (path, text) in files {
            self.write(path, text);
        }
        self
    }

    /// Returns the paths of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut open = vec![self.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path)
                } else {
                    files.push(path.strip_prefix(self.path()).unwrap().display().to_string())
                }
            }
        }
        files.sort();
        files
    }

    /// Calls a tool of a list. Returns its structured result and text; `Err` with its error.
    pub(crate) fn ask_of(
        &self,
        tools: &[Arc<dyn AnyTool>],
        name: &str,
        arguments: Value,
    ) -> Result<(Value, String), String> {
        self.ask_as(testkit::caller(self.path(), ""), tools, name, arguments)
    }

    /// The same from a shell in a folder.
    pub(crate) fn ask_in(&self, folder: &str, name: &str, arguments: Value) -> Result<(Value, String), String> {
        let caller = testkit::caller(self.path(), "");
        let caller = project::Caller { cwd: self.path().join(folder), role: project::Role::Control, ..caller };
        self.ask_as(caller, &code::tools::tools(&Questions::new()), name, arguments)
    }

    fn ask_as(
        &self,
        caller: project::Caller,
        tools: &[Arc<dyn AnyTool>],
        name: &str,
        arguments: Value,
    ) -> Result<(Value, String), String> {
        let tool = tools.iter().find(|tool| tool.declaration().name == name).unwrap().clone();
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let outcome = runtime.block_on(tool.call(Context::detached(Arc::new(caller)), Some(&arguments)));
        outcome_parts(name, outcome)
    }

    /// Calls a tool of the toolset.
    pub(crate) fn ask(&self, name: &str, arguments: Value) -> Result<(Value, String), String> {
        self.ask_of(&code::tools::tools(&Questions::new()), name, arguments)
    }

    /// Returns its structured result.
    pub(crate) fn result(&self, name: &str, arguments: Value) -> Value {
        self.ask(name, arguments).unwrap().0
    }
}

/// Calls this tool. Returns its structured result and text; `Err` with its error.
pub(crate) fn outcome_parts(name: &str, outcome: Result<Outcome, ToolError>) -> Result<(Value, String), String> {
    match outcome {
        Ok(outcome) if outcome.is_error => Err(outcome.content[0].as_text().unwrap().to_owned()),
        Ok(outcome) => {
            let structured: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
            Ok((expanded(structured), outcome.content[0].as_text().unwrap().to_owned()))
        }
        Err(ToolError::User { message, .. }) => Err(message),
        Err(error) => panic!("{name}: {error}"),
    }
}
