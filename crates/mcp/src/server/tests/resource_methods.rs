//! Resources, prompts and lists, beyond the table of odd input: changes that a client subscribed to, and pages.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::everything;
use crate::resource::{Contents, Resource, Resources, Template, resource, template};
use crate::server::{ConnectionOptions, Limits, Server, ServerInfo};
use crate::tool::Registry;

const MODERN: &str = "2026-07-28";

fn modern() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}})
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn note(name: &str) -> Arc<dyn crate::resource::AnyResource> {
    let uri = format!("note://{name}");
    resource(Resource::new(uri.clone(), name), move |_| {
        let uri = uri.clone();
        async move { Ok(vec![Contents::text(uri, "text/plain", "x")]) }
    })
}

fn notes(names: &[&str]) -> (Server, Arc<Resources>) {
    let resources = Arc::new(Resources::default());
    names.iter().for_each(|name| resources.add(note(name)));
    let server = Server::new(ServerInfo::new("notes", "1"), Arc::new(Registry::default()));
    (server.resources(resources.clone()), resources)
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_changed_is_told_to_those_who_subscribed_and_to_nobody_else() {
    let (server, resources) = notes(&["a", "b"]);
    let mut old = Client::connect(&server, ConnectionOptions::default());
    let mut new = Client::connect(&server, ConnectionOptions::default());
    let mut deaf = Client::connect(&server, ConnectionOptions::default());
    old.send(request(1, "resources/subscribe", json!({"uri": "note://a"}))).await;
    old.next().await;
    let filter = json!({"resourceSubscriptions": ["note://a", "note://b"], "resourcesListChanged": true});
    new.send(request(1, "subscriptions/listen", json!({"notifications": filter, "_meta": modern()}))).await;
    assert_eq!(new.next().await["params"]["notifications"], filter);

    resources.updated("note://a");
    resources.updated("note://a");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "note://a"}});
    assert_eq!(old.next().await, told);
    let told = new.next().await;
    assert_eq!(told["params"]["uri"], "note://a");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);

    // One resource without a subscriber, and one with the newer client only; a new resource changes the list.
    resources.updated("note://c");
    resources.updated("note://b");
    assert_eq!(new.next().await["params"]["uri"], "note://b");
    resources.add(note("c"));
    assert_eq!(new.next().await["method"], "notifications/resources/list_changed");

    old.send(request(2, "resources/unsubscribe", json!({"uri": "note://a"}))).await;
    assert_eq!(old.next().await["id"], 2);
    resources.updated("note://a");
    assert_eq!(new.next().await["params"]["uri"], "note://a");
    new.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    new.send(request(2, "ping", json!({}))).await;
    assert_eq!(new.next().await["id"], 2);
    assert!(!resources.is_watched("note://a"), "nobody listens any more");

    for client in [&mut old, &mut deaf] {
        client.send(request(3, "ping", json!({}))).await;
        assert_eq!(client.next().await["id"], 3, "nothing else was said");
    }
}

#[tokio::test(start_paused = true)]
async fn who_leaves_watches_nothing() {
    let (server, resources) = notes(&["a", "b"]);
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.send(request(1, "resources/subscribe", json!({"uri": "note://a"}))).await;
    client.next().await;
    let filter = json!({"resourceSubscriptions": ["note://b"]});
    client.send(request(2, "subscriptions/listen", json!({"notifications": filter, "_meta": modern()}))).await;
    client.next().await;
    assert!(resources.is_watched("note://a") && resources.is_watched("note://b"));
    client.finish().await;
    assert!(!resources.is_watched("note://a") && !resources.is_watched("note://b"));
}

#[tokio::test(start_paused = true)]
async fn how_much_may_be_watched_is_limited() {
    let (server, _) = notes(&["a", "b", "c"]);
    let limits = Limits { watched: 2, ..Limits::default() };
    let mut client = Client::connect(&server, ConnectionOptions { limits, ..ConnectionOptions::default() });
    for (id, name) in ["a", "b", "c"].into_iter().enumerate() {
        client.send(request(id as u64, "resources/subscribe", json!({"uri": format!("note://{name}")}))).await;
    }
    assert_eq!(client.next().await["result"], json!({}));
    assert_eq!(client.next().await["result"], json!({}));
    assert_eq!(client.next().await["error"]["data"], json!({"reason": "overloaded", "limit": 2}));
    let filter = json!({"resourceSubscriptions": ["note://c"]});
    client.send(request(9, "subscriptions/listen", json!({"notifications": filter, "_meta": modern()}))).await;
    assert_eq!(client.next().await["error"]["data"]["reason"], "overloaded");
}

