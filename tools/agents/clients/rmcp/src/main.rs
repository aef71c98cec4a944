//! The official Rust SDK as a client: everything a client may do, against the example `everything`.
//!
//! usage: rmcp-client stdio|http TARGET MODE      TARGET is a program or an address, MODE legacy, auto or a revision
//! Prints one JSON line: {"version", "tools", "progress", "cancel", "ask", "resources", "prompts"}.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitationCapability,
    ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction, GetPromptRequestParams, Implementation,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ResourceUpdatedNotificationParam,
    ServerNotification, ServerResult, SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::mpsc;

const KNOWN: [&str; 4] = ["echo", "hold", "inquire", "report"];

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Handler {
    asked: Arc<Mutex<Vec<String>>>,
    progress: mpsc::UnboundedSender<ProgressNotificationParam>,
    updated: mpsc::UnboundedSender<String>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(can, Implementation::new("rmcp-client", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, .. } = request {
            self.asked.lock().expect("no panic").push(message);
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"color": "red"})))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(params);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.updated.send(params.uri);
    }
}

struct Session {
    client: RunningService<RoleClient, Handler>,
    asked: Arc<Mutex<Vec<String>>>,
    progress: mpsc::UnboundedReceiver<ProgressNotificationParam>,
    updated: mpsc::UnboundedReceiver<String>,
    modern: bool,
}

fn params(name: &str, arguments: Value) -> CallToolRequestParams {
    let params = CallToolRequestParams::new(name.to_owned());
    match arguments {
        Value::Object(arguments) => params.with_arguments(arguments),
        _ => params,
    }
}

fn text(result: &CallToolResult) -> String {
    let first = serde_json::to_value(&result.content).expect("JSON");
    first[0]["text"].as_str().unwrap_or_default().to_owned()
}

