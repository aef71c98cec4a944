//! Converts a tool's arguments to command line flags, derived from its JSON Schema, and back to JSON.
//!
//! A property of a simple type becomes a flag; a list is a repeatable flag; a map of strings is `KEY=VALUE`; anything deeper
//! is JSON. Lists and maps may be JSON too. `--args` takes all arguments at once (`--arguments` if the tool has an argument
//! `args`); flags override it. `--json` selects JSON output, as in every command. For compatibility it also accepts the
//! arguments: if an object or `-` follows.

use std::ffi::OsString;
use std::io::Read;

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use crate::exit::{Exit, Failure};

/// The command's own flags. A tool's argument of the same name becomes `--arg-NAME`.
const RESERVED: &[&str] = &["arguments", "as", "json", "output", "help", "project"];

/// The clap ids of these flags, chosen so that no property can collide.
const ARGS: &str = "--args";
const AS: &str = "--as";
const JSON: &str = "--json";
const OUTPUT: &str = "--output";

/// True if the output should be JSON.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    matches.get_flag(JSON) || matches.get_one::<String>(OUTPUT).is_some_and(|form| form == "json")
}

/// Returns the value of `--as`: the agent's name.
pub(crate) fn name(matches: &ArgMatches) -> Option<&String> {
    matches.get_one::<String>(AS)
}

/// The syntax of a property on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Integer,
    Number,
    Switch,
    Texts,
    Table,
    Json,
}

/// Builds the command for a tool.
pub(crate) fn command(name: &str, description: &str, schema: &Value) -> Command {
    let flags = properties(schema).map(|(property, schema, required)| flag(property, schema, required));
    let whole = Arg::new(ARGS)
        .value_name("JSON")
        .help("All arguments as one JSON object, or - to read it from stdin; flags override")
        .help_heading("Call");
    Command::new(name.to_owned())
        .bin_name(format!("hob call {name}"))
        .about(description.to_owned())
        .disable_version_flag(true)
        .arg(if schema["properties"]["args"].is_null() {
            whole.long("args").alias("arguments")
        } else {
            whole.long("arguments")
        })
        .arg(
            Arg::new(JSON)
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON: the structured result")
                .help_heading("Call"),
        )
        .arg(
            Arg::new(AS)
                .long("as")
                .value_name("NAME")
                .help("The name to act as [default: HOB_AGENT, or the one that belongs to this worktree]")
                .help_heading("Call"),
        )
        // Deprecated: an earlier spelling of `--json`.
        .arg(Arg::new(OUTPUT).long("output").value_parser(["text", "json"]).hide(true))
        .args(flags)
}

/// Rewrites a command line: a `--json` that has a value, its earlier meaning, becomes `--arguments`. This is unambiguous,
/// because a tool takes only flags. A word before all flags is also taken as the arguments, so that an error says what they
/// must be.
pub(crate) fn in_present_form(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_value = |word: &OsString| word == "-" || !word.as_encoded_bytes().starts_with(b"-");
    if words.first().is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        words.insert(0, "--arguments".into());
    }
    for at in 0..words.len() {
        if words[at] == "--json" && words.get(at + 1).is_some_and(is_value) {
            words[at] = "--arguments".into();
        } else if let Some(value) = words[at].to_str().and_then(|word| word.strip_prefix("--json=")) {
            words[at] = format!("--arguments={value}").into();
        }
    }
    words
}

/// Parses the arguments of a command line.
pub(crate) fn arguments(matches: &ArgMatches, schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut arguments = match matches.get_one::<String>(ARGS) {
        None => Map::new(),
        Some(text) => parse_object(text)?,
    };
    for (property, schema, _) in properties(schema) {
        if let Some(values) = matches.get_many::<String>(property) {
            let values: Vec<&String> = values.collect();
            let value = value(property, shape(schema), &values)?;
            if schema["minimum"] == 0 && value.as_i64().is_some_and(|number| number < 0) {
                let long = long(property);
                return Err(Failure::new(format_args!("`--{long}`: `{value}` is not a whole number, 0 or more"))
                    .hint("`--help` shows what each flag accepts.")
                    .exit(Exit::Usage));
            }
            arguments.insert(property.to_owned(), value);
        }
    }
    Ok(arguments)
}

/// Returns true if the arguments were given as JSON.
pub(crate) fn are_json(matches: &ArgMatches) -> bool {
    matches.contains_id(ARGS)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema["required"].as_array();
    schema["properties"].as_object().into_iter().flatten().map(move |(name, property)| {
        (name, property, required.is_some_and(|required| required.iter().any(|item| item == name)))
    })
}

