//! Beginning, end, errors, cancellation, garbage, encodings.

use expect_test::expect;
use serde_json::{Value, json};

use super::{Editor, directory};
use crate::lsp::documents::uri_of;

#[test]
fn a_conversation_has_a_beginning_and_an_end() {
    let (_dir, root) = directory(&[]);
    let mut early = Editor::silent();
    assert_eq!(early.request("textDocument/hover", json!({}))["error"]["code"], -32002);
    early.notify("textDocument/didOpen", json!({ "strange": 1 }));
    assert_eq!(early.request("shutdown", Value::Null)["error"]["code"], -32002);
    early.notify("exit", Value::Null);
    assert!(!early.server.take().unwrap().join().unwrap(), "exit without shutdown");

    let (mut editor, capabilities) = Editor::in_directory(&root, json!({}));
    expect![[r#"
        {
          "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {
              "openClose": true,
              "change": 2,
              "save": true
            },
            "hoverProvider": true,
            "definitionProvider": true,
            "documentFormattingProvider": true,
            "completionProvider": {
              "triggerCharacters": [
                "."
              ]
            }
          },
          "serverInfo": {
            "name": "hob cure lsp",
            "version": "[version]"
          }
        }"#]]
    .assert_eq(&format!("{capabilities:#}").replace(env!("CARGO_PKG_VERSION"), "[version]"));
    assert_eq!(editor.request("initialize", json!({}))["error"]["code"], -32600);
    assert_eq!(editor.request("textDocument/rename", json!({}))["error"]["code"], -32601);
    assert_eq!(editor.request("$/strange", json!({}))["error"]["code"], -32601);
    editor.notify("$/setTrace", json!({ "value": "off" }));
    editor.notify("workspace/didChangeConfiguration", json!({ "settings": {} }));
    assert_eq!(editor.request("textDocument/hover", json!({ "textDocument": 7 }))["error"]["code"], -32602);
    let place = json!({ "textDocument": { "uri": "file:///none.cure" }, "position": { "line": 0, "character": 0 } });
    let said = editor.request("textDocument/hover", place);
    assert_eq!(said["error"]["code"], -32602);
    assert!(said["error"]["message"].as_str().unwrap().contains("didOpen"), "{said}");
    assert_eq!(editor.request("shutdown", Value::Null)["result"], Value::Null);
    assert_eq!(editor.request("textDocument/hover", json!({}))["error"]["code"], -32600);
    editor.notify("exit", Value::Null);
    assert!(editor.server.take().unwrap().join().unwrap());

    // An editor that is gone says nothing.
    let (mut gone, _) = Editor::in_directory(&root, json!({}));
    drop(gone.to.take());
    assert!(!gone.server.take().unwrap().join().unwrap());
}

#[test]
fn garbage_is_survived() {
    let (_dir, root) = directory(&[]);
    let (mut editor, _) = Editor::in_directory(&root, json!({}));
    let framed = |bytes: &[u8]| [format!("Content-Length: {}\r\n\r\n", bytes.len()).as_bytes(), bytes].concat();
    for (garbage, code) in [
        (framed(b"not json"), -32700),
        (framed(b"\xff\xfe"), -32700),
        (framed("[".repeat(10_000).as_bytes()), -32700),
        (framed(b"[]"), -32600),
        (framed(b"7"), -32600),
        (framed(b"{}"), -32600),
        (framed(b"{\"id\": {}, \"method\": \"x\"}"), -32600),
        (b"Content-Length: many\r\n\r\n".to_vec(), -32700),
        (b"\xff\xfe nothing of the kind\r\n\r\n".iter().copied().chain(framed(b"{")).collect(), -32700),
    ] {
        editor.send_bytes(&garbage);
        let said = editor.wait(|message| message["id"].is_null() && message.get("method").is_none());
        assert_eq!(said["error"]["code"], code, "{:?}: {said}", String::from_utf8_lossy(&garbage));
    }
    editor.send(&json!({ "jsonrpc": "2.0", "id": "text", "method": "shutdown" }));
    assert_eq!(editor.wait(|message| message["id"] == "text")["result"], Value::Null);
    editor.notify("exit", Value::Null);
    assert!(editor.server.take().unwrap().join().unwrap());
}

