//! The form of results for each client, and the tools that are listed for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::{ConnectionOptions, Server};
use crate::prompt::{Message, Prompt, Prompts, prompt};
use crate::resource::{Resource, Resources, resource};
use crate::server::ServerInfo;
use crate::tool::{Context, Declaration, Effect, Outcome, ToolError};
use crate::{Era, ResultForm};

/// Returns a server whose `look` gives both forms, and lists the group `garden` on a call of `more`.
fn server() -> Server {
    let look = Declaration {
        output_schema: Some(json!({"type": "object"})),
        ..Declaration::new("look", "Looks.", json!({"type": "object"}), Effect::READ)
    };
    let look = super::faults::declared(look, |_| async {
        let structured = serde_json::value::to_raw_value(&json!({"seen": "a tree"})).expect("JSON");
        Ok(Outcome { structured: Some(structured), ..Outcome::text("a tree") })
    });
    let more = super::faults::build_tool("more", |cx| async move {
        cx.list_more("garden");
        Ok(Outcome::text("more"))
    });
    let dig = super::faults::build_tool("dig", |_| async { Ok(Outcome::text("dug")) });
    let server = Server::with_tools(ServerInfo::new("house", "1"), [look, more, dig]);
    server.registry().unlist("garden", ["dig".to_owned()]);
    server
}

fn text_for_agents() -> ConnectionOptions {
    let result_form = |client: &str| if client == "agent" { ResultForm::Text } else { ResultForm::Both };
    ConnectionOptions { result_form, ..ConnectionOptions::default() }
}

fn modern(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": Era::V2026_07_28.name(),
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
    })
}

/// Returns true if the listing has output schemas and a result structured content.
async fn has_structure(peer: &mut Client, meta: &Value) -> (bool, bool) {
    peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})).await;
    let listed = peer.next().await;
    let params = json!({"name": "look", "arguments": {}, "_meta": meta});
    peer.send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})).await;
    let result = peer.next().await["result"].take();
    assert_eq!(result["content"][0]["text"], "a tree");
    (listed.to_string().contains("outputSchema"), result.get("structuredContent").is_some())
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_handshake_gets_the_form_of_its_name() {
    for (client, expected) in [("agent", (false, false)), ("program", (true, true))] {
        let mut peer = Client::connect(&server(), text_for_agents());
        let params = json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": client, "version": "1"}});
        peer.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        peer.next().await;
        assert_eq!(has_structure(&mut peer, &json!({})).await, expected, "{client}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_request_gets_the_form_of_its_client() {
    let mut peer = Client::connect(&server(), text_for_agents());
    assert_eq!(has_structure(&mut peer, &modern("agent")).await, (false, false));
    assert_eq!(has_structure(&mut peer, &modern("program")).await, (true, true));
    assert_eq!(has_structure(&mut peer, &json!({})).await, (true, true));
}

async fn listed(peer: &mut Client, meta: &Value) -> Vec<String> {
    peer.send(json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {"_meta": meta}})).await;
    let listing = peer.next().await;
    let tools = listing["result"]["tools"].as_array().unwrap_or_else(|| panic!("a list: {listing}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_unlisted_tool_is_served_and_listed_where_it_was_asked_for() {
    let server = server();
    let mut peer = Client::connect(&server, ConnectionOptions::default());
    let mut other = Client::connect(&server, ConnectionOptions::default());
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(listed(&mut peer, &json!({})).await, ["look", "more"]);
    peer.call(1, "dig", json!({})).await;
    assert_eq!(super::client::text(&peer.next().await), "dug");
    peer.call(2, "more", json!({})).await;
    assert_eq!(super::client::text(&peer.next().await), "more");
    assert_eq!(peer.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(listed(&mut peer, &json!({})).await, ["dig", "look", "more"]);
    // Once is enough, and others are not concerned.
    peer.call(3, "more", json!({})).await;
    peer.next().await;
    assert_eq!(listed(&mut peer, &json!({})).await, ["dig", "look", "more"]);
    assert_eq!(listed(&mut other, &json!({})).await, ["look", "more"]);
    assert_eq!(peer.finish().await.0, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn subscribers_hear_of_more_tools_and_no_listing_is_cached() {
    let mut peer = Client::connect(&server(), ConnectionOptions::default());
    let meta = modern("agent");
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})).await;
    assert_eq!(peer.next().await["method"], "notifications/subscriptions/acknowledged");
    let params = json!({"name": "more", "arguments": {}, "_meta": meta});
    peer.send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})).await;
    assert_eq!(peer.next().await["id"], 2);
    assert_eq!(peer.next().await["method"], "notifications/tools/list_changed");
    peer.send(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": meta}})).await;
    assert_eq!(peer.next().await["result"]["ttlMs"], 0);
}

