//! The description of a server and its tools in each revision.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::client::Client;
use super::{ConnectionOptions, Server};
use crate::Era;
use crate::server::ServerInfo;
use crate::tool::{Declaration, Effect, Icon, Outcome};

fn server() -> Server {
    let tool = Declaration {
        title: Some("Paint".to_owned()),
        output_schema: Some(json!({"type": "object"})),
        icons: vec![Icon::new("https://example.com/brush.svg")],
        meta: json!({"anthropic/alwaysLoad": true}).as_object().cloned(),
        ..Declaration::new("paint", "Paints a wall.", json!({"type": "object"}), Effect::WRITE.idempotent())
    };
    let info = ServerInfo {
        title: Some("House".to_owned()),
        description: Some("A house.".to_owned()),
        website_url: Some("https://example.com".to_owned()),
        instructions: Some("Knock first.".to_owned()),
        icons: vec![Icon { sizes: vec!["any".to_owned()], ..Icon::new("https://example.com/house.svg") }],
        experimental: json!({"example/doors": {"count": 2}}).as_object().cloned(),
        ..ServerInfo::new("house", "1.2.3")
    };
    let paint = super::faults::declared(tool, |_| async { Ok(Outcome::text("painted")) });
    Server::with_tools(info, [paint, super::faults::build_tool("a_first", |_| async { Ok(Outcome::text("")) })])
}

/// The server's description and its list of tools, a line each.
async fn check(era: Era, expected: Expect) {
    let mut client = Client::connect(&server(), ConnectionOptions::default());
    let modern = json!({
        "io.modelcontextprotocol/protocolVersion": era.name(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (method, params, meta) = if era.is_modern() {
        ("server/discover", json!({"_meta": modern}), modern)
    } else {
        ("initialize", json!({"protocolVersion": era.name()}), json!({}))
    };
    client.send(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
    let said = client.next().await["result"].take();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}});
    client.send(list.clone()).await;
    let listed: Value = client.next().await["result"].take();
    // The same bytes each time and for each client, because models' prompts are cached by their beginning.
    let mut other = Client::connect(&server(), ConnectionOptions { assume: era, ..ConnectionOptions::default() });
    other.send(list).await;
    assert_eq!(other.next().await["result"].to_string(), listed.to_string());
    let tools = listed["tools"].as_array().expect("a list");
    assert_eq!(tools[0]["name"], "a_first", "sorted");
    expected.assert_eq(&format!("{said}\n{}", tools[1]));
}

#[tokio::test(start_paused = true)]
async fn to_2024_11_05() {
    check(Era::V2024_11_05, expect![[r#"
        {"protocolVersion":"2024-11-05","capabilities":{"logging":{},"tools":{"listChanged":true},"experimental":{"example/doors":{"count":2}}},"serverInfo":{"name":"house","version":"1.2.3"},"instructions":"Knock first."}
        {"name":"paint","description":"Paints a wall.","inputSchema":{"type":"object"}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn to_2025_03_26() {
    check(Era::V2025_03_26, expect![[r#"
        {"protocolVersion":"2025-03-26","capabilities":{"logging":{},"tools":{"listChanged":true},"experimental":{"example/doors":{"count":2}}},"serverInfo":{"name":"house","version":"1.2.3"},"instructions":"Knock first."}
        {"name":"paint","description":"Paints a wall.","inputSchema":{"type":"object"},"annotations":{"title":"Paint","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn to_2025_06_18() {
    check(Era::V2025_06_18, expect![[r#"
        {"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true},"experimental":{"example/doors":{"count":2}}},"serverInfo":{"name":"house","title":"House","version":"1.2.3"},"instructions":"Knock first."}
        {"name":"paint","title":"Paint","description":"Paints a wall.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"Paint","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"_meta":{"anthropic/alwaysLoad":true}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn to_2025_11_25() {
    check(Era::V2025_11_25, expect![[r#"
        {"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"experimental":{"example/doors":{"count":2}}},"serverInfo":{"name":"house","title":"House","version":"1.2.3","description":"A house.","websiteUrl":"https://example.com","icons":[{"src":"https://example.com/house.svg","sizes":["any"]}]},"instructions":"Knock first."}
        {"name":"paint","title":"Paint","description":"Paints a wall.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"Paint","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"icons":[{"src":"https://example.com/brush.svg"}],"_meta":{"anthropic/alwaysLoad":true}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn to_2026_07_28() {
    check(Era::V2026_07_28, expect![[r#"
        {"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true},"experimental":{"example/doors":{"count":2}}},"instructions":"Knock first.","ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"house","title":"House","version":"1.2.3","description":"A house.","websiteUrl":"https://example.com","icons":[{"src":"https://example.com/house.svg","sizes":["any"]}]}}}
        {"name":"paint","title":"Paint","description":"Paints a wall.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"title":"Paint","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"icons":[{"src":"https://example.com/brush.svg"}],"_meta":{"anthropic/alwaysLoad":true}}"#]]).await;
}
