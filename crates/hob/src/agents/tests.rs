//! Tables of edits: a file's text before and after.

use expect_test::{Expect, expect};

use super::*;

const JSON: Format = json("mcpServers", LAX);
const STRICT: Format = json("mcpServers", Allows::Nothing);
const VSCODE: Format = Format::Json { key: "servers", shape: Shape::Typed, allows: LAX };
const OPENCODE: Format = Format::Json { key: "mcp", shape: Shape::List, allows: LAX };
const TOML: Format = Format::Toml { table: "mcp_servers" };

fn ours() -> Entry {
    Entry::new("hob".to_owned(), &[])
}

/// Adds our entry; checks that adding is idempotent and that removing it leaves no entry.
fn check(format: Format, before: &str, after: Expect) {
    match format.add(before, &ours(), Scope::Project) {
        Ok(Added::Text(text)) => {
            after.assert_eq(&text.replace("\r\n", "<CRLF>\n").replace('\u{feff}', "<BOM>"));
            assert_eq!(format.add(&text, &ours(), Scope::Project), Ok(Added::Already(ours())));
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

/// Shows the verdict on an existing entry under our name, in each scope.
fn check_taken(format: Format, entry: &str, project: Expect, user: Expect) {
    let text = match format {
        Format::Json { key, .. } => format!(r#"{{"{key}": {{"hob": {entry}}}}}"#),
        Format::Toml { table } => format!("[{table}.hob]\n{entry}\n"),
    };
    for (scope, expected) in [(Scope::Project, project), (Scope::User, user)] {
        expected.assert_eq(&match format.add(&text, &ours(), scope) {
            Ok(Added::Taken(entry)) => format!("starts {entry}"),
            Ok(Added::Already(_)) => "Ok(Already)".to_owned(),
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn a_foreign_entry_of_our_name_stays() {
    let cook = || expect!["starts `cook`"];
    check_taken(JSON, r#"{"command": "cook", "args": []}"#, cook(), cook());
}

#[test]
fn a_project_cannot_pass_its_own_program_for_hob() {
    let already = || expect!["Ok(Already)"];
    for harmless in [
        r#"{"command": "hob", "args": ["mcp"]}"#,
        r#"{"command": "hob", "args": ["mcp", "repl,mail"]}"#,
        r#"{"command": "hob", "args": ["mcp", "--profile", "thrum"]}"#,
        r#"{"type": "stdio", "command": "hob", "args": ["mcp"], "env": {}, "timeout": 9}"#,
    ] {
        check_taken(JSON, harmless, already(), already());
    }
    let here = std::env::current_exe().unwrap();
    let text = format!(r#"{{"mcpServers": {{"hob": {{"command": {here:?}, "args": ["mcp"]}}}}}}"#);
    assert!(matches!(JSON.add(&text, &ours(), Scope::Project), Ok(Added::Already(_))));
    check_taken(JSON, r#"{"command": "/opt/hob", "args": ["mcp"]}"#, expect!["starts `/opt/hob mcp`"], already());
    check_taken(JSON, r#"{"command": "./bin/hob", "args": ["mcp"]}"#, expect!["starts `./bin/hob mcp`"], already());
    check_taken(
        JSON,
        r#"{"command": "hob", "args": ["mcp", "--project", "/else where", "--as", "planner", "--takeover", ""]}"#,
        expect![[r#"starts `hob mcp --project "/else where" --as planner --takeover ""`"#]],
        already(),
    );
    check_taken(
        TOML,
        "command = 'hob'\nargs = ['mcp', '--profile', 'thrum', '--as', 'x']",
        expect!["starts `hob mcp --profile thrum --as x`"],
        already(),
    );
    check_taken(TOML, "command = 'hob'", expect!["starts `hob`"], already());
    check_taken(
        VSCODE,
        r#"{"command": "hob", "args": ["mcp"], "env": {"LD_PRELOAD": "./x.so"}, "envFile": ".e", "cwd": "x\u001b[2J"}"#,
        expect!["starts `hob mcp` with `env`, `envFile`, `cwd`"],
        already(),
    );
    check_taken(
        JSON,
        r#"{"command": "hob\u202e", "args": [3]}"#,
        expect![[r#"starts `hob\u{202e} 3`"#]],
        expect![[r#"starts `hob\u{202e} 3`"#]],
    );
    check_taken(
        TOML,
        "command = 'hob'\nargs = ['mcp']\nenv = { LD_PRELOAD = 'x' }",
        expect!["starts `hob mcp` with `env`"],
        already(),
    );
    check_taken(TOML, "command = 'hob'\nargs = ['mcp']\nstartup_timeout_sec = 9", already(), already());
    // If there are two, an agent may use either.
    check_taken(
        JSON,
        r#"{}, "hob": {"command": "./bin/hob"}"#,
        expect![[r#"Err(Twice("hob"))"#]],
        expect![[r#"Err(Twice("hob"))"#]],
    );
    check_taken(
        JSON,
        r#"{"command": "hob", "args": ["mcp"], "comm\u0061nd": "x"}"#,
        expect![[r#"Err(Twice("command"))"#]],
        expect![[r#"Err(Twice("command"))"#]],
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

#[test]
fn an_entry_of_opencode_is_one_list() {
    check(
        OPENCODE,
        "",
        expect![[r#"
        {
          "mcp": {
            "hob": {
              "type": "local",
              "command": ["hob", "mcp"]
            }
          }
        }
    "#]],
    );
    check(
        OPENCODE,
        "{\n  // mine\n  \"model\": \"x/y\",\n  \"mcp\": {\"other\": {\"type\": \"remote\", \"url\": \"http://x\"}},\n}\n",
        expect![[r#"
            {
              // mine
              "model": "x/y",
              "mcp": {
                "other": {"type": "remote", "url": "http://x"},
                "hob": {
                  "type": "local",
                  "command": ["hob", "mcp"]
                }
              },
            }
        "#]],
    );
    let already = || expect!["Ok(Already)"];
    check_taken(OPENCODE, r#"{"type": "local", "command": ["hob", "mcp"], "enabled": true}"#, already(), already());
    check_taken(
        OPENCODE,
        r#"{"type": "local", "command": ["./hob", "mcp"]}"#,
        expect!["starts `./hob mcp`"],
        already(),
    );
    check_taken(
        OPENCODE,
        r#"{"type": "local", "command": ["hob", "mcp"], "cwd": "x"}"#,
        expect!["starts `hob mcp` with `cwd`"],
        already(),
    );
    check_taken(
        OPENCODE,
        r#"{"type": "remote", "url": "http://x"}"#,
        expect![[r#"starts `""` with `type`, `url`"#]],
        expect![[r#"starts `""` with `type`, `url`"#]],
    );
}

#[test]
fn what_allow_wrote_is_still_hobs_entry() {
    let already = || expect!["Ok(Already)"];
    check_taken(JSON, r#"{"command": "hob", "args": ["mcp"], "trust": true}"#, already(), already());
    check_taken(JSON, r#"{"type": "local", "command": "hob", "args": ["mcp"], "tools": ["*"]}"#, already(), already());
    check_taken(TOML, "command = 'hob'\nargs = ['mcp']\ndefault_tools_approval_mode = 'approve'", already(), already());
}

#[test]
fn what_an_agent_cannot_read_is_broken() {
    let commented = "// mine\n{\"mcpServers\": {}}";
    check(STRICT, commented, expect![[r#"Err(Syntax { line: 1, column: 1, message: "Comments are not allowed" })"#]]);
    check(
        STRICT,
        "{\"mcpServers\": {},}",
        expect![[r#"Err(Syntax { line: 1, column: 18, message: "Trailing commas are not allowed" })"#]],
    );
    assert!(matches!(json("mcpServers", Allows::Comments).add(commented, &ours(), Scope::Project), Ok(Added::Text(_))));
    check(
        json("mcpServers", Allows::Comments),
        "{\"mcpServers\": {},}",
        expect![[r#"Err(Syntax { line: 1, column: 18, message: "Trailing commas are not allowed" })"#]],
    );
    for (name, text) in [("claude", commented), ("copilot", commented), ("gemini", "{\"mcpServers\": {},}")] {
        let agent = AGENTS.iter().find(|agent| agent.name == name).unwrap();
        assert!(agent.format(Scope::Project).entry(text).is_err(), "{name}");
    }
}

#[test]
fn mail_is_served_by_what_the_entry_names() {
    let serves = |args: &[&str], by_default: bool| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Entry { command: "hob".to_owned(), args, more: Vec::new() }.serves_mail(by_default)
    };
    assert!(serves(&["mcp"], true) && !serves(&["mcp"], false));
    assert!(serves(&["mcp", "repl,mail"], false) && serves(&["mcp", "all"], false));
    assert!(serves(&["mcp", "--profile", "thrum"], false) && !serves(&["mcp", "--profile", "ghc-mcp"], true));
    assert!(!serves(&["mcp", "repl"], true));
}