/// Returns the cache time of each list for a modern client.
async fn fresh(peer: &mut Client) -> Vec<u64> {
    let mut fresh = Vec::new();
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        peer.send(json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": {"_meta": modern("agent")}})).await;
        let listing = peer.next().await;
        fresh.push(listing["result"]["ttlMs"].as_u64().unwrap_or_else(|| panic!("a list: {listing}")));
    }
    fresh
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changed_at_run_time_is_not_cached() {
    let (resources, prompts) = (Arc::<Resources>::default(), Arc::<Prompts>::default());
    let tool = |name: &str| super::faults::build_tool(name, |_| async { Ok(Outcome::text("dug")) });
    let server = Server::with_tools(ServerInfo::new("house", "1"), [tool("dig")]);
    let server = server.resources(resources.clone()).prompts(prompts.clone());
    // Tools added before the first connection are present from the start.
    server.registry().add(tool("mow")).expect("it can be served");
    let mut peer = Client::connect(&server, ConnectionOptions::default());
    assert_eq!(fresh(&mut peer).await, [60_000; 4]);
    server.registry().add(tool("rake")).expect("it can be served");
    assert_eq!(fresh(&mut peer).await, [0, 60_000, 60_000, 60_000]);
    resources.add(resource(Resource::new("note://x", "x"), |_| async { Ok(Vec::new()) }));
    assert_eq!(fresh(&mut peer).await, [0, 0, 0, 60_000]);
    prompts.add(prompt(Nothing));
    assert_eq!(fresh(&mut peer).await, [0; 4]);
    let mut other = Client::connect(&server, ConnectionOptions::default());
    assert_eq!(fresh(&mut other).await, [0; 4], "though this one has seen no change");
}

#[tokio::test(start_paused = true)]
async fn how_long_lists_are_cached_can_be_set() {
    let server = server().resources(Arc::default()).prompts(Arc::default()).list_fresh_for(Duration::from_secs(5));
    let mut peer = Client::connect(&server, ConnectionOptions::default());
    assert_eq!(fresh(&mut peer).await, [5_000; 4]);
    server.registry().remove("look");
    assert_eq!(fresh(&mut peer).await, [5_000; 4]);
}

/// Returns the announcements up to the answer of a ping, which is sent when nothing else is left to do.
async fn announced(peer: &mut Client) -> Vec<String> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    peer.send(json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})).await;
    let mut announced = Vec::new();
    loop {
        let message = peer.next().await;
        match message["method"].as_str() {
            Some(method) => announced.push(method.to_owned()),
            None => return announced,
        }
    }
}

fn described(name: &str, description: &str) -> std::sync::Arc<dyn crate::tool::AnyTool> {
    let declaration = Declaration::new(name, description, json!({"type": "object"}), Effect::READ);
    super::faults::declared(declaration, |_| async { Ok(Outcome::text("done")) })
}

#[tokio::test(start_paused = true)]
async fn many_tools_are_replaced_by_one_change() {
    let server = server();
    let registry = server.registry();
    let mut peer = Client::connect(&server, ConnectionOptions::default());
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(announced(&mut peer).await, Vec::<String>::new());
    let before = *registry.changes().borrow();
    let new = || ["a", "b", "c"].map(|name| described(name, "Does it."));
    registry.replace(["look", "nothing"], new()).expect("they can be served");
    assert_eq!(*registry.changes().borrow(), before + 1);
    assert_eq!(announced(&mut peer).await, ["notifications/tools/list_changed"]);
    assert_eq!(listed(&mut peer, &json!({})).await, ["a", "b", "c", "more"]);
    // The same once more, as other tools: the list stays as it was.
    let former = registry.get("a").expect("it is there");
    registry.replace([], new()).expect("they can be served");
    assert_eq!(*registry.changes().borrow(), before + 1);
    assert!(!Arc::ptr_eq(&former, &registry.get("a").expect("it is there")));
    registry.replace(["gone"], []).expect("there is nothing to do");
    assert_eq!(announced(&mut peer).await, Vec::<String>::new());
    // A name that is removed and added is replaced; one that changes is a change.
    registry.replace(["b"], [described("b", "Does more.")]).expect("it can be served");
    assert_eq!(*registry.changes().borrow(), before + 2);
    // An invalid tool rejects the whole change.
    registry.replace(["a"], [described("d", "Does it."), described("no name", "")]).expect_err("its name is illegal");
    assert_eq!(listed(&mut peer, &json!({})).await, ["a", "b", "c", "more"]);
}

#[tokio::test(start_paused = true)]
async fn many_prompts_are_replaced_by_one_change() {
    let prompts = Prompts::new([prompt(Nothing)]);
    let before = *prompts.changes().borrow();
    prompts.replace(["nothing"], [prompt(Nothing)]);
    assert_eq!(*prompts.changes().borrow(), before, "the list stays as it was");
    prompts.replace(["nothing", "else"], []);
    assert_eq!((*prompts.changes().borrow(), prompts.get("nothing").is_none()), (before + 1, true));
    prompts.replace(["else"], [prompt(Nothing)]);
    assert_eq!((*prompts.changes().borrow(), prompts.get("nothing").is_some()), (before + 2, true));
}

/// Says nothing.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

struct Nothing;

impl Prompt for Nothing {
    const NAME: &'static str = "nothing";
    type Args = NoArgs;
    async fn get(&self, _: Context, _: NoArgs) -> Result<Vec<Message>, ToolError> {
        Ok(Vec::new())
    }
}
