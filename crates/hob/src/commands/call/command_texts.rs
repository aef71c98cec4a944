//! Rewrites texts for agents into texts for people: the command in place of a tool's name, and the flag in place of an
//! argument. A program's output is left unchanged.

use std::sync::OnceLock;

use serde_json::{Deserializer, Value};

use super::flags::{self, quoted};
use super::{Choice, Tool, tools};
use crate::commands::mail_hints;

/// The prefixes of tool names in hints. Similar words are left alone.
const PREFIXES: [&str; 2] = ["repl_", "ask_"];

/// Replaces tool names in a sentence with the commands that call them.
pub(crate) fn in_commands(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let next = |text: &str| PREFIXES.iter().filter_map(|prefix| text.find(prefix)).min();
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = next(rest) {
        let (before, from) = rest.split_at(at);
        let (name, after) = from.split_at(from.find(|c| !is_of_name(c)).unwrap_or(from.len()));
        out.push_str(before);
        out.push_str(&match () {
            // A name before a colon is the subject of the message, not a suggested call.
            () if out.is_empty() && after.starts_with(':') => name.to_owned(),
            () if out.ends_with(is_of_name) || out.ends_with("hob call ") => name.to_owned(),
            () if out.ends_with('`') => format!("hob call {name}"),
            () => format!("`hob call {name}`"),
        });
        rest = after;
        // Arguments in the notation for agents.
        if let Some((words, length)) = after.strip_prefix(' ').and_then(|after| arguments(name, after))
            && out.ends_with('`')
        {
            out.pop();
            out.push_str(&words);
            out.push('`');
            rest = &after[" ".len() + length..];
        }
    }
    out + rest
}

/// Replaces tool names and arguments in the text of `hob call`.
pub(super) fn in_flags(text: &str) -> String {
    flags_for(text, |word| declared().iter().any(|tool| tool.input_schema["properties"].get(word).is_some()))
}

/// Replaces tool names and arguments for another command that has these flags.
pub(crate) fn in_flags_of(text: &str, flags: &[&str]) -> String {
    flags_for(text, |word| flags.contains(&word))
}

fn flags_for(text: &str, is_argument: impl Fn(&str) -> bool) -> String {
    let text = in_commands(text);
    let mut words = text.split('`');
    let mut out = words.next().unwrap_or_default().to_owned();
    let mut is_value = false;
    // Every second part is enclosed in quotation marks.
    while let Some(word) = words.next() {
        // For example: unknown variant `x`, expected one of `call`, `value`.
        let begins = out.ends_with("expected ") || out.ends_with("expected one of ");
        is_value |= begins && out.contains("unknown variant");
        let after = words.next();
        let is_setting = after.is_some_and(|after| after.starts_with(" under [") || after.starts_with(" in hob.toml"));
        if after.is_some() && !is_setting && !is_value && is_argument(word) {
            out.push_str(&format!("`--{}", word.replace('_', "-")))
        } else {
            out.push_str(&format!("`{word}"))
        }
        if let Some(after) = after {
            out.push('`');
            out.push_str(after);
            is_value &= matches!(after, ", " | " or ");
        }
    }
    out
}

/// Replaces tool names in the text of `hob call`, and arguments if they were flags. Names below an argument are not flags.
fn in_call(text: &str, is_json: bool) -> String {
    if is_json {
        return in_commands(text);
    }
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let nested = ["`: unknown field `", "`: missing field `"].iter().find_map(|mark| first.find(mark));
    let (first, names) = first.split_at(nested.map_or(first.len(), |at| at + 1));
    in_flags(first) + names + &in_flags(rest)
}

/// Rewrites a tool's result for people: an error entirely, any other result only after the program's output. `is_json` is true
/// if the arguments were JSON.
pub(super) fn result(result: &mut Value, is_json: bool) {
    let session = result["structuredContent"]["session"].as_str().map(|session| format!("[{session}"));
    let is_error = result["isError"] == true;
    let is_list = result["structuredContent"]["sessions"].is_array();
    let notes: Vec<String> = result["structuredContent"]["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|note| note.as_str().map(str::to_owned))
        .collect();
    for block in result["content"].as_array_mut().into_iter().flatten() {
        let text = block["text"].as_str().unwrap_or_default();
        if is_list && !is_error {
            // The text contains foreign code, so only calls are rewritten.
            block["text"] = in_commands(text).into();
            continue;
        }
        let from = match &session {
            _ if is_error => Some(0),
            Some(facts) if text.starts_with(facts) && text.matches(facts).count() == 1 => Some(0),
            Some(facts) => text.rfind(&format!("\n{facts}")),
            // Without a line of facts, hob's notes are at the end.
            None if notes.is_empty() => None,
            None => text.rfind(&notes.join("\n")),
        };
        if let Some(from) = from {
            let (shown, facts) = text.split_at(from);
            // The first line of an error may begin with the tool's name; hints follow below.
            let said = match facts.split_once('\n').filter(|_| is_error) {
                Some((wrong, hints)) => format!("{wrong}\n{}", mail_hints::in_commands(hints)),
                None => facts.to_owned(),
            };
            block["text"] = format!("{shown}{}", in_call(&said, is_json)).into();
        }
    }
}

/// Parses arguments at the start of a text. Returns them as flags, with the length of the parsed text.
fn arguments(tool: &str, text: &str) -> Option<(String, usize)> {
    if !text.starts_with('{') {
        return None;
    }
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(arguments)) = values.next() {
        let known = declared().iter().find(|known| known.name == tool);
        let schema = known.map_or(&Value::Null, |tool| &tool.input_schema);
        let words = flags::to_words(tool, schema, &arguments);
        let words: String = words.iter().skip(3).map(|word| format!(" {}", quoted(word))).collect();
        return Some((words, values.byte_offset()));
    }
    // Arguments with a placeholder.
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let words = inner.split(", ").map(|argument| {
        let (name, value) = argument.split_once(": ").unwrap_or((argument, ""));
        // A program's input ends with a newline, which plain shell quotes cannot express.
        let value = if (tool, name, value) == ("repl_input", "\"text\"", "…") { "$'LINE\\n'" } else { value };
        format!(" --{} {}", name.trim_matches('"').replace('_', "-"), value.trim_matches('"'))
    });
    Some((words.collect(), inner.len() + "{}".len()))
}

