//! Runs each transcript under `transcripts/` as a test, and checks that none is missing.

use std::path::{Path, PathBuf};

use crate::fresh;

/// Declares a test per transcript: its path without `.md`, and the programs it needs.
macro_rules! transcripts {
    ($($name:ident: $path:literal $(needs $($program:literal),+)?;)*) => {
        const DECLARED: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $name() {
                let programs: &[&str] = &[$($($program),+)?];
                let shows_ghc = programs.contains(&"ghci");
                if programs.iter().all(|program| testkit::has_program(program))
                    && (!shows_ghc || testkit::has_version("ghci", "9.0"))
                {
                    testkit::transcript::check(&dir().join(concat!($path, ".md")), &fresh());
                }
            }
        )*
    };
}

transcripts! {
    mcp: "commands/mcp";
    serve: "commands/serve";
    status: "commands/status";
    eval: "commands/eval";
    stop: "commands/stop";
    call: "commands/call";
    tools: "commands/tools";
    init: "commands/init";
    trust: "commands/trust";
    doctor: "commands/doctor";
    completions: "commands/completions";
    usage: "commands/usage";
    repl_start: "tools/repl_start" needs "ghci";
    repl_eval: "tools/repl_eval" needs "ghci";
    repl_wait: "tools/repl_wait";
    repl_read: "tools/repl_read";
    repl_input: "tools/repl_input" needs "ghci";
    repl_interrupt: "tools/repl_interrupt" needs "ghci";
    repl_reload: "tools/repl_reload" needs "ghci";
    repl_diagnostics: "tools/repl_diagnostics" needs "ghci";
    repl_query: "tools/repl_query" needs "ghci", "cabal";
    repl_restart: "tools/repl_restart" needs "ghci";
    repl_stop: "tools/repl_stop";
    repl_list: "tools/repl_list" needs "python3";
    send_message: "tools/send_message" needs "git";
    check_messages: "tools/check_messages" needs "git";
    wait_for_message: "tools/wait_for_message" needs "git";
    list_agents: "tools/list_agents" needs "git";
    broadcast_message: "tools/broadcast_message" needs "git";
    groups: "tools/groups" needs "git";
    ack_message: "tools/ack_message" needs "git";
    get_thread: "tools/get_thread" needs "git";
    search_messages: "tools/search_messages" needs "git";
    delivery_status: "tools/delivery_status" needs "git";
    register_agent: "tools/register_agent" needs "git";
    analyze_fsm: "tools/analyze_fsm";
    check_project: "tools/check_project";
    compile_cure: "tools/compile_cure";
    format_cure: "tools/format_cure";
    generate_tests: "tools/generate_tests";
    get_ast: "tools/get_ast";
    get_examples: "tools/get_examples";
    get_stdlib_docs: "tools/get_stdlib_docs";
    get_syntax_help: "tools/get_syntax_help";
    parse_cure: "tools/parse_cure";
    run_cure: "tools/run_cure";
    type_check_cure: "tools/type_check_cure";
    validate_syntax: "tools/validate_syntax";
    command_cure: "commands/cure";
    confirm_action: "tools/confirm_action";
    select_option: "tools/select_option";
    request_guidance: "tools/request_guidance";
    ask_form: "tools/ask_form";
    ask_wait: "tools/ask_wait";
    ask_cancel: "tools/ask_cancel";
    ask_list: "tools/ask_list";
    find_callers: "tools/find_callers";
    find_uses: "tools/find_uses";
    show_definition: "tools/show_definition";
    show_fields: "tools/show_fields";
    show_constructors: "tools/show_constructors";
    outline: "tools/outline";
    find_callees: "tools/find_callees";
    find_matches: "tools/find_matches";
    code_status: "tools/code_status";
    command_code: "commands/code";
    teach_graph: "tools/teach-graph";
    scout: "tools/scout";
    command_explore: "commands/explore";
    node_run: "tools/node_run";
    node_check: "tools/node_check";
    node_submit: "tools/node_submit" needs "python3";
    nodes_status: "tools/nodes_status";
    command_node: "commands/node";
    work_brief: "tools/work_brief" needs "git";
    work_status: "tools/work_status" needs "git";
    work_sync: "tools/work_sync" needs "git";
    command_work: "commands/work" needs "git";
    command_brief: "commands/brief" needs "git";
    command_note: "commands/note" needs "git";
    command_questions: "commands/questions";
    command_answer: "commands/answer";
    command_ask: "commands/ask";
    command_send: "commands/send" needs "git";
    command_inbox: "commands/inbox" needs "git";
    command_reply: "commands/reply" needs "git";
    command_wait: "commands/wait" needs "git";
    command_ack: "commands/ack" needs "git";
    command_agents: "commands/agents" needs "git";
    command_group: "commands/group" needs "git";
    command_thread: "commands/thread" needs "git";
    command_search: "commands/search" needs "git";
    command_quickstart: "commands/quickstart" needs "git";
    command_import: "commands/import" needs "git";
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts")
}

#[test]
fn every_transcript_is_declared() {
    let mut found = Vec::new();
    for group in ["commands", "tools"] {
        let entries = std::fs::read_dir(dir().join(group)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        found.extend(names.map(|name| format!("{group}/{}", name.trim_end_matches(".md"))));
    }
    found.sort();
    let mut declared = DECLARED.to_vec();
    declared.sort();
    assert_eq!(found, declared);
}
