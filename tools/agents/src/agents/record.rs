//! Evaluation of the records of one run: the agent's requests, hob's listing and answers, and the part that reached the
//! model.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Deserializer, Value};

use super::kinds::{Environment, SERVER};
use super::tasks::{Task, Turn};

/// Observations of an agent's run by hob and the model.
pub(super) struct Observations {
    /// Number of `hob mcp` processes that the agent started.
    pub(super) starts: usize,
    /// The name that the agent gives.
    pub(super) client: String,
    /// The MCP revision of its requests.
    pub(super) revision: String,
    /// Requests and notifications other than calls, by method.
    pub(super) methods: Vec<String>,
    /// Tools listed by hob, then those offered to the model in its first and last turns.
    pub(super) tools: [Offer; 3],
    /// Size of the text of the model's first search for tools, in bytes.
    pub(super) found: usize,
    /// Size of the server's instructions in bytes: all, then those shown to the model in its first and last turns.
    pub(super) instructions: [usize; 3],
    /// The results that reached the model, in order, with their tasks.
    pub(super) calls: Vec<(usize, Call)>,
}

impl Observations {
    /// Returns the result of a task, if one reached the model.
    pub(super) fn of_task(&self, task: usize) -> Option<&Call> {
        self.calls.iter().find(|(of, _)| *of == task).map(|(_, call)| call)
    }
}

/// Number of tools, and the size of their names, descriptions and schemas in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Offer {
    pub(super) tools: usize,
    pub(super) bytes: usize,
}

/// A result, as sent by hob and as received by the model.
pub(super) struct Call {
    pub(super) tool: String,
    /// The text that reached the model, with placeholders for directories.
    pub(super) text: String,
    pub(super) bytes: usize,
    pub(super) has_text: bool,
    pub(super) has_json: bool,
    /// True if at least the beginning of the text arrived.
    pub(super) is_cut: bool,
    /// Sizes of hob's text and JSON.
    pub(super) given: [usize; 2],
    /// True if hob marked it as an error.
    pub(super) is_error: bool,
}

/// Reads the messages of a file, one per line. The last may be truncated.
pub(super) fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Evaluates the records.
pub(super) fn evaluate(
    records: &Path,
    exchanges: &[Value],
    place: &Environment,
    tasks: &[Task],
    turns: &[Turn],
) -> Result<Observations> {
    let mut spoken = Vec::new();
    for entry in std::fs::read_dir(records).context("could not read the records")?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "in") {
            spoken.push((lines(&path)?, lines(&path.with_extension("out"))?));
        }
    }
    let starts = spoken.len();
    // Of several processes, the one with the most messages.
    let most = spoken.into_iter().max_by_key(|(asked, _)| asked.len());
    let (asked, said) = most.context("the agent did not start hob")?;
    let answer = |request: &Value| said.iter().find(|message| message["id"] == request["id"]).map(|it| &it["result"]);
    let with = |method: &str| asked.iter().filter(|message| message["method"] == method).collect::<Vec<_>>();

    let first = asked.first().context("the agent said nothing to hob")?;
    let listed = with("tools/list").into_iter().find_map(answer).context("the agent did not list the tools")?;
    let listed = listed["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: BTreeSet<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();

    let conversation = conversation(exchanges);
    let told = conversation.last().context("the model was offered no tools")?;
    let offered = |exchange: &Value| {
        let tools = exchange["tools"].as_array().into_iter().flatten();
        let tools = tools.filter(|tool| tool["is_deferred"] == false && is_ours(tool, &names));
        Offer::new(tools.map(|tool| tool["bytes"].as_u64().unwrap_or_default() as usize))
    };
    let results = of_turns(&conversation, turns);
    let mut given = with("tools/call")
        .into_iter()
        .map(|call| (&call["params"]["name"], answer(call).unwrap_or(&Value::Null)))
        .peekable();
    let of_tasks = results.iter().filter_map(|(turn, result)| Some((turn.task?, *result)));
    // An agent whose model calls an unknown tool reports that itself.
    let mut given_to =
        |task: usize| given.next_if(|(name, _)| **name == tasks[task].tool).unwrap_or((&Value::Null, &Value::Null));
    let instructions = asked.iter().filter_map(answer).find_map(|result| result["instructions"].as_str());
    let instructions = escaped(instructions.unwrap_or_default());
    let told_of = |exchange: &Value| beginning(&instructions, &exchange["body"].to_string());
    Ok(Observations {
        starts,
        client: client(first),
        revision: revision(first, answer(first)),
        methods: methods(&asked),
        tools: [
            Offer::new(listed.iter().map(|tool| {
                ["name", "description"].map(|key| tool[key].as_str().unwrap_or_default().len()).iter().sum::<usize>()
                    + tool["inputSchema"].to_string().len()
            })),
            offered(conversation[0]),
            offered(told),
        ],
        instructions: [instructions.len(), told_of(conversation[0]), told_of(told)],
        calls: of_tasks.map(|(task, result)| (task, Call::new(result, given_to(task), place))).collect(),
        found: results
            .iter()
            .filter(|(turn, _)| turn.task.is_none())
            .take(1)
            .map(|(_, result)| result["text"].as_str().unwrap_or_default().len())
            .sum(),
    })
}