impl Session {
    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        self.client.call_tool(params(name, arguments)).await
    }

    async fn number(&self, name: &str) -> Result<u64, Failure> {
        Ok(text(&self.call(name, json!({})).await?).parse()?)
    }

    async fn tools(&self) -> Result<Value, Failure> {
        let mut names: Vec<String> = self.client.list_all_tools().await?.into_iter().map(|t| t.name.into()).collect();
        names.retain(|name| KNOWN.contains(&name.as_str()));
        names.sort();
        let result = self.call("echo", json!({"text": "hi"})).await?;
        let refused = self.call("refuse", json!({})).await?;
        Ok(json!({
            "names": names,
            "echo": text(&result),
            "structured": result.structured_content,
            "refused": refused.is_error,
        }))
    }

    async fn progress(&mut self) -> Result<Value, Failure> {
        // The SDK generates a token for each request.
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("report", json!({"count": 3}))));
        let options = PeerRequestOptions::default();
        let handle = self.client.send_cancellable_request(request, options).await?;
        let result = match handle.await_response().await? {
            ServerResult::CallToolResult(result) => text(&result),
            other => format!("{other:?}"),
        };
        let mut seen = Vec::new();
        // Reports arrive on a separate channel, the last possibly after the answer.
        while seen.last().is_none_or(|(value, _)| *value < 3.0) {
            let next = tokio::time::timeout(Duration::from_secs(5), self.progress.recv()).await;
            let Ok(Some(progress)) = next else { break };
            let all = json!([progress.progress, progress.total, progress.message]);
            seen.push((progress.progress, all));
        }
        let grows = seen.windows(2).all(|pair| pair[0].0 < pair[1].0);
        Ok(json!({"last": seen.last().map(|(_, all)| all), "grows": grows, "text": result}))
    }

    async fn cancel(&self) -> Result<Value, Failure> {
        let before = self.number("held").await?;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("hold", json!({}))));
        let handle = self.client.send_cancellable_request(request, PeerRequestOptions::default()).await?;
        while self.number("holding").await? == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        handle.cancel(Some("enough".to_owned())).await?;
        let mut let_go = 0;
        for _ in 0..500 {
            let_go = self.number("held").await? - before;
            if let_go > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(json!({"let_go": let_go}))
    }

    async fn ask(&self) -> Result<Value, Failure> {
        let said = text(&self.call("inquire", json!({"about": "form"})).await?);
        Ok(json!({"text": said, "asked": *self.asked.lock().expect("no panic")}))
    }

    async fn read(&self, uri: &str) -> Result<Value, ServiceError> {
        let read = self.client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        Ok(serde_json::to_value(read).expect("JSON")["contents"][0]["text"].take())
    }

    async fn resources(&mut self) -> Result<Value, Failure> {
        const HELLO: &str = "note://hello";
        let (hello, template) = (self.read(HELLO).await?, self.read("planet://Mars/mass?unit=kg").await?);
        let missing = match self.read("note://nowhere").await {
            Err(ServiceError::McpError(error)) => json!(error.code.0),
            other => json!(format!("{other:?}")),
        };
        let touch = json!({"uri": HELLO});
        let updated = if self.modern {
            let mut filter = SubscriptionFilter::default();
            filter.resource_subscriptions = Some(vec![HELLO.to_owned()]);
            let mut listening = self.client.listen(filter).await?;
            self.call("touch", touch).await?;
            match tokio::time::timeout(Duration::from_secs(10), listening.next()).await?? {
                Some(ServerNotification::ResourceUpdatedNotification(update)) => Some(update.params.uri),
                other => Some(format!("{other:?}")),
            }
        } else {
            #[expect(deprecated, reason = "the older revisions have nothing else")]
            self.client.subscribe(SubscribeRequestParams::new(HELLO)).await?;
            self.call("touch", touch).await?;
            tokio::time::timeout(Duration::from_secs(10), self.updated.recv()).await?
        };
        Ok(json!({"hello": hello, "template": template, "missing": missing, "updated": updated}))
    }

    async fn prompts(&self) -> Result<Value, Failure> {
        let arguments = json!({"name": "Ada", "times": "2"});
        let asked = GetPromptRequestParams::new("greet").with_arguments(arguments.as_object().cloned().unwrap_or_default());
        let got = serde_json::to_value(self.client.get_prompt(asked).await?)?;
        let completed = self.client.complete_prompt_argument("greet", "name", "a", None).await?;
        Ok(json!({"greet": got["messages"][0]["content"]["text"], "completed": completed.values}))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [transport, target, mode] = args.as_slice() else { return Err("stdio|http TARGET MODE".into()) };
    let modern = || vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode.as_str() {
        "legacy" => ClientLifecycleMode::Initialize,
        "auto" => ClientLifecycleMode::Auto { preferred_versions: modern(), legacy_version: None },
        _ => ClientLifecycleMode::Discover { preferred_versions: modern() },
    };
    let (progress, progressed) = mpsc::unbounded_channel();
    let (update, updated) = mpsc::unbounded_channel();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let handler = Handler { asked: asked.clone(), progress, updated: update };
    let client = match transport.as_str() {
        "stdio" => {
            let child = TokioChildProcess::new(tokio::process::Command::new(target))?;
            serve_client_with_lifecycle(handler, child, lifecycle).await?
        }
        _ => {
            let http = StreamableHttpClientTransport::from_uri(target.as_str());
            serve_client_with_lifecycle(handler, http, lifecycle).await?
        }
    };
    // The negotiated revision, as the SDK reports it.
    let version = client.peer_info().map(|info| info.protocol_version.to_string());
    let is_modern = version.as_deref() == Some("2026-07-28");
    let mut session = Session { client, asked, progress: progressed, updated, modern: is_modern };
    let report = json!({
        "version": version,
        "tools": session.tools().await?,
        "progress": session.progress().await?,
        "cancel": session.cancel().await?,
        "ask": session.ask().await?,
        "resources": session.resources().await?,
        "prompts": session.prompts().await?,
    });
    println!("{report}");
    session.client.cancel().await?;
    Ok(())
}