/// Returns the declarations of all tools.
fn declared() -> &'static [Tool] {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    TOOLS.get_or_init(|| tools(Choice::All).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sentences_for_agents_name_commands() {
        for (said, shown) in [
            ("repl_list shows it; `repl_start` too.", "`hob call repl_list` shows it; `hob call repl_start` too."),
            ("my_repl_x and hob call repl_wait", "my_repl_x and hob call repl_wait"),
            ("nothing", "nothing"),
            ("repl_eval: unknown field", "repl_eval: unknown field"),
            (
                "#5 waits: repl_input {\"eval\": 5, \"text\": …}, or repl_stop {\"session\": \"a\"}.",
                "#5 waits: `hob call repl_input --eval 5 --text $'LINE\\n'`, or `hob call repl_stop --session a`.",
            ),
            (
                "repl_reload {\"targets\":[\"A.hs\",\"my B.hs\"]} loads it, ask_wait waits.",
                "`hob call repl_reload --targets A.hs --targets 'my B.hs'` loads it, `hob call ask_wait` waits.",
            ),
        ] {
            assert_eq!(in_commands(said), shown);
        }
    }

    #[test]
    fn arguments_are_flags() {
        for (said, shown) in [
            ("Ask again, with a longer `wait_ms`.", "Ask again, with a longer `--wait-ms`."),
            ("(`profile` under [repl]); name one in `profile`.", "(`profile` under [repl]); name one in `--profile`."),
            (
                "`uses`: unknown variant `x`, expected `call` or `value`",
                "`--uses`: unknown variant `x`, expected `call` or `value`",
            ),
            ("`hob stop`, then `x` or an open ` mark", "`hob stop`, then `x` or an open ` mark"),
        ] {
            assert_eq!(in_flags(said), shown);
        }
    }

    #[test]
    fn what_a_program_printed_stays_as_it_is() {
        let mut said = json!({
            "structuredContent": {"session": "main"},
            "content": [{"text": "repl_wait\n[main says repl_wait\n[main #1: running; repl_wait {\"eval\": 1} waits]"}],
        });
        result(&mut said, false);
        let text = "repl_wait\n[main says repl_wait\n[main #1: running; `hob call repl_wait --eval 1` waits]";
        assert_eq!(said["content"][0]["text"], text);
    }

    #[test]
    fn notes_without_a_line_of_facts_name_commands() {
        let note = "Not loaded: repl_start {\"session\": \"spec\"} loads it.";
        let text = format!("repl_x :: Int\n{note}");
        let mut said = json!({"structuredContent": {"notes": [note]}, "content": [{"text": text}]});
        result(&mut said, false);
        let text = "repl_x :: Int\nNot loaded: `hob call repl_start --session spec` loads it.";
        assert_eq!(said["content"][0]["text"], text);
    }

    #[test]
    fn only_arguments_that_were_flags_are_flags() {
        for (said, flags, json) in [
            ("repl_eval: `code`: wrong\nSee `code`.", "repl_eval: `--code`: wrong\nSee `--code`.", None),
            (
                "ask_form: `fields[0]`: unknown field `name`, expected `id` or `max`\nSee `fields`.",
                "ask_form: `fields[0]`: unknown field `name`, expected `id` or `max`\nSee `--fields`.",
                None,
            ),
            (
                "x: wrong `code`\nrepl_list lists.",
                "x: wrong `--code`\n`hob call repl_list` lists.",
                Some("x: wrong `code`\n`hob call repl_list` lists."),
            ),
        ] {
            for (is_json, shown) in [(false, flags), (true, json.unwrap_or(said))] {
                let mut answer = json!({"isError": true, "content": [{"text": said}]});
                result(&mut answer, is_json);
                assert_eq!(answer["content"][0]["text"], shown);
            }
        }
    }

    #[test]
    fn hints_of_the_mail_name_its_commands() {
        let said = "check_messages: no such id `ids`.\ncheck_messages and groups (action list) show some.";
        let mut said = json!({"isError": true, "content": [{"text": said}]});
        result(&mut said, false);
        let text = "check_messages: no such id `--ids`.\n`hob inbox` and `hob group list` show some.";
        assert_eq!(said["content"][0]["text"], text);
    }
}