/// Returns the exchanges of the scripted conversation.
fn conversation(exchanges: &[Value]) -> Vec<&Value> {
    let is_auxiliary = |exchange: &&Value| exchange["turn"].is_null() || exchange["turn"] == "auxiliary";
    exchanges.iter().filter(|exchange| !is_auxiliary(exchange)).collect()
}

/// Returns the turns, each a call, and the results that reached the model, in order.
fn of_turns<'a>(conversation: &[&'a Value], turns: &'a [Turn]) -> Vec<(&'a Turn, &'a Value)> {
    let results =
        conversation.last().and_then(|last| last["results"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let mut said: Vec<u64> = conversation.iter().filter_map(|exchange| exchange["turn"].as_u64()).collect();
    said.dedup();
    let turn = |number: u64| usize::try_from(number).ok().and_then(|number| turns.get(number));
    said.into_iter().filter_map(turn).zip(results).collect()
}

/// Returns the text of each result that reached the model, with its task.
pub(super) fn results(exchanges: &[Value], turns: &[Turn]) -> Result<Vec<(usize, String)>> {
    let conversation = conversation(exchanges);
    conversation.last().context("the model was offered no tools")?;
    let text = |result: &Value| result["text"].as_str().unwrap_or_default().to_owned();
    Ok(of_turns(&conversation, turns)
        .into_iter()
        .filter_map(|(turn, result)| Some((turn.task?, text(result))))
        .collect())
}

impl Offer {
    fn new(sizes: impl Iterator<Item = usize>) -> Self {
        sizes.fold(Self { tools: 0, bytes: 0 }, |so_far, size| Self {
            tools: so_far.tools + 1,
            bytes: so_far.bytes + size,
        })
    }
}

impl Call {
    fn new(result: &Value, (name, given): (&Value, &Value), place: &Environment) -> Self {
        let reached = result["text"].as_str().unwrap_or_default();
        let blocks = given["content"].as_array().into_iter().flatten();
        let text = blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n");
        let structured = &given["structuredContent"];
        let has_text = |text: &str| reached.contains(text) || reached.contains(&escaped(text));
        let begins: String = text.chars().take(100).collect();
        Self {
            tool: match (name.as_str().unwrap_or_default(), &result["tool"]) {
                (name, by) if is_named(by, name) => by.as_str().unwrap_or_default().to_owned(),
                (name, by) => format!("{name}, by {}", by.as_str().unwrap_or_default()),
            },
            has_text: !text.is_empty() && has_text(text.trim()),
            is_cut: !text.is_empty() && has_text(begins.trim()),
            has_json: !structured.is_null() && has_json(reached, structured),
            given: [text.len(), if structured.is_null() { 0 } else { structured.to_string().len() }],
            is_error: given["isError"] == true,
            bytes: reached.len(),
            text: [(&*place.project, "PROJECT"), (&*place.home, "HOME"), (&*place.temporary, "TMPDIR")]
                .iter()
                .fold(reached.to_owned(), |text, (dir, word)| text.replace(&*dir.to_string_lossy(), word)),
        }
    }
}

/// True if a tool offered to the model is one of hob's.
fn is_ours(tool: &Value, listed: &BTreeSet<&str>) -> bool {
    let has = |key: &str| tool[key].as_str().is_some_and(|text| text.contains(SERVER));
    (has("name") || has("namespace")) && listed.iter().any(|name| is_named(&tool["name"], name))
}

fn is_named(name: &Value, tool: &str) -> bool {
    let before = name.as_str().and_then(|name| name.strip_suffix(tool));
    before.is_some_and(|before| before.is_empty() || before.ends_with(|c: char| !c.is_alphanumeric()))
}

/// Returns the length of the longest prefix of the text that the body contains.
fn beginning(text: &str, body: &str) -> usize {
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let longest = ends.partition_point(|end| body.contains(&text[..*end]));
    // Every text contains a word or two of another.
    longest.checked_sub(1).map_or(0, |last| ends[last]).checked_sub(20).map_or(0, |more| more + 20)
}

/// Returns the text as it appears inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text.trim()).to_string();
    quoted.trim_matches('"').to_owned()
}

