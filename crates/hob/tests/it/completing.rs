//! Shell completion: the script of `hob completions` in a real bash.

use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// Returns the completions that bash offers after these words, the unfinished one last.
fn offered(project: &TestProject, words: &[&str]) -> Vec<String> {
    let script = "source <(hob completions bash); COMP_WORDS=(hob \"$@\"); COMP_CWORD=$#; \
                  _hob_or_asked hob \"${@: -1}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let ran = Ran::run(project.command("bash").args(["-c", script, "bash"]).args(words));
    ran.ok().lines().map(str::to_owned).collect()
}

/// Types a line and a tab into a bash at a terminal, and returns the words of the completed line.
const TYPED: &str = r#"
import os, pty, signal, sys
signal.alarm(300)
pid, tty = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def until(text):
    seen = b""
    while text not in seen:
        seen += os.read(tty, 4096)
    return seen
os.write(tty, b"source <(hob completions bash); PS1='rea''dy'\n")
until(b"ready")
# Back to the beginning of the line, to show it instead of running it.
os.write(tty, sys.argv[1].encode() + b"\tEND\x01printf '<%s>' \n")
print(until(b"END>").decode().partition("<hob>")[2].partition("END>")[0] + "END>")
"#;

fn typed(project: &TestProject, line: &str) -> String {
    let ran = Ran::run(project.command("python3").args(["-c", TYPED, line]).env("TERM", "dumb"));
    ran.ok().trim_end().replace("><", " ")
}

#[test]
fn at_a_terminal_what_stands_behind_a_colon_too() {
    if !has_program("bash") || !has_program("python3") {
        return;
    }
    let project = fresh();
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["group", "--as", "planner", "create", "backend"]).ok();
    project.run(["group", "--as", "planner", "create", "backstage"]).ok();
    assert_eq!(typed(&project, "hob send --to gr"), "<send --to group:backEND>");
    assert_eq!(typed(&project, "hob send --to group:backe"), "<send --to group:backend END>");
    assert_eq!(typed(&project, "hob send --to group:"), "<send --to group:backEND>");
    assert_eq!(typed(&project, "hob send 'is: it' --to role:"), "<send is: it --to role:lead END>");
    assert_eq!(typed(&project, "hob send a:b --to role:l"), "<send a:b --to role:lead END>");
    assert_eq!(typed(&project, "hob call repl_e"), "<call repl_eval END>");
}

#[test]
fn commands_tools_and_whom_to_write_to() {
    if !has_program("bash") {
        return;
    }
    let project = fresh();
    let commands = offered(&project, &[""]);
    assert!(commands.iter().any(|word| word == "send"), "{commands:?}");
    assert!(!commands.iter().any(|word| word == "complete" || word == "guardian"), "{commands:?}");
    assert_eq!(offered(&project, &["call", "repl_e"]), ["repl_eval"]);
    project.run(["quickstart", "--name", "planner", "--role", "lead"]).ok();
    project.run(["group", "--as", "planner", "create", "backend"]).ok();
    assert_eq!(
        offered(&project, &["send", "hello", "--to", ""]),
        ["planner", "everyone", "group:backend", "role:lead"]
    );
    assert_eq!(offered(&project, &["send", "--to", "gr"]), ["group:backend"]);
    assert_eq!(offered(&project, &["mcp", "--profile", ""]), ["ghc-mcp", "thrum", "cure"]);
}
