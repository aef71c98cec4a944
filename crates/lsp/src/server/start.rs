//! Start of a server: its program, its settings, the client's capabilities, and its standard error.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use process::{Bounds, Child, Spec};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::Start;
use crate::{Encoding, of_path, to_path};
use process::programs;

const STDERR_LINES: usize = 8;
const STDERR_LINE: u64 = 400;

/// Creates an empty directory for temporary files. A daemon that was killed leaves such files.
pub(super) async fn make_scratch(scratch: &Path) -> std::io::Result<()> {
    remove_scratch(scratch).await;
    DirBuilder::new().recursive(true).mode(0o700).create(scratch)
}

/// Removes the directory for temporary files.
pub(super) async fn remove_scratch(scratch: &Path) {
    let path = scratch.to_owned();
    // One that cannot be removed now is removed at the next start.
    let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(path)).await;
}

pub(super) fn spawn(start: &Start, has_copies: bool) -> Result<Child, String> {
    let command = command(start, has_copies);
    let (program, args) = command.split_first().ok_or("its command is empty")?;
    let mut spec = Spec::new(program, &start.root).args(args).env(start.env.iter().map(|(name, value)| (name, value)));
    spec = spec.env([("TMPDIR", &start.scratch)]);
    spec.guard = start.guard.clone();
    spec.records = start.records.clone();
    spec.nice = NICE;
    spec.spawn().map_err(|error| error.to_string())
}

/// Returns the program and its arguments, with the copied files substituted.
fn command(start: &Start, has_copies: bool) -> Vec<String> {
    let profile = &start.profile;
    let mut command = start.command.clone();
    if !has_copies && !profile.without_copies.is_empty() && start.command.get(1..) == profile.command.get(1..) {
        command.truncate(1);
        command.extend(profile.without_copies.iter().skip(1).cloned());
    }
    let own = start.own_dir.to_string_lossy();
    command.into_iter().map(|word| word.replace("{own}", &own)).collect()
}

/// Copies the profile's files into the private directory. Returns true if there are any.
pub(super) async fn copied(start: &Start) -> Result<bool, String> {
    let (start, place) = (start.clone(), start.own_dir.display().to_string());
    let copied = tokio::task::spawn_blocking(move || copy(&start));
    let copied = tokio::time::timeout(COPIED_WITHIN, copied).await;
    let problem = match copied {
        Ok(Ok(Ok(copied))) => return Ok(copied),
        Ok(Ok(Err(problem))) => problem.to_string(),
        Ok(Err(_)) | Err(_) => format!("it takes longer than {COPIED_WITHIN:?}"),
    };
    Err(format!("cannot copy its input to {place}: {problem}"))
}

/// Timeout of copying, and maximum size of such a file.
const COPIED_WITHIN: Duration = Duration::from_secs(10);
const MOST_COPIED: u64 = 256 << 20;

fn copy(start: &Start) -> std::io::Result<bool> {
    let there = start.profile.copies.iter().map(|name| start.root.join(name)).find(|file| file.is_file());
    let Some((from, name)) = there.as_deref().and_then(|from| Some((from, from.file_name()?))) else {
        return Ok(false);
    };
    let refused = |what: String| std::io::Error::other(format!("{} {what}", project::visible::path(from)));
    // A build directory outside the checkout is linked under the same name. Any other file is not the server's.
    let real = from.canonicalize()?;
    if real.file_name() != Some(name) {
        return Err(refused(format!(
            "is a link to {}, which has another name: link or copy the file itself",
            real.display()
        )));
    }
    let file = project::regular::open(&real)?;
    let most = MOST_COPIED;
    if file.metadata()?.len() > most {
        return Err(refused(format!("is larger than {} MiB", most >> 20)));
    }
    std::fs::create_dir_all(&start.own_dir)?;
    let mut copy = std::fs::File::create(start.own_dir.join(name))?;
    std::io::copy(&mut file.take(most), &mut copy)?;
    Ok(true)
}

/// Niceness of a server: interactive programs go first.
const NICE: i32 = 5;

