//! The pages under `docs/generated/`, which are generated from the declarations of the tools and of the command line and
//! must be up to date.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{all_sets, text};
use crate::fresh;

#[test]
fn the_list_of_tools_is_fresh() {
    let mut page = String::from("# Tools\n\nGenerated from the tools' own declarations; a test proves it fresh.\n");
    for set in all_sets(&fresh()) {
        let _ = writeln!(page, "\n## `hob mcp {}`", set.start);
        for tool in &set.tools {
            let hint = |name: &str| tool["annotations"][name] == true;
            let effect = match () {
                () if hint("readOnlyHint") => "reads only",
                () if hint("destructiveHint") => "may destroy",
                () => "changes something",
            };
            let _ = writeln!(page, "\n### `{}`\n\n{}\n\nIt {effect}.", text(tool, "name"), text(tool, "description"));
            let schema = &tool["inputSchema"];
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let arguments: Vec<String> = schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, schema)| {
                    let must = if required.contains(&json!(name)) { " (required)" } else { "" };
                    format!(
                        "| `{name}`{must} | {} | {} |",
                        kind(schema),
                        text(schema, "description").replace('\n', " ")
                    )
                })
                .collect();
            if !arguments.is_empty() {
                let _ = writeln!(page, "\n| argument | type | what |\n|---|---|---|\n{}", arguments.join("\n"));
            }
        }
    }
    assert_fresh("tools.md", &page);
}

fn kind(schema: &Value) -> String {
    let names = |values: Option<&Vec<Value>>, of: fn(&Value) -> &Value| {
        let names: Vec<&str> = values.into_iter().flatten().filter_map(|value| of(value).as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    names(schema["enum"].as_array(), |value| value)
        .or_else(|| names(schema["oneOf"].as_array(), |value| &value["const"]))
        .or_else(|| schema["type"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "any".to_owned())
}

#[test]
fn the_command_line_s_page_is_fresh() {
    let project = fresh();
    let mut page =
        String::from("# Command line\n\nGenerated from the program's own help; a test proves it fresh.\n\n```text\n");
    let help = project.run(["--help"]).ok();
    // The commands are in groups, between the introduction and the options.
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage: "))
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(commands.contains(&"doctor"), "{help}");
    let _ = writeln!(page, "{}\n```", help.trim_end());
    for command in commands {
        let help = project.run([command, "--help"]).ok();
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let _ = writeln!(page, "\n## `hob {command}`\n\n```text\n{}\n```", help.join("\n"));
    }
    assert_fresh("command-line.md", &page);
}

fn assert_fresh(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated").join(name);
    if std::fs::read_to_string(&path).is_ok_and(|present| present == page) {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page).unwrap();
        return;
    }
    panic!("docs/generated/{name} is stale; UPDATE_EXPECT=1 writes it anew");
}
