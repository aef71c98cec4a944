//! The server: its state, and the handling of each message. A panic affects only the message that caused it.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::analysis::Analysis;
use super::completion::completion;
use super::definition::definition;
use super::diagnostics::{closed_params, diagnostics};
use super::documents::{Documents, path_of};
use super::formatting::formatting;
use super::hover::hover;
use super::messages::*;
use super::positions::Encoding;
use super::projects::Projects;
use super::{Cancelled, Folder, wire};

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Ready,
    /// After `shutdown`.
    Down,
}

pub(super) struct Server<'a> {
    output: &'a mut dyn Write,
    find: &'a dyn Fn(&Path) -> Folder,
    cancelled: Cancelled,
    phase: Phase,
    /// True if `exit` was said.
    over: bool,
    encoding: Encoding,
    /// True if the editor can be asked to tell of changed files.
    watches: bool,
    documents: Documents,
    projects: Projects,
    /// The documents whose text has changed since their diagnostics were told.
    changed: BTreeSet<String>,
    /// Those that may see a change elsewhere.
    affected: BTreeSet<String>,
    /// Last published diagnostics of each document.
    told: HashMap<String, Value>,
    /// The last analysis, and of which document.
    analysis: Option<(String, Analysis)>,
}

impl<'a> Server<'a> {
    pub(super) fn new(
        output: &'a mut dyn Write,
        find: &'a dyn Fn(&Path) -> Folder,
        cancelled: Cancelled,
    ) -> Server<'a> {
        Server {
            output,
            find,
            cancelled,
            phase: Phase::New,
            over: false,
            encoding: Encoding::default(),
            watches: false,
            documents: Documents::default(),
            projects: Projects::default(),
            changed: BTreeSet::new(),
            affected: BTreeSet::new(),
            told: HashMap::new(),
            analysis: None,
        }
    }

    /// True if `shutdown` was said.
    pub(super) fn is_down(&self) -> bool {
        self.phase == Phase::Down
    }

    /// True if `exit` was said.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// True if diagnostics are to be told.
    pub(super) fn has_work(&self) -> bool {
        !self.changed.is_empty() || !self.affected.is_empty()
    }

    /// Tells the diagnostics of one document.
    pub(super) fn work(&mut self) -> io::Result<()> {
        let changed = self.changed.pop_first();
        let is_changed = changed.is_some();
        let Some(uri) = changed.or_else(|| self.affected.pop_first()) else { return Ok(()) };
        if is_changed {
            self.affected.remove(&uri);
        }
        let found = self.guarded(|server| {
            let document = server.documents.get(&uri)?;
            let index = server.projects.index(document.path.as_deref());
            Some(diagnostics(document, &index, server.encoding))
        });
        match found {
            Ok(Some(params)) if is_changed || self.told.get(&uri) != Some(&params["diagnostics"]) => {
                self.told.insert(uri, params["diagnostics"].clone());
                self.notify("textDocument/publishDiagnostics", &params)
            }
            Ok(_) => Ok(()),
            Err(failure) => self.log(&format!("{uri} was not checked: {}", failure.message)),
        }
    }

    pub(super) fn message(&mut self, message: Incoming) -> io::Result<()> {
        match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let cancelled = self.cancelled.take(&id);
                let result = if cancelled {
                    Err(Failure::new(REQUEST_CANCELLED, "the request was cancelled"))
                } else {
                    self.guarded(|server| server.request(&method, message.params)).flatten()
                };
                match result {
                    Ok(result) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
                    Err(error) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error })),
                }
            }
            (Some(method), None) => {
                let said = self.guarded(|server| server.notification(&method, message.params)).flatten();
                match said {
                    Ok(()) if method == "initialized" && self.watches => self.watch(),
                    Ok(()) => Ok(()),
                    Err(failure) => self.log(&format!("{method}: {}", failure.message)),
                }
            }
            // The answer to the request for watching files.
            (None, Some(_)) => Ok(()),
            (None, None) => self.refuse(Failure::new(INVALID_REQUEST, "a message has a `method`, an `id` or both")),
        }
    }

    /// Answers a message whose id cannot be read.
    pub(super) fn refuse(&mut self, failure: Failure) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": null, "error": failure }))
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        match (self.phase, method) {
            (Phase::New, "initialize") => return Ok(self.initialize(read(params)?)),
            (Phase::New, _) => return Err(Failure::new(SERVER_NOT_INITIALIZED, "`initialize` comes first")),
            (Phase::Down, _) => return Err(Failure::new(INVALID_REQUEST, "after `shutdown` comes only `exit`")),
            (Phase::Ready, _) => {}
        }
        match method {
            "initialize" => Err(Failure::new(INVALID_REQUEST, "`initialize` was already sent")),
            "shutdown" => {
                self.phase = Phase::Down;
                Ok(Value::Null)
            }
            "textDocument/hover" => self.at_place(params, |at| hover(at.analysis, at.document, at.byte, at.encoding)),
            "textDocument/definition" => self.at_place(params, |at| {
                let found = definition(at.analysis, at.document, at.documents, at.byte, at.encoding);
                found.map_or(Value::Null, |location| json!(location))
            }),
            "textDocument/completion" => {
                self.at_place(params, |at| completion(at.analysis, at.document, at.byte, at.encoding))
            }
            "textDocument/formatting" => {
                let params: DocumentParams = read(params)?;
                let document = self.documents.get(&params.text_document.uri).ok_or_else(not_open)?;
                Ok(json!(formatting(document, self.encoding)))
            }
            _ => Err(Failure::new(METHOD_NOT_FOUND, format!("unknown request {method:?}"))),
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> Value {
        self.phase = Phase::Ready;
        let capability = |path: &str| params.capabilities.pointer(path);
        let encodings = capability("/general/positionEncodings").and_then(Value::as_array);
        if encodings.is_some_and(|names| names.iter().any(|name| name == Encoding::Utf8.name())) {
            self.encoding = Encoding::Utf8;
        }
        let watches = capability("/workspace/didChangeWatchedFiles/dynamicRegistration");
        self.watches = watches.and_then(Value::as_bool).unwrap_or(false);
        let folders = params.workspace_folders.unwrap_or_default().into_iter().filter_map(|one| path_of(&one.uri));
        let mut folders: Vec<PathBuf> = folders.collect();
        if folders.is_empty() {
            let root = params.root_uri.as_deref().and_then(path_of).or_else(|| params.root_path.map(PathBuf::from));
            folders.extend(root.or_else(|| std::env::current_dir().ok()));
        }
        for folder in folders {
            self.projects.add((self.find)(&folder));
        }
        json!({
            "capabilities": {
                "positionEncoding": self.encoding.name(),
                "textDocumentSync": { "openClose": true, "change": 2, "save": true },
                "hoverProvider": true,
                "definitionProvider": true,
                "documentFormattingProvider": true,
                "completionProvider": { "triggerCharacters": ["."] },
            },
            "serverInfo": { "name": "hob cure lsp", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Answers a request about a place in an open document.
    fn at_place(&mut self, params: Value, answer: impl FnOnce(&At<'_>) -> Value) -> Result<Value, Failure> {
        let PositionParams { text_document, position } = read(params)?;
        let document = self.documents.get(&text_document.uri).ok_or_else(not_open)?;
        let index = self.projects.index(document.path.as_deref());
        let known =
            self.analysis.take().filter(|(uri, known)| *uri == document.uri && known.is_current(document, &index));
        let (_, analysis) =
            self.analysis.insert(known.unwrap_or_else(|| (document.uri.clone(), Analysis::new(document, index))));
        let byte = document.lines.byte(&document.text, position, self.encoding);
        let (encoding, documents) = (self.encoding, &self.documents);
        Ok(answer(&At { analysis, document, documents, byte, encoding }))
    }

    fn notification(&mut self, method: &str, params: Value) -> Result<(), Failure> {
        match method {
            "exit" => self.over = true,
            "$/cancelRequest" => {
                // The request was already answered, or is unknown.
                let CancelParams { id } = read(params)?;
                self.cancelled.take(&id);
            }
            _ if self.phase != Phase::Ready => {}
            "textDocument/didOpen" => {
                let TextDocumentItem { uri, version, text } = read::<DidOpenParams>(params)?.text_document;
                let opened = self.documents.open(uri.clone(), version, text);
                opened.map_err(|said| Failure::new(INVALID_PARAMS, said))?;
                self.projects.look_again();
                self.changed(uri);
            }
            "textDocument/didChange" => {
                let DidChangeParams { text_document: VersionedTextDocument { uri, version }, content_changes } =
                    read(params)?;
                if !self.documents.change(&uri, version, content_changes, self.encoding) {
                    return Err(not_open());
                }
                self.changed(uri);
            }
            "textDocument/didClose" => {
                let uri = read::<DocumentParams>(params)?.text_document.uri;
                if let Some(path) = self.documents.close(&uri).and_then(|document| document.path) {
                    self.projects.hold(&path, None);
                }
                self.projects.look_again();
                self.affect_all();
                self.changed.remove(&uri);
                self.affected.remove(&uri);
                self.told.remove(&uri);
                self.notify("textDocument/publishDiagnostics", &closed_params(&uri))
                    .map_err(|error| Failure::new(INTERNAL_ERROR, error.to_string()))?;
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.projects.look_again();
                self.affect_all();
            }
            _ => {}
        }
        Ok(())
    }

    /// The text of a document is new.
    fn changed(&mut self, uri: String) {
        if let Some(document) = self.documents.get(&uri)
            && let Some(path) = &document.path
        {
            self.projects.hold(path, Some(document.text.clone()));
        }
        self.affect_all();
        self.changed.insert(uri);
    }

    fn affect_all(&mut self) {
        self.affected.extend(self.documents.iter().map(|document| document.uri.clone()));
    }

    /// Asks the editor to tell of changed files.
    fn watch(&mut self) -> io::Result<()> {
        let watchers = json!({ "watchers": [{ "globPattern": "**/*.cure" }] });
        let one =
            json!({ "id": "cure-files", "method": "workspace/didChangeWatchedFiles", "registerOptions": watchers });
        let params = json!({ "registrations": [one] });
        self.send(&json!({ "jsonrpc": "2.0", "id": "watch", "method": "client/registerCapability", "params": params }))
    }

    /// Runs the handler of a message and turns a panic into its failure.
    fn guarded<T>(&mut self, job: impl FnOnce(&mut Self) -> T) -> Result<T, Failure> {
        let done = catch_unwind(AssertUnwindSafe(|| job(self)));
        done.map_err(|_| {
            self.analysis = None;
            Failure::new(INTERNAL_ERROR, "the compiler failed here; this is a fault of hob")
        })
    }

    fn notify(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn log(&mut self, message: &str) -> io::Result<()> {
        self.notify("window/logMessage", &json!({ "type": 2, "message": message }))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        wire::write(&mut self.output, message.to_string().as_bytes())
    }
}

/// A place in an open document.
struct At<'s> {
    analysis: &'s Analysis,
    document: &'s super::documents::Document,
    documents: &'s Documents,
    byte: usize,
    encoding: Encoding,
}

fn read<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| Failure::new(INVALID_PARAMS, format!("wrong parameters: {error}")))
}

fn not_open() -> Failure {
    Failure::new(INVALID_PARAMS, "this document is not open; `textDocument/didOpen` comes first")
}