/// Returns the settings of the profile with the private directory substituted.
fn settings(start: &Start) -> Map<String, Value> {
    fn fill(value: &mut Value, state: &str) {
        match value {
            Value::String(text) => *text = text.replace("{state}", state),
            Value::Array(all) => all.iter_mut().for_each(|one| fill(one, state)),
            Value::Object(fields) => fields.values_mut().for_each(|one| fill(one, state)),
            _ => {}
        }
    }
    let mut settings = Value::Object(start.profile.settings.clone());
    fill(&mut settings, &start.state_dir.to_string_lossy());
    match settings {
        Value::Object(settings) => settings,
        _ => Map::new(),
    }
}

/// Timeout of the check command for wider settings.
const WIDER_WITHIN: Duration = Duration::from_secs(10);
const WIDER_OUTPUT: usize = 4 * 1024 * 1024;

/// Returns the settings, including the wider ones if the profile has them and its check command succeeds.
pub(super) async fn widened(start: &Start) -> Map<String, Value> {
    let mut settings = settings(start);
    let Some(wider) = &start.profile.wider else { return settings };
    let Some((program, args)) = wider.if_succeeds.split_first() else { return settings };
    let path = start.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path);
    let places = programs::program_paths(program, path, &start.worktree);
    let Some(program) = places.into_iter().find(|program| programs::is_executable(program)) else { return settings };
    let mut spec = Spec::new(program, &start.root).args(args).env(start.env.iter().map(|(name, value)| (name, value)));
    spec.nice = NICE;
    let bounds = Bounds { deadline: WIDER_WITHIN, stdout: WIDER_OUTPUT, stderr: 4096 };
    if spec.answer(bounds).await.is_ok_and(|answer| answer.exit.success()) {
        join(&mut settings, wider.settings.clone());
    }
    settings
}

/// Merges two trees of settings. The second takes precedence.
fn join(settings: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (settings.get_mut(&name), value) {
            (Some(Value::Object(there)), Value::Object(value)) => join(there, value),
            (_, value) => _ = settings.insert(name, value),
        }
    }
}

/// Builds the parameters of `initialize` (LSP 3.17, "Initialize Request").
pub(super) fn initialize(start: &Start, settings: &Map<String, Value>) -> Value {
    let uri = of_path(&start.root);
    let options = start.profile.options.as_ref().and_then(|section| settings.get(section));
    json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "hob", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": uri,
        "rootPath": to_path(&uri),
        "workspaceFolders": [{"uri": uri, "name": "root"}],
        "initializationOptions": options,
        "capabilities": {
            "general": {"positionEncodings": Encoding::OFFERED},
            "window": {"workDoneProgress": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
            },
            "textDocument": {
                "synchronization": {"dynamicRegistration": false},
                "definition": {"linkSupport": true},
                "references": {},
                // A clangd extension: the parts of an open file that are not compiled.
                "inactiveRegionsCapabilities": {"inactiveRegions": true},
            },
            "experimental": {"serverStatusNotification": true},
        },
    })
}

/// Shortens a version: `1.96.0 (abc 2026-01-01)` gives 1.96.0, `clangd version 22.1.1 linux` gives 22.1.1. gopls prints
/// its build as JSON; a distribution's build contains only the version of Go.
pub(super) fn short_version(said: &str) -> String {
    let version = match serde_json::from_str(said) {
        Ok(Value::Object(built)) => {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
            match text(built.get("Main").and_then(|main| main.get("Version"))) {
                own if !own.is_empty() => own,
                _ => match (text(built.get("Version")), text(built.get("GoVersion"))) {
                    (version, go) if !go.is_empty() => format!("{version} ({go})"),
                    (version, _) => version,
                },
            }
        }
        _ => {
            let is_number = |word: &&str| word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
            let words = || said.split_whitespace();
            words().find(is_number).or_else(|| words().next()).unwrap_or_default().to_owned()
        }
    };
    project::visible(version.trim()).chars().take(40).collect()
}

