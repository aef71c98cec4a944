//! Runs each transcript under `transcripts/` as a test, checks that none is missing, and validates the results of tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fresh;
use crate::whole_set::{check_result, list, text};

/// Declares a test per transcript, in groups of one folder and the programs that they need.
macro_rules! transcripts {
    ($($folder:literal $(needs $($program:literal),+)?: $($name:ident)+;)*) => {
        /// The folders and names of the transcripts.
        const DECLARED: &[&[(&str, &str)]] = &[$(&[$(($folder, stringify!($name))),+]),*];
        $(transcripts! { @group $folder, &[$($($program),+)?], $($name)+ })*
    };
    (@group $folder:literal, $programs:expr, $($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                check($folder, stringify!($name), $programs);
            }
        )+
    };
}

transcripts! {
    "commands":
        answer ask call code code_trust completions configuration cure eval hooks mcp node plugins
        policy questions serve status stop tools trust usage;
    "commands" needs "git":
        ack agents brief explore group hooks_worktree import inbox init init_cases note quickstart reply search send
        thread wait work;
    "commands" needs "python3":
        doctor sandbox;
    "tools":
        analyze_fsm ask_cancel ask_form ask_list ask_wait check_project code_status compile_cure confirm_action
        find_callees find_callers find_matches find_uses format_cure generate_tests get_ast get_examples
        get_stdlib_docs get_syntax_help node_check node_run nodes_status outline parse_cure repl_read repl_stop
        repl_wait request_guidance run_cure scout select_option show_constructors show_definition show_fields
        teach_graph type_check_cure validate_syntax;
    "tools" needs "git":
        ack_message broadcast_message check_messages delivery_status get_thread groups list_agents
        register_agent search_messages send_message wait_for_message work_brief work_status work_sync;
    "tools" needs "python3":
        node_submit repl_list;
    "tools" needs "ghci":
        repl_diagnostics repl_eval repl_input repl_interrupt repl_reload repl_restart repl_start;
    "tools" needs "ghci", "cabal":
        repl_query;
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts")
}

/// Returns the file of a transcript.
pub(crate) fn transcript(folder: &str, name: &str) -> PathBuf {
    dir().join(folder).join(format!("{}.md", name.replace('-', "_")))
}

/// Runs a transcript if its programs are installed.
fn check(folder: &str, name: &str, programs: &[&str]) {
    let shows_ghc = programs.contains(&"ghci");
    if programs.iter().all(|program| testkit::has_program(program))
        && (!shows_ghc || testkit::has_version("ghci", "9.0"))
    {
        testkit::transcript::check(&transcript(folder, name), &fresh());
        if folder == "tools" {
            check_results(name);
        }
    }
}

/// A program in place of hob that prints the structured result of each call of a tool, and stores it.
const RECORDING: &str = r#"#!/bin/sh
case "$1 $2" in
"call "[a-z]*) HOB "$@" --json | tee -a "RESULTS/$2" ;;
*) exec HOB "$@" ;;
esac
"#;

/// Runs a tool's transcript again, and validates the results of all calls with the declared schemas, as strict clients do.
fn check_results(name: &str) {
    let project = fresh();
    let (hob, results) = (project.top().join("bin/hob"), project.top().join("results"));
    fs::create_dir(&results).unwrap();
    fs::remove_file(&hob).unwrap();
    let script = RECORDING.replace("HOB", env!("CARGO_BIN_EXE_hob"));
    fs::write(&hob, script.replace("RESULTS", &results.display().to_string())).unwrap();
    fs::set_permissions(&hob, fs::Permissions::from_mode(0o755)).unwrap();
    testkit::transcript::play(&fs::read_to_string(transcript("tools", name)).unwrap(), &project);
    let mut peer = project.mcp(&["all"]);
    peer.initialize();
    let mut count = 0;
    for tool in list(&mut peer) {
        let tool_name = text(&tool, "name");
        let recorded = fs::read_to_string(results.join(tool_name)).unwrap_or_default();
        for result in serde_json::Deserializer::from_str(&recorded).into_iter::<Value>() {
            let result = result.unwrap_or_else(|error| panic!("{error}: {recorded}"));
            // A refused call has only an error.
            if result.as_object().is_none_or(|fields| fields.len() > 1 || !fields.contains_key("error")) {
                check_result(&tool, &result);
                count += usize::from(tool_name.replace('-', "_") == name);
            }
        }
    }
    assert!(count > 0, "no call of {name} had a result");
}

#[test]
fn every_transcript_is_declared() {
    let mut found = Vec::new();
    for folder in ["commands", "tools"] {
        let entries = fs::read_dir(dir().join(folder)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        found.extend(names.map(|name| (folder, name.trim_end_matches(".md").to_owned())));
    }
    found.sort();
    let mut declared: Vec<(&str, String)> =
        DECLARED.concat().iter().map(|(folder, name)| (*folder, (*name).to_owned())).collect();
    declared.sort();
    assert_eq!(found, declared);
}
