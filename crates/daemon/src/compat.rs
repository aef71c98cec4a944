//! Support for programs written for Tidepool's control server: its four messages as the first line of a connection,
//! each answered in its form, and its socket path if `compat.tidepool` is set.
//!
//! A connection carries one message and one answer, then closes. Where that server answered "allow", which disabled the
//! agent's own prompts, this answers without a decision: only a rule allows.

use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp::server::ConnectionOptions;
use project::{Caller, Hello, Results};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::daemon::Daemon;

/// The profile with that server's tools.
const PROFILE: &str = "tidepool";
/// The directories of its socket, below the project's root.
const DIRECTORIES: [&str; 2] = [".tidepool", "sockets"];
const FILE: &str = "control.sock";
/// Its clients' timeout, less a margin for the transfer.
const WITHIN: Duration = Duration::from_secs(29);
/// The JSON-RPC code for an internal error.
const FAILED: i64 = -32603;

/// A message of that server's clients.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Message {
    Ping,
    ToolsListRequest,
    #[serde(rename = "MCPToolCall")]
    ToolCall {
        id: String,
        tool_name: String,
        #[serde(default)]
        arguments: Value,
    },
    HookEvent {
        input: Value,
        #[serde(default)]
        runtime: Option<String>,
    },
}

impl Message {
    /// Parses a line as a message.
    pub(crate) fn parse(line: &[u8]) -> Option<Message> {
        serde_json::from_slice(line).ok()
    }

    /// Answers the message. The answer ends with a newline.
    pub(crate) async fn answer(self, daemon: &Arc<Daemon>, pid: u32) -> Vec<u8> {
        let answer = match self {
            Message::Ping => json!({"type": "Pong"}),
            Message::ToolsListRequest => {
                let listed = request(daemon, pid, None, "tools/list", &json!({})).await;
                let tools: Vec<Value> = listed
                    .ok()
                    .and_then(|mut listed| listed["tools"].as_array_mut().map(std::mem::take))
                    .unwrap_or_default()
                    .iter()
                    .map(|tool| {
                        json!({
                            "tdName": tool["name"],
                            "tdDescription": tool["description"],
                            "tdInputSchema": tool["inputSchema"],
                        })
                    })
                    .collect();
                json!({"type": "ToolsListResponse", "tools": tools})
            }
            Message::ToolCall { id, tool_name, arguments } => {
                let arguments = if arguments.is_object() { arguments } else { json!({}) };
                let params = json!({"name": tool_name, "arguments": arguments});
                let (result, error) = match request(daemon, pid, None, "tools/call", &params).await {
                    Ok(result) if result["isError"] == true => (Value::Null, fault(text(&result))),
                    Ok(mut result) => match result["structuredContent"].take() {
                        Value::Null => (text(&result).into(), Value::Null),
                        structured => (structured, Value::Null),
                    },
                    Err(error) => (Value::Null, error),
                };
                json!({"type": "MCPToolResponse", "id": id, "result": result, "error": error})
            }
            Message::HookEvent { input, runtime } => {
                let agent = if runtime.as_deref() == Some("gemini") { "gemini" } else { "claude" };
                let named = input["hook_event_name"].as_str().unwrap_or_default().to_owned();
                let cwd = input["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
                let within = u64::try_from(WITHIN.as_millis()).unwrap_or(u64::MAX);
                let params = json!({"agent": agent, "event": named, "raw": input.to_string(), "within_ms": within});
                let answered = request(daemon, pid, cwd.as_deref(), "hook", &params).await.unwrap_or_default();
                let said = answered["stdout"].as_str().and_then(|said| serde_json::from_str::<Value>(said).ok());
                // Its clients print this verbatim: an object without text changes nothing.
                let mut output = said.unwrap_or_else(|| json!({}));
                if let Some(reason) = answered["stderr"].as_str().filter(|reason| !reason.is_empty()) {
                    output["systemMessage"] = reason.trim().into();
                }
                json!({"type": "HookResponse", "output": output, "exit_code": answered["exit"].as_u64().unwrap_or(0)})
            }
        };
        format!("{answer}\n").into_bytes()
    }
}

/// A JSON-RPC error.
#[derive(Serialize)]
struct Fault {
    code: i64,
    message: String,
}

fn fault(message: String) -> Value {
    json!(Fault { code: FAILED, message })
}

/// Returns the text of a result, for people.
fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Handles a request like one from the command line, within this process.
async fn request(
    daemon: &Arc<Daemon>,
    pid: u32,
    cwd: Option<&Path>,
    method: &str,
    params: &Value,
) -> Result<Value, Value> {
    let of_process = || system::working_directory(pid.cast_signed());
    let cwd = cwd.map(Path::to_owned).or_else(of_process).unwrap_or_else(|| daemon.project.root().to_owned());
    let hello = Hello {
        profile: (method != "hook").then(|| PROFILE.to_owned()),
        results: Some(Results::Both),
        ..Hello::brief(&daemon.project, &cwd)
    };
    let caller = Caller::new(&daemon.project, &hello, daemon.connections.next_number(), pid);
    let served = daemon.parts.server(&hello, &caller.worktree, |server| server).await;
    let server = served.map_err(|error| fault(error.to_string()))?.server;
    let options = ConnectionOptions {
        caller: Arc::new(caller),
        limits: daemon.connection_limits(),
        result_form: crate::clients::result_form(&hello, daemon.config.results),
        ..ConnectionOptions::default()
    };
    let (mut stream, served) = mcp::transport::memory::connect(&server, options);
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answered = async {
        stream.write_all(format!("{line}\n").as_bytes()).await?;
        let mut lines = BufReader::new(&mut stream).lines();
        while let Some(line) = lines.next_line().await? {
            let mut message: Value = serde_json::from_str(&line).map_err(io::Error::other)?;
            if message["id"] == 1 && message.get("method").is_none() {
                return Ok(message["error"]
                    .take()
                    .as_object()
                    .map_or_else(|| Ok(message["result"].take()), |error| Err(Value::Object(error.clone()))));
            }
        }
        Err(io::Error::other("the connection ended"))
    };
    let answered = tokio::time::timeout(WITHIN, answered).await;
    drop(stream);
    served.abort();
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(fault(error.to_string())),
        Err(_) => Err(fault("it did not answer in time".to_owned())),
    }
}