/// Renders a call with these arguments as words of a command line.
pub(crate) fn to_words(tool: &str, schema: &Value, arguments: &Value) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = ["hob", "call", tool].map(str::to_owned).to_vec();
    for (property, value) in arguments.as_object().into_iter().flatten() {
        let long = format!("--{}", long(property));
        let values = match (shape(&schema["properties"][property]), value) {
            (Shape::Switch, Value::Bool(set)) => {
                words.push(if *set { long } else { format!("{long}=false") });
                continue;
            }
            (Shape::Texts, Value::Array(items)) => items.iter().map(plain).collect(),
            (Shape::Table, Value::Object(pairs)) => {
                pairs.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect()
            }
            (Shape::Json, value) => vec![value.to_string()],
            (_, value) => vec![plain(value)],
        };
        words.extend(values.into_iter().flat_map(|value| [long.clone(), value]));
    }
    words
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    match word {
        word if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        // Escape newlines to keep it on one line.
        word if word.contains('\n') => {
            format!("$'{}'", word.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
        }
        word => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns the flag of a property.
fn long(property: &str) -> String {
    let dashed = property.replace('_', "-");
    if RESERVED.contains(&dashed.as_str()) { format!("arg-{dashed}") } else { dashed }
}

fn flag(property: &str, schema: &Value, required: bool) -> Arg {
    let long = long(property);
    let mut help = schema["description"].as_str().unwrap_or_default().to_owned();
    if let Some(default) = schema.get("default") {
        help.push_str(&format!(" [default: {}]", default.as_str().map_or_else(|| default.to_string(), str::to_owned)));
    }
    let arg = Arg::new(property.to_owned()).long(long).help(help).value_parser(ValueParser::string());
    let arg = match shape(schema) {
        Shape::Text => arg.value_name("TEXT").allow_hyphen_values(true),
        Shape::Integer | Shape::Number => arg.value_name("N").allow_negative_numbers(true),
        Shape::Switch => arg
            .value_name("BOOL")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(["true", "false"]),
        Shape::Texts => arg.value_name("TEXT").action(ArgAction::Append).allow_hyphen_values(true),
        Shape::Table => arg.value_name("KEY=VALUE").action(ArgAction::Append),
        Shape::Json => arg.value_name("JSON").allow_hyphen_values(true),
    };
    let arg = match schema["enum"].as_array() {
        Some(choices) if shape(schema) == Shape::Text => {
            let names: Vec<String> = choices.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
            arg.value_name("CHOICE").value_parser(PossibleValuesParser::new(names))
        }
        _ => arg,
    };
    if required { arg.required_unless_present(ARGS) } else { arg }
}

fn shape(schema: &Value) -> Shape {
    match schema["type"].as_str() {
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Switch,
        Some("array") if schema["items"]["type"] == "string" => Shape::Texts,
        Some("object") if schema["additionalProperties"]["type"] == "string" => Shape::Table,
        // Choices with descriptions are a list of `const` alternatives.
        None if alternatives(schema).is_some_and(|all| all.iter().all(|one| one["const"].is_string())) => Shape::Text,
        _ => Shape::Json,
    }
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())
}

fn value(property: &str, shape: Shape, given: &[&String]) -> Result<Value, Failure> {
    let wrong = |text: &str, wanted: &str| {
        Failure::new(format_args!("`--{}`: `{text}` is not {wanted}", long(property)))
            .hint("`--help` shows what each flag accepts.")
            .exit(Exit::Usage)
    };
    let last = given.last().map_or("", |text| text.as_str());
    Ok(match shape {
        Shape::Text => last.into(),
        Shape::Switch => (last == "true").into(),
        Shape::Integer => match (last.parse::<u64>(), last.parse::<i64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => return Err(wrong(last, "a whole number")),
        },
        Shape::Number => match last.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
            Some(number) => number.into(),
            None => return Err(wrong(last, "a number")),
        },
        Shape::Texts => match (given, serde_json::from_str::<Vec<String>>(last)) {
            ([_], Ok(list)) => list.into(),
            _ => given.iter().map(|text| Value::from(text.as_str())).collect(),
        },
        Shape::Table => match (given, serde_json::from_str::<Map<String, Value>>(last)) {
            ([_], Ok(table)) => table.into(),
            _ => {
                let pairs = given.iter().map(|text| text.split_once('=').ok_or_else(|| wrong(text, "KEY=VALUE")));
                let pairs: Result<Map<String, Value>, Failure> =
                    pairs.map(|pair| pair.map(|(key, value)| (key.to_owned(), value.into()))).collect();
                pairs?.into()
            }
        },
        Shape::Json => serde_json::from_str(last).map_err(|error: serde_json::Error| {
            if error.to_string().starts_with("recursion limit exceeded") {
                Failure::new(format_args!("`--{}`: the JSON is nested too deeply", long(property)))
                    .hint("Write it with at most 127 levels.")
                    .exit(Exit::Usage)
            } else {
                wrong(last, "JSON")
            }
        })?,
    })
}