#[test]
fn a_request_that_waits_can_be_cancelled() {
    let (_dir, root) = directory(&[]);
    let (mut editor, _) = Editor::in_directory(&root, json!({}));
    let path = root.join("a.cure");
    // The server is busy with this one while the others arrive.
    let items: String = (0..3_000).map(|at| format!("  def f{at}(n: Int): Int = n + {at}\n")).collect();
    editor.open(&path, &format!("module A do\n{items}end\n"));
    let place = json!({ "textDocument": { "uri": uri_of(&path) }, "position": { "line": 1, "character": 9 } });
    let ids: Vec<i64> = (0..50).map(|_| editor.ask("textDocument/hover", place.clone())).collect();
    ids.iter().rev().for_each(|id| editor.notify("$/cancelRequest", json!({ "id": id })));
    // Every request has one answer: a value or a cancellation. Cancelling an unknown request has no effect.
    editor.notify("$/cancelRequest", json!({ "id": 4711 }));
    editor.notify("$/cancelRequest", json!({ "id": ids[0] }));
    let answers: Vec<Value> = ids.iter().map(|id| editor.wait(|message| message["id"] == *id)).collect();
    assert!(answers.iter().all(|one| one["error"]["code"] == -32800 || one["result"]["contents"].is_object()));
    assert_eq!(answers.last().unwrap()["error"]["code"], -32800);
    assert!(editor.request("textDocument/hover", place)["result"].is_object());
    assert!(editor.end());
}

#[test]
fn characters_are_counted_as_the_editor_counts_them() {
    let text = "module T do\n  def f(): String = \"😀ž\" <> 1\nend\n";
    for (capabilities, encoding, column) in [
        (json!({}), "utf-16", 29),
        (json!({ "general": { "positionEncodings": ["utf-32", "utf-16"] } }), "utf-16", 29),
        (json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } }), "utf-8", 32),
        (json!({ "general": { "positionEncodings": null }, "workspace": 7 }), "utf-16", 29),
    ] {
        let (_dir, root) = directory(&[]);
        let (mut editor, capabilities) = Editor::in_directory(&root, capabilities);
        assert_eq!(capabilities["capabilities"]["positionEncoding"], encoding);
        let path = root.join("t.cure");
        editor.open(&path, text);
        let said = editor.diagnostics(&path);
        assert!(said.contains(&format!("1:{column}-1:{} 1 C0301", column + 1)), "{encoding}: {said}");
        // The same for the editor's messages.
        editor.edit(&path, 2, 1, column, column + 1, "\"x\"");
        assert_eq!(editor.diagnostics(&path), "version 2\n");
        assert!(editor.end());
    }
}

#[test]
fn an_editor_that_can_watch_files_is_asked_to() {
    let (_dir, root) = directory(&[("base.cure", "module Base do\n  def one(): Int = 1\nend\n")]);
    let watching = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let (mut editor, _) = Editor::in_directory(&root, watching);
    let asked = editor.wait(|message| message["method"] == "client/registerCapability");
    assert_eq!(asked["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null }));
    let path = root.join("user.cure");
    editor.open(&path, "module User do\n  import Base\n  def f(): Int = one()\nend\n");
    assert_eq!(editor.diagnostics(&path), "version 1\n");
    std::fs::write(root.join("base.cure"), "module Base do\n  def two(): Int = 2\nend\n").unwrap();
    let changes = json!([{ "uri": uri_of(&root.join("base.cure")), "type": 2 }]);
    editor.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    assert!(editor.diagnostics(&path).contains("`one` is not defined"));
    assert!(editor.end());
}