/// Returns all entries of a list, page by page.
async fn pages(client: &mut Client, method: &str, list: &str, name: &str, meta: &Value) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({"_meta": meta});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        client.send(request(1, method, params)).await;
        let answer = client.next().await;
        let entries = answer["result"][list].as_array().unwrap_or_else(|| panic!("no list: {answer}"));
        pages.push(entries.iter().map(|entry| entry[name].as_str().expect("a name").to_owned()).collect());
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            return pages;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_list_comes_in_pages() {
    let server = everything().page_size(2);
    let mut client = Client::connect(&server, ConnectionOptions::default());
    for meta in [json!({}), modern()] {
        let tools = pages(&mut client, "tools/list", "tools", "name", &meta).await;
        assert!(tools.len() > 4 && tools.iter().all(|page| !page.is_empty() && page.len() <= 2), "{tools:?}");
        let all = tools.concat();
        assert!(all.is_sorted() && all.len() == server.registry().list().len(), "{all:?}");
        let resources = pages(&mut client, "resources/list", "resources", "uri", &meta).await;
        assert_eq!(resources, [vec!["note://burnt", "note://bytes"], vec!["note://hello"]]);
        let prompts = pages(&mut client, "prompts/list", "prompts", "name", &meta).await;
        assert_eq!(prompts, [vec!["burn", "greet"], vec!["paint"]]);
        let templates = pages(&mut client, "resources/templates/list", "resourceTemplates", "uriTemplate", &meta).await;
        assert_eq!(templates, [["planet://{name}/mass{?unit}"]]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_template_gives_goes_with_it() {
    let (server, resources) = notes(&["a"]);
    let any = Template::new("any://{name}", "any").expect("a template");
    resources.add_template(template(any, |_, matched| async move {
        Ok(vec![Contents::text(matched.uri.clone(), "text/plain", "x")])
    }));
    let mut client = Client::connect(&server, ConnectionOptions::default());
    let read = |id: u64| request(id, "resources/read", json!({"uri": "any://b"}));
    client.send(read(1)).await;
    assert_eq!(client.next().await["result"]["contents"][0]["text"], "x");
    assert!(resources.remove_template("any://{name}") && !resources.remove_template("any://{name}"));
    client.send(read(2)).await;
    let answer = loop {
        let message = client.next().await;
        match message["method"].as_str() {
            Some(method) => assert_eq!(method, "notifications/resources/list_changed"),
            None => break message,
        }
    };
    assert_eq!(answer["error"]["data"]["uri"], "any://b", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_cursor_outlives_its_entry() {
    let (server, resources) = notes(&["a", "c", "e", "g"]);
    let server = server.page_size(2);
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.send(request(1, "resources/list", json!({}))).await;
    let cursor = client.next().await["result"]["nextCursor"].clone();
    resources.remove("note://c");
    resources.add(note("b"));
    resources.add(note("d"));
    client.send(request(2, "resources/list", json!({"cursor": cursor}))).await;
    let answer = client.next().await;
    let uris: Vec<_> = answer["result"]["resources"].as_array().expect("a list").iter().map(|r| &r["uri"]).collect();
    assert_eq!(uris, ["note://d", "note://e"]);
    client.send(request(3, "prompts/list", json!({"cursor": cursor}))).await;
    assert_eq!(client.next().await["error"]["code"], -32601, "there are no prompts");
    client.send(request(4, "tools/list", json!({"cursor": cursor}))).await;
    assert_eq!(client.next().await["error"]["code"], -32602, "a cursor belongs to its list");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_them_has_no_resources_and_prompts() {
    let server = Server::new(ServerInfo::new("bare", "1"), Arc::new(Registry::default()));
    let mut client = Client::connect(&server, ConnectionOptions::default());
    client.send(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))).await;
    let capabilities = client.next().await["result"]["capabilities"].clone();
    assert_eq!(capabilities, json!({"logging": {}, "tools": {"listChanged": true}}));
    let methods = ["resources/list", "resources/read", "resources/subscribe", "prompts/get", "completion/complete"];
    for method in methods {
        client.send(request(2, method, json!({"uri": "x:y", "name": "x"}))).await;
        assert_eq!(client.next().await["error"]["code"], -32601, "{method}");
    }
    let filter = json!({"resourceSubscriptions": ["x:y"], "promptsListChanged": true});
    client.send(request(3, "subscriptions/listen", json!({"notifications": filter, "_meta": modern()}))).await;
    assert_eq!(client.next().await["params"]["notifications"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_cut_and_can_be_read() {
    let mut client = Client::connect(&everything().result_budget(300), ConnectionOptions::default());
    let text: String = (0..1000).map(|n| format!("{n:03} ")).collect();
    for id in [1, 2] {
        client.call(id, "echo", json!({"text": text})).await;
    }
    client.next().await;
    let cut = client.next().await;
    let cut = cut["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(cut.starts_with("000 001 ") && cut.ends_with("998 999 ") && cut.len() < 450, "{cut}");
    let (_, after) = cut.split_once("characters 200 to 3900 of 4000 are left out; read ").expect("it says so");
    let (uri, _) = after.split_once(' ').expect("an address");
    client.send(request(3, "resources/read", json!({"uri": uri}))).await;
    let read = client.next().await;
    assert_eq!(read["result"]["contents"][0]["text"], text[200..3900]);
    client.send(request(4, "resources/read", json!({"uri": format!("{}x", uri)}))).await;
    assert_eq!(client.next().await["error"]["message"], "`length` must be a number of characters");
    client.call(5, "echo", json!({"text": "short"})).await;
    assert_eq!(client.next().await["result"]["content"][0]["text"], "short");
}
