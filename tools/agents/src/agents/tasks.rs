//! The script of the model: a series of tasks, each a call of one of hob's tools.

use serde_json::{Value, json};

/// The file that `reload` loads: four errors that GHC reports together.
pub(super) const FOUR_ERRORS: (&str, &str) = (
    "Four.hs",
    "module Four where\n\none :: Int\none = \"1\"\n\ntwo :: Bool\ntwo = 'b'\n\nthree :: String\nthree = ()\n\nfour :: Char\nfour = True\n",
);

/// A task of the script.
pub(super) struct Task {
    /// Its name in the tables.
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// True if the default listing omits its tool.
    pub(super) is_unlisted: bool,
}

pub(super) fn task(name: &'static str, tool: &'static str, arguments: Value) -> Task {
    Task { name, tool, arguments, is_unlisted: false }
}

/// The tasks, in order.
pub(super) fn tasks() -> Vec<Task> {
    let lines: Vec<String> = (1..=100).map(|line| format!("Line {line} of the report.")).collect();
    vec![
        task("start Python", "repl_start", json!({ "profile": "python" })),
        task("evaluate", "repl_eval", json!({ "code": "1+1" })),
        task("raise", "repl_eval", json!({ "code": "1/0" })),
        task("fail to compile", "repl_eval", json!({ "code": "def f(:" })),
        // hob's default limit.
        task("long output", "repl_eval", json!({ "code": "for i in range(1000): print(i, 'abcdefgh')" })),
        task("start GHCi", "repl_start", json!({ "profile": "ghci", "session": "hs" })),
        task("four errors", "repl_reload", json!({ "session": "hs", "targets": [FOUR_ERRORS.0] })),
        task("register", "register_agent", json!({ "name": "runner", "role": "dev" })),
        task("send 100 lines", "send_message", json!({ "to": "runner", "content": lines.join("\n") })),
        task("receive them", "check_messages", json!({})),
        task("send to nobody", "send_message", json!({ "to": "stranger", "content": "Hello." })),
        task("more tools", "more_tools", json!({ "toolset": "repl" })),
        Task { is_unlisted: true, ..task("one of them", "repl_list", json!({})) },
        // A session is a child process of its daemon.
        task("kill the daemon", "repl_eval", json!({ "code": "import os; os.kill(os.getppid(), 9)" })),
        task("evaluate again", "repl_eval", json!({ "code": "1+1" })),
        Task { is_unlisted: true, ..task("list again", "repl_list", json!({})) },
    ]
}

/// A turn of the model.
pub(super) struct Turn {
    /// The turn in the scripted model's format.
    pub(super) script: Value,
    /// The task; `None` if the model must first search for its tools.
    pub(super) task: Option<usize>,
}

/// Returns the model's turns. `search` is the call that loads the tools of these names.
pub(super) fn turns(
    tasks: &[Task],
    search: impl Fn(&[&str]) -> Option<Value>,
    call: fn(&str, &Value) -> Value,
) -> Vec<Turn> {
    let names = |is_unlisted| {
        let mut names: Vec<&str> =
            tasks.iter().filter(|task| task.is_unlisted == is_unlisted).map(|task| task.tool).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let searched = |is_unlisted| {
        let mut script = search(&names(is_unlisted))?;
        // Few tools are offered without a search.
        script["optional"] = true.into();
        Some(Turn { script, task: None })
    };
    let first_unlisted = tasks.iter().position(|task| task.is_unlisted);
    let mut turns: Vec<Turn> = searched(false).into_iter().collect();
    for (index, task) in tasks.iter().enumerate() {
        if first_unlisted == Some(index) {
            turns.extend(searched(true));
        }
        let mut script = call(task.tool, &task.arguments);
        // Some agents never learn that there are more tools.
        script["optional"] = task.is_unlisted.into();
        turns.push(Turn { script, task: Some(index) });
    }
    turns
}
