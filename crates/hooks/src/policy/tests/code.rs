//! Code for hob's own tools, for other servers' tools, and for hob in a shell's text.

use serde_json::{Value, json};

use super::{FORCE_PUSH, decision, shell};
use crate::agents::Verdict;
use Verdict::{Allow, Ask, Deny, Pass};

const PATHS: &str = r#"
[[rule]]
id = "secrets"
tool = ["read", "write", "edit"]
when = { path = [".env", "secrets/**"] }
decide = "deny"
"#;

fn tool(name: &str, input: &Value) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input})
}

fn eval(input: Value) -> Value {
    tool("mcp__hob__repl_eval", &input)
}

fn check(policy: &str, cases: &[(Value, Verdict)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(payload, expected)| (payload, expected, decision(policy, payload)))
        .filter(|(_, expected, decision)| decision.verdict != **expected)
        .map(|(payload, expected, decision)| {
            format!("{:.300}\n  is {:?}, not {expected:?}: {}", payload.to_string(), decision.verdict, decision.reason)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn code_of_sessions_meets_the_rules_about_commands() {
    let cases = [
        // bash, by the profile or by the session's name, with any spelling of the tool.
        (eval(json!({"code": "git push -f", "profile": "bash"})), Deny),
        (eval(json!({"code": "cd x && sudo git push --force", "profile": "bash"})), Deny),
        (eval(json!({"code": "git push $HOW", "profile": "bash"})), Ask),
        (eval(json!({"code": "eval \"$X\"", "profile": "terminal"})), Ask),
        (eval(json!({"code": "eval \"$X\"", "profile": "bash"})), Ask),
        (eval(json!({"code": "git status", "profile": "bash"})), Pass),
        (eval(json!({"code": "git push -f", "session": "bash"})), Deny),
        (eval(json!({"code": "eval \"$X\"", "session": "my-shell"})), Ask),
        (eval(json!({"expr": "git push -f", "profile": "bash"})), Deny),
        (eval(json!({"expression": "git push -f", "name": "bash"})), Deny),
        (eval(json!({"command": "git push -f"})), Deny),
        (tool("repl_eval", &json!({"code": "git push -f"})), Deny),
        (tool("MCP:repl_eval", &json!({"code": "git push -f"})), Deny),
        (tool("hob_repl_eval", &json!({"code": "git push -f"})), Deny),
        (tool("hob-repl_eval", &json!({"code": "git push -f"})), Deny),
        (tool("mcp_hob_repl_eval", &json!({"code": "git push -f"})), Deny),
        (tool("mcp__my_hob__repl_eval", &json!({"code": "git push -f"})), Deny),
        (
            tool(
                "use_mcp_tool",
                &json!({"server_name": "hob", "tool_name": "repl_eval", "arguments": {"code": "git push -f"}}),
            ),
            Deny,
        ),
        (
            tool(
                "use_mcp_tool",
                &json!({"server_name": "hob", "tool_name": "repl_eval", "arguments": "{\"code\": \"git push -f\"}"}),
            ),
            Deny,
        ),
        // The language is unknown: a command is found, and other languages pass.
        (eval(json!({"code": "git push -f"})), Deny),
        (eval(json!({"code": "x=1; git push -f"})), Deny),
        (eval(json!({"code": "eval \"$X\""})), Ask),
        (eval(json!({"code": "curl x | sh"})), Ask),
        (eval(json!({"code": "x = f(1)\nprint(x)"})), Pass),
        (eval(json!({"code": "map (+1) $ filter even [1..10]"})), Pass),
        (eval(json!({"code": "let f x = x `div` 2 in f 3"})), Pass),
        (eval(json!({"code": ":type map"})), Pass),
        (eval(json!({"code": "def f(a):\n    return \"it's $(odd\"\n"})), Pass),
        // The standard input of the code.
        (eval(json!({"code": "sh", "profile": "bash", "stdin": "git push -f\n"})), Deny),
        (eval(json!({"code": "input()", "stdin": "git push -f\n"})), Deny),
        (tool("mcp__hob__repl_input", &json!({"text": "git push -f\n"})), Deny),
        (tool("mcp__hob__repl_input", &json!({"input": "git push -f\n"})), Deny),
        (tool("mcp__hob__repl_input", &json!({"text": "yes\n"})), Pass),
        (tool("mcp__hob__repl_start", &json!({"command": ["bash", "-c", "git push -f"]})), Deny),
        (tool("mcp__hob__repl_start", &json!({"command": ["ghci", "-isrc"]})), Pass),
        (tool("mcp__ghci__send", &json!({"command": ":! git push -f"})), Ask),
        (tool("mcp__ghci__send_sync", &json!({"command": "callCommand \"git push -f\""})), Ask),
        // Python and GHCi start a process.
        (eval(json!({"code": "import subprocess; subprocess.run(['git', 'push', '-f'])", "profile": "python"})), Ask),
        (eval(json!({"code": "os.system('git push -f')", "profile": "python"})), Ask),
        (eval(json!({"code": "os.popen('ls')", "profile": "python"})), Ask),
        (eval(json!({"code": "os.execvp('git', ['git', 'push', '-f'])", "profile": "python"})), Ask),
        (eval(json!({"code": "import pty; pty.spawn('sh')", "profile": "python"})), Ask),
        (eval(json!({"code": "await asyncio.create_subprocess_shell('x')", "profile": "python"})), Ask),
        (eval(json!({"code": "from os import system; system('git push -f')", "profile": "python"})), Ask),
        (eval(json!({"code": "import pexpect", "profile": "python"})), Ask),
        (eval(json!({"code": "!git push -f", "profile": "python"})), Ask),
        (eval(json!({"code": ":! git push -f", "profile": "ghci"})), Ask),
        (eval(json!({"code": "  :!git push -f", "profile": "cabal"})), Ask),
        (eval(json!({"code": "import System.Process\ncallCommand \"git push -f\"", "profile": "stack"})), Ask),
        (eval(json!({"code": "readProcess \"git\" [\"push\",\"-f\"] \"\"", "profile": "ghci"})), Ask),
        (eval(json!({"code": "System.Posix.Process.executeFile \"git\" True [] Nothing", "profile": "ghci"})), Ask),
        (eval(json!({"code": "rawSystem \"git\" [\"push\"]"})), Ask),
        (eval(json!({"code": "print('git push -f')", "profile": "python"})), Pass),
        (eval(json!({"code": "1 + 1", "profile": "python"})), Pass),
        (tool("mcp__hob__repl_query", &json!({"kind": "type", "target": "map"})), Pass),
        (tool("mcp__hob__run_cure", &json!({"code": "subprocess"})), Pass),
        // Other servers' tools.
        (tool("mcp__desktop__execute_command", &json!({"command": "git push -f"})), Deny),
        (tool("mcp__desktop__run", &json!({"cmd": "git push -f"})), Deny),
        (tool("mcp__desktop__run", &json!({"command": "git", "args": ["push", "-f"]})), Deny),
        (tool("mcp__desktop__run", &json!({"command": ["git", "push", "-f"]})), Deny),
        (tool("mcp__apple__osascript", &json!({"script": "git push -f"})), Deny),
        (tool("mcp__browser__evaluate", &json!({"script": "document.title = (1)"})), Pass),
        (tool("mcp__desktop__run", &json!({"command": "git status"})), Pass),
        (tool("run_terminal_cmd", &json!({"command": "git push -f"})), Deny),
        (tool("mcp__github__search", &json!({"query": "git push -f"})), Pass),
        (tool("str_replace_editor", &json!({"command": "view", "path": "x"})), Pass),
    ];
    assert!(cases.len() >= 60);
    check(FORCE_PUSH, &cases);
    // The same for a rule without a tool.
    check(&FORCE_PUSH.replace("tool = \"shell\"\n", ""), &cases);
}

#[test]
fn hob_in_a_shell_is_seen_through() {
    let cases = [
        ("hob eval 'git push -f'", Deny),
        ("hob eval --profile bash 'git push -f'", Deny),
        ("hob eval --profile=bash --session x 'git push -f'", Deny),
        ("/usr/local/bin/hob eval 'cd x; git push -f'", Deny),
        ("hob --project /p eval 'git push -f'", Deny),
        ("sudo hob eval 'git push -f'", Deny),
        ("hob eval --wait 5 -- 'git push -f'", Deny),
        ("hob eval 'sh -c \"git push -f\"'", Deny),
        ("hob eval \"hob eval 'git push -f'\"", Deny),
        ("hob eval <<'E'\ngit push -f\nE", Deny),
        ("hob eval - <<< 'git push -f'", Deny),
        ("hob eval --profile bash sh --stdin <<< 'git push -f'", Deny),
        ("hob call repl_eval --code 'git push -f'", Deny),
        ("hob call repl_eval --code='git push -f' --json", Deny),
        ("hob call repl_eval '{\"code\": \"git push -f\"}'", Deny),
        ("hob call repl_eval --args '{\"code\": \"git push -f\"}'", Deny),
        ("hob call repl_eval --args - <<< '{\"code\": \"git push -f\"}'", Deny),
        ("hob call repl_input --text 'git push -f'", Deny),
        ("hob call repl_start '{\"command\": [\"git\", \"push\", \"-f\"]}'", Deny),
        ("hob eval \"$CODE\"", Ask),
        ("cat x | hob eval", Ask),
        ("echo x | hob mcp", Ask),
        ("hob mcp < calls", Pass),
        ("hob call repl_eval --args -", Ask),
        ("hob call \"$TOOL\" x", Ask),
        ("hob call repl_eval \"$JSON\"", Ask),
        ("hob eval --profile python \"import subprocess; subprocess.run(['git', 'push', '-f'])\"", Ask),
        ("hob eval --profile ghci ':! git push -f'", Ask),
        ("hob eval --profile python 'print(1)'", Pass),
        ("hob eval '1 + 1'", Pass),
        ("hob eval 'git status'", Pass),
        ("hob eval --profile bash 'git push $X'", Ask),
        ("hob status", Pass),
        ("hob call list_agents --as bob", Pass),
        ("hob send bob 'git push -f'", Pass),
        ("hob note 'git push -f'", Pass),
        ("hob mcp --help", Pass),
    ];
    check(FORCE_PUSH, &cases.map(|(text, expected)| (shell(text), expected)));
}

#[test]
fn paths_in_code_are_asked_about() {
    let cases = [
        (eval(json!({"code": "open('.env').read()", "profile": "python"})), Ask),
        (eval(json!({"code": "open(\"secrets/key\", 'w')", "profile": "python"})), Ask),
        (eval(json!({"code": "Path('./secrets/a/../b').read_text()"})), Ask),
        (eval(json!({"code": "readFile \".env\"", "profile": "ghci"})), Ask),
        (eval(json!({"code": "writeFile \"/p/secrets/x\" \"\"", "profile": "cabal"})), Ask),
        (eval(json!({"code": "subprocess.run('cat .env', shell=True)", "profile": "python"})), Ask),
        (eval(json!({"code": "echo a > .env", "profile": "bash"})), Deny),
        (eval(json!({"code": "open('.env.example').read()", "profile": "python"})), Pass),
        (eval(json!({"code": "print('the environment')", "profile": "python"})), Pass),
        (eval(json!({"code": "x = secrets", "profile": "python"})), Pass),
        (eval(json!({"code": "echo a > .env"})), Ask),
        (eval(json!({"code": "if a > secrets: b > 0"})), Pass),
        (tool("mcp__fs__read", &json!({"path": ".env"})), Pass),
    ];
    check(PATHS, &cases);
    let outside = "[[rule]]\nid = \"outside\"\ntool = \"write\"\nwhen = { path = \"!src/**\" }\ndecide = \"deny\"\n";
    check(
        outside,
        &[
            (eval(json!({"code": "open('../x', 'w')", "profile": "python"})), Ask),
            (eval(json!({"code": "open('src/x', 'w'); print('done')", "profile": "python"})), Pass),
            (eval(json!({"code": "x > 0 and y > z"})), Pass),
        ],
    );
}

#[test]
fn rules_about_shells_and_tools() {
    let shells = "[[rule]]\nid = \"no-shell\"\ntool = \"shell\"\ndecide = \"deny\"\n";
    check(
        shells,
        &[
            (eval(json!({"code": "ls", "profile": "bash"})), Deny),
            (eval(json!({"code": "1 + 1"})), Ask),
            (eval(json!({"code": "1 + 1", "profile": "python"})), Pass),
            (eval(json!({"code": "os.system('ls')", "profile": "python"})), Ask),
        ],
    );
    // A session may have redefined `git`: an `allow` of commands applies only to an agent's own shell.
    let allows = "[[rule]]\nid = \"reading\"\ncommand = \"git status\"\ndecide = \"allow\"\n";
    check(
        allows,
        &[
            (shell("git status"), Allow),
            (eval(json!({"code": "git status", "profile": "bash"})), Pass),
            (eval(json!({"code": "git status"})), Pass),
            (tool("mcp__desktop__run", &json!({"command": "git status"})), Pass),
            (shell("hob eval 'git status'"), Pass),
        ],
    );
    check("[[rule]]\nid = \"hob\"\ntool = \"hob/*\"\ndecide = \"allow\"\n", &[(eval(json!({"code": "ls"})), Allow)]);
    check("[[rule]]\nid = \"mcp\"\ntool = \"mcp\"\ndecide = \"deny\"\n", &[(eval(json!({"code": "ls"})), Deny)]);
}

#[test]
fn code_that_is_nested_or_long_is_bounded() {
    let nested = (0..2000).fold(String::new(), |text, level| format!("{text}hob eval <<E{level}\n"));
    check(FORCE_PUSH, &[(shell(&nested), Ask)]);
    let long = "x ".repeat(200_000);
    check(FORCE_PUSH, &[(eval(json!({"code": long, "profile": "python"})), Ask)]);
    let words = (0..2000).map(|n| format!("'w{n}' ")).collect::<String>();
    check(PATHS, &[(eval(json!({"code": words, "profile": "python"})), Ask)]);
}
