//! What a server is started with: its program, its settings, what the client says of itself; and what it says on its standard
//! error.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use process::{Child, Nonce, Spec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::Start;
use crate::lsp::{Encoding, of_path, to_path};

const STDERR_LINES: usize = 8;
const STDERR_LINE: u64 = 400;

/// Starts the program as that session, with a directory for its temporary files.
pub(super) fn spawn(start: &Start, nonce: Nonce, scratch: &Path) -> Result<Child, String> {
    let command =
        command(start).map_err(|error| format!("copy what it reads to {}: {error}", start.own_dir.display()))?;
    let (program, args) = command.split_first().ok_or("its command is empty")?;
    let mut spec = Spec::new(program, &start.root).args(args).env(start.env.iter().map(|(name, value)| (name, value)));
    spec = spec.env([("TMPDIR", scratch)]);
    spec.nonce = nonce;
    spec.guard = start.guard.clone();
    spec.records = start.records.clone();
    spec.nice = NICE;
    spec.spawn().map_err(|error| error.to_string())
}

/// The program and its arguments, with what it reads copied to where they say.
fn command(start: &Start) -> std::io::Result<Vec<String>> {
    let profile = &start.profile;
    let has_copies = copy(start)?;
    let mut command = start.command.clone();
    if !has_copies && !profile.without_copies.is_empty() && start.command.get(1..) == profile.command.get(1..) {
        command.truncate(1);
        command.extend(profile.without_copies.iter().skip(1).cloned());
    }
    let own = start.own_dir.to_string_lossy();
    Ok(command.into_iter().map(|word| word.replace("{own}", &own)).collect())
}

/// Copies what the server reads beside what it writes; whether there is any.
pub(super) fn copy(start: &Start) -> std::io::Result<bool> {
    let there = start.profile.copies.iter().map(|name| start.root.join(name)).find(|file| file.is_file());
    let Some((from, name)) = there.as_deref().and_then(|from| Some((from, from.file_name()?))) else {
        return Ok(false);
    };
    std::fs::create_dir_all(&start.own_dir)?;
    std::fs::copy(from, start.own_dir.join(name))?;
    Ok(true)
}

/// A server yields to whoever waits for an answer.
const NICE: i32 = 5;

/// The settings of the profile, with its own directory in them.
pub(super) fn settings(start: &Start) -> serde_json::Map<String, Value> {
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
        _ => serde_json::Map::new(),
    }
}

/// What a client says of itself (LSP 3.17, "Initialize Request").
pub(super) fn initialize(start: &Start) -> Value {
    let uri = of_path(&start.root);
    let options = start.profile.options.as_ref().and_then(|section| settings(start).remove(section));
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
            },
            "experimental": {"serverStatusNotification": true},
        },
    })
}

/// `1.96.0 (abc 2026-01-01)` is 1.96.0; gopls says it as JSON, with the version of Go beside its own.
pub(super) fn short_version(version: &str) -> String {
    let built: Option<Value> = serde_json::from_str(version).ok();
    let own = built.as_ref().and_then(|built| built["Main"]["Version"].as_str());
    let version = match (own, &built) {
        (Some(own), _) => own,
        (None, Some(Value::Object(_))) => return String::new(),
        (None, _) => version,
    };
    version.split_whitespace().next().unwrap_or_default().chars().take(40).collect()
}

/// Keeps the last lines of the standard error, so that the pipe never fills.
pub(super) async fn keep_last(pipe: impl tokio::io::AsyncRead + Unpin, lines: Arc<Mutex<VecDeque<String>>>) {
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        match (&mut pipe).take(STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = project::visible(String::from_utf8_lossy(&line).trim_end());
        if line.is_empty() {
            continue;
        }
        let mut lines = lines.lock();
        lines.push_back(line);
        if lines.len() > STDERR_LINES {
            lines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_short() {
        assert_eq!(short_version("1.96.0 (abc 2026-01-01)"), "1.96.0");
        let gopls =
            r#"{"GoVersion":"go1.19.5","Path":"x","Main":{"Path":"golang.org/x/tools/gopls","Version":"v0.11.0"}}"#;
        assert_eq!(short_version(gopls), "v0.11.0");
    }
}
