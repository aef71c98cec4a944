//! A server that speaks GitHub's GraphQL on a Unix socket, for the real `gh` with the setting `http_unix_socket`.
//!
//! Repositories, pull requests and issues are JSON objects with the names of GitHub's schema. A query for a field that
//! GitHub does not have fails as it does there.

mod graphql;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// The token that the server accepts.
pub const TOKEN: &str = "gho_of_the_tests";

/// The server's reaction to a request.
#[derive(Debug, Clone, Default)]
pub enum Behaviour {
    /// Runs the query.
    #[default]
    Answers,
    /// Answers with this status, these headers and this body.
    Says(u16, Vec<(String, String)>, String),
    /// Reads the request and never answers.
    IsSilent,
    /// Closes the connection.
    HangsUp,
}

/// A request as received.
#[derive(Debug, Clone)]
pub struct Request {
    pub host: String,
    pub path: String,
    pub authorization: String,
    pub body: Value,
}

/// The server. Dropping it stops the server.
pub struct GitHub {
    directory: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    repositories: BTreeMap<String, Repository>,
    requests: Vec<Request>,
    /// Connections that get no answer.
    silent: Vec<UnixStream>,
    is_over: bool,
}

#[derive(Default)]
struct Repository {
    parent: Option<String>,
    pulls: Vec<Value>,
    issues: Vec<Value>,
}

impl GitHub {
    /// Starts the server. This directory gets its socket and a configuration of `gh` that connects to it.
    pub fn start(directory: &Path) -> GitHub {
        let github = GitHub { directory: directory.to_owned(), state: Arc::default() };
        let listener = UnixListener::bind(github.socket()).expect("a socket");
        let config = directory.join("gh");
        std::fs::create_dir_all(&config).expect("a directory");
        std::fs::write(config.join("config.yml"), format!("http_unix_socket: {}\n", github.socket().display()))
            .expect("a file");
        let state = github.state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if state.lock().is_over {
                    return;
                }
                let state = state.clone();
                std::thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        github
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("github.sock")
    }

    /// Returns the directory of a `gh` that is not logged in and reaches this server.
    pub fn config(&self) -> PathBuf {
        self.directory.join("gh")
    }