/// True if the text contains the JSON, in any spacing and number format.
fn has_json(text: &str, json: &Value) -> bool {
    text.match_indices('{').any(|(at, _)| {
        let first = Deserializer::from_str(&text[at..]).into_iter().next();
        first.is_some_and(|value: Result<Value, _>| value.is_ok_and(|value| is_same(&value, json)))
    })
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

/// In either era: with the handshake, or with each request.
fn client(first: &Value) -> String {
    let params = &first["params"];
    let modern = &params["_meta"]["io.modelcontextprotocol/clientInfo"];
    let info = if modern.is_null() { &params["clientInfo"] } else { modern };
    let word = |key: &str| info[key].as_str().unwrap_or("?");
    format!("{} {}", word("name"), word("version"))
}

fn revision(first: &Value, answer: Option<&Value>) -> String {
    let settled = answer.and_then(|result| result["protocolVersion"].as_str());
    let asked = first["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    settled.or(asked).unwrap_or("?").to_owned()
}

/// Counts each method other than calls.
fn methods(asked: &[Value]) -> Vec<String> {
    let all: Vec<&str> = asked.iter().filter_map(|message| message["method"].as_str()).collect();
    let names: BTreeSet<&str> = all.iter().copied().filter(|method| *method != "tools/call").collect();
    let often = |name: &&str| match all.iter().filter(|method| *method == name).count() {
        1 => (*name).to_owned(),
        times => format!("{name} ×{times}"),
    };
    names.iter().map(often).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_behind_text_and_with_other_numbers() {
        let given = json!({ "a": { "b": [1.0, "}"] } });
        assert!(has_json("Output {x}:\n{\"a\": {\"b\": [1, \"}\"]}}\n", &given));
        assert!(!has_json("{\"a\":{\"b\":[2,\"}\"]}}", &given));
        assert!(!has_json("a: b", &given));
    }

    #[test]
    fn a_beginning_of_the_instructions_is_measured() {
        let text = "hob keeps live sessions – for this project";
        assert_eq!(beginning(text, &format!("<{text}>")), text.len());
        assert_eq!(beginning(text, "… hob keeps live sessions –…"), "hob keeps live sessions –".len());
        assert_eq!(beginning(text, "hobby"), 0);
    }

    #[test]
    fn agents_name_tools_after_their_server() {
        let listed = BTreeSet::from(["repl_eval", "send_message"]);
        for (name, namespace) in [("mcp__hob__repl_eval", ""), ("hob-send_message", ""), ("repl_eval", "mcp__hob__")] {
            assert!(is_ours(&json!({ "name": name, "namespace": namespace }), &listed), "{name}");
        }
        for name in ["send_message", "hob_resend_message2", "mcp__hob__other"] {
            assert!(!is_ours(&json!({ "name": name }), &listed), "{name}");
        }
    }
}
