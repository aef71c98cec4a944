//! What a shell offers next: the script of `hob completions`, in a real bash.

use testkit::{Ran, TestProject, has_program};

use crate::fresh;

/// What bash offers after these words, the unfinished one last.
fn offered(project: &TestProject, words: &[&str]) -> Vec<String> {
    let script = "source <(hob completions bash); COMP_WORDS=(hob \"$@\"); COMP_CWORD=$#; \
                  _hob_or_asked hob \"${@: -1}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let ran = Ran::of(project.command("bash").args(["-c", script, "bash"]).args(words));
    ran.ok().lines().map(str::to_owned).collect()
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