    /// Logs `gh` in at a host, as `gh auth login` does.
    pub fn log_in(&self, host: &str, token: &str) {
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.config().join("hosts.yml");
        let mut file = std::fs::File::options().append(true).create(true).mode(0o600).open(path).expect("a file");
        let text = format!("{host}:\n    user: ann\n    oauth_token: {token}\n    git_protocol: https\n");
        file.write_all(text.as_bytes()).expect("a file");
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.state.lock().behaviour = behaviour;
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// Adds a repository, forked from another or not.
    pub fn repository(&self, name: &str, parent: Option<&str>) {
        let parent = parent.map(str::to_owned);
        self.state.lock().repositories.insert(name.to_owned(), Repository { parent, ..Repository::default() });
    }

    /// Adds a pull request into a repository, from a branch `owner/name:branch`. `more` are fields of GitHub's schema
    /// that replace the defaults.
    pub fn pull(&self, into: &str, number: u64, from: &str, more: Value) {
        let (repository, branch) = from.split_once(':').expect("owner/name:branch");
        let mut pull = json!({
            "__typename": "PullRequest",
            "number": number,
            "title": format!("Pull request {number}"),
            "url": format!("https://github.com/{into}/pull/{number}"),
            "state": "OPEN",
            "isDraft": false,
            "baseRefName": "main",
            "headRefName": branch,
            "headRepository": {"__typename": "Repository", "nameWithOwner": repository},
            "reviewDecision": null,
            "mergeable": "MERGEABLE",
            "updatedAt": "2026-01-02T03:04:05Z",
            "latestOpinionatedReviews": connection("PullRequestReview", Vec::new()),
            "comments": connection("IssueComment", Vec::new()),
            "reviews": connection("PullRequestReview", Vec::new()),
            "reviewThreads": connection("PullRequestReviewThread", Vec::new()),
            "commits": commits(None),
            "closingIssuesReferences": connection("Issue", Vec::new()),
        });
        merge(&mut pull, more);
        let mut state = self.state.lock();
        let pulls = &mut state.repositories.get_mut(into).expect("a known repository").pulls;
        pulls.retain(|known| known["number"] != number);
        pulls.push(pull);
    }

    /// Adds an issue; `more` as for pull requests. `null` for a field removes it, as on a server that does not know it.
    pub fn issue(&self, repository: &str, number: u64, more: Value) {
        let issue = issue(repository, number, more);
        let mut state = self.state.lock();
        let issues = &mut state.repositories.get_mut(repository).expect("a known repository").issues;
        issues.retain(|known| known["number"] != number);
        issues.push(issue);
    }

    /// Older servers without sub-issues lack these fields.
    pub fn forget_sub_issues(&self) {
        for issue in self.state.lock().repositories.values_mut().flat_map(|repository| &mut repository.issues) {
            if let Some(fields) = issue.as_object_mut() {
                fields.remove("parent");
                fields.remove("subIssues");
            }
        }
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.silent.clear();
        drop(state);
        // Wakes the thread that accepts.
        drop(UnixStream::connect(self.socket()));
    }
}

/// Returns an issue as an object of GitHub's schema.
pub fn issue(repository: &str, number: u64, more: Value) -> Value {
    let mut issue = json!({
        "__typename": "Issue",
        "number": number,
        "title": format!("Issue {number}"),
        "body": "",
        "state": "OPEN",
        "url": format!("https://github.com/{repository}/issues/{number}"),
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-02T00:00:00Z",
        "repository": {"__typename": "Repository", "nameWithOwner": repository},
        "author": {"__typename": "User", "login": "ann"},
        "assignees": connection("User", Vec::new()),
        "labels": connection("Label", Vec::new()),
        "parent": null,
        "subIssues": connection("Issue", Vec::new()),
    });
    merge(&mut issue, more);
    issue
}

/// Returns a connection (GraphQL Cursor Connections) of nodes of this type.
pub fn connection(kind: &str, nodes: Vec<Value>) -> Value {
    let total = nodes.len();
    let nodes: Vec<Value> = nodes
        .into_iter()
        .map(|mut node| {
            if let Some(fields) = node.as_object_mut() {
                fields.entry("__typename").or_insert_with(|| kind.into());
            }
            node
        })
        .collect();
    json!({"__typename": format!("{kind}Connection"), "totalCount": total, "nodes": nodes})
}

/// Returns the commits of a pull request. The last one has these checks: `(name, conclusion)`, `PENDING` for a running
/// one.
pub fn commits(checks: Option<&[(&str, &str)]>) -> Value {
    let rollup = checks.map(|checks| {
        let run = |(name, conclusion): &(&str, &str)| match *conclusion {
            "PENDING" => json!({"__typename": "CheckRun", "name": name, "status": "IN_PROGRESS", "conclusion": null}),
            "status:success" => json!({"__typename": "StatusContext", "context": name, "state": "SUCCESS"}),
            "status:error" => json!({"__typename": "StatusContext", "context": name, "state": "ERROR"}),
            conclusion => {
                json!({"__typename": "CheckRun", "name": name, "status": "COMPLETED", "conclusion": conclusion})
            }
        };
        let is_bad = |(_, conclusion): &(&str, &str)| ["FAILURE", "status:error"].contains(conclusion);
        let state = if checks.iter().any(is_bad) { "FAILURE" } else { "SUCCESS" };
        let contexts = connection("StatusCheckRollupContext", checks.iter().map(run).collect());
        json!({"__typename": "StatusCheckRollup", "state": state, "contexts": contexts})
    });
    let commit = json!({"__typename": "Commit", "statusCheckRollup": rollup});
    connection("PullRequestCommit", vec![json!({"commit": commit})])
}

fn merge(into: &mut Value, more: Value) {
    let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) else { return };
    into.extend(more);
}

