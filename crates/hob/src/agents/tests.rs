//! Tables of edits: a file's text before, and after.

use expect_test::{Expect, expect};

use super::*;

const JSON: Format = Format::Jsonc { key: "mcpServers", typed: false };
const VSCODE: Format = Format::Jsonc { key: "servers", typed: true };
const TOML: Format = Format::Toml { table: "mcp_servers" };

fn ours() -> Entry {
    Entry { command: "hob".to_owned(), args: vec!["mcp".to_owned()] }
}

/// Adds our entry, checks that adding twice changes nothing more and that removing it leaves no entry.
fn check(format: Format, before: &str, after: Expect) {
    match format.add(before, &ours()) {
        Ok(Added::Text(text)) => {
            after.assert_eq(&text.replace("\r\n", "<CRLF>\n").replace('\u{feff}', "<BOM>"));
            assert_eq!(format.add(&text, &ours()), Ok(Added::Already));
            assert_eq!(format.entry(&text), Ok(Some(ours())));
            let removed = format.remove(&text).unwrap().unwrap();
            assert_eq!(format.entry(&removed), Ok(None), "{removed}");
        }
        other => after.assert_eq(&format!("{other:?}")),
    }
}

#[test]
fn json_is_made_or_merged() {
    check(
        JSON,
        "",
        expect![[r#"
        {
          "mcpServers": {
            "hob": {
              "command": "hob",
              "args": ["mcp"]
            }
          }
        }
    "#]],
    );
    check(
        JSON,
        "{}\n",
        expect![[r#"
        {
          "mcpServers": {
            "hob": {
              "command": "hob",
              "args": ["mcp"]
            }
          }
        }
    "#]],
    );
    check(
        JSON,
        "{\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }\n    }\n}",
        expect![[r#"
        {
            "mcpServers": {
                "other": { "command": "x" },
                "hob": {
                    "command": "hob",
                    "args": ["mcp"]
                }
            }
        }"#]],
    );
    check(
        JSON,
        "{\"theme\": \"dark\"}",
        expect![[r#"
        {
          "theme": "dark",
          "mcpServers": {
            "hob": {
              "command": "hob",
              "args": ["mcp"]
            }
          }
        }"#]],
    );
    check(
        JSON,
        "{\r\n\t\"a\": [1,\t2]\r\n}\r\n",
        expect![[r#"
        {<CRLF>
        	"a": [1,	2],<CRLF>
        	"mcpServers": {<CRLF>
        		"hob": {<CRLF>
        			"command": "hob",<CRLF>
        			"args": ["mcp"]<CRLF>
        		}<CRLF>
        	}<CRLF>
        }<CRLF>
    "#]],
    );
    check(
        VSCODE,
        "{\n  // mine\n  \"servers\": {\n    /* x */ \"other\": {\"command\": \"x\",},\n  },\n}\n",
        expect![[r#"
        {
          // mine
          "servers": {
            /* x */ "other": {"command": "x",},
            "hob": {
              "type": "stdio",
              "command": "hob",
              "args": ["mcp"],
            },
          },
        }
    "#]],
    );
    check(
        JSON,
        "\u{feff}{}",
        expect![[r#"
            <BOM>{
              "mcpServers": {
                "hob": {
                  "command": "hob",
                  "args": ["mcp"]
                }
              }
            }"#]],
    );
}

#[test]
fn what_is_not_json_is_refused_with_its_position() {
    check(
        JSON,
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        expect![[r#"Err(Syntax { line: 2, column: 9, message: "Expected comma" })"#]],
    );
    check(
        JSON,
        "{\"mcpServers\": {",
        expect![[r#"Err(Syntax { line: 1, column: 16, message: "Unterminated object" })"#]],
    );
    check(JSON, "[]", expect![[r#"Err(Shape("the whole file"))"#]]);
    check(JSON, "{\"mcpServers\": []}", expect![[r#"Err(Shape("mcpServers"))"#]]);
    check(
        TOML,
        "a = \n",
        expect![[
            r#"Err(Syntax { line: 1, column: 5, message: "string values must be quoted, expected literal string" })"#
        ]],
    );
    check(TOML, "mcp_servers = 3\n", expect![[r#"Err(Shape("mcp_servers"))"#]]);
}

#[test]
fn a_foreign_entry_of_our_name_stays() {
    check(JSON, r#"{"mcpServers": {"hob": {"command": "cook", "args": []}}}"#, expect![[r#"Ok(Taken("cook"))"#]]);
    assert_eq!(
        JSON.add(r#"{"mcpServers": {"hob": {"command": "/opt/hob", "args": ["mcp", "repl"]}}}"#, &ours()),
        Ok(Added::Already)
    );
}

#[test]
fn toml_is_made_or_merged() {
    check(
        TOML,
        "",
        expect![[r#"
        [mcp_servers.hob]
        command = "hob"
        args = ["mcp"]
    "#]],
    );
    check(
        TOML,
        "# mine\nmodel = \"o4\" # yes\n\n[mcp_servers.other]\ncommand = \"x\" # keep\n",
        expect![[r##"
        # mine
        model = "o4" # yes

        [mcp_servers.other]
        command = "x" # keep

        [mcp_servers.hob]
        command = "hob"
        args = ["mcp"]
    "##]],
    );
    check(
        TOML,
        "[mcp_servers]\n[mcp_servers.a]\ncommand = 'a'\n\n[z]\nq = 1\n",
        expect![[r#"
        [mcp_servers]
        [mcp_servers.a]
        command = 'a'

        [mcp_servers.hob]
        command = "hob"
        args = ["mcp"]

        [z]
        q = 1
    "#]],
    );
    check(
        TOML,
        "mcp_servers = { a = { command = 'a' } }\n",
        expect![[r#"
        mcp_servers = { a = { command = 'a' } , hob = { command = "hob", args = ["mcp"] } }
    "#]],
    );
    check(
        TOML,
        "a = 1\r\n",
        expect![[r#"
        a = 1<CRLF>
        <CRLF>
        [mcp_servers.hob]<CRLF>
        command = "hob"<CRLF>
        args = ["mcp"]<CRLF>
    "#]],
    );
}
