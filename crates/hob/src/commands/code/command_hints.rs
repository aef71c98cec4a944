//! Rewrites suggested tool calls into the short commands that a person types. Only hob's own lines of an answer are rewritten,
//! never the code in it.

use serde_json::{Deserializer, Map, Value};

use crate::commands::call::flags::quoted;

/// The command of each tool, and the argument that it takes without a flag.
const COMMANDS: [(&str, &str, &str); 9] = [
    ("find_callers", "callers", "name"),
    ("find_uses", "uses", "name"),
    ("find_callees", "callees", "name"),
    ("find_matches", "matches", "type_name"),
    ("show_definition", "def", "name"),
    ("show_fields", "fields", "type_name"),
    ("show_constructors", "constructors", "type_name"),
    ("outline", "outline", "path"),
    ("code_status", "code status", ""),
];

/// The flags whose names differ from the argument's.
const FLAGS: [(&str, &str); 4] =
    [("max_results", "max"), ("max_bytes", "max"), ("context_lines", "context"), ("classes", "class")];

/// Other terms that differ.
const WORDS: [(&str, &str); 5] = [
    (" bytes (max_bytes);", " bytes (`--max`);"),
    ("does not define (external)", "does not define (`--external`)"),
    ("leave out `path`", "leave out `--path`"),
    ("name a folder or file, or `match`", "name a folder or file, or `--match`"),
    ("`hob code restart` or code_status with restart", "`hob code restart`"),
];

/// Rewrites a tool's result.
pub(in crate::commands) fn result(result: &mut Value) {
    let is_error = result["isError"] == true;
    for block in result["content"].as_array_mut().into_iter().flatten() {
        let text = block["text"].as_str().unwrap_or_default();
        let line = |(number, line): (usize, &str)| {
            if is_error || is_own(number, line) { in_commands(line) } else { line.to_owned() }
        };
        block["text"] = text.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n").into();
    }
}

/// True if a line of an answer is hob's own: the certainty, or a suggestion.
fn is_own(number: usize, line: &str) -> bool {
    let counts = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with(" more: ")
    };
    let begins = ["cut after ", "more than ", "  no variants", "incomplete: "];
    number == 0 || counts(line) || begins.iter().any(|begin| line.starts_with(begin))
}

/// Replaces tool names in a sentence with commands.
fn in_commands(text: &str) -> String {
    let text = WORDS.iter().fold(text.to_owned(), |text, (said, shown)| text.replace(said, shown));
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '/' || c == '.';
    let (mut out, mut rest) = (String::with_capacity(text.len()), &*text);
    while let Some((at, (tool, command, first))) = next(rest) {
        let (before, after) = (&rest[..at], &rest[at + tool.len()..]);
        let mut values = Deserializer::from_str(after.strip_prefix(' ').unwrap_or_default()).into_iter();
        let given: Option<Map<String, Value>> =
            if after.starts_with(" {") { values.next().and_then(Result::ok) } else { None };
        // The word may also be a name in the project.
        let is_named = before.ends_with(is_of_name) || before.ends_with('`');
        let is_meant =
            !is_named && (given.is_some() || [" shows", " lists", " of `"].iter().any(|next| after.starts_with(next)));
        out.push_str(before);
        rest = after;
        if !is_meant {
            out.push_str(tool);
            continue;
        }
        let words = given.as_ref().map(|given| render_arguments(given, first)).unwrap_or_default();
        out.push_str(&format!("`hob {command}{words}`"));
        if given.is_some() {
            rest = &after[" ".len() + values.byte_offset()..];
        }
    }
    out + rest
}

/// Finds the next tool name in a text.
fn next(text: &str) -> Option<(usize, (&'static str, &'static str, &'static str))> {
    COMMANDS.iter().filter_map(|command| Some((text.find(command.0)?, *command))).min_by_key(|(at, _)| *at)
}

/// Renders arguments as words after a command.
fn render_arguments(given: &Map<String, Value>, first: &str) -> String {
    let text = |value: &Value| quoted(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let mut words: Vec<String> = given.get(first).map(text).into_iter().collect();
    for (name, value) in given.iter().filter(|(name, _)| *name != first) {
        let flag = FLAGS.iter().find(|(argument, _)| argument == name).map_or(name.as_str(), |(_, flag)| flag);
        let flag = format!("--{}", flag.replace('_', "-"));
        match value {
            Value::Bool(false) | Value::Null => {}
            Value::Bool(true) => words.push(flag),
            Value::Array(all) => words.extend(all.iter().flat_map(|one| [flag.clone(), text(one)])),
            value => words.extend([flag, text(value)]),
        }
    }
    words.iter().map(|word| format!(" {word}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hints_name_commands() {
        for (said, shown) in [
            (
                "7 more: a.rs 7. For one file: find_callers {\"name\":\"my area\",\"path\":\"a.rs\",\"max_results\":9}",
                "7 more: a.rs 7. For one file: `hob callers 'my area' --path a.rs --max 9`",
            ),
            (
                "7 more: find_callees {\"name\":\"area\",\"external\":false,\"max_results\":9}",
                "7 more: `hob callees area --max 9`",
            ),
            (
                "`area` is not defined in this project; find_uses shows where it is used",
                "`area` is not defined in this project; `hob uses` shows where it is used",
            ),
            ("there is no `outline` here; outline lists more", "there is no `outline` here; `hob outline` lists more"),
            (
                "the outline of it, my_find_uses shows, src/find_uses.rs",
                "the outline of it, my_find_uses shows, src/find_uses.rs",
            ),
            ("`show_fields` is a.rs:3 function show_fields", "`show_fields` is a.rs:3 function show_fields"),
            ("find_uses of `Tup` where it is made", "`hob uses` of `Tup` where it is made"),
            ("a.rs is a file; outline {\"path\":\"a.rs\"} lists it", "a.rs is a file; `hob outline a.rs` lists it"),
            ("cut after 20 of 90 bytes (max_bytes); it contains:", "cut after 20 of 90 bytes (`--max`); it contains:"),
        ] {
            assert_eq!(in_commands(said), shown);
        }
    }

    #[test]
    fn code_that_is_shown_stays_as_it_is() {
        let said = "1 caller, complete\nsrc/show_fields.rs\n  7  show_fields  call  show_fields(1)\n3 more: find_uses {\"name\":\"a\"}";
        let mut result = json!({"content": [{"text": said}]});
        super::result(&mut result);
        assert_eq!(result["content"][0]["text"], said.replace("find_uses {\"name\":\"a\"}", "`hob uses a`"));
    }
}