fn serve(stream: UnixStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        // A value may be empty; an empty line ends them.
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let request = Request { host: header("host"), path, authorization: header("authorization"), body };
    let mut state = state.lock();
    state.requests.push(request.clone());
    let (status, more, text) = match state.behaviour.clone() {
        Behaviour::HangsUp => return Ok(()),
        Behaviour::IsSilent => {
            state.silent.push(stream);
            return Ok(());
        }
        Behaviour::Says(status, headers, text) => (status, headers, text),
        Behaviour::Answers => {
            let (status, text) = state.answer(&request);
            (status, Vec::new(), text)
        }
    };
    drop(state);
    let more: String = more.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/json; charset=utf-8\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n",
        if status == 200 { "OK" } else { "No" },
        text.len()
    );
    (&stream).write_all(format!("{head}{text}").as_bytes())
}

impl State {
    fn answer(&self, request: &Request) -> (u16, String) {
        let paths = ["/graphql", "/api/graphql"];
        if !paths.contains(&request.path.as_str()) {
            return (404, json!({"message": "Not Found"}).to_string());
        }
        if request.authorization != format!("token {TOKEN}") {
            return (401, json!({"message": "Bad credentials"}).to_string());
        }
        let variables = request.body["variables"].as_object().cloned().unwrap_or_default();
        let query = request.body["query"].as_str().unwrap_or_default();
        let resolve = |of: &Value, name: &str, arguments: &Map<String, Value>| self.resolve(of, name, arguments);
        (200, graphql::answer(query, &variables, &json!({"__typename": "Query"}), &resolve).to_string())
    }

    fn resolve(&self, of: &Value, name: &str, arguments: &Map<String, Value>) -> Option<Value> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = arguments.get("number").cloned().unwrap_or_default();
        let repository = || self.repositories.get(of["nameWithOwner"].as_str()?);
        match (of["__typename"].as_str()?, name) {
            ("Query", "repository") => {
                let name = format!("{}/{}", text("owner"), text("name"));
                let missing = format!("Could not resolve to a Repository with the name '{name}'.");
                Some(self.object(&name).unwrap_or_else(|| json!({"__missing": missing})))
            }
            ("Repository", "pullRequests") => {
                let head = arguments.get("headRefName").and_then(Value::as_str);
                let mut pulls: Vec<&Value> = repository()?.pulls.iter().collect();
                pulls.retain(|pull| head.is_none_or(|head| pull["headRefName"] == head));
                pulls.sort_by_key(|pull| pull["number"].as_u64());
                if arguments["orderBy"]["direction"] == "DESC" {
                    pulls.reverse();
                }
                let total = pulls.len();
                let after = text("after").parse().unwrap_or(0);
                let first = arguments["first"].as_u64()? as usize;
                let page: Vec<Value> = pulls.into_iter().skip(after).take(first).cloned().collect();
                let end = after + page.len();
                let info = json!({"__typename": "PageInfo", "hasNextPage": end < total, "endCursor": end.to_string()});
                let mut found = connection("PullRequest", page);
                merge(&mut found, json!({"totalCount": total, "pageInfo": info}));
                Some(found)
            }
            ("Repository", kind @ ("pullRequest" | "issue")) => {
                let repository = repository()?;
                let all = if kind == "issue" { &repository.issues } else { &repository.pulls };
                let missing =
                    || json!({"__missing": format!("Could not resolve to a {kind} with the number of {number}.")});
                Some(all.iter().find(|one| one["number"] == number).cloned().unwrap_or_else(missing))
            }
            _ => {
                // A page of the existing nodes.
                let mut value = of.get(name).filter(|value| value["nodes"].is_array())?.clone();
                let most = arguments.get("first").or(arguments.get("last")).and_then(Value::as_u64);
                if let (Some(nodes), Some(most)) = (value["nodes"].as_array_mut(), most) {
                    nodes.truncate(most as usize);
                }
                Some(value)
            }
        }
    }

    fn object(&self, name: &str) -> Option<Value> {
        let parent = self.repositories.get(name)?.parent.as_deref().and_then(|parent| self.object(parent));
        Some(json!({"__typename": "Repository", "nameWithOwner": name, "parent": parent}))
    }
}