/// That server's socket.
pub(crate) struct Socket {
    directory: OwnedFd,
    inode: (u64, u64),
    pub(crate) listener: UnixListener,
}

impl Socket {
    /// Binds the socket below the root, following no link.
    ///
    /// # Errors
    /// If a directory has another owner, or another process serves there.
    pub(crate) fn bind(root: &Path) -> io::Result<Socket> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut directory = rustix::fs::open(root, flags - OFlags::NOFOLLOW, Mode::empty())?;
        for name in DIRECTORIES {
            match rustix::fs::mkdirat(&directory, name, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            directory = rustix::fs::openat(&directory, name, flags, Mode::empty())?;
        }
        rustix::fs::fchmod(&directory, Mode::RWXU)?;
        // The path through the descriptor follows no link in between, and is short.
        let path = system::descriptor_path(&directory)?.join(FILE);
        if let Ok(found) = path.symlink_metadata() {
            if !found.file_type().is_socket() {
                return Err(io::Error::other("the path is a file, not a socket"));
            }
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                return Err(io::Error::other("another program already serves it"));
            }
            std::fs::remove_file(&path)?;
        }
        let listener = std::os::unix::net::UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let made = path.symlink_metadata()?;
        listener.set_nonblocking(true)?;
        Ok(Socket { directory, inode: (made.dev(), made.ino()), listener: UnixListener::from_std(listener)? })
    }

    /// Returns the next connection.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Ok(directory) = system::descriptor_path(&self.directory) else { return };
        let path = directory.join(FILE);
        if path.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == self.inode) {
            // A stale socket is recognised by connecting to it.
            let _ = std::fs::remove_file(path);
        }
    }
}
