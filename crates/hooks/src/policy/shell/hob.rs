//! `hob` as a program that runs code from its arguments: `hob eval`, `hob call repl_eval`, `hob mcp`.

use serde_json::{Map, Value};

use super::super::code;
use super::tree::Context;
use super::word::Word;
use super::{Script, Simple};
use crate::event::{Code, Command, Language, ToolKind, code_of};

const OPAQUE: &str = "hob runs code that is known only at run time";

/// Adds the commands of the code for hob. `input` is its standard input, if known.
pub(super) fn unwrap(script: &mut Script, arguments: &[Word], input: Option<&Word>, is_piped: bool, depth: usize) {
    let mut words = arguments;
    let command = loop {
        match words.split_first() {
            Some((word, rest)) if word.text() == Some("--project") => words = rest.get(1..).unwrap_or_default(),
            Some((word, rest)) if word.start().starts_with('-') => words = rest,
            Some((word, rest)) => {
                words = rest;
                break word;
            }
            None => return,
        }
    };
    let called = match command.text() {
        Some("eval") => call("repl_eval", words, Some("code"), input),
        Some("call") => {
            let Some(tool) = words.first() else { return };
            let Some(name) = tool.text() else { return script.set_opaque(OPAQUE) };
            call(name, &words[1..], None, input)
        }
        // It reads tool calls from its standard input.
        Some("mcp") if input.is_some() || is_piped => None,
        Some(_) => return,
        None => None,
    };
    let Some((tool, given)) = called else { return script.set_opaque(OPAQUE) };
    let Some((command, code)) = code_of(&tool, ToolKind::Mcp, &given) else { return };
    match command {
        Some(Command::Text(text)) => script.read_apart(&text, depth + 1, &Context::default()),
        Some(Command::Words(words)) => {
            let words = words.iter().map(|word| Word::literal(word)).collect();
            script.add(Simple { words, ..Simple::default() }, depth + 1);
        }
        None => {}
    }
    if let Some(code) = code {
        read_code(script, &code, depth);
    }
}

/// Adds the commands of code that may be shell code, and reports whether it may start other processes.
fn read_code(script: &mut Script, code: &Code, depth: usize) {
    if code.language == Language::Unknown {
        let mut inner = Script::default();
        inner.read(&code.text, depth + 1, &Context::default());
        if let Some(why) = code::opaque_if_shell(&inner, &code.text) {
            script.set_opaque(why);
        }
        let room = super::COMMANDS_MAX.saturating_sub(script.commands.len());
        script.commands.extend(inner.commands.into_iter().take(room));
    }
    if code::starts_process(&code.text).is_some() {
        script.set_opaque("code that hob is given starts a process");
    }
}

/// Returns the tool and its arguments; `None` if they are known only at run time. `first` is the field of the first positional word.
fn call(tool: &str, words: &[Word], first: Option<&str>, input: Option<&Word>) -> Option<(String, Value)> {
    let mut given = Map::new();
    let mut words = words.iter();
    let input = || input.and_then(Word::text).map(str::to_owned);
    while let Some(word) = words.next() {
        let text = word.text()?;
        let (name, value) = match text.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
            Some(("", "")) => continue,
            Some(("json", _)) => continue,
            // `hob eval --stdin` takes no value.
            Some(("stdin", "")) if first.is_some() => ("stdin", input()?),
            Some((flag, "")) => (flag, words.next()?.text()?.to_owned()),
            Some((flag, value)) => (flag, value.to_owned()),
            None if text == "-" && first.is_some() => ("code", input()?),
            None => match first {
                Some(first) if !given.contains_key(first) => (first, text.to_owned()),
                Some(_) => continue,
                None => ("args", text.to_owned()),
            },
        };
        if name == "args" {
            let text = if value == "-" { input()? } else { value };
            let Value::Object(fields) = serde_json::from_str(&text).ok()? else { return None };
            given.extend(fields);
        } else {
            given.insert(name.replace('-', "_"), Value::String(value));
        }
    }
    if let Some(first) = first.filter(|first| !given.contains_key(*first)) {
        given.insert(first.to_owned(), Value::String(input()?));
    }
    Some((tool.to_owned(), Value::Object(given)))
}