/// Keeps the last lines of standard error, so that the pipe never fills. Stack frames are dropped: they follow the
/// actual message and would displace it.
pub(super) async fn keep_last(pipe: impl tokio::io::AsyncRead + Unpin, lines: Arc<Mutex<VecDeque<String>>>) {
    let mut pipe = BufReader::new(pipe);
    // A long line arrives in parts.
    let mut in_frame = false;
    loop {
        let mut line = Vec::new();
        match (&mut pipe).take(STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let is_left_out = in_frame || is_frame(text.trim_end());
        in_frame = is_left_out && !line.ends_with(b"\n");
        let line = project::visible(text.trim_end());
        if line.is_empty() || is_left_out {
            continue;
        }
        let mut lines = lines.lock();
        lines.push_back(line);
        if lines.len() > STDERR_LINES {
            lines.pop_front();
        }
    }
}

/// True for a line that looks like a part of a stack trace, as printed by Rust, LLVM, glibc, Node and Go.
fn is_frame(line: &str) -> bool {
    let has_begin = FRAMES.split('|').any(|begin| line.starts_with(begin));
    has_begin || line.starts_with([' ', '\t']) || line.contains("0x")
}

/// The beginnings of such lines, separated by bars.
const FRAMES: &str = "#|0.\t|stack backtrace:|Stack dump|PLEASE submit a bug report|goroutine |created by |note: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_short() {
        assert_eq!(short_version("1.96.0 (abc 2026-01-01)"), "1.96.0");
        let gopls =
            r#"{"GoVersion":"go1.19.5","Path":"x","Main":{"Path":"golang.org/x/tools/gopls","Version":"v0.11.0"}}"#;
        assert_eq!(short_version(gopls), "v0.11.0");
        let of_a_distribution = r#"{"GoVersion":"go1.19.5","Main":{"Version":"","Sum":""},"Version":"master"}"#;
        assert_eq!(short_version(of_a_distribution), "master (go1.19.5)");
        assert_eq!(short_version("clangd version 22.1.1 linux x86_64-unknown-linux-gnu"), "22.1.1");
        assert_eq!(short_version("Debian clangd version 14.0.6"), "14.0.6");
        assert_eq!((short_version("nightly"), short_version("{}")), ("nightly".to_owned(), String::new()));
    }

    #[tokio::test]
    async fn what_happened_is_kept_and_not_the_frames_of_the_stack() {
        let kept = async |said: &str| {
            let lines = Arc::default();
            keep_last(said.as_bytes(), Arc::clone(&lines)).await;
            let lines: Vec<String> = lines.lock().iter().cloned().collect();
            lines
        };
        let frames = |one: &str| (0..20).map(|number| one.replace('N', &number.to_string())).collect::<String>();
        let rust = "INFO started\n\nthread 'main' panicked at src/db.rs:3:5:\nno such file\nstack backtrace:\n";
        let rust = format!(
            "{rust}{}note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n",
            frames("   N: core::panicking::panic_fmt\n             at /rustc/library/core/src/panicking.rs:N:14\n")
        );
        assert_eq!(kept(&rust).await, ["INFO started", "thread 'main' panicked at src/db.rs:3:5:", "no such file"]);
        let long = format!(" #N 0x00005566778899aa clang::{}(clang::Sema&) (/usr/bin/clangd+0x1ff)\n", "x".repeat(900));
        let clangd = format!(
            "clangd: Assertion `x' failed.\nPLEASE submit a bug report to https://x\nStack dump:\n0.\tProgram arguments: clangd\n{}\
             /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f12]\nclangd(_ZN4llvm3sysE+0x1f)[0x55]\n",
            frames(&long)
        );
        assert_eq!(kept(&clangd).await, ["clangd: Assertion `x' failed."]);
        let go = "panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\n\
                  golang.org/x/tools/gopls/internal/lsp.(*Server).Run(0xc0001, 0x2)\n\t/go/src/server.go:12 +0x1d\n\
                  main.main()\n\t/go/main.go:3 +0x2a\nexit status 2\n";
        let said = kept(go).await;
        assert_eq!(said, ["panic: runtime error: index out of range [3]", "main.main()", "exit status 2"]);
        let node = "TypeError: x is not a function\n    at run (/x/tsc.js:1:2)\n    at node:internal/main:3:4\n";
        assert_eq!(kept(node).await, ["TypeError: x is not a function"]);
        let others = "error: 3: no\n12 files read\nTraceback:\n  File \"a.py\", line 3, in <module>\nKeyError: 1\n";
        assert_eq!(kept(others).await, ["error: 3: no", "12 files read", "Traceback:", "KeyError: 1"]);
    }
}