fn parse_object(text: &str) -> Result<Map<String, Value>, Failure> {
    let mut read = String::new();
    let text = match text {
        "-" => {
            let stdin = std::io::stdin().lock().read_to_string(&mut read);
            stdin.map_err(|error| Failure::new(format_args!("cannot read arguments from stdin: {error}")))?;
            &read
        }
        text => text,
    };
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format_args!("the arguments are not a JSON object: {error}"))
            .hint("Write them as '{\"name\": \"value\"}', or as flags; `--help` lists them.")
            .exit(Exit::Usage)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "What to evaluate."},
                "wait_ms": {"type": "integer", "description": "How long to wait.", "default": 20000},
                "ratio": {"type": "number"},
                "eof": {"type": "boolean"},
                "stream": {"type": "string", "enum": ["stdout", "stderr"]},
                "targets": {"type": "array", "items": {"type": "string"}},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "position": {"type": "object", "properties": {"line": {"type": "integer"}}},
                "output": {"type": "string"},
            },
            "required": ["code"],
        })
    }

    fn check(line: &[&str], expected: Expect) {
        let command = command("t", "Does it.", &schema());
        let said = match command.try_get_matches_from([&["t"], line].concat()) {
            Err(error) => error.to_string(),
            Ok(matches) => match arguments(&matches, &schema()) {
                Ok(arguments) => Value::from(arguments).to_string(),
                Err(failure) => format!("{:?}: {} {}", failure.exit, failure.message, failure.hints.join(" ")),
            },
        };
        expected.assert_eq(&said);
    }

    #[test]
    fn flags_become_arguments() {
        check(&["--code", "-1 + 1"], expect![[r#"{"code":"-1 + 1"}"#]]);
        check(
            &["--code=--x", "--wait-ms", "5", "--ratio", "-0.5", "--eof", "--stream", "stderr"],
            expect![[r#"{"code":"--x","wait_ms":5,"ratio":-0.5,"eof":true,"stream":"stderr"}"#]],
        );
        check(
            &["--code", "", "--targets", "a", "--targets", "-b", "--env", "A=b=c", "--eof=false"],
            expect![[r#"{"code":"","eof":false,"targets":["a","-b"],"env":{"A":"b=c"}}"#]],
        );
        check(
            &["--args", r#"{"code": "a", "wait_ms": 1}"#, "--code", "b", "--arg-output", "x"],
            expect![[r#"{"code":"b","wait_ms":1,"output":"x"}"#]],
        );
        check(&["--code", "x", "--position", r#"{"line": 3}"#], expect![[r#"{"code":"x","position":{"line":3}}"#]]);
    }

    #[test]
    fn lists_and_maps_may_be_json() {
        check(&["--code", "", "--targets", r#"["a", "b c"]"#], expect![[r#"{"code":"","targets":["a","b c"]}"#]]);
        check(&["--code", "", "--targets", "[1]"], expect![[r#"{"code":"","targets":["[1]"]}"#]]);
        check(&["--code", "", "--targets", "[]", "--targets", "b"], expect![[r#"{"code":"","targets":["[]","b"]}"#]]);
        check(&["--code", "", "--env", r#"{"A": "b=c"}"#], expect![[r#"{"code":"","env":{"A":"b=c"}}"#]]);
    }

    #[test]
    fn json_is_the_output_and_with_an_object_the_arguments_as_it_was_once() {
        let read = |line: &[&str]| {
            let words = in_present_form(line.iter().map(OsString::from).collect());
            let command = command("t", "Does it.", &schema());
            let matches = command.try_get_matches_from(std::iter::once("t".into()).chain(words)).unwrap();
            (wants_json(&matches), Value::from(arguments(&matches, &schema()).unwrap()))
        };
        let code = json!({"code": "1"});
        for (line, as_json) in [
            (&["--code", "1"][..], false),
            (&["--code", "1", "--json"], true),
            (&["--json", "--code", "1"], true),
            (&["--args", r#"{"code": "1"}"#], false),
            (&["--json", "--args", r#"{"code": "1"}"#], true),
            (&["--args", r#"{"code": "1"}"#, "--json"], true),
            (&[r#"{"code": "1"}"#], false),
            (&[r#"{"code": "1"}"#, "--json"], true),
            (&["--json", r#"{"code": "1"}"#], false),
            (&[r#"--json={"code": "1"}"#], false),
            (&["--json", r#"{"code": "1"}"#, "--output", "json"], true),
            (&["--json", r#"{"code": "1"}"#, "--json"], true),
            (&["--code", "1", "--output", "text"], false),
        ] {
            assert_eq!(read(line), (as_json, code.clone()), "{line:?}");
        }
    }

    #[test]
    fn an_argument_args_of_a_tool_is_its_own() {
        let schema = json!({"properties": {"args": {"type": "array", "items": {"type": "string"}}}});
        for (line, expected) in [(["--args", "3"], json!(["3"])), (["--arguments", r#"{"args": ["4"]}"#], json!(["4"]))]
        {
            let matches = command("t", "Does it.", &schema).try_get_matches_from(["t"].iter().chain(&line)).unwrap();
            assert_eq!(arguments(&matches, &schema).unwrap()["args"], expected);
        }
    }

    #[test]
    fn words_for_a_shell() {
        let arguments = json!({
            "code": "it's\n1", "wait_ms": 5, "eof": true, "targets": ["a b", ""], "env": {"A": "b"}, "output": "x",
            "position": {"line": 1},
        });
        let line: Vec<String> = to_words("t", &schema(), &arguments).iter().map(|word| quoted(word)).collect();
        expect![[r#"hob call t --code $'it\'s\n1' --wait-ms 5 --eof --targets 'a b' --targets '' --env A=b --arg-output x --position '{"line":1}'"#]].assert_eq(&line.join(" "));
    }

    #[test]
    fn mistakes_are_named() {
        check(
            &[],
            expect![[r#"
            error: the following required arguments were not provided:
              --code <TEXT>

            Usage: hob call t --code <TEXT>

            For more information, try '--help'.
        "#]],
        );
        check(
            &["--code", "x", "--wait-ms", "soon"],
            expect!["Usage: `--wait-ms`: `soon` is not a whole number `--help` shows what each flag accepts."],
        );
        check(
            &["--code", "x", "--stream", "stdin"],
            expect![[r#"
            error: invalid value 'stdin' for '--stream <CHOICE>'
              [possible values: stdout, stderr]

              tip: a similar value exists: 'stderr'

            For more information, try '--help'.
        "#]],
        );
        check(
            &["--code", "x", "--env", "A"],
            expect!["Usage: `--env`: `A` is not KEY=VALUE `--help` shows what each flag accepts."],
        );
        check(
            &["--code", "x", "--position", "3:4"],
            expect!["Usage: `--position`: `3:4` is not JSON `--help` shows what each flag accepts."],
        );
        check(
            &["--code", "x", "--position", &format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))],
            expect!["Usage: `--position`: the JSON is nested too deeply Write it with at most 127 levels."],
        );
        check(
            &["--cod", "x"],
            expect![[r#"
            error: unexpected argument '--cod' found

              tip: a similar argument exists: '--code'

            Usage: hob call t --code <TEXT>

            For more information, try '--help'.
        "#]],
        );
        check(
            &["--args", "[1]"],
            expect![[
                r#"Usage: the arguments are not a JSON object: invalid type: sequence, expected a map at line 1 column 0 Write them as '{"name": "value"}', or as flags; `--help` lists them."#
            ]],
        );
    }

    #[test]
    fn help_is_the_schema() {
        expect![[r#"
            Does it.

            Usage: hob call t [OPTIONS]

            Options:
                  --code <TEXT>        What to evaluate.
                  --wait-ms <N>        How long to wait. [default: 20000]
                  --ratio <N>          
                  --eof[=<BOOL>]       [possible values: true, false]
                  --stream <CHOICE>    [possible values: stdout, stderr]
                  --targets <TEXT>     
                  --env <KEY=VALUE>    
                  --position <JSON>    
                  --arg-output <TEXT>  
              -h, --help               Print help

            Call:
                  --args <JSON>  All arguments as one JSON object, or - to read it from stdin; flags override
                  --json         Print JSON: the structured result
                  --as <NAME>    The name to act as [default: HOB_AGENT, or the one that belongs to this worktree]
        "#]]
        .assert_eq(&command("t", "Does it.", &schema()).render_help().to_string());
    }
}
